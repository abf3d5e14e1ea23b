// A file of test_misuse.cpp's program that knows of no optional part: its objects are the same.
#include "sampling.hpp"

sampling::vocab plain_vocab() { return sampling::vocab({ "a", "b", "c", "" }, { 3 }, 3); }

sampling::chain plain_chain() { return sampling::chain({ { "seed", "1" } }, plain_vocab()); }

samp_token plain_sample(sampling::chain &c)
{
    sampling::draft one;
    const samp_token token = 1;
    one.tokens = sampling::span<const samp_token>(&token, 1);
    const float rows[] = { 1, 3, 2, 2, 1, 3, 2, 2 };
    return c.verify(sampling::logits(rows, 2, 4), one, sampling::method::ratio)[1];
}
