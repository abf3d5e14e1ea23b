# functions.awk - what is made of the table of functions (functions.txt, which says how to read it):
#
#     awk -v make=c -f functions.awk functions.txt                          a C file that compiles if both headers declare the same
#     awk -v make=ranges -f functions.awk functions.txt                     its constructors of samplers as tests/unit/test_ranges.c reads them
#     awk -v make=names -f functions.awk functions.txt                      name(arguments' names), a line each
#     awk -v make=python -f functions.awk functions.txt sampling.py         the binding again, with the section made of the table;
#     awk -v make=javascript -f functions.awk functions.txt sampling.js     it has the functions that the file uses (c.name), and
#                                                                           the structs and enums that these need
# The section stands between a line "... C's side: made from functions.txt ..." and a line "... end of C's side ...".

function die(text)
{
    print FILENAME ":" FNR ": " text > "/dev/stderr"
    failed = 1
    exit 1
}

# A list "a: kind, b: kind" into arg_name[key, i] and arg_kind[key, i]; n_args[key].
function read_list(key, list,    n, at)
{
    n = 0
    while (list != "") {
        if (!match(list, /^[a-z_0-9]+: /)) die(key ": \"" list "\" is no argument")
        arg_name[key, ++n] = substr(list, 1, RLENGTH - 2)
        list = substr(list, RLENGTH + 1)
        at = match(list, /, [a-z_0-9]+: /)
        arg_kind[key, n] = at ? substr(list, 1, at - 1) : list
        list = at ? substr(list, at + 2) : ""
    }
    n_args[key] = n
}

# What stands before the last ")" of a line, behind the first "(".
function inside(line)
{
    sub(/^[^(]*\(/, "", line)
    sub(/\)[^)]*$/, "", line)
    return line
}

function read_line(line,    word, key, result)
{
    split(line, word, /[ (:]/)
    if (word[1] == "object") {
        is_object[word[2]] = "samp_" word[2]
        if (sub(/^.* as /, "", line)) is_object[word[2]] = line
        return
    }
    if (word[1] == "enum" || word[1] == "flags") {
        key = word[2]
        order[++n_order] = key
        what[key] = word[1]
        prefix[key] = word[3]
        values[key] = inside(line)
        return
    }
    if (word[1] == "struct") {
        key = word[2]
        what[key] = "struct"
        read_list(key, inside(line))
    } else {
        key = word[1] "()"
        what[key] = "function"
        if (!match(line, /\) -> /)) die("no result: " line)
        result = substr(line, RSTART + 5)
        sub(/, alone$/, "", result)
        result_of[key] = result
        line = substr(line, 1, RSTART - 1)
        sub(/^[^(]*\(/, "", line)
        read_list(key, line)
    }
    if (key in seen) die(key " is there twice")
    seen[key] = 1
    order[++n_order] = key
}

# ---- C ----

# The declaration in C of a name of this kind: an argument, a member ("in a struct") or a result (with name "").
function declared(kind, name, member,    first, shape, written)
{
    if (kind ~ /^((kept|taken) )?`/) { # as in C, with its name
        gsub(/^[^`]*`|`[^`]*$/, "", kind)
        return kind
    }
    sub(/^(kept|taken|lent|new) /, "", kind)
    sub(/ of [a-z]+$/, "", kind)
    if (kind ~ /^out status/) return "int *" name
    if (kind ~ /^out field/) return "const char **" name
    first = "const "
    written = sub(/^(out|inout) /, "", kind)
    if (written) first = ""
    constant = sub(/^const /, "", kind)
    shape = match(kind, /\[/) ? substr(kind, RSTART) : ""
    match(kind, /^[a-z_0-9]+/)
    kind = substr(kind, 1, RLENGTH)
    if (kind == "texts") return "const char *const *" name
    if (kind == "text") return "const char *" name
    if (kind == "status") return "int " name
    if (kind == "void") return "void " name
    if (kind in scalar && member && shape ~ /^\[[0-9]+\]/) { # a text or a list within a struct
        sub(/\].*/, "]", shape)
        return scalar[kind] " " (name == "*" ? "(*)" : name) shape
    }
    if (kind in is_object) {
        if (shape != "") return is_object[kind] (written ? " **" : " *const *") name
        return (constant ? "const " : "") is_object[kind] " *" name
    }
    if (kind in scalar) return shape != "" || written ? first scalar[kind] " *" name : scalar[kind] " " name
    if (!(kind in what)) die("what is " kind "?")
    if (what[kind] == "enum") return "samp_" kind " " name
    return member && shape == "" ? "samp_" kind " " name : first "samp_" kind " *" name
}

# C's type of a function's result.
function result_in_c(key,    result)
{
    result = result_of[key]
    if (result ~ /^lent byte/) return "void *"
    if (result ~ /^lent params/) return "const samp_params *"
    return result in what ? "samp_" result : declared(result, "", 0)
}

function make_c(    i, j, key, list, value, n, line)
{
    for (i = 1; i <= n_order; i++) {
        key = order[i]
        if (what[key] == "enum" || what[key] == "flags") {
            n = split(values[key], value, /, /)
            for (j = 1; j <= n; j++)
                printf "_Static_assert((int)%s%s == %d, \"%s\");\n", prefix[key], value[j],
                       what[key] == "flags" ? 2 ^ (j - 1) : key == "status_code" ? 1 - j : j - 1, key
        } else if (what[key] == "struct") {
            printf "struct table_%s {\n", key
            for (j = 1; j <= n_args[key]; j++) printf "    %s;\n", declared(arg_kind[key, j], arg_name[key, j], 1)
            print "};"
            printf "_Static_assert(sizeof(struct table_%s) == sizeof(samp_%s), \"size of %s\");\n", key, key, key
            for (j = 1; j <= n_args[key]; j++) {
                value[1] = arg_name[key, j]
                printf "_Static_assert(_Generic(&((samp_%s *)0)->%s, %s: 1, default: 0) &&\n", key, value[1],
                       declared(arg_kind[key, j], "*", 1)
                printf "               offsetof(struct table_%s, %s) == offsetof(samp_%s, %s), \"%s.%s\");\n", key, value[1], key,
                       value[1], key, value[1]
            }
        } else {
            list = ""
            for (j = 1; j <= n_args[key]; j++) list = list (j > 1 ? ", " : "") declared(arg_kind[key, j], arg_name[key, j], 0)
            line = result_in_c(key)
            sub(/\(\)/, "", key)
            printf "%s samp_%s(%s);\n", line, key, list == "" ? "void" : list
        }
    }
}

function make_names(    i, j, key, list)
{
    for (i = 1; i <= n_order; i++) {
        key = order[i]
        if (what[key] != "function") continue
        list = ""
        for (j = 1; j <= n_args[key]; j++) list = list (j > 1 ? "," : "") arg_name[key, j]
        sub(/\(\)/, "", key)
        print key "(" list ")"
    }
}

# What stands for an argument in a call: what test_ranges.c has of its kind, or the number v[i].
function sample(key, j,    kind, word, i)
{
    kind = arg_kind[key, j]
    sub(/^(kept|taken) /, "", kind)
    sub(/^(const|out) /, "", kind)
    match(kind, /^[a-z_0-9]+/)
    word = substr(kind, 1, RLENGTH)
    if (kind ~ /^status|^text_error/) return "NULL"
    if (kind !~ /^[a-z0-9]+\[/ && word in scalar) return "(" scalar[word] ")v[" j - 1 "]"
    return "some_" word
}

# The list whose length is this argument: its number, or 0.
function list_of(key, j,    i)
{
    for (i = 1; i <= n_args[key]; i++) if (index(arg_kind[key, i], "[" arg_name[key, j] "]")) return i
    return 0
}

# What a status calls an argument.
function named(key, j)
{
    return match(arg_kind[key, j], / as [a-z_]+$/) ? substr(arg_kind[key, j], RSTART + 4) : arg_name[key, j]
}

# An end of a range: a number, or none.
function end_of(range, upper,    part)
{
    if (!(range ~ /\.\./)) return "NONE"
    split(range, part, /\.\./)
    range = part[1 + upper]
    gsub(/[][()]/, "", range)
    return range ~ /^-?[0-9.]+$/ ? range : range == "inf" ? "INFINITY" : range == "-inf" ? "-INFINITY" : range == "" ? "NONE" : "NAMED"
}

# The ranges of the arguments or members.
function put_ranges(key, name,    j, k, word)
{
    printf "static const struct argument arguments_%s[] = { ", name
    for (j = 1; j <= n_args[key]; j++) {
        split(arg_kind[key, j], word, / /)
        k = list_of(key, j)
        if (!(word[1] in scalar)) word[1] = "none"
        printf "{ \"%s\", KIND_%s, %s, %s, %d, %d }, ", named(key, k && what[key] == "function" && arg_kind[key, j] !~ / as / ? k : j),
               toupper(word[1]), end_of(word[2], 0), end_of(word[2], 1), (word[2] ~ /^\(/), (k > 0)
    }
    print "{ NULL, KIND_NONE, NONE, NONE, 0, 0 } };"
    made[++n_made] = name
}

function make_ranges(    i, j, key, name, list, word)
{
    for (i = 1; i <= n_order; i++) {
        key = order[i]
        if (key !~ /^init_/ || result_of[key] !~ /^new sampler/) continue
        list = ""
        for (j = 1; j <= n_args[key]; j++) {
            list = list (j > 1 ? ", " : "") sample(key, j)
            if (arg_kind[key, j] ~ /`/) list = "`"
        }
        if (list ~ /`/) continue # what a program has written itself
        name = key
        sub(/\(\)/, "", name)
        printf "static samp_sampler *make_%s(const double *v, size_t i) { (void)v, (void)i; return samp_%s(%s); }\n", name, name, list
        put_ranges(key, name)
    }
    print "static samp_sampler *make_params(const double *v, size_t i)\n{\n    samp_params p = usual_params();"
    for (j = 1; j <= n_args["params"]; j++) {
        split(arg_kind["params", j], word, / /)
        if (word[1] in scalar) printf "    if (i == %d) p.%s = (%s)v[i];\n", j - 1, arg_name["params", j], scalar[word[1]]
    }
    print "    return chain_of(&p);\n}"
    put_ranges("params", "params")
    print "static const struct constructor constructors[] = {"
    for (i = 1; i <= n_made; i++) printf "    { \"%s\", make_%s, arguments_%s },\n", made[i], made[i], made[i]
    print "};"
}

# ---- the bindings' sections ----

# The struct or enum in a kind, or "".
function type_in(kind)
{
    sub(/^(kept|taken|lent|new|out|inout|const) /, "", kind)
    sub(/^(out|inout|const) /, "", kind)
    match(kind, /^[a-z_0-9]+/)
    kind = substr(kind, 1, RLENGTH)
    return what[kind] != "" && what[kind] != "function" ? kind : ""
}

# All that this function or struct needs is used, too. (A binding has parameters from C's settings, and looks into none.)
function use(key,    j, type)
{
    if (key in used || key == "params") return
    used[key] = 1
    for (j = 1; j <= n_args[key] + 0; j++) if ((type = type_in(arg_kind[key, j])) != "") use(type)
    if (key in result_of && (type = type_in(result_of[key])) != "") use(type)
}

# Words in quotes, broken into lines of at most 120 columns. Python's go on below the first one.
function put(word, first, last)
{
    if (line_length + length(word) > 116) {
        printf "\n%*s", inset, ""
        line_length = inset
    } else if (!first) {
        printf " "
        line_length++
    }
    printf "%s%s", word, last ? "" : ","
    line_length += length(word) + 1
}

function make_section(    i, j, n, key, name, value, python, quote, open, kind)
{
    python = make == "python"
    quote = python ? "\"" : "'"
    for (i = 1; i <= n_order; i++) {
        key = order[i]
        if (!(key in used)) continue
        name = key
        sub(/\(\)/, "", name)
        line_length = 0
        if (what[key] == "enum" || what[key] == "flags") {
            printf "%s", open = (python ? (what[key] == "enum" ? "_enum(" : "_flags(") : (what[key] == "enum" ? "enumeration(" : "flags("))
            inset = python ? length(open) : 4
            line_length = length(open)
            n = split(tolower(values[key]), value, /, /)
            put(quote name quote, 1, 0)
            for (j = 1; j <= n; j++) put(quote value[j] quote, 0, j == n)
            print python ? ")" : ");"
            continue
        }
        printf "%s", open = (what[key] == "struct" ? (python ? "_struct(" : "struct(") : (python ? "_function(" : "fn("))
        inset = python ? length(open) : 4
        line_length = length(open)
        n = n_args[key]
        put(quote name quote, 1, n == 0 && what[key] == "struct" && python)
        if (what[key] == "function") put(quote result_of[key] quote, 0, n == 0)
        if (!python && n) { printf " {"; line_length += 2 }
        for (j = 1; j <= n; j++) {
            kind = arg_kind[key, j]
            gsub(/`[^`]*`/, "c", kind)
            value[1] = arg_name[key, j]
            if (python) put((value[1] ~ /^(from|in|is|as|not|and|or|if|def|del|for|with)$/ ? value[1] "_" : value[1]) "=" quote kind quote, 0, j == n)
            else put(value[1] ": " quote kind quote, 0, j == n)
        }
        print python ? ")" : n ? " });" : ");"
    }
}

BEGIN {
    n = split("i32 int32_t u32 uint32_t i64 int64_t u64 uint64_t size size_t int int unsigned unsigned f32 float f64 double bool bool " \
              "token samp_token byte void char char", pair, " ")
    for (i = 1; i < n; i += 2) scalar[pair[i]] = pair[i + 1]
}

FNR == 1 { n_files++ }

n_files == 1 {
    sub(/#.*/, "")
    sub(/[ \t]+$/, "")
    if ($0 ~ /^ /) { sub(/^ +/, " "); line = line $0; next }
    if (line != "") read_line(line)
    line = $0
    next
}

n_files == 2 && FNR == 1 && line != "" { read_line(line); line = "" }

{
    file[++n_lines] = $0
    if (/C's side: made from functions\.txt/) { begins = n_lines; within = 1 }
    if (/end of C's side/) { ends = n_lines; within = 0 }
    if (within || begins == n_lines) next
    rest = $0
    while (match(rest, /(^|[^A-Za-z0-9_.])c\.[a-z_0-9]+/)) {
        name = substr(rest, RSTART, RLENGTH)
        sub(/^.*c\./, "", name)
        if ((name "()") in what) use(name "()")
        else if (name in what) use(name)
        rest = substr(rest, RSTART + RLENGTH)
    }
}

END {
    if (failed) exit 1
    if (line != "") read_line(line)
    if (make == "c") make_c()
    else if (make == "names") make_names()
    else if (make == "ranges") make_ranges()
    else if (make ~ /^(python|javascript)$/) {
        if (!begins || !ends) die("no section in " FILENAME)
        for (i = 1; i <= begins; i++) print file[i]
        make_section()
        for (i = ends; i <= n_lines; i++) print file[i]
    }
}
