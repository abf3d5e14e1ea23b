#!/bin/sh
# Run what `make gpu` has built, with the libgomp that lies beside it: neither a compiler nor a package is needed here.
# Usage: run.sh test|bench [arguments]. Exits with 77 and says "no device" where there is none.
set -eu
dir=${GPU_DIR:-build/gpu}
what=$1
shift
[ -x "$dir/${what}_gpu" ] || { echo "run.sh: $dir/${what}_gpu is missing: make gpu" >&2; exit 1; }
export LD_LIBRARY_PATH="$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMP_TARGET_OFFLOAD=MANDATORY # a kernel that can't run on the device is an error
case $what in
    test) exec "$dir/test_gpu" device "$@" ;;
    bench) exec "$dir/bench_gpu" "$@" ;;
    *) echo "usage: run.sh test|bench" >&2; exit 2 ;;
esac
