# rooms.awk -- is the house in order?      awk -f tests/tools/rooms.awk src/sampling.h src/sampling_gpu.h $(rooms)      make test-rooms
#
# Each room stands in one spine, once; begins with a comment; has at most 1,000 lines. A room uses what stands above it: a
# function that is declared before it has a body has that body in the same room, or the declaration stands in a room called
# declared.h, or in a line of src/README.md that names the room and the function.

function wrong(text) { print "rooms: " text; failed = 1 }
function room_of(path) { sub(/^src\//, "", path); return path }

FILENAME == "src/README.md" { if (match($0, /`sampi_[a-z0-9_]+`/)) excused[substr($0, RSTART + 1, RLENGTH - 2)]; next }
FILENAME ~ /^src\/sampling(_gpu)?\.h$/ {
    if (/^#include "[a-z0-9_]+\/[a-z0-9_\/]+\.h"$/) {
        split($0, q, "\"")
        if (q[2] in spine) wrong(q[2] " stands twice in the spines")
        spine[q[2]]
    }
    next
}
FNR == 1 {
    room = room_of(FILENAME)
    n_rooms++
    if (!(room in spine)) wrong(room " stands in no spine")
    seen[room]
    if ($0 !~ /^\/\*/) wrong(room " does not begin with a comment")
}
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
    for (k in declared) {
        split(k, at, SUBSEP)
        if (at[1] !~ /\/declared\.h$/ && !((at[1], at[2]) in defined) && !(at[2] in excused))
            wrong(at[1] ":" declared[k] ": " at[2] " has its body in another room")
    }
    if (!failed) print "rooms: " n_rooms ", each in its place"
    exit failed
}
