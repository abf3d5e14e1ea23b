/* source.h - where tests and benchmarks get their numbers from: the settings in the environment, and the one random
   source. Needs neither cmocka nor sampling.h.

   A source is a seed (splitmix64, without end) or a fuzzer's bytes, which become zeros when they have run out, so that
   every input is a case. The numbers that a seed gives never change: they decide which cases the tests play. */
#ifndef SOURCE_H
#define SOURCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* ----------------------------------------------------------------------------------------------- settings */

static inline uint64_t env_setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* How much is played: SAMP_TEST_FULL has all of it (make ci; with 2 every float too), SAMP_TEST_QUICK very little (an
   emulator), and in between the slow tests play a fortieth (make test). SAMP_TEST_QUICK=2: of what differs in its numbers
   only, one case or two, which show as much of memory as many do (valgrind, where all takes fifty times as long). */
static inline bool quick(void) { return env_setting("SAMP_TEST_QUICK", 0) != 0; }
static inline bool quickest(void) { return env_setting("SAMP_TEST_QUICK", 0) > 1; }
static inline uint64_t amount(uint64_t n_full, uint64_t n_quick)
{
    if (quick()) return n_quick;
    return env_setting("SAMP_TEST_FULL", 0) ? n_full : (n_full + 39) / 40;
}
static inline uint64_t cases(uint64_t n_full, uint64_t n_quick)
{
    return env_setting("SAMP_TEST_CASES", amount(n_full, n_quick));
}
static inline int rounds(int n) { return quick() ? 1 + n / 25 : env_setting("SAMP_TEST_FULL", 0) ? n : (n + 3) / 4; }

/* SAMP_TEST_SEED: what a failed test prints replays it. */
static inline uint64_t test_seed(void) { return env_setting("SAMP_TEST_SEED", 1); }

/* ------------------------------------------------------------------------------------------------- random */

static inline uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t splitmix64(uint64_t *state) { return mixed(*state += 0x9e3779b97f4a7c15u); }

typedef struct source {
    uint64_t state;
    const uint8_t *bytes; /* NULL: splitmix64 from state */
    size_t left;
} source;

static inline source source_at(uint64_t state)
{
    source s = { state, NULL, 0 };
    return s;
}

static inline source source_seed(uint64_t seed)
{
    return source_at(seed * 0xd1342543de82ef95u + 0x632be59bd9b4e019u);
}

/* Different streams are independent; SAMP_TEST_SEED is mixed in. */
static inline source source_stream(uint64_t stream)
{
    return source_at(splitmix64(&stream) ^ (test_seed() * 0xd1342543de82ef95u));
}

static inline source source_bytes(const uint8_t *bytes, size_t n)
{
    source s = { 0, bytes, n };
    return s;
}

/* A random number of which only the low n_bytes are going to be used. */
static inline uint64_t choose(source *s, int n_bytes)
{
    uint64_t x = 0;
    if (!s->bytes) return splitmix64(&s->state);
    for (int i = 0; i < n_bytes && s->left; i++, s->left--) x |= (uint64_t)*s->bytes++ << 8 * i;
    return x;
}

static inline uint64_t below(source *s, uint64_t n) /* n >= 1 */
{
    int n_bytes = n <= 1 << 8 ? 1 : n <= 1 << 16 ? 2 : n <= (uint64_t)1 << 32 ? 4 : 8;
    return choose(s, n_bytes) % n;
}

static inline bool percent(source *s, unsigned p) { return below(s, 100) < p; }

static inline double coarse(source *s) { return (double)(choose(s, 2) & 0xFFFF) / 65536.0; } /* [0, 1), two bytes */

static inline double uniform(source *s) /* [0, 1) */
{
    return (double)(choose(s, 8) >> 11) * (1.0 / 9007199254740992.0);
}

static inline double normal(source *s)
{
    double u = 1.0 - uniform(s), v = uniform(s);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Four 16-bit uniforms: nearly normal, much cheaper, for long rows and for bytes. */
static inline double normal_fast(source *s)
{
    uint64_t u = choose(s, 8);
    uint64_t sum = (u & 0xFFFF) + (u >> 16 & 0xFFFF) + (u >> 32 & 0xFFFF) + (u >> 48);
    return ((double)sum / 65536.0 - 2.0) * 1.7320508;
}

/* An endless source of its own, for what needs more numbers than a fuzzer has bytes. */
static inline source split(source *s) { return source_seed(choose(s, 4) ^ (s->bytes ? 0 : s->state)); }

#endif /* SOURCE_H */
