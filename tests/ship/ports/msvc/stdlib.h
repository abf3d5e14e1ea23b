#pragma once
#include "extern_c.h"
#include <stddef.h>
C_FUNCTION void *malloc(size_t);
C_FUNCTION void free(void *);
