# headers.awk -- a header out of its rooms: each #include of a room in the spine becomes the room's text.
#
#     awk -v dir=src -f src/headers.awk src/sampling.h > sampling.h          make headers
#
# A room is a file in a folder of src/. Two rooms that follow each other in the spine have an empty line between them.

function room(path,    line, n)
{
    while ((getline line < (dir "/" path)) > 0) { print line; n++ }
    close(dir "/" path)
    if (!n) { print "headers: no room " dir "/" path > "/dev/stderr"; exit 1 }
}

{ is_room = /^#include "[a-z0-9_]+\/[a-z0-9_\/]+\.h"$/ }
is_room {
    split($0, part, "\"")
    if (was_room) print ""
    room(part[2])
}
!is_room { print }
{ was_room = is_room }
