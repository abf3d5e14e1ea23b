// Threads that share what sampling.hpp says any number may share. Linked with counted.c.
#include "check.hpp"
#include <thread>

using namespace sampling;

static const std::vector<float> row = { 1.0f, 3.0f, 2.0f, 2.5f };

static vocab letters() { return vocab({ "a", "b", "c", "" }, { 3 }, 3); }

static void test_threads()
{
    for (int round = 0; round < 8; round++) {
        std::unique_ptr<vocab> shared(new vocab(letters()));
        const grammar g = grammar::from_regex("(ab|c)*");
        const chain original({ { "seed", "7" }, { "temp", "2" } }, *shared);
        std::vector<const samp_vocab_index *> index(6);
        std::vector<std::vector<samp_token>> drawn(index.size());
        std::vector<std::thread> threads;
        for (size_t t = 0; t < index.size(); t++) {
            vocab own = *shared;
            std::shared_ptr<chain> c = std::make_shared<chain>(original.copy());
            threads.emplace_back([=, &index, &drawn] {
                index[t] = own.index();
                c->insert(0, matcher(own, g));
                matcher alone(own, g);
                for (int i = 0; i < 20; i++) drawn[t].push_back(c->sample(row));
                CHECK(alone.mask()[0] == (1u | 4u | 8u));
                text shows(own, { "bc" });
                CHECK(shows.push(1).empty() && shows.push(1) == "b");
            });
        }
        shared.reset(); // while they work
        for (std::thread &one : threads) one.join();
        for (size_t t = 1; t < index.size(); t++) CHECK(index[t] == index[0] && drawn[t] == drawn[0]);
    }
    // an attempt that failed is made again
    const vocab v = letters();
    counted_fail(1);
    bool thrown = false;
    try {
        v.index();
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown && v.index() && v.index() == vocab(v).index());
}

int main()
{
    test_threads();
    CHECK(counted_live() == 0);
    std::puts("1 test of threads");
}
