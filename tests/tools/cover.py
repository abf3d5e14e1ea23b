#!/usr/bin/env python3
"""cover.py - what of both headers the tests run: lines and branches of each part, by gcov (gcc, -O0, x86-64's
   kernels): all tests, most of them in short, and the fuzzers but for fuzz_batch, which test_batch plays (some minutes).

   cover.py FOLDER [TEST...]

With TEST (test_kv, test_gpu) only these are run, and added to what is in the folder, of the same headers. A branch is
one of a function's; one text that is compiled for each instruction set counts once, since the tests play every set
alike. Of what is put into other functions, with constants for its parameters, gcov does not tell the functions: there a
line counts as taken both ways or not. What nothing can reach is in tests/tools/cover.txt, with its reason, and is not counted;
what is left is in FOLDER/missed. An entry that a test does reach is told, and fails; so does, before anything is built,
one whose line of code is not in its function any more.
"""
import collections, glob, json, os, re, shutil, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAGS = ["-std=c11", "-O0", "-w", "-I" + ROOT]
LIBS = ["-lcmocka", "-lm", "-lpthread"]
# tests that reach more when they are not in short: all of one or what it is told, and those that are as make test plays
# them
IN_FULL = {"test_fast": [], "test_gpu": ["host"]}
AS_ALWAYS = ("test_shards", "test_drafts", "test_constraints", "test_peers", "test_state")
# fuzzers whose corpora and so many random inputs are played too, as make ci does
FUZZERS = ("fuzz_shard_merge", "fuzz_grammar_text", "fuzz_grammar_saved", "fuzz_grammar_walk", "fuzz_calls", "fuzz_chain",
           "fuzz_state", "fuzz_kv", "fuzz_llama")
RANDOM_INPUTS = 2000
HEADERS = ("sampling.h", "sampling_gpu.h")


def run(command, where, log, **more):
    with open(log, "w") as f:
        env = dict(os.environ, **more)
        return subprocess.run(command, cwd=where, stdout=f, stderr=subprocess.STDOUT, env=env).returncode == 0


def build(command, where):
    if subprocess.run(command, cwd=where).returncode:
        sys.exit("cover: " + " ".join(command))


def play(out, name):
    """Builds a test program and runs it; its counts are in its folder, or in that of the library it needs."""
    fuzzer = name in FUZZERS
    source = os.path.join(ROOT, "tests", "gpu" if name == "test_gpu" else "fuzz" if fuzzer else "unit", name + ".c")
    inside = fuzzer or "define SAMPLING_IMPLEMENTATION" in open(source).read()
    folder = os.path.join(out, name if inside else "library")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, name)
    if inside:
        driver = [os.path.join(ROOT, "tests", "fuzz", "driver.c")] * fuzzer
        build(["gcc", *FLAGS, "--coverage", source, *driver, "-o", program, *LIBS], folder)
    else:
        build(["gcc", *FLAGS, "-c", source, "-o", program + ".o"], folder)
        build(["gcc", "--coverage", program + ".o", "library.o", "-o", program, *LIBS], folder)
    inputs = glob.glob(os.path.join(ROOT, "tests", "fuzz", "corpus", name[5:], "*")) if fuzzer else []
    arguments = ["-n", str(RANDOM_INPUTS), *inputs] if fuzzer else []
    short = {} if name in AS_ALWAYS else {"SAMP_TEST_QUICK": "1"}
    ran = name == "test_gpu" or run([program, *arguments], ROOT, program + ".log", **short)
    if ran and name in IN_FULL:
        ran = run([program, *IN_FULL[name]], ROOT, program + ".log", SAMP_TEST_CASES="2000")
    if not ran:
        print(f"cover: {name} failed, see {program}.log", file=sys.stderr)


def told(data, *options):
    """What gcov tells of both headers in a file of counts."""
    text = subprocess.run(["gcov", "--json-format", "--stdout", *options, os.path.basename(data)], check=True,
                          cwd=os.path.dirname(data), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    files = [f for told in text.splitlines() for f in json.loads(told)["files"]]
    return [(os.path.basename(f["file"]), f["lines"]) for f in files if os.path.basename(f["file"]) in HEADERS]


def counts(out):
    """{header: {line: count}} and {header: {(line, function, branch): count}}, of all programs together."""
    lines = {h: collections.Counter() for h in HEADERS}
    branches = {h: collections.Counter() for h in HEADERS}
    for data in glob.glob(os.path.join(out, "*", "*.gcda")):
        for header, of in told(data, "-b"):
            for l in of:
                lines[header][l["line_number"]] += l["count"]
                name = re.sub(r"_(generic|sse2|avx2|avx512)$", "", l.get("function_name", ""))
                for i, b in enumerate(l["branches"]):
                    branches[header][l["line_number"], name, i if name else i % 2] += b["count"]
    return lines, branches


def exceptions():
    """{(header, function, code): reason}, from lines "header | function | code | reason"; * is any function."""
    found = {}
    with open(os.path.join(ROOT, "tests", "tools", "cover.txt")) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                header, function, code, reason = (part.strip() for part in line.split(" | "))
                found[header, function, code] = reason
    return found


def functions(text):
    """For each line (from 1) the name of the function that it is in."""
    name, of = "", [""]
    for line in text:
        head = re.match(r"(?!typedef|#|/\*| )[^;=]*?(V\(\w+\)|\w+)\([^;]*$", line)
        if head:
            name = head.group(1)
        of.append(name)
    return of


def stale(excepted):
    """The exceptions whose line of code is not in their function, or with * nowhere in the header."""
    there = set()
    for header in HEADERS:
        with open(os.path.join(ROOT, header)) as f:
            text = f.read().split("\n")
        for line, function in zip(text, functions(text)[1:]):
            there |= {(header, function, line.strip()), (header, "*", line.strip())}
    return [entry for entry in excepted if entry not in there]


def report(out, header, lines, branches, excepted):
    """Prints the shares of each part; returns what is missed, and the exceptions that were needed."""
    with open(os.path.join(ROOT, header)) as f:
        text = f.read().split("\n")
    part, part_of, function_of = "", [""], functions(text)
    for line in text:
        part = (re.match(r"/\* =+ >>(\w+)", line) or [None, part])[1]
        part_of.append(part)
    total, missed, used = collections.defaultdict(lambda: [0, 0, 0, 0]), [], set()
    for kind, of in ((0, lines), (2, branches)):
        for key, count in sorted(of.items()):
            at = key if kind == 0 else key[0]
            if kind == 2 and not lines[at]:
                continue  # told as a line
            code, names = text[at - 1].strip(), (function_of[at], "*")
            entry = next(((header, n, code) for n in names if (header, n, code) in excepted), None)
            if not count and entry:
                used.add(entry)
                continue
            for name in (part_of[at], "all"):
                total[name][kind] += 1
                total[name][kind + 1] += count > 0
            if not count:
                what = "" if kind == 0 else f"branch {key[2]} of {key[1]}: "
                missed.append((at, f"{header}:{at}: {part_of[at]}: {what}{code}"))
    for name, (n, ran, n_branches, taken) in total.items():
        print(f"{header:15} {name:12} {n:6} lines {100 * ran / n:6.2f} %  {n_branches:6} branches "
              f"{100 * taken / max(n_branches, 1):6.2f} %")
    return [line for _, line in sorted(missed)], used


def main():
    out, tests = os.path.abspath(sys.argv[1]), sys.argv[2:]
    excepted, needed = exceptions(), set()
    gone = stale(excepted)
    for header, function, code in gone:
        print(f"cover: {header}: {function}: no such line, but in tests/tools/cover.txt: {code}", file=sys.stderr)
    if gone:
        sys.exit(1)
    if not tests:
        shutil.rmtree(out, ignore_errors=True)
    os.makedirs(os.path.join(out, "library"), exist_ok=True)
    if not os.path.exists(os.path.join(out, "library", "library.o")):
        build(["gcc", *FLAGS, "--coverage", "-c", os.path.join(ROOT, "tests", "support", "library.c"), "-o", "library.o"],
              os.path.join(out, "library"))
    every = sorted(os.path.basename(f)[:-2] for f in glob.glob(os.path.join(ROOT, "tests", "unit", "test_*.c")))
    every += ["test_gpu", *FUZZERS]
    for name in tests or every:
        play(out, name)
    lines, branches = counts(out)
    with open(os.path.join(out, "missed"), "w") as f:
        for header in HEADERS:
            missed, used = report(out, header, lines[header], branches[header], excepted)
            needed |= used
            f.writelines(line + "\n" for line in missed)
    print(f"{len(needed)} lines that nothing can reach are not counted (tests/tools/cover.txt); what is missed: {out}/missed")
    idle = [e for e in excepted if e not in needed]
    for header, function, code in idle:
        print(f"cover: {header}: {function}: in tests/tools/cover.txt, but not in need of it: {code}", file=sys.stderr)
    sys.exit(bool(idle and not tests))


if __name__ == "__main__":
    main()
