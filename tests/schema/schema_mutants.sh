#!/bin/sh
# schema_mutants.sh - documents of the official suite, changed at random (schema_mutants.mjs): judged here as by ajv?
#
#   sh tests/schema/schema_mutants.sh PROGRAM SUITE NODE_MODULES N SEED        PROGRAM is build/schema_files
#
# SUITE is where schema_suite.sh has put the suite. About N documents over drafts 4, 7 and 2020-12. What is refused is
# test-schema-suite's affair.
set -u
program=$1 dir=$2 modules=$3 n=$4 seed=$5
newer=$dir/newer/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests
wrong=0 documents=0
for draft in 4 7 2020; do
    case $draft in
        4) files=$dir/package/tests/draft4 address=http://json-schema.org/draft-04/schema# ;;
        7) files=$newer/draft7 address=http://json-schema.org/draft-07/schema# ;;
        *) files=$newer/draft2020-12 address=https://json-schema.org/draft/2020-12/schema ;;
    esac
    # more than half of what is made comes twice or is left out
    node tests/schema/schema_mutants.mjs "$modules" $draft $((n * 5 / 6)) "$seed" \
        $(ls "$files"/*.json | grep -v '/format.json') > "$dir/mutants.jsonl" || exit 1
    "$program" -n -d $address "$dir/mutants.jsonl" > "$dir/mutants.log"
    case $? in 0 | 1) ;; *) exit 1 ;; esac
    grep '^ACCEPTED\|^REJECTED\|^STATUS\|^DIFFER' "$dir/mutants.log" && wrong=1
    documents=$((documents + $(sed -n 's/.* documents \([0-9]*\) .*/\1/p' "$dir/mutants.log")))
    echo "== test-schema-mutants, draft $draft: $(grep '^schemas ' "$dir/mutants.log")"
done
echo "test-schema-mutants: $documents documents judged as by ajv"
[ "$documents" -gt 0 ] && exit $wrong
exit 1
