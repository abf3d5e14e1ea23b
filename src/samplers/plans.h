/* ---- the plans ----
   Includes the files of samplers again, for their plans alone. A plan is a sampler's algorithm in terms of questions to
   an executor (core/plans.h). This list is included once for each executor: for slices and for a GPU. */

#define SAMPI_PLANS
#include "samplers/top_n_sigma.h"
#include "samplers/top_k.h"
#include "samplers/tail_free.h"
#include "samplers/typical.h"
#include "samplers/top_p.h"
#include "samplers/min_p.h"
#include "samplers/by_sums.h"
#include "samplers/min_k.h"
#include "samplers/xtc.h"
#include "samplers/temperature.h"
#include "samplers/smoothing.h"
#include "samplers/softmax.h"
#include "samplers/greedy.h"
#include "samplers/dist.h"
#ifdef SAMPLING_GUMBEL_DECLARED
#include "samplers/gumbel.h"
#endif
#include "samplers/mirostat.h"
#include "samplers/adaptive_p.h"
#undef SAMPI_PLANS
