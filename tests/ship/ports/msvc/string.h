#pragma once
#include "extern_c.h"
#include <stddef.h>
C_FUNCTION void *memcpy(void *, const void *, size_t);
C_FUNCTION void *memmove(void *, const void *, size_t);
C_FUNCTION void *memset(void *, int, size_t);
C_FUNCTION int memcmp(const void *, const void *, size_t);
C_FUNCTION size_t strlen(const char *);
C_FUNCTION int strcmp(const char *, const char *);
C_FUNCTION int strncmp(const char *, const char *, size_t);
C_FUNCTION char *strchr(const char *, int);
C_FUNCTION size_t strcspn(const char *, const char *);
