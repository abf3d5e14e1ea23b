# gpu.mk - tests and benchmark of sampling_gpu.h.

OFFLOAD ?= nvptx-none
OFFLOAD_ARCH ?= $(if $(findstring amdgcn,$(OFFLOAD)),-march=gfx906,-misa=sm_80)
OFFLOAD_FLAGS = -fopenmp -ffp-contract=off -fno-pie -no-pie -foffload=$(OFFLOAD) \
                -foffload-options=$(OFFLOAD)=$(OFFLOAD_ARCH) -foffload-options=-lm \
                $(if $(findstring amdgcn,$(OFFLOAD)),-fno-reorder-blocks-and-partition)
GPU := $(B)/gpu
PTX := $(GPU)/ptx_emulator
GPU_DEPS := sampling_gpu.h sampling.h tests/support/case.h tests/support/suite.h tests/support/floats.h tests/support/source.h \
  $(if $(FROM),$(ROOMS) $(SPINES))

## gpu: tests and benchmark for a GPU, into build/gpu with all they need at run time (OFFLOAD=amdgcn-amdhsa for AMD)
gpu: $(GPU)/test_gpu $(GPU)/bench_gpu $(if $(findstring nvptx,$(OFFLOAD)),$(GPU)/micro)
	@libs=$$(dirname "$$(readlink -f "$$(gcc -print-file-name=libgomp.so)")"); \
	 cp -L "$$libs"/libgomp.so.1 "$$libs"/libgomp-plugin-*.so.1 $(GPU)/
	@sh tests/gpu/inspect.sh $(OFFLOAD) $(GPU)

$(GPU)/test_gpu: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	gcc -std=gnu11 -O3 $(WARN) $(OFFLOAD_FLAGS) $(INCLUDE) $< -o $@ -lm

$(GPU)/bench_gpu: bench/gpu/bench_gpu.c $(GPU_DEPS) | $(GPU)
	gcc -std=gnu11 -O3 $(WARN) $(OFFLOAD_FLAGS) $(INCLUDE) $< -o $@ -lm

$(GPU)/test_stacks: tests/gpu/test_stacks.c | $(GPU)
	gcc -std=gnu11 -O2 $(WARN) $(OFFLOAD_FLAGS) $< -o $@

# inline PTX
$(GPU)/micro: bench/gpu/micro.c | $(GPU)
	gcc -std=gnu11 -O2 $(OFFLOAD_FLAGS) $< -o $@ -ldl

## test-gpu: checks each token of the device against the definition; exits with 77 and says "no device" if there is none
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

$(GPU)/bench_host: bench/gpu/bench_gpu.c $(GPU_DEPS) | $(GPU)
	$(CC) -O3 $(C11) $< -o $@ -lm

## test-gpu-cuda: tests logits from cudaMalloc (needs nvcc)
test-gpu-cuda: $(GPU_DEPS) | $(GPU)
	@nvcc=$$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null) || { echo "no nvcc"; exit 77; }; \
	 cuda=$$(dirname "$$(dirname "$$nvcc")"); set -e; \
	 $$nvcc -c tests/gpu/cuda_interop.cu -o $(GPU)/cuda_interop.o; \
	 gcc -std=gnu11 -O3 $(WARN) $(OFFLOAD_FLAGS) $(INCLUDE) tests/gpu/cuda_interop.c $(GPU)/cuda_interop.o -o $(GPU)/cuda_interop \
	   -L"$$cuda/lib64" -Wl,-rpath,"$$cuda/lib64" -lcudart -lstdc++ -lm; \
	 ./$(GPU)/cuda_interop

## test-gpu-host: tests the kernels on the host, also with short lists and few teams; and contexts without a device
test-gpu-host: $(GPU)/host.host.passed $(GPU)/host_short.host.passed $(GPU)/host.cpu.passed $(GPU)/grammar.ran \
  $(GPU)/canary.passed

# make ci runs 2000 cases on the kernels; what else is in test-gpu-host has no more of them than make test runs
test-gpu-full: $(GPU)/host $(GPU)/host_short
	@$(MAKE) --no-print-directory -B -o $(GPU)/host -o $(GPU)/host_short $(GPU)/host.host.passed $(GPU)/host_short.host.passed SAMP_TEST_FULL=1

# a program, and its argument
$(GPU)/host.host.passed $(GPU)/host.cpu.passed: $(GPU)/host
$(GPU)/host_short.host.passed: $(GPU)/host_short
$(GPU)/%.passed:
	$(call stamp,SAMP_TEST_CASES=$${SAMP_TEST_CASES:-$(if $(SAMP_TEST_FULL),2000,150)} \
	  ./$(GPU)/$(basename $*) $(patsubst .%,%,$(suffix $*)),test_gpu $*: $$(sed -n 's/^  random batches: //p' $@.log))

$(GPU)/host: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	$(CC) -O1 $(C11) $< -o $@ -lm -lpthread

$(GPU)/host_short: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	$(CC) -O1 $(C11) -DSAMP_GPU_LIST=64 -DSAMPI_TEAMS=5 $< -o $@ -lm -lpthread

# grammars, which no kernel contains: a program of its own, so that the others need not be compiled with them
$(GPU)/grammar: tests/gpu/test_grammar_gpu.c tests/support/json_gbnf.h tests/support/test.h $(GPU_DEPS) | $(GPU)
	$(CC) -O1 $(C11) $< -o $@ -lcmocka -lm -lpthread
$(GPU)/grammar.ran: $(GPU)/grammar
	$(call stamp,./$<,test_grammar_gpu: $(RAN))

# broken kernels, which the trial of a device notices (tests/tools/broken/canary.txt)
$(GPU)/canary.passed: tests/tools/broken.py tests/tools/broken/canary.txt tests/gpu/test_canary.c $(GPU_DEPS) | $(GPU)
	$(call stamp,CC="$(CC)" python3 $< canary $(GPU)/canary,test_$$(tail -n 1 $@.log))

## test-gpu-canary: a device's trial notices broken kernels; and how many of them give wrong tokens without it
test-gpu-canary: | $(GPU)
	@CC="$(CC)" python3 tests/tools/broken.py canary $(GPU)/canary blind

## test-gpu-ptx: runs the device code itself, as PTX that is interpreted on the host below libgomp (tests/gpu/ptx/ptx.h)
test-gpu-ptx: $(GPU)/test_gpu $(GPU)/test_stacks $(PTX)/libcuda.so.1
	@for seed in 1 2 3 4 5 6 7 8 9; do \
	  env OMP_TARGET_OFFLOAD=MANDATORY LD_LIBRARY_PATH=$(PTX) SAMP_PTX_STRICT=1 SAMP_PTX_LANES=$$((2 * seed)) SAMP_PTX_SEED=$$seed \
	    ./$(GPU)/test_stacks || { echo "test_stacks: seed $$seed"; exit 1; }; done; \
	echo "== test_stacks: ok"; \
	run() { env OMP_TARGET_OFFLOAD=MANDATORY LD_LIBRARY_PATH=$(PTX) SAMP_PTX_STRICT=1 "$$@" > $(GPU)/ptx.log 2>&1 \
	    || { cat $(GPU)/ptx.log; exit 1; }; \
	  echo "== test_gpu device, PTX: $$(sed -n 's/^  random batches: //p' $(GPU)/ptx.log)"; }; \
	run SAMP_TEST_CASES=$${SAMP_TEST_CASES:-20} SAMP_PTX_REGISTER=1 ./$(GPU)/test_gpu device; \
	run SAMP_TEST_CASES=$${SAMP_TEST_CASES:-20} SAMP_PTX_REGISTER=0 ./$(GPU)/test_gpu device registered_memory; \
	run SAMP_TEST_CASES=$${SAMP_TEST_CASES:-20} SAMP_PTX_APART=1 SAMP_PTX_SLICE=100 ./$(GPU)/test_gpu device random_batches; \
	run SAMP_TEST_CASES=$${SAMP_TEST_CASES:-20} SAMP_PTX_LANES=4 ./$(GPU)/test_gpu device random_batches

## test-gpu-ptx-lanes: more of test-gpu-ptx, with lanes that diverge at any instruction, and other numbers of SMs (some minutes)
test-gpu-ptx-lanes: $(GPU)/test_gpu $(PTX)/libcuda.so.1
	@run() { env OMP_TARGET_OFFLOAD=MANDATORY LD_LIBRARY_PATH=$(PTX) SAMP_PTX_STRICT=1 "$$@" > $(GPU)/lanes.log 2>&1 \
	    || { cat $(GPU)/lanes.log; exit 1; }; \
	  echo "== test_gpu device, PTX, lanes apart, SMs: $$(tail -n 1 $(GPU)/lanes.log)"; }; \
	run SAMP_TEST_CASES=20 SAMP_PTX_LANES=2 SAMP_PTX_SEED=0 ./$(GPU)/test_gpu device; \
	for seed in 2 3 4 5; do \
	  run SAMP_TEST_CASES=200 SAMP_PTX_LANES=$$((seed * seed)) SAMP_PTX_SEED=$$seed ./$(GPU)/test_gpu device random_batches; \
	done; \
	run SAMP_TEST_CASES=20 SAMP_PTX_RESIDENT=7 ./$(GPU)/test_gpu device random_batches; \
	for sms in 1 7 108 114 132; do \
	  run SAMP_TEST_CASES=200 SAMP_PTX_SMS=$$sms SAMP_PTX_ORDER=$$sms ./$(GPU)/test_gpu device random_batches; \
	  run SAMP_TEST_CASES=100 SAMP_PTX_SMS=$$sms SAMP_PTX_ORDER=$$sms ./$(GPU)/test_gpu device one_launch_a_batch; \
	done

## gpu-model: what a model of time says of the four frequent chains, beside what was measured (ARGS=rows, 1 32; ARGS='registered 1': with registered memory)
gpu-model: $(GPU)/bench_gpu $(PTX)/libcuda.so.1
	@sh tests/gpu/ptx/model.sh $(GPU) $(ARGS)

## test-gpu-ptx-mutants: make test-gpu-ptx catches broken PTX
test-gpu-ptx-mutants: $(GPU)/test_gpu $(PTX)/libcuda.so.1
	@python3 tests/tools/broken.py ptx $(GPU)

$(PTX)/libcuda.so.1: $(wildcard tests/gpu/ptx/*.[ch])
	@mkdir -p $(PTX)
	gcc -std=gnu11 -O3 -march=native -ffp-contract=off -fno-math-errno $(WARN) -fPIC -shared -fvisibility=hidden \
	  $(filter %.c,$^) -o $@ -lm

# The same with clang's runtime, whose device is this CPU (Debian: libomp-dev has libomptarget's plugin for x86_64). Four teams
# run at once, as threads that the system schedules.
## test-gpu-clang: the kernels as clang offloads them to this CPU, through libomptarget
test-gpu-clang: $(GPU)/clang
	@libs=$$(dirname "$$(clang -print-file-name=libomptarget.so)"); \
	 SAMP_TEST_CASES=$${SAMP_TEST_CASES:-100} KMP_TEAMS_THREAD_LIMIT=4 OMP_TARGET_OFFLOAD=MANDATORY LD_LIBRARY_PATH=$$libs \
	   ./$(GPU)/clang device > $(GPU)/clang.log 2>&1 || { cat $(GPU)/clang.log; exit 1; }
	@echo "== test_gpu device, clang: $$(sed -n 's/^  random batches: //p' $(GPU)/clang.log)"

$(GPU)/clang: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	clang -std=gnu11 -O1 $(WARN) -fopenmp -fopenmp-targets=$$(uname -m)-pc-linux-gnu -DSAMPI_OFFLOAD_CLANG -DSAMPI_TEAMS=4 \
	  -ffp-contract=off $(INCLUDE) $< -o $@ -lm -lpthread

## test-gpu-mutants: make test-gpu-host catches broken kernels (some minutes)
test-gpu-mutants: $(GPU_DEPS) tests/gpu/test_gpu.c | $(GPU)
	@CC="$(CC)" python3 tests/tools/broken.py gpu $(GPU)/mutant

## deps-gpu: install gcc's offloading compiler for OFFLOAD
deps-gpu:
	@sh tests/tools/deps.sh install gcc-offload-$(firstword $(subst -, ,$(OFFLOAD)))

# Tests the kernels under the sanitizers, and as OpenMP's simd loops in vectors of the host; and the device code as PTX, if its
# compiler can be installed.
ci-gpu: $(GPU)/san $(GPU)/host_simd
	@for t in san host_simd; do echo "== test_gpu $$t"; SAMP_TEST_CASES=300 ./$(GPU)/$$t host > $(GPU)/$$t.log 2>&1 \
	  || { cat $(GPU)/$$t.log; exit 1; }; done
	@$(call with-target,nvptx-none,test-gpu-ptx)

## ci-gpu-long: catches broken PTX; compiles the device code for AMD; tests clang's offloading
ci-gpu-long:
	@$(call with-target,nvptx-none,test-gpu-ptx-mutants test-gpu-ptx-lanes)
	@$(call with-target,amdgcn-amdhsa)
	@$(MAKE) -s test-gpu-canary
	@$(MAKE) -s test-gpu-clang WARN="$(WARN) -Werror"

# $(call with-target,target,what to make after `gpu` for that target)
define with-target
if $(MAKE) -s deps-gpu OFFLOAD=$(1) > $(GPU)/deps.log 2>&1; then \
  $(MAKE) -s -B gpu OFFLOAD=$(1) WARN="$(WARN) -Werror" && \
  $(if $(2),$(MAKE) -s $(2) WARN="$(WARN) -Werror",true) || exit 1; \
else echo "ci-gpu: SKIPPED $(1): its compiler can't be installed here"; fi
endef

$(GPU)/san: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	gcc -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all $(C11) $< -o $@ -lm -lpthread

$(GPU)/host_simd: tests/gpu/test_gpu.c $(GPU_DEPS) | $(GPU)
	gcc -O3 -march=native -fopenmp -foffload=disable -ffp-contract=fast $(C11) $< -o $@ -lm

.PHONY: gpu gpu-model test-gpu bench-gpu bench-gpu-host bench-gpu-passes test-gpu-cuda test-gpu-host test-gpu-full test-gpu-ptx \
  test-gpu-ptx-lanes test-gpu-clang \
  test-gpu-ptx-mutants test-gpu-mutants test-gpu-canary deps-gpu ci-gpu ci-gpu-long
