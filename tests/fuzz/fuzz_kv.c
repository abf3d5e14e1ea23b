/* fuzz_kv.c - a fuzzer's bytes as operations on a cache of sequences, and on the plain list that it must be like
   (kv_model.h). The end of each is a state with other bytes in it, loaded into the same cache: taken or refused, the
   cache is sound. */
#define SAMPLING_KV
#include "sampling.h"
#include "tests/support/inside.h"
#include "fuzz.h"

#define assert_true(x)               MUST(x)
#define assert_false(x)              MUST(!(x))
#define assert_num(x, y)             MUST((x) == (y))
#define assert_u64(x, y)             MUST((x) == (y))
#define assert_status(x, y)          MUST((x) == (y))
#define assert_ok(x)                 MUST((x) == SAMP_OK)
#define assert_memory_equal(a, b, n) MUST(memcmp(a, b, n) == 0)
#define test_fail(file, line, ...)   (fprintf(stderr, __VA_ARGS__), abort())
#include "tests/support/kv_model.h"

/* What must hold whatever was loaded: the counts are those of the cells, which have a position and a sequence or neither. */
static void check_cells(const samp_kv *kv)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < kv->size; i++) {
        const samp_kv_cell *c = &kv->cells[i];
        MUST((c->seq != 0) == (c->pos >= 0));
        MUST(c->seq >> SEQS == 0);
        used += c->seq != 0;
    }
    MUST(kv->used == used && kv->head < kv->size && kv->n <= kv->size);
}

static void hostile_state(source *s, samp_kv *kv)
{
    static unsigned char bytes[1 << 16];
    int32_t seq = (int32_t)below(s, SEQS);
    samp_kv_cell before[CELLS];
    size_t size = samp_kv_state_size(kv, seq);
    MUST(size > 0 && size <= sizeof bytes);
    MUST(samp_kv_state_save(kv, seq, bytes, size) == SAMP_OK);
    size_t damaged = fuzz_damage(s, bytes, size, inside_checksum);
    memcpy(before, kv->cells, sizeof before);
    int status = samp_kv_state_load(kv, (int32_t)below(s, SEQS), bytes, damaged);
    MUST(status == SAMP_OK || status == SAMP_E_FORMAT || status == SAMP_E_FULL);
    MUST(status == SAMP_OK || memcmp(before, kv->cells, sizeof before) == 0);
    check_cells(kv);
    samp_kv_defrag(kv);
    MUST(samp_kv_update(kv) == SAMP_OK);
    check_cells(kv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = source_bytes(data, size);
    samp_kv *kv = model_begin();
    for (int i = 0; i < 60 && s.left > 0; i++) {
        random_step(&s, kv);
        check_rules(kv);
    }
    hostile_state(&s, kv);
    samp_kv_free(kv);
    return 0;
}
