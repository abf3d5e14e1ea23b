/* =================================================================================================== >>peers
   Reads requests of other programs, the peers (SAMPLING_PEERS): samp_settings_from makes samp_settings from the JSON of
   a request. Each program is a table of fields. A row has a field's name, the member of samp_params that it sets, its
   default, its range, and what the program does with a value out of that range. The code that reads a request
   (peers/fields.h) has no case for a single program. Rules that involve several fields (penalties that look at
   different texts, sampling that is off) are in peers/requests.h.

   The facts in the tables are from llama.cpp v0.5.0 (tools/server/server-schema.cpp and server-common.cpp,
   common/sampling.cpp and common.h), Ollama v0.33.0-rc2, which runs llama.cpp b10488 (api/types.go,
   llm/llama_server.go), OpenAI's description of its API 2.3.0 (openapi.json, f85dbe2), vLLM of summer and autumn 2026
   (vllm/sampling_params.py, 00388f6; its server's vllm/entrypoints/openai/chat_completion/protocol.py, 002032e;
   docs/features/tool_calling.md, 0064cc9), transformers since 5.13 (generation/configuration_utils.py), Anthropic's SDK
   for Python (src/anthropic/types/message_create_params.py, 00dcf92), and SGLang of summer and autumn 2026: in
   python/sglang/srt sampling/sampling_params.py (00c17ca), managers/io_struct.py (001067f),
   entrypoints/openai/protocol.py (004c82e), sampling/penaltylib (00731f0, 0eaa706), sampling/custom_logit_processor.py
   (065927d), constrained/grammar_manager.py (18cc7bf), and layers/sampler.py, the same in these respects since 584f55d.

   A field that is neither in the program's table nor in its list of skipped fields is an error. */

/* The meanings of a field's value. A neutral value is a value that asks for nothing. */
typedef enum sampi_peer_means {
    SAMPI_PEER_NUMBER,  /* a number, which becomes the member's value */
    SAMPI_PEER_HEAT,    /* vLLM's temperature: 0, or at least 0.01 */
    SAMPI_PEER_COLD,    /* SGLang's temperature, which counts as 0 if it is below 1e-6 */
    SAMPI_PEER_SEED,    /* a whole number; -1 means no seed, if lo is -1 */
    SAMPI_PEER_BIAS,    /* logit_bias: {"id": bias}, or with the flag PAIRS also [[id, bias or false]] */
    SAMPI_PEER_BAN,     /* [id], a list of tokens that get a bias of -infinity */
    SAMPI_PEER_STRINGS, /* dry_breakers: [text], a list of texts */
    SAMPI_PEER_ORDER,   /* llama-server's samplers: a list of names, or a text of letters */
    SAMPI_PEER_SAMPLE,  /* true: draw a token; false: select the most likely token */
    /* a field that is refused unless its value is neutral: `usual`, or if that is "", an empty value */
    SAMPI_PEER_NEUTRAL,
    SAMPI_PEER_PLAIN,    /* a format of answers; {"type": "text"} and "" are neutral */
    SAMPI_PEER_CHOICE,   /* the tool to call; "auto" and "none" are neutral */
    SAMPI_PEER_THINKING, /* the limit of thinking in tokens, or -1 for no limit */
    /* the limit of thinking in Anthropic's object: enabled, with budget_tokens; disabled; adaptive */
    SAMPI_PEER_THOUGHT,
    /* the limit of thinking in SGLang's object, its member thinking_budget; other members are not read */
    SAMPI_PEER_CUSTOM,
    SAMPI_PEER_CALLS,  /* the tool to call in Anthropic's form; {"type": "auto"} and {"type": "none"} are neutral */
    SAMPI_PEER_CONFIG, /* Anthropic's output_config; an effort alone is neutral */
    SAMPI_PEER_TOOLS,  /* a list of tools, refused if a tool that may be called is strict or has a grammar */
    /* an object with fields of the same table: those with the flag INSIDE, or all (with ANYWHERE) */
    SAMPI_PEER_OPTIONS,
    /* what ends the text, for samp_text_from_settings (peers/stops.h): texts, regular expressions, tokens; whether the
       stop is shown; whether end tokens are ignored; how many tokens come before an end */
    SAMPI_PEER_STOPS,
    SAMPI_PEER_STOP_PATTERNS,
    SAMPI_PEER_STOP_TOKENS,
    SAMPI_PEER_STOP_SHOWN,
    SAMPI_PEER_ENDLESS,
    SAMPI_PEER_LEAST,
    SAMPI_PEER_GUIDANCE, /* the scale of classifier-free guidance; 1 is none */
    /* beam search: whether there is one; beams, groups, answers; penalties of length and diversity; early_stopping */
    SAMPI_PEER_SEARCH,
    SAMPI_PEER_BEAMS,
    SAMPI_PEER_GROUPS,
    SAMPI_PEER_ANSWERS,
    SAMPI_PEER_LENGTH,
    SAMPI_PEER_DIVERSITY,
    SAMPI_PEER_EARLY,
    /* what is wanted beside the tokens (peers/wishes.h) */
    SAMPI_PEER_LOGPROBS,
    SAMPI_PEER_TOP_LOGPROBS,
    SAMPI_PEER_PROMPT_LOGPROBS,
    SAMPI_PEER_LOGPROB_IDS,
    SAMPI_PEER_SUPPORT,
    SAMPI_PEER_ENTROPY
} sampi_peer_means;

/* Flags of a field's row. */
enum {
    SAMPI_PEER_NONE = 0,
    SAMPI_PEER_OPEN = 1,      /* the range does not contain lo */
    SAMPI_PEER_CLAMPS = 2,    /* a value out of the range is replaced by the nearest end of the range */
    SAMPI_PEER_RETURNS = 4,   /* a value out of the range is replaced by the default */
    SAMPI_PEER_INSIDE = 8,    /* the field is in the program's object of options */
    SAMPI_PEER_OUTPUT = 16,   /* a penalty that counts generated tokens only */
    SAMPI_PEER_ALL = 32,      /* a penalty that counts tokens of the prompt too */
    SAMPI_PEER_PAIRS = 64,    /* logit_bias may be a list of pairs [id, bias] */
    SAMPI_PEER_32_BITS = 128, /* a seed has 32 bits; 2^32 - 1 means no seed */
    SAMPI_PEER_OURS = 256,    /* the range is that of this library's setting; the program accepts more values */
    SAMPI_PEER_NOT_0 = 512,   /* the range does not contain 0 */
    SAMPI_PEER_BEHIND = 1024, /* a penalty that is applied after the others, and before a logit bias */
    SAMPI_PEER_ONE = 2048,    /* a single value is a list of it */
    SAMPI_PEER_EMPTY = 4096,  /* an empty text in a list is left out; without this flag it is refused */
    SAMPI_PEER_MASKS = 8192,  /* the end tokens are also masked (samp_request.mask_ends) */
    SAMPI_PEER_WAITS = 16384, /* before so many tokens no string stops the text either */
    SAMPI_PEER_INSIDE_EMPTY = SAMPI_PEER_INSIDE | SAMPI_PEER_EMPTY,
    SAMPI_PEER_ONE_EMPTY = SAMPI_PEER_ONE | SAMPI_PEER_EMPTY,
    SAMPI_PEER_OPEN_OUTPUT_BEHIND = SAMPI_PEER_OPEN | SAMPI_PEER_OUTPUT | SAMPI_PEER_BEHIND,
    SAMPI_PEER_OPEN_ALL = SAMPI_PEER_OPEN | SAMPI_PEER_ALL,
    /* lo itself is replaced by the default, other values out of the range by the nearest end */
    SAMPI_PEER_OPEN_CLAMPS_RETURNS = SAMPI_PEER_OPEN | SAMPI_PEER_CLAMPS | SAMPI_PEER_RETURNS,
    SAMPI_PEER_INSIDE_32_BITS = SAMPI_PEER_INSIDE | SAMPI_PEER_32_BITS
};

typedef struct sampi_peer_field {
    const char *name;  /* the name in a request; NULL if the row is only a default of the program */
    const char *param; /* the member of samp_params that the field sets, or NULL */
    uint16_t means;    /* a sampi_peer_means */
    uint16_t how;      /* flags: SAMPI_PEER_OPEN ... SAMPI_PEER_WAITS */
    const char *usual; /* the default, as a text for samp_settings_set; NULL for this library's default */
    double lo, hi;
} sampi_peer_field;

#define SAMPI_MOST            ((double)FLT_MAX)
#define SAMPI_PEER_MOST_BEAMS 4096 /* as samp_beam_params has it */
/* clang-format off */
#define SAMPI_PEER_IS(name, param, how, usual, lo, hi) \
    { name, param, SAMPI_PEER_NUMBER, SAMPI_PEER_##how, usual, lo, hi }
#define SAMPI_PEER_ELSE(param, usual) { NULL, param, SAMPI_PEER_NUMBER, 0, usual, 0, 0 }
#define SAMPI_PEER_ONLY(name, usual) { name, NULL, SAMPI_PEER_NEUTRAL, 0, usual, 0, 0 }
#define SAMPI_PEER_DOES(name, param, means, how, lo, hi) \
    { name, param, SAMPI_PEER_##means, SAMPI_PEER_##how, NULL, lo, hi }

/* Rows that several programs have, from OpenAI's API. */
#define SAMPI_PEER_PENALTIES \
    SAMPI_PEER_IS("frequency_penalty", "penalty_freq", OUTPUT, "0", -2, 2), \
    SAMPI_PEER_IS("presence_penalty", "penalty_present", OUTPUT, "0", -2, 2)
#define SAMPI_PEER_FORMS \
    SAMPI_PEER_DOES("response_format", NULL, PLAIN, NONE, 0, 0), \
    SAMPI_PEER_DOES("tool_choice", NULL, CHOICE, NONE, 0, 0), \
    SAMPI_PEER_DOES("function_call", NULL, CHOICE, NONE, 0, 0)

/* The fields of OpenAI's API reference. It does not define an order of samplers: the order is that of vLLM, which
   serves the same requests. */
static const sampi_peer_field SAMPI_OPENAI[] = {
    SAMPI_PEER_IS("temperature", "temp", NONE, "1", 0, 2),
    SAMPI_PEER_IS("top_p", "top_p", NONE, "1", 0, 1),
    SAMPI_PEER_PENALTIES,
    SAMPI_PEER_ELSE("penalty_last_n", "-1"),
    SAMPI_PEER_DOES("logit_bias", "logit_bias", BIAS, NONE, -100, 100),
    SAMPI_PEER_DOES("seed", "seed", SEED, NONE, 0, 0),
    SAMPI_PEER_FORMS,
    SAMPI_PEER_DOES("tools", NULL, TOOLS, NONE, 0, 0),
    SAMPI_PEER_DOES("stop", NULL, STOPS, ONE, 0, 0),
    SAMPI_PEER_DOES("n", NULL, ANSWERS, NONE, 1, 128),
    { NULL, NULL, 0, 0, NULL, 0, 0 }
};

/* The fields of vLLM's SamplingParams (post_init, verify_args, from_optional). The order of samplers is that of
   v1/sample/sampler.py. */
static const sampi_peer_field SAMPI_VLLM[] = {
    { "temperature", "temp", SAMPI_PEER_HEAT, 0, "1", 0, 2 },
    SAMPI_PEER_IS("top_p", "top_p", OPEN, "1", 0, 1),
    SAMPI_PEER_IS("top_k", "top_k", NONE, "0", -1, SAMPI_MOST),
    SAMPI_PEER_IS("min_p", "min_p", NONE, "0", 0, 1),
    SAMPI_PEER_IS("repetition_penalty", "penalty_repeat", OPEN_ALL, "1", 0, SAMPI_MOST),
    SAMPI_PEER_PENALTIES,
    SAMPI_PEER_ELSE("penalty_last_n", "-1"),
    SAMPI_PEER_DOES("logit_bias", "logit_bias", BIAS, CLAMPS, -100, 100),
    SAMPI_PEER_DOES("seed", "seed", SEED, NONE, -1, 0),
    SAMPI_PEER_FORMS,
    SAMPI_PEER_DOES("tools", NULL, TOOLS, NONE, 0, 0),
    SAMPI_PEER_ONLY("structured_outputs", NULL),
    SAMPI_PEER_ONLY("guided_json", NULL),
    SAMPI_PEER_ONLY("guided_regex", NULL),
    SAMPI_PEER_ONLY("guided_choice", NULL),
    SAMPI_PEER_ONLY("guided_grammar", NULL),
    SAMPI_PEER_ONLY("allowed_token_ids", NULL),
    SAMPI_PEER_ONLY("bad_words", ""),
    SAMPI_PEER_DOES("stop", NULL, STOPS, ONE, 0, 0),
    SAMPI_PEER_DOES("stop_token_ids", NULL, STOP_TOKENS, NONE, 0, 0),
    SAMPI_PEER_DOES("include_stop_str_in_output", NULL, STOP_SHOWN, NONE, 0, 0),
    SAMPI_PEER_DOES("ignore_eos", NULL, ENDLESS, NONE, 0, 0),
    SAMPI_PEER_DOES("min_tokens", NULL, LEAST, WAITS, 0, INT32_MAX),
    SAMPI_PEER_DOES("thinking_token_budget", NULL, THINKING, NONE, -1, INT32_MAX),
    SAMPI_PEER_DOES("use_beam_search", NULL, SEARCH, NONE, 0, 0),
    SAMPI_PEER_DOES("n", NULL, ANSWERS, NONE, 1, 16384),
    SAMPI_PEER_DOES("logprobs", NULL, LOGPROBS, NONE, 0, 0),
    SAMPI_PEER_DOES("top_logprobs", NULL, TOP_LOGPROBS, NONE, 0, 0),
    SAMPI_PEER_DOES("prompt_logprobs", NULL, PROMPT_LOGPROBS, NONE, 0, 0),
    SAMPI_PEER_DOES("logprob_token_ids", NULL, LOGPROB_IDS, NONE, 0, 0),
    SAMPI_PEER_DOES("sampling_mask", NULL, SUPPORT, NONE, 0, 0),
    SAMPI_PEER_DOES("length_penalty", NULL, LENGTH, NONE, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_ONLY("watermarking", "false"),
    SAMPI_PEER_ONLY("logits_processors", NULL),
    SAMPI_PEER_ONLY("trace_decode_token_ids", NULL),
    SAMPI_PEER_ONLY("extra_args", ""),
    SAMPI_PEER_ONLY("vllm_xargs", ""),
    { NULL, NULL, 0, 0, NULL, 0, 0 }
};

/* The fields and defaults of transformers' GenerationConfig. The order of samplers is that of generation/utils.py.
   Fields with a single accepted value belong to a processor of logits that this library does not have. */
static const sampi_peer_field SAMPI_TRANSFORMERS[] = {
    SAMPI_PEER_DOES("do_sample", NULL, SAMPLE, NONE, 0, 0),
    SAMPI_PEER_IS("temperature", "temp", NONE, "1", 0, SAMPI_MOST),
    SAMPI_PEER_IS("top_k", "top_k", NONE, "50", 0, SAMPI_MOST),
    SAMPI_PEER_ELSE("top_k_ties", "1"),
    SAMPI_PEER_IS("top_p", "top_p", NONE, "1", 0, 1),
    SAMPI_PEER_IS("min_p", "min_p", NONE, "0", 0, 1),
    SAMPI_PEER_IS("typical_p", "typ_p", OPEN, "1", 0, 1),
    /* transformers ignores other values */
    SAMPI_PEER_IS("epsilon_cutoff", "epsilon_cutoff", RETURNS, "0", 0, (double)0.99999994f),
    SAMPI_PEER_IS("eta_cutoff", "eta_cutoff", RETURNS, "0", 0, (double)0.99999994f),
    SAMPI_PEER_IS("repetition_penalty", "penalty_repeat", OPEN_ALL, "1", 0, SAMPI_MOST),
    SAMPI_PEER_ELSE("penalty_last_n", "-1"),
    SAMPI_PEER_DOES("suppress_tokens", "logit_bias", BAN, NONE, 0, 0),
    SAMPI_PEER_DOES("num_beams", NULL, BEAMS, NONE, 1, SAMPI_PEER_MOST_BEAMS),
    SAMPI_PEER_DOES("num_beam_groups", NULL, GROUPS, NONE, 1, SAMPI_PEER_MOST_BEAMS),
    SAMPI_PEER_DOES("num_return_sequences", NULL, ANSWERS, NONE, 1, INT32_MAX),
    SAMPI_PEER_DOES("length_penalty", NULL, LENGTH, NONE, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_DOES("diversity_penalty", NULL, DIVERSITY, NONE, 0, SAMPI_MOST),
    SAMPI_PEER_DOES("early_stopping", NULL, EARLY, NONE, 0, 0),
    SAMPI_PEER_ONLY("penalty_alpha", "0"),
    SAMPI_PEER_ONLY("dola_layers", NULL),
    SAMPI_PEER_ONLY("constraints", NULL),
    SAMPI_PEER_ONLY("force_words_ids", NULL),
    SAMPI_PEER_ONLY("top_h", NULL),
    SAMPI_PEER_ONLY("encoder_repetition_penalty", "1"),
    SAMPI_PEER_ONLY("no_repeat_ngram_size", "0"),
    SAMPI_PEER_ONLY("encoder_no_repeat_ngram_size", "0"),
    SAMPI_PEER_ONLY("bad_words_ids", NULL),
    SAMPI_PEER_ONLY("sequence_bias", ""),
    SAMPI_PEER_ONLY("begin_suppress_tokens", ""),
    SAMPI_PEER_ONLY("forced_bos_token_id", NULL),
    SAMPI_PEER_ONLY("forced_eos_token_id", NULL),
    SAMPI_PEER_ONLY("exponential_decay_length_penalty", NULL),
    SAMPI_PEER_ONLY("min_length", "0"),
    SAMPI_PEER_DOES("min_new_tokens", NULL, LEAST, NONE, 0, INT32_MAX),
    SAMPI_PEER_DOES("stop_strings", NULL, STOPS, ONE, 0, 0),
    SAMPI_PEER_DOES("eos_token_id", NULL, STOP_TOKENS, ONE, 0, 0),
    SAMPI_PEER_DOES("guidance_scale", NULL, GUIDANCE, NONE, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_ONLY("watermarking_config", NULL),
    SAMPI_PEER_ONLY("assistant_ensemble_weight", NULL),
    SAMPI_PEER_ONLY("speculation_type", NULL),
    SAMPI_PEER_ONLY("token_healing", "false"),
    SAMPI_PEER_ONLY("remove_invalid_values", "false"),
    { NULL, NULL, 0, 0, NULL, 0, 0 }
};

/* The fields of llama-server's completions (server-schema.cpp), with the defaults of common_params_sampling. */
static const sampi_peer_field SAMPI_LLAMA_SERVER[] = {
    SAMPI_PEER_IS("temperature", "temp", CLAMPS, "0.8", 0, SAMPI_MOST),
    SAMPI_PEER_IS("dynatemp_range", "dynatemp_range", CLAMPS, "0", 0, SAMPI_MOST),
    SAMPI_PEER_IS("dynatemp_exponent", "dynatemp_exponent", OURS, "1", 0, SAMPI_MOST),
    SAMPI_PEER_IS("top_k", "top_k", CLAMPS, "40", 0, INT32_MAX),
    SAMPI_PEER_IS("top_p", "top_p", CLAMPS, "0.95", 0, 1),
    SAMPI_PEER_IS("min_p", "min_p", CLAMPS, "0.05", 0, 1),
    SAMPI_PEER_IS("top_n_sigma", "top_n_sigma", NONE, "-1", -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_IS("xtc_probability", "xtc_probability", CLAMPS, "0", 0, 1),
    SAMPI_PEER_IS("xtc_threshold", "xtc_threshold", CLAMPS, "0.1", 0, 1),
    SAMPI_PEER_IS("typical_p", "typ_p", CLAMPS, "1", 0, 1),
    SAMPI_PEER_IS("repeat_last_n", "penalty_last_n", NONE, "64", 0, INT32_MAX),
    SAMPI_PEER_IS("repeat_penalty", "penalty_repeat", OPEN_ALL, "1", 0, SAMPI_MOST),
    SAMPI_PEER_IS("frequency_penalty", "penalty_freq", ALL, "0", -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_IS("presence_penalty", "penalty_present", ALL, "0", -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_IS("dry_multiplier", "dry_multiplier", OURS, "0", 0, SAMPI_MOST),
    SAMPI_PEER_IS("dry_base", "dry_base", RETURNS, "1.75", 1, SAMPI_MOST),
    SAMPI_PEER_IS("dry_allowed_length", "dry_allowed_length", NONE, "2", 0, INT32_MAX),
    SAMPI_PEER_IS("dry_penalty_last_n", "dry_penalty_last_n", NONE, "64", 0, INT32_MAX),
    SAMPI_PEER_DOES("dry_sequence_breakers", "dry_breakers", STRINGS, NONE, 0, 0),
    SAMPI_PEER_IS("mirostat", "mirostat", CLAMPS, "0", 0, 2),
    SAMPI_PEER_IS("mirostat_tau", "mirostat_tau", OURS, "5", 0, SAMPI_MOST),
    SAMPI_PEER_IS("mirostat_eta", "mirostat_eta", OURS, "0.1", 0, SAMPI_MOST),
    SAMPI_PEER_IS("adaptive_target", "adaptive_target", CLAMPS, "-1", -SAMPI_MOST, 1),
    SAMPI_PEER_IS("adaptive_decay", "adaptive_decay", NONE, "0.9", 0, (double)0.99f),
    SAMPI_PEER_IS("min_keep", "min_keep", NONE, "0", 0, INT32_MAX),
    SAMPI_PEER_DOES("seed", "seed", SEED, 32_BITS, -1, 0),
    SAMPI_PEER_DOES("logit_bias", "logit_bias", BIAS, PAIRS, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_DOES("samplers", NULL, ORDER, NONE, 0, 0),
    SAMPI_PEER_FORMS,
    SAMPI_PEER_ONLY("grammar", ""),
    SAMPI_PEER_ONLY("json_schema", NULL),
    SAMPI_PEER_DOES("stop", NULL, STOPS, ONE_EMPTY, 0, 0),
    SAMPI_PEER_DOES("ignore_eos", NULL, ENDLESS, MASKS, 0, 0),
    SAMPI_PEER_DOES("reasoning_budget_tokens", NULL, THINKING, NONE, -1, INT32_MAX),
    SAMPI_PEER_DOES("thinking_budget_tokens", NULL, THINKING, NONE, -1, INT32_MAX),
    { NULL, NULL, 0, 0, NULL, 0, 0 }
};

/* The fields of Ollama's DefaultOptions. Ollama passes all of them on to llama-server, except a typical_p of 0. */
#define SAMPI_OPTION(name, param, how, usual, lo, hi) \
    { name, param, SAMPI_PEER_NUMBER, SAMPI_PEER_INSIDE | SAMPI_PEER_##how, usual, lo, hi }
static const sampi_peer_field SAMPI_OLLAMA[] = {
    SAMPI_PEER_DOES("options", NULL, OPTIONS, NONE, 0, 0),
    SAMPI_OPTION("temperature", "temp", CLAMPS, "0.8", 0, SAMPI_MOST),
    SAMPI_OPTION("top_k", "top_k", CLAMPS, "40", 0, INT32_MAX),
    SAMPI_OPTION("top_p", "top_p", CLAMPS, "0.9", 0, 1),
    SAMPI_OPTION("min_p", "min_p", CLAMPS, "0", 0, 1),
    SAMPI_OPTION("typical_p", "typ_p", OPEN_CLAMPS_RETURNS, "1", 0, 1),
    SAMPI_OPTION("repeat_last_n", "penalty_last_n", NONE, "64", -1, INT32_MAX),
    SAMPI_OPTION("repeat_penalty", "penalty_repeat", OPEN_ALL, "1", 0, SAMPI_MOST),
    SAMPI_OPTION("frequency_penalty", "penalty_freq", ALL, "0", -SAMPI_MOST, SAMPI_MOST),
    SAMPI_OPTION("presence_penalty", "penalty_present", ALL, "0", -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_DOES("seed", "seed", SEED, INSIDE_32_BITS, -1, 0),
    SAMPI_PEER_DOES("stop", NULL, STOPS, INSIDE_EMPTY, 0, 0),
    SAMPI_PEER_DOES("format", NULL, PLAIN, NONE, 0, 0),
    { NULL, NULL, 0, 0, NULL, 0, 0 }
};

/* The fields of Anthropic's Messages API. It does not define an order of samplers: the order is that of vLLM, which
   serves the same requests. */
static const sampi_peer_field SAMPI_ANTHROPIC[] = {
    SAMPI_PEER_IS("temperature", "temp", NONE, "1", 0, 1),
    SAMPI_PEER_IS("top_k", "top_k", NONE, "0", 0, INT32_MAX),
    SAMPI_PEER_IS("top_p", "top_p", NONE, "1", 0, 1),
    SAMPI_PEER_DOES("thinking", NULL, THOUGHT, NONE, 1024, INT32_MAX),
    SAMPI_PEER_DOES("tool_choice", NULL, CALLS, NONE, 0, 0),
    SAMPI_PEER_DOES("tools", NULL, TOOLS, NONE, 0, 0),
    SAMPI_PEER_DOES("output_config", NULL, CONFIG, NONE, 0, 0),
    SAMPI_PEER_DOES("stop_sequences", NULL, STOPS, NONE, 0, 0),
    { NULL, NULL, 0, 0, NULL, 0, 0 }
};

/* The fields of SGLang's SamplingParams (post_init, verify). They come as one object, as sampling_params of a native
   request, or as the fields of OpenAI's requests. After penalties, a grammar's mask, logit_bias and the temperature,
   SGLang's samplers keep the tokens that both top_k and top_p keep of the whole distribution ("joint": top_p does not
   see the result of top_k). This is the same as top_p followed by top_k. With min_p, flashinfer, which SGLang uses on
   NVIDIA's devices, applies top_k, then top_p to the remaining tokens, then min_p (peers/requests.h); the samplers in
   torch cut by "joint" with min_p too. */
static const sampi_peer_field SAMPI_SGLANG[] = {
    SAMPI_PEER_DOES("sampling_params", NULL, OPTIONS, NONE, 0, 0),
    { "temperature", "temp", SAMPI_PEER_COLD, 0, "1", 0, SAMPI_MOST },
    SAMPI_PEER_IS("top_p", "top_p", OPEN, "1", 0, 1),
    SAMPI_PEER_IS("top_k", "top_k", NOT_0, "0", -1, INT32_MAX),
    SAMPI_PEER_IS("min_p", "min_p", NONE, "0", 0, 1),
    SAMPI_PEER_PENALTIES,
    SAMPI_PEER_IS("repetition_penalty", "penalty_repeat", OPEN_OUTPUT_BEHIND, "1", 0, 2),
    SAMPI_PEER_ELSE("penalty_last_n", "-1"),
    SAMPI_PEER_DOES("logit_bias", "logit_bias", BIAS, NONE, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_DOES("seed", "seed", SEED, NONE, 0, 0),
    SAMPI_PEER_DOES("sampling_seed", "seed", SEED, NONE, 0, 0),
    SAMPI_PEER_DOES("custom_params", NULL, CUSTOM, NONE, 0, 0),
    SAMPI_PEER_DOES("max_thinking_tokens", NULL, THINKING, NONE, -SAMPI_MOST, INT32_MAX),
    SAMPI_PEER_DOES("response_format", NULL, PLAIN, NONE, 0, 0),
    SAMPI_PEER_DOES("tool_choice", NULL, CHOICE, NONE, 0, 0),
    SAMPI_PEER_DOES("tools", NULL, TOOLS, NONE, 0, 0),
    SAMPI_PEER_ONLY("json_schema", NULL),
    SAMPI_PEER_ONLY("regex", NULL),
    SAMPI_PEER_ONLY("ebnf", NULL),
    SAMPI_PEER_ONLY("structural_tag", NULL),
    SAMPI_PEER_DOES("stop", NULL, STOPS, ONE, 0, 0),
    SAMPI_PEER_DOES("stop_token_ids", NULL, STOP_TOKENS, NONE, 0, 0),
    SAMPI_PEER_DOES("stop_regex", NULL, STOP_PATTERNS, ONE, 0, 0),
    SAMPI_PEER_DOES("no_stop_trim", NULL, STOP_SHOWN, NONE, 0, 0),
    SAMPI_PEER_DOES("ignore_eos", NULL, ENDLESS, NONE, 0, 0),
    SAMPI_PEER_DOES("min_tokens", NULL, LEAST, NONE, 0, INT32_MAX),
    SAMPI_PEER_DOES("min_new_tokens", NULL, LEAST, NONE, 0, INT32_MAX),
    SAMPI_PEER_DOES("return_logprob", NULL, LOGPROBS, NONE, 0, 0),
    SAMPI_PEER_DOES("logprobs", NULL, LOGPROBS, NONE, 0, 0),
    SAMPI_PEER_DOES("top_logprobs_num", NULL, TOP_LOGPROBS, NONE, 0, 0),
    SAMPI_PEER_DOES("top_logprobs", NULL, TOP_LOGPROBS, NONE, 0, 0),
    SAMPI_PEER_DOES("token_ids_logprob", NULL, LOGPROB_IDS, NONE, 0, 0),
    SAMPI_PEER_DOES("return_sampling_mask", NULL, SUPPORT, NONE, 0, 0),
    SAMPI_PEER_DOES("return_entropy", NULL, ENTROPY, NONE, 0, 0),
    SAMPI_PEER_ONLY("beam_width", "1"),
    SAMPI_PEER_ONLY("custom_logit_processor", NULL),
    SAMPI_PEER_ONLY("positional_embed_overrides", NULL),
    { NULL, NULL, 0, 0, NULL, 0, 0 }
};

/* Skipped fields are fields that do not influence which token is drawn. They contain the prompt, the length, number and
   form of answers, and what only the server needs. */
#define SAMPI_SKIPPED_ALIKE \
    "model;messages;prompt;suffix;echo;stream;stream_options;best_of;max_tokens;" \
    "max_completion_tokens;user;parallel_tool_calls;functions;" \
    "reasoning_effort;verbosity;store;metadata;modalities;audio;prediction;service_tier;" \
    "safety_identifier;prompt_cache_key;prompt_cache_options;prompt_cache_retention;web_search_options;" \
    "moderation"
#define SAMPI_SKIPPED_OPENAI SAMPI_SKIPPED_ALIKE ";logprobs;top_logprobs"
#define SAMPI_SKIPPED_VLLM \
    SAMPI_SKIPPED_ALIKE ";prompt_logprob_token_ids;" \
    "prompt_logprob_start;flat_logprobs;detokenize;skip_special_tokens;" \
    "spaces_between_special_tokens;output_kind;stream_interval;skip_clone;" \
    "output_text_buffer_length;skip_reading_prefix_cache;repetition_detection;" \
    "routed_experts_prompt_start;truncate_prompt_tokens;add_special_tokens;add_generation_prompt;" \
    "continue_final_message;chat_template;chat_template_kwargs;documents;mm_processor_kwargs;priority;" \
    "request_id;return_tokens_as_token_ids;return_token_ids;cache_salt;kv_transfer_params;" \
    "guided_decoding_backend;guided_whitespace_pattern;include_reasoning;prompt_embeds;" \
    "allowed_local_media_path;session_id;truncation_side;media_io_kwargs;return_token_offsets;" \
    "return_prompt_text;return_mm_kwargs;ec_transfer_params;early_stopping"
#define SAMPI_SKIPPED_TRANSFORMERS \
    "max_length;max_new_tokens;max_time;use_cache;" \
    "cache_implementation;cache_config;return_legacy_cache;renormalize_logits;low_memory;" \
    "output_attentions;output_hidden_states;output_scores;output_logits;" \
    "return_dict_in_generate;pad_token_id;bos_token_id;decoder_start_token_id;is_assistant;" \
    "num_assistant_tokens;num_assistant_tokens_schedule;assistant_confidence_threshold;" \
    "prompt_lookup_num_tokens;max_matching_ngram_size;assistant_early_exit;assistant_lookbehind;" \
    "target_lookbehind;use_mtp;max_cache_len;continuous_batching_config;" \
    "compile_config;disable_compile;prefill_chunk_size;_commit_hash;" \
    "_from_model_config;_original_object_hash;transformers_version"
#define SAMPI_SKIPPED_LLAMA_SERVER \
    SAMPI_SKIPPED_OPENAI ";tools;verbose;timings_per_token;cache_prompt;return_tokens;return_progress;" \
    "sse_ping_interval;n_predict;n_indent;n_keep;n_discard;n_cmpl;n_cache_reuse;t_max_predict_ms;" \
    "t_max_prompt_ms;response_fields;n_probs;backend_sampling;post_sampling_probs;lora;id_slot;" \
    "grammar_lazy;grammar_type;grammar_triggers;preserved_tokens;chat_format;chat_template_kwargs;" \
    "reasoning_format;reasoning_in_content;generation_prompt;parse_tool_calls;chat_parser;" \
    "continue_final_message;add_generation_prompt;reasoning_control;reasoning_budget_start_tag;" \
    "reasoning_budget_end_tag;reasoning_budget_end_tags;reasoning_budget_message;thinking_forced_open;" \
    "input_prefix;input_suffix;input_extra;multimodal_data"
#define SAMPI_SKIPPED_OLLAMA \
    "model;prompt;suffix;system;template;context;stream;raw;keep_alive;images;messages;tools;think;" \
    "truncate;shift;_debug_render_only;logprobs;top_logprobs;options.num_keep;options.num_predict;" \
    "options.num_ctx;options.num_batch;options.num_gpu;options.main_gpu;options.use_mmap;" \
    "options.num_thread;options.draft_num_predict;options.use_mlock;options.numa;options.low_vram;" \
    "options.f16_kv;options.vocab_only"

#define SAMPI_SKIPPED_ANTHROPIC \
    "model;messages;system;max_tokens;stream;metadata;service_tier;container;cache_control;" \
    "inference_geo;user_profile_id"

/* SGLang's skipped fields: those of SamplingParams, then of GenerateReqInput, then of OpenAI's requests. */
#define SAMPI_SKIPPED_SGLANG \
    "max_new_tokens;n;skip_special_tokens;" \
    "spaces_between_special_tokens;stream_interval;" \
    "rid;session_id;text;input_ids;input_embeds;image_data;video_data;audio_data;mm_hashes;mm_content_hashes;" \
    "use_audio_in_video;video_config;logprob_start_len;" \
    "return_text_in_logprobs;return_flat_raw_top_logprobs;" \
    "return_flat_raw_top_logprobs_b64;stream;log_metrics;return_hidden_states;return_routed_experts;" \
    "routed_experts_start_len;return_indexer_topk;modalities;session_params;lora_path;lora_id;bootstrap_host;" \
    "bootstrap_port;bootstrap_room;bootstrap_pair_key;decode_tp_size;routed_dp_rank;data_parallel_rank;" \
    "disagg_prefill_dp_rank;kv_router_hint;routing_key;conversation_id;http_worker_ipc;background;" \
    "require_reasoning;priority;extra_key;no_logs;custom_labels;return_bytes;" \
    "return_prompt_token_ids;external_trace_header;received_time;need_wait_for_mm_inputs;num_items_assigned;" \
    "encoder_urls;max_dynamic_patch;min_dynamic_patch;image_max_dynamic_patch;video_max_dynamic_patch;" \
    "images_config;multi_item_delimiter_indices;cache_salt;" \
    "model;messages;prompt;suffix;echo;best_of;max_tokens;max_completion_tokens;" \
    "stream_options;user;parallel_tool_calls;return_cached_tokens_details;return_token_ids;return_meta_info;" \
    "reasoning_effort;reasoning;task;continue_final_message;separate_reasoning;stream_reasoning;" \
    "chat_template_kwargs;ngram_corpus_id"

/* Flags of a program, which say how it reads a request. */
enum {
    SAMPI_PEER_CUTS = 1,     /* a fraction is cut off: 40.5 is 40 for a field with a whole number */
    SAMPI_PEER_WRAPS = 2,    /* a whole number is reduced to its lowest 32 bits */
    SAMPI_PEER_DOUBLES = 4,  /* a whole number is first rounded to a double */
    SAMPI_PEER_SINGLES = 8,  /* other numbers are rounded to float before their range is checked */
    SAMPI_PEER_TRUTHS = 16,  /* true counts as the number 1, false as 0 */
    SAMPI_PEER_SPELT = 32,   /* a text like "0.5" counts as the number 0.5 */
    SAMPI_PEER_FOLDS = 64,   /* names of fields match in any case, except inside the object of options */
    SAMPI_PEER_SAMPLES = 128, /* without a field that says so, the program draws tokens */
    SAMPI_PEER_BARE = 256,    /* a tool's "strict" is a member of the tool itself, not of its function */
    /* fields may be in the object of options (where neither booleans nor texts count as numbers) or beside it */
    SAMPI_PEER_ANYWHERE = 512
};

typedef struct sampi_peer {
    const sampi_peer_field *fields; /* the fields; the last row has neither name nor param */
    const char *order, *skipped;    /* the order of samplers, and the skipped fields: names separated by semicolons */
    const char *options;            /* the name of the object of options and a dot, or "" */
    int reads;                      /* flags: SAMPI_PEER_CUTS ... SAMPI_PEER_ANYWHERE */
} sampi_peer;

static const sampi_peer SAMPI_PEERS[] = {
    { SAMPI_OPENAI, "penalties;temperature;top_p", SAMPI_SKIPPED_OPENAI, "", SAMPI_PEER_SAMPLES },
    { SAMPI_VLLM, "penalties;temperature;min_p;top_k;top_p", SAMPI_SKIPPED_VLLM, "",
      SAMPI_PEER_SAMPLES | SAMPI_PEER_TRUTHS | SAMPI_PEER_SPELT },
    { SAMPI_TRANSFORMERS, "penalties;temperature;top_k;top_p;min_p;typ_p;epsilon_cutoff;eta_cutoff",
      SAMPI_SKIPPED_TRANSFORMERS, "", 0 },
    { SAMPI_LLAMA_SERVER, SAMP_ORDER_LLAMA, SAMPI_SKIPPED_LLAMA_SERVER, "",
      SAMPI_PEER_SAMPLES | SAMPI_PEER_CUTS | SAMPI_PEER_WRAPS | SAMPI_PEER_SINGLES | SAMPI_PEER_TRUTHS },
    { SAMPI_OLLAMA, SAMP_ORDER_LLAMA, SAMPI_SKIPPED_OLLAMA, "options.",
      SAMPI_PEER_SAMPLES | SAMPI_PEER_CUTS | SAMPI_PEER_WRAPS | SAMPI_PEER_DOUBLES | SAMPI_PEER_SINGLES |
          SAMPI_PEER_FOLDS },
    { SAMPI_ANTHROPIC, "temperature;top_k;top_p", SAMPI_SKIPPED_ANTHROPIC, "", SAMPI_PEER_SAMPLES | SAMPI_PEER_BARE },
    { SAMPI_SGLANG, "penalties;temperature;top_p;top_k;min_p", SAMPI_SKIPPED_SGLANG, "sampling_params.",
      SAMPI_PEER_SAMPLES | SAMPI_PEER_TRUTHS | SAMPI_PEER_SPELT | SAMPI_PEER_ANYWHERE },
};
/* clang-format on */

/* The window of penalties over the whole text, if the caller does not say how long a text can be: 1.5 MB a chain. */
enum { SAMPI_PEER_WHOLE_TEXT = 1 << 17 };

/* The state of reading a request. */
typedef struct sampi_request_reader {
    const sampi_peer *peer;
    const char *const *handled;
    const sampi_json *doc;
    samp_settings *to; /* the new settings */
    samp_request *out;
    int reads;            /* the program's flags, or those that hold in its options */
    bool samples;         /* tokens are drawn */
    bool searches;        /* vLLM's use_beam_search */
    bool adaptive;        /* llama-server's adaptive_p is in the order */
    bool has_out, thinks; /* has_out: *out is the caller's; thinks: Anthropic's thinking is enabled */
    sampi_text
        *left_out; /* gets the names of fields that the program does not have; NULL: such a field is an error */
    int32_t n_left_out;
    bool knows_length; /* the caller has set n_ctx_train */
} sampi_request_reader;
