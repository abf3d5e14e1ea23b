/* =============================================================================================== >>llama_cpp
   Chains in a llama.cpp program (SAMPLING_LLAMA): tokens from llama.cpp's contexts, a sampler object for llama.cpp, and
   vocabularies of its models. The files in llama_cpp/ call only public functions of the library. llama.cpp's functions
   are declared here under other names, and bound to the names that the linker knows, so no declaration clashes with
   llama.h. No struct of llama.cpp is needed, because its array of candidates has the same layout.

   llama.cpp deletes a sampler as a C++ object, so llama.cpp must also make it (llama_sampler_init). */

/* Binds a declaration, which comes before the macro, to llama.cpp's function `name`. A program that finds llama.cpp's
   functions at run time defines the macro as nothing, and defines the functions samp_llama_fn_... itself. */
#ifndef SAMP_LLAMA_SYMBOL
#define SAMPI_LABEL(prefix)     #prefix
#define SAMPI_LABEL_OF(prefix)  SAMPI_LABEL(prefix) /* a second macro, so that `prefix` is expanded first */
#define SAMP_LLAMA_SYMBOL(name) __asm__(SAMPI_LABEL_OF(__USER_LABEL_PREFIX__) #name)
#endif

struct llama_model;

/* llama.cpp's interface of a sampler. Versions of llama.cpp have three layouts: with six functions, with ten (four more
   for samplers in the device's graph), and with twelve. An older version does not read the functions that it does not
   have, and NULL means "not supported" to a newer one. */
typedef struct samp_llama_i {
    const char *(*name)(const struct llama_sampler *);
    void (*accept)(struct llama_sampler *, samp_token);
    void (*apply)(struct llama_sampler *, samp_token_data_array *);
    void (*reset)(struct llama_sampler *);
    struct llama_sampler *(*clone)(const struct llama_sampler *);
    void (*free)(struct llama_sampler *);
    void (*device[6])(void);
} samp_llama_i;

/* llama.cpp's sampler object. ctx points to the chain of this library. */
typedef struct samp_llama_object {
    const samp_llama_i *iface;
    void *ctx;
} samp_llama_object;

/* clang-format off */
#ifdef __cplusplus
extern "C" {
#endif
struct llama_sampler *samp_llama_fn_init(const samp_llama_i *, void *) SAMP_LLAMA_SYMBOL(llama_sampler_init);
float *samp_llama_fn_logits(struct llama_context *, int32_t) SAMP_LLAMA_SYMBOL(llama_get_logits_ith);
const struct llama_model *samp_llama_fn_model(const struct llama_context *) SAMP_LLAMA_SYMBOL(llama_get_model);
const struct llama_vocab *samp_llama_fn_vocab(const struct llama_model *) SAMP_LLAMA_SYMBOL(llama_model_get_vocab);
int32_t samp_llama_fn_n_vocab(const struct llama_vocab *) SAMP_LLAMA_SYMBOL(llama_vocab_n_tokens);
bool samp_llama_fn_is_eog(const struct llama_vocab *, samp_token) SAMP_LLAMA_SYMBOL(llama_vocab_is_eog);
samp_token samp_llama_fn_eos(const struct llama_vocab *) SAMP_LLAMA_SYMBOL(llama_vocab_eos);
samp_token samp_llama_fn_eot(const struct llama_vocab *) SAMP_LLAMA_SYMBOL(llama_vocab_eot);
int32_t samp_llama_fn_piece(const struct llama_vocab *, samp_token, char *, int32_t n, int32_t lstrip, bool special)
    SAMP_LLAMA_SYMBOL(llama_token_to_piece);
int32_t samp_llama_fn_tokenize(const struct llama_vocab *, const char *, int32_t n_text, samp_token *, int32_t n,
                               bool add_special, bool parse_special) SAMP_LLAMA_SYMBOL(llama_tokenize);
#ifdef __cplusplus
}
#endif
/* clang-format on */

SAMP_API samp_token samp_llama_sample(samp_sampler *chain, struct llama_context *ctx, int32_t idx)
{
    if (!chain || !ctx) return SAMP_E_NULL;
    const float *logits = samp_llama_fn_logits(ctx, idx);
    const struct llama_vocab *vocab = samp_llama_fn_vocab(samp_llama_fn_model(ctx));
    /* without logits the result is SAMP_E_NULL */
    return samp_sample(chain, logits, (size_t)samp_llama_fn_n_vocab(vocab));
}
