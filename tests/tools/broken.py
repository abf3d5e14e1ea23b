#!/usr/bin/env python3
"""broken.py - breaks one thing at a time, as a list says, in a copy; a test must notice each.

   broken.py LIST FOLDER [I N]      every N-th line of tests/tools/broken/LIST.txt, from the I-th on (0 to N - 1)
   broken.py canary FOLDER blind    also how many breaks give wrong tokens without a device's trial

CC is the compiler; ARM64_CC and QEMU are for the NEON kernels, which are left out without them, as are those of an
instruction set that this machine lacks. What changes at random is mutate.py's.
"""
import os, re, shutil, subprocess, sys

CC = os.environ.get("CC") or "cc"
ARM64_CC = os.environ.get("ARM64_CC", "aarch64-linux-gnu-gcc")
QEMU = os.environ.get("QEMU", "qemu-aarch64")
FLAGS = ["-O1", "-std=c11", "-w", "-D_DEFAULT_SOURCE"]
LIBS = ["-lcmocka", "-lm", "-lpthread"]


def fail(text):
    sys.exit("broken: " + text)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def build(compiler, source, program, *flags):
    """With the headers in the folder of the program, where it lacks one with the tree's."""
    if subprocess.run([compiler, *FLAGS, "-I" + os.path.dirname(program), "-I.", source, "-o", program, *flags]).returncode:
        fail(f"{source} does not compile")


def passes(program, *arguments, under=(), limit=600, **settings):
    """What it says is in a log beside it."""
    with open(program + ".log", "wb") as log:
        try:
            return subprocess.run([*under, program, *arguments], stdout=log, stderr=log, timeout=limit,
                                  env=dict(os.environ, **settings)).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def log_of(program):
    with open(program + ".log", errors="replace") as f:
        return f.read()


def sed(script, text):
    return subprocess.run(["sed", script], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def in_function(text, isa, name, change):
    """The header with one function changed by a sed command. An operation of the vocabulary, V(name) here, stands in its
    instruction set's part, which begins with a directive and its name as a comment, or before or behind these parts."""
    lines, part, found = text.split("\n"), "", {}
    for number, line in enumerate(lines, 1):
        begins = re.match(r"#(?:if|elif|else).*/\* (avx512|avx2|sse2|neon|wasm|generic) \*/$", line)
        if begins:
            part = begins.group(1)
        elif line.startswith("/* ---- vectors of four"):
            part = "four"
        elif line.startswith("/* ---- for every set"):
            part = ""
        head = line.split("{")[0]  # what is called behind it is not defined there
        if re.match(r"[A-Za-z].*[^;]$", line) and (f" {name}(" in head or f"*{name}(" in head):
            found.setdefault(part, number)
    first = found.get(isa) or (not isa.startswith("avx") and found.get("four")) or found.get("")
    if not first:
        fail(f"no function {name}")
    last = first
    while not re.search(r"\}$" if last == first else r"^( *\{.*)?\}$", lines[last - 1]):
        last += 1
    return sed(f"{first},{last} {{ {change}\n}}", text)


def replaced(text, old, new):
    if old not in text:
        fail("not found: " + old)
    return text.replace(old, "" if new == "-" else new, 1)


class Broken:
    """A list, and how it is played. try_line says by what a break was caught; "" if it was not, None if it can't be run."""

    def __init__(self, folder):
        self.folder = folder
        self.headers = {}
        for name in ("sampling.h", "sampling_gpu.h"):
            shutil.copy(name, folder)
            with open(name) as f:
                self.headers[name] = f.read()
        self.prepare()

    def program(self, name):
        return os.path.join(self.folder, name)

    def put(self, text, name="sampling.h"):
        if text == self.headers[name]:
            fail("nothing to change")
        write(self.program(name), text)


class Kernels(Broken):
    def play(self, test, isa="", name="mutant", *flags):
        plain = ["-DSAMP_TEST_PLAIN"] * (test in ("fast", "batch"))
        source, program, few = f"tests/unit/test_{test}.c", self.program(name), "3000" if test == "fast" else "100"
        if isa == "neon":
            build(ARM64_CC, source, program, *plain, "-static", "-lm", "-pthread", *flags)
            return passes(program, under=[QEMU], SAMP_TEST_STOP="1", SAMP_TEST_QUICK="1", SAMP_TEST_CASES=few)
        build(CC, source, program, *plain, *(["-DSAMP_NO_SIMD"] * (isa == "generic")), *flags, *LIBS[bool(plain) :])
        return passes(program, SAMP_TEST_STOP="1", SAMP_TEST_FULL="1", SAMP_TEST_CASES=few, SAMP_TEST_ISA=isa)

    def prepare(self):
        """Without a break the tests pass; so do they with limits so small that short rows go the ways of long ones, and
        with a compiler that fuses products and sums where it may."""
        self.neon = bool(shutil.which(ARM64_CC) and shutil.which(QEMU))
        for test in ("fast", "batch"):
            for isa in ["", "neon"][: 1 + self.neon]:
                if not self.play(test, isa, "good_" + test + isa):
                    fail(f"test_{test} fails without a break, see its log in {self.folder}")
        self.sets = re.search(r"rows .*", log_of(self.program("good_fast"))).group().split()
        text = self.headers["sampling.h"]
        limits = re.sub(r"(?m)^(#define SAMPI_SMALL) .*", r"\1 64", text)
        limits = re.sub(r"(?m)^(#define SAMPI_CHANGES) .*", r"\1 3", limits)
        if sum(a != b for a, b in zip(text.split("\n"), limits.split("\n"))) != 2:
            fail("SAMPI_SMALL and SAMPI_CHANGES not found")
        self.put(limits)
        if not self.play("fast", "", "limits"):
            fail("the test fails with small limits")
        write(self.program("sampling.h"), text)
        if not self.play("fast", "", "contracted", "-std=gnu11", "-O3", "-ffp-contract=fast"):
            fail("the test fails with -ffp-contract=fast")

    def try_line(self, test, isa, function, what, change):
        isa = isa.strip("-")
        if isa == "neon" and not self.neon or isa not in ("neon", "generic") and not any(isa in s for s in self.sets):
            return None
        self.put(in_function(self.headers["sampling.h"], isa, function, change))
        if self.play(test, isa):
            return ""
        return (re.findall(r"(?m)^(?:\[ RUN +\] )?([a-z0-9_]+)$", log_of(self.program("mutant"))) or ["the end"])[-1]


class Sharing(Broken):
    def play(self):
        build(CC, "tests/unit/test_turns.c", self.program("turns"), *LIBS)
        return passes(self.program("turns"), limit=300)

    def prepare(self):
        if not self.play():
            fail("test_turns fails without a break")

    def try_line(self, test, isa, function, what, change):
        self.put(in_function(self.headers["sampling.h"], "", function, change))
        return "" if self.play() else "test_turns"


class Gpu(Broken):
    def prepare(self):
        pass

    def try_line(self, size, old, new):
        self.put(replaced(self.headers["sampling_gpu.h"], old, new), "sampling_gpu.h")
        program = self.program("mutant")
        build(CC, "tests/gpu/test_gpu.c", program, f"-DSAMP_GPU_LIST={size}", "-DSAMPI_TEAMS=5", *LIBS[1:])
        return "" if passes(program, "host", limit=300, SAMP_TEST_CASES="3000") else "test_gpu"


class Canary(Broken):
    """One program contains all breaks; a number chooses one: a statement becomes an if, an expression a choice."""

    def prepare(self):
        text = self.headers["sampling_gpu.h"]
        for k, (old, new) in enumerate(LINES, 1):
            both = f"if (MUTANT({k})) {{ {{}} }} else {{ {old} }}" if old.endswith(";") else f"(MUTANT({k}) ? ({{}}) : ({old}))"
            text = replaced(text, old, both.replace("{}", "" if new == "-" else new))
        self.put(text, "sampling_gpu.h")
        self.number, self.wrong = 0, 0
        build(CC, "tests/gpu/test_canary.c", self.program("test"), "-O0", "-lm")
        if not passes(self.program("test")):
            fail("test_canary fails without a break: " + log_of(self.program("test")))

    def try_line(self, old, new):
        self.number += 1
        by = passes(self.program("test"), str(self.number))
        if BLIND and by:
            self.wrong += not passes(self.program("test"), str(self.number), "blind")
        return "the trial" if by else ""

    def more(self):
        return f"; without the trial {self.wrong} give wrong tokens" if BLIND else ""


class Ptx(Broken):
    """Breaks the device code in the program that make gpu has left in the folder. It must fail for the reason that is named."""

    def prepare(self):
        with open(self.program("test_gpu"), encoding="latin-1", newline="") as f:
            self.text = f.read()

    def try_line(self, what, change, reason, settings):
        program, text = self.program("ptx_mutant"), self.text.encode("latin-1")
        broken = subprocess.run(["sed", change], input=text, stdout=subprocess.PIPE, env=dict(os.environ, LC_ALL="C")).stdout
        if broken == text:
            fail("nothing to change: " + change)
        with open(program, "wb") as f:
            f.write(broken)
        os.chmod(program, 0o755)
        more = dict(s.split("=") for s in settings.split() if s != "-")
        wanted = dict({"OMP_TARGET_OFFLOAD": "MANDATORY", "LD_LIBRARY_PATH": self.program("ptx_emulator"), "SAMP_PTX_STRICT": "1",
                       "SAMP_TEST_CASES": "500", "SAMP_TEST_TRUST": "1"}, **more)
        if passes(program, "device", "random_batches", limit=120, **wanted):
            return ""
        said = re.search(reason.replace(r"\|", "|"), log_of(program))
        return said.group() if said else ""


KIND, FOLDER, *REST = sys.argv[1:]
BLIND = REST == ["blind"]
TURN, OF = map(int, REST) if len(REST) == 2 else (0, 1)
with open(f"tests/tools/broken/{KIND}.txt") as lines:
    LINES = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")][TURN::OF]
os.makedirs(FOLDER, exist_ok=True)
broken = {"kernels": Kernels, "sharing": Sharing, "gpu": Gpu, "canary": Canary, "ptx": Ptx}[KIND](FOLDER)
caught, survived, left_out = 0, 0, []
for line in LINES:
    told = ", ".join(line)
    by = broken.try_line(*line)
    if by is None:
        left_out.append(told)
    elif by:
        caught += 1
        print(f"{KIND}: {told}: caught by {by}", flush=True)
    else:
        survived += 1
        print(f"{KIND}: NOT CAUGHT: {told}", flush=True)
for told in left_out:
    print(f"{KIND}: LEFT OUT, this machine cannot run it: {told}")
if not caught and not survived:
    fail("none could be run")
print(f"{KIND}: {caught + survived} broken, {survived} not noticed{getattr(broken, 'more', str)()}")
sys.exit(survived != 0)
