// check.hpp - what the tests of sampling.hpp share; they are linked with counted.c.
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" long counted_live(void);
extern "C" int counted_fail(long k);
extern "C" int counted_fails(void);

#define CHECK(is) \
    do { \
        if (!(is)) { \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #is); \
            std::exit(1); \
        } \
    } while (0)
#define FAILS(call, want) \
    do { \
        try { \
            call; \
            std::fprintf(stderr, "%s:%d: %s does not fail\n", __FILE__, __LINE__, #call); \
            std::exit(1); \
        } catch (const sampling::error &e) { \
            if (std::string(e.what()).find(want) == std::string::npos) { \
                std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, e.what()); \
                std::exit(1); \
            } \
        } \
    } while (0)
