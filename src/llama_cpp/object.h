/* ---- llama.cpp: a chain as a llama_sampler ----
   samp_llama_init makes an object with llama.cpp's interface. Each function of the interface calls a public function on
   the chain. The interface has no statuses: if samp_apply fails, no candidate is selected. */

static samp_sampler *sampi_behind(const struct llama_sampler *s)
{
    return (samp_sampler *)((const samp_llama_object *)(const void *)s)->ctx;
}

static const char *sampi_behind_name(const struct llama_sampler *s) { return samp_name(sampi_behind(s)); }
static void sampi_behind_accept(struct llama_sampler *s, samp_token token) { samp_accept(sampi_behind(s), token); }
static void sampi_behind_reset(struct llama_sampler *s) { samp_reset(sampi_behind(s)); }
static void sampi_behind_free(struct llama_sampler *s) { samp_free(sampi_behind(s)); }

/* Applies the chain to llama.cpp's array of candidates. If samp_apply fails, some samplers may have been applied
   already, and one may have selected a candidate, so `selected` becomes -1. */
static void sampi_behind_apply(struct llama_sampler *s, samp_token_data_array *cur)
{
    if (samp_apply(sampi_behind(s), cur) != SAMP_OK && cur) cur->selected = -1;
}

static struct llama_sampler *sampi_behind_clone(const struct llama_sampler *s)
{
    samp_sampler *copy = samp_clone(sampi_behind(s));
    struct llama_sampler *clone = samp_llama_init(copy);
    if (!clone) samp_free(copy);
    return clone;
}

static const samp_llama_i *sampi_llama_iface(void)
{
    static const samp_llama_i iface = {
        sampi_behind_name,
        sampi_behind_accept,
        sampi_behind_apply,
        sampi_behind_reset,
        sampi_behind_clone,
        sampi_behind_free,
        { NULL, NULL, NULL, NULL, NULL, NULL },
    };
    return &iface;
}

SAMP_API struct llama_sampler *samp_llama_init(samp_sampler *chain)
{
    return chain && !((sampi_sampler *)chain)->owner ? samp_llama_fn_init(sampi_llama_iface(), chain) : NULL;
}

SAMP_API samp_sampler *samp_llama_chain(const struct llama_sampler *s)
{
    const samp_llama_object *object = (const samp_llama_object *)(const void *)s;
    return s && object->iface == sampi_llama_iface() ? sampi_behind(s) : NULL;
}
