/* ---- what the host knows of each kind ----
   Which step a sampler becomes, what it does to the array, and what of its state comes back from the device. The rest
   of the host asks these functions and knows no kinds, but for sampi_gpu_fill_rules in gpu/sending.h, which makes the
   rules of logit_bias, penalties and dry. Only sampi_gpu_update_last changes a sampler. */

/* Does the device have a step for it? A test hides kinds by this, to see the CPU take over. */
#ifndef SAMPI_GPU_KNOWS
#define SAMPI_GPU_KNOWS(s) true
#endif

/* Is there a plan for its kind? Else the route leaves it to the CPU. */
static bool sampi_gpu_has_step(const sampi_sampler *s)
{
    if (!SAMPI_GPU_KNOWS(s)) return false;
    switch (s->kind) {
#define SAMPI_X(KIND, plan) \
    case SAMPI_##KIND: return strcmp(#plan, "none") != 0;
        SAMPI_KINDS(SAMPI_X)
#undef SAMPI_X
        default: return false;
    }
}

/* A sampler's numbers as its step has them. Of samplers that change single logits only penalties' are needed there: the
   device counts its window itself; the rules are the host's to make. */
static void sampi_gpu_copy_numbers(sampi_gpu_step *step, const sampi_sampler *s)
{
    if (s->kind == SAMPI_LOGIT_BIAS || s->kind == SAMPI_DRY) return;
    memcpy(&step->u, &s->u, sizeof step->u);
    step->now.mu = s->now.mu;
}

/* A sampler's kind, or that of a simpler one which does the same. */
static sampi_kind sampi_gpu_kind_of(const sampi_sampler *s)
{
    if (s->kind == SAMPI_TEMP_EXT && !(s->u.temp.delta > 0.0f)) return SAMPI_TEMP;
    if (s->kind == SAMPI_ADAPTIVE_P && s->u.adaptive.target < 0.0f) return SAMPI_DIST;
    return s->kind;
}

/* What the table of kinds in sampling.h says of this one. */
static unsigned sampi_gpu_flags(const sampi_sampler *s) { return sampi_traits_of(s->kind)->flags; }

/* It changes single logits by rules, whatever the others are. Such a sampler's step comes with rules, and its tokens
   are taken out of the row. */
static bool sampi_gpu_patches(const sampi_sampler *s) { return sampi_gpu_flags(s) & SAMPI_PATCHES; }

/* After this sampler the array holds no masked tokens, and only those that are left: what the device's list is. The
   other samplers that remove tokens mask them, or leave masked ones where they are. */
static bool sampi_gpu_removes(const sampi_sampler *s) { return sampi_gpu_flags(s) & SAMPI_DROPS; }

/* This one masks none: behind one that removes, the array is still the device's list. */
static bool sampi_gpu_masks_none(const sampi_sampler *s)
{
    return sampi_gpu_flags(s) & SAMPI_MASKS_NONE && !sampi_temp_masks(s);
}

/* Can its rules stay on the device, which then moves them on by itself (sampi_gpu_next_rules)? Not dry's, which a token
   changes all; not those of tokens beyond the vocabulary, of which the device knows nothing; nor those of a long
   window, for which it has no room. Only asked of samplers that change single logits. */
static bool sampi_gpu_keeps_rules(const sampi_sampler *s, size_t n_vocab)
{
    if (s->kind == SAMPI_DRY) return false;
    if (s->kind == SAMPI_LOGIT_BIAS) {
        const samp_logit_bias *bias = (const samp_logit_bias *)sampi_part(s, 0);
        for (int32_t i = 0; i < s->u.bias.n; i++)
            if ((size_t)bias[i].token >= n_vocab) return false;
        return true;
    }
    const uint32_t n = s->u.penalties.n;
    const bool inside = n == 0 || (size_t)sampi_penalties_list(s)[n - 1].token < n_vocab;
    return inside && s->u.penalties.ring.cap <= SAMPI_RULES;
}

/* The state that the device has left the last sampler in, with the token that it chose and the value that its step has
   left in the result. Called by commit_row, before the chain accepts the token: adaptive_p takes what is pending into
   its averages only then. */
static void sampi_gpu_update_last(const sampi_gpu_step *step, sampi_sampler *last, samp_token token, float value)
{
    if (step->kind != SAMPI_ADAPTIVE_P) {
        last->now.mu = value;
        return;
    }
    last->now.pending = token;
    last->now.pending_p = value;
}

/* The other way: the sampler's state, once it has accepted the token, into the host's copy of its step. The device has
   done the same to its own, by the same functions; the copy is what is sent, if it must be sent again. */
static void sampi_gpu_follow_last(sampi_gpu_step *step, const sampi_sampler *last)
{
    if (sampi_gpu_flags(last) & SAMPI_SELECTS) sampi_gpu_copy_numbers(step, last);
}
