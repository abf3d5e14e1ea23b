#!/bin/sh
# The pictures in a folder: each has a title of its own and colours for a dark page, and says where and when its times were
# measured; each case has a plain name, and each sampler of README.md's tables a panel. Usage: check.sh FOLDER
set -eu
here=bench/plots
fail() { echo "test-plots: $*" >&2; exit 1; }
for program in "$here"/*.gp; do
    name=$(basename "$program" .gp)
    picture=$1/$name.svg
    [ "$name" != style ] || continue
    grep -q '</svg>' "$picture" && grep -q 'prefers-color-scheme' "$picture" || fail "$picture is not one of make plots"
    title=$(sed -n 's/.*<title>\([^<]*\)<.*/\1/p' "$picture")
    [ "$title" = "$(sed -n '1 { s/^# //; s/ Data: .*//; p; }' "$program")" ] || fail "$picture has the title '$title'"
    measured=$(sed -n 's/.*measured("\(.*\)").*/\1/p' "$program" | head -n 1)
    [ -z "$measured" ] || grep -qF "$(sed -n "s/^$measured: //p" $here/measured.txt)<" "$picture" || fail "$picture does not say where its times are from"
done
for picture in "$1"/*.svg; do [ -f "$here/$(basename "$picture" .svg).gp" ] || fail "nothing draws $picture"; done
grep -L 'measured("' $here/speed.gp $here/vocabulary.gp $here/batches.gp $here/grammar.gp | grep . && fail "no place and date"
awk -F, 'NR == FNR { name[$1]; next } FNR > 1 && !($1 in name) { print "test-plots: names.csv has no " $1; bad = 1 } END { exit bad }' \
    $here/names.csv $here/speed.csv >&2
# all but what a program writes, a replay, whose tokens are given, and the row of constraints, which has some panels
sed -n '/^## Samplers/,/^## Parts/s/^| \([a-z_0-9, ]*\) |.*/\1/p' README.md | tr -d ' ' | tr ',' '\n' | grep -vxE 'sampler|yourown|replay|constraints' > "$1/names"
[ "$(wc -l < "$1/names")" -ge 29 ] || fail "README.md has too few samplers"
while read -r name; do grep -q "^\"$name|" $here/samplers.dat || fail "samplers.svg has no panel of $name"; done < "$1/names"
rm "$1/names"
