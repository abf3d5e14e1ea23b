/* ---- requests: the tables of fields ----
   The fields of each program's requests, with the functions that read them.

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

/* clang-format off */
#define SAMPI_PEER_IS(name, param, how, usual, lo, hi) \
    { name, param, 0, sampi_request_number, SAMPI_PEER_##how, usual, lo, hi }
#define SAMPI_PEER_ELSE(param, usual) { NULL, param, 0, NULL, 0, usual, 0, 0 }
#define SAMPI_PEER_DOES(name, param, read, how, lo, hi) \
    { name, param, 0, sampi_request_##read, SAMPI_PEER_##how, NULL, lo, hi }
#define SAMPI_PEER_PUTS(name, member, read, how, lo, hi) \
    { name, NULL, offsetof(sampi_request_reader, member), sampi_request_##read, SAMPI_PEER_##how, NULL, lo, hi }
#define SAMPI_PEER_END { NULL, NULL, 0, NULL, 0, NULL, 0, 0 }

/* Rows that several programs have, from OpenAI's API. */
#define SAMPI_PEER_PENALTIES \
    SAMPI_PEER_IS("frequency_penalty", "penalty_freq", OUTPUT, "0", -2, 2), \
    SAMPI_PEER_IS("presence_penalty", "penalty_present", OUTPUT, "0", -2, 2)
#define SAMPI_PEER_FORMS \
    SAMPI_PEER_DOES("response_format", NULL, plain, NONE, 0, 0), \
    SAMPI_PEER_DOES("tool_choice", NULL, tool_choice, NONE, 0, 0), \
    SAMPI_PEER_DOES("function_call", NULL, tool_choice, NONE, 0, 0)

/* The fields of OpenAI's API reference. It does not define an order of samplers: the order is that of vLLM, which
   serves the same requests. */
static const sampi_peer_field SAMPI_OPENAI[] = {
    SAMPI_PEER_IS("temperature", "temp", NONE, "1", 0, 2),
    SAMPI_PEER_IS("top_p", "top_p", NONE, "1", 0, 1),
    SAMPI_PEER_PENALTIES,
    SAMPI_PEER_ELSE("penalty_last_n", "-1"),
    SAMPI_PEER_DOES("logit_bias", "logit_bias", biases, NONE, -100, 100),
    SAMPI_PEER_DOES("seed", "seed", seed, NONE, 0, 0),
    SAMPI_PEER_FORMS,
    SAMPI_PEER_DOES("tools", NULL, tools, NONE, 0, 0),
    SAMPI_PEER_PUTS("stop", stops.strings, texts, ONE, 0, 0),
    SAMPI_PEER_PUTS("n", made.n, amount, NONE, 1, 128),
    SAMPI_PEER_END
};

/* The fields of vLLM's SamplingParams (post_init, verify_args, from_optional). The order of samplers is that of
   v1/sample/sampler.py. */
static const sampi_peer_field SAMPI_VLLM[] = {
    SAMPI_PEER_IS("temperature", "temp", HEAT, "1", 0, 2),
    SAMPI_PEER_IS("top_p", "top_p", OPEN, "1", 0, 1),
    SAMPI_PEER_IS("top_k", "top_k", NONE, "0", -1, SAMPI_MOST),
    SAMPI_PEER_IS("min_p", "min_p", NONE, "0", 0, 1),
    SAMPI_PEER_IS("repetition_penalty", "penalty_repeat", OPEN_ALL, "1", 0, SAMPI_MOST),
    SAMPI_PEER_PENALTIES,
    SAMPI_PEER_ELSE("penalty_last_n", "-1"),
    SAMPI_PEER_DOES("logit_bias", "logit_bias", biases, CLAMPS, -100, 100),
    SAMPI_PEER_DOES("seed", "seed", seed, NONE, -1, 0),
    SAMPI_PEER_FORMS,
    SAMPI_PEER_DOES("tools", NULL, tools, NONE, 0, 0),
    SAMPI_PEER_PUTS("stop", stops.strings, texts, ONE, 0, 0),
    SAMPI_PEER_DOES("stop_token_ids", NULL, stop_tokens, NONE, 0, 0),
    SAMPI_PEER_PUTS("include_stop_str_in_output", stops.include_stop, truth, NONE, 0, 0),
    SAMPI_PEER_PUTS("ignore_eos", stops.ignores_ends, endless, NONE, 0, 0),
    SAMPI_PEER_PUTS("min_tokens", made.min_tokens, least, WAITS, 0, INT32_MAX),
    SAMPI_PEER_DOES("thinking_token_budget", NULL, thinking, NONE, -1, INT32_MAX),
    SAMPI_PEER_PUTS("use_beam_search", searches, truth, NONE, 0, 0),
    SAMPI_PEER_PUTS("n", made.n, amount, NONE, 1, 16384),
    SAMPI_PEER_PUTS("logprobs", made.logprobs, logprobs, NONE, 0, 0),
    SAMPI_PEER_PUTS("top_logprobs", made.n_top, count, NONE, 0, 0),
    SAMPI_PEER_PUTS("prompt_logprobs", made.prompt_logprobs, logprobs, NONE, 0, 0),
    SAMPI_PEER_DOES("logprob_token_ids", NULL, logprob_ids, NONE, 0, 0),
    SAMPI_PEER_PUTS("sampling_mask", made.support, truth, NONE, 0, 0),
    SAMPI_PEER_PUTS("length_penalty", made.length_penalty, real, NONE, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_END
};

/* The fields and defaults of transformers' GenerationConfig. The order of samplers is that of generation/utils.py. */
static const sampi_peer_field SAMPI_TRANSFORMERS[] = {
    SAMPI_PEER_PUTS("do_sample", samples, truth, NONE, 0, 0),
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
    SAMPI_PEER_DOES("suppress_tokens", "logit_bias", biases, BANS, 0, 0),
    SAMPI_PEER_PUTS("num_beams", made.n_beams, amount, NONE, 1, SAMPI_PEER_MOST_BEAMS),
    SAMPI_PEER_PUTS("num_beam_groups", made.n_groups, amount, NONE, 1, SAMPI_PEER_MOST_BEAMS),
    SAMPI_PEER_PUTS("num_return_sequences", made.n, amount, NONE, 1, INT32_MAX),
    SAMPI_PEER_PUTS("length_penalty", made.length_penalty, real, NONE, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_PUTS("diversity_penalty", made.diversity_penalty, real, NONE, 0, SAMPI_MOST),
    SAMPI_PEER_DOES("early_stopping", NULL, early, NONE, 0, 0),
    SAMPI_PEER_PUTS("min_new_tokens", made.min_tokens, least, NONE, 0, INT32_MAX),
    SAMPI_PEER_PUTS("stop_strings", stops.strings, texts, ONE, 0, 0),
    SAMPI_PEER_DOES("eos_token_id", NULL, stop_tokens, ONE, 0, 0),
    SAMPI_PEER_PUTS("guidance_scale", made.guidance_scale, guidance, NONE, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_END
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
    SAMPI_PEER_DOES("dry_sequence_breakers", "dry_breakers", strings, NONE, 0, 0),
    SAMPI_PEER_IS("mirostat", "mirostat", CLAMPS, "0", 0, 2),
    SAMPI_PEER_IS("mirostat_tau", "mirostat_tau", OURS, "5", 0, SAMPI_MOST),
    SAMPI_PEER_IS("mirostat_eta", "mirostat_eta", OURS, "0.1", 0, SAMPI_MOST),
    SAMPI_PEER_IS("adaptive_target", "adaptive_target", CLAMPS, "-1", -SAMPI_MOST, 1),
    SAMPI_PEER_IS("adaptive_decay", "adaptive_decay", NONE, "0.9", 0, (double)0.99f),
    SAMPI_PEER_IS("min_keep", "min_keep", NONE, "0", 0, INT32_MAX),
    SAMPI_PEER_DOES("seed", "seed", seed, 32_BITS, -1, 0),
    SAMPI_PEER_DOES("logit_bias", "logit_bias", biases, PAIRS, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_DOES("samplers", NULL, order, NONE, 0, 0),
    SAMPI_PEER_FORMS,
    SAMPI_PEER_PUTS("stop", stops.strings, texts, ONE_EMPTY, 0, 0),
    SAMPI_PEER_PUTS("ignore_eos", stops.ignores_ends, endless, MASKS, 0, 0),
    SAMPI_PEER_DOES("reasoning_budget_tokens", NULL, thinking, NONE, -1, INT32_MAX),
    SAMPI_PEER_DOES("thinking_budget_tokens", NULL, thinking, NONE, -1, INT32_MAX),
    SAMPI_PEER_END
};

/* The fields of Ollama's DefaultOptions. Ollama passes all of them on to llama-server, except a typical_p of 0. */
#define SAMPI_OPTION(name, param, how, usual, lo, hi) \
    { name, param, 0, sampi_request_number, SAMPI_PEER_INSIDE | SAMPI_PEER_##how, usual, lo, hi }
static const sampi_peer_field SAMPI_OLLAMA[] = {
    SAMPI_PEER_DOES("options", NULL, options, NONE, 0, 0),
    SAMPI_OPTION("temperature", "temp", CLAMPS, "0.8", 0, SAMPI_MOST),
    SAMPI_OPTION("top_k", "top_k", CLAMPS, "40", 0, INT32_MAX),
    SAMPI_OPTION("top_p", "top_p", CLAMPS, "0.9", 0, 1),
    SAMPI_OPTION("min_p", "min_p", CLAMPS, "0", 0, 1),
    SAMPI_OPTION("typical_p", "typ_p", OPEN_CLAMPS_RETURNS, "1", 0, 1),
    SAMPI_OPTION("repeat_last_n", "penalty_last_n", NONE, "64", -1, INT32_MAX),
    SAMPI_OPTION("repeat_penalty", "penalty_repeat", OPEN_ALL, "1", 0, SAMPI_MOST),
    SAMPI_OPTION("frequency_penalty", "penalty_freq", ALL, "0", -SAMPI_MOST, SAMPI_MOST),
    SAMPI_OPTION("presence_penalty", "penalty_present", ALL, "0", -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_DOES("seed", "seed", seed, INSIDE_32_BITS, -1, 0),
    SAMPI_PEER_PUTS("stop", stops.strings, texts, INSIDE_EMPTY, 0, 0),
    SAMPI_PEER_DOES("format", NULL, plain, NONE, 0, 0),
    SAMPI_PEER_END
};

/* The fields of Anthropic's Messages API. It does not define an order of samplers: the order is that of vLLM, which
   serves the same requests. */
static const sampi_peer_field SAMPI_ANTHROPIC[] = {
    SAMPI_PEER_IS("temperature", "temp", NONE, "1", 0, 1),
    SAMPI_PEER_IS("top_k", "top_k", NONE, "0", 0, INT32_MAX),
    SAMPI_PEER_IS("top_p", "top_p", NONE, "1", 0, 1),
    SAMPI_PEER_DOES("thinking", NULL, thinking_object, NONE, 1024, INT32_MAX),
    SAMPI_PEER_DOES("tool_choice", NULL, tool_object, NONE, 0, 0),
    SAMPI_PEER_DOES("tools", NULL, tools, NONE, 0, 0),
    SAMPI_PEER_DOES("output_config", NULL, output_config, NONE, 0, 0),
    SAMPI_PEER_PUTS("stop_sequences", stops.strings, texts, NONE, 0, 0),
    SAMPI_PEER_END
};

/* The fields of SGLang's SamplingParams (post_init, verify). They come as one object, as sampling_params of a native
   request, or as the fields of OpenAI's requests. After penalties, a grammar's mask, logit_bias and the temperature,
   SGLang's samplers keep the tokens that both top_k and top_p keep of the whole distribution ("joint": top_p does not
   see the result of top_k). This is the same as top_p followed by top_k. With min_p, flashinfer, which SGLang uses on
   NVIDIA's devices, applies top_k, then top_p to the remaining tokens, then min_p (peers/requests.h); the samplers in
   torch cut by "joint" with min_p too. */
static const sampi_peer_field SAMPI_SGLANG[] = {
    SAMPI_PEER_DOES("sampling_params", NULL, options, NONE, 0, 0),
    SAMPI_PEER_IS("temperature", "temp", COLD, "1", 0, SAMPI_MOST),
    SAMPI_PEER_IS("top_p", "top_p", OPEN, "1", 0, 1),
    SAMPI_PEER_IS("top_k", "top_k", NOT_0, "0", -1, INT32_MAX),
    SAMPI_PEER_IS("min_p", "min_p", NONE, "0", 0, 1),
    SAMPI_PEER_PENALTIES,
    SAMPI_PEER_IS("repetition_penalty", "penalty_repeat", OPEN_OUTPUT_BEHIND, "1", 0, 2),
    SAMPI_PEER_ELSE("penalty_last_n", "-1"),
    SAMPI_PEER_DOES("logit_bias", "logit_bias", biases, NONE, -SAMPI_MOST, SAMPI_MOST),
    SAMPI_PEER_DOES("seed", "seed", seed, NONE, 0, 0),
    SAMPI_PEER_DOES("sampling_seed", "seed", seed, NONE, 0, 0),
    SAMPI_PEER_DOES("custom_params", NULL, custom_params, NONE, 0, 0),
    SAMPI_PEER_DOES("max_thinking_tokens", NULL, thinking, NONE, -SAMPI_MOST, INT32_MAX),
    SAMPI_PEER_DOES("response_format", NULL, plain, NONE, 0, 0),
    SAMPI_PEER_DOES("tool_choice", NULL, tool_choice, NONE, 0, 0),
    SAMPI_PEER_DOES("tools", NULL, tools, NONE, 0, 0),
    SAMPI_PEER_PUTS("stop", stops.strings, texts, ONE, 0, 0),
    SAMPI_PEER_DOES("stop_token_ids", NULL, stop_tokens, NONE, 0, 0),
    SAMPI_PEER_PUTS("stop_regex", stops.patterns, texts, ONE, 0, 0),
    SAMPI_PEER_PUTS("no_stop_trim", stops.include_stop, truth, NONE, 0, 0),
    SAMPI_PEER_PUTS("ignore_eos", stops.ignores_ends, endless, NONE, 0, 0),
    SAMPI_PEER_PUTS("min_tokens", made.min_tokens, least, NONE, 0, INT32_MAX),
    SAMPI_PEER_PUTS("min_new_tokens", made.min_tokens, least, NONE, 0, INT32_MAX),
    SAMPI_PEER_PUTS("return_logprob", made.logprobs, logprobs, NONE, 0, 0),
    SAMPI_PEER_PUTS("logprobs", made.logprobs, logprobs, NONE, 0, 0),
    SAMPI_PEER_PUTS("top_logprobs_num", made.n_top, count, NONE, 0, 0),
    SAMPI_PEER_PUTS("top_logprobs", made.n_top, count, NONE, 0, 0),
    SAMPI_PEER_DOES("token_ids_logprob", NULL, logprob_ids, NONE, 0, 0),
    SAMPI_PEER_PUTS("return_sampling_mask", made.support, truth, NONE, 0, 0),
    SAMPI_PEER_PUTS("return_entropy", made.entropy, truth, NONE, 0, 0),
    SAMPI_PEER_END
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

/* Refused fields are those that influence tokens, and that no setting can express. Most of transformers' belong to a
   processor of logits that this library does not have. */
#define SAMPI_REFUSED_VLLM \
    "structured_outputs;guided_json;guided_regex;guided_choice;guided_grammar;allowed_token_ids;bad_words=;" \
    "watermarking=false;logits_processors;trace_decode_token_ids;extra_args=;vllm_xargs="
#define SAMPI_REFUSED_TRANSFORMERS \
    "penalty_alpha=0;dola_layers;constraints;force_words_ids;top_h;encoder_repetition_penalty=1;" \
    "no_repeat_ngram_size=0;encoder_no_repeat_ngram_size=0;bad_words_ids;sequence_bias=;" \
    "begin_suppress_tokens=;forced_bos_token_id;forced_eos_token_id;exponential_decay_length_penalty;" \
    "min_length=0;watermarking_config;assistant_ensemble_weight;speculation_type;token_healing=false;" \
    "remove_invalid_values=false"
#define SAMPI_REFUSED_LLAMA_SERVER \
    "grammar=;json_schema"
#define SAMPI_REFUSED_SGLANG \
    "json_schema;regex;ebnf;structural_tag;beam_width=1;custom_logit_processor;positional_embed_overrides"

static const sampi_peer SAMPI_PEERS[] = {
    { SAMPI_OPENAI, "penalties;temperature;top_p", SAMPI_SKIPPED_OPENAI, "", "", SAMPI_PEER_SAMPLES },
    { SAMPI_VLLM, "penalties;temperature;min_p;top_k;top_p", SAMPI_SKIPPED_VLLM, SAMPI_REFUSED_VLLM, "",
      SAMPI_PEER_SAMPLES | SAMPI_PEER_TRUTHS | SAMPI_PEER_SPELT },
    { SAMPI_TRANSFORMERS, "penalties;temperature;top_k;top_p;min_p;typ_p;epsilon_cutoff;eta_cutoff",
      SAMPI_SKIPPED_TRANSFORMERS, SAMPI_REFUSED_TRANSFORMERS, "", 0 },
    { SAMPI_LLAMA_SERVER, SAMP_ORDER_LLAMA, SAMPI_SKIPPED_LLAMA_SERVER, SAMPI_REFUSED_LLAMA_SERVER, "",
      SAMPI_PEER_SAMPLES | SAMPI_PEER_CUTS | SAMPI_PEER_WRAPS | SAMPI_PEER_SINGLES | SAMPI_PEER_TRUTHS },
    { SAMPI_OLLAMA, SAMP_ORDER_LLAMA, SAMPI_SKIPPED_OLLAMA, "", "options.",
      SAMPI_PEER_SAMPLES | SAMPI_PEER_CUTS | SAMPI_PEER_WRAPS | SAMPI_PEER_DOUBLES | SAMPI_PEER_SINGLES |
          SAMPI_PEER_FOLDS },
    { SAMPI_ANTHROPIC, "temperature;top_k;top_p", SAMPI_SKIPPED_ANTHROPIC, "", "",
      SAMPI_PEER_SAMPLES | SAMPI_PEER_BARE },
    { SAMPI_SGLANG, "penalties;temperature;top_p;top_k;min_p", SAMPI_SKIPPED_SGLANG, SAMPI_REFUSED_SGLANG,
      "sampling_params.", SAMPI_PEER_SAMPLES | SAMPI_PEER_TRUTHS | SAMPI_PEER_SPELT | SAMPI_PEER_ANYWHERE },
};
/* clang-format on */
