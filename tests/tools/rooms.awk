# rooms.awk -- is the house in order?      awk -f tests/tools/rooms.awk src/sampling.h src/sampling_gpu.h $(rooms)      make test-rooms
#
# Each room stands in one spine, once (samplers/plans.h in both: plans are compiled for each executor); begins with a comment; has at most 1,000 lines. A room uses what stands above it: a
# function that is declared before it has a body has that body in the same room, or a line of src/README.md ("Circles that
# stay") names the room and the function. And is the map true?
# Each room has a line in src/README.md ("The rooms"), and what that line names as code is in the room.

function wrong(text) { print "rooms: " text; failed = 1 }
function room_of(path) { sub(/^src\//, "", path); return path }

# a line of the map: "| folder/ | ..." begins a table, "| a.h, b.h | text with `names` |" is about rooms of that folder
function map_line(line,    cell, name, n, i) {
    split(line, cell, / *\| */)
    if (cell[2] ~ /\/$/) { folder = cell[2] == "src/" ? "" : cell[2]; return }
    n = split(cell[2], name, /, /)
    n_lines++
    for (i = 1; i <= n; i++) if (folder != "" && name[i] ~ /\.h$/) line_of[folder name[i]] = n_lines
    rooms_of[n_lines] = folder cell[2]
    while (match(line, /`(sampi?|SAMPI?)_[A-Za-z0-9_]+`/)) {
        named[n_lines] = named[n_lines] substr(line, RSTART + 1, RLENGTH - 2) " "
        line = substr(line, RSTART + RLENGTH)
    }
}
FILENAME == "src/README.md" {
    if (/^## /) chapter = $0
    if (chapter ~ /Circles/ && match($0, /`sampi_[a-z0-9_]+`/)) excused[substr($0, RSTART + 1, RLENGTH - 2)]
    if (chapter ~ /The rooms/ && /^\| /) map_line($0)
    next
}
FILENAME ~ /^src\/sampling(_gpu)?\.h$/ {
    if (/^#include "[a-z0-9_]+\/[a-z0-9_\/]+\.h"$/) {
        split($0, q, "\"")
        if (q[2] in spine && q[2] != "samplers/plans.h") wrong(q[2] " stands twice in the spines")
        spine[q[2]]
    }
    next
}
FNR == 1 {
    room = room_of(FILENAME)
    n_rooms++
    if (!(room in spine)) wrong(room " stands in no spine")
    seen[room]
    n_names = room in line_of ? split(named[line_of[room]], map_name, " ") : 0
    if ($0 !~ /^\/\*/) wrong(room " does not begin with a comment")
}
{ for (i = 1; i <= n_names; i++) if ($0 ~ ("(^|[^A-Za-z0-9_])" map_name[i] "([^A-Za-z0-9_]|$)")) found[line_of[room], map_name[i]] }
FNR == 1001 { wrong(room " has more than 1,000 lines") }
{ sub(/[ \t]*\/\*.*\*\/$/, "") } # a comment behind a line
# a function's first line: static ... name(
/^(static|SAMPI_INLINE|SAMPI_COLD|SAMPI_CALLED|SAMPI_HOT)/ || open_name != "" {
    if (open_name == "" && match($0, /[a-z_0-9]+\(/)) open_name = substr($0, RSTART, RLENGTH - 1)
    if (/;$/ && $0 !~ /\{/) { if (open_name ~ /^sampi_/ && $0 ~ /\);$/ && $0 !~ /=/) declared[room, open_name] = FNR; open_name = "" }
    else if (/\{/ || /^$/) { if (open_name != "") defined[room, open_name]; open_name = "" }
}
END {
    for (r in spine) if (!(r in seen)) wrong(r " is in a spine, but there is no such room")
    for (r in seen) if (!(r in line_of)) wrong("src/README.md has no line for " r)
    for (r in line_of) if (!(r in seen)) wrong("src/README.md has a line for " r ", but there is no such room")
    for (l = 1; l <= n_lines; l++) {
        n = split(named[l], map_name, " ")
        for (i = 1; i <= n; i++)
            if (rooms_of[l] ~ /\.h/ && rooms_of[l] !~ /^sampling/ && !((l, map_name[i]) in found))
                wrong("src/README.md: " map_name[i] " is not in " rooms_of[l])
    }
    for (k in declared) {
        split(k, at, SUBSEP)
        if ((at[1], at[2]) in defined) continue
        if (at[2] in excused) told[at[2]]
        else wrong(at[1] ":" declared[k] ": " at[2] " has its body in another room")
    }
    for (f in excused) if (!(f in told)) wrong("src/README.md: " f " is no circle any more")
    if (!failed) print "rooms: " n_rooms ", each in its place"
    exit failed
}
