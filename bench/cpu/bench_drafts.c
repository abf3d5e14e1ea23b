/* bench_drafts.c -- how many tokens a step of drafting gives, by each way to test a draft.
 *
 *     make bench      prints it at its end;   ./build/bench_drafts STEPS     other than 20,000 steps
 *
 * A made-up model of order one over 64 tokens is drafted for by one that differs from it by noise on the logits, at
 * temperature 1: a line of four tokens, or a tree of eight, four deep, with two candidates at each place of its first
 * branch, the second of which was drawn without the first. A step's tokens are those that are accepted and one more. */
#define SAMPLING_DRAFTS
#include "bench/bench.h"

enum { V = 64, DEEP = 4, NODES = 8 };
typedef enum { BY_RATIO, BY_BLOCK, BY_TREE, N_WAYS } way;

static const int32_t parent_of[NODES] = { -1, -1, 0, 0, 2, 2, 4, 4 };

typedef struct models {
    float logits[V][V]; /* behind each token */
    double q[V][V];     /* what the small one says there */
} models;

static void make_models(models *m, double noise)
{
    source rng = source_seed(7);
    for (int last = 0; last < V; last++) {
        double sum = 0;
        for (int i = 0; i < V; i++) {
            m->logits[last][i] = (float)(2 * normal(&rng));
            sum += m->q[last][i] = exp(m->logits[last][i] + noise * normal(&rng));
        }
        for (int i = 0; i < V; i++) m->q[last][i] /= sum;
    }
}

/* Token j, of the children of a node the first or the second; its row of probs and of logits. */
static void draft_token(const models *m, samp_token last, samp_token sibling, source *rng, samp_token *token,
                        float *probs)
{
    double u = uniform(rng), gone = sibling < 0 ? 0 : m->q[last][sibling], left = 1 - gone;
    *token = -1;
    for (int i = 0; i < V; i++) {
        double q = i == sibling ? 0 : m->q[last][i] / left;
        probs[i] = (float)q;
        if (q > 0 && u >= 0) *token = i; /* the last one that u reaches */
        u -= q;
    }
}

/* Tokens in a step, on average. */
static double tokens_per_step(const models *m, way how, long steps)
{
    static float probs[NODES * V], logits[(NODES + 1) * V];
    samp_token tokens[NODES], out[NODES + 1], last = 0;
    int32_t n = how == BY_TREE ? NODES : DEEP, parent[NODES];
    samp_draft draft = { (size_t)n, tokens, probs, NULL, 0, NULL };
    samp_sampler *chain = samp_init_dist(3);
    source rng = source_seed(8);
    long sum = 0;
    for (int32_t j = 0; j < n; j++) parent[j] = how == BY_TREE ? parent_of[j] : j - 1;
    for (long step = 0; step < steps; step++) {
        memcpy(logits, m->logits[last], sizeof m->logits[0]);
        for (int32_t j = 0; j < n; j++) {
            samp_token before = parent[j] < 0 ? last : tokens[parent[j]];
            samp_token sibling = j && parent[j] == parent[j - 1] ? tokens[j - 1] : -1;
            draft_token(m, before, sibling, &rng, &tokens[j], probs + j * V);
            memcpy(logits + (j + 1) * V, m->logits[tokens[j]], sizeof m->logits[0]);
        }
        int32_t a = how == BY_RATIO ? samp_verify(chain, logits, V, &draft, SAMP_VERIFY_RATIO, out)
                    : how == BY_BLOCK
                        ? samp_verify_block(chain, logits, V, &draft, out)
                        : samp_verify_tree(chain, logits, V, &draft, parent, SAMP_VERIFY_RATIO, out, NULL);
        if (a < 0 || out[a] < 0) bench_fail("a draft could not be tested", samp_strerror(a < 0 ? a : out[a]));
        sum += a + 1;
        last = out[a];
    }
    samp_free(chain);
    return (double)sum / (double)steps;
}

int main(int argc, char **argv)
{
    static models m;
    static const struct {
        const char *name;
        double noise;
    } quality[] = { { "good", 0.4 }, { "fair", 0.9 }, { "poor", 1.6 } };
    long steps = argc > 1 ? atol(argv[1]) : 20000;
    if (steps < 1) bench_fail("usage: bench_drafts [STEPS]", NULL);
    printf("\ntokens per step, drafts of %d tokens (tree: %d)\n%-8s %8s %8s %8s\n", DEEP, NODES, "draft", "ratio",
           "block", "tree");
    for (size_t i = 0; i < sizeof quality / sizeof *quality; i++) {
        make_models(&m, quality[i].noise);
        printf("%-8s", quality[i].name);
        for (way how = BY_RATIO; how < N_WAYS; how = (way)(how + 1))
            printf(" %8.3f", tokens_per_step(&m, how, steps));
        printf("\n");
    }
    return 0;
}
