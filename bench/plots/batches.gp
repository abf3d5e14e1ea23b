# Rows a second by the size of a batch and its threads; llama.cpp's one row on one thread beside it.
HEIGHT = 400
load "bench/plots/style.gp"
stats "< awk -F, '$1 == \"default\" && $2 == 128256 { print $4 }' bench/plots/speed.csv" using 1 name "PEER" nooutput
stats "bench/plots/batches.csv" every ::1 using 2 name "THREADS" nooutput
set title "The default chain on rows of 128,256 logits" font ",16"
set logscale x 2
set xrange [0.9:46]
set yrange [0:*]
set xtics ("1 row" 1, "2" 2, "4" 4, "8" 8, "16" 16, "32 at once" 32)
set ylabel "thousand rows a second" offset 1,0 textcolor rgb quiet
set rmargin 12
set bmargin 4
set label 99 measured("batches")
set pointsize 0.8
unset key
colour(t) = t == 1 ? ours : t == 2 ? second : other
last(t) = sprintf("< awk -F, '$2 == %d { line = $0 } END { print line }' bench/plots/batches.csv", t)
one(t) = sprintf("< awk -F, '$2 == %d' bench/plots/batches.csv", t)
set arrow from 0.9, 1e3 / PEER_min to 46, 1e3 / PEER_min nohead linecolor rgb peer linewidth 2
set label "llama.cpp, one row on one thread" at 1, 1e3 / PEER_min offset 0,0.8 textcolor rgb peer
plot for [k = 0:int(log(THREADS_max) / log(2) + 0.5)] one(2 ** k) using 1:(1e3 / $3) with linespoints pointtype 7 linewidth 2 linecolor rgb colour(2 ** k), \
     for [k = 0:int(log(THREADS_max) / log(2) + 0.5)] last(2 ** k) using 1:(1e3 / $3):(sprintf("%d thread%s", $2, $2 > 1 ? "s" : "")) with labels left offset 1,0 textcolor rgb colour(2 ** k)
