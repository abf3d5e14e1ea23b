/* ---- llama.cpp's arithmetic on rows: the samplers ----
   The functions that the table of kinds names as fast_llama. They use the sums of sums.h. Each sets row->llama.cur, an
   array of the kept candidates in llama.cpp's order, or row->token, or it changes the row. It declines if a sum is
   known only up to its rounding error, and different sums within this error would lead to different tokens. The head of
   a row is an array of its first candidates in order. */

/* Applies top_k. If k is the number of all candidates or more, the row keeps its tokens, and counts as sorted. */
static int sampi_fast_llama_top_k(sampi_row *row, sampi_sampler *s)
{
    if (s->u.top_k.ties) return SAMPI_DECLINED;
    if ((size_t)s->u.top_k.k >= row->n && !row->llama.divided && sampi_is_full(row)) {
        row->llama.by_order = true;
        return SAMP_OK;
    }
    return sampi_llama_keep_first(row, (size_t)s->u.top_k.k);
}

/* Applies min_p. */
static SAMPI_COLD int sampi_fast_llama_min_p(sampi_row *row, sampi_sampler *s)
{
    float floor = sampi_row_max(row) + logf(s->u.cut.p);
    sampi_row head = *row;
    sampi_gather(&head, sampi_unscale(row, floor));
    if (head.n >= sampi_min_keep(s)) return sampi_end_row(row, &head, row->llama.by_order);
    return sampi_llama_keep_first(row, sampi_min_keep(s));
}

/* Applies top_p. llama.cpp adds the sum in the order of ascending ids (unless the row is sorted), and then cuts the
   sorted candidates. */
static SAMPI_COLD int sampi_fast_llama_top_p(sampi_row *row, sampi_sampler *s)
{
    sampi_llama_sums sums = { sampi_row_max(row), 0.0f };
    sampi_float_terms c = { sums.max, INFINITY, 1.0f, 0.0f, 0.0f };
    if (!row->llama.by_order)
        (void)sampi_llama_add_terms(row, &c, true, &sums.sum);
    else if (!sampi_llama_sorted_sums(row, &sums))
        return SAMPI_DECLINED;
    for (size_t want = 128;; want = want < row->n / 64 ? want * 8 : row->n) {
        sampi_llama_head(row, want);
        samp_token_data_array *cur = &row->llama.cur;
        size_t size = cur->size;
        if (size < want && size < row->n) return SAMPI_DECLINED;
        for (size_t i = 0; i < size; i++) cur->data[i].p = sampi_llama_p(&sums, cur->data[i].logit);
        sampi_llama_keep_share(cur, s->u.cut.p, false, s->u.cut.min_keep);
        if (cur->size < size || size == row->n) return SAMP_OK;
    }
}

/* Returns `sum` increased by the squares (x - mean)^2 of x [n], for top_n_sigma. No x is masked. llama.cpp adds each
   square in double, and rounds the sum to float. So terms may be added in any order under the conditions of
   sampi_exact_float_sum. */
static SAMPI_HOT float sampi_llama_squares(const float *x, size_t n, float mean, float sum)
{
    const double half = (double)sampi_half_ulp(sum), from = (double)sum;
    double moved = 0.0;
    bool tie = false;
    size_t i = 0;
#if SAMPI_GNU
    typedef float pair __attribute__((vector_size(8)));
    typedef double two __attribute__((vector_size(16)));
    typedef int64_t bits __attribute__((vector_size(16)));
    /* 1.5 * 2^52 ulps of the sum; a double to which this is added is rounded to these ulps */
    const double grid = half * 13510798882111488.0;
    const two none = { 0.0, 0.0 };
    two move = none;
    bits ties = (bits)none;
    for (; i + 2 <= n; i += 2) {
        pair v;
        memcpy(&v, x + i, sizeof v);
        two d = __builtin_convertvector(v - mean, two);
        d *= d;
        SAMPI_OPAQUE(d);
        two to = from + d, rounded = to + grid - grid;
        ties |= (two)((bits)(to - rounded) & INT64_MAX) >= half + none;
        move += rounded - from;
    }
    tie = ties[0] || ties[1];
    moved = move[0] + move[1];
#endif
    for (; i < n; i++) {
        double d = (double)(x[i] - mean), to = from + sampi_round(d * d), rounded = (double)(float)to;
        tie |= !(fabs(to - rounded) < half);
        moved += rounded - from;
    }
    if (!tie && sampi_keeps_exponent(sum, moved, moved)) return (float)(from + moved);
    for (i = 0; i < n; i++) {
        double d = (double)(x[i] - mean);
        sum = (float)((double)sum + sampi_round(d * d));
    }
    return sum;
}

/* Applies top_n_sigma in two passes over the unmasked logits, tile by tile. The threshold becomes the row's floor:
   tokens below it are masked, not removed. */
static int sampi_fast_llama_top_n_sigma(sampi_row *row, sampi_sampler *s)
{
    float x[SAMPI_TILE + 16], sum = 0.0f, squares = 0.0f, mean = 0.0f, count = 0.0f;
    int32_t id[SAMPI_TILE + 16];
    sampi_pieces it;
    if (row->llama.divided) return SAMPI_DECLINED;
    if (row->n < 2) return SAMP_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (sampi_start(&it, row); sampi_next_tile(&it);) {
            size_t n = row->k->count(it.x, it.n, -FLT_MAX);
            bool is_full = n == it.n;
            if (!is_full) (void)row->k->collect(it.x, NULL, 0, it.n, -FLT_MAX, INFINITY, x, id);
            if (pass)
                squares = sampi_llama_squares(is_full ? it.x : x, n, mean, squares);
            else
                sum = sampi_exact_float_sum(is_full ? it.x : x, n, sum), count += (float)n;
        }
        mean = sum / count;
    }
    float sigma = (float)sqrt((double)(squares / count));
    float floor = sampi_row_max(row) - sampi_roundf(s->u.cut.p * sigma);
    if (floor > -FLT_MAX) row->floor = floor;
    return SAMP_OK;
}

/* Applies xtc. The tokens that it removes are masked in the row. The row counts as sorted afterwards. */
static SAMPI_COLD int sampi_fast_llama_xtc(sampi_row *row, sampi_sampler *s)
{
    sampi_llama_sums sums;
    if (row->n < 2 || sampi_mt_float(sampi_mt_of(s)) > s->u.xtc.p) return SAMP_OK;
    if (row->array) return SAMPI_DECLINED; /* samp_apply has to write the whole array in order */
    if (!sampi_llama_sorted_sums(row, &sums)) return SAMPI_DECLINED;
    const samp_token_data *d = row->llama.cur.data;
    size_t above = 0;
    while (above < row->llama.cur.size && sampi_llama_p(&sums, d[above].logit) >= s->u.xtc.t) above++;
    if (above == row->llama.cur.size || !sampi_has_room(row, above)) return SAMPI_DECLINED;
    for (size_t i = 0; i + 1 < above && row->n - (above - 1) >= s->u.xtc.min_keep; i++)
        sampi_set_element(row, (size_t)d[i].id, -INFINITY);
    row->llama.by_order = true;
    row->llama.cur.data = NULL;
    return sampi_end_changes(row, true);
}

/* Finds the index *i of the token that the random number u in [0, 1) selects: the first at which the running sum
   reaches u * sum. The sums are doubles, added in any order, with an error of less than `doubt` times their total.
   False: this error could change the token. For a row that counts as sorted the search begins with its head, and *i is
   an index in row->llama.cur. */
static SAMPI_COLD bool sampi_llama_find(sampi_row *row, double sum, double u, double doubt, size_t *i)
{
    const double *tile = (const double *)(const void *)row->work->sum;
    const float *e = row->work->logits;
    double want = u * sum, off = sum * doubt, run = 0.0, before = 0.0;
    size_t at = 0;
    if (!row->llama.by_order) {
        while (at + SAMPI_TILE < row->n && run + *tile < want) run += *tile++, at += SAMPI_TILE;
        for (; at < row->n && run < want; at++) before = run, run += (double)e[at];
    } else {
        sampi_row sorted = *row;
        float max = sampi_row_max(row);
        sorted.llama.divided = false;
        sorted.r = 1.0f;
        sampi_llama_head(&sorted, 1024);
        if (sorted.llama.cur.size > row->n / 4) return false;
        row->llama.cur = sorted.llama.cur;
        if (row->llama.divided) sampi_llama_scale(&row->llama.cur, row->r);
        for (; at < row->llama.cur.size && run < want; at++)
            before = run, run += (double)expf(row->llama.cur.data[at].logit - max);
    }
    *i = at - 1;
    return at > 0 && before < want - off && run >= want + off;
}

/* Finds the same token as sampi_llama_find, for a row that does not count as sorted, from estimates of the sums of
   tiles; only the terms of one tile are computed. An estimated term has the error of the kernel `sweep`, which
   estimates exp, and the rounding errors of the logit l = x / t (or of its estimate x (1 / t)) and of l - max. These
   rounding errors are at most 5e-7 for each nat that l is below max, plus 2e-7 for each nat of max. The variable `off`
   bounds the error of two such sums. */
static SAMPI_COLD bool sampi_llama_find_by_estimates(sampi_row *row, float max, double u, size_t *i)
{
    double *tile = (double *)(void *)row->work->sum, z = 0.0, s = 0.0, run = 0.0, before = 0.0, d;
    float r = row->llama.divided ? 1.0f / row->r : 1.0f, e[SAMPI_TILE + 32];
    size_t t = 0, at = 0;
    sampi_pieces it;
    if (row->llama.by_order || !(fabsf(max) < 1000.0f)) return false;
    for (sampi_start(&it, row); sampi_next_tile(&it); t++) {
        row->k->sweep(it.x, it.n, r, max, &tile[t], &d);
        z += tile[t];
        s += d;
    }
    double want = u * z, off = z * (5e-6 + 4e-7 * fabs((double)max)) + 1e-6 * s;
    for (t = 0; t + 1 < sampi_n_tiles(row->n) && run + tile[t] < want;) run += tile[t++];
    sampi_tile_at(&it, t * SAMPI_TILE);
    (void)row->llama.expf(it.x, it.n, row->llama.divided ? row->r : 1.0f, max, e);
    for (; at < it.n && run < want; at++) before = run, run += (double)e[at];
    *i = t * SAMPI_TILE + at - 1;
    return at > 0 && before < want - off && run >= want + off;
}

/* Applies dist to a row. */
static SAMPI_COLD int sampi_fast_llama_dist(sampi_row *row, sampi_sampler *s)
{
    bool first_is_masked = !row->llama.by_order && !(sampi_present(row, 0) >= row->floor);
    double u = sampi_mt_double(sampi_mt_of(s));
    size_t i;
    if (u == 0.0 && first_is_masked) return SAMP_E_EMPTY; /* llama.cpp selects the first token, which is masked */
    if (row->floor > -FLT_MAX) sampi_gather(row, row->floor);
    float max = sampi_row_max(row);
    if (sampi_llama_find_by_estimates(row, max, u, &i)) {
        row->token = sampi_id_at(row, i);
        return SAMP_OK;
    }
    double sum = sampi_llama_exps(row, row, max);
    if (sampi_llama_find(row, sum, u, (double)row->n * SAMPI_SUM_DOUBT, &i)) {
        row->token = row->llama.by_order ? row->llama.cur.data[i].id : sampi_id_at(row, i);
    } else {
        row->perf->n_exact++;
        sampi_llama_array(row, row->llama.by_order);
        sampi_llama_choose(&row->llama.cur, u);
        row->token = row->llama.cur.data[row->llama.cur.selected].id;
    }
    row->llama.cur.data = NULL;
    return SAMP_OK;
}

/* Applies dist, as the last member of a chain, to the array row->llama.cur. p is not changed. */
static SAMPI_COLD void sampi_llama_dist_array(sampi_row *row, double u)
{
    samp_token_data_array *cur = &row->llama.cur;
    sampi_row all = *row;
    size_t i;
    for (size_t at = 0; at < cur->size; at += SAMPI_TILE) (void)sampi_copy_logits(cur, at, row->work->x + at);
    sampi_set_tokens(&all, row->work->x, NULL, cur->size);
    all.llama.by_order = false;
    (void)sampi_scan(&all);
    bool found = sampi_llama_find_by_estimates(&all, all.top, u, &i);
    if (!found) {
        double sum = sampi_llama_exps(&all, &all, all.top);
        found = sampi_llama_find(&all, sum, u, (double)cur->size * SAMPI_SUM_DOUBT, &i);
    }
    if (found)
        cur->selected = (int64_t)i;
    else
        sampi_llama_choose(cur, u);
}

/* Returns the entropy of a row. Its first candidates are in row->llama.cur, sorted and with p. */
static SAMPI_COLD float sampi_llama_row_entropy(const sampi_row *row, const sampi_llama_sums *sums)
{
    sampi_float_terms c = { sums->max, 0.0f, logf(sums->sum) / sums->sum, 1.0f / sums->sum, sums->sum };
    return sampi_llama_sum_sorted(row, row, c, sampi_llama_entropy(&row->llama.cur));
}

/* Applies typical to the tokens of a row whose logits are at least `floor`. The row has no masked tokens. False:
   typical may keep tokens below the floor too. */
static SAMPI_COLD bool sampi_llama_typical_from(sampi_row *row, sampi_sampler *s, const sampi_llama_sums *sums,
                                                float entropy, float floor)
{
    samp_token_data_array *cur = &row->llama.cur;
    const float *e = row->work->logits;
    sampi_row part = *row;
    bool as_given = row->x && row->n_change == 0;
    double run = 0.0, enough = (double)s->u.cut.p + (double)row->n / (1 << 24); /* with the error of a float sum */
    (void)sampi_llama_exps(row, row, sums->max);
    sampi_gather(&part, floor);
    for (size_t i = 0; i < part.n; i++) row->work->x[i] = -sampi_llama_score(e[part.id[i]] / sums->sum, entropy);
    *cur = sampi_sorted_array(&part);
    size_t end = 0;
    while (end < part.n && (run <= enough || end <= s->u.cut.min_keep)) { /* to one token behind the kept ones */
        const size_t i = end;
        const float score = cur->data[i].logit;
        for (; end < part.n && cur->data[end].logit == score; end++) {
            samp_token_data *d = &cur->data[end];
            d->logit = (as_given ? row->x[d->id] : sampi_present(row, (size_t)d->id)) + 0.0f;
            run += (double)(d->p = e[d->id] / sums->sum);
        }
        sampi_sort_part(&SAMPI_BY_LOGIT, cur->data + i, end - i, end - i, 64);
    }
    cur->size = end;
    cur->sorted = false;
    sampi_llama_keep_share(cur, s->u.cut.p, true, s->u.cut.min_keep);
    float score = sampi_llama_score(cur->data[cur->size - 1].p, entropy), below = expf(floor - sums->max) / sums->sum;
    return part.n == row->n || (cur->size < end && score < sampi_llama_score(below, entropy) - 1e-3f);
}

/* Applies typical. The head (the first candidates in order) is enough if the surprise -ln p of its last token is larger
   than the entropy: every token outside of the head is less probable than that token, so it is less typical too.
   Otherwise more tokens are read, at last all. */
static SAMPI_COLD int sampi_fast_llama_typical(sampi_row *row, sampi_sampler *s)
{
    sampi_llama_sums sums;
    samp_token_data_array *cur = &row->llama.cur;
    if (!sampi_llama_sorted_sums(row, &sums)) return SAMPI_DECLINED;
    size_t size = cur->size;
    for (size_t i = 0; i < size; i++) cur->data[i].p = sampi_llama_p(&sums, cur->data[i].logit);
    float entropy = sampi_llama_row_entropy(row, &sums), last = cur->data[size - 1].p;
    if (last > 0.0f && -logf(last) > entropy) {
        sampi_llama_sort_by_score(s, cur, &sums, entropy);
        sampi_llama_keep_share(cur, s->u.cut.p, true, s->u.cut.min_keep);
        float score = sampi_llama_score(cur->data[cur->size - 1].p, entropy);
        if (cur->size < size && score < sampi_llama_score(last, entropy) - 1e-5f) return SAMP_OK;
    }
    float floor = sums.max + logf(sums.sum) - entropy - 4.0f;
    size_t many = 2 * s->u.cut.min_keep;
    float low = many > size && many < row->n ? sampi_row_bound(row, many) : floor;
    if (low < floor) floor = low;
    bool found = sampi_llama_typical_from(row, s, &sums, entropy, floor) ||
                 sampi_llama_typical_from(row, s, &sums, entropy, -FLT_MAX);
    if (!found) cur->data = NULL;
    return found ? SAMP_OK : (int)SAMPI_DECLINED;
}

/* Temperature 0: sets the floor to the maximum, and masks all tokens that equal it except the first. */
static SAMPI_COLD int sampi_llama_mask_all_but_first(sampi_row *row)
{
    sampi_row best = *row;
    sampi_gather_first(&best, 1);
    float max = best.top;
    size_t n = best.n;
    if (!sampi_has_room(row, n)) return SAMPI_DECLINED;
    for (size_t i = 0, seen = 0; i < n; i++)
        if (best.x[i] == max && seen++ > 0) sampi_set_element(row, (size_t)best.id[i], -INFINITY);
    row->floor = max;
    return sampi_end_changes(row, true);
}

/* Applies temp or temp_ext. The row's elements stay; they are divided by the temperature whenever logits are read. */
static SAMPI_COLD int sampi_fast_llama_temp(sampi_row *row, sampi_sampler *s)
{
    float t = s->u.temp.t;
    if (row->llama.divided) return SAMPI_DECLINED;
    if (s->u.temp.delta > 0.0f) {
        sampi_llama_sums sums;
        if (!sampi_llama_sorted_sums(row, &sums)) return SAMPI_DECLINED;
        for (size_t i = 0; i < row->llama.cur.size; i++)
            row->llama.cur.data[i].p = sampi_llama_p(&sums, row->llama.cur.data[i].logit);
        t = sampi_llama_temp_of(s, sampi_llama_row_entropy(row, &sums), row->n);
        row->llama.cur.data = NULL;
        if (!(t > 0.0f)) return SAMPI_DECLINED;
        row->llama.by_order = true;
    } else if (!(t > 0.0f)) {
        return row->llama.by_order ? (int)SAMPI_DECLINED : sampi_llama_mask_all_but_first(row);
    }
    row->r = t;
    row->llama.divided = true;
    return SAMP_OK;
}

/* Returns the index that sampi_llama_discrete would select with the random number u, for probabilities e / sum. */
static SAMPI_COLD size_t sampi_llama_discrete_of(const float *e, size_t n, float sum, double u)
{
    double all = 0.0, run = 0.0;
    size_t i = 0;
    for (size_t j = 0; j < n; j++) all += (double)(e[j] / sum);
    for (; i + 1 < n; i++) {
        run += (double)(e[i] / sum) / all;
        if (run >= u) break;
    }
    return i;
}

/* Applies adaptive_p. llama.cpp draws from p, which is e / sum rounded to float; this code searches the sums of e, so
   that rounding is the error that it allows for. */
static SAMPI_COLD int sampi_fast_llama_adaptive_p(sampi_row *row, sampi_sampler *s)
{
    float max = sampi_row_max(row), *e = row->work->logits;
    bool adapts = !(s->u.adaptive.target < 0.0f);
    size_t i;
    if (row->n < 2) return SAMPI_DECLINED;
    double total = sampi_llama_exps(row, row, max);
    sampi_llama_sums sums = { max, sampi_exact_float_sum(e, row->n, 0.0f) };
    float sum = sums.sum;
    if (adapts) {
        sampi_row adapted = *row;
        row->k->adapt(e, row->n, sum, sampi_adaptive_p_aim(&s->u.adaptive));
        bool is_full = sampi_is_full(row);
        for (i = 0; i < row->n && !is_full; i++)
            if (sampi_masked(sampi_present(row, i))) e[i] = -INFINITY;
        memcpy(row->work->x, e, row->n * sizeof *e);
        sampi_set_tokens(&adapted, row->work->x, NULL, row->n);
        (void)sampi_scan(&adapted);
        total = sampi_llama_exps(row, &adapted, adapted.top);
        sum = sampi_exact_float_sum(e, row->n, 0.0f);
    }
    double u = sampi_mt_double(sampi_mt_of(s));
    if (!sampi_llama_find(row, total, u, 1.0 / (1 << 22), &i)) {
        row->perf->n_exact++;
        i = sampi_llama_discrete_of(e, row->n, sum, u);
    }
    float l = sampi_logit_of(row, sampi_present(row, i));
    if (sampi_masked(l)) return row->array ? SAMPI_DECLINED : (int)SAMP_E_EMPTY;
    row->token = (samp_token)i;
    row->llama.sum = (double)sum;
    if (adapts) {
        s->now.pending = row->array ? row->array->data[i].id : row->token;
        s->now.pending_p = sampi_llama_p(&sums, l);
        if (row->array) sampi_set_tokens(row, row->work->x, NULL, row->n); /* samp_apply writes these logits */
    }
    return SAMP_OK;
}

/* Is the surprise of the logit l at most mu? `what` points to the sampler and the sums; sampi_least calls this. */
static bool sampi_llama_reaches(const void *what, float l)
{
    const void *const *of = (const void *const *)what;
    return sampi_llama_is_within((const sampi_sampler *)of[0], (const sampi_llama_sums *)of[1], l);
}

/* Draws from the kept tokens of a row as sampi_llama_discrete does, and changes mu. row->llama.cur has the first of
   these tokens in order, and `sums` are the sums over all of them. total: their sum of e^(l - max), with an error of at
   most `doubt`. p is rounded to float, so the sum of all p has an error of at most `off`. False: the error could change
   the token. */
static SAMPI_COLD bool sampi_llama_mirostat_draw(sampi_row *row, sampi_sampler *s, const sampi_llama_sums *sums,
                                                 double u, double total, double doubt)
{
    double head = 0.0, head_e = 0.0, run = 0.0, before = 0.0;
    samp_token_data *d = row->llama.cur.data;
    size_t i = 0;
    for (size_t j = 0; j < row->llama.cur.size; j++) {
        d[j].p = sampi_llama_p(sums, d[j].logit);
        head += (double)d[j].p;
        head_e += (double)expf(d[j].logit - sums->max);
    }
    double rest = (total - head_e) / (double)sums->sum, want = u * (head + rest);
    double off = fabs(rest) * (1.0 / (1 << 23)) + 1e-15 * (double)row->n + doubt / (double)sums->sum;
    for (; i < row->llama.cur.size && run < want; i++) before = run, run += (double)d[i].p;
    if (i == 0 || !(before < want - off && run >= want + off)) return false;
    row->token = d[i - 1].id;
    sampi_llama_follow(s, d[i - 1].p);
    row->llama.cur.data = NULL;
    return true;
}

/* Returns an estimate of the sum of e^(l - max) over some tokens of a row; *doubt: a bound of its error, as in
   sampi_llama_find_by_estimates. */
static SAMPI_COLD double sampi_llama_estimate_total(const sampi_row *part, float max, double *doubt)
{
    double sum = 0.0, slope = 0.0, z, s;
    sampi_pieces it;
    for (sampi_start(&it, part); sampi_next_piece(&it);) {
        part->k->sweep(it.x, it.n, 1.0f, max, &z, &s);
        sum += z;
        slope += s;
    }
    *doubt = 5e-6 * sum + 1e-6 * slope;
    return sum;
}

/* Applies mirostat or mirostat_v2. If few tokens are kept, they become an array. If many are, the drawn token is mostly
   among the first of them, so only these are sorted. */
static SAMPI_COLD int sampi_fast_llama_mirostat(sampi_row *row, sampi_sampler *s)
{
    bool v1 = s->kind == SAMPI_MIROSTAT;
    sampi_llama_sums sums;
    if (v1 && s->u.mirostat.m > 512) return SAMPI_DECLINED;
    if (!sampi_llama_sorted_sums(row, &sums)) return SAMPI_DECLINED;
    size_t keep = (v1 ? sampi_llama_zipf : sampi_llama_within)(s, &row->llama.cur, &sums);
    if (keep < row->llama.cur.size) {
        row->llama.cur.size = keep;
        (void)sampi_llama_mirostat_select(s, &row->llama.cur);
        row->token = row->llama.cur.data[row->llama.cur.selected].id;
        if (!row->array) row->llama.cur.data = NULL;
        return SAMP_OK;
    }
    if (row->array) return SAMPI_DECLINED; /* samp_apply has to write all kept tokens in order */
    const void *of[2] = { s, &sums };
    float floor = v1 ? 0.0f
                     : sampi_least(sampi_llama_reaches, of, row->llama.cur.data[row->llama.cur.size - 1].logit);
    if (!v1) keep = sampi_row_count(row, floor, INFINITY);
    double u = sampi_mt_double(sampi_mt_of(s));
    for (int is_exact = 0; is_exact < 2; is_exact++) {
        sampi_row part = *row;
        if (keep < row->n && v1) sampi_keep_first(&part, keep);
        if (keep < row->n && !v1) sampi_gather(&part, floor);
        double doubt = 0.0;
        double total = is_exact ? sampi_llama_exps(row, &part, sums.max)
                                : sampi_llama_estimate_total(&part, sums.max, &doubt);
        if (keep < row->n) {              /* otherwise the part is the whole row */
            float *x = row->work->logits; /* sampi_llama_head below overwrites the part, so it is copied */
            memcpy(x, part.x, part.n * sizeof *x);
            sampi_set_tokens(&part, x, NULL, part.n);
            sampi_llama_head(row, 512);
            if (row->llama.cur.size > part.n) return SAMPI_DECLINED;
            if (!is_exact) sampi_llama_total(row, &part, &sums);
        }
        if (sampi_llama_mirostat_draw(row, s, &sums, u, total, doubt)) return SAMP_OK;
    }
    return SAMPI_DECLINED;
}
