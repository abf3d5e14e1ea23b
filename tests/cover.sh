#!/bin/sh
# What of both headers the tests run: lines and branches of each part, by gcov (gcc, -O0, x86-64's kernels), all tests in
# short. Lines that no test has run, and branches that none has taken, are left in FOLDER/missed.
#   cover.sh FOLDER [TEST...]
# With TEST (test_kv, test_gpu) only these are run, and added to what is in the folder, of the same headers.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd) out=$1
shift
[ $# != 0 ] || rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
export SAMP_TEST_QUICK=1
flags="-std=c11 -O0 -w --coverage -I$root"

# a folder for each program: what gcov says of the headers differs from one to the next, and is put together below
run() { # NAME COMMAND...: in its folder; told, if it fails
    name=$1
    shift
    (cd "$root" && "$@" > "$out/$name/log" 2>&1) || echo "cover: $name failed" >&2
    (cd "$out/$name" && gcov -b -c ./*.gcda > gcov.log 2>&1) || echo "cover: $name has left nothing" >&2
}
mkdir -p "$out/library"
[ -e "$out/library/library.o" ] || (cd "$out/library" && gcc $flags -c "$root/tests/library.c" -o library.o)
for source in tests/test_*.c; do
    name=$(basename "$source" .c)
    [ $# = 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
    if grep -q 'define SAMPLING_IMPLEMENTATION' "$source"; then
        mkdir -p "$out/$name"
        (cd "$out/$name" && gcc $flags "$root/$source" -o program -lcmocka -lm -lpthread)
        run "$name" "$out/$name/program"
    else
        gcc -std=c11 -O0 -w -I. "$source" "$out/library/library.o" --coverage -o "$out/library/$name" -lcmocka -lm -lpthread
        "$out/library/$name" > "$out/library/$name.log" 2>&1 || echo "cover: $name failed" >&2
    fi
done
run library true
if [ $# = 0 ] || case " $* " in *" test_gpu "*) ;; *) false ;; esac; then
    mkdir -p "$out/test_gpu"
    (cd "$out/test_gpu" && gcc $flags "$root/tests/gpu/test_gpu.c" -o program -lm -lpthread)
    run test_gpu env SAMP_TEST_CASES=400 "$out/test_gpu/program" host
fi

: > "$out/missed"
for header in sampling.h sampling_gpu.h; do
    awk -F: -v header="$header" -v missed="$out/missed" '
    FNR == NR { # the header: which part a line is in
        if (match($0, /^\/\* =+ >>[a-z_]+/)) { part = $0; sub(/.*>>/, "", part); sub(/[^a-z_].*/, "", part); parts[++n_parts] = part }
        of[FNR] = part
        next
    }
    FNR == 1 { line = 0 }
    /^branch / {
        split($0, word, " ")
        key = line "," word[2]
        branch[key] = of[line]
        if ($0 !~ /never executed|taken 0/) taken[key] = 1
        next
    }
    /^ *[0-9#=*-]+:/ {
        line = $2 + 0
        count = $1
        gsub(/[ *]/, "", count)
        if (count == "-" || !line) next
        seen[line] = 1
        if (count !~ /[#=]/) ran[line] = 1
        text[line] = $0
    }
    END {
        for (b in branch) if (!(b in taken) && ran[b + 0]) print header ":" b + 0 ": " of[b + 0] ", branch " b > missed
        for (l in seen) { lines[of[l]]++; all++; if (l in ran) hit[of[l]]++; else if (l) print header ":" l ": " of[l] > missed }
        for (b in branch) { branches[branch[b]]++; all_b++; if (b in taken) hit_b[branch[b]]++ }
        for (i = 1; i <= n_parts; i++) {
            p = parts[i]
            if (!lines[p]) continue
            printf "%-15s %-12s %6d lines %6.1f %%  %6d branches %6.1f %%\n", header, p, lines[p], 100 * hit[p] / lines[p],
                branches[p], branches[p] ? 100 * hit_b[p] / branches[p] : 100
            sum += hit[p]; sum_b += hit_b[p]
        }
        if (all) printf "%-15s %-12s %6d lines %6.1f %%  %6d branches %6.1f %%\n", header, "all", all, 100 * sum / all, all_b, 100 * sum_b / all_b
    }' "$header" $(find "$out" -name "$header.gcov")
done
sort -t: -k1,1 -k2,2n -o "$out/missed" "$out/missed"
