# A plot of gnuplot's, with a style behind its description: what its colours are where the reader's pages are dark; and with
# the first line of its program as its title, -v title="# ..."; gnuplot names the program, and numbers the curves.
function pair(light, dark,    r, g, b) {
    r = hex(light, 1)
    g = hex(light, 3)
    b = hex(light, 5)
    return rule("stroke", light, dark, r, g, b) rule("fill", light, dark, r, g, b) rule("color", light, dark, r, g, b)
}
function hex(colour, at) {
    return index("0123456789abcdef", substr(colour, at, 1)) * 16 + index("0123456789abcdef", substr(colour, at + 1, 1)) - 17
}
# as gnuplot spells them: #RRGGBB, rgb( R,  G,  B) and rgb(R,G,B)
function rule(what, light, dark, r, g, b) {
    return sprintf("[%s=\"#%s\"],[%s=\"rgb(%3d, %3d, %3d)\"],[%s=\"rgb(%d,%d,%d)\"]{%s:#%s}\n", what, light, what, r, g, b, what, r, g, b, what, dark)
}
/<title>/ {
    sub(/^# /, "", title)
    sub(/ Data: .*/, "", title)
    sub(/<title>[^<]*<\/title>/, title == "" ? "" : "<title>" title "</title>")
    title = ""
}
{ print }
/<desc>/ {
    print "<style>@media (prefers-color-scheme:dark){"
    printf "%s%s%s", pair("0969da", "58a6ff"), pair("1a7f37", "56d364"), pair("cf7500", "f0a04b")
    printf "%s%s%s", pair("8250df", "bc8cff") pair("bf3989", "f778ba"), pair("57606a", "9198a1"), pair("d0d7de", "3d444d")
    printf "%s", pair("ffffff", "0d1117")
    print "[color=\"black\"]{color:#f0f6fc}[fill=\"black\"]{fill:#f0f6fc}[stroke=\"black\"]{stroke:#f0f6fc}"
    print "}</style>"
}
