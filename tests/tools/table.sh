#!/bin/sh
# The table of functions (src/bindings/functions.txt) says of each public function, struct and enum what both headers declare: the
# compiler compares types, members and values, this script the names; and the sections of sampling.py and sampling.js are made of it.
# Usage: table.sh DIR
set -eu
cd "$(dirname "$0")/../.."
dir=$1
table=src/bindings/functions.txt
mkdir -p "$dir"
make_of() { awk -v make="$1" -f src/bindings/functions.awk $table; }

# name(arguments' names) of each declaration
awk '/^SAMP_API .*\(/ { text = ""; open = 1 }
     open { text = text " " $0 }
     /[{]/ { open = 0 }
     open && /;/ {
         open = 0
         sub(/;.*/, "", text)
         while (sub(/\([^()*]*\)\(/, "(", text)) { } # nothing: no declaration returns a function
         sub(/^ SAMP_API [^(]*[ *]samp_/, "", text)
         name = text
         sub(/\(.*/, "", name)
         sub(/^[^(]*\(/, "", text)
         sub(/\)[^)]*$/, "", text)
         gsub(/\(\*/, "", text)                       # a pointer to a function: its name, and not what it takes
         while (sub(/\)\([^()]*\)/, "", text)) { }
         n = split(text == "void" ? "" : text, argument, /,/)
         list = ""
         for (i = 1; i <= n; i++) {
             gsub(/[ \t]+$/, "", argument[i])
             sub(/^.*[^A-Za-z0-9_]/, "", argument[i])
             list = list (i > 1 ? "," : "") argument[i]
         }
         print name "(" list ")"
     }' sampling.h sampling_gpu.h | sort > "$dir/declared.txt"
make_of names | sort > "$dir/table.txt"
diff "$dir/declared.txt" "$dir/table.txt" > "$dir/names.diff" ||
    { echo "$table (>) and the headers (<) differ:" >&2; cat "$dir/names.diff" >&2; exit 1; }

{
    for part in $(sed -n 's/^#define \(SAMPLING_[A-Z]*\)_DECLARED.*/\1/p' sampling.h | sort -u); do echo "#define $part"; done
    printf '#include "sampling_gpu.h"\n'
    make_of c
} > "$dir/table.c"
"${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only "$dir/table.c"

for binding in python:sampling.py javascript:sampling.js; do
    file=src/bindings/${binding#*:}
    awk -v make="${binding%:*}" -f src/bindings/functions.awk $table "$file" > "$dir/made.txt"
    cmp -s "$dir/made.txt" "$file" || { echo "$file is not what $table makes of it: run \"make bindings\"" >&2; exit 1; }
done

echo "== table: $(wc -l < "$dir/table.txt") functions, as both headers declare them; the bindings' sections are made of it"
