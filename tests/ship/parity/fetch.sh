#!/bin/sh
# fetch.sh - get the libllama that parity.c compares with, and print its path.
#
#   sh tests/ship/parity/fetch.sh [DIRECTORY]        DIRECTORY is build/parity unless told
#
# It comes from a prebuilt npm package, pinned by its version and by the sha512 of its tarball; npm runs none
# of its code, and nothing is fetched again when it is there. Exit 77 (skipped) without npm or a network, or
# on a platform for which the package has no library; 1 if the tarball is not the pinned one.
set -u

package=node-llama-cpp-linux-x64
version=3.22.1
sha512=e6e0820cda9608d7da026f1a47f533c5ba381c1a4a80d17dd640873dea4a8603\
2057638099ab6879f6ce94c8a1b2a0a21f639ddf913f7941d00856df44126e3a

dir=${1:-build/parity}
tarball=$dir/$package-$version.tgz
library=$dir/package/bins/linux-x64/libllama.v0.5.0.so

skip() { echo "parity: skipped, $1" >&2; exit 77; }

[ -f "$library" ] && { echo "$library"; exit 0; }

[ "$(uname -s)" = Linux ] && [ "$(uname -m)" = x86_64 ] || skip "the peer's package is for Linux on x86-64"
command -v npm > /dev/null || skip "no npm to fetch the peer with"

mkdir -p "$dir" || exit 1
rm -f "$tarball"
(cd "$dir" && npm pack "@node-llama-cpp/linux-x64@$version" > npm.log 2>&1) && [ -f "$tarball" ] ||
    skip "npm could not fetch the peer (no network?), see $dir/npm.log"

if command -v sha512sum > /dev/null; then
    got=$(sha512sum "$tarball" | cut -d ' ' -f 1)
else
    got=$(openssl dgst -sha512 -r "$tarball" | cut -d ' ' -f 1)
fi
if [ "$got" != "$sha512" ]; then
    echo "parity: $tarball has the sha512 $got, not the pinned $sha512" >&2
    exit 1
fi

tar -xzf "$tarball" -C "$dir" && [ -f "$library" ] || { echo "parity: no $library in $tarball" >&2; exit 1; }
echo "$library"
