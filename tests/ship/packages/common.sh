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
answers() { # command: it runs where nothing of the repository is, and must print what tests/ship/packages/answer.txt has
    cp tests/ship/packages/answer.* "$dir"
    got=$(cd "$dir" && "$@" 2> "$dir/log") || { cat "$dir/log" >&2; fail "$*"; }
    [ "$got" = "$(cat tests/ship/packages/answer.txt)" ] || fail "$*: it prints '$got'"
}
