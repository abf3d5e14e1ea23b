/* ================================================================================================ >>settings
   samp_settings holds samp_params whose members are set by name: a name and a text set a member, and a member's value
   can be read as text. Members are found in the tables of fields, so a new field can be set as soon as it has a row.
   Functions on settings check the form of a text; samp_check_params checks the value. This file has the struct and
   reads numbers; config/set.h, config/texts.h and config/settings.h follow.

   Settings own everything that the members of their parameters point to, one block of memory each, except a vocabulary
   that the caller has lent (samp_settings_use_vocab). */

/* What ends the text of a request (peers/stops.h): strings and patterns that end it, each list as dry_breakers has it,
   and tokens. samp_text_from_settings reads it. */
typedef struct sampi_stops {
    const char **strings, **patterns; /* or NULL */
    samp_token *tokens;               /* [n_tokens], or NULL */
    size_t n_tokens;
    int32_t min_tokens;
    bool include_stop, ignores_ends;
} sampi_stops;

struct samp_settings {
    samp_params params;
    samp_vocab vocab;  /* the vocabulary that samp_settings_set_vocab copies; params.vocab points to it then */
    bool knows_length; /* n_ctx_train was set */
    char word[64];     /* of the last error: "order: ", and the word that names no sampler in quotes */
    sampi_stops stops;
};

/* ---- reading numbers ----
   The library reads numbers itself, because strtof and strtol depend on the locale and accept blanks and hexadecimals.
   Each function moves *text to the character after the number; the caller checks what follows. A number that is too
   large is read to its end, because a wrong form (SAMP_E_FORMAT) is reported before a wrong value (SAMP_E_RANGE). */

static SAMPI_COLD bool sampi_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads an optional sign. Returns true if it is '-'. */
static bool sampi_read_sign(const char **text)
{
    bool negative = **text == '-';
    *text += negative || **text == '+';
    return negative;
}

/* Reads a number of at least one digit, at most `most`. */
static SAMPI_COLD int sampi_read_digits(const char **text, uint64_t most, uint64_t *out)
{
    int status = sampi_is_digit(**text) ? SAMP_OK : SAMP_E_FORMAT;
    for (*out = 0; sampi_is_digit(**text); ++*text) {
        uint64_t digit = (uint64_t)(**text - '0');
        if (digit > most || *out > (most - digit) / 10) status = SAMP_E_RANGE;
        *out = 10 * *out + digit;
    }
    return status;
}

/* Reads a text that is an integer from -least to most and nothing else. *out gets the integer in two's complement; on
   an error *out is unchanged. */
static SAMPI_COLD int sampi_read_integer(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    uint64_t n;
    bool negative = sampi_read_sign(&text);
    int status = sampi_read_digits(&text, negative ? least : most, &n);
    if (*text) return SAMP_E_FORMAT;
    if (!status) *out = negative ? 0 - n : n;
    return status;
}

/* A decimal number as it is written. Its first digits are exact: whole * 10^power if they fit, as nearly all do, else
   x * 10^power, where x is a fixed-point number of 16-bit words, the lowest first, SAMPI_FRACTION of them behind the
   point. `rest` is not 0 if more digits follow that are not
   all 0: it only breaks ties. A value half way between two floats has at most 112 digits, so a float is the nearest one
   always; a double is for numbers of at most 300 digits. */
enum { SAMPI_FRACTION = 68, SAMPI_WORDS = 136, SAMPI_KEPT_DIGITS = 300 };
typedef struct sampi_written {
    uint16_t x[SAMPI_WORDS];
    uint32_t rest;
    int64_t power, n; /* n: the kept digits, from the first that is not 0 */
    uint64_t whole;   /* the digits as an integer, if it `fits`; x is not set then */
    bool negative, fits;
    bool plain; /* written without a point and without an exponent */
} sampi_written;

/* Sets x = 10 x + digit. x must not have a fraction. */
static SAMPI_COLD void sampi_written_grow(uint16_t *x, uint32_t digit)
{
    for (int i = SAMPI_FRACTION; i < SAMPI_WORDS; i++, digit >>= 16) {
        digit += 10 * (uint32_t)x[i];
        x[i] = (uint16_t)digit;
    }
}

/* Sets x = x / 10, rounded down, and returns the remainder. Dividing several times gives the same as one division by
   the power of ten, rounded down. */
static SAMPI_COLD uint32_t sampi_written_shrink(uint16_t *x)
{
    uint32_t carry = 0;
    for (int i = SAMPI_WORDS - 1; i >= 0; i--) {
        carry = carry << 16 | x[i];
        x[i] = (uint16_t)(carry / 10);
        carry %= 10;
    }
    return carry;
}

/* Sets x to the digits that fit. */
static SAMPI_COLD void sampi_written_widen(sampi_written *w)
{
    for (int i = 0; i < 4; i++) w->x[SAMPI_FRACTION + i] = (uint16_t)(w->whole >> 16 * i);
}

/* Reads a decimal number with an optional sign, point and power of ten, as far as it goes. Returns the character behind
   it, or NULL if there is no number. */
static SAMPI_COLD const char *sampi_read_written(const char *t, const char *end, sampi_written *w)
{
    int64_t power = 0;
    bool point = false, any = false, down = false;
    memset(w, 0, sizeof *w);
    w->fits = true;
    if (t < end && (*t == '-' || *t == '+')) w->negative = *t++ == '-';
    for (; t < end && (sampi_is_digit(*t) || (*t == '.' && !point)); t++) {
        const uint32_t digit = (uint32_t)(*t - '0');
        const bool keeps = w->n < SAMPI_KEPT_DIGITS;
        if (*t == '.') {
            point = true;
            continue;
        }
        any = true;
        if (w->fits && w->whole > (UINT64_MAX - digit) / 10) {
            sampi_written_widen(w);
            w->fits = false;
        }
        if (w->fits)
            w->whole = 10 * w->whole + digit;
        else if (keeps)
            sampi_written_grow(w->x, digit);
        else
            w->rest |= digit;
        w->n += keeps && (w->n || digit);
        w->power += !keeps - point;
    }
    w->plain = !point;
    if (any && t < end && (*t | 0x20) == 'e') {
        w->plain = any = false;
        t++;
        if (t < end && (*t == '-' || *t == '+')) down = *t++ == '-';
        for (; t < end && sampi_is_digit(*t); t++, any = true)
            if (power < (int64_t)1 << 40) power = 10 * power + (*t - '0');
        w->power += down ? -power : power;
    }
    return any ? t : NULL;
}

/* Returns the number without its sign. If `bits` is 63, the nearest double, ties to even; infinity if it is too large,
   DBL_MIN below 2^-959, 0 below 2^-1075. If `bits` is 53, the number is cut after 53 bits, and the last of them is set
   if anything below is not 0: a double has more bits than a float, so its conversion to float rounds as the number
   itself would, also to a subnormal. */
static SAMPI_COLD double sampi_written_value(sampi_written *w, int bits)
{
    int top = 16 * SAMPI_WORDS - 1;
    uint64_t leading = 0;
    if (w->n == 0 || w->power + w->n < -330) return 0.0;
    if (w->power + w->n > 310) return (double)INFINITY;
    if (w->fits && w->whole >> 53 == 0 && bits == 63 && w->power >= -22 && w->power <= 22) {
        double ten = 1.0; /* to 10^22 powers of ten are exact doubles, so one operation rounds right */
        for (int64_t i = w->power < 0 ? -w->power : w->power; i > 0; i--) ten *= 10.0;
        return w->power < 0 ? (double)w->whole / ten : (double)w->whole * ten;
    }
    if (w->fits) sampi_written_widen(w);
    for (; w->power < 0; w->power++) w->rest |= sampi_written_shrink(w->x);
    for (; w->power > 0; w->power--) sampi_written_grow(w->x, 0);
    while (top >= 0 && !(w->x[top / 16] >> top % 16 & 1)) top--;
    if (top - 16 * SAMPI_FRACTION < -1075) return 0.0;
    if (top - 16 * SAMPI_FRACTION < -959) return DBL_MIN;
    if (top - 16 * SAMPI_FRACTION > 1023) return (double)INFINITY;
    for (int i = top; i >= 0; i--) {
        const uint32_t bit = w->x[i / 16] >> i % 16 & 1;
        if (i > top - bits)
            leading = leading << 1 | bit;
        else
            w->rest |= bit;
    }
    const int lowest = top - bits + 1 - 16 * SAMPI_FRACTION; /* the power of two of the last bit */
    return (double)(leading | (w->rest != 0)) * sampi_from_bits((uint64_t)(1023 + lowest) << 52);
}

/* Reads a float. A number that is not 0 but rounds to 0 gives SAMP_E_RANGE. */
static SAMPI_COLD int sampi_read_float(const char **text, float *out)
{
    sampi_written w;
    const char *end = sampi_read_written(*text, *text + strlen(*text), &w);
    if (!end) return SAMP_E_FORMAT;
    *text = end;
    const float value = (float)sampi_written_value(&w, 53);
    if ((w.n && value == 0.0f) || value > FLT_MAX) return SAMP_E_RANGE;
    *out = w.negative ? -value : value;
    return SAMP_OK;
}
