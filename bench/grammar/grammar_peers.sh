#!/bin/sh
# grammar_peers.sh - one table of what masks cost: here, llama.cpp, XGrammar; the same vocabulary and documents.
#
#   sh bench/grammar/grammar_peers.sh BUILD             after make has built BUILD/bench_grammar and BUILD/llama3.bin
#
# The peers come from npm, pinned: libllama as for the tests, XGrammar's WebAssembly. The row of one that can't be had
# says "not there".
set -u
build=$1
dir=$build/grammar
xgrammar_sha256=803713906fb3e53483ab03f33244a64d8ed818820be9abe520e615754bfd3e24

missing() { printf '%-44s %9s\n' "$1" "not there"; }

mkdir -p "$dir" "$build/llama" || exit 1
"$build/bench_grammar" "$build/llama3.bin" --peers "$dir" || exit 1

# Llama 3's vocabulary as a file of llama.cpp's, and its row
llama_row() {
    bins=$(sh tests/ship/llama/fetch.sh "$build/llama" vocabulary) || return
    gguf=$build/llama/wide.gguf
    if [ ! -f "$gguf" ]; then
        ${CC:-cc} -O2 -std=gnu11 -I. bench/llama/gguf.c -o "$build/llama/gguf" -lm &&
            node tests/ship/llama/vocabulary.mjs "$build/llama/vocabulary" "$build/llama/vocabulary.txt" &&
            "$build/llama/gguf" wide "$build/llama/vocabulary.txt" "$gguf" || exit 1
    fi
    ${CC:-cc} -O2 -std=gnu11 -I. bench/grammar/bench_grammar_llama.c -o "$dir/llama" -lm -ldl || exit 1
    "$dir/llama" "$bins/libllama.v0.5.0.so" "$gguf" "$dir/script.txt"
}
llama_row || { [ $? -eq 77 ] || exit 1; missing "llama.cpp, the same grammar"; }

# npm runs none of its code; the copy's name makes node read it as the kind of module that it is
xgrammar_rows() {
    library=$dir/npm/node_modules/@mlc-ai/web-xgrammar/lib/index.js
    command -v npm > /dev/null && command -v node > /dev/null || return 77
    [ -f "$library" ] || npm install --silent --no-save --ignore-scripts --no-audit --no-fund --prefix "$dir/npm" \
        @mlc-ai/web-xgrammar@0.1.27 > "$dir/npm.log" 2>&1 || return 77
    echo "$xgrammar_sha256  $library" | sha256sum --check --status ||
        { echo "grammar_peers: $library is not the pinned one" >&2; return 1; }
    cp "$library" "$dir/xgrammar.cjs" && node bench/grammar/xgrammar.mjs "$dir/xgrammar.cjs" "$build/llama3.bin" "$dir"
}
xgrammar_rows || { [ $? -eq 77 ] || exit 1; missing "XGrammar (WebAssembly)"; }
