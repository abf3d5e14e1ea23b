# change_function.sh - change one function of sampling.h by a sed command, for the scripts that break one thing at a time. They
# include it, and have a folder in $dir.

# sampling.h with function $2 changed by $3. $1 is an instruction set or empty: an operation, V(name) here, stands in its
# set's part of the vocabulary, which begins with a directive and its name as a comment, or before or behind these parts.
change_function() {
    awk -v isa="$1" -v name="$2" '
        /^#(if|elif|else).*\/\* (avx512|avx2|sse2|neon|wasm|generic) \*\/$/ { part = $(NF - 1) }
        /^\/\* ---- vectors of four/ { part = "four" }
        /^\/\* ---- for every set/ { part = "" }
        { line[NR] = $0; from[NR] = part }
        /^[A-Za-z]/ && !/;$/ {
            head = $0
            sub("[{].*", "", head) # what is called behind it is not defined there
            if (!index(head, " " name "(") && !index(head, "*" name "(")) next
            if (from[NR] == "" && !shared) shared = NR
            if (from[NR] == isa && !own) own = NR
            if (from[NR] == "four" && isa !~ /^avx/ && !four) four = NR
        }
        END {
            first = own ? own : four ? four : shared
            last = first
            if (line[first] !~ /[}]$/) while (++last < NR && line[last] !~ /^( *[{].*)?[}]$/);
            print first "," last
        }' sampling.h > "$dir/where"
    sed "$(cat "$dir/where") { $3
    }" sampling.h
}
