#!/bin/sh
# The promise under a compiler's flags: with each of them the header refuses to compile (#error), or it says at run time
# that it would be wrong (SAMP_E_UNSUPPORTED), or the tokens are those of tests/ship/ports/digest.txt, with every instruction
# set. Usage: flags.sh DIR short|full      with each of $COMPILERS; short: in few builds, many flags at once
set -eu
dir=$1 size=$2
mkdir -p "$dir"

flags_gcc() {
    cat <<'END'
-ffast-math
-Ofast
-funsafe-math-optimizations
-fassociative-math -fno-signed-zeros -fno-trapping-math
-freciprocal-math
-ffinite-math-only
-fsingle-precision-constant
-mfpmath=387
-mfpmath=sse+387
-Ofast -fno-fast-math
END
    [ "$size" = full ] || { echo "-O3 -march=native -ffp-contract=fast -fno-signed-zeros -fno-trapping-math -fno-math-errno"; return; }
    cat <<'END'
-fassociative-math
-fno-signed-zeros
-fno-trapping-math
-frounding-math
-fsignaling-nans
-fcx-limited-range
-fexcess-precision=standard
-ffloat-store
-mrecip
-mno-fma -mno-avx2
-O3 -march=native -ffp-contract=fast
-O3 -march=native -ffp-contract=off -fno-math-errno
-Os
-fwrapv -fno-strict-aliasing
-funsigned-char
-mlong-double-64
END
}
flags_clang() { # not -fno-honor-infinities alone, the one flag that nothing tells of (see DETERMINISM)
    cat <<'END'
-ffast-math
-Ofast
-ffinite-math-only
-fno-honor-nans -fno-honor-infinities -fassociative-math -fno-signed-zeros -fno-trapping-math -freciprocal-math -ffp-contract=fast
-funsafe-math-optimizations -O3 -march=native
-Ofast -ffinite-math-only -fno-fast-math
END
    [ "$size" = full ] || { echo "-fno-honor-nans"; return; }
    cat <<'END'
-funsafe-math-optimizations
-fassociative-math
-fassociative-math -fno-signed-zeros -fno-trapping-math
-fno-honor-nans
-fno-honor-nans -fno-honor-infinities
-freciprocal-math
-fno-signed-zeros
-fapprox-func
-fno-math-errno
-fno-trapping-math
-frounding-math
-ffp-exception-behavior=strict
-ffp-exception-behavior=maytrap
-ffp-model=fast
-ffp-model=aggressive
-ffp-model=precise
-ffp-model=strict
-ffp-eval-method=double
-ffp-eval-method=extended
-fdenormal-fp-math=preserve-sign
-mrecip=all
-mrecip=all -funsafe-math-optimizations
-mno-fma -mno-avx2
-O3 -march=native -ffp-contract=fast
-O3 -march=native -ffp-contract=off
-Os
-O3 -march=native -funsafe-math-optimizations -fno-honor-nans -fno-honor-infinities -fapprox-func -ffp-contract=fast
-funsigned-char
END
}

refused=0 unsupported=0 right=0 wrong=0
try() { # compiler, flags; only the library has them
    # shellcheck disable=SC2086
    if ! "$1" -std=gnu11 -O2 $2 -I. -fsyntax-only "$dir/library.c" 2> "$dir/flags.log"; then
        if grep -qE 'error: .*(sampling.h: |without -fsingle)' "$dir/flags.log"; then
            echo "flags: $1 $2: refused"
            refused=$((refused + 1))
        elif grep -qE "unknown argument|unrecognized|invalid (argument|value)|unsupported" "$dir/flags.log"; then
            echo "flags: $1 $2: it has no such flag"
        else
            echo "flags: $1 $2: an error that is not ours" >&2
            head -n 5 "$dir/flags.log" >&2
            wrong=$((wrong + 1))
        fi
        return
    fi
    # shellcheck disable=SC2086
    "$1" -std=gnu11 -O2 $2 -I. -c "$dir/library.c" -o "$dir/library.o"
    "$1" "$dir/digest.o" "$dir/library.o" -o "$dir/digest" -lm
    status=0
    "$dir/digest" "" 0 > "$dir/flags.log" 2>&1 || status=$?
    if [ $status = 3 ]; then
        echo "flags: $1 $2: SAMP_E_UNSUPPORTED"
        unsupported=$((unsupported + 1))
    elif DIGEST_LINES=$lines sh tests/ship/ports/check.sh "flags: $1 $2" "$dir/digest"; then
        right=$((right + 1))
    else
        wrong=$((wrong + 1))
    fi
}

printf '#define SAMPLING_KV\n#define SAMPLING_IMPLEMENTATION\n#include "sampling.h"\n' > "$dir/library.c"
if [ "$size" = full ]; then lines=40; else lines=8; fi
for c in $COMPILERS; do
    case $c in *clang*) list=flags_clang ;; *) list=flags_gcc ;; esac
    $list > "$dir/list"
    "$c" -std=gnu11 -O2 -DDIGEST_LINKED -I. -c tests/ship/ports/digest.c -o "$dir/digest.o"
    while read -r flags; do try "$c" "$flags"; done < "$dir/list"
done
c=i686-linux-gnu-gcc # whose arithmetic is x87's unless told
if command -v $c > /dev/null; then try $c ""; fi
echo "flags: $refused refused, $unsupported unsupported, $right with the same tokens as everywhere, $wrong wrong"
[ $wrong = 0 ] && [ $refused -gt 0 ] && [ $right -gt 0 ]
