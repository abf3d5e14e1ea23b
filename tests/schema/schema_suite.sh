#!/bin/sh
# schema_suite.sh - JSON schema's official test suite against our grammars.
#
#   sh tests/schema/schema_suite.sh PROGRAM DIRECTORY        PROGRAM is build/schema_files
#
# Draft 4 comes from npm, which has no newer one; drafts 7 and 2020-12 from Debian's package of them (apt-get download,
# nothing is installed), with their formats (optional/format). Both are pinned by version and sha512, and none of their
# code is run. What is refused or judged otherwise must be what is listed here, or in tests/data/schema_suite.txt. Says
# what is skipped without npm, apt-get or a network.
set -u

program=$1
dir=$2
package=json-schema-test-suite
version=0.0.10
sha512=c7aff415778f6d5495b988665db19ac23a267cc061c41e3c2916e207ae28016d\
018dd3b73da555f5c322feef4b561d5f53a7ae086a64203df68d77d60b21999a
tarball=$dir/$package-$version.tgz

skip() { echo "test-schema-suite: SKIPPED, $1" >&2; }

draft_4() {
    if [ ! -d "$dir/package/tests/draft4" ]; then
        command -v npm > /dev/null || { skip "no npm to fetch draft 4 with"; return; }
        mkdir -p "$dir" || exit 1
        (cd "$dir" && npm pack "$package@$version" > npm.log 2>&1) && [ -f "$tarball" ] ||
            { skip "npm could not fetch draft 4 (no network?), see $dir/npm.log"; return; }
        [ "$(sha512sum < "$tarball" | cut -d' ' -f1)" = "$sha512" ] || { echo "$tarball is not the pinned one" >&2; exit 1; }
        tar -xzf "$tarball" -C "$dir" || exit 1
    fi

    tests=$dir/package/tests/draft4
    "$program" -d http://json-schema.org/draft-04/schema# "$tests"/*.json "$tests/optional/format.json" \
        "$tests/optional/zeroTerminatedFloats.json" > "$dir/log" || {
        cat "$dir/log"
        exit 1
    }
    # schemas that are somewhere else; what no grammar can say; and //host, which was a URI to this suite and is a reference
    # since RFC 3986
    cat > "$dir/expected" << 'END'
REFUSED definitions.json: valid definition: -9, /$ref: a schema that is not in this text
REFUSED definitions.json: invalid definition: -9, /$ref: a schema that is not in this text
REFUSED ref.json: remote ref, containing refs itself: -9, /$ref: a schema that is not in this text
REFUSED refRemote.json: remote ref: -9, /$ref: a schema that is not in this text
REFUSED refRemote.json: fragment within remote ref: -9, /$ref: a schema that is not in this text
REFUSED refRemote.json: ref within remote ref: -9, /$ref: a schema that is not in this text
REFUSED refRemote.json: change resolution scope: -9, /items/items/$ref: a schema that is not in this text
REFUSED uniqueItems.json: uniqueItems validation: -9, /uniqueItems: only where all items are scalars, and one schema is for all
REJECTED format.json: validation of URIs: "//foo.bar/?baz=qux#quux"
END
    grep -v '^schemas ' "$dir/log" | grep -v '^SLOW' | diff "$dir/expected" - || exit 1
    echo "== test-schema-suite, draft4: $(grep '^schemas ' "$dir/log")"
}

package_2=libtest-json-schema-acceptance-perl
version_2=1.019-1
sha512_2=e060a940bd13357119d0064ccc2965958bb6a653905ff5ff125baac42fd1e9f7\
7190ef53c0aa7ab04e589d4c303f894280a4a724e2c3433ad3a6938a151500b2
tests_2=$dir/newer/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests

newer_drafts() {
    deb=$dir/${package_2}_${version_2}_all.deb
    if [ ! -d "$tests_2/draft2020-12" ]; then
        { command -v apt-get && command -v dpkg-deb; } > /dev/null || { skip "no apt-get for drafts 7 and 2020-12"; return; }
        mkdir -p "$dir" || exit 1
        (cd "$dir" && apt-get download "$package_2=$version_2" > apt.log 2>&1) && [ -f "$deb" ] ||
            { skip "apt-get could not fetch drafts 7 and 2020-12, see $dir/apt.log"; return; }
        [ "$(sha512sum < "$deb" | cut -d' ' -f1)" = "$sha512_2" ] || { echo "$deb is not the pinned one" >&2; exit 1; }
        dpkg-deb -x "$deb" "$dir/newer" || exit 1
    fi
    for draft in draft7 draft2020-12; do
        "$program" -d "$(case $draft in draft7) echo http://json-schema.org/draft-07/schema#;; \
            *) echo https://json-schema.org/draft/2020-12/schema;; esac)" "$tests_2/$draft"/*.json "$tests_2/$draft"/optional/format/*.json > "$dir/log" ||
            { cat "$dir/log"; exit 1; }
        grep -v '^schemas \|^SLOW' "$dir/log" | sed "s/^/$draft /" > "$dir/log.$draft"
        echo "== test-schema-suite, $draft: $(grep '^schemas ' "$dir/log")"
    done
    cat "$dir/log.draft7" "$dir/log.draft2020-12" | diff tests/data/schema_suite.txt - || exit 1
}

draft_4
newer_drafts
