/* fuzz_peers.c - a fuzzer's bytes as a request to another program (samp_settings_from). The first byte says to which one
   (o OpenAI, v vLLM, t transformers, s llama-server, a Ollama, c Anthropic, g SGLang), and what follows is the text; with
   any other one the bytes choose fields of that program's table, and values that are usual, odd, or of another type.
   A request is refused, and nothing has changed, or it is taken: then the parameters are good, read again they are the
   same, another object of settings gets the same, and what they make samples. */
#define SAMPLING_PEERS
#include <float.h>
#include "sampling.h"
#include "tests/support/inside.h"
#include "fuzz.h"

enum { N = 80, ROOM = 4096, N_PEERS = 7, N_PLAIN = 13 /* values that many fields take */ };

/* clang-format off */
static const char *const values[] = {
    "null", "true", "false", "0", "1", "-1", "2", "5", "79", "80", "0.5", "1.0", "0.9", "-0.5", "1.5", "4e1",
    "40.5", "1e-50", "1e400", "-0", "0e99999999999999999999", "2147483647", "2147483648", "4294967295",
    "4294967301", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e19", "\"\"", "\"0.5\"",
    "\"auto\"", "\"none\"", "\"required\"", "\"kptmxyedsi\"", "\"top_k;temp\"", "[]", "{}", "[1,2,3]", "[\"\"]",
    "[\"a\",\"\\u0000\"]", "[\"top_k\",\"Top-P\",\"nucleus\",\"temp\"]", "[[5,1.5],[7,false],[5,-1e30]]",
    "{\"5\":1,\"05\":2}", "{\"3\":400,\"-1\":1,\"79\":-1e30}", "{\"type\":\"text\"}", "{\"type\":\"json_object\"}",
    "[{\"type\":\"function\"}]", "[{\"function\":{\"strict\":true}}]", "\"\\ud83d\\ude00\"", "\"\xff\"",
    "[[[[[[]]]]]]", "nul", "",
};
/* clang-format on */

static char text[ROOM + 1];
static size_t n_text;

static void say(const char *what, size_t n)
{
    if (n > ROOM - n_text) n = ROOM - n_text;
    memcpy(text + n_text, what, n);
    n_text += n;
    text[n_text] = 0;
}

/* A name of those with ; between them. */
static void say_listed(source *s, const char *list)
{
    size_t n = 1;
    for (const char *c = list; *c; c++) n += *c == ';';
    for (n = (size_t)below(s, n); n > 0; n--) list = strchr(list, ';') + 1;
    say(list, strcspn(list, ";="));
}

/* The object of options, of those that have one. */
static void say_options(samp_peer peer)
{
    const char *name = peer == SAMP_PEER_SGLANG ? "sampling_params" : "options";
    say(name, strlen(name));
}

static void say_name(source *s, samp_peer peer)
{
    const char *name;
    size_t n = 0;
    while (inside_peer_field(peer, n, &name)) n++;
    inside_peer_field(peer, (size_t)below(s, n + 1), &name); /* the last one is none: a name that is skipped */
    if (name && below(s, 16) > 0)
        say(name, strlen(name));
    else if (below(s, 4) > 0)
        say_listed(s,
                   below(s, 2) && *inside_peer_refused(peer) ? inside_peer_refused(peer) : inside_peer_skipped(peer));
    else
        say_options(peer);
}

/* An object of some fields; in it, perhaps, options. */
static void say_fields(source *s, samp_peer peer, int depth)
{
    say("{", 1);
    for (size_t i = 0, n = (size_t)below(s, 9); i < n; i++) {
        if (i) say(",", 1);
        say("\"", 1);
        bool inside = depth == 0 && (peer == SAMP_PEER_OLLAMA || peer == SAMP_PEER_SGLANG) && below(s, 2);
        if (inside)
            say_options(peer);
        else
            say_name(s, peer);
        say("\":", 2);
        const char *value = values[below(s, below(s, 4) ? N_PLAIN : sizeof values / sizeof *values)];
        if (inside)
            say_fields(s, peer, 1);
        else
            say(value, strlen(value));
    }
    say("}", 1);
}

/* The program, and its request in `text`. Sometimes there is none of that number. */
static samp_peer say_request(const uint8_t *data, size_t size)
{
    static const char letters[] = "ovtsacg";
    const char *letter = size ? (const char *)memchr(letters, data[0], N_PEERS) : NULL;
    n_text = 0;
    text[0] = 0;
    if (letter) {
        say((const char *)data + 1, size - 1);
        return (samp_peer)(letter - letters);
    }
    source s = source_bytes(data, size);
    const int peer = (int)below(&s, N_PEERS);
    say_fields(&s, (samp_peer)peer, 0);
    if (below(&s, 4) == 0) fuzz_overwrite(&s, (unsigned char *)text, n_text, n_text, 3);
    return (samp_peer)(below(&s, 50) ? peer : peer ? N_PEERS : -1);
}

static const char *piece(const samp_vocab *vocab, samp_token token, size_t *n_bytes)
{
    (void)vocab;
    *n_bytes = 1 + (size_t)(token % 3);
    return &"abcdefghijklmnopqrstuvwxyz"[token % 24];
}

static samp_settings *served(void)
{
    samp_settings *settings = samp_settings_init();
    MUST(settings && samp_settings_set_vocab(settings, N, piece, NULL) == SAMP_OK);
    MUST(samp_settings_set(settings, "n_ctx_train", "1000", NULL) == SAMP_OK);
    MUST(samp_settings_set(settings, "seed", "77", NULL) == SAMP_OK);
    return settings;
}

/* The chain that settings make. */
static samp_sampler *chain_of(const samp_settings *settings, char *told, size_t room)
{
    int status;
    samp_sampler *chain = samp_chain_from_params(samp_settings_params(settings), &status);
    MUST(chain && status == SAMP_OK);
    MUST(samp_describe(chain, told, room) < (int64_t)room);
    return chain;
}

/* Two settings are the same to the last byte, but for where their lists lie. */
static void check_same(const samp_settings *a, const samp_settings *b)
{
    static char told[2][8192];
    samp_sampler *one = chain_of(a, told[0], sizeof told[0]), *other = chain_of(b, told[1], sizeof told[1]);
    MUST(strcmp(told[0], told[1]) == 0);
    float row[N];
    source s = source_seed(7);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < N; k++) row[k] = (float)below(&s, 1000) / 100.0f;
        samp_token token = samp_sample(one, row, N);
        MUST(token == samp_sample(other, row, N));
        MUST(token < N && (token >= 0 || token == SAMP_E_EMPTY)); /* all may be banned */
    }
    samp_free(one);
    samp_free(other);
}

static void check_error(const samp_request *request, int status)
{
    MUST(request->error.status == status);
    MUST(memchr(request->field, 0, sizeof request->field) != NULL);
    MUST(memchr(request->error.message, 0, sizeof request->error.message) != NULL);
    MUST(request->error.line <= n_text + 1 && request->error.column <= n_text + 1);
    MUST(!status || request->error.line == 0 || request->error.message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const samp_peer peer = say_request(data, size);
    samp_settings *settings = served(), *other = served();
    samp_request request, again;
    if (size % 2) { /* what was there before counts for nothing */
        MUST(samp_settings_from(settings, SAMP_PEER_LLAMA_SERVER,
                                "{\"logit_bias\":[[3,1.5]],\"dry_multiplier\":0.8,\"samplers\":[\"top_k\",\"dry\"]}",
                                NULL, NULL) == SAMP_OK);
    }
    const samp_params before = *samp_settings_params(settings);
    memset(&request, 0xa5, sizeof request);
    const int status = samp_settings_from(settings, peer, text, NULL, &request);
    check_error(&request, status);
    MUST(samp_settings_from(other, peer, text, NULL, &again) == status);
    MUST(memcmp(&request.error, &again.error, offsetof(samp_text_error, message)) == 0);
    MUST(strcmp(request.field, again.field) == 0 && strcmp(request.error.message, again.error.message) == 0);
    if (status) {
        MUST(memcmp(&before, samp_settings_params(settings), sizeof before) == 0);
        MUST(status == SAMP_E_FORMAT || status == SAMP_E_RANGE || status == SAMP_E_NAME ||
             status == SAMP_E_UNSUPPORTED);
    } else {
        MUST(request.seeded == again.seeded && request.with_prompt == again.with_prompt);
        MUST(samp_check_params(samp_settings_params(settings), NULL) == SAMP_OK);
        MUST(request.seeded || samp_settings_params(settings)->seed == 77);
        check_same(settings, other);
        MUST(request.thinking_budget == again.thinking_budget && request.thinking_budget >= -1);
        MUST(request.min_tokens == again.min_tokens && request.min_tokens >= 0);
        MUST(request.mask_ends == again.mask_ends);
        MUST(request.guidance_scale == again.guidance_scale && fabsf(request.guidance_scale) <= FLT_MAX);
        const bool asks = request.thinking_budget >= 0 || request.min_tokens > 0 || request.mask_ends ||
                          request.guidance_scale != 1.0f || request.n_beams > 0;
        MUST(samp_settings_from(settings, peer, text, NULL, NULL) == (asks ? SAMP_E_UNSUPPORTED : SAMP_OK));
        check_same(settings, other);
    }
    samp_settings_free(settings);
    samp_settings_free(other);
    return 0;
}
