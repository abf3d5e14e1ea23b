/* test_peers.c - requests to other programs as settings (samp_settings_from), and seeds for several samples of one
   request (samp_child_seed). Defaults and refusals are told by tables written from those programs' sources. Meanings are
   tested by second implementations of what each program does with its fields, in double, on a real model's rows: the
   same tokens must be kept, with the same probabilities. */
#define SAMPLING_PEERS
#include "sampling.h"
#include "tests/support/chi_square.h"
#include "tests/support/inside.h"
#include "tests/support/test.h"

enum { N_PEERS = 7 };
static const char *const peer_names[N_PEERS] = { "OpenAI", "vLLM",      "transformers", "llama-server",
                                                 "Ollama", "Anthropic", "SGLang" };

/* To Anthropic numbers mean what they mean to vLLM (test_anthropic); the others are measured one by one. */
static bool is_measured(int peer) { return peer != SAMP_PEER_ANTHROPIC; }

/* Programs that look at what is generated where they penalise. */
static bool is_of_openai(samp_peer peer)
{
    return peer == SAMP_PEER_OPENAI || peer == SAMP_PEER_VLLM || peer == SAMP_PEER_SGLANG;
}
static bool is_of_llama(samp_peer peer) { return peer == SAMP_PEER_LLAMA_SERVER || peer == SAMP_PEER_OLLAMA; }

static int load_rows(void **state)
{
    (void)state;
    return real_rows_load(REAL_ROWS_PATH) ? 0 : -1;
}

/* Settings as a program that serves a model of N_VOCAB tokens has them before a request comes. */
enum { N_VOCAB = 500, N_CTX = 1000 };
static samp_settings *served(void)
{
    samp_settings *settings = samp_settings_init();
    assert_ok(samp_settings_set(settings, "n_vocab", "500", NULL));
    assert_ok(samp_settings_set(settings, "n_ctx_train", "1000", NULL));
    assert_ok(samp_settings_set(settings, "seed", "77", NULL));
    return settings;
}

/* The chain of a request as text, into text [1024]. */
static void describe(samp_settings *settings, char *text)
{
    int status;
    own_sampler *chain = samp_chain_from_params(samp_settings_params(settings), &status);
    assert_ok(status);
    assert_true(samp_describe(chain, text, 1024) < 1024);
}

/* ---- what fields become ---- */

typedef struct request_case {
    samp_peer peer;
    const char *json, *chain; /* without "logits -> " and what is off */
} request_case;

static const request_case taken[] = {
    /* defaults: what each program does if a request says nothing */
    { SAMP_PEER_OPENAI, "{}", "dist(seed=77)" },
    { SAMP_PEER_VLLM, " { } ", "dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"use_beam_search\":false,\"extra_args\":{},\"bad_words\":\"\",\"logits_processors\":null}",
      "dist(seed=77)" },
    { SAMP_PEER_TRANSFORMERS, "{}", "temp-ext(t=0) -> top-k(k=50, ties=1) -> greedy" },
    { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":true}", "top-k(k=50, ties=1) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{}",
      "top-k(k=40) -> top-p(p=0.95) -> min-p(p=0.05) -> temp-ext(t=0.8) -> dist(seed=77)" },
    { SAMP_PEER_OLLAMA, "{}", "top-k(k=40) -> top-p(p=0.9) -> temp-ext(t=0.8) -> dist(seed=77)" },
    { SAMP_PEER_OLLAMA, "{\"options\":null}", "top-k(k=40) -> top-p(p=0.9) -> temp-ext(t=0.8) -> dist(seed=77)" },

    /* null is the default, other fields are skipped */
    { SAMP_PEER_OPENAI,
      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"temperature\"}],\"max_tokens\":5,\"stop\":["
      "\"a\"],"
      "\"stream\":true,\"n\":3,\"temperature\":null,\"top_p\":0.25,\"seed\":5,\"response_format\":{\"type\":\"text\"}"
      "}",
      "top-p(p=0.25) -> dist(seed=5)" },
    { SAMP_PEER_OPENAI, "{\"presence_penalty\":1.5,\"frequency_penalty\":-0.5,\"temperature\":2}",
      "penalties(last_n=1000, repeat=1, freq=-0.5, present=1.5) -> temp-ext(t=2) -> dist(seed=77)" },
    { SAMP_PEER_OPENAI, "{\"temperature\":0,\"top_p\":0.5}", "temp-ext(t=0) -> top-p(p=0.5) -> greedy" },
    { SAMP_PEER_OPENAI, "{\"top_p\":0}", "top-p(p=1.17549e-38) -> dist(seed=77)" },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"15\":-100,\"3\":2.5}}", "logit-bias(n=2) -> dist(seed=77)" },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{}, \"seed\":-9}", "dist(seed=18446744073709551607)" },
    { SAMP_PEER_OPENAI, "{\"seed\":-9223372036854775808}", "dist(seed=9223372036854775808)" },

    { SAMP_PEER_VLLM, "{\"top_k\":-1,\"min_p\":0.1,\"top_p\":0.9,\"temperature\":0.5,\"seed\":-1}",
      "temp-ext(t=0.5) -> min-p(p=0.1) -> top-p(p=0.9) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"top_k\":20.0,\"repetition_penalty\":1.25,\"ignore_eos\":true,\"stop_token_ids\":[1]}",
      "penalties(last_n=1000, repeat=1.25, freq=0, present=0) -> top-k(k=20) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"temperature\":0,\"top_p\":0.5}", "temp-ext(t=0) -> top-p(p=0.5) -> greedy" },
    { SAMP_PEER_VLLM, "{\"temperature\":0.000009}", "temp-ext(t=0.01) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"temperature\":0.01}", "temp-ext(t=0.01) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"temperature\":0.0101}", "temp-ext(t=0.0101) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"temperature\":0.0001,\"bad_words\":[],\"min_tokens\":0}",
      "temp-ext(t=0.01) -> dist(seed=77)" },

    { SAMP_PEER_TRANSFORMERS,
      "{\"do_sample\":true,\"temperature\":0.6,\"top_k\":0,\"top_p\":0.9,\"min_p\":0.05,\"typical_p\":0.75,"
      "\"repetition_penalty\":1.1,\"transformers_version\":\"5.5.3\",\"eos_token_id\":[1,2],\"num_beams\":1}",
      "penalties(last_n=1000, repeat=1.1, freq=0, present=0) -> temp-ext(t=0.6) -> top-p(p=0.9) -> min-p(p=0.05) -> "
      "typical(p=0.75) -> dist(seed=77)" },
    { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":true,\"top_k\":0,\"eta_cutoff\":0.0625,\"epsilon_cutoff\":0.125}",
      "epsilon(epsilon=0.125) -> eta(epsilon=0.0625) -> dist(seed=77)" },
    { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":true,\"top_k\":0,\"eta_cutoff\":1.0,\"epsilon_cutoff\":-2}",
      "dist(seed=77)" },
    { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":false,\"temperature\":0.6,\"suppress_tokens\":[7,9]}",
      "logit-bias(n=2) -> temp-ext(t=0) -> top-k(k=50, ties=1) -> greedy" },

    { SAMP_PEER_LLAMA_SERVER,
      "{\"prompt\":\"p\",\"n_predict\":9,\"samplers\":[\"min_p\",\"temperature\",\"top_n_sigma\"],\"min_p\":0.25,"
      "\"top_n_sigma\":1.5,\"seed\":4294967295,\"cache_prompt\":true}",
      "min-p(p=0.25) -> temp-ext(t=0.8) -> top-n-sigma(n=1.5) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"ktx\",\"xtc_probability\":0.5,\"seed\":-2}",
      "top-k(k=40) -> temp-ext(t=0.8) -> xtc(p=0.5, t=0.1, seed=4294967294) -> dist(seed=4294967294)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":[],\"top_k\":5}", "dist(seed=77)" },
    /* a temperature of 0 */
    { SAMP_PEER_LLAMA_SERVER, "{\"temperature\":0,\"samplers\":[\"top_k\"],\"dynatemp_range\":0.5}",
      "top-k(k=40) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"temperature\":0,\"samplers\":\"kt\"}", "top-k(k=40) -> temp-ext(t=0) -> greedy" },
    { SAMP_PEER_LLAMA_SERVER, "{\"temperature\":0,\"samplers\":\"kt\",\"dynatemp_range\":0.5}",
      "top-k(k=40) -> temp-ext(t=0.25, delta=0.25, exponent=1) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"temperature\":0,\"samplers\":\"k\",\"dynatemp_range\":0.5,\"mirostat\":2}",
      "temp(t=0) -> mirostat-v2(tau=5, eta=0.1, seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"ka\",\"adaptive_target\":0.5}",
      "top-k(k=40) -> adaptive-p(target=0.5, decay=0.9, seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"top_k\":-3,\"top_p\":1.5,\"min_p\":-1,\"temperature\":-2}",
      "temp-ext(t=0) -> greedy" },
    { SAMP_PEER_LLAMA_SERVER, "{\"mirostat\":2,\"mirostat_tau\":4}",
      "temp(t=0.8) -> mirostat-v2(tau=4, eta=0.1, seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"mirostat\":7,\"logit_bias\":[[15,false],[3,1.5]]}",
      "logit-bias(n=2) -> temp(t=0.8) -> mirostat-v2(tau=5, eta=0.1, seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":\"e\",\"repeat_penalty\":1.5,\"repeat_last_n\":1000,\"logit_bias\":{\"3\":-1}}",
      "logit-bias(n=1) -> penalties(last_n=1000, repeat=1.5, freq=0, present=0) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":\"t\",\"dynatemp_range\":0.25,\"dynatemp_exponent\":1.5,\"dry_base\":0.5}",
      "temp-ext(t=0.8, delta=0.25, exponent=1.5) -> dist(seed=77)" },

    { SAMP_PEER_OLLAMA,
      "{\"model\":\"m\",\"stream\":false,\"keep_alive\":\"5m\",\"format\":\"\",\"options\":{\"num_ctx\":4096,"
      "\"seed\":3,"
      "\"temperature\":0.25,\"top_k\":10,\"top_p\":0.5,\"min_p\":0.125,\"typical_p\":0,\"repeat_penalty\":1.5,"
      "\"repeat_last_n\":33,\"num_predict\":-1}}",
      "penalties(last_n=33, repeat=1.5, freq=0, present=0) -> top-k(k=10) -> top-p(p=0.5) -> min-p(p=0.125) -> "
      "temp-ext(t=0.25) -> dist(seed=3)" },

    /* SGLang's: flat, native, of OpenAI's kind; top_p does not see what top_k has left, unless there is a min_p */
    { SAMP_PEER_SGLANG, "{}", "dist(seed=77)" },
    { SAMP_PEER_SGLANG, "{\"temperature\":0.5,\"top_p\":0.9,\"top_k\":20,\"max_new_tokens\":9,\"stop\":[\"a\"]}",
      "temp-ext(t=0.5) -> top-p(p=0.9) -> top-k(k=20) -> dist(seed=77)" },
    { SAMP_PEER_SGLANG,
      "{\"text\":\"t\",\"sampling_params\":{\"temperature\":0.5,\"top_p\":0.9,\"top_k\":20,\"min_p\":0.1,\"sampling_"
      "seed\":"
      "5,\"max_new_tokens\":9},\"stream\":true}",
      "temp-ext(t=0.5) -> top-k(k=20) -> top-p(p=0.9) -> min-p(p=0.1) -> dist(seed=5)" },
    { SAMP_PEER_SGLANG,
      "{\"model\":\"m\",\"messages\":[],\"max_completion_tokens\":9,\"seed\":-1,\"reasoning_effort\":0.5,\"tool_"
      "choice\":"
      "\"auto\",\"response_format\":{\"type\":\"text\"},\"chat_template_kwargs\":{\"thinking_budget\":5},\"min_"
      "tokens\":0}",
      "dist(seed=18446744073709551615)" },
    { SAMP_PEER_SGLANG, "{\"temperature\":0.0000009,\"top_k\":7}", "temp-ext(t=0) -> top-k(k=7) -> greedy" },
    { SAMP_PEER_SGLANG, "{\"temperature\":9.5,\"top_k\":-1,\"regex\":null}", "temp-ext(t=9.5) -> dist(seed=77)" },
    { SAMP_PEER_SGLANG, "{\"temperature\":\"0.5\",\"top_k\":true}",
      "temp-ext(t=0.5) -> top-k(k=1) -> dist(seed=77)" },
    { SAMP_PEER_SGLANG,
      "{\"sampling_params\":{\"frequency_penalty\":0.5,\"presence_penalty\":1,\"logit_bias\":{\"3\":200}}}",
      "logit-bias(n=1) -> penalties(last_n=1000, repeat=1, freq=0.5, present=1) -> dist(seed=77)" },
    { SAMP_PEER_SGLANG, "{\"repetition_penalty\":2,\"frequency_penalty\":0}",
      "penalties(last_n=1000, repeat=2, freq=0, present=0) -> dist(seed=77)" },
    { SAMP_PEER_SGLANG, "{\"custom_params\":{\"token_ids\":[5]},\"sampling_params\":null}", "dist(seed=77)" },

    /* which tool is called, if any, is left to the model */
    { SAMP_PEER_OPENAI,
      "{\"tool_choice\":\"auto\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":false}}]}",
      "dist(seed=77)" },
    { SAMP_PEER_OPENAI,
      "{\"tool_choice\":\"none\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":true}}]}",
      "dist(seed=77)" },
    { SAMP_PEER_OPENAI,
      "{\"tool_choice\":null,\"function_call\":\"auto\",\"functions\":[{\"name\":\"f\"}],\"tools\":[]}",
      "dist(seed=77)" },
    { SAMP_PEER_OPENAI,
      "{\"tools\":[{\"type\":\"custom\",\"custom\":{\"name\":\"f\",\"format\":{\"type\":\"text\"}}},1,{\"function\":{"
      "\"strict\":null}}]}",
      "dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"tool_choice\":\"none\",\"function_call\":\"none\",\"tools\":null}", "dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"tool_choice\":\"auto\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":true}}]}",
      "top-k(k=40) -> top-p(p=0.95) -> min-p(p=0.05) -> temp-ext(t=0.8) -> dist(seed=77)" },

    /* numbers, however they are written */
    { SAMP_PEER_VLLM, "{\"top_k\":4e1}", "top-k(k=40) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"top_k\":400.000e-1}", "top-k(k=40) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"top_k\":40.00000000000000000001}", "top-k(k=40) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"top_k\":2147483648,\"seed\":1e3}", "top-k(k=2147483647) -> dist(seed=1000)" },
    { SAMP_PEER_VLLM, "{\"top_k\":18446744073709551615}", "top-k(k=2147483647) -> dist(seed=77)" },
    { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":true,\"top_k\":3e9}", "top-k(k=2147483647, ties=1) -> dist(seed=77)" },
    { SAMP_PEER_OPENAI, "{\"seed\":9.223372036854775e18}", "dist(seed=9223372036854774784)" },
    { SAMP_PEER_VLLM, "{\"seed\":9223372036854775807}", "dist(seed=9223372036854775807)" },
    { SAMP_PEER_VLLM, "{\"seed\":-9223372036854775808}", "dist(seed=9223372036854775808)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"k\",\"top_k\":4e1}", "top-k(k=40) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"k\",\"top_k\":40.5}", "top-k(k=40) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"k\",\"top_k\":-0.9}", "dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"k\",\"top_k\":4294967301}", "top-k(k=5) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"k\",\"top_k\":4294967295}", "dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"\",\"seed\":18446744073709551614}", "dist(seed=4294967294)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"\",\"seed\":1.5}", "dist(seed=1)" },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"top_k\":40.5,\"seed\":1.99}}",
      "top-k(k=40) -> top-p(p=0.9) -> temp-ext(t=0.8) -> dist(seed=1)" },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"top_k\":4e1}}",
      "top-k(k=40) -> top-p(p=0.9) -> temp-ext(t=0.8) -> dist(seed=77)" },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"top_k\":8589934597}}",
      "top-k(k=5) -> top-p(p=0.9) -> temp-ext(t=0.8) -> dist(seed=77)" },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"seed\":9007199254740993}}",
      "top-k(k=40) -> top-p(p=0.9) -> temp-ext(t=0.8) -> dist(seed=0)" },
    { SAMP_PEER_VLLM, "{\"temperature\":1e-50}", "temp-ext(t=0.01) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"temperature\":1e-310}", "temp-ext(t=0.01) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"temperature\":1e-500}", "temp-ext(t=0) -> greedy" },
    { SAMP_PEER_VLLM, "{\"temperature\":0e999999999999999999999}", "temp-ext(t=0) -> greedy" },
    { SAMP_PEER_VLLM, "{\"temperature\":2.0000000000000001,\"top_p\":1.00000000000000011}",
      "temp-ext(t=2) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"top_p\":1e-50,\"min_p\":1e-50}", "top-p(p=1.17549e-38) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"temperature\":\"0.5\",\"top_k\":\" 40.0 \",\"top_p\":\"+.25\",\"seed\":\"5\"}",
      "temp-ext(t=0.5) -> top-k(k=40) -> top-p(p=0.25) -> dist(seed=5)" },
    { SAMP_PEER_VLLM, "{\"temperature\":false,\"top_k\":true}", "temp-ext(t=0) -> top-k(k=1) -> greedy" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"kt\",\"temperature\":true,\"top_k\":true}",
      "top-k(k=1) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"p\",\"top_p\":1e39,\"temperature\":1e-60}", "dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"p\",\"top_p\":-1e300}", "top-p(p=1.17549e-38) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"p\",\"top_p\":1.00000001}", "dist(seed=77)" },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"typical_p\":-0.5,\"top_k\":0,\"top_p\":1}}",
      "typical(p=1.17549e-38) -> temp-ext(t=0.8) -> dist(seed=77)" },

    /* tokens that have a bias: as Python and C read their numbers */
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\" 5\":1,\"+6\":1,\"0_7\":1,\"8\\t\":1,\"-0\":1}}",
      "logit-bias(n=5) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"5\":1,\"05\":2}}", "logit-bias(n=1) -> dist(seed=77)" },
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"5\":\"1.5\",\"6\":true}}", "logit-bias(n=2) -> dist(seed=77)" },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"00000000000000000000000000000000000000000000000000000000000000001\":1}}",
      "logit-bias(n=1) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":\"\",\"logit_bias\":{\"00000000000000000000000000000000000000000000000000000000000000001\":1}}",
      "logit-bias(n=1) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":\"\",\"logit_bias\":{\"\":1,\" \\n7\":1,\"+8\":1,\"9\\u0000word\":1,\"05\":1,\"5\":1}}",
      "logit-bias(n=6) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":\"\",\"logit_bias\":[[500,1],[-1,1],[18446744073709551615,1],[499,1],[5.0,1],[1e1,1]]}",
      "logit-bias(n=1) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":\"\",\"logit_bias\":{\"500\":1,\"-1\":1,\"99999999999999999999\":1,\"4294967297\":1}}",
      "logit-bias(n=1) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":\"\",\"logit_bias\":[[1,true],[1,2,3],1,[null,1],[\"word\",true],[4294967297,1],[{},1]]}",
      "logit-bias(n=1) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"\",\"logit_bias\":{\"word\":null,\"x\":\"1\"}}", "dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"\",\"logit_bias\":1}", "dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"\",\"logit_bias\":\"15\"}", "dist(seed=77)" },
    { SAMP_PEER_TRANSFORMERS, "{\"suppress_tokens\":[7,500,-1,9,1e12]}",
      "logit-bias(n=2) -> temp-ext(t=0) -> top-k(k=50, ties=1) -> greedy" },

    /* llama-server's names of samplers */
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":[\"Top-K\",\"TEMP\",\"minp\",\"nucleus\",\"Typ\",\"TOPNSIGMA\"],\"top_n_sigma\":1.5,\"typical_"
      "p\":0.5}",
      "top-k(k=40) -> temp-ext(t=0.8) -> min-p(p=0.05) -> top-p(p=0.95) -> typical(p=0.5) -> top-n-sigma(n=1.5) -> "
      "dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":[\"top_k\",\"tfs_z\",\"top-n_sigma\",\"\",\"temperatur\",\"top__k\"]}",
      "top-k(k=40) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER,
      "{\"samplers\":[\"typ-p\",\"top-p\",\"adaptive-p\"],\"typical_p\":0.5,\"adaptive_target\":0.5}",
      "typical(p=0.5) -> top-p(p=0.95) -> adaptive-p(target=0.5, decay=0.9, seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":\"kzKt\\u0000\"}", "top-k(k=40) -> temp-ext(t=0.8) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":{}}",
      "top-k(k=40) -> top-p(p=0.95) -> min-p(p=0.05) -> temp-ext(t=0.8) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":5,\"adaptive_target\":0.3}",
      "top-k(k=40) -> top-p(p=0.95) -> min-p(p=0.05) -> temp-ext(t=0.8) -> dist(seed=77)" },
    { SAMP_PEER_LLAMA_SERVER, "{\"thinking_budget_tokens\":-1}",
      "top-k(k=40) -> top-p(p=0.95) -> min-p(p=0.05) -> temp-ext(t=0.8) -> dist(seed=77)" },

    /* fields that are younger, and names in any case */
    { SAMP_PEER_OPENAI, "{\"moderation\":{\"model\":\"m\"},\"prompt_cache_options\":{}}", "dist(seed=77)" },
    { SAMP_PEER_TRANSFORMERS, "{\"use_mtp\":true,\"max_cache_len\":9,\"speculation_type\":null}",
      "temp-ext(t=0) -> top-k(k=50, ties=1) -> greedy" },
    { SAMP_PEER_VLLM, "{\"watermarking\":false,\"session_id\":\"s\",\"return_mm_kwargs\":true}", "dist(seed=77)" },
    { SAMP_PEER_OLLAMA, "{\"Model\":\"m\",\"OPTIONS\":{\"seed\":3},\"Format\":\"\"}",
      "top-k(k=40) -> top-p(p=0.9) -> temp-ext(t=0.8) -> dist(seed=3)" },
};

/* A description without what is off ("?..."), which each order names too. */
static void without_what_is_off(char *text)
{
    char *to = text;
    for (const char *from = text + strlen("logits -> "); *from;) {
        const char *end = strstr(from, " -> ");
        size_t n = end ? (size_t)(end - from) + 4 : strlen(from);
        if (*from != '?') {
            memmove(to, from, n);
            to += n;
        }
        from += n;
    }
    *to = 0;
}

TEST(test_requests_taken)
{
    int wrong = 0; /* all of them are told */
    for (size_t i = 0; i < TEST_COUNT(taken); i++) {
        char text[1024];
        own_settings *settings = served();
        samp_request request;
        int status = samp_settings_from(settings, taken[i].peer, taken[i].json, NULL, &request);
        assert_num(request.error.status, status);
        describe(settings, text);
        without_what_is_off(text);
        bool good = status == SAMP_OK && !request.field[0] && !strcmp(text, taken[i].chain);
        if (!good)
            print_error("%s %s: %s: %s\n", peer_names[taken[i].peer], taken[i].json, request.error.message, text);
        wrong += !good;
    }
    assert_num(wrong, 0);
}

/* Values that no description tells. */
TEST(test_values_of_members)
{
    own_settings *settings = served();
    samp_request request;
    static const char *const json =
        "{\"logit_bias\":[[4,false],[7,-2.5],[7,1e-3]],\"dry_sequence_breakers\":[\"\",\"\\n\\u0000x\",\"\\u0000\","
        "\"\\u00e9\\\"\"],\"min_"
        "keep\":3,"
        "\"dry_multiplier\":0,\"dry_allowed_length\":5,\"dry_base\":2,\"xtc_threshold\":0.25,\"adaptive_decay\":0.5}";
    assert_ok(samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER, json, NULL, &request));
    const samp_params *p = samp_settings_params(settings);
    assert_num(p->n_logit_bias, 3);
    assert_num(p->logit_bias[0].token, 4);
    assert_same(p->logit_bias[0].bias, -INFINITY);
    assert_num(p->logit_bias[1].token, 7);
    assert_same(p->logit_bias[1].bias, -2.5f);
    assert_same(p->logit_bias[2].bias, 1e-3f);
    assert_text(p->dry_breakers[0], "\n");
    assert_text(p->dry_breakers[1], "\xc3\xa9\"");
    assert_null(p->dry_breakers[2]);
    assert_num(p->min_keep, 3);
    assert_num(p->dry_allowed_length, 5);
    assert_num(p->dry_penalty_last_n, 64);
    assert_same(p->dry_base, 2.0f);
    assert_same(p->xtc_threshold, 0.25f);
    assert_same(p->adaptive_decay, 0.5f);
    assert_ok(samp_settings_set(settings, "logit_bias", "9+1", NULL)); /* lists go on as any others */
    assert_ok(samp_settings_set(settings, "dry_breakers", "x", NULL));
    assert_num(samp_settings_params(settings)->n_logit_bias, 4);
    assert_text(samp_settings_params(settings)->dry_breakers[2], "x");
    assert_ok(
        samp_settings_from(settings, SAMP_PEER_VLLM, "{\"logit_bias\":{\"3\":400,\"4\":-1e30}}", NULL, &request));
    p = samp_settings_params(settings);
    assert_num(p->n_logit_bias, 2);
    assert_same(p->logit_bias[0].bias, 100.0f);
    assert_same(p->logit_bias[1].bias, -100.0f);
    assert_null(p->dry_breakers);
    assert_num(p->min_keep, 0); /* nothing of the request before is left */
    assert_ok(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"logit_bias\":{\"5\":1,\"05\":2,\"3\":4,\"+5\":3}}",
                                 NULL, &request));
    p = samp_settings_params(settings);
    assert_num(p->n_logit_bias, 2); /* of names that Python reads as one number the last counts */
    for (int i = 0; i < 2; i++) assert_same(p->logit_bias[i].bias, p->logit_bias[i].token == 5 ? 3.0f : 4.0f);
    assert_ok(
        samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER, "{\"logit_bias\":{\"5\":1,\"05\":2}}", NULL, &request));
    assert_num(samp_settings_params(settings)->n_logit_bias, 2); /* both do */
    assert_ok(
        samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER, "{\"dry_sequence_breakers\":[\"\"]}", NULL, &request));
    assert_non_null(samp_settings_params(settings)->dry_breakers);
    assert_null(samp_settings_params(settings)->dry_breakers[0]); /* none at all */
}

/* How many tokens may be thought: a number for the caller, who must be there to be told. */
TEST(test_thinking_budgets)
{
    static const struct {
        samp_peer peer;
        const char *json, *name;
        int32_t budget;
    } c[] = {
        { SAMP_PEER_VLLM, "{}", NULL, -1 },
        { SAMP_PEER_VLLM, "{\"thinking_token_budget\":null}", NULL, -1 },
        { SAMP_PEER_VLLM, "{\"thinking_token_budget\":-1}", NULL, -1 },
        { SAMP_PEER_VLLM, "{\"thinking_token_budget\":0}", "thinking_token_budget", 0 },
        { SAMP_PEER_VLLM, "{\"thinking_token_budget\":2147483647}", "thinking_token_budget", INT32_MAX },
        { SAMP_PEER_VLLM, "{\"thinking_token_budget\":\"40\"}", "thinking_token_budget", 40 },
        { SAMP_PEER_VLLM, "{\"reasoning_effort\":\"low\"}", NULL, -1 },
        { SAMP_PEER_LLAMA_SERVER, "{\"reasoning_budget_tokens\":512}", "reasoning_budget_tokens", 512 },
        { SAMP_PEER_LLAMA_SERVER, "{\"thinking_budget_tokens\":40.5}", "thinking_budget_tokens", 40 },
        { SAMP_PEER_LLAMA_SERVER, "{\"reasoning_budget_tokens\":-1}", NULL, -1 },
        { SAMP_PEER_LLAMA_SERVER, "{\"reasoning_budget_tokens\":7,\"thinking_budget_tokens\":-1}",
          "reasoning_budget_tokens", 7 },
        { SAMP_PEER_OPENAI, "{\"reasoning_effort\":\"high\"}", NULL, -1 },
        { SAMP_PEER_OPENAI, "{\"reasoning_effort\":\"minimal\",\"max_completion_tokens\":9,\"verbosity\":\"low\"}",
          NULL, -1 },
        { SAMP_PEER_TRANSFORMERS, "{}", NULL, -1 },
        { SAMP_PEER_SGLANG, "{\"custom_params\":{\"thinking_budget\":512}}", "custom_params", 512 },
        { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"custom_params\":{\"thinking_budget\":0,\"x\":1}}}",
          "sampling_params.custom_params", 0 },
        { SAMP_PEER_SGLANG, "{\"custom_params\":{\"thinking_budget\":99999999999999999999}}", "custom_params",
          INT32_MAX },
        { SAMP_PEER_SGLANG, "{\"custom_params\":{\"thinking_budget\":true}}", "custom_params", 1 },
        { SAMP_PEER_SGLANG, "{\"custom_params\":{\"thinking_budget\":-7}}", NULL, -1 }, /* it lets these be none */
        { SAMP_PEER_SGLANG, "{\"custom_params\":{\"thinking_budget\":5.0}}", NULL, -1 },
        { SAMP_PEER_SGLANG, "{\"custom_params\":{\"thinking_budget\":\"5\"}}", NULL, -1 },
        { SAMP_PEER_SGLANG, "{\"custom_params\":{\"thinking_budget\":null}}", NULL, -1 },
        { SAMP_PEER_SGLANG, "{\"custom_params\":{}}", NULL, -1 },
        { SAMP_PEER_SGLANG, "{\"text\":\"t\",\"max_thinking_tokens\":7}", "max_thinking_tokens", 7 },
        { SAMP_PEER_SGLANG, "{\"max_thinking_tokens\":-3}", NULL, -1 },
        { SAMP_PEER_SGLANG, "{\"reasoning_effort\":\"high\",\"reasoning\":{\"effort\":0.5}}", NULL, -1 },
        { SAMP_PEER_ANTHROPIC, "{\"max_tokens\":4000}", NULL, -1 },
        { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"}}", NULL,
          -1 },
        { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"type\":\"disabled\"},\"temperature\":0.5}", "thinking", 0 },
        { SAMP_PEER_ANTHROPIC,
          "{\"max_tokens\":4000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024},\"top_p\":0.95}",
          "thinking", 1024 },
        { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"budget_tokens\":3999,\"type\":\"enabled\"},\"max_tokens\":4000}",
          "thinking", 3999 },
    };
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        const char *const handled[] = { c[i].name ? c[i].name : "n", NULL };
        own_settings *settings = served();
        samp_request request;
        assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, NULL, &request));
        assert_num(request.thinking_budget, c[i].budget);
        assert_status(samp_settings_from(settings, c[i].peer, c[i].json, NULL, NULL),
                      c[i].name ? SAMP_E_UNSUPPORTED : SAMP_OK);
        assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, handled, NULL));
        assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, handled, &request));
        assert_num(request.thinking_budget, -1); /* its caller knows it */
    }
}

/* A search is the caller's to make; its chains change and remove nothing but by biases and penalties. */
TEST(test_searches)
{
    static const struct {
        samp_peer peer;
        const char *json;
        int32_t n, n_beams, n_groups, early_stopping;
        float length_penalty, diversity_penalty;
    } c[] = {
        { SAMP_PEER_VLLM, "{\"n\":3}", 3, 0, 1, 0, 1.0f, 0.0f },
        { SAMP_PEER_OPENAI, "{\"n\":2,\"best_of\":4}", 2, 0, 1, 0, 1.0f, 0.0f },
        { SAMP_PEER_VLLM, "{\"n\":3,\"use_beam_search\":true,\"length_penalty\":0.5}", 3, 3, 1, 0, 0.5f, 0.0f },
        { SAMP_PEER_VLLM, "{\"use_beam_search\":false,\"n\":null}", 1, 0, 1, 0, 1.0f, 0.0f },
        { SAMP_PEER_TRANSFORMERS, "{\"num_beams\":1,\"early_stopping\":true}", 1, 0, 1, 1, 1.0f, 0.0f },
        { SAMP_PEER_TRANSFORMERS,
          "{\"num_beams\":6,\"num_beam_groups\":3,\"diversity_penalty\":0.25,\"length_penalty\":-1,"
          "\"early_stopping\":\"never\",\"num_return_sequences\":2,\"repetition_penalty\":1.5}",
          2, 6, 3, 2, -1.0f, 0.25f },
    };
    static const char *const handled[] = { "num_beams", "use_beam_search", NULL };
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        own_settings *settings = served();
        samp_request r;
        char text[200];
        int status = SAMP_OK;
        assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, NULL, &r));
        assert_num(r.n, c[i].n);
        assert_num(r.n_beams, c[i].n_beams);
        assert_num(r.n_groups, c[i].n_groups);
        assert_num(r.early_stopping, c[i].early_stopping);
        assert_true(r.length_penalty == c[i].length_penalty && r.diversity_penalty == c[i].diversity_penalty);
        samp_sampler *chain = samp_chain_from_params(samp_settings_params(settings), &status);
        assert_ok(status);
        assert_true(samp_describe(chain, text, sizeof text) > 0);
        if (r.n_beams) assert_true(!strstr(text, "top_k") && !strstr(text, "greedy") && !strstr(text, "temp"));
        samp_free(chain);
        assert_status(samp_settings_from(settings, c[i].peer, c[i].json, NULL, NULL),
                      c[i].n_beams ? SAMP_E_UNSUPPORTED : SAMP_OK);
        assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, handled, &r));
        assert_num(r.n_beams, 0); /* its caller knows it */
    }
}

/* What is wanted beside the tokens changes no setting. */
TEST(test_wishes)
{
    static const struct {
        samp_peer peer;
        const char *json;
        bool logprobs, prompt, support, entropy;
        int32_t n_top, n_prompt_top, n_ids;
    } c[] = {
        { SAMP_PEER_VLLM, "{}", false, false, false, false, 0, 0, 0 },
        { SAMP_PEER_VLLM, "{\"logprobs\":5,\"prompt_logprobs\":-1,\"sampling_mask\":true}", true, true, true, false,
          5, -1, 0 },
        { SAMP_PEER_VLLM, "{\"logprobs\":true,\"top_logprobs\":3,\"logprob_token_ids\":[7,0,7]}", true, false, false,
          false, 3, 0, 3 },
        { SAMP_PEER_VLLM, "{\"logprobs\":false,\"logprob_token_ids\":null,\"prompt_logprobs\":0}", false, true, false,
          false, 0, 0, 0 },
        { SAMP_PEER_SGLANG,
          "{\"return_logprob\":true,\"top_logprobs_num\":2,\"token_ids_logprob\":[1],\"return_sampling_mask\":true,"
          "\"return_entropy\":true,\"logprob_start_len\":-1}",
          true, false, true, true, 2, 0, 1 },
    };
    static const char *const wrong[] = { "{\"logprobs\":-2}", "{\"logprobs\":[]}", "{\"logprob_token_ids\":3}",
                                         "{\"logprob_token_ids\":[-1]}", "{\"sampling_mask\":1}" };
    own_settings *settings = served();
    samp_request r;
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, NULL, NULL));
        assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, NULL, &r));
        assert_true(r.logprobs == c[i].logprobs && r.prompt_logprobs == c[i].prompt && r.support == c[i].support &&
                    r.entropy == c[i].entropy);
        assert_num(r.n_top, c[i].n_top);
        assert_num(r.n_prompt_top, c[i].n_prompt_top);
        assert_num(r.n_logprob_ids, c[i].n_ids);
        if (c[i].n_ids == 3) assert_true(r.logprob_ids[0] == 7 && r.logprob_ids[1] == 0 && r.logprob_ids[2] == 7);
    }
    for (size_t i = 0; i < TEST_COUNT(wrong); i++)
        assert_true(samp_settings_from(settings, SAMP_PEER_VLLM, wrong[i], NULL, &r) < 0);
    char many[1024] = "{\"logprob_token_ids\":[0";
    for (int i = 1; i < SAMP_REQUEST_IDS; i++) strcat(many, ",1");
    const size_t end = strlen(many);
    strcpy(many + end, "]}");
    assert_ok(samp_settings_from(settings, SAMP_PEER_VLLM, many, NULL, &r));
    assert_num(r.n_logprob_ids, SAMP_REQUEST_IDS);
    strcpy(many + end, ",1]}");
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, many, NULL, &r), SAMP_E_RANGE);
    assert_string_equal(r.field, "logprob_token_ids");
}

/* A scale of guidance is told to the caller, who has the second row; 1 is none. */
TEST(test_guidance)
{
    static const struct {
        const char *value;
        float scale;
        int status;
    } c[] = { { "null", 1.0f, SAMP_OK },          { "1", 1.0f, SAMP_OK },          { "1.0", 1.0f, SAMP_OK },
              { "1.5", 1.5f, SAMP_OK },           { "0", 0.0f, SAMP_OK },          { "-2e0", -2.0f, SAMP_OK },
              { "0.1", 0.1f, SAMP_OK },           { "1e39", 0.0f, SAMP_E_RANGE },  { "-1e999", 0.0f, SAMP_E_RANGE },
              { "\"1.5\"", 0.0f, SAMP_E_FORMAT }, { "true", 0.0f, SAMP_E_FORMAT }, { "[1.5]", 0.0f, SAMP_E_FORMAT } };
    static const char *const handled[] = { "guidance_scale", NULL };
    own_settings *settings = served();
    samp_request request;
    assert_ok(samp_settings_from(settings, SAMP_PEER_TRANSFORMERS, "{}", NULL, &request));
    assert_true(request.guidance_scale == 1.0f);
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        char json[80];
        snprintf(json, sizeof json, "{\"guidance_scale\":%s}", c[i].value);
        assert_status(samp_settings_from(settings, SAMP_PEER_TRANSFORMERS, json, NULL, &request), c[i].status);
        assert_text(request.field, c[i].status ? "guidance_scale" : "");
        assert_true(c[i].status || request.guidance_scale == c[i].scale);
        const int untold = c[i].status || c[i].scale == 1.0f ? c[i].status : SAMP_E_UNSUPPORTED;
        assert_status(samp_settings_from(settings, SAMP_PEER_TRANSFORMERS, json, NULL, NULL), untold);
        assert_ok(samp_settings_from(settings, SAMP_PEER_TRANSFORMERS, json, handled, &request));
        assert_true(request.guidance_scale == 1.0f); /* its caller knows it */
    }
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"guidance_scale\":1.5}", NULL, &request),
                  SAMP_E_NAME);
}

/* Of Anthropic's order nothing is known: the same numbers mean what they mean to vLLM. */
TEST(test_anthropic)
{
    static const char *const json[] = {
        "{}",
        "{\"temperature\":0.5}",
        "{\"top_k\":7,\"top_p\":0.5}",
        "{\"temperature\":0}",
        "{\"temperature\":1,\"top_k\":0,\"top_p\":1,\"model\":\"m\",\"messages\":[],\"stream\":true}",
        "{\"temperature\":0.25,\"top_k\":1}"
    };
    for (size_t i = 0; i < TEST_COUNT(json); i++) {
        char told[2][300];
        for (int vllm = 0; vllm < 2; vllm++) {
            own_settings *settings = served();
            samp_request request;
            assert_ok(
                samp_settings_from(settings, vllm ? SAMP_PEER_VLLM : SAMP_PEER_ANTHROPIC, json[i], NULL, &request));
            assert_num(request.seeded, false);
            own_sampler *chain = samp_chain_from_params(samp_settings_params(settings), NULL);
            samp_describe(chain, told[vllm], sizeof told[vllm]);
            without_what_is_off(told[vllm]);
        }
        assert_text(told[0], told[1]);
    }
}

/* What the settings keep, and what a request says beside them. */
TEST(test_settings_kept)
{
    static const struct {
        samp_peer peer;
        const char *json;
        bool seeded, with_prompt;
    } c[] = {
        { SAMP_PEER_OPENAI, "{}", false, true },
        { SAMP_PEER_OPENAI, "{\"seed\":-1}", true, true },
        { SAMP_PEER_OPENAI, "{\"seed\":null,\"presence_penalty\":0.5}", false, false },
        { SAMP_PEER_OPENAI, "{\"presence_penalty\":0.0}", false, true },
        { SAMP_PEER_VLLM, "{\"seed\":-1,\"repetition_penalty\":1.5}", false, true },
        { SAMP_PEER_VLLM, "{\"seed\":0,\"frequency_penalty\":0.5}", true, false },
        { SAMP_PEER_VLLM, "{\"repetition_penalty\":1,\"frequency_penalty\":0.5}", false, false },
        { SAMP_PEER_TRANSFORMERS, "{\"repetition_penalty\":1.5}", false, true },
        { SAMP_PEER_SGLANG, "{\"repetition_penalty\":1.5}", false, false },
        { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"sampling_seed\":0}}", true, true },
        { SAMP_PEER_LLAMA_SERVER, "{\"seed\":-1}", false, true },
        { SAMP_PEER_LLAMA_SERVER, "{\"seed\":4294967295,\"presence_penalty\":1,\"repeat_penalty\":2}", false, true },
        { SAMP_PEER_LLAMA_SERVER, "{\"seed\":4294967296}", true, true },
        { SAMP_PEER_OLLAMA, "{\"options\":{\"seed\":-1}}", false, true },
        { SAMP_PEER_OLLAMA, "{\"options\":{\"seed\":42,\"presence_penalty\":1}}", true, true },
    };
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        own_settings *settings = served();
        samp_request request;
        assert_ok(samp_settings_set(settings, "rng", "mt19937", NULL));
        assert_ok(samp_settings_set_vocab(settings, N_VOCAB, test_letters, NULL));
        assert_ok(samp_settings_set(settings, "top_a", "0.5", NULL));
        assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, NULL, &request));
        const samp_params *p = samp_settings_params(settings);
        assert_num(request.seeded, c[i].seeded);
        assert_num(request.with_prompt, c[i].with_prompt);
        if (!c[i].seeded) assert_u64(p->seed, 77);
        assert_num(p->rng, SAMP_RNG_MT19937);
        assert_num(p->n_vocab, N_VOCAB);
        assert_num(p->n_ctx_train, N_CTX);
        assert_non_null(p->vocab);
        assert_same(p->top_a, 0.0f);
    }
}

/* ---- what is refused ---- */

typedef struct refused_case {
    samp_peer peer;
    const char *json;
    int status;
    const char *field;
    int column; /* of a text in one line */
} refused_case;

static const refused_case refused[] = {
    /* no field of theirs, though one of ours or of another program */
    { SAMP_PEER_OPENAI, "{\"top_k\":40}", SAMP_E_NAME, "top_k", 10 },
    { SAMP_PEER_OPENAI, "{\"temp\":1}", SAMP_E_NAME, "temp", 9 },
    { SAMP_PEER_OPENAI, "{\"\":1}", SAMP_E_NAME, "", 5 },
    { SAMP_PEER_VLLM, "{\"repeat_penalty\":1.1}", SAMP_E_NAME, "repeat_penalty", 19 },
    { SAMP_PEER_TRANSFORMERS, "{\"presence_penalty\":0}", SAMP_E_NAME, "presence_penalty", 21 },
    { SAMP_PEER_LLAMA_SERVER, "{\"tfs_z\":0.5}", SAMP_E_NAME, "tfs_z", 10 },
    { SAMP_PEER_OLLAMA, "{\"temperature\":0.5}", SAMP_E_NAME, "temperature", 16 },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"mirostat\":1}}", SAMP_E_NAME, "options.mirostat", 24 },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"options\":{}}}", SAMP_E_NAME, "options.options", 23 },
    { SAMP_PEER_OLLAMA, "{\"num_ctx\":5}", SAMP_E_NAME, "num_ctx", 12 },

    /* fields of theirs that no setting means */
    { SAMP_PEER_OPENAI, "{\"response_format\":{\"type\":\"json_object\"}}", SAMP_E_UNSUPPORTED, "response_format",
      20 },
    { SAMP_PEER_OPENAI, "{\"response_format\":{\"type\":\"texts\"}}", SAMP_E_UNSUPPORTED, "response_format", 20 },
    { SAMP_PEER_OPENAI, "{\"response_format\":{\"typ\":\"text\"}}", SAMP_E_UNSUPPORTED, "response_format", 20 },
    { SAMP_PEER_VLLM, "{\"bad_words\":[\"a\"]}", SAMP_E_UNSUPPORTED, "bad_words", 14 },
    { SAMP_PEER_VLLM, "{\"allowed_token_ids\":[]}", SAMP_E_UNSUPPORTED, "allowed_token_ids", 22 },
    { SAMP_PEER_VLLM, "{\"repetition_penalty\":1.1,\"presence_penalty\":1}", SAMP_E_UNSUPPORTED, "repetition_penalty",
      23 },
    { SAMP_PEER_TRANSFORMERS, "{\"num_beams\":4,\"do_sample\":true}", SAMP_E_UNSUPPORTED, "num_beams", 14 },
    { SAMP_PEER_VLLM, "{\"n\":5000,\"use_beam_search\":true}", SAMP_E_UNSUPPORTED, "use_beam_search", 29 },
    { SAMP_PEER_TRANSFORMERS, "{\"num_beams\":0}", SAMP_E_RANGE, "num_beams", 14 },
    { SAMP_PEER_TRANSFORMERS, "{\"early_stopping\":\"ever\"}", SAMP_E_FORMAT, "early_stopping", 19 },
    { SAMP_PEER_TRANSFORMERS, "{\"diversity_penalty\":-1}", SAMP_E_RANGE, "diversity_penalty", 22 },
    { SAMP_PEER_TRANSFORMERS, "{\"no_repeat_ngram_size\":2}", SAMP_E_UNSUPPORTED, "no_repeat_ngram_size", 25 },
    { SAMP_PEER_LLAMA_SERVER, "{\"grammar\":\"root ::= x\"}", SAMP_E_UNSUPPORTED, "grammar", 12 },
    { SAMP_PEER_LLAMA_SERVER, "{\"json_schema\":{}}", SAMP_E_UNSUPPORTED, "json_schema", 16 },
    { SAMP_PEER_LLAMA_SERVER, "{\"logit_bias\":[[\"word\",1]]}", SAMP_E_UNSUPPORTED, "logit_bias", 16 },
    { SAMP_PEER_LLAMA_SERVER, "{\"logit_bias\":{\"1\":1,\"word\":1}}", SAMP_E_UNSUPPORTED, "logit_bias", 29 },
    { SAMP_PEER_OLLAMA, "{\"format\":\"json\"}", SAMP_E_UNSUPPORTED, "format", 11 },
    { SAMP_PEER_OLLAMA, "{\"format\":{\"type\":\"object\"}}", SAMP_E_UNSUPPORTED, "format", 11 },

    /* values that they refuse */
    { SAMP_PEER_OPENAI, "{\"temperature\":2.1}", SAMP_E_RANGE, "temperature", 16 },
    { SAMP_PEER_OPENAI, "{\"top_p\":-0.1}", SAMP_E_RANGE, "top_p", 10 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"1\":101}}", SAMP_E_RANGE, "logit_bias", 20 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"5000000000\":1}}", SAMP_E_RANGE, "logit_bias", 29 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"500\":1}}", SAMP_E_RANGE, "logit_bias", 15 },
    { SAMP_PEER_OPENAI, "{\"seed\":18446744073709551616}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"top_p\":0}", SAMP_E_RANGE, "top_p", 10 },
    { SAMP_PEER_VLLM, "{\"top_k\":-2}", SAMP_E_RANGE, "top_k", 10 },
    { SAMP_PEER_VLLM, "{\"repetition_penalty\":0}", SAMP_E_RANGE, "repetition_penalty", 23 },
    { SAMP_PEER_VLLM, "{\"presence_penalty\":-2.5}", SAMP_E_RANGE, "presence_penalty", 21 },
    { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":true,\"temperature\":0}", SAMP_E_RANGE, "temperature", 33 },
    { SAMP_PEER_TRANSFORMERS, "{\"top_k\":-1}", SAMP_E_RANGE, "top_k", 10 },
    { SAMP_PEER_TRANSFORMERS, "{\"typical_p\":0}", SAMP_E_RANGE, "typical_p", 14 },
    { SAMP_PEER_LLAMA_SERVER, "{\"adaptive_decay\":1}", SAMP_E_RANGE, "adaptive_decay", 19 },
    { SAMP_PEER_LLAMA_SERVER, "{\"repeat_last_n\":-2}", SAMP_E_RANGE, "repeat_last_n", 18 },
    { SAMP_PEER_LLAMA_SERVER, "{\"dry_sequence_breakers\":[]}", SAMP_E_RANGE, "dry_sequence_breakers", 26 },
    { SAMP_PEER_LLAMA_SERVER, "{\"dry_multiplier\":0.5}", SAMP_E_NULL, "vocab", 1 },
    { SAMP_PEER_LLAMA_SERVER, "{\"temperature\":1e30}", SAMP_E_RANGE, "temperature", 16 },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"temperature\":1e30}}", SAMP_E_RANGE, "options.temperature", 27 },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"repeat_penalty\":0}}", SAMP_E_RANGE, "options.repeat_penalty", 30 },
    { (samp_peer)7, "{}", SAMP_E_RANGE, "", 0 },
    { (samp_peer)-1, "{}", SAMP_E_RANGE, "", 0 },

    /* other types of values, and what is no JSON */
    { SAMP_PEER_OPENAI, "{\"temperature\":\"1\"}", SAMP_E_FORMAT, "temperature", 16 },
    { SAMP_PEER_OPENAI, "{\"temperature\":true}", SAMP_E_FORMAT, "temperature", 16 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":[[1,2]]}", SAMP_E_FORMAT, "logit_bias", 15 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"a\":2}}", SAMP_E_FORMAT, "logit_bias", 20 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"\":2}}", SAMP_E_FORMAT, "logit_bias", 19 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"1\":false}}", SAMP_E_FORMAT, "logit_bias", 20 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"1\":1,\"2\":[]}}", SAMP_E_FORMAT, "logit_bias", 26 },
    { SAMP_PEER_OPENAI, "{\"seed\":1.5}", SAMP_E_FORMAT, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"top_k\":40.5}", SAMP_E_FORMAT, "top_k", 10 },
    { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":1}", SAMP_E_FORMAT, "do_sample", 14 },
    { SAMP_PEER_TRANSFORMERS, "{\"suppress_tokens\":{\"1\":1}}", SAMP_E_FORMAT, "suppress_tokens", 20 },
    { SAMP_PEER_TRANSFORMERS, "{\"suppress_tokens\":[1,\"2\"]}", SAMP_E_FORMAT, "suppress_tokens", 23 },
    { SAMP_PEER_LLAMA_SERVER, "{\"samplers\":[1]}", SAMP_E_FORMAT, "samplers", 14 },
    { SAMP_PEER_LLAMA_SERVER, "{\"dry_sequence_breakers\":\"a\"}", SAMP_E_FORMAT, "dry_sequence_breakers", 26 },
    { SAMP_PEER_LLAMA_SERVER, "{\"dry_sequence_breakers\":[3]}", SAMP_E_FORMAT, "dry_sequence_breakers", 27 },
    { SAMP_PEER_OLLAMA, "{\"options\":[]}", SAMP_E_FORMAT, "options", 12 },
    { SAMP_PEER_VLLM, "{\"min_tokens\":[]}", SAMP_E_FORMAT, "min_tokens", 15 },
    { SAMP_PEER_VLLM, "{\"min_tokens\":1e999}", SAMP_E_RANGE, "min_tokens", 15 },
    { SAMP_PEER_VLLM, "{\"use_beam_search\":0}", SAMP_E_FORMAT, "use_beam_search", 20 },
    { SAMP_PEER_VLLM, "{\"bad_words\":\"a\"}", SAMP_E_UNSUPPORTED, "bad_words", 14 },
    { SAMP_PEER_VLLM, "{\"response_format\":{\"type\":1}}", SAMP_E_UNSUPPORTED, "response_format", 20 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":[]}", SAMP_E_FORMAT, "logit_bias", 15 },
    { SAMP_PEER_OPENAI, "[]", SAMP_E_FORMAT, "", 1 },
    { SAMP_PEER_OPENAI, "", SAMP_E_FORMAT, "", 1 },
    { SAMP_PEER_OPENAI, "{\"top_p\":.5}", SAMP_E_FORMAT, "", 10 },
    { SAMP_PEER_OPENAI, "{\"top_p\":1,\"top_p\":1}", SAMP_E_FORMAT, "", 12 },
    { SAMP_PEER_OPENAI, "{\"top_p\":1} x", SAMP_E_FORMAT, "", 13 },

    /* tools that have to be called, or whose arguments have to fit */
    { SAMP_PEER_OPENAI, "{\"tool_choice\":\"required\"}", SAMP_E_UNSUPPORTED, "tool_choice", 16 },
    { SAMP_PEER_OPENAI, "{\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}}}", SAMP_E_UNSUPPORTED,
      "tool_choice", 16 },
    { SAMP_PEER_OPENAI,
      "{\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":\"auto\",\"tools\":[]}}}",
      SAMP_E_UNSUPPORTED, "tool_choice", 16 },
    { SAMP_PEER_OPENAI, "{\"function_call\":{\"name\":\"f\"}}", SAMP_E_UNSUPPORTED, "function_call", 18 },
    { SAMP_PEER_OPENAI, "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":true}}]}",
      SAMP_E_UNSUPPORTED, "tools", 10 },
    { SAMP_PEER_OPENAI,
      "{\"tools\":[{\"type\":\"custom\",\"custom\":{\"name\":\"f\",\"format\":{\"type\":\"grammar\",\"grammar\":{}}}}"
      "]}",
      SAMP_E_UNSUPPORTED, "tools", 10 },
    { SAMP_PEER_VLLM, "{\"tool_choice\":\"required\"}", SAMP_E_UNSUPPORTED, "tool_choice", 16 },
    { SAMP_PEER_VLLM, "{\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}}}", SAMP_E_UNSUPPORTED,
      "tool_choice", 16 },
    { SAMP_PEER_VLLM,
      "{\"tools\":[{\"function\":{}},{\"type\":\"function\",\"function\":{\"strict\":true}}],\"tool_choice\":"
      "\"auto\"}",
      SAMP_E_UNSUPPORTED, "tools", 10 },
    { SAMP_PEER_VLLM, "{\"function_call\":{\"name\":\"f\"}}", SAMP_E_UNSUPPORTED, "function_call", 18 },
    { SAMP_PEER_VLLM, "{\"tool_choice\":\"any\"}", SAMP_E_RANGE, "tool_choice", 16 },
    { SAMP_PEER_VLLM, "{\"tool_choice\":true}", SAMP_E_FORMAT, "tool_choice", 16 },
    { SAMP_PEER_LLAMA_SERVER, "{\"tool_choice\":\"required\"}", SAMP_E_UNSUPPORTED, "tool_choice", 16 },
    { SAMP_PEER_LLAMA_SERVER, "{\"tool_choice\":{\"function\":{\"name\":\"f\"}}}", SAMP_E_UNSUPPORTED, "tool_choice",
      16 },
    { SAMP_PEER_LLAMA_SERVER, "{\"function_call\":{\"name\":\"f\"}}", SAMP_E_UNSUPPORTED, "function_call", 18 },
    { SAMP_PEER_VLLM, "{\"watermarking\":true}", SAMP_E_UNSUPPORTED, "watermarking", 17 },
    { SAMP_PEER_TRANSFORMERS, "{\"assistant_ensemble_weight\":0.5}", SAMP_E_UNSUPPORTED, "assistant_ensemble_weight",
      30 },
    { SAMP_PEER_LLAMA_SERVER, "{\"thinking_budget_tokens\":-2}", SAMP_E_RANGE, "thinking_budget_tokens", 27 },
    { SAMP_PEER_LLAMA_SERVER, "{\"reasoning_budget_tokens\":\"5\"}", SAMP_E_FORMAT, "reasoning_budget_tokens", 28 },
    { SAMP_PEER_ANTHROPIC, "{\"seed\":1}", SAMP_E_NAME, "seed", 9 },
    { SAMP_PEER_ANTHROPIC, "{\"temperature\":1.5}", SAMP_E_RANGE, "temperature", 16 },
    { SAMP_PEER_ANTHROPIC, "{\"top_k\":-1}", SAMP_E_RANGE, "top_k", 10 },
    { SAMP_PEER_ANTHROPIC, "{\"thinking\":true}", SAMP_E_FORMAT, "thinking", 13 },
    { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"type\":\"on\"}}", SAMP_E_RANGE, "thinking", 21 },
    { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"type\":\"enabled\"}}", SAMP_E_FORMAT, "thinking", 13 },
    { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1023}}", SAMP_E_RANGE, "thinking",
      47 },
    { SAMP_PEER_ANTHROPIC, "{\"max_tokens\":2000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}}",
      SAMP_E_RANGE, "thinking", 65 },
    { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000},\"temperature\":0.5}",
      SAMP_E_RANGE, "temperature", 67 },
    { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000},\"top_k\":5}", SAMP_E_RANGE,
      "top_k", 61 },
    { SAMP_PEER_ANTHROPIC, "{\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000},\"top_p\":0.9}", SAMP_E_RANGE,
      "top_p", 61 },
    { SAMP_PEER_ANTHROPIC, "{\"tool_choice\":{\"type\":\"any\"}}", SAMP_E_UNSUPPORTED, "tool_choice", 16 },
    { SAMP_PEER_ANTHROPIC, "{\"tool_choice\":\"auto\"}", SAMP_E_FORMAT, "tool_choice", 16 },
    { SAMP_PEER_ANTHROPIC, "{\"tools\":[{\"name\":\"f\",\"strict\":true}],\"tool_choice\":{\"type\":\"auto\"}}",
      SAMP_E_UNSUPPORTED, "tools", 10 },
    { SAMP_PEER_ANTHROPIC, "{\"output_config\":{\"format\":{\"type\":\"json_schema\"}}}", SAMP_E_UNSUPPORTED,
      "output_config", 28 },
    { SAMP_PEER_VLLM, "{\"thinking_token_budget\":5.5}", SAMP_E_FORMAT, "thinking_token_budget", 26 },
    { SAMP_PEER_VLLM, "{\"thinking_token_budget\":4294967296}", SAMP_E_RANGE, "thinking_token_budget", 26 },
    { SAMP_PEER_OPENAI, "{\"thinking_token_budget\":5}", SAMP_E_NAME, "thinking_token_budget", 26 },

    { SAMP_PEER_SGLANG, "{\"top_k\":0}", SAMP_E_RANGE, "top_k", 10 },
    { SAMP_PEER_SGLANG, "{\"top_k\":-2}", SAMP_E_RANGE, "top_k", 10 },
    { SAMP_PEER_SGLANG, "{\"top_k\":40.5}", SAMP_E_FORMAT, "top_k", 10 },
    { SAMP_PEER_SGLANG, "{\"top_k\":2147483648}", SAMP_E_RANGE, "top_k", 10 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"top_k\":0}}", SAMP_E_RANGE, "sampling_params.top_k", 29 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"temperature\":\"1\"}}", SAMP_E_FORMAT, "sampling_params.temperature",
      35 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"temperature\":true}}", SAMP_E_FORMAT, "sampling_params.temperature",
      35 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":[{}]}", SAMP_E_FORMAT, "sampling_params", 20 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"sampling_params\":{}}}", SAMP_E_NAME,
      "sampling_params.sampling_params", 39 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"topp\":1}}", SAMP_E_NAME, "sampling_params.topp", 28 },
    { SAMP_PEER_SGLANG, "{\"thinking_token_budget\":5}", SAMP_E_NAME, "thinking_token_budget", 26 },
    { SAMP_PEER_SGLANG, "{\"temperature\":-1}", SAMP_E_RANGE, "temperature", 16 },
    { SAMP_PEER_SGLANG, "{\"temperature\":1e30}", SAMP_E_RANGE, "temperature", 16 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"temperature\":1e30}}", SAMP_E_RANGE, "sampling_params.temperature",
      35 },
    { SAMP_PEER_SGLANG, "{\"top_p\":0}", SAMP_E_RANGE, "top_p", 10 },
    { SAMP_PEER_SGLANG, "{\"min_p\":1.1}", SAMP_E_RANGE, "min_p", 10 },
    { SAMP_PEER_SGLANG, "{\"presence_penalty\":2.5}", SAMP_E_RANGE, "presence_penalty", 21 },
    { SAMP_PEER_SGLANG, "{\"repetition_penalty\":0}", SAMP_E_RANGE, "repetition_penalty", 23 },
    { SAMP_PEER_SGLANG, "{\"repetition_penalty\":2.1}", SAMP_E_RANGE, "repetition_penalty", 23 },
    { SAMP_PEER_SGLANG, "{\"repetition_penalty\":1.1,\"presence_penalty\":1}", SAMP_E_UNSUPPORTED,
      "repetition_penalty", 23 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"logit_bias\":{\"1\":1},\"repetition_penalty\":1.1}}",
      SAMP_E_UNSUPPORTED, "sampling_params.repetition_penalty", 63 },
    { SAMP_PEER_SGLANG, "{\"logit_bias\":{\"500\":1}}", SAMP_E_RANGE, "logit_bias", 15 },
    { SAMP_PEER_SGLANG, "{\"json_schema\":\"{}\"}", SAMP_E_UNSUPPORTED, "json_schema", 16 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"regex\":\"\"}}", SAMP_E_UNSUPPORTED, "sampling_params.regex", 29 },
    { SAMP_PEER_SGLANG, "{\"ebnf\":\"root ::= x\"}", SAMP_E_UNSUPPORTED, "ebnf", 9 },
    { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"structural_tag\":\"{}\"}}", SAMP_E_UNSUPPORTED,
      "sampling_params.structural_tag", 38 },
    { SAMP_PEER_SGLANG, "{\"response_format\":{\"type\":\"structural_tag\"}}", SAMP_E_UNSUPPORTED, "response_format",
      20 },
    { SAMP_PEER_SGLANG, "{\"custom_logit_processor\":\"{}\",\"custom_params\":{\"thinking_budget\":5}}",
      SAMP_E_UNSUPPORTED, "custom_logit_processor", 27 },
    { SAMP_PEER_SGLANG, "{\"custom_params\":[5]}", SAMP_E_FORMAT, "custom_params", 18 },

    /* numbers just beyond what is taken */
    { SAMP_PEER_OPENAI, "{\"seed\":18446744073709551615}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_OPENAI, "{\"seed\":9223372036854775808}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"seed\":18446744073709551615}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"seed\":9223372036854775808}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"seed\":-9223372036854775809}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"seed\":9.3e18}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"seed\":1e400}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"seed\":\"1e3\"}", SAMP_E_FORMAT, "seed", 9 },
    { SAMP_PEER_VLLM, "{\"temperature\":2.0000000000000003}", SAMP_E_RANGE, "temperature", 16 },
    { SAMP_PEER_VLLM, "{\"top_p\":1.0000000000000003}", SAMP_E_RANGE, "top_p", 10 },
    { SAMP_PEER_VLLM, "{\"min_p\":-1e-50}", SAMP_E_RANGE, "min_p", 10 },
    { SAMP_PEER_VLLM, "{\"top_p\":1e-400}", SAMP_E_RANGE, "top_p", 10 },
    { SAMP_PEER_VLLM, "{\"temperature\":1e999}", SAMP_E_RANGE, "temperature", 16 },
    { SAMP_PEER_VLLM, "{\"temperature\":1.7976931348623159e308}", SAMP_E_RANGE, "temperature", 16 },
    { SAMP_PEER_VLLM, "{\"temperature\":\"hot\"}", SAMP_E_FORMAT, "temperature", 16 },
    { SAMP_PEER_VLLM, "{\"temperature\":\"1e\"}", SAMP_E_FORMAT, "temperature", 16 },
    { SAMP_PEER_VLLM, "{\"temperature\":\".\"}", SAMP_E_FORMAT, "temperature", 16 },
    { SAMP_PEER_VLLM, "{\"temperature\":\"\"}", SAMP_E_FORMAT, "temperature", 16 },
    { SAMP_PEER_OPENAI, "{\"top_p\":true}", SAMP_E_FORMAT, "top_p", 10 },
    { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":true,\"top_p\":1.0000001}", SAMP_E_RANGE, "top_p", 27 },
    { SAMP_PEER_TRANSFORMERS, "{\"top_k\":4.5}", SAMP_E_FORMAT, "top_k", 10 },
    { SAMP_PEER_LLAMA_SERVER, "{\"top_k\":3e9}", SAMP_E_RANGE, "top_k", 10 },
    { SAMP_PEER_LLAMA_SERVER, "{\"seed\":-18446744073709551615}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_LLAMA_SERVER, "{\"seed\":18446744073709551616}", SAMP_E_RANGE, "seed", 9 },
    { SAMP_PEER_LLAMA_SERVER, "{\"dry_penalty_last_n\":-1}", SAMP_E_RANGE, "dry_penalty_last_n", 23 },
    { SAMP_PEER_LLAMA_SERVER, "{\"repeat_last_n\":-1}", SAMP_E_RANGE, "repeat_last_n", 18 },
    { SAMP_PEER_LLAMA_SERVER, "{\"top_n_sigma\":1e39}", SAMP_E_RANGE, "top_n_sigma", 16 },
    { SAMP_PEER_LLAMA_SERVER, "{\"mirostat_tau\":-1}", SAMP_E_UNSUPPORTED, "mirostat_tau", 17 },
    { SAMP_PEER_LLAMA_SERVER, "{\"dry_multiplier\":-1}", SAMP_E_UNSUPPORTED, "dry_multiplier", 19 },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"top_p\":1e39}}", SAMP_E_RANGE, "options.top_p", 21 },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"seed\":9223372036854775808}}", SAMP_E_RANGE, "options.seed", 20 },
    { SAMP_PEER_OLLAMA, "{\"options\":{\"TOP_K\":1}}", SAMP_E_NAME, "options.TOP_K", 21 },

    /* names that are no token to Python */
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"5.0\":1}}", SAMP_E_FORMAT, "logit_bias", 22 },
    { SAMP_PEER_OPENAI, "{\"logit_bias\":{\"5.0\":1}}", SAMP_E_FORMAT, "logit_bias", 22 },
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"_5\":1}}", SAMP_E_FORMAT, "logit_bias", 21 },
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"5_\":1}}", SAMP_E_FORMAT, "logit_bias", 21 },
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"5__0\":1}}", SAMP_E_FORMAT, "logit_bias", 23 },
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"- 5\":1}}", SAMP_E_FORMAT, "logit_bias", 22 },
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"5\":1,\"-6\":1}}", SAMP_E_RANGE, "logit_bias", 27 },
    { SAMP_PEER_VLLM, "{\"logit_bias\":{\"5\":1,\"05\":2,\"500\":1}}", SAMP_E_RANGE, "logit_bias", 15 },
    { SAMP_PEER_TRANSFORMERS, "{\"suppress_tokens\":[1.5]}", SAMP_E_FORMAT, "suppress_tokens", 21 },
    { SAMP_PEER_LLAMA_SERVER, "{\"logit_bias\":{\"5 \":1}}", SAMP_E_UNSUPPORTED, "logit_bias", 21 },
    { SAMP_PEER_LLAMA_SERVER, "{\"logit_bias\":{\" \":1}}", SAMP_E_UNSUPPORTED, "logit_bias", 20 },
    { SAMP_PEER_LLAMA_SERVER, "{\"logit_bias\":{\"5.0\":1}}", SAMP_E_UNSUPPORTED, "logit_bias", 22 },
    { SAMP_PEER_LLAMA_SERVER, "{\"logit_bias\":[[5,1e39]]}", SAMP_E_RANGE, "logit_bias", 16 },
};

/* Settings with lists and numbers of their own, which are the same to the last byte behind an error. */
static samp_settings *with_values(void)
{
    samp_settings *settings = served();
    assert_ok(samp_settings_set(settings, "logit_bias", "1+2,3-inf", NULL));
    assert_ok(samp_settings_set(settings, "dry_breakers", "ab", NULL));
    assert_ok(samp_settings_set(settings, "order", "kt", NULL));
    assert_ok(samp_settings_set(settings, "top_p", "0.125", NULL));
    return settings;
}

TEST(test_requests_refused)
{
    own_settings *settings = with_values();
    int wrong = 0; /* all of them are told */
    for (size_t i = 0; i < TEST_COUNT(refused); i++) {
        const refused_case *c = &refused[i];
        samp_params before = *samp_settings_params(settings);
        samp_request request;
        int status = samp_settings_from(settings, c->peer, c->json, NULL, &request);
        assert_num(request.error.status, status);
        bool good = status == c->status && !strcmp(request.field, c->field) &&
                    (int)request.error.column == c->column && (int)request.error.line == (c->column > 0);
        if (!good)
            print_error("%s: %d, %s at %d: %s\n", c->json, status, request.field, (int)request.error.column,
                        request.error.message);
        wrong += !good;
        if (!status) continue;
        assert_true(c->column == 0 || request.error.message[0]);
        assert_memory_equal(samp_settings_params(settings), &before, sizeof before);
        const int untold = request.thinking_budget < 0 ? status : SAMP_E_UNSUPPORTED; /* nobody hears of the budget */
        assert_status(samp_settings_from(settings, c->peer, c->json, NULL, NULL), untold);
    }
    assert_num(wrong, 0);
    assert_status(samp_settings_from(NULL, SAMP_PEER_VLLM, "{}", NULL, NULL), SAMP_E_NULL);
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, NULL, NULL, NULL), SAMP_E_NULL);
}

/* What the settings must have before: a vocabulary's size, and a vocabulary. */
TEST(test_settings_first)
{
    own_settings *settings = samp_settings_init();
    samp_request request;
    assert_status(samp_settings_from(settings, SAMP_PEER_OPENAI, "{\"logit_bias\":{\"1\":1}}", NULL, &request),
                  SAMP_E_RANGE);
    assert_text(request.field, "n_vocab");
    assert_status(samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER, "{\"mirostat\":1}", NULL, &request),
                  SAMP_E_RANGE);
    assert_text(request.field, "n_vocab");
    assert_ok(samp_settings_set_vocab(settings, 50, test_letters, NULL));
    assert_ok(samp_settings_from(settings, SAMP_PEER_OPENAI, "{\"logit_bias\":{\"1\":1}}", NULL, &request));
    assert_ok(samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER, "{\"mirostat\":1,\"dry_multiplier\":1}", NULL,
                                 &request));
}

/* The caller sees to some fields itself: whatever they say. */
TEST(test_fields_of_the_caller)
{
#define LONG_NAME "x_a_name_that_is_longer_than_what_samp_request_has_room_for_in_its_field"
    static const char *const mine[] = {
        "response_format", "request_tag", "options.top_k", "top_kk", LONG_NAME, NULL
    };
    static const char *const one = "{\"response_format\":{\"type\":\"json_object\"},\"request_tag\":5,\"top_p\":0.5}";
    own_settings *settings = served();
    samp_request request;
    assert_status(samp_settings_from(settings, SAMP_PEER_OPENAI, one, NULL, &request), SAMP_E_UNSUPPORTED);
    assert_ok(samp_settings_from(settings, SAMP_PEER_OPENAI, one, mine, &request));
    assert_same(samp_settings_params(settings)->top_p, 0.5f);
    assert_ok(samp_settings_from(settings, SAMP_PEER_OLLAMA, "{\"options\":{\"top_k\":\"?\"}}", mine, &request));
    assert_num(samp_settings_params(settings)->top_k, 40);
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"top_k\":\"?\"}", mine, &request), SAMP_E_FORMAT);
    assert_ok(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"" LONG_NAME "\":1}", mine, &request));
    assert_status(
        samp_settings_from(settings, SAMP_PEER_OLLAMA, "{\"options\":{\"" LONG_NAME "\":1}}", mine, &request),
        SAMP_E_NAME);
    assert_status(samp_settings_from(settings, SAMP_PEER_OLLAMA, "{\"options\":{\"top_kk\":1}}", mine, &request),
                  SAMP_E_NAME);
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"top_kkk\":1}", mine, &request), SAMP_E_NAME);
    assert_status(samp_settings_from(settings, SAMP_PEER_VLLM, "{\"top_kk\\u0000\":1}", mine, &request), SAMP_E_NAME);
}

/* ---- texts of any kind ---- */

/* Each beginning of a request is none, and each with a byte changed gives a status or settings that are good. */
TEST(test_broken_texts)
{
    source rng = source_stream(31);
    own_settings *settings = served();
    for (size_t i = 0; i < TEST_COUNT(taken); i++) {
        char text[1024];
        size_t n = strlen(taken[i].json);
        memcpy(text, taken[i].json, n + 1);
        for (size_t k = n; k-- > 0;) {
            text[k] = 0;
            int status = samp_settings_from(settings, taken[i].peer, text, NULL, NULL);
            if (status != SAMP_E_FORMAT) assert_true(strspn(text + strlen(text) - 1, "}")); /* space was cut off */
        }
        for (int round = 0; round < rounds(400); round++) {
            samp_request request;
            memcpy(text, taken[i].json, n + 1);
            text[below(&rng, n)] = "\"{}[],:0129.-eEaut\\ \x80"[below(&rng, 21)];
            int status = samp_settings_from(settings, taken[i].peer, text, NULL, &request);
            assert_num(request.error.status, status);
            assert_true(memchr(request.field, 0, sizeof request.field) != NULL);
            if (status == SAMP_OK) assert_ok(samp_check_params(samp_settings_params(settings), NULL));
        }
    }
}

/* A name longer than there is room for, an order longer than anyone needs, and brackets without end. */
TEST(test_long_texts)
{
    enum { LONG = 5000 };
    char *text = (char *)malloc(2 * LONG + 100);
    samp_settings *settings = served();
    samp_request request;
    memcpy(text, "{\"", 2);
    memset(text + 2, 'n', LONG);
    memcpy(text + 2 + LONG, "\":1}", 5);
    assert_status(samp_settings_from(settings, SAMP_PEER_OPENAI, text, NULL, &request), SAMP_E_NAME);
    assert_num(strlen(request.field), sizeof request.field - 1);
    for (int n = 63; n <= 66; n++) {
        memcpy(text, "{\"samplers\":\"", 13);
        memset(text + 13, 't', (size_t)n);
        memcpy(text + 13 + n, "\"}", 3);
        int status = samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER, text, NULL, &request);
        assert_status(status, n <= 64 ? SAMP_OK : SAMP_E_RANGE);
    }
    memset(text, '[', LONG);
    text[LONG] = 0;
    assert_status(samp_settings_from(settings, SAMP_PEER_OPENAI, text, NULL, &request), SAMP_E_RANGE);
    samp_settings_free(settings);
    free(text);
}

/* ---- what fields mean: each program's own definition, in double ---- */

enum { N = N_VOCAB, N_TEXT = 200 };

/* Candidates by id; slack moves each cut by that part of it, to tell whether a difference is one of rounding. */
typedef struct candidates {
    double logit[N], p[N], slack;
    bool kept[N];
} candidates;

/* What a request asks for, in the program's own terms; what it has not is neutral. */
typedef struct wish {
    double temp, top_p, min_p, typical_p, sigma, dyn_range, dyn_exponent, repeat, freq, present, epsilon, eta;
    int top_k, last_n;
    const char *samplers; /* llama-server's */
    samp_token biased;
    double bias;
} wish;

static void softmax(candidates *c)
{
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < N; i++)
        if (c->kept[i] && c->logit[i] > max) max = c->logit[i];
    for (int i = 0; i < N; i++) sum += c->p[i] = c->kept[i] ? exp(c->logit[i] - max) : 0;
    for (int i = 0; i < N; i++) c->p[i] /= sum;
}

static const candidates *sorting;
static int by_p(const void *a, const void *b)
{
    double x = sorting->p[*(const int *)a], y = sorting->p[*(const int *)b];
    return x > y ? -1 : x < y;
}
static int by_key(const void *a, const void *b)
{
    double x = sorting->logit[*(const int *)a], y = sorting->logit[*(const int *)b];
    return x < y ? -1 : x > y;
}

/* ids in order of probability, the largest first -> how many are kept */
static int in_order(candidates *c, int *id)
{
    int n = 0;
    softmax(c);
    for (int i = 0; i < N; i++)
        if (c->kept[i]) id[n++] = i;
    sorting = c;
    qsort(id, (size_t)n, sizeof *id, by_p);
    return n;
}

static void ref_temperature(candidates *c, double t)
{
    for (int i = 0; i < N; i++) c->logit[i] /= t;
}

static void ref_top_k(candidates *c, int k)
{
    int id[N], n = in_order(c, id);
    for (int i = k; k > 0 && i < n; i++) c->kept[id[i]] = false;
}

/* vLLM and transformers: from the least likely up, drop while the sum is at most 1 - p, but for the last. */
static void ref_top_p_from_below(candidates *c, double p)
{
    int id[N], n = in_order(c, id);
    double sum = 0;
    p *= 1 + c->slack;
    if (p >= 1) return;
    for (int i = n - 1; i > 0; i--) {
        sum += c->p[id[i]];
        if (sum <= 1 - p) c->kept[id[i]] = false;
    }
}

/* llama.cpp: from the most likely down, stop when the sum reaches p. */
static void ref_top_p_from_above(candidates *c, double p)
{
    int id[N], n = in_order(c, id), i = 0;
    double sum = 0;
    p *= 1 + c->slack;
    if (p >= 1) return;
    while (i < n && sum < p) sum += c->p[id[i++]];
    for (i = i ? i : 1; i < n; i++) c->kept[id[i]] = false;
}

/* SGLang: a token stays if fewer than k come before it, and less than p of the whole. */
static void ref_joint(candidates *c, int k, double p)
{
    int id[N], n = in_order(c, id);
    double sum = 0;
    p *= 1 + c->slack;
    for (int i = 0; i < n; i++) {
        if (i > 0 && ((k > 0 && i >= k) || (p < 1 && sum >= p))) c->kept[id[i]] = false;
        sum += c->p[id[i]];
    }
}

static void ref_min_p(candidates *c, double p)
{
    int id[N], n = in_order(c, id);
    for (int i = 1; i < n; i++)
        if (c->p[id[i]] < p * (1 + c->slack) * c->p[id[0]]) c->kept[id[i]] = false;
}

/* By distance of -ln p from the entropy, the smallest set whose sum is no less than p (transformers), or above it
   (llama.cpp): the same but where a sum is p exactly. */
static void ref_typical(candidates *c, double p)
{
    int id[N], n = in_order(c, id), i = 0;
    double entropy = 0, sum = 0;
    candidates far = *c;
    p *= 1 + c->slack;
    if (p >= 1) return;
    for (int k = 0; k < n; k++) entropy -= c->p[id[k]] * log(c->p[id[k]]);
    for (int k = 0; k < n; k++) far.logit[id[k]] = fabs(-log(c->p[id[k]]) - entropy);
    sorting = &far;
    qsort(id, (size_t)n, sizeof *id, by_key);
    while (i < n && sum < p) sum += c->p[id[i++]];
    for (i = i ? i : 1; i < n; i++) c->kept[id[i]] = false;
}

/* What is below epsilon goes, or with eta below the smaller one of it and sqrt(epsilon) e^-H; the likeliest stays. */
static void ref_epsilon(candidates *c, double epsilon, bool eta)
{
    int id[N], n = in_order(c, id);
    double entropy = 0;
    for (int k = 0; k < n; k++) entropy -= c->p[id[k]] * log(c->p[id[k]]);
    if (eta) epsilon = fmin(epsilon, sqrt(epsilon) * exp(-entropy));
    for (int k = 1; k < n; k++)
        if (c->p[id[k]] < epsilon * (1 + c->slack)) c->kept[id[k]] = false;
}

static void ref_sigma(candidates *c, double n_sigma)
{
    double sum = 0, squares = 0, max = -INFINITY, n = 0;
    if (n_sigma <= 0) return;
    for (int i = 0; i < N; i++)
        if (c->kept[i]) sum += c->logit[i], n++;
    for (int i = 0; i < N; i++) {
        if (!c->kept[i]) continue;
        squares += (c->logit[i] - sum / n) * (c->logit[i] - sum / n);
        max = fmax(max, c->logit[i]);
    }
    for (int i = 0; i < N; i++)
        if (c->logit[i] < max - n_sigma * (1 + c->slack) * sqrt(squares / n)) c->kept[i] = false;
}

static void ref_dynamic(candidates *c, double t, double range, double exponent)
{
    double entropy = 0, low = fmax(0, t - range), n = 0;
    if (range <= 0) {
        ref_temperature(c, t);
        return;
    }
    softmax(c);
    for (int i = 0; i < N; i++)
        if (c->kept[i]) entropy -= c->p[i] * log(c->p[i]), n++;
    if (n > 1) ref_temperature(c, low + (t + range - low) * pow(entropy / log(n), exponent));
}

/* The penalties of vLLM and of OpenAI: what is repeated counts in `all` of a text, how often in what was generated. */
static void ref_penalties(candidates *c, const wish *w, const int *all, const int *generated)
{
    for (int i = 0; i < N; i++) {
        if (all[i]) c->logit[i] = c->logit[i] > 0 ? c->logit[i] / w->repeat : c->logit[i] * w->repeat;
        c->logit[i] -= w->freq * generated[i];
        if (generated[i]) c->logit[i] -= w->present;
    }
}

static void count(int *counts, const samp_token *text, int n)
{
    memset(counts, 0, N * sizeof *counts);
    for (int i = 0; i < n; i++) counts[text[i]]++;
}

/* What is left of a row behind a text whose first n_prompt tokens are the prompt. */
static void reference(samp_peer peer, const wish *w, const samp_token *text, int n_prompt, int n, candidates *c)
{
    int all[N], generated[N], last[N];
    int from = w->last_n < 0 || w->last_n > n ? 0 : n - w->last_n;
    count(all, text, n);
    count(generated, text + n_prompt, n - n_prompt);
    count(last, text + from, n - from);
    c->logit[w->biased] += w->bias;
    switch (peer) {
        case SAMP_PEER_OPENAI:
            ref_penalties(c, w, generated, generated);
            ref_temperature(c, w->temp);
            ref_top_p_from_below(c, w->top_p);
            break;
        case SAMP_PEER_VLLM:
            ref_penalties(c, w, all, generated);
            ref_temperature(c, w->temp);
            ref_min_p(c, w->min_p);
            ref_top_k(c, w->top_k);
            ref_top_p_from_below(c, w->top_p);
            break;
        case SAMP_PEER_SGLANG: /* one of: what is generated is multiplied, or a bias and penalties are added */
            ref_penalties(c, w, generated, generated);
            ref_temperature(c, w->temp);
            if (w->min_p > 0) {
                ref_top_k(c, w->top_k);
                ref_top_p_from_above(c, w->top_p);
                ref_min_p(c, w->min_p);
            } else {
                ref_joint(c, w->top_k, w->top_p);
            }
            break;
        case SAMP_PEER_TRANSFORMERS:
            ref_penalties(c, w, all, generated);
            ref_temperature(c, w->temp);
            ref_top_k(c, w->top_k);
            ref_top_p_from_below(c, w->top_p);
            ref_min_p(c, w->min_p);
            ref_typical(c, w->typical_p);
            ref_epsilon(c, w->epsilon, false);
            ref_epsilon(c, w->eta, true);
            break;
        default: /* llama-server, and Ollama, which asks it */
            for (const char *s = w->samplers; *s; s++) {
                if (*s == 'e') ref_penalties(c, w, last, last);
                if (*s == 's') ref_sigma(c, w->sigma);
                if (*s == 'k') ref_top_k(c, w->top_k);
                if (*s == 'y') ref_typical(c, w->typical_p);
                if (*s == 'p') ref_top_p_from_above(c, w->top_p);
                if (*s == 'm') ref_min_p(c, w->min_p);
                if (*s == 't') ref_dynamic(c, w->temp, w->dyn_range, w->dyn_exponent);
            }
    }
    softmax(c);
}

/* A float that a text has exactly, so that both sides start from the same. */
static double some(source *rng, double lo, double hi) { return floor((lo + (hi - lo) * uniform(rng)) * 64) / 64; }

static wish some_wish(source *rng, samp_peer peer, char *letters)
{
    wish w = { 1, 1, 0, 1, -1, 0, 1, 1, 0, 0, 0, 0, 0, -1, "", 3, 0 };
    bool repeats = percent(rng, 50);
    w.temp = some(rng, 0.25, 2);
    w.top_p = percent(rng, 60) ? some(rng, 0.1, 1) + 1.0 / 64 : 1;
    if (w.top_p > 1) w.top_p = 1;
    if (peer != SAMP_PEER_OPENAI) {
        w.top_k = percent(rng, 60) ? (int)below(rng, 100) + 1 : 0;
        w.min_p = percent(rng, 50) ? some(rng, 0, 0.5) : 0;
        if (repeats) w.repeat = some(rng, 0.5, 2);
    }
    repeats = repeats && (peer == SAMP_PEER_VLLM || peer == SAMP_PEER_SGLANG); /* then no other penalty is on */
    if (peer != SAMP_PEER_TRANSFORMERS && !repeats) {
        w.freq = some(rng, -1, 2);
        w.present = some(rng, -1, 2);
    }
    if (!is_of_openai(peer) && percent(rng, 50)) w.typical_p = some(rng, 0.25, 1);
    if (peer == SAMP_PEER_TRANSFORMERS && percent(rng, 30)) w.epsilon = some(rng, 0, 0.25);
    if (peer == SAMP_PEER_TRANSFORMERS && percent(rng, 30)) w.eta = some(rng, 0, 0.5);
    if (is_of_llama(peer)) w.last_n = percent(rng, 50) ? (int)below(rng, 100) : -1;
    w.samplers = "ekypmt";
    if (peer == SAMP_PEER_LLAMA_SERVER) {
        w.sigma = percent(rng, 50) ? some(rng, 0.5, 3) : -1;
        w.dyn_range = percent(rng, 50) ? some(rng, 0, 0.5) : 0;
        w.dyn_exponent = some(rng, 0.5, 2);
        memcpy(letters, "eskypmt", 8);
        for (int i = 6; i > 0; i--) {
            int j = (int)below(rng, (uint64_t)i + 1);
            char t = letters[i];
            letters[i] = letters[j];
            letters[j] = t;
        }
        letters[1 + below(rng, 7)] = 0;
        w.samplers = letters;
    }
    if (is_of_openai(peer) || peer == SAMP_PEER_LLAMA_SERVER) w.bias = some(rng, -4, 4);
    if (peer == SAMP_PEER_SGLANG && repeats) w.bias = 0; /* it would be added behind the penalty */
    return w;
}

/* The same wish as a request. */
static void spell(const wish *w, samp_peer peer, char *json, size_t size)
{
    const char *comma = ",\n  ";
    const bool native = peer == SAMP_PEER_SGLANG && w->biased % 2;
    int n = snprintf(json, size, "%s{\"temperature\": %.17g",
                     peer == SAMP_PEER_OLLAMA ? "{\"model\": \"m\", \"options\": "
                     : native                 ? "{\"text\": \"t\", \"sampling_params\": "
                                              : "",
                     w->temp);
#define ADD(...) n += snprintf(json + n, size - (size_t)n, __VA_ARGS__)
    ADD("%s\"top_p\": %.17g", comma, w->top_p);
    if (peer != SAMP_PEER_OPENAI) {
        ADD("%s\"top_k\": %d", comma, peer == SAMP_PEER_SGLANG && !w->top_k ? -1 : w->top_k);
        ADD("%s\"min_p\": %.17g", comma, w->min_p);
        ADD("%s\"%s\": %.17g", comma, is_of_llama(peer) ? "repeat_penalty" : "repetition_penalty", w->repeat);
    }
    if (peer != SAMP_PEER_TRANSFORMERS)
        ADD("%s\"frequency_penalty\": %.17g,\"presence_penalty\": %.17g", comma, w->freq, w->present);
    if (!is_of_openai(peer)) ADD("%s\"typical_p\": %.17g", comma, w->typical_p);
    if (peer == SAMP_PEER_TRANSFORMERS)
        ADD("%s\"do_sample\": true,\"epsilon_cutoff\": %.17g,\"eta_cutoff\": %.17g", comma, w->epsilon, w->eta);
    int last_n = w->last_n < 0 && peer == SAMP_PEER_LLAMA_SERVER ? N_TEXT : w->last_n; /* it has no -1 */
    if (is_of_llama(peer)) ADD("%s\"repeat_last_n\": %d", comma, last_n);
    if (peer == SAMP_PEER_LLAMA_SERVER)
        ADD("%s\"top_n_sigma\": %.17g, \"dynatemp_range\": %.17g, \"dynatemp_exponent\": %.17g, \"samplers\": \"%s\"",
            comma, w->sigma, w->dyn_range, w->dyn_exponent, w->samplers);
    if (w->bias != 0) ADD("%s\"logit_bias\": {\"%d\": %.17g}", comma, w->biased, w->bias);
    ADD(peer == SAMP_PEER_OLLAMA || native ? "}}" : "}");
#undef ADD
    assert_true((size_t)n < size);
}

/* What the chain of a request leaves of the row, behind the same text. */
static void ours(samp_peer peer, const char *json, const samp_token *text, int n_prompt, int n, const float *row,
                 candidates *c)
{
    own_settings *settings = served();
    samp_request request;
    int status = samp_settings_from(settings, peer, json, NULL, &request);
    if (status) print_error("%s: %s: %s\n", json, request.field, request.error.message);
    assert_ok(status);
    own_sampler *chain = samp_chain_from_params(samp_settings_params(settings), &status);
    assert_ok(status);
    for (int i = request.with_prompt ? 0 : n_prompt; i < n; i++) assert_ok(samp_accept(chain, text[i]));
    samp_free(samp_chain_remove(chain, samp_chain_n(chain) - 1)); /* what selects */
    static samp_token_data data[N];
    samp_token_data_array cur = test_array(data, row, N);
    assert_ok(samp_apply(chain, &cur));
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < cur.size; i++) {
        c->logit[cur.data[i].id] = (double)cur.data[i].logit;
        c->kept[cur.data[i].id] = cur.data[i].logit > -INFINITY;
    }
    softmax(c);
}

static bool same_set(const candidates *a, const candidates *b) { return !memcmp(a->kept, b->kept, sizeof a->kept); }

TEST(test_tokens_each_peer_keeps)
{
    static candidates mine, theirs;
    for (int peer = 0; peer < N_PEERS; peer++) {
        if (!is_measured(peer)) continue;
        source rng = source_stream(40 + (uint64_t)peer);
        int n_rounds = rounds(2000), forgiven = 0, cut = 0;
        for (int round = 0; round < n_rounds; round++) {
            float row[N];
            samp_token text[N_TEXT];
            char json[1024], letters[8];
            int n = (int)below(&rng, N_TEXT + 1), n_prompt = (int)below(&rng, (uint64_t)n + 1);
            const float *real = real_rows[below(&rng, REAL_ROWS)] + below(&rng, REAL_WIDTH - N + 1);
            for (int i = 0; i < N; i++) row[i] = real[i] + (float)(1e-3 * normal(&rng)); /* f16's ties would decide */
            for (int i = 0; i < n; i++) text[i] = (samp_token)below(&rng, percent(&rng, 50) ? 20 : N);
            wish w = some_wish(&rng, (samp_peer)peer, letters);
            if (peer == SAMP_PEER_SGLANG) w.biased = (samp_token)below(&rng, N);
            spell(&w, (samp_peer)peer, json, sizeof json);
            ours((samp_peer)peer, json, text, n_prompt, n, row, &mine);
            bool same = false;
            for (int side = 0; side < 3 && !same; side++) {
                forgiven += side == 1;
                for (int i = 0; i < N; i++) theirs.logit[i] = (double)row[i], theirs.kept[i] = true;
                theirs.slack = side == 0 ? 0 : side == 1 ? 3e-5 : -3e-5;
                reference((samp_peer)peer, &w, text, n_prompt, n, &theirs);
                same = same_set(&mine, &theirs);
            }
            int kept = 0;
            for (int i = 0; i < N; i++) kept += mine.kept[i];
            cut += kept < N;
            if (!same) print_error("%s\n%s\n", peer_names[peer], json);
            assert_true(same);
            for (int i = 0; i < N; i++)
                if (fabs(mine.p[i] - theirs.p[i]) > 1e-4 * theirs.p[i] + 1e-12) {
                    print_error("%s\n%s\n", peer_names[peer], json);
                    assert_near(mine.p[i], theirs.p[i], 1e-4 * theirs.p[i]);
                }
        }
        assert_true(forgiven <= 1 + n_rounds / 100);
        assert_true(cut > n_rounds / 3);
    }
}

/* Greedy is the largest logit behind the penalties, whatever truncates. */
TEST(test_greedy)
{
    static const char *const json[N_PEERS] = {
        "{\"temperature\":0,\"presence_penalty\":2}",
        "{\"temperature\":0,\"presence_penalty\":2,\"top_k\":3,\"min_p\":0.5}",
        "{\"repetition_penalty\":1.5,\"typical_p\":0.2}",
        "{\"temperature\":0,\"presence_penalty\":2,\"repeat_last_n\":10}",
        "{\"options\":{\"temperature\":0,\"presence_penalty\":2}}",
        NULL,
        "{\"temperature\":0,\"presence_penalty\":2,\"top_k\":3,\"min_p\":0.5}",
    };
    for (int peer = 0; peer < N_PEERS; peer++) {
        if (!is_measured(peer)) continue;
        float row[N] = { 0 };
        row[5] = 3.0f;
        row[6] = 2.5f;
        row[7] = 2.0f;
        own_settings *settings = served();
        assert_ok(samp_settings_from(settings, (samp_peer)peer, json[peer], NULL, NULL));
        own_sampler *chain = samp_chain_from_params(samp_settings_params(settings), NULL);
        assert_num(samp_sample(chain, row, N), 5);
        assert_num(samp_sample(chain, row, N), 6); /* 3 is 1, or 2 of a penalty that divides */
    }
}

/* ---- named after what users of those programs complain of ---- */

/* A penalty that a request sets is felt, with the weight that the program gives it, or the request is refused. */
TEST(penalties_are_not_ignored)
{
    static const char *const json[N_PEERS] = {
        "{\"frequency_penalty\":1.5}",
        "{\"frequency_penalty\":1.5}",
        "{\"do_sample\":true,\"top_k\":0,\"repetition_penalty\":2}",
        "{\"frequency_penalty\":1.5,\"top_k\":0,\"top_p\":1,\"min_p\":0,\"temperature\":1}",
        "{\"options\":{\"frequency_penalty\":1.5,\"top_k\":0,\"top_p\":1,\"temperature\":1}}",
        NULL,
        "{\"sampling_params\":{\"frequency_penalty\":1.5}}",
    };
    for (int peer = 0; peer < N_PEERS; peer++) {
        if (!is_measured(peer)) continue;
        float row[N];
        static const samp_token text[3] = { 9, 9, 9 };
        candidates c;
        for (int i = 0; i < N; i++) row[i] = 3.0f;
        ours((samp_peer)peer, json[peer], text, 0, 3, row, &c);
        double gone = peer == SAMP_PEER_TRANSFORMERS ? 1.5 : 4.5;
        assert_near(log(c.p[8] / c.p[9]), gone, 1e-5);
    }
    own_settings *settings = served();
    samp_request request;
    assert_status(
        samp_settings_from(settings, SAMP_PEER_OLLAMA, "{\"options\":{\"penalize_newline\":true}}", NULL, &request),
        SAMP_E_NAME);
    assert_text(request.field, "options.penalize_newline");
}

/* Of tokens as likely as the k-th transformers keep all, llama-server and Ollama some; here it is the smaller ids. */
TEST(ties_at_top_k)
{
    static const char *const json[N_PEERS] = {
        NULL, /* it has no top_k */
        "{\"top_k\":3}",
        "{\"do_sample\":true,\"top_k\":3}",
        "{\"samplers\":\"k\",\"top_k\":3}",
        "{\"options\":{\"top_k\":3,\"top_p\":1}}",
        NULL,
        "{\"top_k\":3}",
    };
    for (int peer = 1; peer < N_PEERS; peer++) {
        if (!is_measured(peer)) continue;
        float row[N] = { 0 };
        candidates c;
        row[20] = 3.0f;
        for (int i = 11; i < 16; i++) row[i] = 2.0f;
        ours((samp_peer)peer, json[peer], NULL, 0, 0, row, &c);
        int last = peer == SAMP_PEER_TRANSFORMERS ? 15 : 12;
        for (int i = 0; i < N; i++) assert_num(c.kept[i], i == 20 || (i >= 11 && i <= last));
    }
}

/* SGLang's top_p is of all tokens, also of those that top_k has removed, as long as there is no min_p. */
TEST(top_p_of_what_top_k_has_left)
{
    static const struct {
        const char *json;
        int kept;
    } c[] = {
        { "{\"top_k\":2,\"top_p\":0.5}", 2 },                /* 0.4 and 0.3 */
        { "{\"top_k\":2,\"top_p\":0.5,\"min_p\":0.01}", 1 }, /* 4/7 are enough */
        { "{\"top_k\":1,\"top_p\":0.5}", 1 },
        { "{\"top_k\":3,\"top_p\":0.3}", 1 },
        { "{\"top_k\":4,\"top_p\":0.99,\"min_p\":0.4}", 3 }, /* all that is 0.16 or more */
    };
    float row[N];
    candidates left;
    for (int i = 0; i < N; i++) row[i] = -30.0f;
    for (int i = 0; i < 4; i++) row[i] = (float)log(0.4 - 0.1 * i);
    for (size_t k = 0; k < TEST_COUNT(c); k++) {
        ours(SAMP_PEER_SGLANG, c[k].json, NULL, 0, 0, row, &left);
        for (int i = 0; i < N; i++) assert_num(left.kept[i], i < c[k].kept);
    }
}

/* Several samples of one request have seeds of their own: as many texts as samples, the same ones each time. */
TEST(samples_of_one_seed_differ)
{
    enum { SAMPLES = 32, LENGTH = 12 };
    samp_token text[2][SAMPLES][LENGTH];
    float row[N];
    test_row(row, N, 50, 1.0, 0);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < SAMPLES; i++) {
            own_settings *settings = served();
            assert_ok(samp_settings_from(settings, SAMP_PEER_OPENAI, "{\"seed\":1234,\"n\":32}", NULL, NULL));
            samp_params p = *samp_settings_params(settings);
            p.seed = samp_child_seed(p.seed, (uint64_t)i);
            own_sampler *chain = samp_chain_from_params(&p, NULL);
            for (int k = 0; k < LENGTH; k++) text[again][i][k] = samp_sample(chain, row, N);
        }
    assert_memory_equal(text[0], text[1], sizeof text[0]);
    for (int i = 0; i < SAMPLES; i++)
        for (int j = 0; j < i; j++) assert_memory_not_equal(text[0][i], text[0][j], sizeof text[0][0]);
}

/* ---- child seeds ---- */

/* What the comment says: Philox's first two words. A part of the contract, so also as numbers. */
TEST(test_child_seed)
{
    source rng = source_stream(51);
    for (int round = 0; round < 1000; round++) {
        uint64_t seed = choose(&rng, 8), i = choose(&rng, 8);
        uint32_t counter[4] = { (uint32_t)i, (uint32_t)(i >> 32), UINT32_MAX, 0 }, out[4];
        uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
        inside_philox(counter, key, out);
        assert_u64(samp_child_seed(seed, i), (uint64_t)out[1] << 32 | out[0]);
    }
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* No two of many are alike: of one seed, of neighbouring seeds, of children's children. */
TEST(test_child_seeds_collide_nowhere)
{
    const size_t many = quickest() ? 1 << 12 : 1 << 18;
    uint64_t *seeds = (uint64_t *)malloc(4 * many * sizeof *seeds);
    for (uint64_t i = 0; i < many; i++) {
        seeds[i] = samp_child_seed(0, i);
        seeds[many + i] = samp_child_seed(1, i);
        seeds[2 * many + i] = samp_child_seed(i + 2, 0);
        seeds[3 * many + i] = samp_child_seed(samp_child_seed(0, i), 0);
    }
    qsort(seeds, 4 * many, sizeof *seeds, by_number);
    for (size_t i = 1; i < 4 * many; i++) assert_true(seeds[i] != seeds[i - 1]);
    free(seeds);
}

/* Draws of siblings, of parent and child, and of children of neighbouring seeds are independent: pairs of tokens from
   16 equally likely ones fall evenly into 256 cells. The same test finds seeds that are only counted up where the
   draw is a function of too few of their bits. */
static double pairs_of(uint64_t (*other)(uint64_t seed, uint64_t i), uint64_t (*one)(uint64_t seed, uint64_t i),
                       bool weak)
{
    enum { TOKENS = 16, PAIRS = 20000 };
    static const float row[TOKENS];
    long seen[TOKENS * TOKENS] = { 0 };
    real p[TOKENS * TOKENS];
    for (int i = 0; i < TOKENS * TOKENS; i++) p[i] = 1;
    for (uint64_t i = 0; i < PAIRS; i++) {
        samp_token pair[2];
        for (int k = 0; k < 2; k++) {
            uint64_t seed = k ? other(i, 4) : one(i, 4);
            own_sampler *s = samp_init_dist(seed);
            pair[k] = weak ? (samp_token)(seed % TOKENS) : samp_sample(s, row, TOKENS);
        }
        seen[pair[0] * TOKENS + pair[1]]++;
    }
    return chi_square(seen, p, TOKENS * TOKENS);
}
static uint64_t itself(uint64_t seed, uint64_t i) { return seed + 0 * i; }
static uint64_t sibling(uint64_t seed, uint64_t i) { return samp_child_seed(seed, i + 1); }
static uint64_t neighbour(uint64_t seed, uint64_t i) { return samp_child_seed(seed + 1, i); }
static uint64_t grandchild(uint64_t seed, uint64_t i) { return samp_child_seed(samp_child_seed(seed, i), i); }
static uint64_t counted_up(uint64_t seed, uint64_t i) { return seed + i; }

TEST(test_child_seeds_are_independent)
{
    if (quickest()) skip(); /* 240,000 samplers */
    assert_true(pairs_of(itself, samp_child_seed, false) > 1e-4);
    assert_true(pairs_of(sibling, samp_child_seed, false) > 1e-4);
    assert_true(pairs_of(neighbour, samp_child_seed, false) > 1e-4);
    assert_true(pairs_of(grandchild, samp_child_seed, false) > 1e-4);
    assert_true(pairs_of(sibling, samp_child_seed, true) > 1e-4); /* their lowest bits too */
    assert_true(pairs_of(counted_up, itself, true) < 1e-12);
}

/* What a client sends to llama-server beside its fields: names of other programs, of user interfaces and proxies. */
/* clang-format off */
static const char *const not_llama_servers[] = {
    "api_server", "api_type", "can_abort", "custom_token_bans", "banned_strings", "guidance_scale",
    "negative_prompt", "rep_pen", "rep_pen_range", "rep_pen_slope", "repetition_penalty", "sampler_order",
    "sampler_priority", "tfs", "typical", "min_length", "max_context_length", "truncation_length", "add_bos_token",
    "ban_eos_token", "skip_special_tokens", "stopping_strings", "stop_sequence", "early_stopping", "num_beams",
    "penalty_alpha", "no_repeat_ngram_size", "epsilon_cutoff", "eta_cutoff", "smoothing_factor", "legacy_api",
    "rep_pen_size",
};
/* clang-format on */

TEST(test_lenient)
{
    enum { N_NAMES = TEST_COUNT(not_llama_servers) };
    char json[4096] = "{\"top_k\":7,\"prompt\":\"a\"", want[1024] = "", left[1024], text[1024], plain[1024];
    samp_request request;
    own_settings *settings = served();
    assert_num(N_NAMES, 32);
    for (int i = 0; i < N_NAMES; i++) {
        strcat(strcat(strcat(json, ",\""), not_llama_servers[i]), i % 2 ? "\":[1,\"2\"]" : "\":{\"a\":null}");
        strcat(strcat(want, i ? ";" : ""), not_llama_servers[i]);
    }
    strcat(json, ",\"temperature\":0.5}");
    assert_status(samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER, json, NULL, &request), SAMP_E_NAME);
    assert_num(samp_settings_from_lenient(settings, SAMP_PEER_LLAMA_SERVER, json, NULL, &request, left, sizeof left),
               N_NAMES);
    assert_text(left, want);
    assert_text(request.field, "");
    describe(settings, text);
    assert_ok(samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER, "{\"top_k\":7,\"temperature\":0.5}", NULL, NULL));
    describe(settings, plain);
    assert_text(text, plain);

    for (size_t size = 0; size <= strlen(want) + 1; size++) { /* whole names, as many as fit */
        memset(left, '?', sizeof left);
        assert_num(
            samp_settings_from_lenient(settings, SAMP_PEER_LLAMA_SERVER, json, NULL, NULL, size ? left : NULL, size),
            N_NAMES);
        assert_num(left[size], '?');
        if (!size) continue;
        const size_t n = strlen(left);
        assert_true(n < size && (want[n] == ';' || !want[n] || !n));
        assert_memory_equal(left, want, n);
        const char *next = want[n] ? strchr(want + n + 1, ';') : NULL;
        assert_true(!want[n] || (next ? (size_t)(next - want) : strlen(want)) >= size);
    }

    static const char *const handled[] = { "mine", "options.mine", NULL };
    static const struct {
        samp_peer peer;
        const char *json, *left;
        int result;
    } c[] = {
        { SAMP_PEER_OLLAMA, "{\"options\":{\"mood\":1,\"top_k\":3,\"mine\":2},\"proxy\":1}", "options.mood;proxy",
          2 },
        { SAMP_PEER_SGLANG, "{\"sampling_params\":{\"mood\":1,\"top_k\":3},\"mine\":1}", "sampling_params.mood", 1 },
        { SAMP_PEER_VLLM, "{\"top_p\":0.5,\"mine\":1,\"prompt\":\"\"}", "", 0 },
        { SAMP_PEER_OPENAI, "{\"\":1,\"top_k\":3,\"a;b\":2}", "top_k;a;b", 3 },
        /* what the program has is still an error */
        { SAMP_PEER_LLAMA_SERVER, "{\"x\":1,\"grammar\":\"root ::= \\\"a\\\"\",\"y\":1}", "x", SAMP_E_UNSUPPORTED },
        { SAMP_PEER_VLLM, "{\"x\":1,\"top_p\":7}", "x", SAMP_E_RANGE },
        { SAMP_PEER_VLLM, "{\"x\":1,\"top_p\":\"z\"}", "x", SAMP_E_FORMAT },
        { SAMP_PEER_VLLM, "{\"x\":1", "", SAMP_E_FORMAT },
    };
    for (size_t i = 0; i < TEST_COUNT(c); i++) {
        assert_num(samp_settings_from_lenient(settings, c[i].peer, c[i].json, handled, &request, left, sizeof left),
                   c[i].result);
        assert_text(left, c[i].left);
        assert_num(request.error.status, c[i].result < 0 ? c[i].result : 0);
    }
    assert_status(samp_settings_from_lenient(settings, SAMP_PEER_VLLM, "{}", NULL, NULL, NULL, 5), SAMP_E_NULL);
    assert_status(samp_settings_from_lenient(NULL, SAMP_PEER_VLLM, "{}", NULL, NULL, left, 5), SAMP_E_NULL);
}

/* Penalties of programs that look at the whole text do so, though the caller has not said how long it may be. */
TEST(test_penalties_over_the_whole_text)
{
    static const struct {
        samp_peer peer;
        const char *json;
        float far; /* the new logit of a token that came once, 100,000 tokens ago */
    } c[] = {
        { SAMP_PEER_VLLM, "{\"presence_penalty\":1.5}", -1.5f },
        { SAMP_PEER_VLLM, "{\"repetition_penalty\":2}", -2.0f },
        { SAMP_PEER_OPENAI, "{\"frequency_penalty\":0.5}", -0.5f },
        { SAMP_PEER_TRANSFORMERS, "{\"do_sample\":true,\"repetition_penalty\":2}", -2.0f },
        { SAMP_PEER_SGLANG, "{\"frequency_penalty\":0.5}", -0.5f },
        { SAMP_PEER_OLLAMA, "{\"options\":{\"repeat_last_n\":-1,\"presence_penalty\":0.5}}", -0.5f },
        { SAMP_PEER_OLLAMA, "{\"options\":{\"presence_penalty\":0.5}}", 0.0f },
    };
    for (size_t i = 0; i < TEST_COUNT(c); i++)
        for (int known = 0; known < 2; known++) { /* known: the caller has said that a text has at most 4096 tokens */
            own_settings *settings = samp_settings_init();
            int status;
            if (known) assert_ok(samp_settings_set(settings, "n_ctx_train", "4096", NULL));
            assert_ok(samp_settings_from(settings, c[i].peer, c[i].json, NULL, NULL));
            own_sampler *chain = samp_chain_from_params(samp_settings_params(settings), &status);
            assert_ok(status);
            assert_ok(samp_accept(chain, 3));
            for (int k = 0; k < 100000; k++) assert_ok(samp_accept(chain, 4));
            samp_free(samp_chain_remove(chain, samp_chain_n(chain) - 1)); /* what selects */
            const bool repeats = strstr(c[i].json, "repetition") != NULL;
            float row[6] = { 0, 0, 0, repeats ? -1.0f : 0.0f, 0, 0 };
            samp_token_data data[6];
            samp_token_data_array cur = test_array(data, row, 6);
            assert_ok(samp_apply(chain, &cur));
            for (size_t k = 0; k < cur.size; k++)
                if (data[k].id == 3)
                    assert_near(data[k].logit / (is_of_llama(c[i].peer) ? 1.25f : 1.0f), known ? row[3] : c[i].far,
                                1e-6);
        }
}

int main(int argc, char **argv) { return test_main(argc, argv, load_rows, NULL); }
