/* Parameters, engine by engine: llama2.c's sampler as the page writes it. */
#include "readme.h"
#include <stdio.h>
#include <stdlib.h>
#include "llama2.h"

int main(void)
{
    float logits[3] = { 1.0f, 3.0f, 2.0f };
    for (int greedy = 0; greedy < 2; greedy++) {
        int seen[3] = { 0 };
        Sampler sampler;
        build_sampler(&sampler, 3, greedy ? 0.0f : 1.0f, greedy ? 0.0f : 0.9f, 7);
        for (int i = 0; i < 200; i++) seen[sample(&sampler, logits)]++;
        require(seen[1] > 0 && !seen[0] && (seen[2] > 0) == !greedy); /* p of 0 is 0.09, behind the nucleus */
        require(logits[0] == 1.0f && logits[1] == 3.0f && logits[2] == 2.0f);
        free_sampler(&sampler);
    }
    return 0;
}
