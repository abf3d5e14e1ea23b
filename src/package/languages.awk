# languages.awk - Rust's and Go's side of the table of functions; beside functions.awk, which reads it:
#
#     awk -v make=ffi -f functions.awk -f languages.awk functions.txt           Rust: every function, struct and value of C
#     awk -v make=rust|go -f functions.awk -f languages.awk functions.txt       the constructors of samplers as functions that are safe
#
# A constructor is left out if it takes a struct with pointers (in Go any struct) or a function of the caller's.

# C's type, as declared() writes it, in Rust.
function in_rust(type, member,    base, is_const, shape, n, word, i, made) {
    if (match(type, /\[[0-9]+\]$/)) { # a text or a list within a struct
        shape = substr(type, RSTART + 1, RLENGTH - 2)
        return "[" in_rust(substr(type, 1, RSTART - 1)) "; " shape "]"
    }
    gsub(/\*/, " * ", type)
    n = split(type, word, / +/)
    for (i = 1; i <= n; i++) {
        if (word[i] == "const") is_const = 1
        else if (word[i] == "*") { made = (is_const ? "*const " : "*mut ") made; is_const = 0 }
        else if (made == "" && word[i] != "struct") made = word[i] in rust ? rust[word[i]] : word[i]
    }
    return made
}

function word_in_rust(name) { return name ~ /^(in|where|loop|ref|move|as|match|type|from|use|fn|mod)$/ && name != "from" ? "r#" name : name }

function is_foreign(key) { return key ~ /^(llama_|gpu_|settings_set_vocab\(|set_perf_hook\(|init_custom\(|sample_sharded\()/ }

function make_ffi(    i, j, n, key, name, value, list, type) {
    print "// Every function, struct and value of sampling.h; made from the table of functions.\n" \
          "#![allow(non_camel_case_types, missing_docs)]\nuse std::os::raw::{c_char, c_int, c_uint, c_void};\n"
    for (key in is_object) if (key != "gpu") print "#[repr(C)]\npub struct " is_object[key] " {\n    _private: [u8; 0],\n}"
    for (i = 1; i <= n_order; i++) {
        key = order[i]
        if (what[key] == "enum" || what[key] == "flags") {
            print "pub type samp_" key " = c_int;"
            n = split(values[key], value, /, /)
            for (j = 1; j <= n; j++) print "pub const " prefix[key] value[j] ": c_int = " (what[key] == "flags" ? 2 ^ (j - 1) : key == "status_code" ? 1 - j : j - 1) ";"
        } else if (what[key] == "struct" && key !~ /^gpu_/) {
            print "#[repr(C)]\n#[derive(Clone, Copy)]\npub struct samp_" key " {"
            for (j = 1; j <= n_args[key]; j++) print "    pub " word_in_rust(arg_name[key, j]) ": " in_rust(declared(arg_kind[key, j], "", 1)) ","
            print "}"
        }
    }
    print "extern \"C\" {"
    for (i = 1; i <= n_order; i++) {
        key = order[i]
        if (what[key] != "function" || is_foreign(key)) continue
        list = ""
        for (j = 1; j <= n_args[key]; j++) {
            type = declared(arg_kind[key, j], "", 0)
            if (arg_kind[key, j] ~ /`/) sub(/[a-z_]+$/, "", type)
            list = list (j > 1 ? ", " : "") word_in_rust(arg_name[key, j]) ": " in_rust(type)
        }
        type = in_rust(result_in_c(key))
        name = key
        sub(/\(\)/, "", name)
        print "    pub fn samp_" name "(" list ")" (type == "c_void" ? "" : " -> " type) ";"
    }
    print "}"
}

# Has a struct numbers alone?
function is_plain(type,    j, ok) {
    ok = what[type] == "struct"
    for (j = 1; j <= n_args[type]; j++) if (arg_kind[type, j] ~ /\[|text|kept/) ok = 0
    return ok
}

# How an argument is passed: "number", "vocab?", "grammar" ..., "slice", "texts", "text", "struct", "error"; "": not at all.
function way_of(kind,    optional) {
    if (kind ~ /`|taken/) return ""
    if (kind ~ /^out text_error/) return "error"
    sub(/^(kept )?(const )?/, "", kind)
    optional = kind ~ /\?/ ? "?" : ""
    if (kind ~ /^texts\[/) return "texts"
    if (kind ~ /^text$/) return "text"
    match(kind, /^[a-z_0-9]+/)
    type = substr(kind, 1, RLENGTH)
    if (kind ~ /^[a-z_0-9]+\[/) return type in scalar || (make != "go" && is_plain(type)) ? "slice" : ""
    if (type in scalar) return "number"
    if (type in is_object) return type optional
    return make != "go" && is_plain(type) ? "struct" : ""
}

function camel(name,    n, part, i, made) {
    n = split(name, part, /_/)
    for (i = 1; i <= n; i++) made = made toupper(substr(part[i], 1, 1)) substr(part[i], 2)
    return made
}

# type: the kind's first word, which way_of() leaves
function make_constructors(    i, j, key, name, takes, gives, ways, before, says, holds, c, way, arg, is_go) {
    is_go = make == "go"
    for (i = 1; i <= n_order; i++) {
        key = order[i]
        if (key !~ /^init_/ || result_of[key] !~ /^new sampler$/) continue
        takes = gives = before = holds = ""
        for (j = 1; j <= n_args[key]; j++) {
            type = ""
            if ((way = way_of(arg_kind[key, j])) == "") break
            arg = is_go && arg_name[key, j] in go_word ? arg_name[key, j] "_" : is_go ? arg_name[key, j] : word_in_rust(arg_name[key, j])
            if (list_of(key, j) || way == "error") says = ""
            else says = is_go ? said_in_go(way, type) : said_in_rust(way, type)
            if (says != "") takes = takes (takes == "" ? "" : ", ") arg (is_go ? " " : ": ") says
            if (is_go && way ~ /^(vocab|vocab_index|grammar)\??$/) holds = holds ", " arg
            if (way == "texts") before = before (is_go ? "\t" arg "_texts, free := texts(" arg ")\n\tdefer free()\n" : "        let " arg " = Texts::of(" arg ")?;\n")
            if (way == "text") before = before (is_go ? "\t" arg "_text := C.CString(" arg ")\n\tdefer C.free(unsafe.Pointer(" arg "_text))\n" : "        let " arg " = text(" arg ")?;\n")
            gives = gives (gives == "" ? "" : ", ") (is_go ? given_in_go(way, type, arg, key, j) : given_in_rust(way, type, arg, key, j))
        }
        if (j <= n_args[key]) continue
        name = key
        sub(/^init_/, "", name)
        sub(/\(\)/, "", name)
        if (is_go) printf "// New%s is samp_init_%s.\nfunc New%s(%s) (*Sampler, error) {\n%s\treturn made(C.samp_init_%s(%s)%s)\n}\n\n", camel(name), name, camel(name), takes, before, name, gives, holds
        else printf "    /// `samp_init_%s`\n    pub fn %s(%s) -> Result<Self> {\n%s        unsafe { Self::made(ffi::samp_init_%s(%s)) }\n    }\n", name, name, takes, before, name, gives
    }
}

function said_in_rust(way, type) {
    if (way == "number") return in_rust(scalar[type])
    if (way == "slice") return "&[" (type in scalar ? in_rust(scalar[type]) : "ffi::samp_" type) "]"
    if (way == "texts") return "&[&str]"
    if (way == "text") return "&str"
    if (way == "struct") return "&ffi::samp_" type
    if (way ~ /\?/) return "Option<&'a " camel(type) ">"
    return "&'a " (type == "vocab_index" ? "Vocab" : camel(type))
}

function given_in_rust(way, type, arg, key, j,    list) {
    if ((list = list_of(key, j)) > 0) return arg_name[key, list] ".len() as _"
    if (way == "error") return "std::ptr::null_mut()"
    if (way == "slice" || way == "texts" || way == "text") return arg ".as_ptr()"
    if (way == "vocab_index") return arg ".index()?"
    if (way ~ /\?/) return arg ".map_or(std::ptr::null(), |one| one.raw as *const _)"
    return way == "number" || way == "struct" ? arg : arg ".raw"
}

function said_in_go(way, type) {
    if (way == "number") return go[scalar[type]]
    if (way == "slice") return "[]" (type in scalar ? go[scalar[type]] : camel(type))
    if (way == "texts") return "[]string"
    if (way == "text") return "string"
    return "*" (type == "vocab_index" ? "Vocab" : camel(type))
}

function given_in_go(way, type, arg, key, j,    list, in_c) {
    in_c = "C." (type in scalar ? (scalar[type] == "unsigned" ? "uint" : scalar[type]) : "samp_" type)
    if ((list = list_of(key, j)) > 0) return in_c "(len(" arg_name[key, list] "))"
    if (way == "error") return "nil"
    if (way == "number") return in_c "(" arg ")"
    if (way == "slice") return "(*" in_c ")(firstOf(" arg "))"
    if (way == "texts") return arg "_texts"
    if (way == "text") return arg "_text"
    if (way == "vocab_index") return arg ".index()"
    return arg ".pointer()"
}

BEGIN {
    n = split("int c_int unsigned c_uint char c_char void c_void size_t usize int32_t i32 uint32_t u32 int64_t i64 uint64_t u64 float f32 double f64 " \
              "samp_token i32 bool bool", pair, " ")
    for (i = 1; i < n; i += 2) rust[pair[i]] = pair[i + 1]
    n = split("int int unsigned uint32 size_t int int32_t int32 uint32_t uint32 int64_t int64 uint64_t uint64 float float32 double float64 samp_token Token bool bool", pair, " ")
    for (i = 1; i < n; i += 2) go[pair[i]] = pair[i + 1]
    n = split("type range func map var len", pair, " ")
    for (i = 1; i <= n; i++) go_word[pair[i]]
}

END {
    if (failed) exit 1
    if (make == "ffi") make_ffi()
    else {
        if (make == "rust") print "use crate::*;\nuse std::os::raw::c_uint;\n\nimpl<'a> Sampler<'a> {"
        else print "package sampling\n\n// #include \"binding.h\"\nimport \"C\"\nimport \"unsafe\"\n"
        make_constructors()
        if (make == "rust") print "}"
    }
}
