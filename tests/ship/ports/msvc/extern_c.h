#pragma once
#ifdef __cplusplus
#define C_FUNCTION extern "C"
#else
#define C_FUNCTION extern
#endif
