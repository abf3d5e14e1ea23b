/* ---- dry ("don't repeat yourself") ----
   A token that would continue a repetition of length L >= allowed loses multiplier * base^(L - allowed). After "a b c d
   a b c" the token d would continue a repetition of length 3: with multiplier 0.8, base 1.75, allowed 2 it loses 0.8 *
   1.75 = 1.4. The sampler has four arrays (parts): 0 the window of accepted tokens; 1 memory for the list of such
   tokens; 2 memory for lengths; 3 tails, heads and texts of breakers.

   A breaker is a text, such as "\n", that ends a repetition. The breakers are tokenised when the sampler is made
   (sampi_dry_build). A breaker may begin inside one token and end inside another, so it is stored as heads and tails: a
   head is a token that contains the breaker, or ends with a beginning of it; the tail is the rest of the breaker as
   tokens. */

/* The rest of a breaker as tokens, after the bytes that a head has. */
typedef struct sampi_tail {
    int32_t n;
    samp_token token[20];
} sampi_tail;

/* A token with which a breaker can begin. If `tail` is -1, the token contains the whole breaker; otherwise the tokens
   of that tail must follow. */
typedef struct sampi_head {
    samp_token token;
    int32_t tail;
} sampi_head;

/* The number of bytes of a breaker that count, and an array for them and a final 0. */
#define SAMPI_BREAKER_MAX 40
typedef char sampi_breaker[SAMPI_BREAKER_MAX + 1];

#define SAMPI_TAIL_MAX ((int32_t)(sizeof(((sampi_tail *)0)->token) / sizeof(samp_token)))

/* Returns how many bytes of a breaker count: the first SAMPI_BREAKER_MAX. */
static size_t sampi_breaker_length(const char *text)
{
    size_t n = strlen(text);
    return n < SAMPI_BREAKER_MAX ? n : SAMPI_BREAKER_MAX;
}

/* The largest number of breakers, and of heads of all of them (8 bytes each). */
enum { SAMPI_MAX_BREAKERS = 1024, SAMPI_MAX_HEADS = 1 << 20 };

/* Texts (breakers, or rests of breakers) sorted by their bytes. Those that begin alike are neighbours, so the texts
   that have to do with a token are found along the token's bytes, however many texts there are. */
typedef struct sampi_spelling {
    const char *text;
    uint32_t n, at; /* the number of its bytes; the index of the breaker or of the tail */
} sampi_spelling;
typedef struct sampi_spellings {
    size_t n;
    sampi_spelling item[SAMPI_MAX_BREAKERS];
} sampi_spellings;

/* Narrows the texts [*lo, *hi), whose first `depth` bytes are the same, to those with this byte behind them. If there
   are none, *lo is where such a text belongs. */
static void sampi_spelling_narrow(const sampi_spellings *list, size_t depth, char byte, size_t *lo, size_t *hi)
{
    for (int end = 0; end < 2; end++) {
        size_t from = *lo, to = *hi;
        int wanted = (unsigned char)byte + end;
        while (from < to) {
            const size_t mid = from + (to - from) / 2;
            const sampi_spelling *t = &list->item[mid];
            if ((depth < t->n ? (unsigned char)t->text[depth] : -1) < wanted)
                from = mid + 1;
            else
                to = mid;
        }
        *(end ? hi : lo) = from;
    }
}

/* Adds text [n] at its place in the order. */
static SAMPI_COLD void sampi_spelling_add(sampi_spellings *list, const char *text, size_t n, size_t at)
{
    size_t lo = 0, hi = list->n;
    for (size_t depth = 0; depth < n && lo < hi; depth++) sampi_spelling_narrow(list, depth, text[depth], &lo, &hi);
    memmove(list->item + lo + 1, list->item + lo, (list->n - lo) * sizeof *list->item);
    list->item[lo].text = text;
    list->item[lo].n = (uint32_t)n;
    list->item[lo].at = (uint32_t)at;
    list->n++;
}

/* Tokenises a text by the vocabulary's function. Writes at most n_max tokens to out, and returns their number; -1 if no
   tokens spell the text. */
static int32_t sampi_tokenize(const samp_vocab *v, const char *text, size_t n, samp_token *out, int32_t n_max)
{
    const int32_t n_out = v->tokenize(v, text, n, out, n_max);
    return n_out > n_max ? n_max : n_out > 0 ? n_out : -1;
}

/* Notes in the tail of each text of the list the longest token with which the text begins, the first of them by id: its
   length in `n`, which is 0 before, and its id in `token [0]`. */
static SAMPI_COLD void sampi_dry_longest(const samp_vocab *v, const sampi_spellings *list, sampi_tail *tail)
{
    for (samp_token t = 0; t < v->n_vocab; t++) {
        size_t len, lo = 0, hi = list->n;
        const char *bytes = v->token_bytes(v, t, &len);
        for (size_t depth = 0; depth < len && lo < hi; depth++)
            sampi_spelling_narrow(list, depth, bytes[depth], &lo, &hi);
        for (; lo < hi && len; lo++) {
            sampi_tail *to = &tail[list->item[lo].at];
            if ((size_t)to->n >= len) continue;
            to->n = (int32_t)len;
            to->token[0] = t;
        }
    }
}

/* Fills the tails by greedy longest match: a tail is the longest token with which its text begins, and the tail behind
   it. One walk over the vocabulary finds the longest tokens of SAMPI_MAX_BREAKERS texts. */
static SAMPI_COLD void sampi_dry_spell(const sampi_sampler *s, const char *const *breaker, sampi_tail *tail)
{
    sampi_spellings rests;
    size_t at = 0;
    rests.n = 0;
    for (size_t b = 0; b < s->u.dry.n_from; b++)
        for (size_t n = sampi_breaker_length(breaker[b]), k = 1; k < n; k++) {
            sampi_spelling_add(&rests, breaker[b] + k, n - k, at++);
            if (rests.n < SAMPI_MAX_BREAKERS && at < s->u.dry.n_tails) continue;
            sampi_dry_longest(s->u.dry.vocab, &rests, tail);
            rests.n = 0;
        }
    for (size_t b = 0; b < s->u.dry.n_from; b++) {
        size_t n = sampi_breaker_length(breaker[b]) - 1;
        for (size_t k = 0; k < n; k++) { /* the tails from k on still have their longest tokens */
            int32_t n_out = 0;
            for (size_t next = k; next < n && n_out < SAMPI_TAIL_MAX; next += (size_t)tail[next].n) {
                if (tail[next].n == 0) {
                    n_out = -1;
                    break;
                }
                tail[k].token[n_out++] = tail[next].token[0];
            }
            tail[k].n = n_out;
        }
        tail += n;
    }
}

/* Does text [n] contain part [n_part]? It does not use strstr, because both may contain zeros. */
static bool sampi_contains(const char *text, size_t n, const char *part, size_t n_part)
{
    for (size_t i = 0; i + n_part <= n; i++)
        if (memcmp(text + i, part, n_part) == 0) return true;
    return false;
}

/* Appends a head (a token with which a breaker can begin) to heads, if heads is not NULL. Returns the new number of
   heads. */
static size_t sampi_add_head(sampi_head *heads, size_t n, samp_token token, int32_t tail)
{
    if (heads) {
        heads[n].token = token;
        heads[n].tail = tail;
    }
    return n + 1;
}

/* Sets the bits of the breakers that token `bytes` [len] contains, or with whose beginnings it ends. Returns whether
   there are any. */
static SAMPI_COLD bool sampi_dry_touched(const sampi_spellings *list, const char *bytes, size_t len, uint64_t *bits)
{
    bool any = false;
    for (size_t i = 0; i < len; i++) {
        size_t lo = 0, hi = list->n, depth = 0;
        while (lo < hi && i + depth < len) {
            sampi_spelling_narrow(list, depth, bytes[i + depth], &lo, &hi);
            depth++;
            /* breakers that end here come first; at the token's end, the others begin in it */
            for (size_t k = lo; k < hi && (list->item[k].n == depth || i + depth == len); k++) {
                bits[list->item[k].at / 64] |= (uint64_t)1 << list->item[k].at % 64;
                any = true;
            }
        }
    }
    return any;
}

/* Finds all heads, in order of ids, and returns their number. A head is a token that contains a breaker (tail -1), or
   ends with a beginning of a breaker (the tail is the breaker's rest). Tails are numbered through all breakers, one for
   each proper suffix. A token may be several heads. sampi_dry_prepare passes NULL for heads to count them, up to more
   than SAMPI_MAX_HEADS; sampi_dry_build has them written. */
static SAMPI_COLD size_t sampi_dry_heads(const samp_vocab *v, const char *const *breaker, size_t n_breakers,
                                         sampi_head *heads)
{
    uint64_t touched[SAMPI_MAX_BREAKERS / 64];
    int32_t tails_before[SAMPI_MAX_BREAKERS], tails = 0;
    sampi_spellings list;
    size_t n = 0;
    list.n = 0;
    memset(touched, 0, sizeof touched);
    for (size_t b = 0; b < n_breakers; b++) {
        const size_t n_text = sampi_breaker_length(breaker[b]);
        sampi_spelling_add(&list, breaker[b], n_text, b);
        tails_before[b] = tails;
        tails += (int32_t)n_text - 1;
    }
    for (samp_token t = 0; t < v->n_vocab && n <= SAMPI_MAX_HEADS; t++) {
        size_t len;
        const char *bytes = v->token_bytes(v, t, &len);
        if (!sampi_dry_touched(&list, bytes, len, touched)) continue;
        for (size_t b = 0; b < n_breakers; b++) {
            if (!(touched[b / 64] >> b % 64 & 1)) continue;
            size_t n_text = sampi_breaker_length(breaker[b]);
            if (sampi_contains(bytes, len, breaker[b], n_text)) {
                n = sampi_add_head(heads, n, t, -1);
            } else {
                for (size_t k = 1; k < n_text && k <= len; k++)
                    if (memcmp(bytes + len - k, breaker[b], k) == 0)
                        n = sampi_add_head(heads, n, t, tails_before[b] + (int32_t)k - 1);
            }
        }
        memset(touched, 0, sizeof touched);
    }
    return n;
}

/* Returns the heads [n_heads], sorted by token; they follow the tails in part 3. */
static sampi_head *sampi_dry_head(const sampi_sampler *s)
{
    return (sampi_head *)((sampi_tail *)sampi_part(s, 3) + s->u.dry.n_tails);
}

/* Returns the texts of the breakers [n_from]; they follow the heads in part 3. */
static sampi_breaker *sampi_dry_text(const sampi_sampler *s)
{
    return (sampi_breaker *)(sampi_dry_head(s) + s->u.dry.n_heads);
}

/* Does s have the breakers and the vocabulary of t? Then the heads and tails of both are the same and can be copied,
   which saves a walk over the vocabulary for each breaker. */
static SAMPI_COLD bool sampi_dry_has_breakers(const sampi_sampler *s, const sampi_sampler *t)
{
    const samp_vocab *v = &s->u.dry.spelt, *w = t->u.dry.vocab;
    bool same = s->u.dry.n_from == t->u.dry.n_from && s->u.dry.vocab == w;
    if (same && w)
        same = v->n_vocab == w->n_vocab && v->token_bytes == w->token_bytes && v->tokenize == w->tokenize &&
               v->user == w->user;
    for (size_t b = 0; b < t->u.dry.n_from && same; b++) {
        const char *text = sampi_dry_text(s)[b], *other = t->u.dry.from[b];
        size_t n = sampi_breaker_length(other);
        same = strlen(text) == n && memcmp(text, other, n) == 0;
    }
    return same;
}

/* Checks the parameters and sizes the parts. The window is the smaller of last_n and n_ctx_train. A sampler that is off
   needs neither breakers nor a vocabulary. A breaker has a tail for each of its proper suffixes. Heads are counted by a
   walk over the vocabulary, but only if a sampler is going to be made. */
static SAMPI_COLD void sampi_dry_prepare(sampi_sampler *t, bool make)
{
    const char *const *breaker = t->u.dry.from;
    if (t->u.dry.last_n < 0 || t->u.dry.last_n > t->u.dry.n_ctx_train) t->u.dry.last_n = t->u.dry.n_ctx_train;
    if (sampi_is_off(t)) t->u.dry.n_from = 0;
    size_t n = (size_t)t->u.dry.last_n, n_breakers = t->u.dry.n_from;
    sampi_require(t, n_breakers == 0 || breaker, SAMP_E_NULL, "dry_breakers");
    sampi_require(t, n_breakers <= SAMPI_MAX_BREAKERS, SAMP_E_RANGE, "dry_breakers");
    for (size_t b = 0; b < n_breakers && !t->status; b++) {
        sampi_require(t, breaker[b] != NULL, SAMP_E_NULL, "dry_breakers");
        sampi_require(t, t->status || breaker[b][0], SAMP_E_RANGE, "dry_breakers");
    }
    sampi_require(t, n_breakers == 0 || (t->u.dry.vocab && t->u.dry.vocab->token_bytes), SAMP_E_NULL, "vocab");
    if (t->status) return;
    t->u.dry.ring.cap = (uint32_t)n;
    t->u.dry.n_tails = 0;
    for (size_t b = 0; b < n_breakers; b++) t->u.dry.n_tails += sampi_breaker_length(breaker[b]) - 1;
    if (t->u.dry.vocab) t->u.dry.spelt = *t->u.dry.vocab;
    const sampi_sampler *like = t->u.dry.like;
    if (like && !sampi_dry_has_breakers(like, t)) like = t->u.dry.like = NULL;
    if (make && n_breakers)
        t->u.dry.n_heads = like ? like->u.dry.n_heads : sampi_dry_heads(t->u.dry.vocab, breaker, n_breakers, NULL);
    sampi_require(t, t->u.dry.n_heads <= SAMPI_MAX_HEADS, SAMP_E_RANGE, "dry_breakers");
    t->part_size[0] = n * sizeof(samp_token);
    t->part_size[1] = n * sizeof(sampi_count);
    t->part_size[2] = n * sizeof(int32_t);
    t->part_size[3] = t->u.dry.n_tails * sizeof(sampi_tail) + t->u.dry.n_heads * sizeof(sampi_head) +
                      n_breakers * sizeof(sampi_breaker);
}

/* Fills the tails, heads and texts of breakers. Tail k - 1 of a breaker is its rest after k bytes, as sampi_dry_heads
   numbers them. */
static SAMPI_COLD void sampi_dry_build(sampi_sampler *s)
{
    const samp_vocab *v = s->u.dry.vocab;
    sampi_tail *tail = (sampi_tail *)sampi_part(s, 3);
    const sampi_sampler *like = s->u.dry.like;
    s->u.dry.like = NULL;
    if (like) memcpy(tail, sampi_part(like, 3), s->part_size[3]);
    if (s->u.dry.n_from && !like && !v->tokenize) sampi_dry_spell(s, s->u.dry.from, tail);
    for (size_t b = 0; b < s->u.dry.n_from && !like; b++) {
        const char *text = s->u.dry.from[b];
        size_t n = sampi_breaker_length(text);
        memcpy(sampi_dry_text(s)[b], text, n);
        for (size_t k = 1; k < n && v->tokenize; k++, tail++)
            tail->n = sampi_tokenize(v, text + k, n - k, tail->token, SAMPI_TAIL_MAX);
    }
    if (s->u.dry.n_from && !like) sampi_dry_heads(v, s->u.dry.from, s->u.dry.n_from, sampi_dry_head(s));
    s->u.dry.from = NULL;
}

/* Returns the token `back` positions before the newest in the window, so 0 is the newest. The functions below read the
   window from its end. */
static samp_token sampi_dry_token(const sampi_sampler *s, int32_t back)
{
    return sampi_ring_at(&s->u.dry.ring, (const samp_token *)sampi_part(s, 0), (uint32_t)back);
}

/* Returns the index of the first head with this token. */
static size_t sampi_dry_find(const sampi_sampler *s, samp_token token)
{
    return sampi_find_token(sampi_dry_head(s), sizeof(sampi_head), s->u.dry.n_heads, token);
}

/* Do the tokens of this tail follow the token `back` positions before the newest? */
static bool sampi_dry_tail_follows(const sampi_sampler *s, const sampi_tail *tail, int32_t back)
{
    for (int32_t k = 0; k < tail->n; k++)
        if (tail->token[k] != sampi_dry_token(s, back - 1 - k)) return false;
    return true;
}

/* Returns the number of tokens in the longest tail of a complete breaker that begins `back` positions before the newest
   token: 0 if the token there contains a whole breaker, -1 if no complete breaker begins there. */
static int32_t sampi_dry_breaker_at(const sampi_sampler *s, int32_t back)
{
    const sampi_head *head = sampi_dry_head(s);
    const sampi_tail *tail = (const sampi_tail *)sampi_part(s, 3);
    samp_token token = sampi_dry_token(s, back);
    int32_t longest = -1;
    for (size_t h = sampi_dry_find(s, token); h < s->u.dry.n_heads && head[h].token == token; h++) {
        SAMPI_COUNT_STEPS(1);
        bool whole = head[h].tail < 0;
        int32_t len = whole ? 0 : tail[head[h].tail].n;
        if (len <= longest || len > back) continue; /* len is -1 if no tokens spell the tail */
        if (whole || sampi_dry_tail_follows(s, &tail[head[h].tail], back)) longest = len;
    }
    return longest;
}

/* Empties the window. */
static void sampi_dry_reset(sampi_sampler *s)
{
    s->u.dry.ring.size = s->u.dry.ring.head = 0;
    s->u.dry.settled = -1;
    s->u.dry.settled_tail = 0;
}

/* Decides whether a breaker begins `back` positions before the newest token, when all tokens that its tail may have are
   in the window, so that the answer can no longer change. The nearest such breaker is remembered (its position and the
   length of its tail), so that it is not searched for again. `back` must be nearer than all positions decided
   before. */
static void sampi_dry_settle(sampi_sampler *s, int32_t back)
{
    int32_t tail = back < (int32_t)s->u.dry.ring.size ? sampi_dry_breaker_at(s, back) : -1;
    if (tail < 0) return;
    s->u.dry.settled = back;
    s->u.dry.settled_tail = tail;
}

/* Adds a token to the window; the remembered breaker is then one position farther back. sampi_dry_list finds the
   repetitions when the next token is drawn. */
static void sampi_dry_accept(sampi_sampler *s, samp_token token)
{
    sampi_ring_push(&s->u.dry.ring, (samp_token *)sampi_part(s, 0), token);
    if (s->u.dry.settled >= 0 && ++s->u.dry.settled >= (int32_t)s->u.dry.ring.size) s->u.dry.settled = -1;
    sampi_dry_settle(s, SAMPI_TAIL_MAX);
}

/* Returns how many of the newest tokens a repetition may contain: those after the nearest breaker, or all n if there is
   no breaker. After a breaker's first token there are `back` tokens, of which the breaker's tail is the first part. */
static int32_t sampi_dry_limit(const sampi_sampler *s, int32_t n)
{
    for (int32_t back = 0; back < n && back < SAMPI_TAIL_MAX; back++) {
        int32_t tail = sampi_dry_breaker_at(s, back);
        if (tail >= 0) return back - tail;
    }
    return s->u.dry.settled < 0 ? n : s->u.dry.settled - s->u.dry.settled_tail;
}

/* Writes length [k] for 0 < k < n: the length of the common suffix of the window and of the window k tokens ago, at
   most `limit`. It uses the Z algorithm (Gusfield 1997) on the window read from its end, in n steps. The tokens [left,
   right) of its farthest match equal the newest right - left tokens, so within this match an earlier length can be
   reused. */
static void sampi_dry_lengths(const sampi_sampler *s, int32_t n, int32_t limit, int32_t *length)
{
    int32_t left = 0, right = 0;
    for (int32_t k = 1; k < n; k++) {
        SAMPI_COUNT_STEPS(1);
        if (k < right && length[k - left] < right - k) {
            length[k] = length[k - left];
            continue;
        }
        int32_t end = k < right ? right : k;
        while (end < n && sampi_dry_token(s, end) == sampi_dry_token(s, end - k)) {
            SAMPI_COUNT_STEPS(1);
            end++;
        }
        left = k;
        right = end;
        length[k] = end - k < limit ? end - k : limit;
    }
}

/* Does this token contain a breaker? Such a token is never penalised. */
static bool sampi_dry_is_breaker(const sampi_sampler *s, samp_token token)
{
    const sampi_head *head = sampi_dry_head(s);
    for (size_t h = sampi_dry_find(s, token); h < s->u.dry.n_heads && head[h].token == token; h++)
        if (head[h].tail < 0) return true;
    return false;
}

/* Returns the number that is subtracted from a token's logit. entry->count is the length of the repetition that the
   token would continue. The power is bounded so that base^power fits a float. In llama.cpp's arithmetic the number is
   computed as in llama.cpp. */
static float sampi_dry_penalty(const sampi_sampler *s, const sampi_count *entry)
{
    if (sampi_dry_is_breaker(s, entry->token)) return 0.0f;
    const float ln_float_max = 88.7228391f;
    float base = s->u.dry.base;
    bool llama = sampi_is_llama_cpp(s);
    int32_t power = entry->count - s->u.dry.allowed, most = 0; /* most 0: no bound, because base is 1 */
    if (base > 1.000001f) most = (int32_t)(llama ? ln_float_max / logf(base) : (double)ln_float_max / sampi_ln(base));
    if (most > 0 && power > most) power = most;
    double factor = llama ? pow((double)base, (double)power) : sampi_powi(base, power);
    return (float)((double)s->u.dry.multiplier * factor);
}

/* Returns the new logit of a token that would continue a repetition. */
static float sampi_dry_change(const sampi_sampler *s, float l, const sampi_count *entry)
{
    return sampi_masked(l) ? l : sampi_finite(l - sampi_dry_penalty(s, entry));
}

/* Lists the tokens that would continue a repetition, sorted by token, each with the length of its longest repetition.
   Returns their number, which is at most the window's size. The function writes the list, usually to part 1, and uses
   part 2. It is called before each draw: by apply, or by the fast path or the GPU's host instead of apply. */
static uint32_t sampi_dry_list(const sampi_sampler *s, sampi_count *list)
{
    int32_t n = (int32_t)s->u.dry.ring.size, allowed = s->u.dry.allowed;
    if (n <= allowed) return 0;
    int32_t limit = sampi_dry_limit(s, n), *length = (int32_t *)sampi_part(s, 2);
    uint32_t n_list = 0;
    if (limit < allowed) return 0;
    sampi_dry_lengths(s, n, limit, length);
    for (int32_t k = 1; k < n; k++) {
        if (length[k] < allowed) continue;
        list[n_list].token = sampi_dry_token(s, k - 1); /* the token that followed the earlier occurrence */
        list[n_list++].count = length[k];
    }
    sampi_count_sort(list, n_list);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_list; i++) {
        if (kept == 0 || list[kept - 1].token != list[i].token)
            list[kept++] = list[i];
        else if (list[kept - 1].count < list[i].count)
            list[kept - 1].count = list[i].count;
    }
    return kept;
}

/* Applies dry. The list of tokens is made anew for each draw, in the sampler's own parts. */
static int sampi_dry_apply(sampi_sampler *s, samp_token_data_array *cur)
{
    sampi_count *list = (sampi_count *)sampi_part(s, 1);
    uint32_t n = sampi_dry_list(s, list);
    int32_t seen = (int32_t)s->u.dry.ring.size, allowed = s->u.dry.allowed;
    if (n > 0) sampi_patch(s, cur, list, n, sampi_dry_change);
    if (sampi_is_llama_cpp(s) && seen > allowed && sampi_dry_limit(s, seen) >= allowed)
        cur->sorted = false; /* as in llama.cpp, whether a logit changed or not: adaptive_p reads `sorted` */
    return SAMP_OK;
}

static void sampi_dry_past(sampi_sampler *s, sampi_record *r)
{
    sampi_record_ring(r, &s->u.dry.ring, (samp_token *)sampi_part(s, 0));
    sampi_record_words(r, &s->u.dry.settled, 2); /* settled and settled_tail */
}

/* Takes over the window of a sampler that this one replaces. The new breakers apply to the old tokens too. */
static void sampi_dry_take_over(sampi_sampler *s, const sampi_sampler *old, const sampi_sampler *chain)
{
    sampi_take_over_window(s, old, old ? &old->u.dry.ring : NULL, chain);
}

/* Saves or loads the window, which is the whole state of dry. After loading, the breakers in the window are searched
   for again. */
static SAMPI_COLD void sampi_dry_state(sampi_sampler *s, sampi_io *io)
{
    sampi_io_ring(io, &s->u.dry.ring, (samp_token *)sampi_part(s, 0));
    if (io->mode != SAMPI_READ) return;
    s->u.dry.settled = -1;
    for (int32_t back = (int32_t)s->u.dry.ring.size; back-- > SAMPI_TAIL_MAX;) sampi_dry_settle(s, back);
}

/* Adds the breakers' tokens to the fingerprint. With another vocabulary these tokens would be different, and a saved
   window would have another meaning. */
static SAMPI_COLD void sampi_dry_settings(const sampi_sampler *s, uint64_t *hash)
{
    const sampi_tail *tail = (const sampi_tail *)sampi_part(s, 3);
    const sampi_head *head = sampi_dry_head(s);
    sampi_mix(hash, s->u.dry.n_tails);
    sampi_mix(hash, s->u.dry.n_heads);
    for (size_t i = 0; i < s->u.dry.n_tails; i++) {
        sampi_mix(hash, (uint32_t)tail[i].n);
        for (int32_t k = 0; k < tail[i].n; k++) sampi_mix(hash, (uint32_t)tail[i].token[k]);
    }
    for (size_t i = 0; i < s->u.dry.n_heads; i++)
        sampi_mix(hash, (uint64_t)(uint32_t)head[i].token << 32 | (uint32_t)head[i].tail);
}

/* The caller may free the breakers after this call. last_n and n_ctx_train become one number, the size of the window
   (sampi_dry_prepare). */
SAMP_API SAMPI_COLD samp_sampler *samp_init_dry(const samp_vocab *vocab, int32_t n_ctx_train, float multiplier,
                                                float base, int32_t allowed_length, int32_t last_n,
                                                const char *const *breakers, size_t n_breakers)
{
    sampi_sampler t = sampi_blank(SAMPI_DRY);
    t.u.dry.vocab = vocab;
    t.u.dry.n_ctx_train = n_ctx_train;
    t.u.dry.multiplier = multiplier;
    t.u.dry.base = base;
    t.u.dry.allowed = allowed_length;
    t.u.dry.last_n = last_n;
    t.u.dry.from = breakers;
    t.u.dry.n_from = n_breakers;
    return sampi_init(&t);
}

static SAMPI_COLD void sampi_dry_params(sampi_sampler *t, const samp_params *p)
{
    static const char *const usual[] = { "\n", ":", "\"", "*" };
    t->u.dry.vocab = p->vocab;
    t->u.dry.from = p->dry_breakers ? p->dry_breakers : usual;
    if (!p->dry_breakers) t->u.dry.n_from = 4;
    while (p->dry_breakers && p->dry_breakers[t->u.dry.n_from]) t->u.dry.n_from++;
}

static const sampi_field SAMPI_DRY_FIELDS[] = {
    SAMPI_FIELD(FLOAT, dry_multiplier, dry.multiplier, 0, 0, FLT_MAX, 0, "multiplier"),
    SAMPI_FIELD(FLOAT, dry_base, dry.base, 1.75, 1, FLT_MAX, 0, "base"),
    SAMPI_FIELD(INT32, dry_allowed_length, dry.allowed, 2, 0, INT32_MAX, 0, "allowed_length"),
    SAMPI_FIELD(INT32, dry_penalty_last_n, dry.last_n, -1, -1, SAMPI_MAX_WINDOW, 0, "last_n"),
    SAMPI_FIELD(INT32, n_ctx_train, dry.n_ctx_train, 4096, 0, SAMPI_MAX_WINDOW, SAMPI_PASSING, NULL),
};

static SAMPI_COLD bool sampi_dry_is_off(const sampi_sampler *s)
{
    return s->u.dry.multiplier == 0.0f || s->u.dry.last_n == 0;
}

SAMPI_HOOKS(DRY, sampi_dry_params, sampi_dry_prepare, sampi_dry_build, sampi_dry_settings, sampi_dry_accept,
            sampi_dry_reset, sampi_dry_state, sampi_dry_take_over, sampi_dry_past, SAMPI_BYTES_ONLY);

#define SAMPI_DRY_ROW \
    "dry", 0, 'd', "dry", \
        SAMPI_KEEPS_P | SAMPI_PATCHES | SAMPI_MASKS_NONE | SAMPI_ONLY_EDITS | SAMPI_VIEW_DROPPED | \
            SAMPI_SAME_IN_LLAMA, \
        SAMPI_FIELDS_OF(SAMPI_DRY_FIELDS), sampi_dry_is_off, &SAMPI_DRY_HOOKS, sampi_dry_apply, sampi_fast_dry, \
        SAMPI_BY_LLAMA_CPP(sampi_dry_apply)
