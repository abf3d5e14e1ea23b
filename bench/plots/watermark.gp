# How soon a mark is detected: the median of p by the tokens of a text. Data: make bench-watermark.
HEIGHT = 420
load "bench/plots/style.gp"
curve(name) = sprintf("< awk -F, '$1 == \"%s\"' bench/plots/watermark.csv", name)
set title "Median of p by the tokens of a marked text, temperature 0.8" font ",16"
set xrange [0:300]
set yrange [0:30]
set xlabel "tokens" textcolor rgb quiet
set ytics ("1" 0, "10^{-6}" 6, "10^{-12}" 12, "10^{-18}" 18, "10^{-24}" 24, "10^{-30}" 30)
set rmargin 3
set key at graph 0.98, graph 0.42 right top vertical Left reverse samplen 2
plot curve("Gumbel") using 2:3 with lines linewidth 2 linecolor rgb ours title "Gumbel", \
     curve("dual key") using 2:3 with lines linewidth 2 linecolor rgb other title "dual key", \
     curve("SynthID") using 2:3 with lines linewidth 2 linecolor rgb fifth title "SynthID", \
     curve("SBW selfhash") using 2:3 with lines linewidth 2 linecolor rgb second title "SBW selfhash", \
     curve("SBW lefthash") using 2:3 with lines linewidth 2 linecolor rgb peer title "SBW lefthash"
