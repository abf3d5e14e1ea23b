/* The end of the implementation. This file pops what base/switches.h has pushed (rounding, contraction, warnings), so
   that the user's code below the header is compiled with the user's own flags. */
#if defined(__clang__) || defined(_MSC_VER)
#pragma float_control(pop)
#endif
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
