#!/usr/bin/env python3
"""mutate.py - small changes all over both headers, one at a time: which share of them do the tests catch?

   mutate.py FOLDER [--seed N] [--count 100] [--only sampling_gpu.h] [--list]

A mutant is a comparison, a connective, a constant, a sign or a statement that is another one or gone, or two arguments
that have changed places, drawn by the seed among all places of the code. One that does not compile, or to the same
code, counts as none. The tests run in short, those first that are about the place, up to the first one that fails.
Prints each survivor with its line, and the share that was caught; what survives is a missing test, or the same program.
"""
import argparse, os, random, re, shutil, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLAGS = ["-std=c11", "-O0", "-w", "-I."]
LIBS = ["-lcmocka", "-lm", "-lpthread"]
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+"}
OPERATOR = re.compile(r" (<=|>=|==|!=|<|>|&&|\|\||\+|-) ")
NUMBER = re.compile(r"(?<![\w.\"'])(\d+)(?![\w.\"'])")
STATEMENT = re.compile(r"^\s+[A-Za-z_][\w.\->\[\]]*( [-+|&^]?= |\(|\+\+|--).*;$")
CALL = re.compile(r"(\w+)\(([\w.\->]+), ([\w.\->]+)\)")


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


def run(command, where, seconds):
    try:
        return subprocess.run(command, cwd=where, timeout=seconds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=dict(os.environ, SAMP_TEST_QUICK="1", SAMP_TEST_CASES="60", SAMP_TEST_STOP="1")).returncode
    except subprocess.TimeoutExpired:
        return 124


class Bench:
    """A copy of the tree in which mutants are built; programs that only link with the library are compiled once."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in ("tests", "bench"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(folder, name),
                            ignore=shutil.ignore_patterns("corpus", "node_modules"))
        for name in ("sampling.h", "sampling_gpu.h"):
            shutil.copy(os.path.join(ROOT, name), folder)
        tests = sorted(f[5:-2] for f in os.listdir(os.path.join(folder, "tests")) if re.match(r"test_\w+\.c$", f))
        self.inside = [t for t in tests if "define SAMPLING_IMPLEMENTATION" in open(os.path.join(folder, f"tests/test_{t}.c")).read()]
        self.linked = [t for t in tests if t not in self.inside]
        for t in self.linked:
            self.must(["gcc", *FLAGS, "-c", f"tests/test_{t}.c", "-o", f"{t}.o"])
        self.plain = {name: self.object(name) for name in ("library.c", "gpu/test_gpu.c")}

    def must(self, command):
        if subprocess.run(command, cwd=self.folder).returncode:
            sys.exit("mutate.py: " + " ".join(command))

    def object(self, name):
        """The machine code of a file with the implementation; None: it does not compile."""
        if run(["gcc", *FLAGS, "-c", "tests/" + name, "-o", "object.o"], self.folder, 300):
            return None
        with open(os.path.join(self.folder, "object.o"), "rb") as f:
            return f.read()

    def order(self, part, gpu):
        if gpu:
            return ["gpu"]
        first = {"kv": ["kv"], "llama_cpp": ["llama", "nomem"], "grammar": ["grammar", "naive", "nomem"], "json": ["schema"],
                 "schema": ["schema", "naive"], "state": ["state"], "rollback": ["rollback"], "batch": ["batch"],
                 "operator": ["operator"], "settings": ["settings"], "params": ["params"], "verify": ["verify"]}.get(part, [])
        rest = self.linked + self.inside + (["gpu"] if part not in ("kv", "json", "schema", "llama_cpp") else [])
        return first + [t for t in rest if t not in first]

    def catches(self, test):
        """Does this test fail?"""
        if test in self.linked:
            build = ["gcc", f"{test}.o", "library.o", "-o", "program", *LIBS]
        elif test == "gpu":
            build = ["gcc", *FLAGS, "tests/gpu/test_gpu.c", "-o", "program", "-lm", "-lpthread"]
        else:
            build = ["gcc", *FLAGS, f"tests/test_{test}.c", "-o", "program", *LIBS]
        if run(build, self.folder, 300):
            return True
        return run(["./program"] + (["host"] if test == "gpu" else []), self.folder, 600) != 0


def main():
    options = argparse.ArgumentParser()
    options.add_argument("folder")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--only", default="")
    options.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    o = options.parse_args()
    rng = random.Random(o.seed)
    texts = {n: open(os.path.join(ROOT, n)).read().split("\n") for n in ("sampling.h", "sampling_gpu.h") if o.only in n}
    mutants = [(n, *m) for n, text in texts.items() for m in places(text)]
    rng.shuffle(mutants)
    if o.list:
        for n, number, what, new in mutants[: o.count]:
            print(f"{n}:{number + 1}: {what}\n  -{texts[n][number]}\n  +{new}")
        return
    bench, caught, survivors, none = Bench(o.folder), 0, [], 0
    for n, number, what, new in mutants:
        if caught + len(survivors) >= o.count:
            break
        text = texts[n][:]
        text[number] = new
        path = os.path.join(o.folder, n)
        with open(path, "w") as f:
            f.write("\n".join(text))
        gpu = n == "sampling_gpu.h"
        code = bench.object("gpu/test_gpu.c" if gpu else "library.c")
        if code is None or code == bench.plain["gpu/test_gpu.c" if gpu else "library.c"]:
            none += 1
        else:
            if not gpu:
                os.replace(os.path.join(o.folder, "object.o"), os.path.join(o.folder, "library.o"))
            by = next((t for t in bench.order(section(texts[n], number), gpu) if bench.catches(t)), None)
            caught += by is not None
            print(f"{n}:{number + 1}: {what}: {'caught by ' + by if by else 'SURVIVES'}", flush=True)
            if not by:
                survivors.append((n, number, what, new))
                print(f"  -{texts[n][number]}\n  +{new}", flush=True)
        with open(path, "w") as f:
            f.write("\n".join(texts[n]))
    total = caught + len(survivors)
    print(f"== mutate: seed {o.seed}: {caught} of {total} caught ({100.0 * caught / max(total, 1):.0f} %), {none} were none")


main()
