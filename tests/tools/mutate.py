#!/usr/bin/env python3
"""mutate.py - small changes all over both headers, one at a time: which share of them do the tests catch?

   mutate.py FOLDER [--seed N] [--count 100] [--minutes M] [--only sampling_gpu.h] [--light] [--again] [--list]

A mutant is a comparison, a connective, a constant, a sign or a statement that is another one or gone, or two arguments
that have changed places, drawn by the seed among all places of the code. One that does not compile, or to the same
code, counts as none. The tests run in short, up to the first one that fails, and only those that run the line (which
gcov tells once, some minutes): those first that can be expected to catch most for their time, by the part that they are
about and by what they have caught until now. One that takes much more than it does without a mutant, or is stopped by a
signal, has caught it too. Prints each survivor with its line, and the share that was caught; what survives is a missing
test, or the same program.

What is found is kept in FOLDER/seed-N, one line a mutant: the next run with the same seed and headers goes on behind it
(--minutes stops one in between), and --again plays only those that had survived, against the tests as they are now.
--light leaves out the tests that take long, unless they are about the place: what survives then wants an --again.
"""
import argparse, collections, glob, hashlib, json, os, random, re, resource, shutil, subprocess, sys, time

sys.dont_write_bytecode = True
import cover

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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
         "verify": ["verify", "drafts"], "shards": ["shards"], "drafts": ["drafts"], "search": ["search"], "constraints": ["constraints"],
         "describe": ["chain", "params"], "chain": ["chain", "status"], "sample": ["status", "chain", "watermark"],
         "apply": ["fast"], "array": ["math", "samplers"], "kernels": ["math", "fast"], "scalar": ["math", "fast", "watermark"],
         "vectors": ["math", "fast"], "passes": ["math", "fast", "watermark"], "dispatch": ["isa", "math"], "math": ["math"],
         "rng": ["rng", "math"], "llama": ["reference", "samplers", "fast"], "fast": ["fast", "watermark"],
         "logits": ["samplers", "reference"], "truncation": ["samplers", "reference"], "temperature": ["samplers"],
         "selection": ["samplers", "gumbel", "stats", "watermark"]}


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


def children():
    """Seconds of the CPU that all programs have taken until now."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command, where, cpu=600, **more):
    """(status, seconds of the CPU). A busy machine is no hang: what is limited is the CPU's time."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    before = children()
    try:
        status = subprocess.run(command, cwd=where, timeout=60 + 10 * cpu, stdout=subprocess.DEVNULL, preexec_fn=limits,
                                stderr=subprocess.DEVNULL, env=dict(os.environ, **IN_SHORT, **more)).returncode
    except subprocess.TimeoutExpired:
        status = 124
    return status, children() - before


class Bench:
    """A copy of the tree in which mutants are built. Of every test it knows which lines it runs (gcov), so that a mutant
    meets only those tests that can tell. Programs that only link with the library are compiled once."""

    def __init__(self, folder, light):
        self.folder, self.light = folder, light
        self.sources = {f[5:-2]: "tests/unit/" + f for f in sorted(os.listdir(os.path.join(ROOT, "tests/unit")))
                        if re.match(r"test_\w+\.c$", f)}
        self.sources = {"library": "tests/support/library.c", **self.sources, "gpu": "tests/gpu/test_gpu.c"}
        self.linked = [t for t, f in self.sources.items() if t not in ("library", "gpu")
                       and "define SAMPLING_IMPLEMENTATION" not in open(os.path.join(ROOT, f)).read()]
        self.copy_tree()
        self.kept = self.prepare_all()
        self.tests = [t for t in self.sources if t != "library"]
        self.plain = {t: open(os.path.join(folder, "plain", t + ".o"), "rb").read() for t in self.sources}
        self.code = {t: {h: set(of) for h, of in k["code"].items()} for t, k in self.kept.items()}
        self.runs = {t: {h: set(of) for h, of in self.kept[t]["runs"].items()} for t in self.tests}
        self.caught = collections.Counter()  # by test, and by test and part

    def copy_tree(self):
        for name in ("tests", "bench"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(self.folder, name), dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("corpus", "node_modules"))
        for name in HEADERS:
            shutil.copy(os.path.join(ROOT, name), self.folder)
        os.makedirs(os.path.join(self.folder, "plain"), exist_ok=True)

    def stamp(self, name):
        """Of the headers and of all that this program is made of."""
        texts = [os.path.join(ROOT, n) for n in (*HEADERS, "tests/support/library.c", self.sources[name])]
        texts += glob.glob(os.path.join(ROOT, "tests", "**", "*.h"), recursive=True)
        texts += glob.glob(os.path.join(ROOT, "bench", "*.[ch]"))
        return hashlib.sha256(b"".join(open(n, "rb").read() for n in sorted(texts))).hexdigest()

    def prepare_all(self):
        """What is known of each program; where an earlier run has left that, its objects are good too."""
        path, kept = os.path.join(self.folder, "kept.json"), {}
        if os.path.exists(path):
            with open(path) as f:
                kept = json.load(f)
        for t in self.sources:
            if kept.get(t, {}).get("stamp") != self.stamp(t):
                kept[t] = self.prepare(t)
                with open(path, "w") as f:
                    json.dump(kept, f)
                print(f"mutate: {t}: {kept[t]['compile']:.1f} s to compile, {kept[t]['seconds']:.1f} s to run", flush=True)
            shutil.copy(os.path.join(self.folder, "plain", t + ".o"), os.path.join(self.folder, t + ".o"))
        return kept

    def prepare(self, t):
        """Compiles a program without a mutant, and again to see which lines it runs."""
        before, where = children(), os.path.join(self.folder, "cover", t)
        if self.compile(t) is None:
            sys.exit(f"mutate.py: {self.sources[t]} does not compile")
        cost = children() - before
        shutil.copy(os.path.join(self.folder, t + ".o"), os.path.join(self.folder, "plain"))
        about = {"stamp": self.stamp(t), "compile": cost, "seconds": 0.0, "code": {}, "runs": {}}
        if t not in self.linked:
            shutil.rmtree(where, ignore_errors=True)
            os.makedirs(where)
            run(["gcc", *FLAGS, "--coverage", "-c", self.sources[t], "-o", f"cover/{t}/program.o"], self.folder)
            about["code"] = {h: [l["line_number"] for l in of] for h, of in cover.told(where + "/program.gcno")}
        if t != "library":
            of = "library" if t in self.linked else t
            counts = os.path.join(self.folder, "cover", of, "program.gcda")
            if os.path.exists(counts):
                os.remove(counts)
            parts = [f"{t}.o"] * (t in self.linked) + [f"cover/{of}/program.o"]
            run(["gcc", "--coverage", *parts, "-o", "program", *LIBS], self.folder)
            status, about["seconds"] = self.play(t)
            if status and self.play(t)[0]:  # once may be a busy machine's
                sys.exit(f"mutate.py: {t} fails without a mutant")
            about["runs"] = {h: [l["line_number"] for l in of if l["count"]] for h, of in cover.told(counts)}
        return about

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

    def cost(self, test, part):
        """Seconds for each mutant that a test can be expected to catch: its like, and those of this part count most."""
        seconds = self.kept[test]["seconds"] + (0.2 if test in self.linked else self.kept[test]["compile"])
        return seconds / (1 + self.caught[test] + 5 * self.caught[test, part] + 5 * (test in ABOUT.get(part, [])))

    def lines_at(self, header, text, number):
        """The lines (from 1) of which code is made at a place: its own, or those around it in its function."""
        every = set().union(*(code.get(header, ()) for code in self.code.values()))
        found = {number + 1} & every
        for step in (-1, 1) if not found else ():
            at = number
            while 0 <= at < len(text) and (at == number or text[at].startswith(" ")) and at + 1 not in every:
                at += step
            found |= {at + 1} & every
        return found

    def catches(self, test, made):
        """Does this test fail? Not if its code is what it was. made: the programs whose code is another."""
        if test in self.linked:
            if not made.get("library"):
                return False
        elif not self.changes(test, made):
            return False
        return not self.link(test) or self.play(test, int(5 + 4 * self.kept[test]["seconds"]))[0] != 0

    def changes(self, program, made):
        """Is a program's code another than without a mutant? None: it does not compile."""
        if program not in made:
            code = self.compile(program)
            made[program] = None if code is None else code != self.plain[program]
        return made[program]

    def try_mutant(self, header, text, number, part):
        """The test that catches what the header in the folder is now; "" for none, None if it is no mutant."""
        lines, made = self.lines_at(header, text, number), {}
        owners = [p for p, code in self.code.items() if lines & code.get(header, set())]
        if "library" in owners and self.changes("library", made) is None:
            return None
        if not made.get("library"):
            others = [p for p in owners if p != "library"]
            if not others or not self.changes(min(others, key=lambda p: self.kept[p]["compile"]), made):
                return None
        able = [t for t in self.tests if lines & self.runs[t].get(header, set())]
        for test in sorted(able, key=lambda t: self.cost(t, part)):
            if self.light and self.kept[test]["seconds"] > LONG and test not in ABOUT.get(part, []):
                continue
            if self.catches(test, made):
                self.learn(test, part)
                return test
        return ""

    def learn(self, test, part):
        self.caught.update([test, (test, part)])


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
        if bench is None:
            bench = Bench(os.path.join(o.folder, "tree"), o.light)
            for k, test in found.items():
                if test:
                    bench.learn(test, section(texts[mutants[k][0]], mutants[k][1]))
        text = texts[n][:]
        text[number] = new
        with open(os.path.join(bench.folder, n), "w") as f:
            f.write("\n".join(text))
        by = found[i] = bench.try_mutant(n, texts[n], number, section(texts[n], number))
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
