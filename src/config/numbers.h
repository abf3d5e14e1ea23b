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

/* An exact decimal is stored as a fixed-point number x of 16-bit words, the lowest first, SAMPI_FRACTION of them behind
   the point, and `rest`, which says whether anything below the lowest word is not 0. A value half way between two
   floats has at most 112 significant digits. x has memory for 150, so digits beyond these can only break a tie, for
   which `rest` is enough. */
enum { SAMPI_FRACTION = 10, SAMPI_WORDS = 42, SAMPI_DIGITS = 150 };

/* Sets x = 10 x + digit. x must not have a fraction. */
static SAMPI_COLD void sampi_decimal_grow(uint16_t *x, uint32_t digit)
{
    for (int i = SAMPI_FRACTION; i < SAMPI_WORDS; i++, digit >>= 16) {
        digit += 10 * (uint32_t)x[i];
        x[i] = (uint16_t)digit;
    }
}

/* Sets x = x / 10, rounded down, and returns the remainder. Dividing several times gives the same as one division by
   the power of ten, rounded down. */
static SAMPI_COLD uint32_t sampi_decimal_shrink(uint16_t *x)
{
    uint32_t carry = 0;
    for (int i = SAMPI_WORDS - 1; i >= 0; i--) {
        carry = carry << 16 | x[i];
        x[i] = (uint16_t)(carry / 10);
        carry %= 10;
    }
    return carry;
}

/* Returns the float nearest to x, ties to even. The leading words make a double of 38 to 53 bits, whose last bit is set
   if anything below is not 0. A double has more bits than a float, so its conversion to float rounds as x itself would,
   also to a subnormal. */
static SAMPI_COLD float sampi_decimal_round(const uint16_t *x, uint32_t rest)
{
    uint64_t leading = 0;
    double scale = 1.0 / (4294967296.0 * 4294967296.0 * 4294967296.0 * 4294967296.0 * 4294967296.0); /* 2^-160 */
    for (int i = SAMPI_WORDS - 1; i >= 0; i--) {
        if (leading >> 37) {
            rest |= x[i];
            scale *= 65536.0;
        } else {
            leading = leading << 16 | x[i];
        }
    }
    return (float)((double)(leading | (rest != 0)) * scale);
}

/* Reads a decimal number with an optional point and power of ten. A number that is not 0 but rounds to 0 gives
   SAMP_E_RANGE. */
static SAMPI_COLD int sampi_read_float(const char **text, float *out)
{
    uint16_t x[SAMPI_WORDS];
    uint32_t rest = 0;
    /* low is the last digit's power of ten; n counts the digits from the first that is not 0 */
    int64_t low = 0, point = 0, n = 0;
    bool negative = sampi_read_sign(text);
    const char *t = *text;
    memset(x, 0, sizeof x);
    for (; sampi_is_digit(*t) || (*t == '.' && !point); t++) {
        uint32_t digit = (uint32_t)(*t - '0');
        if (*t == '.') {
            point = 1;
        } else if (n < SAMPI_DIGITS) {
            sampi_decimal_grow(x, digit);
            n += n || digit;
            low -= point;
        } else {
            rest |= digit;
            low += 1 - point;
        }
    }
    if (t - *text == point) return SAMP_E_FORMAT;
    *text = t;
    if (*t == 'e' || *t == 'E') {
        uint64_t power;
        ++*text;
        bool down = sampi_read_sign(text);
        int status = sampi_read_digits(text, (uint64_t)1 << 40, &power);
        if (status && (n || status != SAMP_E_RANGE)) return status; /* 0 times any power of ten is 0 */
        if (n) low += down ? -(int64_t)power : (int64_t)power;
    }
    if (!n) low = 0;
    if (low + n > FLT_MAX_10_EXP + 1 || low + n < -45) return SAMP_E_RANGE;
    for (; low < 0; low++) rest |= sampi_decimal_shrink(x);
    for (; low > 0; low--) sampi_decimal_grow(x, 0);
    float value = sampi_decimal_round(x, rest);
    if ((n && value == 0.0f) || value > FLT_MAX) return SAMP_E_RANGE;
    *out = negative ? -value : value;
    return SAMP_OK;
}
