#!/bin/sh
# Runs the programs that `make gpu` has built, with the libgomp beside them; neither a compiler nor a package is needed here.
# Usage: run.sh test|bench [arguments]. Exits with 77 and says "no device" if there is none.
#        run.sh all [FILE]: runs everything that bench/GPU.md asks for, in at most GPU_SECONDS (600), and writes FILE
#        (build/gpu/report.txt). If a part fails or hangs, the others still run. Exits with 0 if no part has failed.
set -eu
dir=${GPU_DIR:-build/gpu}
what=${1:-}
[ $# -eq 0 ] || shift
for program in test_gpu bench_gpu; do
    [ -x "$dir/$program" ] || { echo "run.sh: $dir/$program is missing: make gpu" >&2; exit 1; }
done
export LD_LIBRARY_PATH="$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMP_TARGET_OFFLOAD=MANDATORY # a kernel that can't run on the device is an error
case $what in
    test) exec "$dir/test_gpu" device "$@" ;;
    bench) exec "$dir/bench_gpu" "$@" ;;
    all) ;;
    *) echo "usage: run.sh test|bench|all" >&2; exit 2 ;;
esac

report=${1:-$dir/report.txt} began=$(date +%s) failed=''
: > "$report"
say() { echo "$*" | tee -a "$report"; }

# part SECONDS NAME COMMAND...: runs a command, writes its output to the report, and prints its last line and status. It ends
# after SECONDS, or when the time for all parts is over
part() {
    most=$1 name=$2
    shift 2
    left=$((began + ${GPU_SECONDS:-600} - $(date +%s)))
    [ "$left" -ge "$most" ] || most=$left
    if [ "$most" -lt 5 ]; then
        say "== $name: NOT RUN, no time is left" && failed="$failed $name" && return 0
    fi
    echo "== $name: $*" >> "$report"
    start=$(date +%s) status=0
    timeout -k 5 "$most" "$@" > "$dir/part.log" 2>&1 || status=$?
    cat "$dir/part.log" >> "$report"
    say "== $name: status $status, $(($(date +%s) - start)) s: $(tail -n 1 "$dir/part.log" | cut -c 1-150)"
    [ "$status" -eq 0 ] || { failed="$failed $name"; return 1; }
}

say "$(date -u '+%Y-%m-%d %H:%M') $(uname -sm)"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader >> "$report" 2>&1 || true
# the smallest rows first: if they fail, they explain other failures
SAMP_TEST_CASES=20 part 60 smallest "$dir/test_gpu" device smallest_shapes || true
part 60 quick "$dir/bench_gpu" --quick || true
if ! SAMP_TEST_CASES=50 part 150 tests "$dir/test_gpu" device; then
    # the tests after the one that has ended the program, each in a process of its own
    cp "$dir/part.log" "$dir/tests.log"
    for test in $("$dir/test_gpu" names); do
        grep -qx "$test" "$dir/tests.log" || SAMP_TEST_CASES=20 part 20 "$test" "$dir/test_gpu" device "$test" || true
    done
fi
part 60 stages "$dir/bench_gpu" --stages || true
part 60 registered "$dir/bench_gpu" --quick --registered || true
part 30 long "$dir/bench_gpu" --quick --long || true
SAMP_TEST_CASES=2000 part 120 batches "$dir/test_gpu" device random_batches || true
part 120 bench "$dir/bench_gpu" || true
if command -v compute-sanitizer > /dev/null; then
    SAMP_TEST_CASES=5 part 60 memcheck compute-sanitizer --report-api-errors no --error-exitcode 9 "$dir/test_gpu" device smallest_shapes || true
fi
say "== all: $(($(date +%s) - began)) s, ${failed:+failed:}${failed:-nothing failed}; the report is $report"
[ -z "$failed" ]
