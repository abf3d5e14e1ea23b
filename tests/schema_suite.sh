#!/bin/sh
# schema_suite.sh - JSON schema's official test suite against our grammars.
#
#   sh tests/schema_suite.sh PROGRAM DIRECTORY        PROGRAM is build/schema_files
#
# It comes from npm (draft 4), pinned by its version and by the sha512 of its tarball; npm runs none of its code. What is
# refused or judged otherwise must be what is listed here. Says that it is skipped without npm or a network.
set -u

program=$1
dir=$2
package=json-schema-test-suite
version=0.0.10
sha512=c7aff415778f6d5495b988665db19ac23a267cc061c41e3c2916e207ae28016d\
018dd3b73da555f5c322feef4b561d5f53a7ae086a64203df68d77d60b21999a
tarball=$dir/$package-$version.tgz

skip() { echo "test-schema-suite: SKIPPED, $1" >&2; exit 0; }

if [ ! -d "$dir/package/tests/draft4" ]; then
    command -v npm > /dev/null || skip "no npm to fetch it with"
    mkdir -p "$dir" || exit 1
    (cd "$dir" && npm pack "$package@$version" > npm.log 2>&1) && [ -f "$tarball" ] ||
        skip "npm could not fetch it (no network?), see $dir/npm.log"
    [ "$(sha512sum < "$tarball" | cut -d' ' -f1)" = "$sha512" ] || { echo "$tarball is not the pinned one" >&2; exit 1; }
    tar -xzf "$tarball" -C "$dir" || exit 1
fi

tests=$dir/package/tests/draft4
"$program" -d http://json-schema.org/draft-04/schema# "$tests"/*.json "$tests/optional/format.json" "$tests/optional/zeroTerminatedFloats.json" > "$dir/log" || {
    cat "$dir/log"
    exit 1
}
# schemas that are somewhere else; what no grammar can say; and //host, which was a URI to this suite and is a reference
# since RFC 3986
cat > "$dir/expected" << 'END'
REFUSED definitions.json: valid definition: -9, /$ref: a schema that is not in this text
REFUSED definitions.json: invalid definition: -9, /$ref: a schema that is not in this text
REFUSED multipleOf.json: by number: -9, /multipleOf: only multiples of what divides a power of ten
REFUSED ref.json: remote ref, containing refs itself: -9, /$ref: a schema that is not in this text
REFUSED refRemote.json: remote ref: -9, /$ref: a schema that is not in this text
REFUSED refRemote.json: fragment within remote ref: -9, /$ref: a schema that is not in this text
REFUSED refRemote.json: ref within remote ref: -9, /$ref: a schema that is not in this text
REFUSED refRemote.json: change resolution scope: -9, /items/items/$ref: a schema that is not in this text
REFUSED uniqueItems.json: uniqueItems validation: -9, /uniqueItems: only where all items are of an enum
REJECTED format.json: validation of URIs: "//foo.bar/?baz=qux#quux"
END
grep -v '^schemas ' "$dir/log" | grep -v '^SLOW' | diff "$dir/expected" - || exit 1
echo "== test-schema-suite: $(grep '^schemas ' "$dir/log")"
