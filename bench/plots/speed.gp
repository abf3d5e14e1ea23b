# The time of a token by every sampler, here and in llama.cpp, beside one pass over the row. Data: make plots-data.
HEIGHT = 640
load "bench/plots/style.gp"
rows = "< awk -F, -v OFS=, 'NF == 2 { name[$1] = $2; next } $2 == 128256 { print name[$1], $2, $3, $4, $5, $4 / $3 }' bench/plots/names.csv bench/plots/speed.csv | sort -t, -k6,6 -n"
stats rows using 5 nooutput
pass = STATS_min
n = STATS_records
stats rows every ::n-1 using 3 name "FIRST" nooutput
stats rows every ::n-1 using 4 name "FIRST_PEER" nooutput
set title "Time of a token from 128,256 logits, one thread" font ",16" offset 0,0.5
set logscale x
set xrange [3:45000]
set grid noy
set yrange [-0.7:n + 0.5]
set xtics ("10 us" 10, "100 us" 100, "1 ms" 1000, "10 ms" 10000)
set ytics noenhanced
set lmargin 34
set bmargin 4
set label 99 measured("speed")
set rmargin 3
set arrow from pass, -0.7 to pass, n - 0.5 nohead front linecolor rgb quiet dashtype 2 linewidth 1.5
set label "one pass" at pass, n + 0.1 center font ",12" textcolor rgb quiet
set label "sampling.h" at FIRST_min, n + 0.1 center font ",14" textcolor rgb ours
set label "llama.cpp" at FIRST_PEER_min, n + 0.1 center font ",14" textcolor rgb peer
unset key
set pointsize 0.9
plot rows using (3):0:($3 - 3):(0) with vectors nohead linecolor rgb faint linewidth 0.7, \
     rows using 3:0:($4 - $3):(0):ytic(1) with vectors nohead linecolor rgb faint linewidth 5, \
     rows using 3:0 with points pointtype 7 linecolor rgb ours, \
     rows using 4:0 with points pointtype 7 linecolor rgb peer, \
     rows using 4:0:(sprintf($6 < 10 ? "%.1f times" : "%.0f times", $6)) with labels left offset 1.2,0 font ",12" textcolor rgb quiet
