/* shared.c - the library to be loaded: all that the header declares, nothing else. */
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
