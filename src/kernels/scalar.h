/* ================================================================================================== >>scalar
   The kernels in plain C, one element at a time. They are the reference for the contract (kernels/contract.h), and
   tests compare the vector kernels with them. They also run on machines without vector kernels. Vector kernels do not
   call the functions marked SAMPI_COLD. */

static SAMPI_CALLED size_t sampi_fetch_scalar(const void *x, samp_dtype dtype, const uint32_t *mask, size_t at,
                                              size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) out[i] = sampi_element(x, dtype, mask, at + i);
    return n;
}

static SAMPI_COLD float sampi_maxima_scalar(const void *x, samp_dtype dtype, const uint32_t *mask, size_t n,
                                            float *line)
{
    float max = -INFINITY, buf[SAMPI_LINE];
    bool nan = false;
    for (size_t i = 0; i < (n + SAMPI_TILE - 1) / SAMPI_TILE * 16; i++) line[i] = -INFINITY;
    for (size_t i = 0; i < n; i += SAMPI_LINE, line++) {
        size_t len = n - i < SAMPI_LINE ? n - i : SAMPI_LINE;
        sampi_fetch_scalar(x, dtype, mask, i, len, buf);
        for (size_t j = 0; j < len; j++) {
            nan |= buf[j] != buf[j];
            if (buf[j] > *line) *line = buf[j];
        }
        if (*line > max) max = *line;
    }
    return nan ? NAN : max;
}

static SAMPI_COLD void sampi_sweep_scalar(const float *x, size_t n, float r, float max, double *z, double *s)
{
    *z = *s = 0.0;
    for (size_t i = 0; i < n; i++) {
        float d = sampi_roundf(x[i] * r) - max;
        if (!(d > SAMPI_LEAST_D)) d = SAMPI_LEAST_D;
        double e = sampi_exp(0.0f, d) / (double)SAMPI_MAX_WEIGHT;
        *z += e;
        *s = SAMPI_FMA(e, -(double)d, *s);
    }
}

static SAMPI_COLD void sampi_moments_scalar(const float *x, size_t n, float pivot, double *moment)
{
    moment[0] = moment[1] = moment[2] = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (sampi_masked(x[i])) continue;
        double v = (double)x[i] - (double)pivot;
        moment[0] += 1.0;
        moment[1] += v;
        moment[2] = SAMPI_FMA(v, v, moment[2]);
    }
}

static void sampi_fold_scalar(const float *line, size_t n, float *out, size_t m)
{
    memcpy(out, line, m * sizeof *out);
    for (size_t i = m; i < n; i += m)
        for (size_t j = 0; j < m; j++)
            if (line[i + j] > out[j]) out[j] = line[i + j];
}

static size_t sampi_collect_scalar(const float *x, const int32_t *id, int32_t base, size_t n, float floor,
                                   float below, float *x_out, int32_t *id_out)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        x_out[kept] = x[i];
        id_out[kept] = id ? id[i] : base + (int32_t)i;
        kept += x_out[kept] >= floor && x_out[kept] < below;
    }
    return kept;
}

static size_t sampi_pick_scalar(const float *x, size_t n, const int32_t *line, size_t m, float floor, float *x_out,
                                int32_t *id_out)
{
    size_t kept = 0;
    for (size_t h = 0; h < m; h++) {
        size_t at = (size_t)line[h] * SAMPI_LINE, len = n - at < SAMPI_LINE ? n - at : SAMPI_LINE;
        kept += sampi_collect_scalar(x + at, NULL, (int32_t)at, len, floor, INFINITY, x_out + kept, id_out + kept);
    }
    return kept;
}

static size_t sampi_count_scalar(const float *x, size_t n, float floor)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += x[i] >= floor;
    return count;
}

static SAMPI_COLD uint64_t sampi_weights_scalar(const float *x, size_t n, float max, uint64_t *w, double *e)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t weight = sampi_weight(max, x[i]);
        if (w) w[i] = weight;
        if (e) e[i] = sampi_exp(max, x[i]) / (double)SAMPI_MAX_WEIGHT;
        sum += weight;
    }
    return sum;
}

static void sampi_probs_scalar(const float *x, const double *e, size_t n, float max, double z, float *p)
{
    (void)e; /* not used, because kernels without fma compute e with an error in its last bits */
    for (size_t i = 0; i < n; i++) p[i] = sampi_masked(x[i]) ? 0.0f : (float)(sampi_exp(max, x[i]) / z);
}

static uint64_t sampi_mass_scalar(const float *x, const uint64_t *w, size_t n, float floor)
{
    uint64_t mass = 0;
    for (size_t i = 0; i < n; i++) mass += x[i] >= floor ? w[i] : 0;
    return mass;
}

static SAMPI_COLD void sampi_sums_scalar(const float *x, size_t n, float r, float max, float floor, bool with_s,
                                         sampi_sums *sums)
{
    (void)with_s; /* here s takes no more time */
    for (size_t i = 0; i < n; i++) {
        if (sampi_masked(x[i])) continue;
        uint64_t z = sums->z;
        sampi_sum_add(sums, max, sampi_roundf(x[i] * r));
        if (x[i] >= floor) sums->above += sums->z - z;
    }
}

static SAMPI_COLD void sampi_envelope_scalar(const float *x, size_t n, float r, float max, float floor,
                                             uint64_t *tile)
{
    for (size_t i = 0; i < n; i++) {
        if (i % SAMPI_TILE == 0) tile[i / SAMPI_TILE] = 0;
        if (x[i] >= floor) tile[i / SAMPI_TILE] += sampi_envelope(max, sampi_roundf(x[i] * r));
    }
}

static void sampi_scale_scalar(const float *x, size_t n, float r, bool divided, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = sampi_masked(x[i]) ? x[i] : sampi_finite(SAMPI_LLAMA_CPP && divided ? x[i] / r : x[i] * r);
}

static void sampi_adapt_scalar(float *e, size_t n, float sum, float aim)
{
    for (size_t i = 0; i < n; i++) e[i] = sampi_adaptive_p_logit(SAMPI_LLAMA_CPP ? e[i] / sum : e[i], aim);
}

/* Do the ids ascend? */
static SAMPI_CALLED bool sampi_ascends(const samp_token_data *d, size_t n)
{
    size_t i = 1;
    while (i < n && d[i].id > d[i - 1].id) i++;
    return i >= n;
}

static SAMPI_COLD bool sampi_survey_scalar(const samp_token_data *d, size_t n, float *x, float *line, float *top)
{
    if (x) (void)sampi_fetch_scalar(d, SAMPI_CANDIDATE, NULL, 0, n, x);
    *top = sampi_maxima_scalar(d, SAMPI_CANDIDATE, NULL, n, line);
    return n == 0 || (d->id >= 0 && sampi_ascends(d, n));
}

static void sampi_put_scalar(samp_token_data *d, size_t n, const float *l, const float *p, double sum)
{
    for (size_t i = 0; i < n; i++) d[i].logit = l[i];
    for (size_t i = 0; i < n && p; i++) d[i].p = SAMPI_LLAMA_CPP ? (float)((double)p[i] / sum) : p[i];
}

#ifdef SAMPLING_GUMBEL_DECLARED
static size_t sampi_race_scalar(const uint32_t *counter, const uint32_t *key, const int32_t *id, int32_t base,
                                size_t n, uint32_t most, int32_t *hit)
{
    uint32_t at[4] = { counter[0], counter[1], counter[2], 0 }, out[4];
    size_t hits = 0;
    for (size_t i = 0; i < n; i++) {
        at[3] = (uint32_t)(id ? id[i] : base + (int32_t)i);
        sampi_philox(at, key, out);
        if (~out[1] <= most) hit[hits++] = (int32_t)i;
    }
    return hits;
}
#endif

#ifdef SAMPLING_WATERMARK_DECLARED
static size_t sampi_marks_scalar(const uint32_t *counter, const uint32_t *key, uint32_t from, size_t n,
                                 uint32_t least, int32_t *hit)
{
    uint32_t at[4] = { from, counter[0], counter[1], counter[2] }, out[4];
    size_t hits = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 4 == 0) sampi_philox(at, key, out), at[0]++;
        if (out[i % 4] >= least) hit[hits++] = (int32_t)i;
    }
    return hits;
}

static void sampi_tint_scalar(const sampi_colours *c, uint32_t from, size_t n, float delta, float *x)
{
    for (size_t i = 0; i < n; i++)
        if (!sampi_masked(x[i]) && sampi_is_green(c, from + (uint32_t)i)) x[i] = sampi_green_logit(x[i], delta);
}
#endif
