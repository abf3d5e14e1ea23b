# The time of a mask, half of them and 99 of a hundred, beside peers.
HEIGHT = 290
load "bench/plots/style.gp"
set label "Time of a mask under a grammar of any JSON, 128,256 tokens" at screen 0.5, screen 0.93 center font ",16"
set tmargin 3
set logscale x
set xrange [1:900000]
set yrange [4.7:-1]
set xtics ("1 us" 1, "10 us" 10, "100 us" 100, "1 ms" 1000, "10 ms" 10000, "100 ms" 100000)
set ytics noenhanced
set lmargin 44
set bmargin 4
set label 99 measured("grammar")
set rmargin 3
set pointsize 0.9
unset key
colour(name) = name[1:4] eq "here" ? 0x0969da : name[1:5] eq "llama" ? 0xcf7500 : 0x8250df # ours, peer, other
rows = "< awk -F, 'NR > 1 && !/of which/' bench/plots/grammar.csv"
set label "half" at 2.7, -0.6 center font ",12" textcolor rgb quiet
set label "99 of 100" at 100, -0.6 center font ",12" textcolor rgb quiet
plot rows using 3:0:($4 - $3):(0):ytic(1) with vectors nohead linecolor rgb faint linewidth 5, \
     rows using 3:0:(colour(strcol(1))) with points pointtype 7 linecolor rgb variable, \
     rows using 4:0:(colour(strcol(1))) with points pointtype 6 linewidth 2 linecolor rgb variable
