/* ---- without llama.cpp's arithmetic (SAMP_NO_MT19937) ----
   The names of core/mt19937.h, for a library without llama.cpp's arithmetic. Each
   function or macro here says that no sampler computes as llama.cpp does, so the compiler drops the code for that
   case. */

#define SAMPI_RNG_NAMES "philox"

/* Returns SAMP_OK for Philox, SAMP_E_UNSUPPORTED for MT19937, which is left out, and SAMP_E_RANGE if there is no such
   source. */
static SAMPI_COLD int sampi_rng_status(samp_rng_kind rng)
{
    if (rng == SAMP_RNG_MT19937) return SAMP_E_UNSUPPORTED;
    return rng == SAMP_RNG_PHILOX ? SAMP_OK : SAMP_E_RANGE;
}

#define sampi_is_llama_cpp(s)                   ((void)(s), false)
#define sampi_rng_differs(s, t)                 ((void)(s), (void)(t), false)
#define sampi_mt_size(kind)                     0
#define sampi_begin_mt(s)                       ((void)0)
#define sampi_note_mt(s)                        ((void)0)
#define sampi_restore_mt(s)                     ((void)0)
#define sampi_take_over_mt(s, old)              ((void)0)
#define sampi_io_mt(io, s)                      ((void)0)
#define sampi_apply_of(traits, is_llama)        ((traits)->apply)
