/* ====================================================================================================== >>ptx
   What the kernels say in PTX, because gcc's OpenMP has no word for it: a fence of the device alone, a load that
   acquires, a team's own memory, a barrier of a warp, the number of a lane, and a lane's value read by another. All
   inline PTX is here, each piece beside its meaning in C. Only gcc's compiler for NVIDIA's devices sees the PTX: the
   condition SAMPI_ON_NVIDIA is a constant to each compiler, and the side that does not run is removed (at -O0 it would
   not be, so PTX needs an optimising compiler).

   Functions that use lanes run outside of simd loops, where all lanes of a warp execute the same code. So their
   conditions must not depend on the lane: a lane selects by masks, and branches only around a store of its own. */

#if SAMPI_OFFLOAD && !defined(__clang__) && defined(__OPTIMIZE__)
#define SAMPI_ON_NVIDIA __builtin_acc_on_device(5) /* GOMP_DEVICE_NVIDIA_PTX */
#define SAMPI_PTX(...)  __asm__ volatile(__VA_ARGS__)
#define SAMPI_PURE(...) __asm__(__VA_ARGS__) /* for what only computes a value */
#else
#define SAMPI_ON_NVIDIA 0
#define SAMPI_PTX(...)  (void)0
#define SAMPI_PURE(...) (void)0
#endif

/* Orders the warp's reads and writes before it and those behind it, as other teams (thread blocks) of the device see
   them. gcc's fence is one of the whole system, which takes longer. The warp's barrier comes first: what all lanes have
   stored then comes before the one lane's atomic that follows. In C: atomic_thread_fence. */
static void sampi_gpu_fence(void)
{
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("bar.warp.sync 0xffffffff;\n\tfence.acq_rel.gpu;" ::: "memory");
    else
        __atomic_thread_fence(__ATOMIC_ACQ_REL);
}

/* Returns a counter that teams share. What a team has written before its fence and the addition that is seen here is
   seen by all reads behind it. That takes no fence: the load empties the multiprocessor's cache. All lanes get what
   lane 0 has read. In C: a load that acquires. */
static uint32_t sampi_gpu_look(uint32_t *x)
{
    uint32_t value = 0;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("ld.acquire.gpu.u32 %0, [%1];\n\tshfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;\n\t"
                  "bar.warp.sync 0xffffffff;"
                  : "=r"(value)
                  : "r"(x)
                  : "memory");
    else
        value = __atomic_load_n(x, __ATOMIC_ACQUIRE);
    return value;
}

/* The same without acquiring, for a loop that waits: the other warps of the multiprocessor keep their cache. In C: a
   relaxed load. */
static uint32_t sampi_gpu_peek(uint32_t *x)
{
    uint32_t value = 0;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("ld.relaxed.gpu.u32 %0, [%1];\n\tshfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;"
                  : "=r"(value)
                  : "r"(x)
                  : "memory");
    else
        value = __atomic_load_n(x, __ATOMIC_RELAXED);
    return value;
}

/* Returns 8 KB of memory of the team alone, on its multiprocessor, where its atomics are faster than in the memory that
   teams share. It is not kept from one pass to the next. In C: NULL, there is none. */
static SAMPI_UNCLONED uint32_t *sampi_gpu_near(void)
{
    uint64_t at = 0;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("{ .shared .align 16 .b8 sampi_near[8192];\n\tcvta.shared.u64 %0, sampi_near; }" : "=r"(at));
    return (uint32_t *)(uintptr_t)at;
}

/* Adds to a word of that memory; returns its old value. gcc's own atomic would pass the value on between lanes, for
   which all of them must be there. */
SAMPI_INLINE uint32_t sampi_gpu_near_add(uint32_t *x, uint32_t y)
{
    uint32_t old = 0;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("atom.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(x), "r"(y) : "memory");
    else
        old = __atomic_fetch_add(x, y, __ATOMIC_RELAXED);
    return old;
}

/* The same without the old value, for a y that is often 0. */
SAMPI_INLINE void sampi_gpu_near_add_some(uint32_t *x, uint32_t y)
{
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("{ .reg .pred %%some;\n\tsetp.ne.u32 %%some, %1, 0;\n\t"
                  "@%%some atom.add.u32 _, [%0], %1; }" ::"r"(x),
                  "r"(y)
                  : "memory");
    else
        __atomic_fetch_add(x, y, __ATOMIC_RELAXED);
}

/* A barrier of the warp's lanes: what any of them has read or written before comes first. In C: nothing. */
SAMPI_INLINE void sampi_gpu_join_lanes(void)
{
    if (SAMPI_ON_NVIDIA) SAMPI_PTX("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* Returns the number of the lane that runs this. In C there is one lane. */
SAMPI_INLINE uint32_t sampi_gpu_lane(void)
{
    uint32_t lane = 0;
    if (SAMPI_ON_NVIDIA) SAMPI_PTX("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

/* Returns the number of lanes that run this, alike and at once. In C there is one lane. */
SAMPI_INLINE uint32_t sampi_gpu_lanes(void) { return SAMPI_ON_NVIDIA ? SAMPI_WARP : 1; }

/* Returns a bit for each lane: whether its x is true. In C there is one lane. */
SAMPI_INLINE uint32_t sampi_gpu_vote(bool x)
{
    uint32_t bits = x;
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("{ .reg .pred %%yes;\n\tsetp.ne.u32 %%yes, %0, 0;\n\t"
                  "vote.sync.ballot.b32 %0, %%yes, 0xffffffff; }"
                  : "+r"(bits));
    return bits;
}

/* Returns the x of lane `from`. In C there is one lane, whose own it is. */
SAMPI_INLINE uint64_t sampi_gpu_of_lane(uint64_t x, uint32_t from)
{
    uint32_t low = (uint32_t)x, high = (uint32_t)(x >> 32);
    (void)from;
    if (SAMPI_ON_NVIDIA) {
        SAMPI_PTX("shfl.sync.idx.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(low) : "r"(from));
        SAMPI_PTX("shfl.sync.idx.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(high) : "r"(from));
    }
    return (uint64_t)high << 32 | low;
}

/* Makes the driver's compiler load what x was read from, although nothing else uses it: it drops such loads. The fence
   is there for its sake, and only run if x is that one number. In C: nothing. */
SAMPI_INLINE void sampi_gpu_use(uint32_t x)
{
    if (SAMPI_ON_NVIDIA)
        SAMPI_PTX("{ .reg .pred %%seldom;\n\tsetp.eq.u32 %%seldom, %0, 0x9E3779B9;\n\t"
                  "@%%seldom fence.acq_rel.gpu; }" ::"r"(x)
                  : "memory");
    (void)x;
}

/* Functions of two numbers that return one of them, in one instruction: the larger number, or NaN if one of them is; the
   smaller and the larger of two that are not NaN. */
#define SAMPI_PICK(name, type, first, instruction) \
    SAMPI_INLINE type name(type x, type y) \
    { \
        type z = (first) ? x : y; \
        if (SAMPI_ON_NVIDIA) SAMPI_PURE(instruction " %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y)); \
        return z; \
    }
SAMPI_PICK(sampi_gpu_larger, float, x > y || x != x, "max.NaN.f32")
SAMPI_PICK(sampi_gpu_minf, float, x < y, "min.f32")
SAMPI_PICK(sampi_gpu_maxf, float, x > y, "max.f32")
SAMPI_PICK(sampi_gpu_min, double, x < y, "min.f64")
SAMPI_PICK(sampi_gpu_max, double, x > y, "max.f64")
#undef SAMPI_PICK

/* Returns x, which was made of an integer's bits, as sampi_gpu_larger takes it: gcc may have it in a register for
   integers. */
SAMPI_INLINE float sampi_gpu_typed(float x)
{
    if (SAMPI_ON_NVIDIA) SAMPI_PURE("mov.b32 %0, %1;" : "=r"(x) : "r"(x));
    return x;
}

/* Returns the number of bits that are set. For AMD's devices it must not be the builtin: gcc 12 writes an instruction
   for that which the assembler refuses. */
SAMPI_INLINE uint32_t sampi_gpu_count_bits(uint32_t x)
{
    uint32_t n = 0;
    if (SAMPI_ON_NVIDIA || !SAMPI_OFFLOAD) return (uint32_t)__builtin_popcount(x);
    for (int i = 0; i < 32; i++) n += x >> i & 1;
    return n;
}
