/* ---- grammars: GBNF, as llama.cpp reads it ----
   This reader accepts what llama.cpp's reader of grammars accepts, and refuses what that one refuses, at the same
   position, with the same limits and oddities. Rules become nodes that refer to each other by number. */

static bool sampi_gbnf_is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Skips spaces and comments. Newlines are skipped only where the rule cannot end, which `newlines` says. */
static void sampi_gbnf_space(sampi_reader *r, bool newlines)
{
    for (;; r->at++) {
        if (*r->at == '#')
            while (*r->at && *r->at != '\n' && *r->at != '\r') r->at++;
        if (*r->at != ' ' && *r->at != '\t' && !(newlines && (*r->at == '\n' || *r->at == '\r'))) return;
    }
}

/* Reads one character of a literal or a class. An escape can give a number above 0x10ffff, which has no UTF-8 and
   matches no text. */
static int64_t sampi_gbnf_char(sampi_reader *r)
{
    if (*r->at != '\\') return sampi_grammar_read_utf8(r, "expected the end of the literal or class");
    r->at += 2;
    switch (r->at[-1]) {
        case 'x': return sampi_grammar_read_hex(r, 2);
        case 'u': return sampi_grammar_read_hex(r, 4);
        case 'U': return sampi_grammar_read_hex(r, 8);
        case 't': return '\t';
        case 'r': return '\r';
        case 'n': return '\n';
        case '\\':
        case '"':
        case '[':
        case ']':
        case '-': return r->at[-1];
        default:
            return sampi_grammar_expected(r, --r->at, SAMP_E_FORMAT,
                                          "expected one of x u U t r n \\ \" [ ] - behind \\");
    }
}

/* Reads a literal "..." as the sequence of its characters. */
static sampi_node sampi_gbnf_literal(sampi_reader *r)
{
    int32_t first = r->parts.n;
    for (r->at++; *r->at != '"';) {
        int64_t c = sampi_gbnf_char(r);
        if (c < 0) return (sampi_node)c;
        sampi_node n = SAMPI_NEVER;
        if (c <= 0x10ffff) {
            const uint32_t range[1][2] = { { (uint32_t)c, (uint32_t)c } };
            n = sampi_tree_class(r->tree, range, 1, false);
        }
        if (sampi_grammar_read_part(r, n) < 0) return r->error->status;
    }
    r->at++;
    return sampi_grammar_read_join(r, first, true);
}

/* Reads a character class [..] or [^..]. A class without characters matches the empty text. The ranges are collected in
   r->parts. Byte 0 is in a class only if the class names it alone: ranges, [^..] and . never contain byte 0, because
   llama.cpp never allows it. */
static sampi_node sampi_gbnf_class(sampi_reader *r)
{
    int32_t first = r->parts.n;
    bool negated = r->at[1] == '^';
    for (r->at += 1 + negated; *r->at != ']';) {
        int64_t lo = sampi_gbnf_char(r), hi = lo;
        if (lo < 0) return (sampi_node)lo;
        if (r->at[0] == '-' && r->at[1] != ']') {
            r->at++;
            hi = sampi_gbnf_char(r);
            if (hi < 0) return (sampi_node)hi;
        }
        if (lo == 0 && hi > 0 && !negated) lo = 1;
        if (sampi_grammar_read_part(r, lo < 0x110000 ? (sampi_node)lo : 0x110000) < 0) return r->error->status;
        if (sampi_grammar_read_part(r, hi < 0x110000 ? (sampi_node)hi : 0x110000) < 0) return r->error->status;
    }
    r->at++;
    /* adds the range from 0 to 0, so that the negated class excludes byte 0 */
    for (int k = 0, both = r->parts.n > first && negated ? 2 : 0; k < both; k++)
        if (sampi_grammar_read_part(r, 0) < 0) return r->error->status;
    int32_t n = (r->parts.n - first) / 2;
    r->parts.n = first;
    if (n == 0) return SAMPI_EMPTY;
    const uint32_t *ranges = (const uint32_t *)r->parts.data + first;
    return sampi_grammar_read_node(r, sampi_tree_class(r->tree, (const uint32_t(*)[2])ranges, (size_t)n, negated));
}

/* Reads a token: <[id]> or <text>. The text together with its angle brackets must be the text of one token. The
   vocabulary, which is known later, says which token. */
static sampi_node sampi_gbnf_token(sampi_reader *r)
{
    bool negated = *r->at == '!';
    r->at += negated;
    if (*r->at != '<') return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected < behind !");
    const char *start = r->at++;
    if (*r->at == '[') {
        r->at++;
        int32_t id = sampi_grammar_read_number(r, "expected a token's number");
        if (id < 0) return id;
        if (r->at[0] != ']' || r->at[1] != '>')
            return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected ]> behind the token's number");
        r->at += 2;
        return sampi_grammar_read_node(r, sampi_tree_token(r->tree, id, negated));
    }
    while (*r->at && *r->at != '>') r->at++;
    if (!*r->at) return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected > behind the token's text");
    r->at++;
    sampi_node text = sampi_tree_text(r->tree, start, (size_t)(r->at - start));
    if (text < 0) return sampi_grammar_read_node(r, text);
    return sampi_grammar_read_node(r, sampi_tree_node(r->tree, SAMPI_NODE_TOKEN, text, negated | 2, 0));
}

/* Reads a repetition {m}, {m,} or {m,n}. As in llama.cpp, an upper bound above 2000 counts as no bound. */
static int sampi_gbnf_braces(sampi_reader *r, bool nested, int32_t *least, int32_t *most)
{
    r->at++;
    sampi_gbnf_space(r, nested);
    const char *start = r->at;
    *least = sampi_grammar_read_number(r, "expected a number behind {");
    if (*least < 0) return *least;
    *most = *least;
    sampi_gbnf_space(r, nested);
    if (*r->at == ',') {
        r->at++;
        sampi_gbnf_space(r, nested);
        *most = *r->at == '}' ? -1 : sampi_grammar_read_number(r, "expected a number or }");
        if (*most < -1) return *most;
        sampi_gbnf_space(r, nested);
        if (*r->at != '}') return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected }");
    } else if (*r->at != '}') {
        return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected , or }");
    }
    r->at++;
    if (*least > 2000) return sampi_grammar_expected(r, start, SAMP_E_FORMAT, "expected at most 2000 repetitions");
    if (*most > 2000) *most = -1;
    if (*most >= 0 && *most < *least)
        return sampi_grammar_expected(r, start, SAMP_E_FORMAT,
                                      "expected a second number that is not below the first");
    return SAMP_OK;
}

/* Reads one of * + ? or a repetition in braces, and applies it to the last part that was read. *n_rules, the rules that
   llama.cpp counts for that part, is multiplied by the repetitions. */
static int sampi_gbnf_repeat(sampi_reader *r, int32_t first, bool nested, bool *nothing, uint64_t *n_rules)
{
    const char *start = r->at;
    int32_t least = *r->at == '+', most = *r->at == '?' ? 1 : -1;
    if (*r->at == '{') {
        int status = sampi_gbnf_braces(r, nested, &least, &most);
        if (status) return status;
    } else {
        r->at++;
    }
    sampi_gbnf_space(r, nested);
    if (*nothing || r->parts.n == first)
        return sampi_grammar_expected(r, start, SAMP_E_FORMAT, "expected something to repeat before * + ? {");
    uint64_t total = most > 0 ? (uint64_t)most : least > 0 ? (uint64_t)least : 1;
    *n_rules *= total;
    if (*n_rules > 2000)
        return sampi_grammar_expected(r, start, SAMP_E_FORMAT, "expected fewer repetitions, at most 2000 in all");
    r->n_symbols += most < 0 ? 1 : (uint64_t)(most - least);
    *nothing = most == 0;
    sampi_node *last = (sampi_node *)r->parts.data + r->parts.n - 1;
    *last = sampi_grammar_read_node(r, sampi_tree_repeat(r->tree, *last, least, most));
    return *last < 0 ? *last : SAMP_OK;
}

static sampi_node sampi_gbnf_alternatives(sampi_reader *r, bool nested);

/* Reads a name. Returns the number of the rule with this name, or a status. A new name becomes a new rule, and counts
   in n_symbols for llama.cpp's limit on repetitions. */
static int32_t sampi_gbnf_name(sampi_reader *r)
{
    const char *start = r->at;
    int32_t n_rules = r->tree->rules.n;
    while (sampi_gbnf_is_name(*r->at)) r->at++;
    if (r->at == start) return sampi_grammar_expected(r, start, SAMP_E_FORMAT, "expected a name");
    int32_t rule = sampi_grammar_read_node(r, sampi_tree_rule(r->tree, start, (size_t)(r->at - start)));
    r->n_symbols += (uint64_t)(r->tree->rules.n - n_rules);
    if (rule == n_rules) sampi_grammar_rule_at(r->tree, rule)->place = (size_t)(start - r->text);
    return rule;
}

static sampi_node sampi_gbnf_group(sampi_reader *r, uint64_t *n_rules)
{
    uint64_t n_symbols = r->n_symbols++;
    if (++r->depth > SAMPI_MAX_NESTING)
        return sampi_grammar_expected(r, r->at, SAMP_E_RANGE, "expected at most 100 levels of ( )");
    r->at++;
    sampi_gbnf_space(r, true);
    sampi_node n = sampi_gbnf_alternatives(r, true);
    if (n < 0) return n;
    if (*r->at != ')') return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected )");
    r->at++;
    r->depth--;
    *n_rules = r->n_symbols - n_symbols;
    return n;
}

/* Reads the parts of one alternative, each with its repetition, up to the alternative's end. */
static sampi_node sampi_gbnf_sequence(sampi_reader *r, bool nested)
{
    int32_t first = r->parts.n;
    uint64_t n_rules = 1;
    bool nothing = true; /* whether the last part is the empty text, which cannot be repeated */
    for (;;) {
        sampi_node n;
        char c = *r->at;
        if (c && strchr("*+?{", c)) {
            int status = sampi_gbnf_repeat(r, first, nested, &nothing, &n_rules);
            if (status) return status;
            continue;
        }
        n_rules = 1;
        if (c == '"') {
            nothing = r->at[1] == '"';
            n = sampi_gbnf_literal(r);
        } else if (c == '[') {
            nothing = r->at[1] == ']' || (r->at[1] == '^' && r->at[2] == ']');
            n = sampi_gbnf_class(r);
        } else {
            nothing = false;
            if (c == '<' || c == '!') {
                n = sampi_gbnf_token(r);
            } else if (sampi_gbnf_is_name(c)) {
                n = sampi_tree_ref(r->tree, sampi_gbnf_name(r));
            } else if (c == '(') {
                n = sampi_gbnf_group(r, &n_rules);
            } else if (c == '.') {
                static const uint32_t zero[1][2] = { { 0, 0 } };
                r->at++;
                n = sampi_tree_class(r->tree, zero, 1, true);
            } else {
                return sampi_grammar_read_join(r, first, true);
            }
        }
        if (sampi_grammar_read_part(r, n) < 0) return r->error->status;
        sampi_gbnf_space(r, nested);
    }
}

static sampi_node sampi_gbnf_alternatives(sampi_reader *r, bool nested)
{
    int32_t first = r->parts.n;
    for (;;) {
        if (sampi_grammar_read_part(r, sampi_gbnf_sequence(r, nested)) < 0) return r->error->status;
        if (*r->at != '|') return sampi_grammar_read_join(r, first, false);
        r->at++;
        sampi_gbnf_space(r, true);
    }
}

/* Reads one rule: its name, ::=, the alternatives and the end of the line. A second definition of a name replaces the
   first. */
static int sampi_gbnf_rule(sampi_reader *r)
{
    int32_t rule = sampi_gbnf_name(r);
    if (rule < 0) return rule;
    sampi_gbnf_space(r, false);
    if (strncmp(r->at, "::=", 3) != 0) return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected ::=");
    r->at += 3;
    sampi_gbnf_space(r, true);
    sampi_node body = sampi_gbnf_alternatives(r, false);
    if (body < 0) return body;
    if (*r->at && *r->at != '\n' && *r->at != '\r')
        return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected the end of the line, or a part of the rule");
    sampi_gbnf_space(r, true);
    return sampi_tree_define(r->tree, rule, body);
}

/* Checks that every name has a rule. The error is reported at the first position of the name in the text. */
static int sampi_gbnf_check(sampi_reader *r)
{
    for (int32_t i = 0; i < r->tree->rules.n; i++) {
        const sampi_rule *rule = sampi_grammar_rule_at(r->tree, i);
        if (rule->body < 0)
            return sampi_grammar_expected(r, r->text + rule->place, SAMP_E_FORMAT, "expected a name that has a rule");
    }
    return SAMP_OK;
}

/* Reads all rules of the text into the tree. *rule becomes the number of the rule with the name `root`. */
static int sampi_gbnf_read(sampi_reader *r, const char *root, int32_t *rule)
{
    sampi_gbnf_space(r, true);
    while (*r->at) {
        int status = sampi_gbnf_rule(r);
        if (status) return status;
    }
    int32_t n_rules = r->tree->rules.n;
    *rule = sampi_grammar_read_node(r, sampi_tree_rule(r->tree, root, strlen(root)));
    if (*rule < 0) return *rule;
    if (*rule == n_rules)
        return sampi_grammar_expected(r, r->at, SAMP_E_FORMAT, "expected a rule with the root's name");
    return sampi_gbnf_check(r);
}
