#!/bin/sh
# Prints, for the four frequent chains, the wall time that the model of time (time.c) gives for the code as it is, beside what was
# measured on an H200 (bench/GPU.md) with the code of that time, and FlashInfer's time there. Wall time is the mean of the third
# and fourth launch, plus 22 us of copies and launch, plus 1 us for each 16 rows: the host's work for their chains.
# Two figures of each case: "stays", a multiprocessor keeps its instructions from launch to launch, and the same one does a row's
# work alone; "moves", another one does, as after other kernels.
# registered: with host memory that the device uses directly. Of the 22 us the copy of results is then left out (7.5 us), and up
# to 8 rows that of the args (4 us); the kernel's reads and writes of that memory are in its own time, and 1 us more, a guess, is
# for the end of the kernel, which waits for the writes.
# Usage: model.sh DIR [registered] [rows ...]   DIR/bench_gpu and DIR/ptx_emulator are there. One row takes 10 s, 256 rows minutes.
set -eu
dir=$1 registered=''
shift
[ "${1:-}" != registered ] || { registered=--registered; shift; }
[ $# -gt 0 ] || set -- 1 32
run() {
    for rows; do
        OMP_TARGET_OFFLOAD=MANDATORY LD_LIBRARY_PATH=$dir/ptx_emulator SAMP_PTX_TIME=1 SAMP_PTX_MOVE=$move \
            "$dir/bench_gpu" --model $registered --rows "$rows" 2>&1 | awk -v "way=$way" -v "registered=$registered" -v "rows=$rows" '
            /^bench_gpu:/ { print > "/dev/stderr"; exit 1 }
            /^batch:/ { at = $2 " " $3 " " $4; order[++n] = at }
            / at cycle / { match($0, /at cycle [0-9]+/); cycles[n] = substr($0, RSTART + 9, RLENGTH - 9) }
            END { if (n == 0) exit 1
                around = registered ? 22 - 7.5 + 1 - (rows <= 8 ? 4 : 0) : 22
                for (i = 4; i <= n; i += 4)
                    printf "%s %s %.0f\n", order[i], way, (cycles[i - 1] + cycles[i]) / 2 / 1980 + around + rows / 16 }'
    done
}
{ way=stays move=0; run "$@"; way=moves move=37; run "$@"; } | sort | awk '
    BEGIN {
        split("top-k + top-p + temp,top-p + temp,min-p + temp,temp", chain, ",")
        # rows 1, 8, 32, 64, 256; for each the rows with a heavy tail, of N(0,5), of N(0,1)
        split("1 8 32 64 256", rows)
        split("100 98 107 108 101 108 104 107 106 140 143 145 203 212 212," \
              "232 128 210 243 254 222 282 290 317 465 376 410 901 696 766," \
              "80 81 118 77 79 120 86 91 173 120 121 241 186 188 631," \
              "78 80 78 81 81 81 101 102 102 133 135 134 247 251 251", ours, ",")
        split("66 66 67 67 67 68 71 104 105 71 106 107 146 223 222," \
              "60 59 62 68 67 73 92 91 86 120 121 122 238 234 234," \
              "66 59 63 68 68 73 76 76 76 100 101 101 237 234 237," \
              "52 51 49 58 59 64 66 66 67 94 95 95 195 194 195", theirs, ",")
        for (c = 1; c <= 4; c++) {
            split(ours[c], x, " ")
            split(theirs[c], y, " ")
            for (r = 1; r <= 5; r++)
                for (k = 1; k <= 3; k++) {
                    at = (c - 1) " " rows[r] " " (k - 1)
                    measured[at] = x[3 * r - 3 + k]
                    flash[at] = y[3 * r - 3 + k]
                }
        }
    }
    { time[$1 " " $2 " " $3, $4] = $5 }
    END {
        print "wall time, us (heavy tail, N(0,5), N(0,1))  model: stays   moves          measured       FlashInfer"
        for (c = 0; c < 4; c++)
            for (r = 1; r <= 5; r++) {
                at = c " " rows[r] " "
                if (!((at 0, "stays") in time)) continue
                printf "%-22s %3d rows              ", chain[c + 1], rows[r]
                printf "  %4s %4s %4s", time[at 0, "stays"], time[at 1, "stays"], time[at 2, "stays"]
                printf "  %4s %4s %4s", time[at 0, "moves"], time[at 1, "moves"], time[at 2, "moves"]
                printf "  %4s %4s %4s", measured[at 0], measured[at 1], measured[at 2]
                printf "  %4s %4s %4s\n", flash[at 0], flash[at 1], flash[at 2]
            }
    }'
