# headers.awk -- a header out of its rooms: each #include of a room in the spine becomes the room's text.
#
#     awk -v dir=src -f src/headers.awk src/sampling.h > sampling.h            make headers
#
# A room is a file in a folder of src/. A marker with its name stands above its text, and the list of all rooms, with the
# lines where they begin, behind the first room, which is the opening comment. A room may include others (samplers/plans.h
# does). From #define SAMPI_PLANS to its #undef rooms give what they have under #ifdef SAMPI_PLANS, else what they have
# under #ifndef; both lines are left out.
#   lines=1        writes #line, so that messages of a compiler name the room; comments are whole
#   without="A B"  macros that are never defined: what stands under #ifdef A is left out. make single
#   with="A B"     macros that are always defined: #define stands in front, what stands under #ifndef A is left out.
#   skip="a/b.h"   rooms that are left out
#   bare=1         a copy to use, not to work on: without the list of rooms, and with no comments but the contracts. make single

function put(line) { out[++n_out] = line }

# Is a line under a condition that is known to fail? Only #ifdef NAME and #ifndef NAME are looked at; the lines of a
# condition that is known are left out themselves. state[depth]: "" not known, 1 holds, 0 does not.
function hidden(line,    word, name, now)
{
    if (line !~ /^#(if|else|elif|endif)/) return n_off > 0
    split(line, word, /[ \t]+/)
    name = word[2]
    if (line ~ /^#if/) {
        now = ""
        if (word[1] == "#ifdef" && name in never || word[1] == "#ifndef" && name in always) now = 0
        if (word[1] == "#ifdef" && name in always || word[1] == "#ifndef" && name in never) now = 1
        if (line ~ /^#if defined\(SAMPLING_[A-Z]+_DECLARED\) \|\| defined\(SAMP_MISSING\)$/) { # a part's declarations
            split(line, word, /[()]/)
            if (word[2] in never) now = 0
        }
        state[++depth] = now
        if (now == "") return n_off > 0
        n_off += now == 0
        if (now == 0 && word[1] == "#ifdef" && name in part && !n_refused[name]++ && n_off == 1) refuse(name)
        return 1
    }
    now = state[depth]
    if (line ~ /^#elif/ && now != "") {
        if (now == 1) n_off++
        state[depth] = 0
        return 1
    }
    if (line ~ /^#else/ && now != "") {
        n_off += now == 1 ? 1 : -1
        state[depth] = !now
        return 1
    }
    if (line ~ /^#endif/) {
        depth--
        if (now != "") { n_off -= now == 0; return 1 }
    }
    return n_off > 0
}

# Whoever asks for a part that this copy does not have is told so.
function refuse(name)
{
    put("#ifdef " name)
    put("#error \"" header ": this copy was made without " name "\"")
    put("#endif")
}

# Are the plans of the rooms wanted, or all else?
function want_plans(wanted)
{
    delete always["SAMPI_PLANS"]
    delete never["SAMPI_PLANS"]
    if (wanted) always["SAMPI_PLANS"]
    else never["SAMPI_PLANS"]
}

# A comment of several lines in a room that is no contract: its heading and its first sentence. Who reads the header reads
# contracts, and of all else what it is; who works on it reads the rooms.
function put_first_sentence(text,    indent, n, i, word, line)
{
    match(text, /^ */)
    indent = substr(text, 1, RLENGTH)
    if (text ~ /^\/\* [-=]/) {
        put(substr(text, 1, index(text, "\n") - 1))
        text = substr(text, index(text, "\n") + 1)
        indent = "  "
    }
    gsub(/[ \t]*\n[ \t]*/, " ", text)
    sub(/^ */, "", text)
    sub(/ *\*\/$/, "", text)
    if (match(text, /[A-Za-z0-9)\]'"][.:] +([A-Z][a-z ]|`|sampi?_)/)) text = substr(text, 1, RSTART) "."
    n = split(text " */", word, / +/)
    line = indent word[1]
    for (i = 2; i <= n; i++) {
        if (length(line) + 1 + length(word[i]) > 120) {
            put(line)
            line = indent "  "
        }
        line = line " " word[i]
    }
    put(line)
}

# A line of a room's file without its comment, which may go on in the next lines. Strings have none.
function without_comment(line, file,    code)
{
    sub(/ *\/\*([^*]|\*+[^*\/])*\*+\/$/, "", line)
    if (line ~ /\/\*.*\*\// || !match(line, / *\/\*/)) return line
    code = substr(line, 1, RSTART - 1)
    while (line !~ /\*\/$/ && (getline line < file) > 0) continue
    return code
}

function is_contract(path) { return path ~ /^api\/|^gpu\/(api|opening)\.h$/ }

function is_room(line) { return line ~ /^#include "[a-z0-9_]+\/[a-z0-9_\/]+\.h"$/ }

function room(path,    line, n, quoted, first, text)
{
    if (!("SAMPI_PLANS" in always)) {
        begins[++n_rooms] = n_out + 1
        name_of[n_rooms] = path
    }
    if (n_rooms > 1 || lines) put("/* ---- src/" path " ---- */")
    if (lines) put("#line 1 \"" dir "/" path "\"")
    while ((getline line < (dir "/" path)) > 0) {
        first = ++n == 1
        if (bare && !is_contract(path) && line != "" && (line = without_comment(line, dir "/" path)) == "") continue
        if (first && line ~ /^\/\* [-=]/ && "SAMPI_PLANS" in always) in_head = 1
        if (!lines && !in_head && !is_contract(path) && line ~ /^ *\/\*/ && line !~ /\*\//) {
            for (text = line; line !~ /\*\/$/ && (getline line < (dir "/" path)) > 0; n++) text = text "\n" line
            if (!n_off) put_first_sentence(text)
            continue
        }
        if (line ~ /^#(define|undef) SAMPI_PLANS$/) want_plans(line ~ /define/)
        else if (is_room(line) && !n_off) {
            split(line, quoted, "\"")
            room(quoted[2])
            if (lines) put("#line " n + 1 " \"" dir "/" path "\"")
        }
        else if (!in_head && !hidden(line)) put(line)
        if (line ~ /\*\/$/) in_head = 0
    }
    close(dir "/" path)
    if (!n) { print "headers: no room " dir "/" path > "/dev/stderr"; failed = 1; exit 1 }
    if (n_rooms == 1) list_at = n_out
}

# The list of all rooms, with the lines where they begin; so many lines of #define follow it.
function put_rooms(n_defined,    per, rows, above, r, c, k, text)
{
    per = 3
    rows = int((n_rooms + per - 1) / per)
    above = 1 + 3 + rows + n_defined
    print "/* The rooms of src/, and the line where each begins:"
    print ""
    for (r = 0; r < rows; r++) {
        text = "  "
        for (c = 0; c < per; c++) {
            k = r + c * rows + 1
            if (k <= n_rooms) text = text sprintf(" %5d %-31s", begins[k] + (k == 1 ? 1 : above), name_of[k])
        }
        sub(/ +$/, "", text)
        print text
    }
    print "*/"
}

BEGIN {
    n = split(without, a, " ")
    for (i = 1; i <= n; i++) { never[a[i]]; never[a[i] "_DECLARED"]; part[a[i]] }
    n = split(with, a, " ")
    for (i = 1; i <= n; i++) always[a[i]]
    n = split(skip, a, " ")
    for (i = 1; i <= n; i++) left_out[a[i]]
    want_plans(0)
}

FNR == 1 { header = FILENAME; sub(/.*\//, "", header) }
is_room($0) && !n_off {
    split($0, quoted, "\"")
    if (quoted[2] in left_out) next
    if (was_room) put("")
    room(quoted[2])
    if (lines) put("#line " FNR + 1 " \"" FILENAME "\"")
}
!is_room($0) && !hidden($0) { put($0) }
{ was_room = is_room($0) && !n_off }

END {
    if (failed) exit 1
    print "/* Made by `make headers` from the rooms in src/, where comments are longer: change those, not this file. */"
    n = split(with, a, " ")
    for (i = 1; i <= list_at; i++) print out[i]
    if (!bare) put_rooms(n)
    for (i = 1; i <= n; i++) print "#define " a[i]
    for (i = list_at + 1; i <= n_out; i++) print out[i]
}
