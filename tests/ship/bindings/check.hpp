// check.hpp - what the tests of sampling.hpp share; they are linked with counted.c.
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" long counted_live(void);
extern "C" int counted_fail(long k);
extern "C" int counted_fails(void);

[[noreturn]] inline void failed(int line, const char *what, const char *why)
{
    std::fprintf(stderr, "%d: %s%s\n", line, what, why);
    std::exit(1);
}

// One function for all calls: a try in each place takes long to compile under sanitizers.
inline void fails(int line, const char *what, const char *want, void (*call)(const void *), const void *of)
{
    try {
        call(of);
    } catch (const sampling::error &e) {
        if (std::string(e.what()).find(want) == std::string::npos) failed(line, "", e.what());
        return;
    }
    failed(line, what, " does not fail");
}

template <class F> void fails(int line, const char *what, const char *want, const F &call)
{
    fails(
        line, what, want, [](const void *of) { (*static_cast<const F *>(of))(); }, &call);
}

#define CHECK(is)         ((is) ? (void)0 : failed(__LINE__, #is, ""))
#define FAILS(call, want) fails(__LINE__, #call, want, [&] { call; })
