/* ---- schemas: `pattern` and `format` ----
   The reader of regular expressions reads a pattern, over code points. A format has a regular expression in this room.
   Some formats are not regular. They have two regular sets as bounds: one that is contained in the format, and one that
   contains it. The first bound is used where the schema must hold, the second where it must not hold. */

/* Returns the node of a class of code points for sampi_tree_regex, each code point in its shortest spelling. */
static SAMPI_COLD sampi_node sampi_schema_class(sampi_tree *t, const uint32_t (*ranges)[2], size_t n, bool negated)
{
    enum { HOW = 4 };
    return sampi_tree_class_of(t, ranges, n, negated, sampi_schema_range, HOW);
}

/* Returns the node of the strings that match a regular expression. With `search` the match may be anywhere in the
   string. Errors are reported at `node` of the document. */
static SAMPI_COLD sampi_node sampi_schema_regex(sampi_schema *x, int32_t node, const char *text, size_t n,
                                                bool search)
{
    samp_grammar_error error;
    sampi_node inside = sampi_tree_regex(x->tree, text, n, search, x->raw ? sampi_tree_class : sampi_schema_class,
                                         &error);
    if (inside < 0) sampi_schema_fail(x, node, inside, error.message);
    return x->status ? (sampi_node)SAMPI_NEVER : sampi_schema_in_quotes(x, inside);
}

/* Returns the node of the strings that match a pattern, which is a string of the document. The node of each pattern is
   made once. */
static SAMPI_COLD sampi_node sampi_schema_pattern(sampi_schema *x, int32_t node, int32_t string)
{
    size_t n;
    if (x->pattern_of[string]) return x->pattern_of[string] - 1;
    if (!sampi_schema_work(x, node, 4 * x->doc.strings[string].n)) return SAMPI_NEVER;
    char *text = NULL; /* a copy of the pattern, followed by a byte 0 */
    const char *bytes = sampi_schema_doc_text(x, string, &n);
    if (!(text = (char *)SAMP_MALLOC(n + 1)))
        return sampi_schema_fail(x, node, SAMP_E_NOMEM, "out of memory"), SAMPI_NEVER;
    memcpy(text, bytes, n);
    text[n] = 0;
    sampi_node found = sampi_schema_regex(x, node, text, n, true);
    SAMP_FREE(text);
    x->pattern_of[string] = found + 1;
    return found;
}

/* Returns the node of the names that match the pattern of a member of patternProperties. */
static SAMPI_COLD sampi_node sampi_schema_named_pattern(sampi_schema *x, int32_t member)
{
    return sampi_schema_pattern(x, member, sampi_schema_doc(x, member)->name);
}

/* The formats of the standard. A format that is not regular has two bounds: every text of the lower bound has the
   format, and the upper bound contains every text with the format. If the upper bound is NULL, the lower bound is
   exact. If a name has several lines, all of them must hold. `before` comes before a time
   (sampi_schema_format_line). */
#define SAMPI_RE_DATE \
    "((\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8])))" \
    "|(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
#define SAMPI_RE_CLOCK   "([01]\\d|2[0-3]):[0-5]\\d:"
#define SAMPI_RE_SECONDS "(\\.\\d+)?"
#define SAMPI_RE_ZONE    SAMPI_RE_SECONDS "([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
/* clang-format off */
#define SAMPI_RE_IPV4     "((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)){3})"
#define SAMPI_RE_H16      "[0-9A-Fa-f]{1,4}"
#define SAMPI_RE_LS32     "(" SAMPI_RE_H16 ":" SAMPI_RE_H16 "|" SAMPI_RE_IPV4 ")"
#define SAMPI_RE_LEFT(n)  "((" SAMPI_RE_H16 ":){0," n "}" SAMPI_RE_H16 ")?::"
#define SAMPI_RE_RIGHT(n) "(" SAMPI_RE_H16 ":){" n "}" SAMPI_RE_LS32
#define SAMPI_RE_IPV6 \
    "(" SAMPI_RE_RIGHT("6") "|::" SAMPI_RE_RIGHT("5") "|" SAMPI_RE_LEFT("0") SAMPI_RE_RIGHT("4") \
    "|" SAMPI_RE_LEFT("1") SAMPI_RE_RIGHT("3") "|" SAMPI_RE_LEFT("2") SAMPI_RE_RIGHT("2") \
    "|" SAMPI_RE_LEFT("3") SAMPI_RE_RIGHT("1") "|" SAMPI_RE_LEFT("4") SAMPI_RE_LS32 \
    "|" SAMPI_RE_LEFT("5") SAMPI_RE_H16 "|" SAMPI_RE_LEFT("6") ")"
/* in RFC 5321, :: replaces at least two groups */
#define SAMPI_RE_MAIL_IPV6 \
    "(" SAMPI_RE_RIGHT("6") "|::" SAMPI_RE_RIGHT("4") "|" SAMPI_RE_LEFT("0") SAMPI_RE_RIGHT("3") \
    "|" SAMPI_RE_LEFT("1") SAMPI_RE_RIGHT("2") "|" SAMPI_RE_LEFT("2") SAMPI_RE_RIGHT("1") \
    "|" SAMPI_RE_LEFT("3") SAMPI_RE_LS32 "|" SAMPI_RE_LEFT("4") SAMPI_RE_H16 "|" SAMPI_RE_LEFT("5") ")"
#define SAMPI_RE_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define SAMPI_RE_HOST SAMPI_RE_LABEL "(\\." SAMPI_RE_LABEL ")*"
/* more: further characters, as ranges of a class */
#define SAMPI_RE_ATOM(more) "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" more "-]+"
#define SAMPI_RE_EMAIL(more) \
    "(" SAMPI_RE_ATOM(more) "(\\." SAMPI_RE_ATOM(more) ")*|\"([ !#-\\[\\]-~" more "]|\\\\[ -~])*\")" \
    "@(" SAMPI_RE_HOST "|\\[(" SAMPI_RE_IPV4 "|IPv6:" SAMPI_RE_MAIL_IPV6 ")\\])"
#define SAMPI_RE_U(more) "([A-Za-z0-9._~!$&'()*+,;=" more "-]|%[0-9A-Fa-f]{2})"
/* u: the characters that an IRI has and a URI does not, as ranges of a class; p: further ones of its query */
#define SAMPI_RE_PATH(u) "(/" SAMPI_RE_U(":@" u) "*)*"
#define SAMPI_RE_SCHEME "[A-Za-z][A-Za-z0-9+.-]*:"
#define SAMPI_RE_ROOTED(u) \
    "(//(" SAMPI_RE_U(":" u) "*@)?(\\[(" SAMPI_RE_IPV6 "|[Vv][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]" \
    "|" SAMPI_RE_U(u) "*)(:\\d*)?" SAMPI_RE_PATH(u) "|/(" SAMPI_RE_U(":@" u) "+" SAMPI_RE_PATH(u) ")?)?"
#define SAMPI_RE_QUERY(u, p) "(\\?" SAMPI_RE_U(":@/?" u p) "*)?(#" SAMPI_RE_U(":@/?" u) "*)?"
#define SAMPI_RE_ROOTLESS(colon, u) SAMPI_RE_U(colon "@" u) "+" SAMPI_RE_PATH(u)
#define SAMPI_RE_URI(u, p) \
    SAMPI_RE_SCHEME "(" SAMPI_RE_ROOTED(u) "|" SAMPI_RE_ROOTLESS(":", u) ")" SAMPI_RE_QUERY(u, p)
#define SAMPI_RE_REFERENCE(u, p) \
    "((" SAMPI_RE_SCHEME ")?" SAMPI_RE_ROOTED(u) "|" SAMPI_RE_SCHEME SAMPI_RE_ROOTLESS(":", u) \
    "|" SAMPI_RE_ROOTLESS("", u) ")" SAMPI_RE_QUERY(u, p)
/* ucschar of RFC 3987, in UTF-8: a0-d7ff, f900-fdcf, fdf0-ffef, of planes 1 to 13 all but the last two, e1000-efffd */
#define SAMPI_RE_UCS \
    "\xc2\xa0-\xed\x9f\xbf\xef\xa4\x80-\xef\xb7\x8f\xef\xb7\xb0-\xef\xbf\xaf" \
    "\xf0\x90\x80\x80-\xf0\x9f\xbf\xbd\xf0\xa0\x80\x80-\xf0\xaf\xbf\xbd\xf0\xb0\x80\x80-\xf0\xbf\xbf\xbd" \
    "\xf1\x80\x80\x80-\xf1\x8f\xbf\xbd\xf1\x90\x80\x80-\xf1\x9f\xbf\xbd\xf1\xa0\x80\x80-\xf1\xaf\xbf\xbd" \
    "\xf1\xb0\x80\x80-\xf1\xbf\xbf\xbd\xf2\x80\x80\x80-\xf2\x8f\xbf\xbd\xf2\x90\x80\x80-\xf2\x9f\xbf\xbd" \
    "\xf2\xa0\x80\x80-\xf2\xaf\xbf\xbd\xf2\xb0\x80\x80-\xf2\xbf\xbf\xbd\xf3\x80\x80\x80-\xf3\x8f\xbf\xbd" \
    "\xf3\x90\x80\x80-\xf3\x9f\xbf\xbd\xf3\xa1\x80\x80-\xf3\xaf\xbf\xbd"
/* its iprivate: e000-f8ff, f0000-ffffd, 100000-10fffd */
#define SAMPI_RE_PRIVATE \
    "\xee\x80\x80-\xef\xa3\xbf\xf3\xb0\x80\x80-\xf3\xbf\xbf\xbd\xf4\x80\x80\x80-\xf4\x8f\xbf\xbd"
#define SAMPI_RE_VARCHAR  "([A-Za-z0-9_]|%[0-9A-Fa-f]{2})"
#define SAMPI_RE_VARIABLE SAMPI_RE_VARCHAR "(\\.?" SAMPI_RE_VARCHAR ")*(:[1-9]\\d{0,3}|\\*)?"
#define SAMPI_RE_TEMPLATE(reserved) \
    "([!#$&-;=?-\\[\\]_a-z~" SAMPI_RE_UCS SAMPI_RE_PRIVATE "]|%[0-9A-Fa-f]{2}|\\{[+#./;?&" reserved \
    "]?" SAMPI_RE_VARIABLE "(," SAMPI_RE_VARIABLE ")*\\})*"
/* regular expressions of ECMA-262 with groups at most three deep: escapes that are valid outside of a class and in it,
   classes, quantifiers, and parts of a text; i: what a group contains */
#define SAMPI_RE_X_ESCAPE \
    "\\\\([dDwWsSfnrtv^$.*+?()[\\]{}|/\\\\]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|c[A-Za-z]|[pP]\\{[LMNPSZ]\\})"
#define SAMPI_RE_X_CLASS \
    "\\[-?(" SAMPI_RE_X_ESCAPE "|\\\\-|[^\\]\\\\-]|0-\\d|[1-9]-9|a-[a-z]|[b-z]-z|A-[A-Za-z]|[B-Z]-Z)*-?\\]"
#define SAMPI_RE_X_TIMES \
    "([*+?]|\\{(\\d+,?|0,\\d+|1,[1-9]\\d*|2,[2-9]|[23],[3-9]|4,[4-9]|5,[5-9]|6,[6-9]|[78],[89]|\\d,[1-9]\\d+)\\})\\??"
#define SAMPI_RE_X(i) \
    "(([^\\^$*+?()[\\]{}|\\\\]|" SAMPI_RE_X_ESCAPE "|" SAMPI_RE_X_CLASS i ")(" SAMPI_RE_X_TIMES ")?|[|^$]|\\\\[bB])*"
#define SAMPI_RE_X0 SAMPI_RE_X("")
#define SAMPI_RE_X1 SAMPI_RE_X("|\\((\\?:)?" SAMPI_RE_X0 "\\)")
#define SAMPI_RE_X2 SAMPI_RE_X("|\\((\\?:)?" SAMPI_RE_X1 "\\)")
#define SAMPI_RE_DAYS    "\\d+D"
#define SAMPI_RE_MONTHS  "\\d+M(\\d+D)?"
#define SAMPI_RE_CLOCKS  "T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S)"
#define SAMPI_RE_POINTER "(/([^/~]|~[01])*)*"
/* clang-format on */

/* Returns the node of the times of leap seconds, which are 23:59:60 in UTC, with offsets of whole quarters of an
   hour. */
static SAMPI_COLD sampi_node sampi_schema_leap_seconds(const sampi_schema *x)
{
    enum { DAY = 24 * 60 };
    sampi_tree *t = x->tree;
    samp_grammar_error error;
    const sampi_node behind = sampi_tree_regex(t, SAMPI_RE_SECONDS, strlen(SAMPI_RE_SECONDS), false, sampi_tree_class,
                                               &error);
    static const uint32_t zulu[2][2] = { { 'Z', 'Z' }, { 'z', 'z' } };
    sampi_node all = SAMPI_NEVER;
    for (int offset = 0; offset < DAY; offset += 15) {
        const int local = (offset + DAY - 1) % DAY,
                  other = DAY - 1 - local; /* the offset's number of minutes if it is - */
        char text[24];                     /* hh:mm:60 of the local time, then both offsets */
        const int numbers[3] = { local, offset, other };
        for (int i = 0; i < 3; i++) {
            char *at = text + (i ? 2 + 6 * i : 0);
            const int hour = numbers[i] / 60, minute = numbers[i] % 60;
            const char digits[5] = { (char)('0' + hour / 10), (char)('0' + hour % 10), ':', (char)('0' + minute / 10),
                                     (char)('0' + minute % 10) };
            if (i) *at++ = i == 1 ? '+' : '-';
            memcpy(at, digits, sizeof digits);
        }
        memcpy(text + 5, ":60", 3);
        sampi_node zone = sampi_tree_alt(t, sampi_tree_text(t, text + 8, 6), sampi_tree_text(t, text + 14, 6));
        if (offset == 0) zone = sampi_tree_alt(t, sampi_tree_class(t, zulu, 2, false), zone);
        zone = sampi_tree_seq(t, sampi_tree_text(t, text, 8), sampi_tree_seq(t, behind, zone));
        all = sampi_tree_alt(t, zone, all);
    }
    return all;
}

/* Returns the node of the strings that one line of the table of formats allows. before: NULL, or the regular expression
   of what comes before a time; with `leap` the time may be a leap second. */
static SAMPI_COLD sampi_node sampi_schema_format_line(sampi_schema *x, int32_t node, const char *before,
                                                      const char *text, bool leap)
{
    samp_grammar_error error;
    if (!before) return sampi_schema_regex(x, node, text, strlen(text), false);
    const sampi_node front = sampi_tree_regex(x->tree, before, strlen(before), false, sampi_tree_class, &error);
    sampi_node time = sampi_tree_regex(x->tree, text, strlen(text), false, sampi_tree_class, &error);
    if (leap) time = sampi_tree_alt(x->tree, sampi_schema_leap_seconds(x), time);
    return sampi_schema_in_quotes(x, sampi_tree_seq(x->tree, front, time));
}

/* Returns the set of strings that have a format; with `over`, the format's upper bound. A format that is not in the
   table allows every string, as the standard requires. */
static SAMPI_COLD sampi_texts sampi_schema_format(sampi_schema *x, int32_t node, bool over)
{
    static const struct {
        const char *name, *lower, *upper, *before; /* lower: NULL if the format is not supported */
    } formats[] = {
        { "time", SAMPI_RE_CLOCK "[0-5]\\d" SAMPI_RE_ZONE, SAMPI_RE_CLOCK "([0-5]\\d|60)" SAMPI_RE_ZONE, "" },
        { "date-time", SAMPI_RE_CLOCK "[0-5]\\d" SAMPI_RE_ZONE, SAMPI_RE_CLOCK "([0-5]\\d|60)" SAMPI_RE_ZONE,
          SAMPI_RE_DATE "[Tt]" },
        { "date", SAMPI_RE_DATE, NULL, NULL },
        { "duration",
          "P(\\d+W|(" SAMPI_RE_DAYS "|" SAMPI_RE_MONTHS "|\\d+Y(" SAMPI_RE_MONTHS ")?)(" SAMPI_RE_CLOCKS
          ")?|" SAMPI_RE_CLOCKS ")",
          NULL, NULL },
        { "uuid", "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", NULL, NULL },
        { "ipv4", SAMPI_RE_IPV4, NULL, NULL },
        { "ipv6", SAMPI_RE_IPV6, NULL, NULL },
        { "email", SAMPI_RE_EMAIL(""), "[^]*@[^]*", NULL },
        { "idn-email", SAMPI_RE_EMAIL("\xc2\x80-\xf4\x8f\xbf\xbf"), "[^]*@[^]*", NULL },
        { "hostname", SAMPI_RE_HOST, NULL, NULL },
        { "hostname", "[^]{1,253}", NULL, NULL },
        { "uri", SAMPI_RE_URI("", ""), NULL, NULL },
        { "uri-reference", SAMPI_RE_REFERENCE("", ""), NULL, NULL },
        { "iri", SAMPI_RE_URI(SAMPI_RE_UCS, SAMPI_RE_PRIVATE), NULL, NULL },
        { "iri-reference", SAMPI_RE_REFERENCE(SAMPI_RE_UCS, SAMPI_RE_PRIVATE), NULL, NULL },
        { "uri-template", SAMPI_RE_TEMPLATE(""), SAMPI_RE_TEMPLATE("=,!@|"), NULL },
        { "json-pointer", SAMPI_RE_POINTER, NULL, NULL },
        { "relative-json-pointer", "(0|[1-9]\\d*)(#|" SAMPI_RE_POINTER ")",
          "(0|[1-9]\\d*)([+-][1-9]\\d*)?(#|" SAMPI_RE_POINTER ")", NULL },
        { "regex", SAMPI_RE_X("|\\((\\?:)?" SAMPI_RE_X2 "\\)"), "([^*+?)][^]*)?", NULL },
        { "idn-hostname", NULL, NULL, NULL },
    };
    size_t n;
    sampi_texts all = sampi_texts_any();
    const char *name = sampi_schema_doc_text(x, sampi_schema_doc(x, node)->text, &n);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strlen(formats[i].name) != n || memcmp(formats[i].name, name, n)) continue;
        const bool upper = over && formats[i].upper;
        const char *text = upper ? formats[i].upper : formats[i].lower;
        if (!text) sampi_schema_refuse(x, node, "this format is not supported");
        if (x->status) break;
        sampi_node *made = &x->formats[upper][i];
        if (!*made) *made = sampi_schema_format_line(x, node, formats[i].before, text, !upper);
        all = sampi_texts_and(x, all, sampi_texts_some(x, *made), true);
    }
    return all;
}

/* Returns the node of a pair of brackets around `inside`, with white space at both ends; in a style, without the
   brackets. */
static SAMPI_COLD sampi_node sampi_schema_bracket(sampi_schema *x, const char *open, sampi_node inside,
                                                  const char *close)
{
    sampi_tree *t = x->tree;
    if (x->raw) return sampi_tree_seq(t, x->space, sampi_tree_seq(t, inside, x->space));
    sampi_node end = sampi_tree_seq(t, x->space, sampi_tree_text(t, close, 1));
    return sampi_tree_seq(t, sampi_tree_text(t, open, 1),
                          sampi_tree_seq(t, x->space, sampi_tree_seq(t, inside, end)));
}

/* Makes the deriver, which computes derivatives in the schema's tree. All uses for one document share its limit of
   steps, so that no document takes more than a second. Returns false if there is no memory. */
static SAMPI_COLD bool sampi_schema_deriver(sampi_schema *x)
{
    sampi_deriver *d = &x->deriver;
    if (d->memo) return true;
    d->account.most = SIZE_MAX;
    d->budget = SAMPI_SCHEMA_DERIVED;
    for (int32_t i = 0; i < 256; i++) x->bytes.class_of[i] = x->bytes.byte_of[i] = (uint8_t)i;
    memset(x->bytes.firsts, 0xff, sizeof x->bytes.firsts);
    x->bytes.n_classes = 256;
    d->bytes = &x->bytes;
    return sampi_grammar_memo_make(d);
}

/* Returns the node of what follows a text (a TEXT node) in the texts of a regular node that begin with it: computes the
   derivatives by the text's bytes one after the other. New nodes are added to the schema's tree. */
static SAMPI_COLD sampi_node sampi_schema_behind(sampi_schema *x, sampi_node node, sampi_node text)
{
    sampi_deriver *d = &x->deriver;
    sampi_schema_check(x, node < 0 ? node : text);
    if (!x->status && !sampi_schema_deriver(x)) sampi_schema_check(x, SAMP_E_NOMEM);
    if (x->status) return SAMPI_NEVER;
    const sampi_expr e = *sampi_grammar_at(x->tree, text);
    d->tree = *x->tree; /* the deriver works on a copy of the tree's struct, and may make the tree grow */
    for (int32_t i = 0; i < e.b && node != SAMPI_NEVER; i++)
        node = sampi_grammar_derive(d, node, sampi_grammar_bytes_at(&d->tree, e.a)[i]);
    *x->tree = d->tree;
    sampi_schema_check(x, d->status == SAMP_E_FULL ? (int)SAMP_E_RANGE : d->status);
    return x->status ? SAMPI_NEVER : node;
}

/* Returns whether a regular node matches a text (a TEXT node). */
static SAMPI_COLD bool sampi_schema_matches(sampi_schema *x, sampi_node node, sampi_node text)
{
    const sampi_node behind = sampi_schema_behind(x, node, text);
    return sampi_grammar_at(x->tree, behind)->facts & SAMPI_FACT_EMPTY;
}

/* Returns whether a regular node matches any text. The answer is also true if the search takes more than `patience`
   steps. All searches together may take half of the deriver's steps. */
static SAMPI_COLD bool sampi_schema_alive(sampi_schema *x, sampi_node node, int64_t patience)
{
    sampi_deriver *d = &x->deriver;
    sampi_schema_check(x, node);
    if (!x->status && !sampi_schema_deriver(x)) sampi_schema_check(x, SAMP_E_NOMEM);
    if (x->status) return false;
    const int64_t spare = d->budget - SAMPI_SCHEMA_DERIVED / 2, most = spare < patience ? spare : patience;
    if (spare <= 0) return true;
    d->tree = *x->tree;
    d->budget = most;
    bool alive = sampi_grammar_matches_any(d, node);
    *x->tree = d->tree;
    d->budget = spare + SAMPI_SCHEMA_DERIVED / 2 - (most - d->budget);
    if (d->status == SAMP_E_FULL) {
        d->status = SAMP_OK;
        d->work.n = 0;
        alive = true;
    }
    sampi_schema_check(x, d->status);
    return alive;
}

/* A node that sampi_schema_n_texts has reached, and by how many texts. */
typedef struct sampi_counted_node {
    sampi_node node;
    int32_t n;
} sampi_counted_node;

/* Adds n texts that lead to a node to those of one length. */
static SAMPI_COLD void sampi_schema_count_node(sampi_schema *x, sampi_vec *reached, sampi_node node, int32_t n)
{
    sampi_counted_node *at = (sampi_counted_node *)reached->data;
    int32_t i = 0;
    while (i < reached->n && at[i].node != node) i++;
    (void)sampi_schema_work(x, SAMPI_HERE, (size_t)i / 8 + 1);
    if (i == reached->n) {
        at = (sampi_counted_node *)sampi_grammar_vec_add(reached, sizeof *at, 1); /* the new last one */
        if (!at) {
            sampi_schema_check(x, SAMP_E_NOMEM);
            return;
        }
        at->node = node;
        at->n = 0;
        i = 0;
    }
    at[i].n += n;
}

/* Returns how many texts a regular node has, or `most` if it has more. Derivatives are deterministic, so each text
   leads to one node: the nodes behind texts of one byte, of two bytes and so on are counted. */
static SAMPI_COLD int32_t sampi_schema_n_texts(sampi_schema *x, sampi_node node, int32_t most)
{
    sampi_deriver *d = &x->deriver;
    sampi_vec now, behind;
    int32_t n = 0;
    memset(&now, 0, sizeof now);
    memset(&behind, 0, sizeof behind);
    sampi_schema_check(x, node);
    if (!x->status && !sampi_schema_deriver(x)) sampi_schema_check(x, SAMP_E_NOMEM);
    if (!x->status && node != SAMPI_NEVER) sampi_schema_count_node(x, &now, node, 1);
    d->tree = *x->tree;
    while (now.n > 0 && n < most && !x->status) {
        for (int32_t i = 0; i < now.n && n < most && !d->status; i++) {
            const sampi_counted_node at = ((const sampi_counted_node *)now.data)[i];
            uint8_t first[256];
            int32_t size[256] = { 0 };
            if (sampi_grammar_at(&d->tree, at.node)->facts & SAMPI_FACT_EMPTY) n += at.n;
            sampi_grammar_find_byte_kinds(d, at.node, first);
            for (int32_t c = 0; c < 256; c++) size[first[c]]++;
            for (int32_t c = 0; c < 256 && !d->status; c++) {
                const sampi_node next = size[c] ? sampi_grammar_derive(d, at.node, c) : (sampi_node)SAMPI_NEVER;
                if (next == SAMPI_NEVER || !sampi_grammar_matches_any(d, next)) continue;
                sampi_schema_count_node(x, &behind, next, at.n < most ? at.n * size[c] : most);
            }
        }
        const sampi_vec done = now;
        now = behind;
        behind = done;
        behind.n = 0;
        sampi_schema_check(x, d->status == SAMP_E_FULL ? (int)SAMP_E_RANGE : d->status);
    }
    *x->tree = d->tree;
    sampi_grammar_vec_free(&now);
    sampi_grammar_vec_free(&behind);
    return n < most ? n : most;
}
