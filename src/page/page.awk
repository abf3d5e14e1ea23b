# index.html with its parts in it, so that one file is the page: awk -f page.awk -v wasm=... files -- see make play.
# <!-- include base64|text|script NAME --> becomes the file whose path among -v files="..." ends with NAME.
function path(name,    n, i, file) {
    n = split(files, file, " ")
    for (i = 1; i <= n; i++) if (file[i] == name || substr(file[i], length(file[i]) - length(name)) == "/" name) return file[i]
    print "page.awk: no file " name > "/dev/stderr"
    exit 1
}
/^<!-- include / {
    print $3 == "script" ? "<script>" : "<script type=\"text/plain\" id=\"" $4 "\">"
    command = ($3 == "base64" ? "base64 " : "cat ") path($4)
    while ((command | getline line) > 0) print line
    close(command)
    print "</script>"
    next
}
{ print }
