# The reference: each contract of src/api with what it declares.   awk -f api.awk src/api/*.h
# An entry is a comment that begins a line, and all up to the next one; it is called as the first function or type that is declared, else
# as the comment begins. A comment "/* ---- 1. name" is a section's.
function show(    name) {
    name = match(entry, /samp_[a-z0-9_]+\(/) ? substr(entry, RSTART, RLENGTH - 1) : match(entry, /samp_[a-z0-9_]+|SAMP_[A-Z0-9_]+/) ? substr(entry, RSTART, RLENGTH) : ""
    if (first ~ / -- /) { name = first; sub(/^\/\* /, "", name); sub(/ --.*/, "", name) }
    gsub(/&/, "\\&amp;", entry)
    gsub(/</, "\\&lt;", entry)
    gsub(/\n\n+/, "\n", entry) # a blank line would end the block of HTML
    if (name != "") print "### " name "\n\n<pre>" entry "</pre>\n"
    entry = ""
}
BEGIN { print "# Reference\n\nEvery function and type of the headers, with its contract.\n" }
FNR == 1 { show(); n = split(FILENAME, part, "/"); print "## " part[n] "\n" }
/^\/\*/ { show(); first = $0 }
!/^#/ { entry = entry $0 "\n" }
END { show() }
