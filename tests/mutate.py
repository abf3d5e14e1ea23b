#!/usr/bin/env python3
"""mutate.py - small changes all over both headers, one at a time: which share of them do the tests catch?

   mutate.py FOLDER [--seed N] [--count 100] [--minutes M] [--only sampling_gpu.h] [--light] [--again] [--list]

A mutant is a comparison, a connective, a constant, a sign or a statement that is another one or gone, or two arguments
that have changed places, drawn by the seed among all places of the code. One that does not compile, or to the same
code, counts as none. The tests run in short, up to the first one that fails: those first that are about the place, then
those that have caught most for their time. One that takes much more than it does without a mutant, or is stopped by a
signal, has caught it too. Prints each survivor with its line, and the share that was caught; what survives is a missing
test, or the same program.

What is found is kept in FOLDER/seed-N, one line a mutant: the next run with the same seed and headers goes on behind it
(--minutes stops one in between), and --again plays only those that had survived, against the tests as they are now.
--light leaves out the tests that take long, unless they are about the place: what survives then wants an --again.
"""
import argparse, hashlib, json, os, random, re, resource, shutil, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLAGS = ["-std=c11", "-O0", "-w", "-I."]
LIBS = ["-lcmocka", "-lm", "-lpthread"]
HEADERS = ("sampling.h", "sampling_gpu.h")
IN_SHORT = {"SAMP_TEST_QUICK": "1", "SAMP_TEST_STOP": "1", "CMOCKA_TEST_ABORT": "1"}
MEMORY = 6 << 30  # what a mutant may ask for
LONG = 6  # seconds of a test that --light leaves out
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+"}
OPERATOR = re.compile(r" (<=|>=|==|!=|<|>|&&|\|\||\+|-) ")
NUMBER = re.compile(r"(?<![\w.\"'])(\d+)(?![\w.\"'])")
STATEMENT = re.compile(r"^\s+[A-Za-z_][\w.\->\[\]]*( [-+|&^]?= |\(|\+\+|--).*;$")
CALL = re.compile(r"(\w+)\(([\w.\->]+), ([\w.\->]+)\)")

# which tests are about a part
ABOUT = {"kv": ["kv"], "llama_cpp": ["llama"], "grammar": ["grammar", "naive"], "json": ["schema", "settings", "peers"],
         "schema": ["schema", "naive"], "state": ["state"], "rollback": ["rollback"], "batch": ["batch"],
         "operator": ["operator"], "settings": ["settings"], "params": ["params", "settings"], "peers": ["peers"],
         "verify": ["verify", "drafts"], "shards": ["shards"], "drafts": ["drafts"], "constraints": ["constraints"],
         "describe": ["chain", "params"], "chain": ["chain", "status"], "sample": ["status", "chain"],
         "apply": ["fast"], "array": ["math", "samplers"], "kernels": ["math", "fast"], "scalar": ["math", "fast"],
         "vectors": ["math", "fast"], "passes": ["math", "fast"], "dispatch": ["isa", "math"], "math": ["math"],
         "rng": ["rng", "math"], "llama": ["reference", "samplers", "fast"], "fast": ["fast"],
         "logits": ["samplers", "reference"], "truncation": ["samplers", "reference"], "temperature": ["samplers"],
         "selection": ["samplers", "gumbel", "stats"]}

# what a test must define to call an optional part
NEEDED = {"kv": "KV", "llama_cpp": "LLAMA", "grammar": "GRAMMAR", "schema": "GRAMMAR", "json": "GRAMMAR|PEERS",
          "peers": "PEERS", "shards": "SHARDS", "drafts": "DRAFTS", "constraints": "CONSTRAINTS"}


def code_lines(text):
    """(number, line) of what is compiled as code: no comment, no macro, nothing before the implementation."""
    comment, begun, continued = False, False, False
    for number, line in enumerate(text):
        if "SAMPLING_IMPLEMENTATION) &&" in line:
            begun = True
        plain = not comment and not line.lstrip().startswith(("/*", "#")) and not continued
        continued = line.endswith("\\")
        opens, closes = line.rfind("/*"), line.rfind("*/")
        comment = opens > closes if opens >= 0 or closes >= 0 else comment
        if begun and plain and not continued and line.startswith(" ") and "STATIC_ASSERT" not in line:
            yield number, line


def places(text):
    """All mutants of a file: (line number, what it is, the new line)."""
    for number, line in code_lines(text):
        code = re.sub(r'"(\\.|[^"\\])*"', lambda m: "~" * len(m.group()), line.split("/*")[0])  # texts stay
        for m in OPERATOR.finditer(code):
            yield number, "operator", line[: m.start(1)] + SWAPS[m.group(1)] + line[m.end(1) :]
        for m in NUMBER.finditer(code):
            yield number, "constant", line[: m.start()] + str(int(m.group(1)) + 1) + line[m.end() :]
        for m in CALL.finditer(code):
            if m.group(2) != m.group(3):
                yield number, "arguments", line[: m.start(2)] + m.group(3) + ", " + m.group(2) + line[m.end(3) :]
        if STATEMENT.match(code.rstrip()):
            yield number, "statement", re.match(r"\s*", line).group() + ";"


def section(text, number):
    while number >= 0 and not re.match(r"/\* =+ >>(\w+)", text[number]):
        number -= 1
    return re.match(r"/\* =+ >>(\w+)", text[number]).group(1) if number >= 0 else ""


def run(command, where, cpu=600, **more):
    """(status, seconds of the CPU). A busy machine is no hang: what is limited is the CPU's time."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        status = subprocess.run(command, cwd=where, timeout=60 + 10 * cpu, stdout=subprocess.DEVNULL, preexec_fn=limits,
                                stderr=subprocess.DEVNULL, env=dict(os.environ, **IN_SHORT, **more)).returncode
    except subprocess.TimeoutExpired:
        status = 124
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Bench:
    """A copy of the tree in which mutants are built; programs that only link with the library are compiled once."""

    def __init__(self, folder, light):
        self.light = light
        self.folder, self.kept = folder, os.path.join(folder, "kept.json")
        self.sources = {f[5:-2]: "tests/" + f for f in sorted(os.listdir(os.path.join(ROOT, "tests")))
                        if re.match(r"test_\w+\.c$", f)}
        self.sources.update(library="tests/library.c", gpu="tests/gpu/test_gpu.c")
        self.text = {t: open(os.path.join(ROOT, f)).read() for t, f in self.sources.items()}
        self.linked = [t for t, text in self.text.items()
                       if "define SAMPLING_IMPLEMENTATION" not in text and t not in ("library", "gpu")]
        if not self.is_as_it_was():
            self.make()
        with open(self.kept) as f:
            self.seconds = json.load(f)["seconds"]
        self.plain = {t: open(os.path.join(folder, "plain", t + ".o"), "rb").read() for t in self.sources}
        self.caught = dict.fromkeys(self.seconds, 0)

    def stamp(self):
        """Of the headers and of all that the tests read."""
        names = [os.path.join(ROOT, n) for n in HEADERS]
        for where, _, files in os.walk(os.path.join(ROOT, "tests")):
            names += [os.path.join(where, f) for f in files if f.endswith((".c", ".h"))]
        return hashlib.sha256(b"".join(open(n, "rb").read() for n in sorted(names))).hexdigest()

    def is_as_it_was(self):
        """Has an earlier run compiled and timed these tests? Then its tree is good, but for a mutant in the headers."""
        if not os.path.exists(self.kept) or json.load(open(self.kept))["stamp"] != self.stamp():
            return False
        for name in HEADERS:
            shutil.copy(os.path.join(ROOT, name), self.folder)
        for t in self.sources:
            shutil.copy(os.path.join(self.folder, "plain", t + ".o"), os.path.join(self.folder, t + ".o"))
        return True

    def make(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(os.path.join(self.folder, "plain"))
        for name in ("tests", "bench"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(self.folder, name),
                            ignore=shutil.ignore_patterns("corpus", "node_modules"))
        for name in HEADERS:
            shutil.copy(os.path.join(ROOT, name), self.folder)
        for t in self.sources:
            if self.compile(t) is None:
                sys.exit("mutate.py: " + self.sources[t] + " does not compile")
            shutil.copy(os.path.join(self.folder, t + ".o"), os.path.join(self.folder, "plain"))
        seconds = {}
        for t in self.sources:
            if t != "library":
                self.link(t)
                status, seconds[t] = self.play(t)
                if status:
                    sys.exit(f"mutate.py: {t} fails without a mutant")
        print("mutate: seconds of each test:", *(f"{t} {n:.1f}" for t, n in seconds.items()), flush=True)
        with open(self.kept, "w") as f:
            json.dump({"stamp": self.stamp(), "seconds": seconds}, f)

    def compile(self, name):
        """Makes NAME.o, and returns its bytes; None: it does not compile."""
        if run(["gcc", *FLAGS, "-c", self.sources[name], "-o", f"{name}.o"], self.folder)[0]:
            return None
        with open(os.path.join(self.folder, f"{name}.o"), "rb") as f:
            return f.read()

    def link(self, test):
        parts = [f"{test}.o"] + (["library.o"] if test in self.linked else [])
        return run(["gcc", *parts, "-o", "program", *LIBS], self.folder)[0] == 0

    def play(self, test, cpu=600):
        if test == "gpu":
            return run(["./program", "host"], self.folder, cpu, SAMP_TEST_CASES="400")
        return run(["./program"], self.folder, cpu)

    def order(self, part, gpu):
        """What is about the part, then what catches most for its seconds (with those of a compiler)."""
        first = ["gpu", "nomem"] if gpu else [t for t in ABOUT.get(part, []) if t in self.seconds]
        needed = re.compile(r"define SAMPLING_(%s)\b" % NEEDED[part] if part in NEEDED else "")
        cost = lambda t: (self.seconds[t] + (0.2 if t in self.linked else 8)) / (1 + self.caught[t])
        rest = [t for t in self.seconds if t not in first and not gpu and needed.search(self.text[t])]
        return first + [t for t in sorted(rest, key=cost) if not (self.light and self.seconds[t] > LONG)]

    def catches(self, test, changed):
        """Does this test fail? Not if its code is what it was."""
        if test in self.linked:
            if not changed:
                return False
        elif self.compile(test) == self.plain[test]:
            return False
        return not self.link(test) or self.play(test, int(5 + 4 * self.seconds[test]))[0] != 0

    def try_mutant(self, part, gpu):
        """The test that catches what the headers in the folder are now; "" for none, None if it is no mutant."""
        changed = False
        if not gpu:
            code = self.compile("library")
            if code is None:
                return None
            changed = code != self.plain["library"]
        if not changed and self.compile("gpu" if gpu else "nomem") in (None, self.plain["gpu" if gpu else "nomem"]):
            return None
        for test in self.order(part, gpu):
            if self.catches(test, changed):
                self.caught[test] += 1
                return test
        return ""


def known(path, stamp):
    """What earlier runs with this seed and these headers have found: {mutant's number: test, "" or None}."""
    found = {}
    if os.path.exists(path):
        with open(path) as f:
            if f.readline().strip() == stamp:
                for line in f:
                    number, by = line.split()[:2]
                    found[int(number)] = {"none": None, "SURVIVES": ""}.get(by, by)
    if not found:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(stamp + "\n")
    return found


def main():
    options = argparse.ArgumentParser()
    options.add_argument("folder")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--minutes", type=float, default=1e9)
    options.add_argument("--only", default="")
    options.add_argument("--light", action="store_true", help="without the tests that take long")
    options.add_argument("--again", action="store_true", help="only those that have survived")
    options.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    o = options.parse_args()
    rng, start = random.Random(o.seed), time.time()
    texts = {n: open(os.path.join(ROOT, n)).read().split("\n") for n in HEADERS if o.only in n}
    mutants = [(n, *m) for n, text in texts.items() for m in places(text)]
    rng.shuffle(mutants)
    if o.list:
        for n, number, what, new in mutants[: o.count]:
            print(f"{n}:{number + 1}: {what}\n  -{texts[n][number]}\n  +{new}")
        return
    path = os.path.join(o.folder, f"seed-{o.seed}{o.only}")
    found = known(path, hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest())
    bench = None
    for i, (n, number, what, new) in enumerate(mutants):
        total = sum(by is not None for by in found.values())
        if (total >= o.count and i not in found) or time.time() - start > 60 * o.minutes:
            break
        if i in found and not (o.again and found[i] == "") or i not in found and o.again:
            continue
        bench = bench or Bench(os.path.join(o.folder, "tree"), o.light)
        text = texts[n][:]
        text[number] = new
        with open(os.path.join(bench.folder, n), "w") as f:
            f.write("\n".join(text))
        by = found[i] = bench.try_mutant(section(texts[n], number), n == "sampling_gpu.h")
        with open(os.path.join(bench.folder, n), "w") as f:
            f.write("\n".join(texts[n]))
        with open(path, "a") as f:
            f.write(f"{i} {'none' if by is None else by or 'SURVIVES'} {n}:{number + 1}\n")
        if by is not None:
            print(f"{n}:{number + 1}: {what}: {'caught by ' + by if by else 'SURVIVES'}", flush=True)
    survivors = [i for i, by in sorted(found.items()) if by == ""]
    for n, number, what, new in (mutants[i] for i in survivors):
        print(f"{n}:{number + 1}: {what} survives\n  -{texts[n][number]}\n  +{new}")
    total = sum(by is not None for by in found.values())
    print(f"== mutate: seed {o.seed}: {total - len(survivors)} of {total} caught "
          f"({100.0 * (total - len(survivors)) / max(total, 1):.0f} %), {len(found) - total} were none")


main()
