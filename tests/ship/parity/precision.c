/* precision.c - our default arithmetic against long double: which tokens does a truncating sampler keep?
 *
 *   precision [--rows N] [--seed N] [--real FILE] [--peer LIBLLAMA] [-v]      0 if all is precise, else 1
 *
 * Every truncating sampler is applied, with random parameters, to N random rows (20,000 unless told), step by
 * step and under the default random source. An independent reference in long double says what should be kept.
 * Where the two differ, the distance tells how far the cut would have to move for our set to be right,
 * relative to the cut: the probability mass of top_p, the ratio to the largest probability of min_p, the
 * standard deviations of top_n_sigma, and so on. A distance above 1e-7 is a failure. With --peer, the same is
 * printed for llama.cpp, whose sums are float.
 */
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "llama_peer.h"
#include "rows.h"

typedef long double real;

static const double TOLERANCE = 1e-7;

/* clang-format off */
#define TESTS(X) X(TOP_K, "top_k") X(TOP_P, "top_p") X(MIN_P, "min_p") X(TYPICAL, "typical") \
    X(TAIL_FREE, "tail_free") X(XTC, "xtc") X(TOP_N_SIGMA, "top_n_sigma") X(MIROSTAT, "mirostat (its cut)") \
    X(MIROSTAT_V2, "mirostat_v2 (its cut)") X(TEMP_EXT, "temp_ext (its entropy)")

typedef enum test {
#define TEST_ENUM(name, text) name,
    TESTS(TEST_ENUM)
#undef TEST_ENUM
    N_TESTS
} test;

static const char *const test_name[N_TESTS] = {
#define TEST_NAME(name, text) text,
    TESTS(TEST_NAME)
#undef TEST_NAME
};
/* clang-format on */

/* A sampler's parameters: the floats of its constructor in order, and k. */
typedef struct param {
    float x, y, z;
    int32_t k;
} param;

/* What one side did over all rows. */
typedef struct tally {
    uint64_t rows, other, beyond; /* other: not the reference's set; beyond: and out of TOLERANCE */
    double distance;              /* the largest */
    int64_t tokens;               /* the largest difference in the number of tokens kept */
} tally;

/* A row and its reference. Index = rank in the order (logit descending, id ascending), no masked tokens. */
typedef struct row {
    float *logit;       /* [n] by id */
    int32_t n, count;   /* tokens; unmasked tokens */
    int32_t *id, *rank; /* [count] by rank; [n] by id, -1 if masked */
    real *d, *p, *cum;  /* [count] max - logit; probability; sum of p up to this one */
    real entropy;
    bool *kept, *ref; /* [count] what was kept, what should be */
    real *score;      /* [count] of typical */
    int32_t *by_score;
    real temperature; /* of temp_ext */
} row;

/* ------------------------------------------------------------------------------------------ the reference */

static const row *sorting; /* for the comparisons of qsort */

static int by_logit(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    float x = sorting->logit[i], y = sorting->logit[j];
    return x != y ? (x > y ? -1 : 1) : (i > j) - (i < j);
}

static int by_score(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    real x = sorting->score[i], y = sorting->score[j];
    return x != y ? (x < y ? -1 : 1) : (i > j) - (i < j);
}

static void analyse(row *r)
{
    real sum = 0, cum = 0;
    r->count = 0;
    for (int32_t i = 0; i < r->n; i++) {
        r->rank[i] = -1;
        if (r->logit[i] != -INFINITY) r->id[r->count++] = i;
    }
    sorting = r;
    qsort(r->id, (size_t)r->count, sizeof *r->id, by_logit);
    for (int32_t i = 0; i < r->count; i++) {
        r->rank[r->id[i]] = i;
        r->d[i] = (real)r->logit[r->id[0]] - r->logit[r->id[i]];
        r->p[i] = expl(-r->d[i]);
    }
    for (int32_t i = r->count - 1; i >= 0; i--) sum += r->p[i];
    r->entropy = logl(sum);
    for (int32_t i = 0; i < r->count; i++) {
        r->p[i] /= sum;
        r->cum[i] = cum += r->p[i];
        r->entropy += r->p[i] * r->d[i];
    }
}

static real off_by(real x, real cut) { return fabsl(x / cut - 1); }

static void keep_first(row *r, int32_t n)
{
    for (int32_t i = 0; i < r->count; i++) r->ref[i] = i < n;
}

/* k tokens kept in order, where sum [n] had to reach the cut at the last of them. */
static real prefix_distance(const real *sum, int32_t k, int32_t n, real cut)
{
    real distance = 0;
    if (k > 1 && sum[k - 2] >= cut) distance = off_by(sum[k - 2], cut);
    if (k < n && sum[k - 1] < cut) distance = off_by(sum[k - 1], cut);
    return distance;
}

static void ref_typical(row *r, real p)
{
    real mass = 0;
    real ln_z = -logl(r->p[0]);
    memset(r->ref, 0, (size_t)r->count * sizeof *r->ref);
    for (int32_t i = 0; i < r->count; i++) {
        r->score[i] = fabsl(r->d[i] + ln_z - r->entropy);
        r->by_score[i] = i;
    }
    qsort(r->by_score, (size_t)r->count, sizeof *r->by_score, by_score);
    for (int32_t i = 0; i < r->count && mass <= p; i++) {
        r->ref[r->by_score[i]] = true;
        mass += r->p[r->by_score[i]];
    }
}

static real typical_distance(const row *r, real p)
{
    real mass = 0, worst_in = -1, best_out = INFINITY, last = 0, distance = 0;
    for (int32_t i = 0; i < r->count; i++) {
        if (!r->kept[i]) {
            best_out = fminl(best_out, r->score[i]);
            continue;
        }
        mass += r->p[i];
        if (r->score[i] > worst_in) {
            worst_in = r->score[i];
            last = r->p[i];
        }
    }
    if (worst_in > best_out) distance = (worst_in - best_out) / fmaxl(1, r->entropy); /* its terms' size */
    if (mass <= p && best_out < INFINITY) distance = fmaxl(distance, off_by(mass, p));
    if (mass - last > p) distance = fmaxl(distance, off_by(mass - last, p));
    return distance;
}

/* The normalised second differences of tail_free, as running sums in r->score. */
static void tail_free_sums(row *r)
{
    int32_t n = r->count - 2;
    real sum = 0, cum = 0;
    for (int32_t i = 0; i < n; i++) sum += r->score[i] = fabsl(r->p[i] - 2 * r->p[i + 1] + r->p[i + 2]);
    for (int32_t i = 0; i < n; i++) r->score[i] = cum += sum > 1e-6L ? r->score[i] / sum : (real)1 / n;
}

static real mirostat_k(const row *r, real tau)
{
    real tb = 0, tt = 0, s, eps;
    for (int32_t i = 0; i + 1 < r->count && i < 99; i++) {
        real t = logl((real)(i + 2) / (i + 1));
        tb += t * (r->d[i + 1] - r->d[i]);
        tt += t * t;
    }
    s = tb / tt;
    eps = s - 1;
    return powl(eps * powl(2, 2 * tau) / (1 - powl(r->n, -eps)), 1 / s);
}

/* Fill r->ref with the tokens that the sampler should keep. */
static void reference(row *r, test t, const param *a)
{
    int32_t k = r->count;
    switch (t) {
        case TOP_K: k = a->k; break;
        case TOP_P:
            for (k = 1; k < r->count && r->cum[k - 1] < a->x; k++) {
            }
            break;
        case MIN_P:
            for (k = 1; k < r->count && -r->d[k] >= logl(a->x); k++) {
            }
            break;
        case TYPICAL: ref_typical(r, a->x); return;
        case TAIL_FREE:
            if (r->count <= 2) break;
            tail_free_sums(r);
            for (k = 0; k < r->count - 2 && r->score[k] <= a->x; k++) {
            }
            if (k == r->count - 2) k = r->count;
            if (k == 0) k = 1;
            break;
        case XTC: {
            int32_t last = 0;
            while (last + 1 < r->count && r->p[last + 1] >= a->y) last++;
            for (int32_t i = 0; i < r->count; i++) r->ref[i] = i >= last;
            return;
        }
        case TOP_N_SIGMA: {
            real mean = 0, var = 0;
            for (int32_t i = 0; i < k; i++) mean += r->d[i] / k;
            for (int32_t i = 0; i < k; i++) var += (r->d[i] - mean) * (r->d[i] - mean) / k;
            r->temperature = a->x * sqrtl(var); /* the cut on d */
            for (k = 1; k < r->count && r->d[k] <= r->temperature; k++) {
            }
            break;
        }
        case MIROSTAT:
            r->temperature = mirostat_k(r, a->x);
            if (r->temperature < r->count) k = r->temperature < 1 ? 1 : (int32_t)r->temperature;
            break;
        case MIROSTAT_V2:
            for (k = 1; k < r->count && -log2l(r->p[k]) <= 2 * (real)a->x; k++) {
            }
            break;
        case TEMP_EXT: {
            real lo = a->x > a->y ? a->x - a->y : 0, hi = a->x + a->y; /* f32, as the sampler's parameters */
            r->temperature = lo + (hi - lo) * powl(r->entropy / logl(r->count), a->z);
            break;
        }
        default: break;
    }
    keep_first(r, k);
}

/* How far the cut would have to move for r->kept to be right; INFINITY if no cut gives it. */
static real distance_of(const row *r, test t, const param *a)
{
    int32_t n = r->count, k = 0, first = 0;
    for (int32_t i = 0; i < n; i++) k += r->kept[i];
    if (t == TYPICAL) return typical_distance(r, a->x);
    while (first < n && !r->kept[first]) first++;
    for (int32_t i = first; i < first + k; i++)
        if (i >= n || !r->kept[i]) return INFINITY;
    if (k == 0 || (t != XTC && first > 0) || (t == XTC && first + k != n)) return INFINITY;
    switch (t) {
        case TOP_P: return prefix_distance(r->cum, k, n, a->x);
        case TAIL_FREE: /* the sum at rank k had to exceed z, not the one before */
            if (k == n) return n > 2 && r->score[n - 3] > a->x ? off_by(r->score[n - 3], a->x) : 0;
            if (k > n - 2) return INFINITY;
            if (k < n - 2 && r->score[k] <= a->x) return off_by(r->score[k], a->x);
            return k > 1 && r->score[k - 1] > a->x ? off_by(r->score[k - 1], a->x) : 0;
        case XTC:
            if (first > 0 && r->p[first] < a->y) return off_by(r->p[first], a->y);
            return k > 1 && r->p[first + 1] >= a->y ? off_by(r->p[first + 1], a->y) : 0;
        case MIROSTAT:
            if (k > 1 && k > r->temperature) return off_by(k, r->temperature);
            return k < n && k + 1 <= r->temperature ? off_by(k + 1, r->temperature) : 0;
        case MIN_P:
        case MIROSTAT_V2:
        case TOP_N_SIGMA: {
            real worst = 0;
            for (int32_t i = 0; i < n; i++) {
                if (r->kept[i] == r->ref[i]) continue;
                worst = fmaxl(worst, t == MIN_P         ? off_by(expl(-r->d[i]), a->x)
                                     : t == MIROSTAT_V2 ? off_by(r->p[i], exp2l(-2 * (real)a->x))
                                                        : off_by(r->d[i], r->temperature));
            }
            return worst;
        }
        default: return INFINITY;
    }
}

/* ------------------------------------------------------------------------------------------ the two sides */

static void random_param(source *g, test t, const row *r, param *a)
{
    memset(a, 0, sizeof *a);
    switch (t) {
        case TOP_K: a->k = log_between(g, 1, r->count); break;
        case TOP_P:
        case TYPICAL:
        case TAIL_FREE:
            a->x = chance(g, 0.3)   ? PICK(g, 0.5f, 0.9f, 0.95f, 0.99f)
                   : chance(g, 0.2) ? PICK(g, 0.01f, 0.999f, 0.9999f)
                                    : float_between(g, 0.01, 0.999);
            break;
        case MIN_P: a->x = chance(g, 0.3) ? PICK(g, 0.001f, 0.02f, 0.05f, 0.1f) : float_between(g, 0.001, 1); break;
        case XTC:
            a->x = 1;
            a->y = chance(g, 0.3) ? 0.1f : float_between(g, 0.0001, 0.3);
            break;
        case TOP_N_SIGMA: a->x = chance(g, 0.3) ? 1.0f : float_between(g, 0.1, 4); break;
        case MIROSTAT:
        case MIROSTAT_V2: a->x = chance(g, 0.3) ? 5.0f : float_between(g, 0.1, 8); break;
        case TEMP_EXT:
            a->x = float_between(g, 0.1, 2);
            a->y = float_between(g, 0.05, 2);
            a->z = chance(g, 0.5) ? 1.0f : float_between(g, 0.2, 3);
            break;
        default: break;
    }
}

static samp_sampler *make_ours(test t, const param *a, int32_t n_vocab)
{
    switch (t) {
        case TOP_K: return samp_init_top_k(a->k);
        case TOP_P: return samp_init_top_p(a->x, 0);
        case MIN_P: return samp_init_min_p(a->x, 0);
        case TYPICAL: return samp_init_typical(a->x, 0);
        case TAIL_FREE: return samp_init_tail_free(a->x, 0);
        case XTC: return samp_init_xtc(a->x, a->y, 0, 1);
        case TOP_N_SIGMA: return samp_init_top_n_sigma(a->x);
        case MIROSTAT: return samp_init_mirostat(n_vocab, 1, a->x, 0.1f, 100);
        case MIROSTAT_V2: return samp_init_mirostat_v2(1, a->x, 0.1f);
        case TEMP_EXT: return samp_init_temp_ext(a->x, a->y, a->z);
        default: return NULL;
    }
}

static peer_sampler *make_theirs(const llama_peer *peer, test t, const param *a, int32_t n_vocab)
{
    switch (t) {
        case TOP_K: return peer->init_top_k(a->k);
        case TOP_P: return peer->init_top_p(a->x, 0);
        case MIN_P: return peer->init_min_p(a->x, 0);
        case TYPICAL: return peer->init_typical(a->x, 0);
        case XTC: return peer->init_xtc(a->x, a->y, 0, 1);
        case TOP_N_SIGMA: return peer->init_top_n_sigma(a->x);
        case MIROSTAT: return peer->init_mirostat(n_vocab, 1, a->x, 0.1f, 100);
        case MIROSTAT_V2: return peer->init_mirostat_v2(1, a->x, 0.1f);
        case TEMP_EXT: return peer->init_temp_ext(a->x, a->y, a->z);
        default: return NULL;
    }
}

/* temp_ext: the temperature that the logits show, as the normalised entropy H / ln n that it stands for,
 * against the right one. Three roundings to f32 lie in between, those of T, 1 / T and the logit; what they
 * explain is no error. */
static real entropy_error(const row *r, const param *a, const samp_token_data_array *cur)
{
    const real lo = a->x > a->y ? a->x - a->y : 0, hi = a->x + a->y, right = r->entropy / logl(r->count);
    const real rounding = 0x1.8p-23L * r->temperature;
    real worst = 0;
    int32_t left = 0;
    for (size_t i = 0; i < cur->size; i++) left += cur->data[i].logit != -INFINITY;
    for (size_t i = 0; i < cur->size; i++) {
        real was = r->logit[cur->data[i].id], is = cur->data[i].logit;
        real t = left == 1 ? 0 : was / is; /* all but one masked: it was below 2^-20 */
        if (is == 0 || isinf(is) || fabsl(t - r->temperature) <= rounding) continue;
        t += t < r->temperature ? rounding : -rounding;
        worst = fmaxl(worst, fabsl(powl(fmaxl(0, t - lo) / (hi - lo), 1 / (real)a->z) - right));
    }
    return worst;
}

/* Compare what is left in `cur` with the reference. */
static real judge(row *r, test t, const param *a, const samp_token_data_array *cur, tally *sum)
{
    int64_t tokens = 0;
    bool same = true;
    real distance = 0;
    if (t == TEMP_EXT) {
        distance = entropy_error(r, a, cur);
        same = distance <= 0;
    } else {
        memset(r->kept, 0, (size_t)r->count * sizeof *r->kept);
        for (size_t i = 0; i < cur->size; i++)
            if (cur->data[i].logit != -INFINITY) r->kept[r->rank[cur->data[i].id]] = true;
        for (int32_t i = 0; i < r->count; i++) {
            same &= r->kept[i] == r->ref[i];
            tokens += (int)r->kept[i] - (int)r->ref[i];
        }
        if (!same) distance = distance_of(r, t, a);
    }
    sum->rows++;
    sum->other += !same;
    sum->beyond += distance > TOLERANCE;
    if (distance > sum->distance) sum->distance = (double)distance;
    if (llabs(tokens) > llabs(sum->tokens)) sum->tokens = tokens;
    return distance;
}

static void fill(const row *r, samp_token_data_array *cur, samp_token_data *data)
{
    for (int32_t i = 0; i < r->n; i++) data[i] = (samp_token_data){ i, r->logit[i], 0 };
    *cur = (samp_token_data_array){ data, (size_t)r->n, -1, false };
}

/* --------------------------------------------------------------------------------------------------- main */

typedef struct options {
    const char *real, *peer;
    uint64_t rows, seed;
    bool verbose;
} options;

/* All samplers on one row, each with parameters of its own. `data` is room for the candidates. */
static void one_row(row *r, source *g, samp_token_data *data, const llama_peer *peer, const options *o,
                    tally ours[N_TESTS], tally theirs[N_TESTS])
{
    samp_token_data_array cur;
    param a;
    analyse(r);
    for (int t = 0; t < N_TESTS; t++) {
        samp_sampler *s;
        real distance;
        int status;
        random_param(g, (test)t, r, &a);
        if (t == TEMP_EXT && r->count < 2) continue;
        reference(r, (test)t, &a);
        if (t == TEMP_EXT && r->temperature < 0x1p-20L) continue; /* counts as 0 */
        s = make_ours((test)t, &a, r->n);
        fill(r, &cur, data);
        status = samp_apply(s, &cur);
        if (status != SAMP_OK) {
            printf("%s: %s\n", test_name[t], samp_strerror(status));
            ours[t].beyond++;
        }
        distance = judge(r, (test)t, &a, &cur, &ours[t]);
        if (o->verbose && distance > TOLERANCE)
            printf("%s(%.9g, %.9g, %.9g, k %d): %.3Lg from the cut; %d tokens, %d unmasked, range %.3Lg\n",
                   test_name[t], (double)a.x, (double)a.y, (double)a.z, a.k, distance, r->n, r->count,
                   r->d[r->count - 1]);
        samp_free(s);
        /* The peer counts masked tokens where we do not, and typical turns to NaN with a probability of 0. */
        if (!o->peer || t == TAIL_FREE || r->count < r->n) continue;
        if (t == TYPICAL && r->d[r->count - 1] > 80) continue;
        fill(r, &cur, data);
        {
            peer_sampler *p = make_theirs(peer, (test)t, &a, r->n);
            peer_array *array = (peer_array *)&cur;
            peer->apply(p, array);
            peer->free(p);
            judge(r, (test)t, &a, &cur, &theirs[t]);
        }
    }
}

static bool parse(options *o, int argc, char **argv)
{
    *o = (options){ .real = "tests/data/real_rows.f16", .rows = 20000, .seed = 1 };
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "-v")) {
            o->verbose = true;
            continue;
        }
        if (!value) return false;
        i++;
        if (!strcmp(name, "--rows"))
            o->rows = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--seed"))
            o->seed = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--real"))
            o->real = value;
        else if (!strcmp(name, "--peer"))
            o->peer = value;
        else
            return false;
    }
    return true;
}

static int32_t random_size(source *g)
{
    double u = uniform(g);
    return u < 0.02   ? between(g, 1, 3)
           : u < 0.9  ? log_between(g, 4, 4096)
           : u < 0.99 ? log_between(g, 4096, REAL_WIDTH)
                      : log_between(g, REAL_WIDTH, 131072);
}

int main(int argc, char **argv)
{
    static llama_peer peer;
    static tally ours[N_TESTS], theirs[N_TESTS];
    const size_t n = MAX_VOCAB;
    options o;
    row r = { 0 };
    samp_token_data *data = malloc(n * sizeof *data);
    bool fine = true;

    if (!parse(&o, argc, argv)) {
        fprintf(stderr, "usage: precision [--rows N] [--seed N] [--real FILE] [--peer LIBLLAMA] [-v]\n");
        return 2;
    }
    if (!load_rows(o.real) || (o.peer && !peer_load(&peer, o.peer))) return 1;
    r.logit = malloc(n * sizeof *r.logit);
    r.id = malloc(n * sizeof *r.id);
    r.rank = malloc(n * sizeof *r.rank);
    r.by_score = malloc(n * sizeof *r.by_score);
    r.d = malloc(n * sizeof *r.d);
    r.p = malloc(n * sizeof *r.p);
    r.cum = malloc(n * sizeof *r.cum);
    r.score = malloc(n * sizeof *r.score);
    r.kept = malloc(n * sizeof *r.kept);
    r.ref = malloc(n * sizeof *r.ref);

    for (uint64_t i = 0; i < o.rows; i++) {
        source g = source_two(o.seed, i);
        row_shape shape = { .kind = (row_kind)index_below(&g, ROW_REAL_TIES), .n = random_size(&g) };
        if (shape.n > REAL_WIDTH && shape.kind == ROW_REAL) shape.kind = ROW_PEAKED;
        shape.scale = shape.kind == ROW_NORMAL ? PICK(&g, 0.01f, 0.5f, 1.0f, 2.2f, 5.0f, 20.0f) : 0;
        shape.masked = chance(&g, 0.8) ? 0 : float_between(&g, 0, 1);
        r.n = shape.n;
        make_row(&shape, &g, r.logit);
        one_row(&r, &g, data, &peer, &o, ours, theirs);
    }

    printf("| sampler | rows | other tokens kept | farthest from the cut | beyond %g |", TOLERANCE);
    printf(" llama.cpp: rows | other tokens kept | farthest from the cut | most tokens too many or few |\n"
           "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (int t = 0; t < N_TESTS; t++) {
        printf("| %s | %llu | %llu | %.1e | %llu |", test_name[t], (unsigned long long)ours[t].rows,
               (unsigned long long)ours[t].other, ours[t].distance, (unsigned long long)ours[t].beyond);
        long long most = (long long)theirs[t].tokens;
        double percent = 100.0 * (double)theirs[t].other / (double)theirs[t].rows;
        if (theirs[t].rows)
            printf(" %llu | %llu (%.2g %%) | %.1e | %+lld |\n", (unsigned long long)theirs[t].rows,
                   (unsigned long long)theirs[t].other, percent, theirs[t].distance, most);
        else
            printf(" | | | |\n");
        fine &= !ours[t].beyond;
    }
    printf("temp_ext: rows with a temperature that roundings to f32 don't explain; the error of H / ln n.\n");
    return !fine;
}
