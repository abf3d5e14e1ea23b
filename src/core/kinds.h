/* ---- the table of kinds ----
   sampi_traits_of, one row a kind (core/table.h): it stands behind all rooms, as rows name what is in them. The rows
   stand in the rooms of their samplers; here is that of a chain, which is not one room but most of life/. */

/* clang-format off */
/* params, prepare, build, settings; accept, reset, state, take_over, past; clone, free, mask, ready, kept */
static const sampi_hooks SAMPI_CHAIN_HOOKS = {
    NULL, NULL, NULL, sampi_chain_settings,
    NULL, NULL, sampi_chain_state, NULL, sampi_chain_past,
    sampi_clone_chain, sampi_chain_free, NULL, NULL, NULL
};
/* clang-format on */

/* name, draws, letter, steps, flags, fields, off, hooks, apply, fast, and both as llama.cpp computes */
#define SAMPI_CHAIN_ROW \
    "chain", 0, 0, "", 0, SAMPI_NO_FIELDS, NULL, &SAMPI_CHAIN_HOOKS, NULL, NULL, SAMPI_BY_LLAMA_CPP(NULL, NULL)

/* A kind of a part that is not asked for: nobody can make one. */
#define SAMPI_NO_ROW \
    "", 0, 0, "", SAMPI_IF_NAMED, SAMPI_NO_FIELDS, NULL, &SAMPI_NO_HOOKS, NULL, NULL, SAMPI_BY_LLAMA_CPP(NULL, NULL)
#ifndef SAMPI_GUMBEL_ROW
#define SAMPI_GUMBEL_ROW SAMPI_NO_ROW
#endif
#ifndef SAMPI_GRAMMAR_ROW
#define SAMPI_GRAMMAR_ROW SAMPI_NO_ROW
#endif
#ifndef SAMPI_CONSTRAINT_ROW
#define SAMPI_CONSTRAINT_ROW  SAMPI_NO_ROW
#define SAMPI_TOP_P_DECAY_ROW SAMPI_NO_ROW
#endif
#ifndef SAMPI_WATERMARK_ROW
#define SAMPI_WATERMARK_ROW SAMPI_NO_ROW
#define SAMPI_SYNTHID_ROW   SAMPI_NO_ROW
#define SAMPI_SBW_ROW       SAMPI_NO_ROW
#endif

/* The only way to a row; never NULL. What depends on the kind asks here, instead of comparing kinds. */
static const sampi_traits *sampi_traits_of(sampi_kind kind)
{
    static const sampi_traits traits[SAMPI_N_KINDS] = {
#define SAMPI_KIND_ROW(id, plan) { SAMPI_##id##_ROW },
        SAMPI_KINDS(SAMPI_KIND_ROW)
#undef SAMPI_KIND_ROW
    };
    return &traits[kind];
}
