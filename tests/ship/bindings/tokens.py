"""What tokens.c prints, by sampling.py; and that rows of other kinds and places give the same."""
import sampling
from sampling import Chain, SamplingError, takes

try:
    import numpy
except ImportError:
    numpy = None

N_VOCAB = 12
ROWS = [[(i * 7919 + step * 10007) % 1000 / 400 for i in range(N_VOCAB)] for step in range(60)]
SETTINGS = dict(seed=2**64 - 1, top_k=100, top_p=0.9, temperature=1.1, penalty_repeat=1.2, dry_multiplier=0.8,
                dry_breakers=["b", "\n"], logit_bias={7: 2.5, 9: float("-inf")},
                order="penalties;dry;temperature;top_n_sigma;top_k;typ_p;top_p;min_p;xtc")
PIECES = [b"abcd"[i % 4:i % 4 + 1] for i in range(N_VOCAB)]


def main():
    with Chain(PIECES, **SETTINGS) as chain:
        tokens = [chain.sample(row) for row in ROWS]
        for token in tokens:
            print(token)
        temp = chain.get("temp")
        if numpy is not None:  # f32, f64 and strided rows are the same
            arrays = numpy.array(ROWS), numpy.array(ROWS, dtype=numpy.float32), numpy.array(ROWS).T.copy().T
            for array in arrays:
                chain.reset()
                assert [chain.sample(row) for row in array] == tokens
    for bad in {"temp": "0,8"}, {"top_k": 2**31}, {"no_such": 1}, {"top_p": 1.5}:
        try:
            Chain(N_VOCAB, **bad)
            print(bad, "is accepted")
        except SamplingError as error:
            print(error)
    print(f"{temp}, {takes('top_p')}")


if __name__ == "__main__":
    main()
