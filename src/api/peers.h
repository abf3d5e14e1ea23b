/* ---- 10. requests of other programs (SAMPLING_PEERS) -----------------------------------------------------------
   samp_settings_from, samp_settings_from_lenient: a request in the JSON of another program becomes settings, with that
   program's names, defaults and ranges. */

/* The programs whose requests samp_settings_from reads. */
typedef enum samp_peer {
    SAMP_PEER_OPENAI = 0,       /* servers of OpenAI's API: a chat completion or a completion */
    SAMP_PEER_VLLM = 1,         /* vLLM: SamplingParams, or a request to its server */
    SAMP_PEER_TRANSFORMERS = 2, /* Hugging Face's transformers: GenerationConfig, generation_config.json */
    SAMP_PEER_LLAMA_SERVER = 3, /* llama.cpp's server: a request in its own format, or in that of OpenAI's API */
    SAMP_PEER_OLLAMA = 4,       /* Ollama: generate or chat, with "options" */
    SAMP_PEER_ANTHROPIC = 5,    /* Anthropic's Messages API, and servers that offer it */
    SAMP_PEER_SGLANG = 6 /* SGLang: SamplingParams, or a request in its own format ("sampling_params") or OpenAI's */
} samp_peer;

/* What a request to another program contains besides settings. */
#define SAMP_REQUEST_IDS 128 /* the most tokens whose log-probabilities a request may ask for, as in vLLM */

typedef struct samp_request {
    samp_text_error error;   /* SAMP_OK, or an error and its place in the request */
    char field[64];          /* the field with the error, as "top_k" or "options.top_k"; "": no field */
    bool seeded;             /* true: the request has a seed; false: the settings keep their own seed */
    bool with_prompt;        /* true: the chain must accept the prompt, for penalties and dry; false: it must not */
    int32_t thinking_budget; /* the limit of thinking in tokens, for samp_init_thinking; -1: not given */
    int32_t min_tokens; /* so many tokens come before an end: samp_init_min_tokens for the end tokens; 0: not given */
    bool mask_ends;     /* true: the end tokens are never drawn: samp_init_suppressed_tokens */
    float guidance_scale; /* the scale for samp_guide, which makes the rows that the chain samples; 1: no guidance */
    int32_t n;            /* how many answers; 1 */
    /* a search (SAMPLING_SEARCH), as members of samp_beam_params; n_beams 0: none */
    int32_t n_beams, n_groups, early_stopping;
    float length_penalty, diversity_penalty;
    /* what vLLM's and SGLang's requests want beside the tokens; see samp_logprobs */
    bool logprobs, prompt_logprobs;  /* log-probabilities of the tokens, and of the prompt's (samp_raw_logprobs) */
    int32_t n_top, n_prompt_top;     /* with so many of the most likely tokens; 0; -1: all */
    bool support, entropy;           /* the tokens that could have been drawn; the entropy */
    int32_t n_logprob_ids;           /* how many tokens' log-probabilities are wanted */
    samp_token logprob_ids[SAMP_REQUEST_IDS];
} samp_request;

/* samp_settings_from -- sets the settings that a request to another program asks for: with that program's names,
     defaults, ranges and order of samplers, and with the meaning that it gives them. The settings own copies of the
     request's lists.
     in       json: one JSON object in that program's format, a string that ends with 0; a field that is null counts as
              absent. Defaults that the server itself has (command line, Modelfile, generation_config.json) must be
              written into the object.
              handled: the names of fields that the caller handles, the last name followed by NULL; these fields are not
              read. NULL: the caller handles no fields
     in, out  settings: n_vocab, n_ctx_train, vocab and rng do not change, because no request has them: set them before.
              n_vocab is needed for a logit bias; n_ctx_train is the length that a text can have, if penalties look at
              the whole text: if nothing has set it, they look at the last 131,072 tokens (1.5 MB for a chain). The seed
              does not change if the request has no seed, or asks for a random one (-1). All other settings get the
              request's value, or that program's default.
     out      *request (request may be NULL)
     Logprobs vLLM's logprobs, top_logprobs, prompt_logprobs, logprob_token_ids and sampling_mask, and SGLang's
              return_logprob, logprobs, top_logprobs_num, top_logprobs, token_ids_logprob, return_sampling_mask and
              return_entropy are reported in *request. More than SAMP_REQUEST_IDS tokens are SAMP_E_RANGE.
     Fields   A field that the program has, but that does not influence which token is drawn, is skipped: prompts,
              lengths, streams, other programs' log-probabilities, best_of. The table SAMPI_PEERS in >>peers
              lists these fields. All other fields are read, or are an error.
              tool_choice and function_call may be "auto", "none" or null. Other values force a tool call, and are
              SAMP_E_UNSUPPORTED. For OpenAI, vLLM, Anthropic and SGLang, tools with "strict" or a grammar are
              SAMP_E_UNSUPPORTED too, unless the request calls no tool (tool_choice "none"). llama-server constrains
              each tool call once it has begun, whether it is strict or not; here the caller must do that.
     Thinking A limit of thinking is not a setting, because each model has its own tags that begin and end thinking. The
              limit is stored in request->thinking_budget as a number of tokens, for samp_init_thinking; if request is
              NULL, a limit is SAMP_E_UNSUPPORTED. The fields are: vLLM's thinking_token_budget; llama-server's
              reasoning_budget_tokens and thinking_budget_tokens (for both programs -1 is no limit; of llama-server's
              two fields the last one with a number counts); Anthropic's thinking ("disabled" is 0, "adaptive" is no
              limit); SGLang's custom_params.thinking_budget and max_thinking_tokens (a number below 0 is no limit). The
              caller must tokenise texts such as reasoning_budget_message. Efforts (reasoning_effort, verbosity,
              output_config.effort) are skipped: they are words for the prompt's template, not numbers of tokens.
     Stops    The settings keep what ends the request's text, for samp_text_from_settings (SAMPLING_STOP): stop,
              stop_sequences, stop_strings (texts; llama-server and Ollama leave out an empty one, the others refuse it;
              a text with the character 0 is SAMP_E_UNSUPPORTED), SGLang's stop_regex, stop_token_ids and transformers'
              eos_token_id (ids of no token are left out), include_stop_str_in_output and SGLang's no_stop_trim,
              ignore_eos, min_tokens. transformers shows a stop, as it returns all that it generates. Each request
              replaces all of it; samp_settings_set has no names for it. With SGLang's ignore_eos the stop_token_ids are
              ignored too, as there. Two of these fields also change what is drawn, which is the caller's to do with
              constraints; so if request is NULL, they are SAMP_E_UNSUPPORTED: request->min_tokens (vLLM's and SGLang's
              min_tokens, SGLang's and transformers' min_new_tokens; only with vLLM strings too wait so long),
              request->mask_ends (llama-server's ignore_eos; the other programs draw end tokens, and go on).
     Guidance transformers' guidance_scale is stored in request->guidance_scale; if request is NULL, a scale other than
              1 is SAMP_E_UNSUPPORTED. The caller runs the model on a second text too, the negative prompt (without one,
              the prompt's last token) and the generated tokens; samp_guide combines both rows, before the chain. The
              other programs have no such field.
     Beams    vLLM's use_beam_search (n beams) and length_penalty, transformers' num_beams (above 1), num_beam_groups,
              diversity_penalty, length_penalty, early_stopping and num_return_sequences are stored in request, for
              samp_beams_init; so are OpenAI's and vLLM's n. The settings then make chains for samp_beams_step: biases
              and penalties only, as neither program truncates beams. If request is NULL, or transformers draws its
              beams (do_sample), a search is SAMP_E_UNSUPPORTED.
     Returns  SAMP_OK; SAMP_E_NULL: settings or json; SAMP_E_FORMAT: the text is not JSON, or a value has another type;
              SAMP_E_RANGE: peer is not one of the enum, or the program refuses the value; SAMP_E_NAME: the program has
              no such field; SAMP_E_UNSUPPORTED: the settings cannot express this value; SAMP_E_NOMEM; or the status of
              samp_check_params for the result (n_vocab, vocab). After an error only *request has changed.
     Meaning  A value means what it means to the program: a value that the program takes as off is off, a value that it
              silently moves into its range is moved, a value that it refuses is refused. The same holds for the ways to
              write a number: for an integer, 4e1 is read as 40; 40.5 is read as 40 for llama-server and Ollama, and
              refused for the other programs; 2^32 + 5 is read as 5 for llama-server and Ollama. The value true is read
              as 1 for vLLM, llama-server and, outside of sampling_params, SGLang; the string "0.5" is read as 0.5 for
              vLLM and, outside of sampling_params, SGLang. transformers distinguishes 2 and 2.0, but JSON does not, so
              both are accepted here. The kept tokens and their probabilities are those of the program, except for its
              rounding, and except for tokens of equal probability at the point where a sampler cuts: here the smaller
              id is kept. transformers' top_k keeps all tokens that equal the last one kept, so for transformers
              top_k_ties is set to 1 (samp_sample_sharded then needs more rounds); vLLM's top_k does the same on some
              devices only. The drawn tokens differ from the program's, because each program has its own random numbers;
              with rng "mt19937" llama-server's tokens are the same.
     Penalties of OpenAI, vLLM and SGLang look at generated tokens only, but vLLM's repetition_penalty also looks at the
              prompt: a vLLM request with repetition_penalty and another penalty is SAMP_E_UNSUPPORTED. SGLang applies
              its repetition_penalty after its other penalties and before logit_bias: a request with repetition_penalty
              and one of these is SAMP_E_UNSUPPORTED.
     Order    SGLang applies top_k and top_p each to the whole distribution, and keeps the tokens that both keep. If the
              request has a min_p, the truncations are applied one after the other, as in SGLang's flashinfer backend.
     Source   vLLM's sampling_params.py and v1/sample; transformers' generation/; llama.cpp's tools/server and common/;
              Ollama's api/types.go and llm/; OpenAI's API reference; Anthropic's SDK for Python; SGLang's sampling/ and
              layers/sampler.py; all as of 2026: >>peers has files and versions. */
SAMP_API int samp_settings_from(samp_settings *settings, samp_peer peer, const char *json, const char *const *handled,
                                samp_request *request);

/* samp_settings_from_lenient -- samp_settings_from for requests that have more than the program's fields: names of a
     client, of a proxy, of other programs. It leaves out each field that the program does not have (SAMP_E_NAME in
     samp_settings_from), and reports their names. Such a field has no effect on this program's samplers, whatever its
     name says: llama-server does not read "repetition_penalty". Everything else is as in samp_settings_from. A field
     that the program has, and that influences tokens, is still an error if settings cannot express it, such as a
     grammar.
     out      left_out [size]: the names of the fields that were left out, "proxy;options.mood", always with a final 0
              (if size is 0, nothing is written, and left_out may be NULL); a name that does not fit, and those behind
              it, are missing. After an error it has the names before the error
     Returns  the number of fields that were left out, or a negative status of samp_settings_from; SAMP_E_NULL also if
              left_out is NULL and size is not 0. */
SAMP_API int samp_settings_from_lenient(samp_settings *settings, samp_peer peer, const char *json,
                                        const char *const *handled, samp_request *request, char *left_out,
                                        size_t size);
