#pragma once
#include "extern_c.h"
#define INFINITY ((float)(1e+300 * 1e+300))
#define NAN      (-(float)(INFINITY * 0.0F))
C_FUNCTION double fma(double, double, double);
C_FUNCTION float fmaf(float, float, float);
C_FUNCTION double sqrt(double);
C_FUNCTION double fabs(double);
C_FUNCTION float fabsf(float);
C_FUNCTION double exp(double);
C_FUNCTION double pow(double, double);
C_FUNCTION double log(double);
C_FUNCTION double cos(double);
C_FUNCTION double sin(double);
C_FUNCTION double floor(double);
C_FUNCTION double ceil(double);
C_FUNCTION float expf(float);
C_FUNCTION float logf(float);
C_FUNCTION float log2f(float);
C_FUNCTION float powf(float, float);
C_FUNCTION float sqrtf(float);
C_FUNCTION float copysignf(float, float);
