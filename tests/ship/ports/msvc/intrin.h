/* cl's own; for clang as itself its own header serves */
#pragma once
#include "extern_c.h"
C_FUNCTION void *_InterlockedCompareExchangePointer(void *volatile *, void *, void *);
C_FUNCTION void *_InterlockedExchangePointer(void *volatile *, void *);
C_FUNCTION long _InterlockedIncrement(long volatile *);
C_FUNCTION long long _InterlockedIncrement64(long long volatile *);
C_FUNCTION long long _InterlockedExchange64(long long volatile *, long long);
C_FUNCTION long long _InterlockedExchangeAdd64(long long volatile *, long long);
