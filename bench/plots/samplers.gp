# What every sampler does to one row: before in grey, after in blue. Data: bench/plots/panels.c.
HEIGHT = 2200
load "bench/plots/style.gp"
set datafile separator whitespace
data = "bench/plots/samplers.dat"
set multiplot layout 9,4 margins 0.115,0.985,0.02,0.958 spacing 0.018,0.031 \
    title "One row, before (grey) and after (blue): what follows \"The old king had a\" in the story model" font ",16"
set xrange [0:0.52]
set yrange [12.6:-0.6]
set grid noy
set style fill solid 1 noborder
unset key
most = 0.45
do for [i = 0:33] {
    title = system(sprintf("awk 'NF && $1 !~ /^[0-9]/ && k++ == %d' %s | tr -d '\"'", i, data))
    bar = strstrt(title, "|")
    set title title[1:bar-1] noenhanced font ",13" offset 0,-0.1
    set label 1 title[bar+1:*] at graph 0.5, graph 1.05 center noenhanced font ",11" textcolor rgb quiet
    if (i % 4 == 0) { set ytics font ",12" noenhanced } else { set ytics ("" 0) }
    if (i < 30) { set xtics ("" 0, "" 0.2, "" 0.4) } else { set xtics ("0" 0, "0.2" 0.2, "0.4" 0.4) font ",11" }
    names = i % 4 == 0 ? ":ytic(2)" : ""
    eval "plot data index i every ::1 using (0):1:(0):($3 > most ? most : $3):($1 - 0.42):($1 + 0.42)" . names . " with boxxyerror linecolor rgb faint, \
         data index i every ::1 using (0):1:(0):($4 > most ? most : $4):($1 - 0.22):($1 + 0.22) with boxxyerror linecolor rgb ours, \
         data index i every ::1 using (most * 1.02):($4 > most ? $1 : NaN):(sprintf('%.2f', $4)) with labels left font ',11'"
}
unset multiplot
