/* ---- 10. requests of other programs (SAMPLING_PEERS) -----------------------------------------------------------
   samp_settings_from: a request in the JSON of another program becomes settings, with that program's names, defaults
   and ranges. */

/* The programs whose requests samp_settings_from reads. */
typedef enum samp_peer {
    SAMP_PEER_OPENAI = 0,       /* servers of OpenAI's API: a chat completion or a completion */
    SAMP_PEER_VLLM = 1,         /* vLLM: SamplingParams, or a request to its server */
    SAMP_PEER_TRANSFORMERS = 2, /* Hugging Face's transformers: GenerationConfig, generation_config.json */
    SAMP_PEER_LLAMA_SERVER = 3, /* a request to llama.cpp's server: its own, or one of OpenAI's API */
    SAMP_PEER_OLLAMA = 4,       /* Ollama: generate or chat, with "options" */
    SAMP_PEER_ANTHROPIC = 5,    /* Anthropic's Messages API, and servers that offer it */
    SAMP_PEER_SGLANG = 6 /* SGLang: SamplingParams, its own request ("sampling_params"), or one of OpenAI's API */
} samp_peer;

/* What a request contains besides settings. */
typedef struct samp_request {
    samp_text_error error;   /* SAMP_OK, or an error and its place in the request */
    char field[64];          /* the field with the error, as "top_k" or "options.top_k"; "": no field */
    bool seeded;             /* the request has a seed; if not, the settings keep theirs */
    bool with_prompt;        /* true: accept the prompt, for penalties and dry; false: they must not see it */
    int32_t thinking_budget; /* the limit of thinking in tokens, for samp_init_thinking; -1: not given */
} samp_request;

/* samp_settings_from -- sets the settings that a request to another program asks for: with its names, defaults, ranges
     and order of samplers, and their meaning there. The settings own copies of the request's lists.
     in       json: one object, as that program takes it; a null is the same as an absent field. Ends with 0. A server's
              own defaults (command line, Modelfile, generation_config.json) must be written into it.
              handled: names of fields that the caller handles, the last followed by NULL; they are not read. NULL: no
              such field
     in, out  settings: n_vocab, n_ctx_train, vocab and rng stay, because no request has them: set them before. n_vocab
              is needed for a logit bias; n_ctx_train must be no less than the length of a text, where penalties look at
              all of it. The seed stays if the request has no seed, or asks for a random one (-1). Everything else is
              the request's value, or that program's default.
     out      *request (may be NULL)
     Fields   A field that the program has, but that does not influence which token is drawn, is skipped: prompts,
              lengths, stops, streams, log-probabilities, n (see samp_child_seed). SAMPI_PEERS in >>peers lists them.
              All other fields are read, or are an error.
              tool_choice and function_call may be "auto", "none" or null. Other values force a call, and are
              SAMP_E_UNSUPPORTED. So are tools with "strict" or a grammar for OpenAI, vLLM, Anthropic and SGLang, unless
              the request calls no tool (tool_choice "none"). llama-server constrains a call once it has begun, whether
              it is strict or not; the caller must do that.
     Thinking A limit of thinking is not a setting, because the tags that begin and end thinking are the model's. The
              number of tokens is in request->thinking_budget, for samp_init_thinking; if request is NULL, it is
              SAMP_E_UNSUPPORTED. The fields are: vLLM's thinking_token_budget; llama-server's reasoning_budget_tokens
              and thinking_budget_tokens (for both programs -1 is no limit; of llama-server's two fields the last one
              with a number counts); Anthropic's thinking ("disabled" is 0, "adaptive" is no limit); SGLang's
              custom_params.thinking_budget and max_thinking_tokens (a number below 0 is no limit). The caller must
              tokenise texts such as reasoning_budget_message. Efforts (reasoning_effort, verbosity,
              output_config.effort) are skipped: they are words for the prompt's template, not numbers of tokens.
     Returns  SAMP_OK; SAMP_E_NULL: settings or json; SAMP_E_FORMAT: the text is not JSON, or a value has another type;
              SAMP_E_RANGE: peer is not one of the enum, or the program refuses the value; SAMP_E_NAME: the program has
              no such field; SAMP_E_UNSUPPORTED: the settings cannot express this value; SAMP_E_NOMEM; or the status of
              samp_check_params for the result (n_vocab, vocab). After an error only *request has changed.
     Meaning  A value means what it means to the program: a value that the program takes as off is off, a value that it
              silently moves into its range is moved, a value that it refuses is refused. The same holds for the ways to
              write a number. 4e1 is 40. 40.5 is 40 for llama-server and Ollama, and is refused for others. 2^32 + 5 is
              5 for these two. true is 1 for vLLM, llama-server and, outside of sampling_params, SGLang; "0.5" is 0.5
              for vLLM and, outside of sampling_params, SGLang. JSON has no difference between 2 and 2.0, so
              transformers, which distinguishes them, accepts both here. The kept tokens and their probabilities are the
              program's, except for its rounding, and for tokens that are equal at a cut: here the smaller id is kept.
              transformers' top_k keeps all tokens equal to its last one, so top_k_ties is 1 (slices, >>shards, need 0);
              vLLM's does so on some devices only. The drawn tokens differ, because each program has its own random
              numbers; with rng "mt19937" llama-server's tokens are the same.
     Penalties of OpenAI, vLLM and SGLang look at generated tokens only, but vLLM's repetition_penalty also looks at the
              prompt: a request with both is SAMP_E_UNSUPPORTED. SGLang applies its repetition_penalty after its other
              penalties and before logit_bias: a request with it and one of them is SAMP_E_UNSUPPORTED.
     Order    SGLang keeps the tokens that both top_k and top_p keep, each of the whole distribution. With a min_p the
              cuts follow each other, as in its flashinfer backend.
     Source   vLLM's sampling_params.py and v1/sample; transformers' generation/; llama.cpp's tools/server and common/;
              Ollama's api/types.go and llm/; OpenAI's API reference; Anthropic's SDK for Python; SGLang's sampling/ and
              layers/sampler.py; all as of 2026: >>peers has files and versions. */
SAMP_API int samp_settings_from(samp_settings *settings, samp_peer peer, const char *json, const char *const *handled,
                                samp_request *request);
