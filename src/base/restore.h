/* The user's own compiler flags again: what base/switches.h pushed (rounding, contraction, warnings) is taken back, so
   that code below the header is compiled as if it had not been there. */
#if defined(__clang__) || defined(_MSC_VER)
#pragma float_control(pop)
#endif
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
