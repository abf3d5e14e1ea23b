/* ---- schemas: numbers ----
   Bounds and multipleOf become sets of texts: all decimals that are at least, or at most, a given number, compared
   digit by digit. For example, minimum 25 becomes "25 to 29, or 30 to 99, or three digits or more", with fractions as
   JSON writes them. */

enum { SAMPI_PLACES = 24 }; /* the most decimal places of a fraction with an end: any double has fewer */

/* A decimal number: 0.d1 d2 d3 ... times 10 to the power of `point`, with n digits. The first and the last digit are
   not 0. The number zero has no digits. */
typedef struct sampi_decimal {
    bool negative;
    int32_t n, point;
    char d[400];
} sampi_decimal;

/* Reads a string of the document as a decimal number. Returns false if it has more than 400 digits, or if the exponent
   puts the point further away than that. The function records no error. */
static SAMPI_COLD bool sampi_decimal_of(const sampi_schema *x, int32_t string, sampi_decimal *d)
{
    size_t n, i = 0;
    const char *text = sampi_schema_doc_text(x, string, &n);
    int32_t exponent = 0;
    bool behind = false;
    d->n = d->point = 0;
    d->negative = text[0] == '-';
    for (i = d->negative; i < n && (text[i] | 0x20) != 'e'; i++) {
        if (text[i] == '.')
            behind = true;
        else if (d->n > 0 || text[i] != '0') {
            if (d->n == (int32_t)sizeof d->d) return false;
            d->d[d->n++] = text[i];
            d->point += !behind;
        } else
            d->point -= behind;
    }
    bool minus = i + 1 < n && text[i + 1] == '-';
    for (i++; i < n; i++)
        if (text[i] >= '0' && text[i] <= '9' && exponent < 100000) exponent = exponent * 10 + (text[i] - '0');
    while (d->n > 0 && d->d[d->n - 1] == '0') d->n--;
    d->point = d->n ? d->point + (minus ? -exponent : exponent) : 0;
    if (d->n == 0) d->negative = false;
    return d->point <= (int32_t)sizeof d->d && d->point >= -(int32_t)sizeof d->d;
}

/* Reads the decimal number at a node, as sampi_decimal_of does. */
static SAMPI_COLD bool sampi_decimal_read(const sampi_schema *x, int32_t node, sampi_decimal *d)
{
    return sampi_decimal_of(x, sampi_schema_doc(x, node)->text, d);
}

static SAMPI_COLD bool sampi_decimal_same(const sampi_decimal *a, const sampi_decimal *b)
{
    return a->negative == b->negative && a->n == b->n && a->point == b->point && !memcmp(a->d, b->d, (size_t)a->n);
}

static SAMPI_COLD void sampi_schema_decimal(sampi_schema *x, int32_t node, sampi_decimal *d)
{
    d->n = d->point = 0;
    d->negative = false;
    if (!sampi_decimal_read(x, node, d)) sampi_schema_fail(x, node, SAMP_E_RANGE, "this number has too many digits");
}

/* Returns the value of a keyword that is a count (maxItems and so on): a whole number of 0 or more, in any spelling. If
   the schema does not have the keyword, returns `absent`. A value of INT32_MAX or more is larger than any text: as a
   maximum it becomes INT32_MAX, which means no bound; as a minimum (absent = 0) it is an error. */
static SAMPI_COLD int32_t sampi_schema_count(sampi_schema *x, int32_t schema, sampi_schema_key key, int32_t absent)
{
    int32_t node = sampi_schema_keyword(x, schema, key);
    if (node < 0) return absent;
    sampi_decimal d;
    const bool read = sampi_decimal_read(x, node, &d);
    if (!read && d.n == (int32_t)sizeof d.d) return sampi_schema_decimal(x, node, &d), absent;
    if (d.negative || d.n > d.point)
        return sampi_schema_malformed(x, node, "expected a whole number, not negative"), absent;
    int64_t value = 0;
    for (int32_t i = 0; i < d.point && value < INT32_MAX; i++) value = value * 10 + (i < d.n ? d.d[i] - '0' : 0);
    if (value < INT32_MAX) return (int32_t)value;
    if (absent == 0) sampi_schema_fail(x, node, SAMP_E_RANGE, "this bound is too large");
    return INT32_MAX;
}

/* The digits of a number that is written without an exponent: how many are before the point (at least 1), how many
   behind it (as few as possible), and digit i. */
static int32_t sampi_decimal_whole(const sampi_decimal *d) { return d->point > 1 ? d->point : 1; }
static int32_t sampi_decimal_tail(const sampi_decimal *d) { return d->n > d->point ? d->n - d->point : 0; }
static int sampi_decimal_digit(const sampi_decimal *d, int32_t i) /* i = 0 is the first digit */
{
    i += d->point - sampi_decimal_whole(d);
    return i >= 0 && i < d->n ? d->d[i] : '0';
}

/* Returns whether the numbers of the sets that are made now have only plain spellings. */
static bool sampi_schema_is_plain(const sampi_schema *x) { return !x->words.any_number && !x->over; }

/* Returns the node of all numbers without an exponent. */
static sampi_node sampi_schema_plain(const sampi_schema *x)
{
    return sampi_schema_is_plain(x) ? x->ended_plain : x->plain;
}

static SAMPI_COLD sampi_node sampi_schema_optional(sampi_tree *t, sampi_node a)
{
    return sampi_tree_repeat(t, a, 0, 1);
}

/* Returns the node of at least `least` and at most `most` digits (-1: any number), each from a to b. */
static SAMPI_COLD sampi_node sampi_schema_digits(sampi_tree *t, int a, int b, int32_t least, int32_t most)
{
    return a > b ? (sampi_node)SAMPI_NEVER
                 : sampi_tree_repeat(t, sampi_tree_byte(t, (uint32_t)a, (uint32_t)b), least, most);
}

/* Returns the node of texts of digits that are compared with the n digits of d from index `first` on. If all digits are
   equal, `same` must follow. At the first digit that is larger, any digits fill the remaining positions and then
   `larger` follows; with any_tail `larger` follows that digit directly. */
static SAMPI_COLD sampi_node sampi_schema_from_digits(sampi_tree *t, const sampi_decimal *d, int32_t first, int32_t n,
                                                      sampi_node same, sampi_node larger, bool any_tail)
{
    for (int32_t i = n; i-- > 0;) {
        int digit = sampi_decimal_digit(d, first + i);
        sampi_node rest = any_tail
                              ? larger
                              : sampi_tree_seq(t, sampi_schema_digits(t, '0', '9', n - 1 - i, n - 1 - i), larger);
        same = sampi_tree_alt(t, sampi_tree_seq(t, sampi_schema_digits(t, digit, digit, 1, 1), same),
                              sampi_tree_seq(t, sampi_schema_digits(t, digit + 1, '9', 1, 1), rest));
    }
    return same;
}

/* Returns the node of the numbers without a sign that are at least |d|, or, with `strict`, greater than |d|. With
   `ends`, fractions have an end. */
static SAMPI_COLD sampi_node sampi_schema_above(const sampi_schema *x, const sampi_decimal *d, bool strict, bool ends)
{
    sampi_tree *t = x->tree;
    const int32_t whole = sampi_decimal_whole(d), tail = sampi_decimal_tail(d), most = ends ? SAMPI_PLACES : -1;
    const sampi_node fraction = ends ? x->ended : x->fraction;
    sampi_node zeros = sampi_schema_digits(t, '0', '0', 0, most), any = sampi_schema_digits(t, '0', '9', 0, most);
    sampi_node more = sampi_tree_seq(t, zeros, sampi_tree_seq(t, sampi_schema_digits(t, '1', '9', 1, 1), any));
    sampi_node behind = strict ? more : any, point = sampi_tree_text(t, ".", 1);
    behind = sampi_schema_from_digits(t, d, whole, tail, behind, any, true);
    if (tail == 0 && !strict)
        behind = fraction;
    else
        behind = sampi_tree_seq(t, point, behind);
    sampi_node same = sampi_schema_from_digits(t, d, 0, whole, behind, fraction, false);
    sampi_node longer = sampi_tree_seq(t, sampi_schema_digits(t, '1', '9', 1, 1),
                                       sampi_schema_digits(t, '0', '9', whole, -1));
    return sampi_tree_alt(t, same, sampi_tree_seq(t, longer, fraction));
}

/* Returns the node of the texts of `all` that are not texts of a. All texts of `all` must be valid UTF-8. */
static SAMPI_COLD sampi_node sampi_schema_except(sampi_tree *t, sampi_node all, sampi_node a)
{
    return sampi_tree_and(t, all, a < 0 ? a : sampi_tree_node(t, SAMPI_NODE_NOT, a, 0, 0));
}

static SAMPI_COLD sampi_node sampi_schema_negative(sampi_tree *t, sampi_node a)
{
    return sampi_tree_seq(t, sampi_tree_text(t, "-", 1), a);
}

/* Returns the node of the numbers that are at least d, or, with `strict`, greater than d. */
static SAMPI_COLD sampi_node sampi_schema_at_least(const sampi_schema *x, const sampi_decimal *d, bool strict)
{
    sampi_tree *t = x->tree;
    const bool ends = sampi_schema_is_plain(x);
    if (d->n > 0 && !d->negative) return sampi_schema_above(x, d, strict, ends);
    if (d->n == 0 && strict) return sampi_schema_above(x, d, true, ends);
    const sampi_node all = ends ? sampi_tree_seq(t, x->digits, x->ended) : x->magnitude;
    sampi_node small = sampi_schema_except(t, all, sampi_schema_above(x, d, !strict, false));
    return sampi_tree_alt(t, all, sampi_schema_negative(t, small));
}

/* Returns the node of the spellings that the grammar allows for the number at `node`: without an exponent, 0 also as
   -0; if spellings need not be plain, with any number of zeros at the end of the fraction. */
static SAMPI_COLD sampi_node sampi_schema_exactly(const sampi_schema *x, int32_t node)
{
    sampi_tree *t = x->tree;
    sampi_decimal d;
    if (!sampi_decimal_read(x, node, &d)) return SAMP_E_RANGE;
    char text[2 * sizeof d.d + 4];
    size_t n = 0, whole = (size_t)sampi_decimal_whole(&d), tail = (size_t)sampi_decimal_tail(&d);
    for (size_t i = 0; i < whole + tail; i++) {
        if (i == whole) text[n++] = '.';
        text[n++] = (char)sampi_decimal_digit(&d, (int32_t)i);
    }
    sampi_node number = sampi_tree_text(t, text, n);
    if (!sampi_schema_is_plain(x)) {
        sampi_node zeros = sampi_schema_digits(t, '0', '0', tail ? 0 : 1, -1);
        if (tail == 0) zeros = sampi_schema_optional(t, sampi_tree_seq(t, sampi_tree_text(t, ".", 1), zeros));
        number = sampi_tree_seq(t, number, zeros);
    }
    if (d.n == 0) return sampi_tree_seq(t, sampi_schema_optional(t, sampi_tree_text(t, "-", 1)), number);
    return d.negative ? sampi_schema_negative(t, number) : number;
}

/* Returns the node of the whole numbers. In draft 4, 1.0 is not a whole number. */
static SAMPI_COLD sampi_node sampi_schema_whole(const sampi_schema *x)
{
    sampi_tree *t = x->tree;
    sampi_node sign = sampi_schema_optional(t, sampi_tree_text(t, "-", 1));
    sampi_node whole = sampi_tree_seq(t, sign, x->digits);
    if (x->draft == 4 || sampi_schema_is_plain(x)) return whole;
    sampi_node point = sampi_tree_seq(t, sampi_tree_text(t, ".", 1), sampi_schema_digits(t, '0', '0', 1, -1));
    return sampi_tree_seq(t, whole, sampi_schema_optional(t, point));
}

/* Returns the node of the multiples of the number at `node`, m * 10^e: a MULTIPLE node keeps the remainder of the
   digits modulo m. If e is positive, e zeros follow. */
static SAMPI_COLD sampi_node sampi_schema_multiples(sampi_schema *x, int32_t node)
{
    sampi_tree *t = x->tree;
    sampi_decimal d;
    sampi_schema_decimal(x, node, &d);
    if (d.n == 0 || d.negative) return sampi_schema_malformed(x, node, "expected a number above 0"), SAMPI_NEVER;
    if (d.n > 4) return sampi_schema_refuse(x, node, "only multiples of what has at most four digits"), SAMPI_NEVER;
    int32_t m = 0, e = d.point - d.n;
    for (int32_t i = 0; i < d.n; i++) m = m * 10 + (d.d[i] - '0');
    sampi_node all = sampi_tree_multiple(t, m, e < 0 ? -e : 0, sampi_schema_is_plain(x));
    if (e > 0) {
        sampi_node zeros = sampi_tree_seq(t, sampi_tree_text(t, ".", 1), sampi_schema_digits(t, '0', '0', 1, -1));
        all = sampi_tree_seq(t, all, sampi_schema_digits(t, '0', '0', e, e));
        all = sampi_tree_and(t, x->digits, sampi_tree_alt(t, sampi_tree_text(t, "0", 1), all));
        if (!sampi_schema_is_plain(x)) all = sampi_tree_seq(t, all, sampi_schema_optional(t, zeros));
    }
    return sampi_tree_seq(t, sampi_schema_optional(t, sampi_tree_text(t, "-", 1)), all);
}
