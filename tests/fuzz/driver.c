/* driver.c - runs a fuzz target without libFuzzer:  driver [-n COUNT] [-s SEED] [-w DIR] FILE...
     FILE      an input to replay
     -n COUNT  and so many random ones
     -s SEED   from that seed (1)
     -w DIR    write the random ones there, instead of running them */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SIZE = 1 << 16 };
static uint8_t input[MAX_SIZE];

/* Input number i of a seed: up to 400 bytes, a part of them small. */
static size_t make_input(uint64_t seed, uint64_t i)
{
    uint64_t state = seed * 0xd1342543de82ef95u + i;
    size_t size = (size_t)(splitmix64(&state) % 400);
    unsigned small = (unsigned)(splitmix64(&state) % 4);
    for (size_t k = 0; k < size; k++) {
        uint64_t x = splitmix64(&state);
        input[k] = (uint8_t)((x >> 8) % 4 < small ? x % 16 : x);
    }
    return size;
}

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(input, 1, MAX_SIZE, f) : 0;
    if (!f || ferror(f)) {
        fprintf(stderr, "cannot read %s\n", path);
        if (f) fclose(f);
        return 1;
    }
    fclose(f);
    fprintf(stderr, "%s\n", path); /* ahead, so that the last line names the one that failed */
    LLVMFuzzerTestOneInput(input, size);
    return 0;
}

static int write_input(const char *dir, uint64_t seed, uint64_t i)
{
    char path[1000];
    size_t size = make_input(seed, i);
    snprintf(path, sizeof path, "%s/random-%llu-%llu", dir, (unsigned long long)seed, (unsigned long long)i);
    FILE *f = fopen(path, "wb");
    int bad = !f || fwrite(input, 1, size, f) != size;
    if (f) bad |= fclose(f) != 0;
    if (bad) fprintf(stderr, "cannot write %s\n", path);
    return bad;
}

int main(int argc, char **argv)
{
    uint64_t count = 0, seed = 1;
    const char *dir = NULL;
    int failed = 0, n_files = 0;
    for (int i = 1; i < argc && !failed; i++) {
        if (!strcmp(argv[i], "-n") && i + 1 < argc) {
            count = strtoull(argv[++i], NULL, 0);
        } else if (!strcmp(argv[i], "-s") && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        } else if (!strcmp(argv[i], "-w") && i + 1 < argc) {
            dir = argv[++i];
        } else {
            failed = replay(argv[i]);
            n_files++;
        }
    }
    for (uint64_t i = 0; i < count && !failed; i++) {
        if (dir) {
            failed = write_input(dir, seed, i);
            continue;
        }
        if (i % 1000 == 0) fprintf(stderr, "-s %llu, input %llu\n", (unsigned long long)seed, (unsigned long long)i);
        LLVMFuzzerTestOneInput(input, make_input(seed, i));
    }
    if (!failed)
        printf("%d files and %llu random inputs: no difference\n", n_files, dir ? 0ull : (unsigned long long)count);
    return failed;
}
