/* chain_text.h - a chain as a text, "top_p 0.9; temp 0.8; dist 4": samplers by their names with the numbers that their
   constructors take, in that order; what is left out at the end is 0. A logit_bias is its n_vocab, then tokens with their
   biases. Include it behind case.h. */
#ifndef CHAIN_TEXT_H
#define CHAIN_TEXT_H

enum { MOST_NUMBERS = 9 };

static samp_sampler *sampler_of_text(const char *name, const double *v)
{
#define IS(text) (strcmp(name, text) == 0)
    const float x = (float)v[0], y = (float)v[1], z = (float)v[2];
    const int32_t n = (int32_t)v[0];
    const size_t keep = (size_t)v[1];
    const uint64_t seed = (uint64_t)v[0];
    const samp_logit_bias bias[2] = { { (samp_token)v[1], z }, { (samp_token)v[3], (float)v[4] } };
    if (IS("logit_bias")) return samp_init_logit_bias(n, 2, bias);
    if (IS("top_n_sigma")) return samp_init_top_n_sigma(x);
    if (IS("top_k")) return samp_init_top_k(n);
    if (IS("tail_free")) return samp_init_tail_free(x, keep);
    if (IS("typical")) return samp_init_typical(x, keep);
    if (IS("top_p")) return samp_init_top_p(x, keep);
    if (IS("min_p")) return samp_init_min_p(x, keep);
    if (IS("top_a")) return samp_init_top_a(x, keep);
    if (IS("p_less")) return samp_init_p_less(x, keep);
    if (IS("p_less_norm")) return samp_init_p_less_norm(x, keep);
    if (IS("epsilon")) return samp_init_epsilon(x, keep);
    if (IS("eta")) return samp_init_eta(x, keep);
    if (IS("xtc")) return samp_init_xtc(x, y, (size_t)v[2], (uint64_t)v[3]);
    if (IS("temp")) return samp_init_temp(x);
    if (IS("temp_ext")) return samp_init_temp_ext(x, y, z);
    if (IS("smoothing")) return samp_init_smoothing(x, y);
    if (IS("softmax")) return samp_init_softmax();
    if (IS("greedy")) return samp_init_greedy();
    if (IS("dist")) return samp_init_dist(seed);
    if (IS("gumbel")) return samp_init_gumbel(seed);
    if (IS("mirostat")) return samp_init_mirostat(n, (uint64_t)v[1], z, (float)v[3], (int32_t)v[4]);
    if (IS("mirostat_v2")) return samp_init_mirostat_v2(seed, y, z);
    if (IS("adaptive_p")) return samp_init_adaptive_p(x, y, (uint64_t)v[2]);
    fprintf(stderr, "no sampler \"%s\"\n", name);
    abort();
#undef IS
}

static samp_sampler *chain_of_text(const char *text)
{
    samp_sampler *chain = open_chain(); /* which takes samplers in any order */
    while (*text) {
        char name[32], *end = (char *)text;
        double v[MOST_NUMBERS] = { 0 };
        int n = 0;
        if (sscanf(text, " %31[a-z_0-9]%n", name, &n) != 1) abort();
        text += n;
        for (int i = 0; i < MOST_NUMBERS; i++, text = end) {
            v[i] = strtod(text, &end);
            if (end == text) break;
        }
        samp_chain_add(chain, sampler_of_text(name, v));
        text += *text == ';';
    }
    return close_chain(chain);
}

#endif /* CHAIN_TEXT_H */
