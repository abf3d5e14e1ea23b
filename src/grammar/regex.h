/* ---- regular expressions ----
   The syntax is ECMA-262's, as far as it is regular: backreferences and lookbehind are refused. What looks at its place
   in the text (^, $, \b, \B, lookahead) is read as GROUP nodes, which sampi_grammar_resolve resolves (places.h). */

static int sampi_regex_unsupported(sampi_reader *r, const char *at, const char *what)
{
    return sampi_grammar_expected(r, at, SAMP_E_UNSUPPORTED, what);
}

/* Returns the number of ranges of the class \d, \w or \s; *ranges becomes the ranges. */
static size_t sampi_regex_named(char name, const uint32_t (**ranges)[2])
{
    static const uint32_t d[][2] = { { '0', '9' } };
    static const uint32_t w[][2] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
    static const uint32_t s[][2] = { { '\t', '\r' },     { ' ', ' ' },       { 0xa0, 0xa0 },     { 0x1680, 0x1680 },
                                     { 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f },
                                     { 0x3000, 0x3000 }, { 0xfeff, 0xfeff } };
    *ranges = name == 'd' ? d : name == 'w' ? w : s;
    return name == 'd' ? 1 : name == 'w' ? sizeof w / sizeof *w : sizeof s / sizeof *s;
}

/* Reads the digits behind \u: HHHH, {H..}, or two \uHHHH that are a pair of surrogates. */
static int64_t sampi_regex_unicode(sampi_reader *r)
{
    if (*r->at == '{') {
        int n = 0;
        while (r->at[1 + n] && r->at[1 + n] != '}') n++;
        if (n < 1 || n > 6 || !r->at[1 + n])
            return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected one to six digits in \\u{}");
        const char *digits = ++r->at;
        int64_t c = sampi_grammar_read_hex(r, n);
        if (c > 0x10ffff) return sampi_grammar_expected(r, digits, SAMP_E_FORMAT, "expected at most 10ffff in \\u{}");
        r->at++;
        return c;
    }
    int64_t c = sampi_grammar_read_hex(r, 4);
    if (c < 0xd800 || c >= 0xdc00 || r->at[0] != '\\' || r->at[1] != 'u') return c;
    const char *at = r->at;
    r->at += 2;
    int64_t low = sampi_grammar_read_hex(r, 4);
    if (low >= 0xdc00 && low < 0xe000) return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    r->at = at;
    return low < 0 ? low : c;
}

/* Reads the character behind a backslash that does not begin a class such as \d. */
static int64_t sampi_regex_escape(sampi_reader *r)
{
    static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
    const char *start = r->at - 1;
    char c = *r->at;
    if (r->at == r->end) return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected a character behind \\");
    if (c && strchr(from, c)) return to[strchr(from, *r->at++) - from];
    if (c == '0' && (r->at[1] < '0' || r->at[1] > '9')) return *r->at++ - '0';
    if (c == 'x' || c == 'u') {
        r->at++;
        return c == 'x' ? sampi_grammar_read_hex(r, 2) : sampi_regex_unicode(r);
    }
    if (c == 'c' && ((r->at[1] | 32) >= 'a' && (r->at[1] | 32) <= 'z')) {
        r->at += 2;
        return r->at[-1] & 31;
    }
    if (c >= '0' && c <= '9') return sampi_regex_unsupported(r, start, "a backreference is not regular");
    if (c == 'k') return sampi_regex_unsupported(r, start, "a backreference is not regular");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return sampi_grammar_expected(r, start, SAMP_E_FORMAT, "expected a known escape");
    return sampi_grammar_read_utf8(r, "expected a character");
}

/* Appends n ranges to r->parts as pairs of numbers; with `gaps` the gaps between the ranges instead. */
static int sampi_regex_ranges(sampi_reader *r, const uint32_t (*ranges)[2], size_t n, bool gaps)
{
    int64_t next = 0;
    for (size_t i = 0; i <= n; i++) {
        int64_t lo = gaps ? next : i < n ? (int64_t)ranges[i][0] : 1, hi = i < n ? (int64_t)ranges[i][1] : 0;
        if (gaps) hi = i < n ? (int64_t)ranges[i][0] - 1 : 0x10ffff;
        if (i < n) next = (int64_t)ranges[i][1] + 1;
        if (lo > hi) continue;
        if (sampi_grammar_read_part(r, (sampi_node)lo) < 0 || sampi_grammar_read_part(r, (sampi_node)hi) < 0)
            return r->error->status;
    }
    return SAMP_OK;
}

/* Returns the node for one code point in one of n ranges, or, if `negated`, in none of them. If the expression has
   edges of words, characters of words and others become groups of their own. */
static sampi_node sampi_regex_chars(sampi_reader *r, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    const uint32_t(*words)[2];
    const size_t n_words = sampi_regex_named('w', &words);
    const int32_t first = r->parts.n;
    sampi_node part[2] = { SAMPI_NEVER, SAMPI_NEVER };
    sampi_ranges own;
    if (!r->edges) return r->chars(r->tree, ranges, n, negated);
    if (!sampi_grammar_ranges_make(&own, ranges, n)) return sampi_grammar_read_node(r, SAMP_E_NOMEM);
    /* a character of both sets is one that is in no gap of either */
    for (int word = 0; word < 2 && part[0] >= 0; word++) {
        int status = sampi_regex_ranges(r, (const uint32_t(*)[2])own.at, own.n, !negated);
        if (!status) status = sampi_regex_ranges(r, words, n_words, word);
        const uint32_t(*both)[2] = (const uint32_t(*)[2])sampi_grammar_vec_at(&r->parts, sizeof(sampi_node), first);
        part[word] = status ? status : r->chars(r->tree, both, (size_t)(r->parts.n - first) / 2, true);
        r->parts.n = first;
        if (part[word] > SAMPI_NEVER)
            part[word] = sampi_tree_node(r->tree, SAMPI_NODE_GROUP, part[word],
                                         word ? SAMPI_GROUP_WORD : SAMPI_GROUP_OTHER, 0);
    }
    sampi_grammar_ranges_free(&own);
    return sampi_tree_alt(r->tree, part[0], part[1]);
}

#ifndef SAMP_NO_UNICODE
/* Returns the general categories that a name of n bytes means, as bits; 0 if there are none. */
static uint32_t sampi_grammar_unicode_named(const char *name, size_t n)
{
    static const char longer[] = "=Letter=L =Uppercase_Letter=Lu =Lowercase_Letter=Ll =Cased_Letter=LC =Mark=M "
                                 "=Number=N =Decimal_Number=Nd =Punctuation=P =Symbol=S =Separator=Z "
                                 "=Space_Separator=Zs =Other=C ";
    uint32_t set = 0;
    for (const char *at = longer, *end = longer + sizeof longer; n > 2 && (size_t)(end - at) > n + 1; at++)
        if (*at == '=' && !memcmp(at + 1, name, n) && at[n + 1] == '=') {
            name = at + n + 2;
            n = name[1] == ' ' ? 1 : 2;
        }
    if (n == 2 && !memcmp(name, "LC", 2)) return 7;
    for (uint32_t i = 0; (n == 1 || n == 2) && 3 * i < sizeof sampi_unicode_names; i++)
        if (!memcmp(sampi_unicode_names + 3 * i, name, n)) set |= (uint32_t)1 << i;
    return set;
}
#endif

/* Reads \p{...} or \P{...}, and appends its ranges to r->parts. */
static int sampi_regex_property(sampi_reader *r)
{
#ifdef SAMP_NO_UNICODE
    return sampi_regex_unsupported(r, r->at, "\\p needs Unicode's tables, which SAMP_NO_UNICODE leaves out");
#else
    const char *start = r->at, *name = r->at + 3, *end = name;
    const uint32_t flip = start[1] == 'P' ? 0xffffffff : 0;
    if (start[2] != '{') return sampi_grammar_expected(r, start, SAMP_E_FORMAT, "expected { behind \\p");
    while (*end && *end != '}') end++;
    if (!*end) return sampi_grammar_expected(r, name, SAMP_E_FORMAT, "expected } behind \\p{");
    r->at = end + 1;
    if (!strncmp(name, "gc=", 3) || !strncmp(name, "General_Category=", 17)) name += name[0] == 'g' ? 3 : 17;
    const uint32_t set = sampi_grammar_unicode_named(name, (size_t)(end - name)) ^ flip;
    if (set == flip)
        return sampi_regex_unsupported(r, start, "of \\p only general categories are supported, as \\p{L}");
    uint32_t c = 0, range[1][2] = { { 1, 0 } };
    for (size_t i = 0; i < sizeof sampi_unicode_runs;) {
        const uint8_t run = sampi_unicode_runs[i++];
        uint32_t n = run >> 5;
        for (uint32_t shift = 0; run < 32 && (shift == 0 || sampi_unicode_runs[i - 1] & 128); shift += 7)
            n |= (uint32_t)(sampi_unicode_runs[i++] & 127) << shift;
        c += n;
        const bool in = set >> run % 32 & 1;
        if (in && range[0][0] > range[0][1]) range[0][0] = c - n;
        if (in) range[0][1] = c - 1;
        if (in && c <= 0x10ffff) continue;
        if (range[0][0] <= range[0][1] && sampi_regex_ranges(r, (const uint32_t(*)[2])range, 1, false))
            return r->error->status;
        range[0][0] = 1;
        range[0][1] = 0;
    }
    return SAMP_OK;
#endif
}

/* Makes the node of a class from the ranges in r->parts from index `first` on, and removes them. If case does not
   matter, the other case of their letters joins them first, so that a negated class has neither. */
static sampi_node sampi_regex_set(sampi_reader *r, int32_t first, bool negated)
{
    for (int32_t i = first, end = r->parts.n; i < end && r->any_case; i += 2)
        for (sampi_node a = 'A'; a <= 'a'; a += 'a' - 'A') {
            const sampi_node *range = (const sampi_node *)sampi_grammar_vec_at(&r->parts, sizeof *range, i);
            sampi_node lo = range[0] < a ? a : range[0], hi = range[1] > a + 25 ? a + 25 : range[1];
            if (lo > hi) continue;
            if (sampi_grammar_read_part(r, lo ^ 32) < 0 || sampi_grammar_read_part(r, hi ^ 32) < 0)
                return r->error->status;
        }
    size_t n = (size_t)(r->parts.n - first) / 2;
    r->parts.n = first;
    return sampi_regex_chars(r, (const uint32_t(*)[2])sampi_grammar_vec_at(&r->parts, sizeof(sampi_node), first), n,
                             negated);
}

/* Reads one end of a range within [ ]. Returns its code point; or -1 after \d \w \s \D \W \S \p \P, whose ranges are
   then appended to r->parts. */
static int64_t sampi_regex_class_char(sampi_reader *r, int *status)
{
    int64_t c;
    if (*r->at != '\\') {
        c = sampi_grammar_read_utf8(r, "expected ]");
    } else if (r->at[1] && strchr("dwsDWS", r->at[1])) {
        const uint32_t(*ranges)[2];
        char name = r->at[1];
        size_t n = sampi_regex_named((char)(name | 32), &ranges);
        r->at += 2;
        *status = sampi_regex_ranges(r, ranges, n, name < 'a');
        return -1;
    } else if ((r->at[1] | 32) == 'p') {
        *status = sampi_regex_property(r);
        return -1;
    } else {
        bool backspace = r->at[1] == 'b';
        r->at += 1 + backspace;
        c = backspace ? '\b' : sampi_regex_escape(r);
    }
    if (c < 0) *status = (int)c;
    return c;
}

/* Reads a character class [..] or [^..]. Its ranges are collected in r->parts. */
static sampi_node sampi_regex_class(sampi_reader *r)
{
    int32_t first = r->parts.n;
    int status = SAMP_OK;
    bool negated = r->at[1] == '^';
    for (r->at += 1 + negated; *r->at != ']';) {
        const char *start = r->at;
        int64_t lo = sampi_regex_class_char(r, &status);
        if (status) return status;
        if (*r->at != '-' || r->at[1] == ']') {
            uint32_t one[1][2] = { { (uint32_t)lo, (uint32_t)lo } };
            if (lo >= 0 && sampi_regex_ranges(r, (const uint32_t(*)[2])one, 1, false)) return r->error->status;
            continue;
        }
        r->at++;
        int64_t hi = sampi_regex_class_char(r, &status);
        if (status) return status;
        if (lo < 0 || hi < lo) return sampi_grammar_expected(r, start, SAMP_E_FORMAT, "expected a range in order");
        uint32_t range[1][2] = { { (uint32_t)lo, (uint32_t)hi } };
        if (sampi_regex_ranges(r, (const uint32_t(*)[2])range, 1, false)) return r->error->status;
    }
    r->at++;
    return sampi_regex_set(r, first, negated);
}

/* Returns n as a GROUP node if groups matter to the caller, else n itself. */
static sampi_node sampi_regex_way(sampi_reader *r, sampi_node n, int32_t group)
{
    if (n < 0 || !r->ways || (group == SAMPI_GROUP_NONE && sampi_grammar_at(r->tree, n)->kind != SAMPI_NODE_ALT))
        return n;
    return sampi_tree_node(r->tree, SAMPI_NODE_GROUP, n, group, 0);
}

/* Reads the name of a capture group and the > behind the name. Every character outside of ASCII counts as a letter.
   Escapes in names are not supported, and two groups may have the same name. */
static int sampi_regex_name(sampi_reader *r)
{
    const char *name = r->at;
    for (char c; (c = *r->at) & 0x80 || c == '$' || (c != '-' && sampi_gbnf_is_name(c));)
        if (sampi_grammar_read_utf8(r, "expected a character") < 0) return r->error->status;
    if (r->at == name || (*name >= '0' && *name <= '9') || *r->at != '>')
        return sampi_grammar_expected(r, name, SAMP_E_FORMAT, "expected the name of a group and >");
    r->at++;
    return SAMP_OK;
}

static sampi_node sampi_regex_alternatives(sampi_reader *r);

/* Returns the node that matches every string of bytes: what follows of the text decides which of them may come. */
static sampi_node sampi_regex_everything(sampi_tree *t)
{
    return sampi_tree_repeat(t, sampi_tree_byte(t, 0, 255), 0, -1);
}

/* Reads what is between ( and a group's alternatives. *group becomes the group's number or SAMPI_GROUP_...; flags
   change r->any_case. */
static int sampi_regex_group_kind(sampi_reader *r, int32_t *group)
{
    const char *start = r->at - 1, *at = r->at + 1;
    if (*r->at != '?') return *group = r->n_groups++, SAMP_OK;
    at += *at == 'P' && at[1] == '<';
    const bool named = *at == '<' && at[1] != '=' && at[1] != '!', off = *at == '-';
    *group = *at == '=' ? SAMPI_GROUP_AHEAD : *at == '!' ? SAMPI_GROUP_NOT_AHEAD : SAMPI_GROUP_NONE;
    r->at = at + 1;
    if (named) return *group = r->n_groups++, sampi_regex_name(r);
    if (*group != SAMPI_GROUP_NONE)
        return r->ways || r->open ? sampi_regex_unsupported(r, start, "lookahead is not supported here") : SAMP_OK;
    if (*at == ':') return SAMP_OK;
    if (*at == '<') return sampi_regex_unsupported(r, start, "lookbehind is not supported");
    if (at[off] == 'i' && at[off + 1] == ':') {
        r->any_case = !off;
        r->at = at + off + 2;
        return SAMP_OK;
    }
    return sampi_regex_unsupported(r, start,
                                   *at && strchr("imsx-", *at)
                                       ? "of flags only (?i) in front and (?i:...) are supported"
                                       : "ECMA-262 has no group that begins like this");
}

static sampi_node sampi_regex_group(sampi_reader *r)
{
    const char *start = r->at++;
    const bool any_case = r->any_case;
    int32_t group;
    if (++r->depth > SAMPI_MAX_NESTING)
        return sampi_grammar_expected(r, start, SAMP_E_RANGE, "expected at most 100 levels of ( )");
    const int status = sampi_regex_group_kind(r, &group);
    sampi_node n = status ? status : sampi_regex_alternatives(r);
    if (n < 0) return n;
    if (*r->at != ')') return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected )");
    r->at++;
    r->depth--;
    r->any_case = any_case;
    if (group != SAMPI_GROUP_AHEAD && group != SAMPI_GROUP_NOT_AHEAD) return sampi_regex_way(r, n, group);
    n = sampi_tree_seq(r->tree, n, sampi_regex_everything(r->tree));
    if (n >= 0 && sampi_grammar_is_everything(r->tree, n))
        return group == SAMPI_GROUP_AHEAD ? SAMPI_EMPTY : SAMPI_NEVER;
    return n < 0 ? n : sampi_tree_node(r->tree, SAMPI_NODE_GROUP, n, group, 0);
}

/* Reads a repetition {m}, {m,} or {m,n}. In any other form { is an ordinary character, and *least becomes -1. */
static int sampi_regex_braces(sampi_reader *r, int32_t *least, int32_t *most)
{
    const char *start = r->at++;
    if (*r->at >= '0' && *r->at <= '9') {
        *least = *most = sampi_grammar_read_number(r, "");
        if (*r->at == ',') {
            r->at++;
            *most = *r->at == '}' ? -1 : 0;
            if (*r->at >= '0' && *r->at <= '9') *most = sampi_grammar_read_number(r, "");
        }
        if (*r->at++ == '}') {
            if (*most >= 0 && *most < *least)
                return sampi_grammar_expected(r, start, SAMP_E_FORMAT,
                                      "expected a second number that is not below the first");
            return SAMP_OK;
        }
    }
    r->at = start;
    *least = -1;
    return SAMP_OK;
}

/* Reads one part of a sequence, without the repetition that may follow. */
static sampi_node sampi_regex_atom(sampi_reader *r)
{
    static const uint32_t line_ends[][2] = { { '\n', '\n' }, { '\r', '\r' }, { 0x2028, 0x2029 } };
    const uint32_t(*ranges)[2];
    char c = *r->at;
    if (c == '(') return sampi_regex_group(r);
    if (c == '[') return sampi_regex_class(r);
    int32_t least = -1, most;
    const char *start = r->at;
    int status = c == '{' ? sampi_regex_braces(r, &least, &most) : SAMP_OK;
    if (status) return status;
    if (least >= 0 || (c && strchr("*+?", c)))
        return sampi_grammar_expected(r, start, SAMP_E_FORMAT, "expected something to repeat before * + ? {");
    if (c == '.') {
        r->at++;
        return sampi_regex_chars(r, line_ends, 3, true);
    }
    if (c == '\\' && r->at[1] && strchr("dwsDWS", r->at[1])) {
        c = r->at[1];
        size_t n = sampi_regex_named((char)(c | 32), &ranges);
        r->at += 2;
        return sampi_regex_chars(r, ranges, n, c < 'a');
    }
    const int32_t first = r->parts.n;
    if (c == '\\' && (r->at[1] | 32) == 'p')
        return sampi_regex_property(r) ? (sampi_node)r->error->status : sampi_regex_set(r, first, false);
    r->at += c == '\\';
    int64_t code = c == '\\' ? sampi_regex_escape(r) : sampi_grammar_read_utf8(r, "expected a character");
    if (code < 0) return (sampi_node)code;
    uint32_t one[1][2] = { { (uint32_t)code, (uint32_t)code } };
    if (sampi_regex_ranges(r, (const uint32_t(*)[2])one, 1, false)) return r->error->status;
    return sampi_regex_set(r, first, false);
}

/* Reads the repetition behind the part n, if there is one, and applies it. */
static sampi_node sampi_regex_repeated(sampi_reader *r, sampi_node n)
{
    if (n < 0 || !*r->at || !strchr("*+?{", *r->at)) return n;
    int32_t least = *r->at == '+', most = *r->at == '?' ? 1 : -1;
    if (*r->at == '{') {
        int status = sampi_regex_braces(r, &least, &most);
        if (status || least < 0) return status ? status : n;
    } else {
        r->at++;
    }
    n = sampi_tree_repeat(r->tree, n, least, most);
    if (*r->at != '?') return n;
    r->at++; /* a lazy repetition matches the same texts as one that is not lazy */
    return least != most ? sampi_regex_way(r, n, SAMPI_GROUP_LAZY) : n;
}

/* Reads ^, $, \b or \B. Returns 0 if there is none. */
static sampi_node sampi_regex_assertion(sampi_reader *r)
{
    const uint32_t(*words)[2];
    const char *start = r->at;
    const bool edge = *start == '\\' && (start[1] | 32) == 'b';
    if (*start != '^' && *start != '$' && !edge) return 0;
    if (edge && (r->ways || r->open)) return sampi_regex_unsupported(r, start, "\\b and \\B are not supported here");
    if (*start == '$' && r->open) return sampi_regex_unsupported(r, start, "expected no $: a text has no end here");
    while (!strncmp(r->at, start, edge ? 2 : 1)) r->at += edge ? 2 : 1;
    if (!edge)
        return sampi_tree_node(r->tree, SAMPI_NODE_GROUP, SAMPI_EMPTY,
                               *start == '^' ? SAMPI_GROUP_BEGIN : SAMPI_GROUP_END, 0);
    const size_t n = sampi_regex_named('w', &words);
    const sampi_node any = sampi_regex_everything(r->tree),
                     word = sampi_tree_seq(r->tree, r->chars(r->tree, words, n, false), any);
    sampi_node other = sampi_tree_seq(r->tree, r->chars(r->tree, words, n, true), any);
    other = sampi_tree_alt(r->tree, SAMPI_EMPTY, other);
    if (word < 0 || other < 0) return word < 0 ? word : other;
    const sampi_node pair = sampi_tree_node(r->tree, SAMPI_NODE_SEQ, word, other, 0);
    return pair < 0 ? pair
                    : sampi_tree_node(r->tree, SAMPI_NODE_GROUP, pair,
                                      start[1] == 'b' ? SAMPI_GROUP_EDGE : SAMPI_GROUP_NO_EDGE, 0);
}

static sampi_node sampi_regex_alternatives(sampi_reader *r)
{
    int32_t first = r->parts.n, first_part = first;
    for (;;) {
        char c = *r->at;
        if (r->at == r->end || c == ')' || c == '|') {
            sampi_node n = sampi_regex_way(r, sampi_grammar_read_join(r, first_part, true), SAMPI_GROUP_NONE);
            if (sampi_grammar_read_part(r, n) < 0) return r->error->status;
            if (c != '|') return sampi_grammar_read_join(r, first, false);
            first_part = r->parts.n;
            r->at++;
            continue;
        }
        sampi_node n = sampi_regex_assertion(r);
        if (!n) n = sampi_regex_repeated(r, sampi_regex_atom(r));
        if (sampi_grammar_read_part(r, n) < 0) return r->error->status;
    }
}

/* Reads a regular expression of n bytes into a node with GROUP nodes. A 0 must follow the text. The caller sets the
   reader's tree, chars, ways and open. Returns a status, with *error, if the text is not valid. */
static sampi_node sampi_regex_read(sampi_reader *r, const char *text, size_t n, samp_grammar_error *error)
{
    memset(error, 0, sizeof *error);
    r->text = r->at = text;
    r->end = text + n;
    r->error = error;
    if (n > SAMPI_MAX_REGEX) return sampi_grammar_expected(r, text, SAMP_E_RANGE, "expected at most 8192 bytes");
    for (size_t i = 0; i + 1 < n; i++) {
        if (text[i] == '\\' && (text[i + 1] | 32) == 'b') r->edges = true;
        i += text[i] == '\\';
    }
    if (!strncmp(text, "(?i)", 4)) {
        r->any_case = true;
        r->at += 4;
    }
    r->any = sampi_tree_repeat(r->tree, sampi_regex_chars(r, NULL, 0, true), 0, -1);
    sampi_node all = r->any < 0 ? sampi_grammar_read_node(r, r->any) : sampi_regex_alternatives(r);
    if (all >= 0 && r->at < r->end)
        all = sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected the end, or ( before )");
    sampi_grammar_vec_free(&r->parts);
    return all;
}

/* Returns the node for the texts that the expression matches as a whole, or, with `search`, for the texts that contain
   a match. The callback `chars` makes the node of a class of code points (sampi_tree_class makes it in UTF-8). Returns
   SAMP_E_UNSUPPORTED if the expression is not regular. */
static sampi_node sampi_tree_regex(sampi_tree *t, const char *text, size_t n, bool search,
                                   sampi_node (*chars)(sampi_tree *, const uint32_t (*)[2], size_t, bool),
                                   samp_grammar_error *error)
{
    sampi_reader r;
    sampi_resolving placing = { t, SAMPI_PLACE_PATIENCE, 0 };
    memset(&r, 0, sizeof r);
    r.tree = t;
    r.chars = chars;
    sampi_node all = sampi_regex_read(&r, text, n, error);
    if (all >= 0 && search) all = sampi_tree_seq(t, r.any, sampi_tree_seq(t, all, r.any));
    return sampi_grammar_read_node(&r, all < 0 ? all : sampi_grammar_resolve(&placing, all, SAMPI_PLACE_BEGIN));
}
