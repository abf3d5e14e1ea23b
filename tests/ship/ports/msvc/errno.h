#pragma once
#include "extern_c.h"
C_FUNCTION int *_errno(void);
#define errno (*_errno())
