/* The error for a function whose optional part was not asked for. Such functions are declared all the same, where the
   compiler can be told to refuse their use: its error then names the macro that is missing. */
#ifdef __has_attribute
#if __has_attribute(unavailable)
#define SAMP_MISSING(part) \
    extern __attribute__((unavailable("define " part " before the first #include of sampling.h, in each file")))
#elif __has_attribute(error) /* gcc 11 */
#define SAMP_MISSING(part) \
    extern __attribute__((error("define " part " before the first #include of sampling.h, in each file")))
#endif
#endif
