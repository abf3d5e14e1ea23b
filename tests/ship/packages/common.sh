# common.sh - for the scripts beside it: a fresh folder, ways to fail and to skip, and what answer.* must print.
rm -rf "$1"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
root=$PWD
me=$(basename "$0" .sh)
unset SAMPLING_LIBRARY PYTHONPATH NODE_PATH
fail() { echo "packages: $me: $*" >&2; exit 1; }
skip() { echo "packages: SKIPPED $me: $*"; exit 0; }
quiet() { "$@" > "$dir/log" 2>&1 || { tail -n 30 "$dir/log" >&2; fail "$*"; }; }
# what a user writes to get the answer: the lines behind "in five lines", up to an empty one
for file in tests/ship/packages/answer.*; do
    lines=$(awk '/^[ \t]*$/ || /^}/ { on = 0 } on { n++ } /in five lines:$/ { on = 1; n = 0 } END { print n }' "$file")
    [ "${lines:-0}" -le 5 ] || fail "$file: $lines lines"
    case $file in *.c | *.txt) [ -z "$lines" ] ;; *) [ "${lines:-0}" -gt 0 ] ;; esac || fail "$file: where are its five lines?"
done
answers() { # command: it runs where nothing of the repository is, and must print what tests/ship/packages/answer.txt has
    cp tests/ship/packages/answer.* "$dir"
    got=$(cd "$dir" && "$@" 2> "$dir/log") || { cat "$dir/log" >&2; fail "$*"; }
    [ "$got" = "$(cat tests/ship/packages/answer.txt)" ] || fail "$*: it prints '$got'"
}
