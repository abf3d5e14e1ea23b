// check.hpp - what the tests of sampling.hpp share: the binding with all parts, and checks; they are linked with counted.c.
#define SAMPLING_GRAMMAR
#define SAMPLING_DRAFTS
#define SAMPLING_CONSTRAINTS
#define SAMPLING_WATERMARK
#define SAMPLING_STOP
#define SAMPLING_SEARCH
#define SAMPLING_VOCAB
#define SAMPLING_PEERS
#include "sampling.hpp"
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" long counted_live(void);
extern "C" int counted_fail(long k);
extern "C" int counted_fails(void);

[[noreturn]] inline void failed(const char *at, const char *what, const char *why)
{
    std::fprintf(stderr, "%s: %s%s\n", at, what, why);
    std::exit(1);
}

// One function for all calls: a try in each place takes long to compile under sanitizers.
inline void fails(const char *at, const char *what, const char *want, void (*call)(const void *), const void *of)
{
    try {
        call(of);
    } catch (const sampling::error &e) {
        if (std::string(e.what()).find(want) == std::string::npos) failed(at, "", e.what());
        return;
    }
    failed(at, what, " does not fail");
}

template <class F> void fails(const char *at, const char *what, const char *want, const F &call)
{
    const auto run = [](const void *of) { (*static_cast<const F *>(of))(); };
    fails(at, what, want, run, &call);
}

#define LINE_OF(n)        #n
#define LINE(n)           LINE_OF(n)
#define AT                __FILE__ ":" LINE(__LINE__)
#define CHECK(is)         ((is) ? (void)0 : failed(AT, #is, ""))
#define FAILS(call, want) fails(AT, #call, want, [&] { call; })
