#!/bin/sh
# The README's quick start compiles as it stands and prints what the README says; its grammar, with what it takes for
# granted put round it, compiles and says what its schema allows. Usage: readme.sh DIR
set -eu
dir=$1
mkdir -p "$dir"
awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' README.md > "$dir/quick.c"
[ "$(wc -l < "$dir/quick.c")" -le 14 ] || { echo "readme: the quick start is too long" >&2; exit 1; }
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -O2 -I. "$dir/quick.c" -o "$dir/quick" -lm
want=$(sed -n 's/.*a\.out` prints `\([^`]*\)`.*/\1/p' README.md)
got=$("$dir/quick" | sed 's/ *$//')
[ -n "$want" ] || { echo "readme: it does not say what the quick start prints" >&2; exit 1; }
[ "$want" = "$got" ] || { echo "readme: the quick start prints '$got', not '$want'" >&2; exit 1; }
echo "readme: the quick start prints $got"

# The six lines of its grammar. Vocabulary: a token a byte, and 256, the end; each byte is likelier than the one before.
awk '/^## / { here = $0 == "## Grammar" } /^```c$/ && here { on = 1; next } /^```$/ { on = 0 } on' README.md \
    > "$dir/grammar.h"
[ "$(wc -l < "$dir/grammar.h")" -eq 6 ] || { echo "readme: the grammar has not six lines" >&2; exit 1; }
cat > "$dir/grammar.c" << 'END'
#define SAMPLING_GRAMMAR
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include <stdio.h>

static const char *bytes(const samp_vocab *vocab, samp_token token, size_t *n)
{
    static char byte[256];
    (void)vocab;
    byte[token & 255] = (char)token;
    *n = token < 256;
    return &byte[token & 255];
}

static samp_sampler *greedy(void)
{
    samp_sampler *chain = samp_chain_init();
    samp_chain_add(chain, samp_init_greedy());
    return chain;
}

/* The README's order: what masks comes first, so greedy is added behind it. */
int main(void)
{
    const char *text = "{\"type\": \"string\", \"pattern\": \"^[a-f]{3}$\"}";
    static float logits[257];
    const size_t n = sizeof logits / sizeof *logits;
    const samp_token end = 256;
    samp_vocab vocab = { 257, bytes, NULL, NULL, &end, 1, end, -1 };
    samp_sampler *chain = samp_chain_init(), *other_chain = greedy(), *other = NULL;
    for (size_t i = 0; i < n; i++) logits[i] = (float)i;
#define other_json (other = samp_init_grammar(index, grammar))
#include "grammar.h"
    samp_chain_add(chain, samp_init_greedy());
    printf("%c", (int)token); /* by the other chain */
    for (token = samp_sample(chain, logits, n); token >= 0 && token < end; token = samp_sample(chain, logits, n))
        printf("%c", (int)token);
    puts(error.status == SAMP_OK && token == end ? " whole" : " cut off");
    samp_free(chain);
    samp_free(other_chain);
    samp_free(other);
    samp_vocab_index_free(index);
    samp_grammar_free(grammar);
    return 0;
}
END
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -O0 -I. -I"$dir" "$dir/grammar.c" -o "$dir/grammar" -lm
got=$("$dir/grammar")
[ "$got" = '""fff" whole' ] || { echo "readme: the grammar says '$got', not '\"\"fff\" whole'" >&2; exit 1; }
echo "readme: the grammar says $got"
