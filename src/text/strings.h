/* ---- JSON: strings ----
   A string is unescaped, checked as UTF-8, stored in the document's block, and given a number. Equal strings have equal
   numbers. A search in the table of strings takes at most 256 steps, so an attacker's strings cannot make it slow. */

/* Returns the hash of bytes for a table of 2^k entries: the upper half of their checksum, each bit of which depends on
   all bytes. The lowest bits of the checksum would not do: they do not depend on the last bytes of a word of eight, in
   which names like item-001 differ. */
static SAMPI_COLD uint32_t sampi_place_of(const void *bytes, size_t n)
{
    return (uint32_t)(sampi_checksum(bytes, n) >> 32);
}

/* Returns the slot of a text in the hash table, which is free or has the text's number. Returns NULL if too many texts
   collide. */
static SAMPI_COLD int32_t *sampi_json_slot(const sampi_json *doc, const char *text, size_t n)
{
    uint32_t h = sampi_place_of(text, n);
    for (uint32_t i = 0; i < SAMPI_JSON_PROBES; i++, h++) {
        int32_t *slot = &doc->by_text[h & doc->text_mask];
        const sampi_json_string *s = *slot < 0 ? NULL : &doc->strings[*slot];
        if (!s || (s->n == n && !memcmp(doc->bytes + s->at, text, n))) return slot;
    }
    return NULL;
}

/* Returns the number of the string that was written last: a new number, or that of an equal string. */
static SAMPI_COLD int32_t sampi_json_intern(sampi_json_reader *r, uint32_t n)
{
    sampi_json *doc = r->doc;
    int32_t *slot = sampi_json_slot(doc, doc->bytes + doc->n_bytes, n);
    if (!slot) return sampi_json_wrong(r, "too many strings collide");
    if (*slot >= 0) return *slot;
    doc->strings[doc->n_strings].at = doc->n_bytes;
    doc->strings[doc->n_strings].n = n;
    doc->n_bytes += n;
    return *slot = doc->n_strings++;
}

/* Writes a code point in UTF-8 and returns the number of bytes. */
static SAMPI_COLD uint32_t sampi_utf8_put(char *out, uint32_t c)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    uint32_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (uint32_t i = n; --i > 0; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

/* Reads the four hexadecimal digits after \u. */
static SAMPI_COLD int32_t sampi_json_hex(sampi_json_reader *r)
{
    int32_t c = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int digit = r->at < r->end ? sampi_hex_digit(*r->at) : -1;
        if (digit < 0) return sampi_json_wrong(r, "expected four hexadecimal digits behind \\u");
        c = c * 16 + digit;
    }
    return c;
}

/* Reads an escape sequence after its backslash. Returns the code point, or -1 on an error. */
static SAMPI_COLD int32_t sampi_json_escape(sampi_json_reader *r)
{
    static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *known = r->at < r->end && *r->at ? strchr(escapes, *r->at) : NULL;
    if (known) return r->at++, means[known - escapes];
    if (r->at >= r->end || *r->at != 'u') return sampi_json_wrong(r, "expected an escape: one of \"\\/bfnrtu");
    r->at++;
    int32_t c = sampi_json_hex(r), low;
    if (c < 0xd800 || c >= 0xe000) return c;
    if (c >= 0xdc00 || r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
        return sampi_json_wrong(r, "half of a surrogate pair");
    r->at += 2;
    low = sampi_json_hex(r);
    if (low >= 0 && (low < 0xdc00 || low >= 0xe000)) return sampi_json_wrong(r, "half of a surrogate pair");
    return low < 0 ? -1 : 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

/* Reads a string, beginning with its quote. Returns the string's number. */
static SAMPI_COLD int32_t sampi_json_text(sampi_json_reader *r)
{
    char *out = r->doc->bytes + r->doc->n_bytes;
    uint32_t n = 0;
    for (r->at++; r->at < r->end && *r->at != '"';) {
        uint32_t c, length = sampi_utf8_get(r->at, r->end, &c);
        if (length == 0) return sampi_json_wrong(r, "not UTF-8");
        if (c < 0x20) return sampi_json_wrong(r, "a control character in a string must be escaped");
        r->at += length;
        if (c == '\\') {
            int32_t meant = sampi_json_escape(r);
            if (meant < 0) return -1;
            c = (uint32_t)meant;
        }
        n += sampi_utf8_put(out + n, c);
    }
    if (r->at >= r->end) return sampi_json_wrong(r, "expected \" at the end of a string");
    r->at++;
    return sampi_json_intern(r, n);
}
