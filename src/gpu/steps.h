/* ---- what the host knows of each kind ----
   Which step a sampler becomes, what it does to the array, and which of its state comes back from the device. The rest
   of the host's code asks these functions and contains no list of kinds, except sampi_gpu_fill_rules in gpu/sending.h,
   which makes the rules of logit_bias, penalties and dry. Only sampi_gpu_update_last changes a sampler. */

/* Whether the device has a step (code) for a sampler. A test redefines it to hide kinds, so that the CPU takes over. */
#ifndef SAMPI_GPU_KNOWS
#define SAMPI_GPU_KNOWS(s) true
#endif

/* Whether the sampler's kind has a plan, which the device can run. Otherwise the CPU runs it. */
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

/* Copies a sampler's numbers to its step, which is the device's form of a sampler. Of samplers that change single
   logits, only penalties' numbers are needed there, because the device updates its window itself; the host makes the
   rules. */
static void sampi_gpu_copy_numbers(sampi_gpu_step *step, const sampi_sampler *s)
{
    if (s->kind == SAMPI_LOGIT_BIAS || s->kind == SAMPI_DRY) return;
    memcpy(&step->u, &s->u, sizeof step->u);
    step->now.mu = s->now.mu;
}

/* Returns a sampler's kind, or that of a simpler one that does the same. */
static sampi_kind sampi_gpu_kind_of(const sampi_sampler *s)
{
    if (s->kind == SAMPI_TEMP_EXT && !(s->u.temp.delta > 0.0f)) return SAMPI_TEMP;
    if (s->kind == SAMPI_ADAPTIVE_P && s->u.adaptive.target < 0.0f) return SAMPI_DIST;
    return s->kind;
}

/* Returns the flags of the sampler's kind in sampling.h's table. */
static unsigned sampi_gpu_flags(const sampi_sampler *s) { return sampi_traits_of(s->kind)->flags; }

/* Whether the sampler changes single logits by rules (one per token), independently of the others. Its step comes with
   rules, and their tokens are taken out of the row. */
static bool sampi_gpu_patches(const sampi_sampler *s) { return sampi_gpu_flags(s) & SAMPI_PATCHES; }

/* Whether the array after this sampler holds exactly the remaining tokens and no masked ones, as the device's list
   does. Other samplers that remove tokens mask them, or leave masked ones in place. */
static bool sampi_gpu_removes(const sampi_sampler *s) { return sampi_gpu_flags(s) & SAMPI_DROPS; }

/* Whether the sampler masks no token: after one that removes tokens, the array is then still the device's list. */
static bool sampi_gpu_masks_none(const sampi_sampler *s)
{
    return sampi_gpu_flags(s) & SAMPI_MASKS_NONE && !sampi_temp_masks(s);
}

/* Whether the sampler's rules can stay on the device, which then updates them itself (sampi_gpu_next_rules). dry's
   cannot, because a token changes them all; nor can those of tokens beyond the vocabulary, which the device does not
   have; nor those of a long window, for which it has no room. Only for samplers that change single logits. */
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

/* Writes the state that the device has computed to the last sampler: the token that it chose, and the value that its
   step has left in the result. commit_row calls it before the chain accepts the token, because adaptive_p adds its
   pending probability to its averages only then. */
static void sampi_gpu_update_last(const sampi_gpu_step *step, sampi_sampler *last, samp_token token, float value)
{
    if (step->kind != SAMPI_ADAPTIVE_P) {
        last->now.mu = value;
        return;
    }
    last->now.pending = token;
    last->now.pending_p = value;
}

/* Copies the last sampler's state, once it has accepted the token, to the host's copy of its step. The device has
   updated its own copy likewise, by the same functions; the host's copy is sent if the job must be sent again. */
static void sampi_gpu_follow_last(sampi_gpu_step *step, const sampi_sampler *last)
{
    if (sampi_gpu_flags(last) & SAMPI_SELECTS) sampi_gpu_copy_numbers(step, last);
}
