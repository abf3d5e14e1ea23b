#!/bin/sh
# The figures of the plots, measured anew: bench/plots/*.csv.   sh bench/plots/data.sh BUILD [speed|batches|grammar] ...
# Of three runs the least round counts, on every side: other programs only ever make a time longer.
set -eu
build=$1
shift
here=bench/plots
least_of_runs() { # columns of the key, columns of times; a line whose first field is the heading stays as it is
    awk -F, -v OFS=, -v keys="$1" -v first="$2" -v last="$3" '
        FNR == 1 { if (NR == 1) print; next }
        {
            key = $1
            for (i = 2; i <= keys; i++) key = key "," $i
            if (!(key in line)) order[++n] = key
            else {
                split(line[key], old, ",")
                for (i = first; i <= last; i++) if (old[i] != "" && old[i] < $i + 0) $i = old[i]
            }
            line[key] = $0
        }
        END { for (i = 1; i <= n; i++) print line[order[i]] }'
}
noted() { # what, how it was measured: where and when, for the pictures (MACHINE: its name, if that of the processor says too little)
    sed -i "/^$1: /d" $here/measured.txt
    echo "$1: $2${MACHINE:-$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)}, $(LC_ALL=C date '+%-d %B %Y')" >> $here/measured.txt
}
speed() {
    library=$(sh tests/ship/parity/fetch.sh "$build/parity")
    for run in 1 2 3; do
        "$build/bench_peer" "$library" --all --no-arrays --logits peaked --n 32000,64000,128256,262144 --csv "$build/speed$run.raw" || true
        awk -F, -v OFS=, 'NR == 1 { print "case,n_vocab,ours_us,llama_cpp_us,max_pass_us" }
            NR > 1 && NF == 11 { print $1, $2, $9, $10, $11 }' "$build/speed$run.raw" > "$build/speed$run.csv"
    done
    cat "$build"/speed[123].csv | awk 'NR == 1 || !/^case/' > "$build/speed.runs"
    least_of_runs 2 3 5 < "$build/speed.runs" > $here/speed.csv
    noted speed "beside ${library##*/}, one core of "
}
batches() {
    for run in 1 2 3; do
        OMP_WAIT_POLICY=passive "$build/bench" --batches --n 128256 --logits peaked --rounds 101 --csv "$build/batches$run.csv"
    done
    cat "$build"/batches[123].csv | awk 'NR == 1 || !/^rows/' | cut -d, -f1-3 > "$build/batches.runs"
    least_of_runs 2 3 3 < "$build/batches.runs" > $here/batches.csv
    noted batches "$(nproc) cores of "
}
# the table of bench-grammar PEERS=1: names are 44 columns wide
grammar() {
    make -s bench-grammar PEERS=1 > "$build/grammar.log"
    awk 'BEGIN { print "matcher,mean_us,p50_us,p99_us" }
        { name = substr($0, 1, 44); sub(/ *$/, "", name); sub(/,/, ":", name); if (sub(/, */, " (", name)) name = name ")" }
        /masks allow/ || /^ / { next }
        /^$/ { exit }
        name != "" && split(substr($0, 45), x, " ") >= 3 && x[1] + 0 > 0 { print name "," x[1] "," x[2] "," x[3] }' "$build/grammar.log" > $here/grammar.csv
    noted grammar "one core of "
}
for what in ${*:-speed batches grammar}; do "$what"; done
