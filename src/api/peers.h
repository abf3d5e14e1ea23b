/* ---- 10. settings as other programs have them (SAMPLING_PEERS) -------------------------------------------------
   samp_settings_from: a request in the JSON of another program becomes settings, with that program's names, defaults
   and ranges. */

/* Whose requests samp_settings_from reads. */
typedef enum samp_peer {
    SAMP_PEER_OPENAI = 0,       /* servers of OpenAI's API: a chat completion or a completion */
    SAMP_PEER_VLLM = 1,         /* vLLM: SamplingParams, or a request to its server */
    SAMP_PEER_TRANSFORMERS = 2, /* Hugging Face's transformers: GenerationConfig, generation_config.json */
    SAMP_PEER_LLAMA_SERVER = 3, /* a request to llama.cpp's server: its own, or one of OpenAI's API */
    SAMP_PEER_OLLAMA = 4,       /* Ollama: generate or chat, with "options" */
    SAMP_PEER_ANTHROPIC = 5,    /* Anthropic's Messages API, and servers of it */
    SAMP_PEER_SGLANG = 6        /* SGLang: SamplingParams, its own request ("sampling_params"), or of OpenAI's kind */
} samp_peer;

/* What a request says beside its settings. */
typedef struct samp_request {
    samp_text_error error;   /* SAMP_OK, or what is wrong, and where in the text */
    char field[64];          /* the field with the error, "top_k" or "options.top_k"; "": no field */
    bool seeded;             /* the request has a seed; if not, the settings keep theirs */
    bool with_prompt;        /* accept the prompt too: penalties and dry look at it. false: they must not see it */
    int32_t thinking_budget; /* at most so many tokens of thinking, for samp_init_thinking; -1: not given */
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
     Fields   that are known and not about which token is drawn (prompts, lengths, stops, streams, log-probabilities, n:
              see samp_child_seed) are skipped: SAMPI_PEERS in >>peers lists them. All others count, or are an error.
              tool_choice and function_call may be "auto", "none" or null: all else makes tokens, and is
              SAMP_E_UNSUPPORTED, as tools with "strict" or a grammar are for OpenAI, vLLM, Anthropic and SGLang, unless
              none is called.
              llama-server constrains a call once it has begun, whatever is strict: that is the caller's to do.
     Thinking is no setting, as its tags are the model's: a number of tokens (vLLM's thinking_token_budget,
              llama-server's reasoning_budget_tokens and thinking_budget_tokens; -1 is none, and of the two the last
              number counts; Anthropic's thinking, where "disabled" is 0 and "adaptive" none; SGLang's
              custom_params.thinking_budget and max_thinking_tokens, where all below 0 is none) comes in
              request->thinking_budget, for samp_init_thinking; where request is NULL it is SAMP_E_UNSUPPORTED. Texts
              such as reasoning_budget_message are the caller's to tokenise. Efforts (reasoning_effort, verbosity,
              output_config.effort) are words for the prompt's template, no numbers of tokens, and skipped.
     Returns  SAMP_OK; SAMP_E_NULL: settings or json; SAMP_E_FORMAT: not JSON, or another type of value; SAMP_E_RANGE: a
              peer that there is not, or a value that it refuses; SAMP_E_NAME: it has no such field;
              SAMP_E_UNSUPPORTED: no setting here means this value of it; SAMP_E_NOMEM; what samp_check_params says of
              the result (n_vocab, vocab). After an error nothing has changed but *request.
     Meaning  what a value means there is meant here: 0 is off where it is off there, what is silently moved into a
              range is moved, what is refused is refused. So are numbers: 4e1 is 40, 40.5 is 40 to llama-server and
              Ollama and refused elsewhere, 2^32 + 5 is 5 to these two, true is 1 and "0.5" is 0.5 to vLLM and, but in
              sampling_params, to SGLang; JSON does
              not tell 2 from 2.0, so transformers, which does, gets both. Sets of kept tokens and probabilities are the
              peer's but for its rounding and for ties at a cut, of which the smaller id stays here. transformers' top_k
              keeps all that equal its last one: top_k_ties is 1 (slices, >>shards, want it 0). vLLM's does so on some
              devices only. Tokens are not: each has its own random numbers. llama-server's tokens come with rng
              "mt19937".
     Penalties of OpenAI, vLLM and SGLang look at what is generated only, vLLM's repetition_penalty at the prompt too: a
              request with both is SAMP_E_UNSUPPORTED. So is one of SGLang's with a repetition_penalty beside another
              penalty or a logit bias, between which it stands there.
     Order    SGLang keeps what top_k keeps and top_p keeps of the whole distribution; with a min_p it takes one behind
              the other, as its flashinfer backend does.
     Source   vLLM's sampling_params.py and v1/sample; transformers' generation/; llama.cpp's tools/server and common/;
              Ollama's api/types.go and llm/; OpenAI's API reference; Anthropic's SDK for Python; SGLang's sampling/ and
              layers/sampler.py; in 2026: >>peers has files and versions. */
SAMP_API int samp_settings_from(samp_settings *settings, samp_peer peer, const char *json, const char *const *handled,
                                samp_request *request);
