/* ---- the table of kinds ----
   sampi_traits_of and the table of kinds: a kind is a type of sampler, such as top_p, and has one row in the table
   (core/table.h). This file comes after the files of all samplers, because the rows name their functions. Each
   sampler's row is in its own file. Only the chain's row is here, because the functions of chains are spread over
   life/. */

SAMPI_HOOKS(CHAIN, NULL, NULL, NULL, sampi_chain_settings, NULL, NULL, sampi_chain_state, NULL, sampi_chain_past,
            sampi_life_clone_chain, sampi_chain_free, NULL, NULL, NULL, NULL, NULL);

#define SAMPI_CHAIN_ROW \
    "chain", 0, 0, "", 0, SAMPI_NO_FIELDS, NULL, &SAMPI_CHAIN_HOOKS, NULL, NULL, SAMPI_BY_LLAMA_CPP(NULL)

/* The row of a kind whose optional part is not compiled. No sampler of that kind can exist. */
#define SAMPI_NO_ROW \
    "", 0, 0, "", SAMPI_IF_NAMED, SAMPI_NO_FIELDS, NULL, &SAMPI_NO_HOOKS, NULL, NULL, SAMPI_BY_LLAMA_CPP(NULL)
#ifndef SAMPI_GUMBEL_ROW
#define SAMPI_GUMBEL_ROW SAMPI_NO_ROW
#endif
#ifndef SAMPI_GRAMMAR_ROW
#define SAMPI_GRAMMAR_ROW SAMPI_NO_ROW
#endif
#ifndef SAMPI_CONSTRAINT_ROW
#define SAMPI_CONSTRAINT_ROW  SAMPI_NO_ROW
#define SAMPI_TOP_P_DECAY_ROW SAMPI_NO_ROW
#define SAMPI_TIMESTAMPS_ROW  SAMPI_NO_ROW
#endif
#ifndef SAMPI_WATERMARK_ROW
#define SAMPI_WATERMARK_ROW SAMPI_NO_ROW
#define SAMPI_SYNTHID_ROW   SAMPI_NO_ROW
#define SAMPI_SBW_ROW       SAMPI_NO_ROW
#endif

/* Returns the row of a kind; never NULL. Code whose action depends on the kind reads the row, instead of comparing
   kinds. */
static const sampi_traits *sampi_traits_of(sampi_kind kind)
{
    static const sampi_traits traits[SAMPI_N_KINDS] = {
#define SAMPI_KIND_ROW(id, plan) { SAMPI_##id##_ROW },
        SAMPI_KINDS(SAMPI_KIND_ROW)
#undef SAMPI_KIND_ROW
    };
    return &traits[kind];
}
