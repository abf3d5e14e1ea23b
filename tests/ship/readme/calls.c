/* src/grammar/README, the tools of a request: the text that a model's form forces at first. */
#include "readme.h"

int main(void)
{
    const char *tools = "[{\"type\": \"function\", \"function\": {\"name\": \"now\"}}]",
               *begin = "<tool_call>\n<function=now>\n";
    samp_grammar_error error;
    samp_vocab vocab = bytes_vocab();
#include "calls.h"
    require(calls != NULL && error.status == SAMP_OK);
    samp_vocab_index *index = samp_vocab_index_init(&vocab, NULL);
    samp_sampler *s = samp_init_grammar(index, calls);
    char forced[64];
    require(samp_grammar_forced(s, forced, sizeof forced) == (int64_t)strlen(begin) &&
            !memcmp(forced, begin, strlen(begin)));
    samp_free(s);
    samp_vocab_index_free(index);
    samp_grammar_free(calls);
    return 0;
}
