# toc.awk -- is the header's table of contents true, and does the file keep to what it is meant to look like?
#
#     awk -f tests/tools/toc.awk sampling.h [sampling_gpu.h]          make toc
#
# The table: in the opening comment, the lines that begin with >>tags. Its tags are the headings of the sections
# ("/* ==== >>tag"), in the same order; a tag in any comment names a section of one of the files. A section begins with a
# paragraph: its heading's comment goes on, or another one follows. No function has more than 120 lines, from its first
# line to its last; no line of code has more than 118 columns (clang-format), and none of comment more than 120.
# Prints for each section its lines, and how many of them are comment and nothing else.

function wrong(line, text) { print file[n_file] ":" line ": " text; failed = 1 }

# The tags of a line, into tag [1 ..] -> how many.
function tags_of(line,    n)
{
    n = 0
    while (match(line, />>[a-z][a-z0-9_]*/)) {
        tag[++n] = substr(line, RSTART + 2, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
    }
    return n
}

function begin_file()
{
    end_file()
    file[++n_file] = FILENAME
    n_table = n_section = in_comment = open_at = text_due = 0
    opening = 1
    first_below = 0
    section = "(opening)"
    place[++n_place] = n_file SUBSEP section
}

# The table against the headings.
function end_file(    i)
{
    if (!n_file) return
    if (n_table == 0) wrong(1, "the opening comment has no table of contents (lines that begin with >>tags)")
    for (i = 1; i <= n_table; i++)
        if (!((n_file, table[i]) in heading)) wrong(table_line[i], ">>" table[i] " is in the table, but there is no such section")
    for (i = 1; i <= n_section; i++)
        if (!((n_file, name[i]) in in_table)) wrong(heading[n_file, name[i]], ">>" name[i] " is not in the table of contents")
    for (i = 1; i <= n_table && i <= n_section; i++)
        if (table[i] != name[i] && (n_file, table[i]) in heading && (n_file, name[i]) in in_table) {
            wrong(table_line[i], ">>" table[i] " stands here in the table, but the file has >>" name[i] " in this place")
            break
        }
}

FNR == 1 { begin_file() }

{
    total[n_file, section]++
    begins = !in_comment && /^[ \t]*\/\*/
    comment = in_comment || begins || /^[ \t]*\/\//
}

length($0) > (comment ? 120 : 118) { wrong(FNR, length($0) " columns") }

# ---- tags ----

in_comment || /\/[*\/]/ {
    n = tags_of($0)
    for (i = 1; i <= n; i++) {
        if (opening && $0 ~ /^[ \t]*>>/) {
            if ((n_file, tag[i]) in in_table) wrong(FNR, ">>" tag[i] " is twice in the table")
            table[++n_table] = tag[i]
            table_line[n_table] = FNR
            in_table[n_file, tag[i]] = 1
        }
        named[++n_named] = tag[i]
        named_at[n_named] = file[n_file] ":" FNR
    }
}

/^\/\* =+ >>[a-z]/ {
    tags_of($0)
    if (text_due) wrong(heading[n_file, section], ">>" section " does not begin with a paragraph")
    total[n_file, section]--
    section = tag[1]
    total[n_file, section]++
    place[++n_place] = n_file SUBSEP section
    if ((n_file, section) in heading) wrong(FNR, ">>" section " is there twice")
    heading[n_file, section] = FNR
    known[section] = 1
    name[++n_section] = section
    text_due = 1
    if ($0 !~ /\*\//) text_due = 0 # the comment goes on
    if (section == "impl" || section == "switches") first_below = n_place
    if (first_below) below_from[n_file] = first_below
    heading_line = FNR
}

text_due && FNR > heading_line && !/^[ \t]*$/ {
    if (!comment) wrong(heading_line, ">>" section " does not begin with a paragraph")
    text_due = 0
}

# ---- functions: from the first line behind an empty one to a brace in the first column ----

!open_at && (/^[ \t]*$/ || /^#/ || /^}/ || comment) { start = 0 }
!open_at && !start && /^[A-Za-z_]/ { start = FNR }
/^{$/ && start { open_at = start }
/^}/ {
    if (open_at && FNR - open_at + 1 > 120) wrong(open_at, "a function of " (FNR - open_at + 1) " lines")
    open_at = start = 0
}

# ---- comments ----

{
    if (comment) comments[n_file, section]++
    line = $0
    if (!in_comment && match(line, /\/\*/)) { line = substr(line, RSTART + 2); in_comment = 1 }
    while (in_comment && match(line, /\*\//)) {
        line = substr(line, RSTART + 2)
        in_comment = 0
        if ($0 !~ /^\/\* Made by /) opening = 0
        if (match(line, /\/\*/)) { line = substr(line, RSTART + 2); in_comment = 1 }
    }
}

END {
    end_file()
    for (i = 1; i <= n_named; i++)
        if (!(named[i] in known)) { print named_at[i] ": there is no section >>" named[i]; failed = 1 }
    for (i = 1; i <= n_place; i++) {
        split(place[i], at, SUBSEP)
        c = comments[at[1], at[2]] + 0; t = total[at[1], at[2]]
        printf "%-16s %-12s %6d lines, %5d comment  %5.1f %%\n", file[at[1]], at[2], t, c, 100 * c / t
        if (below_from[at[1]] && i >= below_from[at[1]]) { all_comments[at[1]] += c; all[at[1]] += t }
    }
    for (k = 1; k <= n_file; k++)
        if (all[k]) printf "%-16s %-12s %6d lines, %5d comment  %5.1f %%\n", file[k], "below", all[k], all_comments[k], \
                           100 * all_comments[k] / all[k]
    exit failed
}
