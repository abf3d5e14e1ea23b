/* The compiler's error for a function of an optional part whose macro is not defined. These functions are declared all
   the same, if the compiler has an attribute that refuses their use: its error then names the missing macro. */
#ifdef __has_attribute
#if __has_attribute(unavailable)
#define SAMP_MISSING(part) \
    extern __attribute__((unavailable("define " part " before the first #include of sampling.h, in each file")))
#elif __has_attribute(error) /* gcc 11 */
#define SAMP_MISSING(part) \
    extern __attribute__((error("define " part " before the first #include of sampling.h, in each file")))
#endif
#endif
