/* ways.c - the code of src/llama_cpp/README.md (build/llama/ways.h has its blocks), beside llama.cpp:
 *
 *     ways BINS MODEL
 *
 * make_chain, next_token and make_sampler are the README's. Each must give llama.cpp's tokens, and a clone, a copy in
 * llama.cpp's own chain and one that is reset must go on as they should; so must dry with the model's vocabulary. */
#include "llama_c.h"
#include "ways.h"

static llama_context *ctx;
static int n_failed;

enum { LENGTH = 40 };

static void begin(void) { llama_begin(ctx, "Once upon a time"); }

/* Draw `n` tokens by one of the ways, and go on with them. */
static void draw(samp_sampler *chain, llama_sampler *sampler, int32_t *out, int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = chain ? next_token(chain, ctx) : llama_sampler_sample(sampler, ctx, -1);
        if (out[i] < 0) {
            fprintf(stderr, "ways: %s\n", samp_strerror(out[i]));
            exit(1);
        }
        llama_read(ctx, &out[i], 1);
    }
}

static void same(const char *what, const int32_t *a, const int32_t *b, int n)
{
    int differ = 0;
    for (int i = 0; i < n; i++) differ += a[i] != b[i];
    if (differ) n_failed++;
    printf("ways: %-28s %d tokens, %d differences\n", what, n, differ);
}

static llama_sampler *theirs(void)
{
    return llama_chain(llama_sampler_init_top_k(40), llama_sampler_init_top_p(0.95f, 0),
                       llama_sampler_init_min_p(0.05f, 0), llama_sampler_init_temp(0.8f),
                       llama_sampler_init_dist(42));
}

static void ways(void)
{
    int32_t want[LENGTH], got[LENGTH];
    llama_sampler *chain = theirs(), *ours = make_sampler(42);
    samp_sampler *seam = make_chain(42);
    begin();
    draw(NULL, chain, want, LENGTH);
    begin();
    draw(seam, NULL, got, LENGTH);
    same("seam", want, got, LENGTH);
    begin();
    draw(NULL, ours, got, LENGTH / 2);
    llama_sampler *clone = llama_sampler_clone(ours),
                  *outer = llama_sampler_chain_init(llama_sampler_chain_default_params());
    llama_sampler_free(ours);
    llama_sampler_chain_add(outer, clone);
    draw(NULL, outer, got + LENGTH / 2, LENGTH / 2);
    same("interface, cloned half-way", want, got, LENGTH);
    llama_sampler_reset(outer);
    begin();
    draw(NULL, outer, got, LENGTH);
    same("interface, reset", want, got, LENGTH);
    if (strcmp(llama_sampler_name(clone), "chain") || samp_llama_chain(outer) || !samp_llama_chain(clone)) n_failed++;
    llama_sampler_free(outer); /* clone with it */
    llama_sampler_free(chain);
    samp_free(seam);
}

/* dry asks for the vocabulary, and for its tokenizer. */
static void vocabulary(void)
{
    static const char *breakers[] = { "\n", "king", ", and", "ther" };
    const llama_vocab *model = llama_model_get_vocab(llama_get_model(ctx));
    samp_vocab *vocab = samp_llama_vocab_init((const struct llama_vocab *)model);
    int32_t want[LENGTH], got[LENGTH];
    llama_sampler *chain = llama_chain(llama_sampler_init_dry(model, 3.0f, 1.75f, 1, 128, breakers, 4),
                                       llama_sampler_init_top_k(3), llama_sampler_init_dist(7));
    samp_sampler *ours = samp_chain_init();
    samp_chain_add(ours, samp_init_dry(vocab, 128, 3.0f, 1.75f, 1, 128, breakers, 4));
    samp_chain_add(ours, samp_init_top_k(3));
    samp_chain_add(ours, samp_init_dist(7));
    samp_set_rng(ours, SAMP_RNG_MT19937);
    begin();
    draw(NULL, chain, want, LENGTH);
    begin();
    draw(ours, NULL, got, LENGTH);
    same("dry, the model's vocabulary", want, got, LENGTH);
    samp_free(ours);
    samp_llama_vocab_free(vocab);
    llama_sampler_free(chain);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    ctx = llama_open(argv[1], argv[2], 256);
    ways();
    vocabulary();
    llama_close(ctx);
    return n_failed != 0;
}
