/* test_rng.c - the random sources against published and recorded vectors: Philox4x32-10 (Random123's
   kat_vectors), the Mersenne Twister (among them the C++ standard's 10000th output), and the distributions
   that turn its outputs into numbers, recorded from libstdc++ (g++ 12). */
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "tests/support/test.h"

/* ------------------------------------------------------------------------------------------------- Philox */

/* Random123, tests/kat_vectors: philox4x32 10, counter, key, output */
static const struct {
    uint32_t counter[4], key[2], out[4];
} philox_vectors[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
      { 0xffffffff, 0xffffffff },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

TEST(test_philox_known_answers)
{
    for (size_t i = 0; i < TEST_COUNT(philox_vectors); i++) {
        uint32_t out[4];
        sampi_philox(philox_vectors[i].counter, philox_vectors[i].key, out);
        for (int k = 0; k < 4; k++) assert_u64(out[k], philox_vectors[i].out[k]);
    }
}

/* A second implementation, in 64-bit words with the round's key computed anew. */
static void philox_again(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint64_t l0 = counter[0], r0 = counter[1], l1 = counter[2], r1 = counter[3];
    for (uint64_t round = 0; round < 10; round++) {
        uint64_t k0 = (key[0] + round * 0x9E3779B9u) & 0xffffffffu;
        uint64_t k1 = (key[1] + round * 0xBB67AE85u) & 0xffffffffu;
        uint64_t x = 0xD2511F53u * l0, y = 0xCD9E8D57u * l1;
        l0 = ((y >> 32) ^ k0 ^ r0) & 0xffffffffu;
        l1 = ((x >> 32) ^ k1 ^ r1) & 0xffffffffu;
        r0 = y & 0xffffffffu;
        r1 = x & 0xffffffffu;
    }
    out[0] = (uint32_t)l0, out[1] = (uint32_t)r0, out[2] = (uint32_t)l1, out[3] = (uint32_t)r1;
}

TEST(test_philox_random)
{
    source rng = source_stream(1);
    for (int i = 0; i < 100000; i++) {
        uint32_t counter[4], key[2], out[4], want[4];
        for (int k = 0; k < 4; k++) counter[k] = (uint32_t)choose(&rng, 8) >> (below(&rng, 4) * 8);
        for (int k = 0; k < 2; k++) key[k] = (uint32_t)choose(&rng, 8) >> (below(&rng, 4) * 8);
        sampi_philox(counter, key, out);
        philox_again(counter, key, want);
        assert_memory_equal(out, want, sizeof out);
    }
}

/* A draw's bits are a function of (position, kind and ordinal, attempt) under the seed, in that layout. This
   is part of "the same token everywhere", so it is pinned through the public functions: dist over 2^8 equal
   tokens selects the first random number's upper 8 bits, as no proposal of a maximum is ever rejected. */
static samp_token dist_flat(samp_sampler *s, uint64_t position)
{
    static samp_token_data data[256];
    static const float zero[256];
    samp_token_data_array cur = test_array(data, zero, 256);
    assert_ok(samp_set_position(s, position));
    assert_ok(samp_apply(s, &cur));
    return cur.data[cur.selected].id;
}

/* all 128 bits, the low ones too, which hardly ever decide a token */
TEST(test_random_words)
{
    source rng = source_stream(2);
    sampi_sampler *s = (sampi_sampler *)samp_init_xtc(0.5f, 0.1f, 0, 0);
    for (int i = 0; i < 1000; i++) {
        uint32_t key[2], counter[4], out[4], attempt = (uint32_t)below(&rng, 9);
        uint64_t r[2];
        s->seed = choose(&rng, 8);
        s->at_position = choose(&rng, 8);
        s->at_ordinal = (uint32_t)below(&rng, 65536);
        key[0] = (uint32_t)s->seed;
        key[1] = (uint32_t)(s->seed >> 32);
        counter[0] = (uint32_t)s->at_position;
        counter[1] = (uint32_t)(s->at_position >> 32);
        counter[2] = 2u << 16 | s->at_ordinal; /* xtc is number 2 */
        counter[3] = attempt;
        sampi_philox(counter, key, out);
        sampi_random(s, attempt, r);
        assert_u64(r[0], out[0] | (uint64_t)out[1] << 32);
        assert_u64(r[1], out[2] | (uint64_t)out[3] << 32);
    }
    samp_free(&s->base);
}

TEST(test_counter_layout)
{
    static const uint64_t seeds[] = { 0, 1, 0x0123456789abcdef, UINT64_MAX };
    static const uint64_t positions[] = { 0, 1, 2, 77, 0xffffffff, 0x100000000, 0xfedcba9876543210 };
    enum { DIST = 1 }; /* dist's number among the kinds that draw */
    for (size_t i = 0; i < TEST_COUNT(seeds); i++) {
        own_sampler *s = samp_init_dist(seeds[i]),
                    *chain = new_chain(samp_init_dist(seeds[i] + 1), samp_init_dist(seeds[i]));
        for (size_t j = 0; j < TEST_COUNT(positions); j++) {
            uint32_t key[2] = { (uint32_t)seeds[i], (uint32_t)(seeds[i] >> 32) }, out[4];
            uint32_t counter[4] = { (uint32_t)positions[j], (uint32_t)(positions[j] >> 32), DIST << 16, 0 };
            sampi_philox(counter, key, out);
            assert_num(dist_flat(s, positions[j]), out[1] >> 24);
            counter[2] = DIST << 16 | 1; /* the second of its kind */
            sampi_philox(counter, key, out);
            assert_num(dist_flat(chain, positions[j]), out[1] >> 24);
        }
    }
}

/* --------------------------------------------------------------------------------------- Mersenne Twister */

/* std::mt19937: seed, outputs 1 to 4, 623 to 626, 1000 and 10000 */
static const struct {
    uint32_t seed, out[10];
} mt_vectors[] = {
    { 0u,
      { 2357136044u, 2546248239u, 3071714933u, 3626093760u, 631131020u, 3791854820u, 341544762u, 1076416385u,
        3043451800u, 1543171712u } },
    { 1u,
      { 1791095845u, 4282876139u, 3093770124u, 4005303368u, 3906854836u, 2006116153u, 1104314680u, 939235918u,
        548926898u, 1237896635u } },
    { 42u,
      { 1608637542u, 3421126067u, 4083286876u, 787846414u, 336967606u, 1077437785u, 108880612u, 791707097u,
        1946654618u, 1399405940u } },
    { 1234u,
      { 822569775u, 2137449171u, 2671936806u, 3512589365u, 755503097u, 1664263489u, 303637765u, 2105248208u,
        2266375770u, 3207979228u } },
    { 5489u,
      { 3499211612u, 581869302u, 3890346734u, 3586334585u, 2227348307u, 4020325887u, 4178893912u, 610818241u,
        1341017984u, 4123659995u } },
    { 20241121u,
      { 3839491870u, 3170110813u, 1875207776u, 830225514u, 3780372144u, 913863856u, 514878731u, 1069924796u,
        1928133662u, 1932180015u } },
    { 2147483648u,
      { 652847386u, 1439962116u, 3524204305u, 1548966947u, 3482533866u, 2283417207u, 2355930816u, 862435388u,
        1880366667u, 110181776u } },
    { 4294967295u,
      { 419326371u, 479346978u, 3918654476u, 2416749639u, 1222270187u, 1027084080u, 3860652269u, 657474326u,
        2673539693u, 1117955853u } },
};

TEST(test_mt19937)
{
    static sampi_mt mt;
    for (size_t i = 0; i < TEST_COUNT(mt_vectors); i++) {
        size_t k = 0;
        sampi_mt_seed(&mt, mt_vectors[i].seed);
        for (int n = 1; n <= 10000; n++) {
            uint32_t x = sampi_mt_next(&mt);
            bool recorded = n <= 4 || (n >= 623 && n <= 626) || n == 1000 || n == 10000;
            if (recorded) assert_u64(x, mt_vectors[i].out[k++]);
        }
        assert_num(k, 10);
    }
    sampi_mt_seed(&mt, 5489);
    assert_u64(sampi_mt_next(&mt), 3499211612u);
    for (int n = 2; n < 10000; n++) sampi_mt_next(&mt);
    assert_u64(sampi_mt_next(&mt), 4123659995u);
}

/* ------------------------------------------------------------------------------------ libstdc++'s numbers */

/* std::uniform_real_distribution<double>(0, 1): two outputs, the low word first */
static const struct {
    uint32_t seed;
    double out[6];
} double_vectors[] = {
    { 0u,
      { 0x1.2f89545f18fe1p-1, 0x1.b04399816e2d5p-1, 0x1.b744a5f7349d6p-1, 0x1.b1cafacf16fafp-1, 0x1.3f43bda6d8e95p-1,
        0x1.899b5bca95654p-2 } },
    { 1u,
      { 0x1.fe8f01d6d583fp-1, 0x1.dd78289170ce6p-1, 0x1.06661c48003bfp-3, 0x1.ff823d0a9acb5p-1, 0x1.e3829e012c8e6p-3,
        0x1.961942045e8ep-2 } },
    { 42u,
      { 0x1.97d47b66bfc3cp-1, 0x1.77aca8779b102p-3, 0x1.8f33a88f76c7fp-1, 0x1.3196582932836p-1, 0x1.c88861e49fc36p-2,
        0x1.997f4d627ef42p-4 } },
    { 1234u,
      { 0x1.fd9b8b4cc41dbp-2, 0x1.a2bbb86b3e851p-1, 0x1.3966bae8e01dep-1, 0x1.8aefaff3921a8p-1, 0x1.b8a9b5638f59p-1,
        0x1.3481274a2e451p-3 } },
    { 5489u,
      { 0x1.1574f7b6848dep-3, 0x1.ab863ef3cfc3fp-1, 0x1.f00f6fbe41047p-1, 0x1.c4ad7f0f4e98p-3, 0x1.3b9024ae87893p-2,
        0x1.182d4c4a31f0dp-1 } },
    { 20241121u,
      { 0x1.79e81abbc9b4p-1, 0x1.8be1e3537e2b3p-3, 0x1.c9b8e44167a46p-2, 0x1.f96177e2b9a95p-2, 0x1.2f2ae4027d98cp-2,
        0x1.8156ee23a07ecp-1 } },
    { 2147483648u,
      { 0x1.575050109ba6ap-2, 0x1.714d708f483c6p-2, 0x1.4c4a504e34387p-3, 0x1.993276762a0edp-2, 0x1.b497fdf95e5eap-2,
        0x1.37ba6b652acb7p-2 } },
    { 4294967295u,
      { 0x1.c92412218fe6ap-4, 0x1.2019588fd323ep-1, 0x1.0d79fc8193fc7p-1, 0x1.8a8e03f58f5cap-1, 0x1.225dfc80125ecp-2,
        0x1.023ee4f7f0631p-1 } },
};

/* std::uniform_real_distribution<float>(0, 1): one output */
static const struct {
    uint32_t seed;
    float out[8];
} float_vectors[] = {
    { 0u,
      { 0x1.18fe16p-1f, 0x1.2f8954p-1f, 0x1.6e2d4cp-1f, 0x1.b0439ap-1f, 0x1.349d66p-1f, 0x1.b744a6p-1f,
        0x1.16faeep-1f, 0x1.b1cafap-1f } },
    { 1u,
      { 0x1.ab07dp-2f, 0x1.fe8f02p-1f, 0x1.70ce6p-1f, 0x1.dd7828p-1f, 0x1.dfbfcp-14f, 0x1.06661cp-3f, 0x1.3596acp-2f,
        0x1.ff823ep-1f } },
    { 42u,
      { 0x1.7f8772p-2f, 0x1.97d47cp-1f, 0x1.e6c406p-1f, 0x1.77aca8p-3f, 0x1.76c7e8p-1f, 0x1.8f33a8p-1f,
        0x1.32835ep-1f, 0x1.319658p-1f } },
    { 1234u,
      { 0x1.883b5ap-3f, 0x1.fd9b8cp-2f, 0x1.3e850ap-1f, 0x1.a2bbb8p-1f, 0x1.c03bb4p-2f, 0x1.3966bap-1f,
        0x1.921a86p-1f, 0x1.8aefbp-1f } },
    { 5489u,
      { 0x1.a12376p-1f, 0x1.1574f8p-3f, 0x1.cfc3f6p-1f, 0x1.ab863ep-1f, 0x1.0411aap-3f, 0x1.f00f7p-1f, 0x1.d3a6p-1f,
        0x1.c4ad8p-3f } },
    { 20241121u,
      { 0x1.c9b3fep-1f, 0x1.79e81ap-1f, 0x1.bf159ap-2f, 0x1.8be1e4p-3f, 0x1.67a464p-2f, 0x1.c9b8e4p-2f,
        0x1.5cd4a8p-1f, 0x1.f96178p-2f } },
    { 2147483648u,
      { 0x1.374d48p-3f, 0x1.57505p-2f, 0x1.a41e2ep-1f, 0x1.714d7p-2f, 0x1.8d0e1cp-1f, 0x1.4c4a5p-3f, 0x1.15076ap-1f,
        0x1.993276p-2f } },
    { 4294967295u,
      { 0x1.8fe69ap-4f, 0x1.c92412p-4f, 0x1.d323d8p-1f, 0x1.201958p-1f, 0x1.93fc7p-1f, 0x1.0d79fcp-1f, 0x1.8f5ca2p-1f,
        0x1.8a8e04p-1f } },
};

/* one source: a double, a float, an output, a float, a double */
static const struct {
    uint32_t seed;
    double first;
    float second;
    uint32_t third;
    float fourth;
    double fifth;
} mixed_vectors[] = {
    { 0u, 0x1.2f89545f18fe1p-1, 0x1.6e2d4cp-1f, 3626093760u, 0x1.349d66p-1f, 0x1.16faed87b744ap-1 },
    { 1u, 0x1.fe8f01d6d583fp-1, 0x1.70ce6p-1f, 4005303368u, 0x1.dfbfcp-14f, 0x1.3596ab2c83331p-2 },
    { 42u, 0x1.97d47b66bfc3cp-1, 0x1.e6c406p-1f, 787846414u, 0x1.76c7e8p-1f, 0x1.32835d798f33bp-1 },
    { 1234u, 0x1.fd9b8b4cc41dbp-2, 0x1.3e850ap-1f, 3512589365u, 0x1.c03bb4p-2f, 0x1.921a85313966cp-1 },
    { 5489u, 0x1.1574f7b6848dep-3, 0x1.cfc3f6p-1f, 3586334585u, 0x1.0411aap-3f, 0x1.d3a6000bf00f7p-1 },
    { 20241121u, 0x1.79e81abbc9b4p-1, 0x1.bf159ap-2f, 830225514u, 0x1.67a464p-2f, 0x1.5cd4a892e4dc7p-1 },
    { 2147483648u, 0x1.575050109ba6ap-2, 0x1.a41e2ep-1f, 1548966947u, 0x1.8d0e1cp-1f, 0x1.1507696853129p-1 },
    { 4294967295u, 0x1.c92412218fe6ap-4, 0x1.d323d8p-1f, 2416749639u, 0x1.93fc7p-1f, 0x1.8f5ca1ad0d7ap-1 },
};

TEST(test_uniform_numbers)
{
    static sampi_mt mt;
    for (size_t i = 0; i < TEST_COUNT(double_vectors); i++) {
        sampi_mt_seed(&mt, double_vectors[i].seed);
        for (int k = 0; k < 6; k++) assert_true(sampi_mt_double(&mt) == double_vectors[i].out[k]);
        sampi_mt_seed(&mt, float_vectors[i].seed);
        for (int k = 0; k < 8; k++) assert_same(sampi_mt_float(&mt), float_vectors[i].out[k]);
        sampi_mt_seed(&mt, mixed_vectors[i].seed);
        assert_true(sampi_mt_double(&mt) == mixed_vectors[i].first);
        assert_same(sampi_mt_float(&mt), mixed_vectors[i].second);
        assert_u64(sampi_mt_next(&mt), mixed_vectors[i].third);
        assert_same(sampi_mt_float(&mt), mixed_vectors[i].fourth);
        assert_true(sampi_mt_double(&mt) == mixed_vectors[i].fifth);
    }
    assert_num(TEST_COUNT(double_vectors), TEST_COUNT(float_vectors));
    assert_num(TEST_COUNT(double_vectors), TEST_COUNT(mixed_vectors));
}

/* the word of the generator's state that gives this output: its tempering, undone */
static uint32_t mt_untemper(uint32_t y)
{
    uint32_t x;
    y ^= y >> 18;
    y ^= (y << 15) & 0xEFC60000u;
    x = y;
    for (int i = 0; i < 5; i++) x = y ^ ((x << 7) & 0x9D2C5680u);
    y = x;
    for (int i = 0; i < 3; i++) y = x ^ (y >> 11);
    return y;
}

/* a source whose next outputs are these */
static void mt_rig(sampi_mt *mt, uint32_t first, uint32_t second)
{
    sampi_mt_seed(mt, 1);
    sampi_mt_next(mt);
    mt->state[1] = mt_untemper(first);
    mt->state[2] = mt_untemper(second);
}

/* 1.0 would be outside of [0, 1): libstdc++ returns the number before it */
TEST(test_uniform_below_one)
{
    static sampi_mt mt;
    mt_rig(&mt, 12345, 0xdeadbeef);
    assert_u64(sampi_mt_next(&mt), 12345);
    assert_u64(sampi_mt_next(&mt), 0xdeadbeef);
    mt_rig(&mt, 0xffffffff, 0xffffffff);
    assert_true(sampi_mt_double(&mt) == 1.0 - 0x1p-53);
    mt_rig(&mt, 0xfffffbff, 0xffffffff); /* 2^64 - 1025 rounds to 2^64 - 2048 */
    assert_true(sampi_mt_double(&mt) == 1.0 - 0x1p-53);
    mt_rig(&mt, 0xfffff3ff, 0xffffffff); /* 2^64 - 3073 rounds to 2^64 - 4096 */
    assert_true(sampi_mt_double(&mt) == 1.0 - 0x1p-52);
    mt_rig(&mt, 0, 0);
    assert_true(sampi_mt_double(&mt) == 0.0);
    mt_rig(&mt, 0xffffffff, 0);
    assert_same(sampi_mt_float(&mt), 1.0f - 0x1p-24f);
    mt_rig(&mt, 0xffffff7f, 0); /* 2^32 - 129 rounds to 2^32 - 256 */
    assert_same(sampi_mt_float(&mt), 1.0f - 0x1p-24f);
    mt_rig(&mt, 0xfffffe7f, 0);
    assert_same(sampi_mt_float(&mt), 1.0f - 0x1p-23f);
    mt_rig(&mt, 1, 0);
    assert_same(sampi_mt_float(&mt), 0x1p-32f);
}

/* std::discrete_distribution<int> over floats: 20 results from one source, then the source's next output.
   Fewer than two probabilities take nothing from the source. */
static const struct {
    uint32_t seed;
    size_t n;
    float p[8];
    int out[20];
    uint32_t next;
} discrete_vectors[] = {
    { 42,
      4,
      { 0.1f, 0.2f, 0.3f, 0.4f },
      { 3, 1, 3, 2, 2, 0, 2, 2, 1, 3, 0, 3, 3, 0, 3, 3, 3, 0, 0, 2 },
      2627888186u },
    { 1234,
      4,
      { 0.1f, 0.2f, 0.3f, 0.4f },
      { 2, 3, 3, 3, 3, 1, 1, 3, 1, 1, 0, 2, 2, 3, 0, 0, 2, 0, 1, 1 },
      1567173351u },
    { 42, 1, { 1.0f }, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 1608637542u },
    { 1234, 1, { 1.0f }, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 822569775u },
    { 42, 2, { 1.0f, 0.0f }, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 2627888186u },
    { 1234, 2, { 1.0f, 0.0f }, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 1567173351u },
    { 42, 2, { 0.0f, 1.0f }, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, 2627888186u },
    { 1234, 2, { 0.0f, 1.0f }, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, 1567173351u },
    { 42, 2, { 0.5f, 0.5f }, { 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1 }, 2627888186u },
    { 1234, 2, { 0.5f, 0.5f }, { 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 }, 1567173351u },
    { 42,
      6,
      { 0.25f, 0.0f, 0.5f, 0.0f, 0.25f, 0.0f },
      { 4, 0, 4, 2, 2, 0, 2, 2, 0, 2, 0, 2, 4, 0, 4, 2, 2, 0, 0, 2 },
      2627888186u },
    { 1234,
      6,
      { 0.25f, 0.0f, 0.5f, 0.0f, 0.25f, 0.0f },
      { 2, 4, 2, 4, 4, 0, 0, 4, 0, 0, 0, 2, 2, 4, 0, 0, 2, 0, 2, 0 },
      1567173351u },
    { 42,
      8,
      { 3.0f, 1.0f, 4.0f, 1.0f, 5.0f, 9.0f, 2.0f, 6.0f },
      { 6, 2, 6, 5, 4, 1, 5, 4, 2, 5, 0, 5, 7, 0, 7, 5, 5, 0, 0, 5 },
      2627888186u },
    { 1234,
      8,
      { 3.0f, 1.0f, 4.0f, 1.0f, 5.0f, 9.0f, 2.0f, 6.0f },
      { 5, 7, 5, 6, 7, 2, 2, 7, 2, 1, 0, 5, 4, 6, 1, 0, 4, 0, 4, 2 },
      1567173351u },
};

/* the same over 1, 1/2, ... 1/50 */
static const int harmonic_out[2][20] = {
    { 19, 0, 18, 7, 3, 0, 3, 2, 0, 9, 0, 13, 37, 0, 48, 8, 8, 0, 0, 5 },
    { 4, 21, 8, 17, 26, 0, 0, 21, 0, 0, 0, 4, 1, 20, 0, 0, 3, 0, 1, 1 },
};

/* The library's function takes logits; what it makes of ln p has the probabilities p again, up to a rounding
   that the recorded cases do not hinge on. */
static samp_sampler *discrete_source;
static samp_token_data discrete_data[64];

static int discrete_draw(const float *p, size_t n)
{
    samp_token_data_array cur;
    float logits[64];
    sampi_llama_sums sums;
    for (size_t i = 0; i < n; i++) logits[i] = p[i] > 0 ? logf(p[i]) : -INFINITY;
    cur = test_array(discrete_data, logits, n);
    sums = sampi_llama_sum(&cur);
    return (int)sampi_llama_discrete((sampi_sampler *)discrete_source, &cur, &sums);
}

static void discrete_begin(uint32_t seed)
{
    discrete_source = samp_init_mirostat_v2(seed, 5, 0);
    assert_ok(samp_set_rng(discrete_source, SAMP_RNG_MT19937));
}

TEST(test_discrete)
{
    float harmonic[50];
    for (size_t i = 0; i < TEST_COUNT(discrete_vectors); i++) {
        discrete_begin(discrete_vectors[i].seed);
        for (int k = 0; k < 20; k++)
            assert_num(discrete_draw(discrete_vectors[i].p, discrete_vectors[i].n), discrete_vectors[i].out[k]);
        assert_u64(sampi_mt_next(sampi_mt_of((sampi_sampler *)discrete_source)), discrete_vectors[i].next);
        samp_free(discrete_source);
    }
    for (int i = 0; i < 50; i++) harmonic[i] = 1.0f / (float)(i + 1);
    for (int i = 0; i < 2; i++) {
        discrete_begin(i ? 1234 : 42);
        for (int k = 0; k < 20; k++) assert_num(discrete_draw(harmonic, 50), harmonic_out[i][k]);
        samp_free(discrete_source);
    }
}

/* dist draws a double even for a single candidate, mirostat's distribution does not; xtc draws a float from
   two candidates on */
static uint64_t outputs_used(samp_sampler *s, size_t n)
{
    static const float falling[8] = { 0.0f, -0.1f, -0.3f, -0.4f, -0.5f, -0.6f, -0.7f, -0.8f };
    samp_token_data data[8];
    samp_token_data_array cur = test_array(data, falling, n);
    uint64_t used;
    assert_ok(samp_set_rng(s, SAMP_RNG_MT19937));
    assert_ok(samp_apply(s, &cur));
    used = sampi_mt_of((sampi_sampler *)s)->drawn;
    samp_free(s);
    return used;
}

TEST(test_outputs_used)
{
    assert_num(outputs_used(samp_init_dist(1), 1), 2);
    assert_num(outputs_used(samp_init_dist(1), 8), 2);
    assert_num(outputs_used(samp_init_mirostat_v2(1, 5, 0.1f), 1), 0);
    assert_num(outputs_used(samp_init_mirostat_v2(1, 5, 0.1f), 8), 2);
    assert_num(outputs_used(samp_init_mirostat(8, 1, 5, 0.1f, 100), 8), 2);
    assert_num(outputs_used(samp_init_adaptive_p(0.5f, 0.9f, 1), 8), 2);
    assert_num(outputs_used(samp_init_xtc(0.5f, 0.1f, 0, 1), 1), 0);
    assert_num(outputs_used(samp_init_xtc(0.5f, 0.1f, 0, 1), 8), 1);
}

int main(int argc, char **argv) { return test_main(argc, argv, NULL, NULL); }
