#!/bin/sh
# One run on a device, of about five minutes, that answers what the model of time (tests/gpu/ptx/time.c) guesses:
#   - does a multiprocessor keep its instructions from launch to launch (micro, its last lines; one row of temp beside 52 and 76 us)
#   - do the fences of a multiprocessor come one after the other (micro: 1024 idle teams beside 132)
#   - what do copies cost, and memory of the host that the device reads and writes (micro; one row with --registered; whether the
#     driver registers it: the status of registered_memory)
#   - are passes over many rows bound by reads under way (256 rows beside 64)
#   - are all tokens right
# Prepared where gcc is: `make gpu` in this copy; and in BASE, a copy of an earlier version, if two versions are compared on the
# same device. Run from the repository: OUT=folder [BASE=folder] sh tests/gpu/experiment.sh; the report is OUT/experiment.txt.
# Each part has its own limit, so that one that hangs does not take the others' time. Exits with 77 if there is no device.
out=${OUT:-.} base=${BASE:-}
say() { echo "== $*" | tee -a "$out/experiment.txt"; }
part() {
    most=$1 dir=$2
    shift 2
    say "$dir: $*"
    (cd "$dir" && timeout -k 5 "$most" "$@") >> "$out/experiment.txt" 2>&1
    status=$?
    say "status $status"
}
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader > "$out/experiment.txt" 2>&1
export OMP_TARGET_OFFLOAD=MANDATORY
SAMP_TEST_CASES=20 part 60 . sh tests/gpu/run.sh test several_groups_of_a_team
[ "$status" = 77 ] && exit 77
for dir in $base .; do part 40 "$dir" sh tests/gpu/run.sh bench --rows 1 --dtype 0; done
part 30 . env SAMP_PTX_REGISTER=1 sh tests/gpu/run.sh test registered_memory
part 40 . sh tests/gpu/run.sh bench --rows 1 --dtype 0 --registered
part 30 . env LD_LIBRARY_PATH=build/gpu build/gpu/micro
for dir in $base .; do part 40 "$dir" sh tests/gpu/run.sh bench --stages --rows 1; done
for dir in $base .; do part 60 "$dir" sh tests/gpu/run.sh bench --dtype 0 --kind 2; done
SAMP_TEST_CASES=500 part 120 . sh tests/gpu/run.sh test
if command -v compute-sanitizer > /dev/null; then
    SAMP_TEST_CASES=5 part 60 . env LD_LIBRARY_PATH=build/gpu compute-sanitizer --error-exitcode 9 \
        build/gpu/test_gpu device several_groups_of_a_team
fi
if command -v ncu > /dev/null; then
    part 60 . env LD_LIBRARY_PATH=build/gpu ncu --section WarpStateStats --section SpeedOfLight --launch-skip 60 --launch-count 1 \
        build/gpu/bench_gpu --quick --rows 1 --dtype 0 --kind 2 --chain 0
fi
say "done"
