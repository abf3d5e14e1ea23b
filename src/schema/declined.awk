# declined.awk -- the table of what is declined, from the rooms' own texts; it replaces the one in a page.
#
#     awk -f src/schema/declined.awk src/schema/*.h src/grammar/regex.h src/grammar/README.md      make declined
#
# A refusal is a call of sampi_schema_refuse or sampi_regex_unsupported, or one of sampi_schema_fail with SAMP_E_RANGE: a limit. The page
# has the table between two comments, "declined" and "end of declined".

function texts(status, call,    n, i, part, text) {
    n = split(room, part, call "\\(")
    for (i = 2; i <= n; i++) {
        sub(/;.*/, "", part[i])
        if (call ~ /_fail/ && part[i] !~ /SAMP_E_RANGE/) continue
        for (; match(part[i], /"[^"]+"/); part[i] = substr(part[i], RSTART + RLENGTH)) {
            text = substr(part[i], RSTART + 1, RLENGTH - 2)
            if (text !~ / / || (status, text) in seen) continue
            seen[status, text] = 1
            gsub(/\\\\/, "\\", text)
            lines[++n_lines] = "| " status " | `" text "` | " file " |"
        }
    }
}
function whole_room() {
    if (file == "") return
    texts("unsupported", "sampi_schema_refuse")
    texts("unsupported", "sampi_regex_unsupported")
    texts("limit", "sampi_schema_fail")
    file = room = ""
}
FNR == 1 { whole_room() }
FILENAME ~ /\.h$/ { file = FILENAME; sub(/^src\//, "", file); room = room " " $0; next }
/^<!-- end of declined -->/ {
    print "| | the error says | room |\n|---|---|---|"
    for (i = 1; i <= n_lines; i++) print lines[i]
    inside = 0
}
!inside { print }
/^<!-- declined -->/ { inside = 1 }
