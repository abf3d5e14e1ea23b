#!/bin/sh
# Documents keep to their words: no page, manual or help text has a word that words.txt gives up; and the README has the
# figures of the files that they come from. Usage: words.sh
set -eu
cd "$(dirname "$0")/../.."
pages=$(ls README.md src/README.md src/*/*.md bench/README.md bench/GPU.md tests/README.md)
# shellcheck disable=SC2086
awk '
FILENAME ~ /words\.txt$/ {
    if ($0 ~ /^#/ || !NF) next
    if (split($0, part, / \| /) != 2) { print "words.txt: " $0; bad = 1; next }
    word[++n] = "(^|[^A-Za-z_0-9.`])" tolower(part[1]) "($|[^A-Za-z_0-9.`])"
    name[n] = part[1]
    instead[n] = part[2]
    next
}
/^```/ { code = !code }
FNR == 1 { code = 0 }
{
    if (code || (FILENAME ~ /(Makefile|\.mk)$/ && !/^## /)) next
    text = tolower($0)
    gsub(/`[^`]*`/, "", text)      # code
    gsub(/\]\([^)]*\)/, "]", text) # addresses
    gsub(/tells? (a|the) (story|stories)/, "", text)
    for (i = 1; i <= n; i++) if (match(text, word[i])) { print FILENAME ":" FNR ": \"" name[i] "\": say " instead[i]; bad = 1 }
}
END { exit bad }' tests/tools/words.txt $pages Makefile src/src.mk src/package/package.mk bench/bench.mk tests/tests.mk tests/gpu/gpu.mk src/api/opening.h
fail() { echo "words: $*" >&2; exit 1; }
# So do the comments of the rooms.
found=$(awk '
FILENAME ~ /words\.txt$/ { if (!/^#/ && NF) { split($0, part, / \| /); any = any (any ? "|" : "") part[1] }; next }
FNR == 1 { inside = 0 }
{
    text = tolower($0)
    if (!inside && !match(text, /\/\*/)) next
    if (!inside) text = substr(text, RSTART)
    inside = text !~ /\*\//
    if (text ~ ("(^|[^a-z_0-9.`])(" any ")($|[^a-z_0-9.`(])")) n++
}
END { print n + 0 }' tests/tools/words.txt $(find src -name '*.h' | sort))
[ "$found" = 0 ] || fail "$found lines of comments in src/ have words that tests/tools/words.txt gives up"
# One figure for one thing. The time of the default chain is that of bench/plots/speed.csv.
awk -F, '$1 == "default" && $2 == 128256 { printf "%.1f us, where llama.cpp takes %.0f us\n", $3, $4 }' bench/plots/speed.csv | grep -qFf - README.md ||
    fail "README.md has another time of the default chain than bench/plots/speed.csv"
# MaskBench: how many pass is what the grammars' page says.
passed=$(awk -F'|' '/^\| here \|/ && NF == 12 { gsub(/ /, "", $3); print $3 }' src/grammar/README.md)
grep -qF "[$passed pass, and none accepts" README.md || fail "README.md has other figures of MaskBench than src/grammar/README.md"
echo "words: $(echo "$pages" | wc -l) pages, and the comments of src/, keep to their words"
