# where.awk -- the tables of tests/README.md: are the tests that they name there, and is each sampler in them?
#     awk -f tests/tools/where.awk tests/README.md src/api/samplers.h src/api/gumbel.h tests/unit/test_samplers.c tests/unit/test_reference.c
function wrong(text) { print "tests/README.md: " text; failed = 1 }
FILENAME ~ /README/ {
    if (/^\| sampler /) table = 1
    if (!/^\|/) table = 0
    if (table && split($0, cell, /\|/) == 5 && cell[2] !~ /sampler|---/) {
        name = cell[2]
        gsub(/ /, "", name)
        in_table[name]
        for (c = 3; c <= 4; c++) while (match(cell[c], /`[a-z0-9_]+`/)) {
            need[c SUBSEP substr(cell[c], RSTART + 1, RLENGTH - 2)] = name
            cell[c] = substr(cell[c], RSTART + RLENGTH)
        }
    }
    text = $0
    while (match(text, /(unit|gpu)\/[a-z_]+\.c/)) {
        file = "tests/" substr(text, RSTART, RLENGTH)
        if ((getline line < file) < 0) wrong("there is no " file)
        close(file)
        text = substr(text, RSTART + RLENGTH)
    }
    next
}
FILENAME ~ /api/ && /^SAMP_API samp_sampler \*samp_init_/ {
    name = $0
    sub(/.*samp_init_/, "", name)
    sub(/\(.*/, "", name)
    if (name ~ /^(top_k_ties|custom)$/) next
    if (!(name in in_table)) wrong("no row for " name)
}
# what a program runs: cmocka_unit_test(test_...), several in a line
FILENAME ~ /unit/ {
    line = $0
    while (match(line, /cmocka_unit_test[a-z_]*\(test_[a-z0-9_]+/)) {
        split(substr(line, RSTART, RLENGTH), part, "(")
        there[(FILENAME ~ /samplers/ ? 3 : 4) SUBSEP part[2]]
        line = substr(line, RSTART + RLENGTH)
    }
}
END {
    for (k in need) if (!(k in there)) {
        split(k, q, SUBSEP)
        wrong(q[2] " (" need[k] ") is not among the tests of " (q[1] == 3 ? "test_samplers.c" : "test_reference.c"))
    }
    if (!failed) print "where: the tests that tests/README.md names are there"
    exit failed
}
