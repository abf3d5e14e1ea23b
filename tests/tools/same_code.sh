#!/bin/sh
# Shows whether both headers have the same code as at a commit, comments and white space aside:
#   sh tests/tools/same_code.sh [REV]      REV: the commit to compare with, by default HEAD
# Prints the words that differ, and fails if there are any. The compiler takes the comments out.
rev=${1:-HEAD}
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
code() { ${CC:-gcc} -fpreprocessed -dD -E -P -w "$1" | sed 's/\\$//; s/[^A-Za-z0-9_]/ & /g' | tr -s ' \t\n' '\n\n\n' >"$2"; }
bad=0
for header in sampling.h sampling_gpu.h; do
    git show "$rev:$header" >"$out/$header" || exit 1
    code "$out/$header" "$out/old"
    code "$header" "$out/new"
    if diff "$out/old" "$out/new" >"$out/diff"; then
        echo "$header: the same code as at $rev ($(wc -l <"$out/new") words)"
    else
        echo "$header: other code than at $rev"
        cat "$out/diff"
        bad=1
    fi
done
exit $bad
