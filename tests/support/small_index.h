/* small_index.h - the index of the small vocabulary, made before a program's tests and freed behind them. Include it
   behind the implementation. */
#ifndef SMALL_INDEX_H
#define SMALL_INDEX_H

#include "tests/support/small_vocabulary.h"

static samp_vocab_index *vocab_index;

static int make_index(void **state)
{
    (void)state;
    return !(vocab_index = samp_vocab_index_init(&small_vocabulary, NULL));
}

static int free_index(void **state)
{
    (void)state;
    samp_vocab_index_free(vocab_index);
    return 0;
}

#endif /* SMALL_INDEX_H */
