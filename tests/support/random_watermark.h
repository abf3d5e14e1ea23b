/* random_watermark.h - watermarks with random numbers, for random chains (case.h, where the implementation is at hand) and
   for programs that call the public functions alone. Include after source.h. */
#ifndef RANDOM_WATERMARK_H
#define RANDOM_WATERMARK_H

/* Histories are short, so that places fall out of them. */
static inline samp_watermark random_watermark(source *s, samp_watermark_kind kind)
{
    static const double share[] = { 0.5, 0.1, 0.9, 0.25, 1e-9, 1.0 - 1e-9 };
    samp_watermark mark = samp_default_watermark(kind);
    mark.key = below(s, 2) ? choose(s, 8) : below(s, 8);
    mark.context_width = below(s, 3) ? 1 + (int32_t)below(s, 5) : 1 + (int32_t)below(s, 64);
    mark.scope = (samp_watermark_scope)below(s, 3);
    mark.history = below(s, 3) ? 1 + (int32_t)below(s, 12) : 1 + (int32_t)below(s, 300);
    mark.alpha = below(s, 3) ? share[below(s, 4)] : (double)below(s, 2);
    mark.depth = below(s, 2) ? 32 : 1 + (int32_t)below(s, 32);
    mark.gamma = share[below(s, 6)];
    mark.delta = below(s, 8) ? (float)below(s, 80) / 16.0f : below(s, 2) ? FLT_MAX : 0.0f;
    mark.seed = choose(s, 2);
    return mark;
}

/* One that selects, or one that does not (SBW). */
static inline samp_sampler *make_watermark(source *s, bool selects)
{
    static const samp_watermark_kind kinds[] = { SAMP_WATERMARK_GUMBEL, SAMP_WATERMARK_GUMBEL_DUAL,
                                                 SAMP_WATERMARK_SYNTHID, SAMP_WATERMARK_SBW_SELFHASH,
                                                 SAMP_WATERMARK_SBW_LEFTHASH };
    samp_watermark mark = random_watermark(s, kinds[selects ? below(s, 3) : 3 + below(s, 2)]);
    return samp_init_watermark(&mark);
}

#endif /* RANDOM_WATERMARK_H */
