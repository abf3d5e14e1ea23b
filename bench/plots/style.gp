# What the plots share. Each colour is named once here; dark.awk has those of a dark page.
set terminal svg size 900,HEIGHT font "Helvetica,Arial,sans-serif,14" background rgb "#ffffff"
set datafile separator ","
ours = "#0969da"   # this library
second = "#1a7f37" # this library, another way
peer = "#cf7500"   # llama.cpp
other = "#8250df"  # another peer
fifth = "#bf3989"
quiet = "#57606a"  # notes, the floor
faint = "#d0d7de"  # grids, what is gone
set border 0
set grid linecolor rgb faint linetype 1 linewidth 0.7
set tics scale 0
# Where the times of a picture come from, at its foot: a line of measured.txt
measured(what) = system(sprintf("sed -n 's/^%s: //p' bench/plots/measured.txt", what))
set label 99 "" at screen 0.985, screen 0.03 right font ",11" textcolor rgb quiet
