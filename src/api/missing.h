/* The compiler's error for a call to a function of an optional part whose macro is not defined. If the compiler has an
   attribute that forbids the use of a function, the functions of such a part are declared with this attribute, and the
   compiler's error then names the missing macro. */
#ifdef __has_attribute
#if __has_attribute(unavailable)
#define SAMP_MISSING(part) \
    extern __attribute__((unavailable("define " part " before the first #include of sampling.h, in each file")))
#elif __has_attribute(error) /* gcc 11 */
#define SAMP_MISSING(part) \
    extern __attribute__((error("define " part " before the first #include of sampling.h, in each file")))
#endif
#endif
