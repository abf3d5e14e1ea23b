/* The user's own flags again. */
#if defined(__clang__) || defined(_MSC_VER)
#pragma float_control(pop)
#endif
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
