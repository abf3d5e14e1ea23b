/* The compiler's error for the macro of an optional part that is defined too late, after this header was already
   included without it. The user gets this one error instead of hundreds. */
#if defined(SAMPLING_KV) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_KV_DECLARED) && !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_KV before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_LLAMA) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_LLAMA_DECLARED) && !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_LLAMA before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_GRAMMAR) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_GRAMMAR_DECLARED) && \
    !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_GRAMMAR before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_SHARDS) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_SHARDS_DECLARED) && \
    !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_SHARDS before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_GUMBEL) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_GUMBEL_DECLARED) && \
    !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_GUMBEL before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_PEERS) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_PEERS_DECLARED) && !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_PEERS before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_DRAFTS) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_DRAFTS_DECLARED) && \
    !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_DRAFTS before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_CONSTRAINTS) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_CONSTRAINTS_DECLARED) && \
    !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_CONSTRAINTS before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_WATERMARK) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_WATERMARK_DECLARED) && \
    !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_WATERMARK before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_STOP) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_STOP_DECLARED) && !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_STOP before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_VOCAB) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_VOCAB_DECLARED) && !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_VOCAB before the first #include of this file, wherever it is included"
#endif
#if defined(SAMPLING_SEARCH) && defined(SAMPLING_DECLARED) && !defined(SAMPLING_SEARCH_DECLARED) && \
    !defined(SAMPI_ONCE)
#error "sampling.h: define SAMPLING_SEARCH before the first #include of this file, wherever it is included"
#endif
