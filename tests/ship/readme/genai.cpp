// Parameters, engine by engine: what stands in onnxruntime-genai's search.cpp.
#include "sampling.h"
#include <iostream>
#include <stdexcept>
#include "genai.hpp"

// Which of four tokens come in 400 draws, as bits; their p are 0.06, 0.47, 0.17 and 0.29.
static int seen(int k, float p, float temperature)
{
    const float row[4] = { 1.0f, 3.0f, 2.0f, 2.5f };
    samp_sampler *chain = MakeChain(k, p, temperature, 5);
    int bits = 0;
    for (int i = 0; i < 400; i++) bits |= 1 << SampleToken(chain, row, 4);
    samp_free(chain);
    return bits;
}

int main()
{
    // off; top-k; top-p; top-p of what top-k leaves (0.62 and 0.38); behind the temperature (0.99)
    if (seen(1, 0, 1) != 15 || seen(2, 1, 1) != 10 || seen(0, 0.7f, 1) != 10 || seen(2, 0.6f, 1) != 2 || seen(0, 0.7f, 0.1f) != 2) return 1;
    const float bad[2] = { NAN, 1.0f };
    samp_sampler *chain = MakeChain(0, 0, 1, 5);
    try {
        SampleToken(chain, bad, 2);
        return 1;
    } catch (const std::runtime_error &error) {
        samp_free(chain);
        std::cout << (error.what() == std::string(samp_strerror(SAMP_E_NAN))) << "\n";
    }
}
