# The code blocks of a Markdown page as files.   awk -v dir=DIR -f tests/tools/blocks.awk PAGE
# A block that begins with "```c NAME" becomes DIR/NAME, and what the text behind it "prints `...`" DIR/NAME.out. Those
# without a name are one file, DIR/unnamed.LANGUAGE. Prints the name of each file.
function file(name) {
    if (!(name in seen)) {
        printf "" > (dir "/" name)
        print name
    }
    seen[name]
    return dir "/" name
}
/^```/ && !inside {
    inside = 1
    language = substr($1, 4)
    last = NF > 1 ? $2 : ""
    if (language == "") { print FILENAME ":" FNR ": a block without a language" > "/dev/stderr"; bad = 1; exit }
    if (last in seen) { print FILENAME ":" FNR ": a second " last > "/dev/stderr"; bad = 1; exit }
    out = file(last == "" ? "unnamed." language : last)
    next
}
/^```$/ { inside = 0; next }
inside { print > out; next }
last != "" && match($0, /prints `[^`]*`/) {
    print substr($0, RSTART + 8, RLENGTH - 9) > (dir "/" last ".out")
    last = ""
}
END { exit bad }
