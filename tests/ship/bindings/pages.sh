#!/bin/sh
# The code blocks of a page print what it says. Usage: pages.sh DIR PAGE COMMAND...: COMMAND runs the file that follows it
set -eu
dir=$1 page=$2
shift 2
fail() { echo "bindings: $page: $*" >&2; exit 1; }
rm -rf "$dir"
mkdir -p "$dir"
awk -v dir="$dir" -f tests/tools/blocks.awk "$page" > "$dir/blocks" || fail "its blocks"
n=0
while read -r block; do
    [ "${block%%.*}" != unnamed ] || continue
    [ -s "$dir/$block.out" ] || fail "it does not say what $block prints"
    "$@" "$dir/$block" > "$dir/$block.said" || fail "$block fails"
    said=$(tr '\n' ' ' < "$dir/$block.said" | sed 's/ *$//')
    [ "$said" = "$(cat "$dir/$block.out")" ] || fail "$block prints '$said'"
    n=$((n + 1))
done < "$dir/blocks"
[ "$n" -gt 0 ] || fail "it has no programs"
echo "bindings: ${page##*/}: $n programs print what it says"
