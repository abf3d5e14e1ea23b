# What the plots share. Each colour is named once here; dark.awk has those of a dark page.
set terminal svg size 900,HEIGHT font "Helvetica,Arial,sans-serif,14" background rgb "#ffffff"
set datafile separator ","
ours = "#0969da"   # this library
second = "#1a7f37" # this library, another way
peer = "#cf7500"   # llama.cpp
other = "#8250df"  # another peer
quiet = "#57606a"  # notes, the floor
faint = "#d0d7de"  # grids, what is gone
set border 0
set grid linecolor rgb faint linetype 1 linewidth 0.7
set tics scale 0
