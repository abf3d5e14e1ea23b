# sampling.h: `make demo` and `make test` are all that most people need; `make help` lists the other targets for users, `make help-dev` all others.

CC ?= cc
CXX ?= c++
CFLAGS ?= -O2
ARGS ?=

# FROM=src: tests and benchmarks are built with the rooms as they are, in a folder of their own, not with the header made of them
FROM ?=
B := build$(FROM:%=/from_%)
WARN := -Wall -Wextra -Wpedantic
INCLUDE := $(FROM:%=-I%) -I. -Isrc # test_plans includes the rooms that have plans
C11 := -std=c11 $(WARN) $(INCLUDE)
JOBS ?= $(shell nproc 2> /dev/null || echo 2)
# asked when a recipe runs: make deps may just have installed one
COMPILERS = $$(for c in gcc clang; do command -v $$c > /dev/null && echo $$c; done)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# the targets of make help; make help-dev has all others
USERS := demo play test lib install uninstall single man llama bench bench-peer bench-grammar

# $(call list,targets,not these): what their ## lines say; without targets all that have one, but not these
list = awk -v wanted="$(1)" -v others="$(2)" -F': ' '/^\#\# [a-z0-9-]+: / { name = substr($$1, 4); text[name] = substr($$0, length($$1) + 3); order[++n] = name } \
	  function line(name) { if (name in text) printf "  make %-20s %s\n", name, text[name] } \
	  END { k = split(wanted, want, " "); for (i = 1; i <= k; i++) line(want[i]); m = split(others, other, " "); \
	    for (i = 1; i <= m; i++) is_other[other[i]]; for (i = 1; !k && i <= n; i++) if (!(order[i] in is_other)) line(order[i]) }' $(MAKEFILE_LIST)

## help: the targets that users need
help:
	@$(call list,$(USERS))
	@echo "make help-dev lists the targets for work on the library."

## help-dev: all other targets, for work on the library
help-dev:
	@$(call list,,$(USERS) $(CI_PARTS) $(CI_LONG))
	@echo "make $(GROUPS:%=help-%): what these groups consist of; each part is a target too."

## demo: run a small language model that tells a story; needs only a C compiler (ARGS="--show --temp 1.2 ...")
demo: $(B)/tales
	@./$(B)/tales $(ARGS)

$(B)/tales: bench/demo/tales.c bench/demo/tales_model.h sampling.h | $(B)
	$(CC) $(CFLAGS) -O3 -std=c11 $(WARN) $(INCLUDE) $< -o $@ -lm

## test: build and run the tests; installs what they need
test: deps-test
	@s=$$(($(TEST_SECONDS) / $(JOBS))); [ $$s -gt $(TEST_LEAST) ] || s=$(TEST_LEAST); \
	  echo "make test: about $$s seconds on this machine's $(JOBS) cores"
	@$(MAKE) --no-print-directory --output-sync=target -j$(JOBS) run-tests test-rooms test-headers test-digest test-public test-table
	@echo "make test: all passed"

## deps: install what make ci needs (Debian packages, with sudo if not root; make test installs its own)
deps:
	@sh tests/tools/deps.sh install ci

## deps-npm: install npm where it is missing; deps-play, deps-mpi, deps-plots, ... do the same for their targets (tests/tools/deps.sh)
deps-%:
	@sh tests/tools/deps.sh check $* || sh tests/tools/deps.sh install $*

## clean: remove build/
clean:
	rm -rf build

include src/src.mk bench/bench.mk src/package/package.mk tests/tests.mk tests/gpu/gpu.mk

$(KINDS) $(GPU) $(PLAY) $(B)/wasm $(B)/plain $(B)/tsan:
	@mkdir -p $@

.PHONY: help help-dev demo test deps clean
