#include "gpu/opening.h"
#if defined(SAMPLING_STATIC) && !defined(SAMPLING_IMPLEMENTATION)
#include "sampling.h" /* for its types; static functions are declared where their bodies follow */
#elif !defined(SAMPLING_GPU_H)
#define SAMPLING_GPU_H

#if defined(SAMPLING_IMPLEMENTATION) && defined(SAMPI_ONCE)
#error "sampling_gpu.h: in the file with the implementation include it before sampling.h"
#endif
#include "sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "gpu/api.h"

#ifdef __cplusplus
}
#endif
#endif /* SAMPLING_GPU_H */

/* ------------------------------------------------ Stop here if you only want to use the library. */

#if defined(SAMPLING_IMPLEMENTATION) && !defined(SAMPI_GPU_ONCE)
#define SAMPI_GPU_ONCE
#ifndef SAMPI_ONCE
#error "sampling_gpu.h: include it with SAMPLING_IMPLEMENTATION the first time"
#endif
#ifdef __GNUC__
#pragma GCC diagnostic push /* as in sampling.h */
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

#include "gpu/switches.h"
#include "gpu/records.h"
#include "gpu/ptx.h"
#include "gpu/elements.h"
#include "gpu/passes.h"
#include "gpu/list.h"
#include "gpu/left.h"
#include "gpu/done.h"
#include "gpu/prefix.h"
#include "gpu/choosing.h"
#include "gpu/ending.h"
#include "gpu/answers.h"
#define SAMPI_ON(name) sampi_gpu_##name
#include "samplers/plans.h"
#undef SAMPI_ON
#include "gpu/users.h"
#include "gpu/logprobs.h"
#include "gpu/short.h"
#include "gpu/advance.h"
#include "gpu/shapes.h"
#include "gpu/device.h"
#include "gpu/contexts.h"
#include "gpu/steps.h"
#include "gpu/where.h"
#include "gpu/sending.h"
#include "gpu/batch.h"
#include "gpu/results.h"
#include "gpu/canary.h"

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif /* SAMPLING_IMPLEMENTATION */
