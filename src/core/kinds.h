/* ---- the table of kinds ----
   sampi_traits_of, one row a kind: names, what it draws, flags, apply and its fast forms, hooks. It stands behind all
   that it names; core/table.h says what each column means. Hooks stand by place, as C++11 has no designated
   initialisers. */

/* clang-format off */
/* From clone to kept: its bytes are all of it, and it masks no row. */
#define SAMPI_BYTES_ONLY NULL, NULL, NULL, NULL, NULL

static const sampi_hooks SAMPI_NO_HOOKS = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, SAMPI_BYTES_ONLY };
/*  prepare, build, settings,
    accept, reset, state, take_over, past,
    clone, free, mask, ready, kept */
static const sampi_hooks SAMPI_LOGIT_BIAS_HOOKS = {
    sampi_logit_bias_prepare, sampi_logit_bias_build, sampi_logit_bias_settings,
    NULL, NULL, NULL, NULL, NULL,
    SAMPI_BYTES_ONLY
};
static const sampi_hooks SAMPI_PENALTIES_HOOKS = {
    sampi_penalties_prepare, NULL, NULL,
    sampi_penalties_accept, sampi_penalties_reset, sampi_penalties_state, sampi_penalties_take_over,
    sampi_penalties_past,
    SAMPI_BYTES_ONLY
};
static const sampi_hooks SAMPI_DRY_HOOKS = {
    sampi_dry_prepare, sampi_dry_build, sampi_dry_settings,
    sampi_dry_accept, sampi_dry_reset, sampi_dry_state, sampi_dry_take_over, sampi_dry_past,
    SAMPI_BYTES_ONLY
};
static const sampi_hooks SAMPI_INFILL_HOOKS = {
    sampi_infill_prepare, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL,
    SAMPI_BYTES_ONLY
};
static const sampi_hooks SAMPI_MIROSTAT_HOOKS = {
    NULL, NULL, NULL,
    NULL, sampi_mirostat_reset, sampi_mirostat_state, sampi_mirostat_take_over, sampi_mirostat_past,
    SAMPI_BYTES_ONLY
};
static const sampi_hooks SAMPI_ADAPTIVE_P_HOOKS = {
    NULL, NULL, NULL,
    sampi_adaptive_p_accept, sampi_adaptive_p_reset, sampi_adaptive_p_state, sampi_adaptive_p_take_over,
    sampi_adaptive_p_past,
    SAMPI_BYTES_ONLY
};
static const sampi_hooks SAMPI_CHAIN_HOOKS = {
    NULL, NULL, sampi_chain_settings,
    NULL, NULL, sampi_chain_state, NULL, sampi_chain_past,
    sampi_clone_chain, sampi_chain_free, NULL, NULL, NULL
};
static const sampi_hooks SAMPI_CUSTOM_HOOKS = {
    NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL,
    sampi_clone_custom, sampi_custom_free, NULL, NULL, NULL
};
#ifdef SAMPLING_GRAMMAR_DECLARED
static const sampi_hooks SAMPI_GRAMMAR_HOOKS = {
    NULL, NULL, sampi_grammar_settings,
    NULL, NULL, sampi_grammar_state, NULL, NULL,
    sampi_grammar_clone, sampi_grammar_free, sampi_grammar_row, sampi_grammar_ready, sampi_grammar_kept
};
#endif
#ifdef SAMPLING_CONSTRAINTS_DECLARED
static const sampi_hooks SAMPI_CONSTRAINT_HOOKS = {
    NULL, NULL, sampi_constraint_settings,
    sampi_constraint_accept, sampi_constraint_reset, sampi_constraint_state, NULL, sampi_constraint_past,
    SAMPI_BYTES_ONLY
};
static const sampi_hooks SAMPI_TOP_P_DECAY_HOOKS = {
    NULL, sampi_decay_build, sampi_decay_settings,
    sampi_decay_accept, sampi_decay_reset, sampi_decay_state, NULL, sampi_decay_past,
    SAMPI_BYTES_ONLY
};
#endif
/* clang-format on */

/* The only way to a row; never NULL. What depends on the kind asks here, instead of comparing kinds. */
static const sampi_traits *sampi_traits_of(sampi_kind kind)
{
    static const sampi_traits traits[SAMPI_N_KINDS] = {
#define SAMPI_KIND_TRAITS(id, name, draws, letter, step, flags, off, hooks, apply, llama, fast, fast_llama)          \
    { name, draws, letter, step, flags, hooks, apply, fast SAMPI_BY_LLAMA_CPP(llama, fast_llama) },
        SAMPI_KINDS(SAMPI_KIND_TRAITS)
#undef SAMPI_KIND_TRAITS
    };
    return &traits[kind];
}
