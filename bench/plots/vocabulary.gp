# The time of a token by the size of the vocabulary, here and in llama.cpp, beside one pass over the row.
HEIGHT = 560
load "bench/plots/style.gp"
rows(name) = sprintf("< awk -F, '$1 == \"%s\"' bench/plots/speed.csv | sort -t, -k2,2 -n", name)
floor = "< awk -F, 'NR > 1 && (!($2 in t) || $5 < t[$2]) { t[$2] = $5 } END { for (v in t) print v \",\" t[v] }' bench/plots/speed.csv | sort -t, -n"
set multiplot layout 2,3 margins 0.09,0.985,0.12,0.86 spacing 0.03,0.13 title "Time of a token by vocabulary, one thread" font ",16"
set logscale xy
set xrange [27000:310000]
set yrange [1:60000]
set xtics ("32k" 32000, "64k" 64000, "128k" 128256, "256k" 262144)
set ytics ("1 us" 1, "10 us" 10, "100 us" 100, "1 ms" 1000, "10 ms" 10000)
set format y ""
set pointsize 0.6
unset key
do for [i = 1:6] {
    name = word("greedy default min_p temp top_p typical", i)
    set title system(sprintf("sed -n 's/^%s,//p' bench/plots/names.csv", name)) noenhanced font ",14" offset 0,-0.6
    if (i % 3 == 1) { set ytics ("1 us" 1, "10 us" 10, "100 us" 100, "1 ms" 1000, "10 ms" 10000) } else { set ytics ("" 1, "" 10, "" 100, "" 1000, "" 10000) }
    if (i == 3) {
        set label 1 "llama.cpp" at 33000, 400 textcolor rgb peer
        set label 2 "sampling.h" at 33000, 12 textcolor rgb ours
        set label 3 "one pass for the maximum" at 300000, 1.35 right font ",12" textcolor rgb quiet
        set label 99 measured("speed") at screen 0.985, screen 0.02 right font ",11" textcolor rgb quiet
    } else { unset label }
    plot floor using 1:2 with lines linecolor rgb quiet dashtype 2 linewidth 1.5, \
         rows(name) using 2:4 with linespoints pointtype 7 linewidth 2 linecolor rgb peer, \
         rows(name) using 2:3 with linespoints pointtype 7 linewidth 2 linecolor rgb ours
}
unset multiplot
