# bench.mk - benchmarks, plots, and the page to play with.

BENCH_DEPS := bench/bench.h tests/support/floats.h tests/support/source.h sampling.h tests/data/real_rows.f16

## test-bench: every benchmark compiles without a warning, and prints figures, not what somebody aimed at
test-bench:
	@! grep -nE '"[^"]*(target|aim|reached|missed)' bench/bench.h bench/cpu/*.c bench/g*/*.c bench/llama/*.c bench/shards/*.c
	@for f in $(filter-out bench/shards/shard_mpi.c,$(wildcard bench/*/*.c)); do \
	  $(CC) -fsyntax-only -std=gnu11 -fopenmp $(WARN) -Werror -I. $$f || exit 1; done

## bench: measure the time of a token by sampler, vocabulary, kind of row and instruction set (ARGS="--quick")
bench: $(B)/bench $(B)/bench_drafts $(B)/bench_ngram $(B)/bench_search $(B)/bench_reports
	@./$(B)/bench $(ARGS)
	@./$(B)/bench_drafts
	@./$(B)/bench_ngram
	@./$(B)/bench_search
	@./$(B)/bench_reports

$(B)/bench $(B)/bench_drafts $(B)/bench_ngram $(B)/bench_search $(B)/bench_reports: $(B)/%: bench/cpu/%.c $(BENCH_DEPS) | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -fopenmp -I. $< -o $@ -lm

## bench-peer: measure the same beside llama.cpp, by turns in one process; fetches libllama with npm (NOSIMD=1: plain C)
bench-peer: $(B)/bench_peer$(if $(NOSIMD),_nosimd) | deps-npm
	@library=$$(sh tests/ship/parity/fetch.sh $(B)/parity) && ./$< "$$library" $(ARGS)

$(B)/bench_peer: bench/cpu/bench_peer.c $(BENCH_DEPS) tests/ship/parity/llama_peer.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -fopenmp -I. $< -o $@ -lm -ldl

# what a machine gets for which there is no instruction set of its own
$(B)/bench_peer_nosimd: bench/cpu/bench_peer.c $(BENCH_DEPS) tests/ship/parity/llama_peer.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -DSAMP_NO_SIMD -fopenmp -I. $< -o $@ -lm -ldl

PLOTS := $(patsubst bench/plots/%.gp,%,$(filter-out %/style.gp,$(wildcard bench/plots/*.gp)))

PLOT_DIR ?= bench/plots

## plots: draw bench/plots/*.svg from the figures in bench/plots/ (installs gnuplot)
plots: deps-plots $(B)/panels
	@./$(B)/panels > bench/plots/samplers.dat
	@for p in $(PLOTS); do gnuplot bench/plots/$$p.gp > $(B)/$$p.svg && awk -v title="$$(head -n 1 bench/plots/$$p.gp)" -f bench/plots/dark.awk $(B)/$$p.svg > $(PLOT_DIR)/$$p.svg \
	  || exit 1; echo "$(PLOT_DIR)/$$p.svg"; done

## test-plots: the committed pictures say what they show and when it was measured, the panels are this library's, all can be drawn
test-plots: $(B)/panels
	@./$(B)/panels | cmp - bench/plots/samplers.dat
	@sh bench/plots/check.sh bench/plots
	@if command -v gnuplot > /dev/null; then rm -rf $(B)/plots && mkdir -p $(B)/plots && \
	    $(MAKE) -s plots PLOT_DIR=$(B)/plots > $(B)/plots.log 2>&1 || { cat $(B)/plots.log; exit 1; }; \
	  sh bench/plots/check.sh $(B)/plots && echo "plots: $(words $(PLOTS)) drawn"; else echo "plots: SKIPPED, there is no gnuplot"; fi

$(B)/panels: bench/plots/panels.c bench/demo/tales_model.h sampling.h | $(B)
	$(CC) -O1 $(C11) $< -o $@ -lm

## plots-data: measure the figures of bench/plots/*.csv (npm; half an hour, on an idle machine)
plots-data: $(B)/bench_peer $(B)/bench | deps-npm
	@CC="$(CC)" sh bench/plots/data.sh $(B)

## bench-watch: is the working tree slower than the commit REV? (ARGS="--passes", --limit 3; CC=clang)
bench-watch:
	@CC="$(CC)" CFLAGS="$(CFLAGS)" sh bench/cpu/watch.sh "$(REV)" $(ARGS)

## bench-constraints: measure what each constraint adds to a token of the default chain
bench-constraints: $(B)/bench_constraints
	@./$<

$(B)/bench_constraints: bench/cpu/bench_constraints.c tests/support/source.h sampling.h | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) $(INCLUDE) $< -o $@ -lm

## bench-grammar: measure the time of a grammar's mask (npm); PEERS=1: beside llama.cpp and XGrammar; SCHEMAS=file.jsonl.gz: over these JSON schemas
bench-grammar: $(B)/bench_grammar $(B)/llama3.bin
	@$(if $(PEERS),CC="$(CC)" sh bench/grammar/grammar_peers.sh $(B) && echo;) \
	 $(if $(SCHEMAS),$(UNPACK_SCHEMAS);) ./$< $(B)/llama3.bin $(ARGS) $(if $(SCHEMAS),$(B)/schemas.jsonl)

$(B)/bench_grammar: bench/grammar/bench_grammar.c bench/bench.h sampling.h \
  $(patsubst %,tests/support/%.h,json_gbnf schema_cases source) | $(B)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) $(INCLUDE) $< -o $@ -lm

$(B)/llama3.bin: bench/grammar/llama3_vocabulary.mjs | $(B) deps-npm
	@npm install --silent --no-save --ignore-scripts --prefix $(B)/npm llama3-tokenizer-js@1.2.0 > $(B)/npm.log 2>&1 || { cat $(B)/npm.log; exit 1; }
	@node $< $(B)/npm/node_modules/llama3-tokenizer-js $@

# ---- the page ----

PLAY := $(B)/play
PLAY_PARTS := $(PLAY)/play.wasm bench/data/tales.bin $(PLAY)/rows.f16 bench/data/list.gbnf bench/data/verse.gbnf \
  bench/data/hero.json src/page/play.js

## play: build build/play/index.html, a web page to play with: samplers, a row, stories, grammars (installs clang's WebAssembly)
play: $(PLAY)/index.html
	@echo "$(PLAY)/index.html: open it in a browser, or put it on a server; it is one file and needs no other"

$(PLAY)/index.html: src/page/index.html src/page/page.awk $(PLAY_PARTS)
	awk -v files="$(PLAY_PARTS)" -f src/page/page.awk $< > $@

$(PLAY)/play.wasm: src/page/play.c bench/demo/tales_model.h sampling.h | $(PLAY) deps-wasm
	$(WASM_CC) -msimd128 -mexec-model=reactor -Wl,-z,stack-size=1048576,--strip-all $< -o $@ -lm

# four rows of 32768 logits
$(PLAY)/rows.f16: tests/data/real_rows.f16 | $(PLAY)
	head -c 262144 $< > $@

.PHONY: test-bench bench bench-peer plots test-plots plots-data bench-watch bench-constraints bench-grammar play
