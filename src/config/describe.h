/* =============================================================================================== >>describe
   Samplers as text (samp_describe). Names and fields come from the tables (core/table.h, core/fields.h), so a new
   sampler needs no code here. These functions read samplers and write only to the caller's buffer. config/texts.h and
   the GPU's samp_gpu_plan call them too.

   These functions do not use printf: the text must not depend on a locale, and the header does not need stdio. */

/* A text in the buffer buf [size]. Characters beyond the buffer are counted in len but not written. The last byte is
   kept for the final 0, which sampi_end_text writes. If size is 0, nothing is written. */
typedef struct sampi_text {
    char *buf;
    size_t size, len;
} sampi_text;

/* Appends a character, or only counts it if the buffer is full. All text goes through this function. */
static SAMPI_COLD void sampi_put_char(sampi_text *t, char c)
{
    if (t->len + 1 < t->size) t->buf[t->len] = c;
    t->len++;
}

/* Appends a string. Each of the sampi_put functions appends one value to a text. */
static SAMPI_COLD void sampi_put(sampi_text *t, const char *text)
{
    while (*text) sampi_put_char(t, *text++);
}

/* Appends an unsigned integer. Its digits are computed from the last to the first, so they are reversed. 2^64 has 20
   digits. */
static SAMPI_COLD void sampi_put_u64(sampi_text *t, uint64_t x)
{
    char digit[20];
    int n = 0;
    do digit[n++] = (char)('0' + x % 10);
    while (x /= 10);
    while (n > 0) sampi_put_char(t, digit[--n]);
}

/* Appends a signed integer. The negation is done on an unsigned number, so that INT64_MIN is right too. */
static SAMPI_COLD void sampi_put_i64(sampi_text *t, int64_t x)
{
    if (x < 0) sampi_put_char(t, '-');
    sampi_put_u64(t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

/* Appends a float with `places` significant digits (6 .. 9); with six, the text is that of printf's %g. The value is m
   * 2^e with an integer m. For e > 0 its decimal digits are those of m doubled e times. For e < 0 they are those of m *
   5^-e, with the decimal point moved. So all digits are exact, and the only rounding is to `places` digits, ties to
   even. */
static SAMPI_COLD void sampi_put_digits(sampi_text *t, float value, uint32_t places)
{
    uint32_t bits, digits = 0, shown = places, end = 1;
    memcpy(&bits, &value, 4);
    if (value < 0.0f) sampi_put_char(t, '-');
    if (!(fabsf(value) > 0.0f) || fabsf(value) > FLT_MAX) {
        sampi_put(t, fabsf(value) > FLT_MAX ? "inf" : value == 0.0f ? "0" : "nan");
        return;
    }
    uint32_t m = bits & 0x7fffff, biased = bits >> 23 & 255;
    int e = (int)(biased ? biased : 1) - 150, n = 0, exponent;
    uint8_t decimal[112]; /* the last digit comes first; 2^24 * 5^149 has 112 digits */
    for (m |= biased ? 0x800000 : 0; m; m /= 10) decimal[n++] = (uint8_t)(m % 10);
    for (int k = e < 0 ? -e : e; k > 0; k--) {
        unsigned carry = 0;
        for (int i = 0; i < n; i++, carry /= 10)
            decimal[i] = (uint8_t)((carry += decimal[i] * (e < 0 ? 5u : 2u)) % 10);
        if (carry) decimal[n++] = (uint8_t)carry;
    }
    int cut = n - (int)places; /* the number of digits that are left out */
    bool above = false;        /* is any digit after the first one that is left out not 0? */
    for (int i = 0; i + 1 < cut; i++) above |= decimal[i] != 0;
    for (int i = n - 1; i >= cut; i--) digits = 10 * digits + (i >= 0 ? decimal[i] : 0u);
    if (cut > 0 && decimal[cut - 1] + (above || digits % 2) > 5) digits++;
    exponent = cut + (e < 0 ? e : 0); /* the value is digits * 10^exponent */
    for (uint32_t i = 0; i < places; i++) end *= 10;
    if (digits == end) digits /= 10, exponent++;
    int point = exponent + (int)places; /* the number of digits before the decimal point */
    bool scientific = point > 6 || point < -3;
    while (shown > 1 && digits % 10 == 0) digits /= 10, shown--;
    char place[9];
    for (int i = (int)shown - 1; i >= 0; i--, digits /= 10) place[i] = (char)('0' + digits % 10);
    int before = scientific ? 1 : point;
    if (before <= 0) sampi_put(t, "0.");
    for (int i = before; i < 0; i++) sampi_put_char(t, '0');
    for (int i = 0; i < (int)shown || i < before; i++) {
        if (i == before && i > 0) sampi_put_char(t, '.');
        sampi_put_char(t, i < (int)shown ? place[i] : '0');
    }
    if (!scientific) return;
    sampi_put_char(t, 'e');
    sampi_put_i64(t, point - 1);
}

/* Appends a sampler's fields in brackets, such as "(p=0.9, min_keep=2, seed=1)". The fields are in the table's order,
   without those that their flags leave out. The seed follows if the sampler draws. If there is nothing to write, there
   are no brackets. A sampler with an error must not be given, because its values mean nothing. */
static SAMPI_COLD void sampi_describe_fields(const sampi_sampler *s, sampi_text *t)
{
    const sampi_traits *traits = sampi_traits_of(s->kind);
    const char *between = "(";
    bool shown = false;
    for (size_t k = 0; k < traits->n_fields; k++) {
        const sampi_field *f = &traits->field[k];
        if (!f->label) continue;
        double x = sampi_field_value(s, f);
        if (!(f->how & SAMPI_IF_LAST))
            shown = f->type == SAMPI_SIZE ? x > 1.0 : !(f->how & SAMPI_IF_ABOVE_0) || x > 0.0;
        if (!shown) continue;
        sampi_put(t, between);
        sampi_put(t, f->label);
        sampi_put_char(t, '=');
        if (f->type == SAMPI_FLOAT)
            sampi_put_digits(t, (float)x, 6);
        else if (f->type == SAMPI_INT32)
            sampi_put_i64(t, (int64_t)x);
        else
            sampi_put_u64(t, *(const size_t *)(const void *)((const char *)s + f->at));
        between = ", ";
    }
    if (traits->stream) {
        sampi_put(t, between);
        sampi_put(t, "seed=");
        sampi_put_u64(t, s->seed);
        between = ", ";
    }
    if (between[0] == ',') sampi_put_char(t, ')');
}

/* Appends the text of one sampler, or of the members of a chain with " -> " between them. A chain in a chain is in
   brackets. A '?' before a name says that the sampler is off. A '!' says that it carries an error; then only the name
   is written, and samp_status has the error. */
static SAMPI_COLD void sampi_describe(const sampi_sampler *s, sampi_text *t)
{
    if (sampi_is_chain(s)) {
        for (int32_t i = 0; i < s->u.chain.n; i++) {
            if (i) sampi_put(t, " -> ");
            if (sampi_is_chain(s->u.chain.item[i])) sampi_put_char(t, '[');
            sampi_describe(s->u.chain.item[i], t);
            if (sampi_is_chain(s->u.chain.item[i])) sampi_put_char(t, ']');
        }
        return;
    }
    if (s->off) sampi_put_char(t, '?');
    if (s->status) sampi_put_char(t, '!');
    sampi_put(t, samp_name(&s->base));
    if (!s->status) sampi_describe_fields(s, t);
}

/* Ends a text: writes the final 0 and returns the whole text's length. */
static SAMPI_COLD int sampi_end_text(const sampi_text *t)
{
    if (t->size) t->buf[t->len < t->size ? t->len : t->size - 1] = 0;
    return (int)t->len;
}

/* The returned length is that of the whole text, even if the buffer is shorter. The text of an empty chain is
   "logits". */
SAMP_API SAMPI_COLD int samp_describe(const samp_sampler *s, char *buf, size_t size)
{
    sampi_text t = { buf, size, 0 };
    if (!s || (!buf && size)) return SAMP_E_NULL;
    sampi_put(&t, "logits");
    if (!sampi_is_chain((const sampi_sampler *)s) || ((const sampi_sampler *)s)->u.chain.n) sampi_put(&t, " -> ");
    sampi_describe((const sampi_sampler *)s, &t);
    return sampi_end_text(&t);
}

SAMP_API int samp_version(void) { return SAMP_VERSION; }

/* The texts come from the same list as the enum, so every status has one. A positive number is a count, such as
   samp_verify's, and not an error, so its text is "ok". */
SAMP_API SAMPI_COLD const char *samp_strerror(int status)
{
    switch (status) {
#define SAMPI_STATUS_TEXT(name, value, text) \
    case value: return text;
        SAMP_STATUS_LIST(SAMPI_STATUS_TEXT)
#undef SAMPI_STATUS_TEXT
        default: return status > 0 ? "ok" : "unknown status";
    }
}
