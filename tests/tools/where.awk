# where.awk -- the tables of tests/README.md: are the tests that they name there, is each sampler in them, has each file of
# tests/ and bench/ a line, and what a line names as code, is it in one of its files? Is each sampler in the list of makers.h?
#     awk -v files="PATH ..." -f tests/tools/where.awk tests/README.md tests/support/makers.h src/api/samplers.h \
#         src/api/gumbel.h tests/unit/test_samplers.c tests/unit/test_reference.c
function wrong(text, file) { print (file ? file : "tests/README.md") ": " text; failed = 1 }
# is a name in one of the files of a list?
function in_files(name, list,    file, n, i, line, found) {
    n = split(list, file, " ")
    for (i = 1; i <= n && !found; i++) {
        while (!found && (getline line < file[i]) > 0) found = line ~ ("(^|[^A-Za-z0-9_])" name "([^A-Za-z0-9_]|$)")
        close(file[i])
    }
    return found
}
# the names of a text that are code, each in one of the files
function look(text, list,    name) {
    while (match(text, /`[A-Za-z0-9_]+`/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        if (!in_files(name, list)) wrong(name " is not in " list)
        text = substr(text, RSTART + RLENGTH)
    }
}
# a line of "Every file": "| folder/ | ..." begins a table, "| a.c, b.h | text with `names` |" is about files there
function file_line(line,    cell, name, n, i, path, list) {
    split(line, cell, / *\| */)
    if (cell[2] ~ /\/$/) { folder = cell[2] ~ /^bench/ ? cell[2] : "tests/" cell[2]; return }
    n = split(cell[2], name, /, /)
    for (i = 1; i <= n; i++) {
        path = folder name[i]
        if ((getline list_line < path) < 0) wrong("there is no " path)
        close(path)
        has_line[path]
        list = list " " path
    }
    look(line, list)
}
FILENAME ~ /README/ {
    if (/^## /) chapter = $0
    if (chapter ~ /Every file/ && /^\| /) { file_line($0); next }
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
        tested = tested " " file
        text = substr(text, RSTART + RLENGTH)
    }
    if (chapter ~ /Where is/ && !table && tested != "") look($0, tested)
    tested = ""
    next
}
FILENAME ~ /api/ && /^SAMP_API samp_sampler \*samp_init_/ {
    name = $0
    sub(/.*samp_init_/, "", name)
    sub(/\(.*/, "", name)
    if (name ~ /^(top_k_ties|custom)$/) next
    if (!(name in in_table)) wrong("no row for " name)
    if (!(name in made)) wrong("no " name, "tests/support/makers.h")
}
FILENAME ~ /makers/ && match($0, /X\([a-z0-9_]+, samp_init_/) {
    name = substr($0, RSTART + 2, RLENGTH)
    sub(/,.*/, "", name)
    made[name]
}
# what a program runs: TEST(test_...), FORMULA(test_..., ...)
FILENAME ~ /unit/ && match($0, /^(TEST|FORMULA)\(test_[a-z0-9_]+/) {
    name = substr($0, 1, RLENGTH)
    sub(/.*\(/, "", name)
    there[(FILENAME ~ /samplers/ ? 3 : 4) SUBSEP name]
}
END {
    n = split(files, path, /[ \n]+/)
    for (i = 1; i <= n; i++)
        if (path[i] != "" && path[i] !~ /\/(README|corpus|results|msvc|__pycache__)|\.md$|\.(svg|csv|dat)$/ && !(path[i] in has_line))
            wrong("no line for " path[i])
    for (k in need) if (!(k in there)) {
        split(k, q, SUBSEP)
        wrong(q[2] " (" need[k] ") is not among the tests of " (q[1] == 3 ? "test_samplers.c" : "test_reference.c"))
    }
    if (!failed) print "where: the tests that tests/README.md names are there"
    exit failed
}
