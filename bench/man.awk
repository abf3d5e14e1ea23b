# sampling.h's opening comment as a manual page, sampling(3).   awk -f bench/man.awk sampling.h > sampling.3
# A line of capitals begins a section, its other words are prose; what is indented by four or more stands as it is.
function text(line) {
    gsub(/\\/, "\\e", line)
    gsub(/-/, "\\-", line)
    if (line ~ /^[.']/) line = "\\\&" line
    return line
}
function verbatim(on) {
    if (on && !plain) print ".PP\n.nf"
    if (!on && plain) print ".fi"
    plain = on
}
/^#define SAMP_VERSION_(MAJOR|MINOR|PATCH) / { version = version dot $3; dot = "." }
/^\*\/$/ { done = 1 }
!done { line[++n] = $0 }
done && /SAMP_VERSION_PATCH/ { exit }
END {
    printf ".\\\" Made of the header's opening by bench/man.awk.\n.TH SAMPLING 3 \"\" \"sampling.h %s\" \"\"\n", version
    title = line[1]
    sub(/^\/\* /, "", title)
    sub(/  +.*/, "", title)
    print ".SH NAME\n" text(title) "\n.SH DESCRIPTION"
    for (i = 2; i <= n; i++) {
        s = line[i]
        sub(/^   /, "", s)
        if (s == "") {
            ahead = line[i + 1]
            if (ahead !~ /^       /) verbatim(0)
            print plain ? "" : ".PP"
            continue
        }
        if (match(s, /^[A-Z][A-Z ,]+[A-Z](\.|$| \()/) && (s !~ /^[A-Z ]+ \(/ || s ~ /^MACROS/)) {
            verbatim(0)
            head = substr(s, 1, RLENGTH)
            sub(/(\.| \()$/, "", head)
            print ".SH " text(head)
            s = substr(s, length(head) + 1)
            sub(/^\. */, "", s)
            sub(/^ */, "", s)
            if (s == "") continue
        }
        verbatim(s ~ /^    /)
        print text(s)
    }
    verbatim(0)
    print ".SH SEE ALSO\nThe comment above each function in sampling.h, and README.md."
}
