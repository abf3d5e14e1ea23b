# sampling.h's opening comment as a manual page, sampling(3).   awk -f src/package/man.awk sampling.h > sampling.3
# A line that begins with words in capitals begins a section. What is indented by four stands as it is, but for lists of a name,
# a gap and a text, in FUNCTIONS, MACROS and the table of tags; "  1. " begins an item. Lines too wide for a terminal are
# broken at their last gap.
function text(line) {
    gsub(/\\/, "\\e", line)
    gsub(/-/, "\\-", line)
    sub(/^[.']/, "\\\\\\&&", line)
    return line
}
function paragraph() {
    if (!fresh) print ".PP"
    fresh = 1
}
function is_head(s) { return match(s, /^[A-Z][A-Z, ]+[A-Z](\. |$| \()/) }
# "", "verbatim", "list" or "item"
function become(kind) {
    if (kind == state) return
    if (state == "verbatim") print ".fi"
    if (kind == "verbatim") { paragraph(); print ".nf" }
    if (kind == "" && (state == "list" || state == "item")) paragraph()
    state = kind
}
function say(line) {
    print text(line)
    fresh = 0
}
function verbatim(line,    at, i) {
    become("verbatim")
    if (length(line) > 78) {
        for (i = length(line) - 3; i > 0 && !at; i--) if (substr(line, i, 3) == "   " && substr(line, i + 3, 1) != " ") at = i
        if (at) {
            match(line, /^ */)
            say(substr(line, 1, at - 1))
            line = sprintf("%*s%s", RLENGTH + 8, "", substr(line, at + 3))
        }
    }
    say(line)
}
# A name, a gap, a text; or more of either
function entry(line,    name) {
    become("list")
    if (match(line, /^    [^ ]/)) {
        sub(/^    /, "", line)
        name = match(line, /   +/) ? substr(line, 1, RSTART - 1) : line
        line = RSTART ? substr(line, RSTART + RLENGTH) : ""
        sub(/ $/, "", name)
        print ".TP\n.B " text(name)
    }
    sub(/^ */, "", line)
    if (line != "") say(line)
}
/^\/\* Made by / { next }
/^#define SAMP_VERSION_(MAJOR|MINOR|PATCH) / { version = version dot $3; dot = "." }
/^\*\/$/ { done = 1 }
!done { line[++n] = $0 }
done && /SAMP_VERSION_PATCH/ { exit }
END {
    printf ".\\\" Made of the header's opening by src/package/man.awk.\n.TH SAMPLING 3 \"\" \"sampling.h %s\" \"Library Functions Manual\"\n", version
    title = line[1]
    sub(/^\/\* /, "", title)
    sub(/\.?  +.*/, "", title)
    sub(/ - /, " \\- ", title)
    print ".SH NAME\n" title
    for (i = 2; i <= n; i++) {
        s = line[i]
        sub(/^   /, "", s)
        if (s == "") {
            s = substr(line[i + 1], 4)
            if (state == "verbatim" && s ~ /^    /) print ""
            else if (!listed && !tags && !is_head(s)) { become(""); paragraph() }
            continue
        }
        if (is_head(s)) {
            if (state == "verbatim") print ".fi"
            state = ""
            head = substr(s, 1, RLENGTH)
            rest = substr(s, RLENGTH + 1)
            sub(/(\. | \()$/, "", head)
            listed = head ~ /^(FUNCTIONS|MACROS)$/
            print ".SH " text(head)
            fresh = 1
            aside = substr(s, length(head) + 1) ~ /^ \(/ && !sub(/\)$/, ".", rest) # which goes on in the next line
            if (rest != "") say(toupper(substr(rest, 1, 1)) substr(rest, 2))
            continue
        }
        match(s, /^ */)
        if (listed && RLENGTH >= 4) entry(s)
        else if (s ~ /^    >>/ || (tags && RLENGTH >= 20)) { tags = 1; entry(s) }
        else if (s ~ /^  [0-9]\. /) { become("item"); print ".IP " substr(s, 3, 2) " 4"; say(substr(s, 6)) }
        else if (state == "item" && RLENGTH == 5) say(substr(s, 6))
        else if (RLENGTH >= 4) verbatim(s)
        else {
            become("")
            if (aside) aside = !sub(/\)$/, ".", s)
            else tags = listed = 0
            say(s)
        }
    }
    print ".SH SEE ALSO\nThe comment above each function in sampling.h, and README.md beside it."
}
