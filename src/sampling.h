#include "api/opening.h"
#ifndef SAMPLING_H
#define SAMPLING_H

#include "api/config.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "api/types.h"

#ifdef __cplusplus
}
#endif
#endif /* SAMPLING_H */

/* A static function without a body gives a warning, so with SAMPLING_STATIC the functions are declared only where their
   bodies follow. */
#if !defined(SAMPLING_DECLARED) && (!defined(SAMPLING_STATIC) || defined(SAMPLING_IMPLEMENTATION))
#define SAMPLING_DECLARED

#ifdef __cplusplus
extern "C" {
#endif

#include "api/missing.h"
#include "api/old_names.h"

/* ===================================================================================================== >>api */
#include "api/sample.h"
#include "api/chains.h"
#include "api/samplers.h"

#if defined(SAMPLING_SEARCH) && !defined(SAMPLING_GUMBEL)
#define SAMPLING_GUMBEL /* sampled beams race as gumbel's tokens do */
#endif
#ifdef SAMPLING_GUMBEL
#define SAMPLING_GUMBEL_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_GUMBEL")
#endif
#if defined(SAMPLING_GUMBEL_DECLARED) || defined(SAMP_MISSING)
#include "api/gumbel.h"
#ifndef SAMPLING_GUMBEL_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_GUMBEL */

#ifndef SAMP_NO_OPERATOR
#include "api/operator.h"
#endif

#ifdef SAMPLING_KV
#define SAMPLING_KV_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_KV")
#endif
#if defined(SAMPLING_KV_DECLARED) || defined(SAMP_MISSING)
#include "api/kv.h"
#ifndef SAMPLING_KV_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_KV */

#ifdef SAMPLING_LLAMA
#define SAMPLING_LLAMA_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_LLAMA")
#endif
#if defined(SAMPLING_LLAMA_DECLARED) || defined(SAMP_MISSING)
#include "api/llama_cpp.h"
#ifndef SAMPLING_LLAMA_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_LLAMA */

#include "api/text_error.h"

#ifdef SAMPLING_GRAMMAR
#define SAMPLING_GRAMMAR_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_GRAMMAR")
#endif
#if defined(SAMPLING_GRAMMAR_DECLARED) || defined(SAMP_MISSING)
#include "api/grammar.h"
#ifndef SAMPLING_GRAMMAR_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_GRAMMAR */

#ifdef SAMPLING_SHARDS
#define SAMPLING_SHARDS_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_SHARDS")
#endif
#if defined(SAMPLING_SHARDS_DECLARED) || defined(SAMP_MISSING)
#include "api/shards.h"
#ifndef SAMPLING_SHARDS_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_SHARDS */

#ifdef SAMPLING_PEERS
#define SAMPLING_PEERS_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_PEERS")
#endif
#if defined(SAMPLING_PEERS_DECLARED) || defined(SAMP_MISSING)
#include "api/peers.h"
#ifndef SAMPLING_PEERS_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_PEERS */

#ifdef SAMPLING_DRAFTS
#define SAMPLING_DRAFTS_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_DRAFTS")
#endif
#if defined(SAMPLING_DRAFTS_DECLARED) || defined(SAMP_MISSING)
#include "api/drafts.h"
#ifndef SAMPLING_DRAFTS_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_DRAFTS */

#ifdef SAMPLING_CONSTRAINTS
#define SAMPLING_CONSTRAINTS_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_CONSTRAINTS")
#endif
#if defined(SAMPLING_CONSTRAINTS_DECLARED) || defined(SAMP_MISSING)
#include "api/constraints.h"
#ifndef SAMPLING_CONSTRAINTS_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_CONSTRAINTS */

#ifdef SAMPLING_WATERMARK
#define SAMPLING_WATERMARK_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_WATERMARK")
#endif
#if defined(SAMPLING_WATERMARK_DECLARED) || defined(SAMP_MISSING)
#include "api/watermark.h"
#ifndef SAMPLING_WATERMARK_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_WATERMARK */

#ifdef SAMPLING_STOP
#define SAMPLING_STOP_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_STOP")
#endif
#if defined(SAMPLING_STOP_DECLARED) || defined(SAMP_MISSING)
#include "api/stop.h"
#ifndef SAMPLING_STOP_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_STOP */

#ifdef SAMPLING_VOCAB
#define SAMPLING_VOCAB_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_VOCAB")
#endif
#if defined(SAMPLING_VOCAB_DECLARED) || defined(SAMP_MISSING)
#include "api/vocab.h"
#ifndef SAMPLING_VOCAB_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_VOCAB */

#ifdef SAMPLING_SEARCH
#define SAMPLING_SEARCH_DECLARED
#elif defined(SAMP_MISSING)
#pragma push_macro("SAMP_API")
#undef SAMP_API
#define SAMP_API SAMP_MISSING("SAMPLING_SEARCH")
#endif
#if defined(SAMPLING_SEARCH_DECLARED) || defined(SAMP_MISSING)
#include "api/search.h"
#ifndef SAMPLING_SEARCH_DECLARED
#pragma pop_macro("SAMP_API")
#endif
#endif /* SAMPLING_SEARCH */

#undef SAMP_MISSING

#ifdef __cplusplus
}
#endif
#endif /* SAMPLING_DECLARED */

#include "api/parts.h"

/* ------------------------------------------------ Stop here if you only want to use the library. */

#if defined(SAMPLING_IMPLEMENTATION) && !defined(SAMPI_ONCE)
#define SAMPI_ONCE

#include "base/switches.h"
#include "base/random.h"
#ifndef SAMP_NO_MT19937
#include "base/mt19937.h"
#endif
#include "base/exact.h"
#include "base/bits128.h"
#include "base/elements.h"
#ifdef SAMPLING_WATERMARK_DECLARED
#include "watermark/colours.h"
#endif
#ifndef SAMP_NO_MT19937
#include "kernels/llama_cpp/contract.h"
#endif
#include "kernels/contract.h"
#include "kernels/scalar.h"
#ifndef SAMP_NO_MT19937
#include "kernels/llama_cpp/scalar.h"
#endif
#include "kernels/sets.h"

#endif /* SAMPLING_IMPLEMENTATION, its first part */

#ifdef SAMPI_W
#include "kernels/vectors.h"

#if SAMPI_W == 16 /* avx512 */
#include "kernels/avx512.h"
#elif SAMPI_W == 8 /* avx2 */
#include "kernels/avx2.h"
#elif SAMPI_SSE2 /* sse2 */
#include "kernels/sse2.h"
#elif SAMPI_NEON /* neon */
#include "kernels/neon.h"
#elif SAMPI_WASM /* wasm */
#include "kernels/wasm.h"
#else /* generic */
#include "kernels/generic.h"
#endif

#include "kernels/shared.h"
#include "kernels/passes.h"
#ifndef SAMP_NO_MT19937
#include "kernels/llama_cpp/passes.h"
#endif

#undef V
#undef SAMPI_T
#undef SAMPI_TIDY
#undef SAMPI_X86
#endif /* SAMPI_W */

#if defined(SAMPI_ONCE) && !defined(SAMPI_W) && !defined(SAMPI_TWICE)
#define SAMPI_TWICE

#include "kernels/check.h"
#include "kernels/dispatch.h"
#include "core/thresholds.h"
#include "core/array.h"
#include "core/table.h"
#include "core/windows.h"
#ifdef SAMPLING_CONSTRAINTS_DECLARED
#include "constraints/record.h"
#endif
#ifdef SAMPLING_WATERMARK_DECLARED
#include "watermark/record.h"
#endif
#include "rows/work.h"
#include "life/past.h"
#include "core/record.h"
#include "core/plans.h"
#include "core/fields.h"
#include "core/owners.h"
#ifndef SAMP_NO_MT19937
#include "core/mt19937.h"
#else
#include "core/no_mt19937.h"
#endif
#include "core/making.h"
#include "core/streams.h"
#include "life/state_fields.h"
#ifndef SAMP_NO_MT19937
#include "samplers/llama_cpp.h"
#endif
#include "samplers/logit_bias.h"
#include "samplers/patch.h"
#include "samplers/penalties.h"
#include "samplers/dry.h"
#include "samplers/cut.h"
#include "samplers/top_n_sigma.h"
#include "samplers/top_k.h"
#include "samplers/tail_free.h"
#include "samplers/typical.h"
#include "samplers/top_p.h"
#include "samplers/min_p.h"
#include "samplers/by_sums.h"
#include "samplers/top_h.h"
#include "samplers/min_k.h"
#include "samplers/xtc.h"
#include "samplers/infill.h"
#include "samplers/temperature.h"
#include "samplers/smoothing.h"
#include "samplers/softmax.h"
#include "samplers/drafted.h"
#include "samplers/greedy.h"
#include "samplers/choose.h"
#include "samplers/ratio.h"
#include "samplers/draw.h"
#include "samplers/dist.h"
#include "samplers/gumbel.h"
#ifdef SAMPLING_WATERMARK_DECLARED
#include "watermark/function.h"
#include "watermark/text.h"
#include "watermark/draw.h"
#endif
#include "samplers/mirostat.h"
#include "samplers/adaptive_p.h"
#include "samplers/ras.h"
#include "samplers/replay.h"
#include "samplers/custom.h"
#include "config/describe.h"
#include "config/from_params.h"
#include "config/orders.h"
#include "config/numbers.h"
#include "config/set.h"
#include "config/texts.h"
#include "config/settings.h"
#include "life/rollback.h"
#include "life/chain.h"
#include "life/members.h"
#include "life/update.h"
#include "life/copy.h"
#include "rows/row.h"
#include "rows/reserve.h"
#include "rows/pieces.h"
#include "rows/compact.h"
#include "rows/sums.h"
#include "rows/changes.h"
#include "rows/cuts.h"
#include "rows/typical.h"
#include "rows/tail_free.h"
#include "rows/selecting.h"
#include "rows/mirostat.h"
#ifdef SAMPLING_WATERMARK_DECLARED
#include "watermark/rows.h"
#endif
#include "rows/flat.h"
#include "rows/logprobs.h"
#include "rows/support.h"
#include "rows/step.h"
#include "run/apply.h"
#include "run/writing.h"
#include "run/arrays.h"
#include "run/walk.h"
#include "run/again.h"
#include "run/finish.h"
#include "run/draw.h"
#include "run/sample.h"
#include "run/explain.h"
#ifdef SAMPLING_WATERMARK_DECLARED
#include "watermark/making.h"
#include "watermark/tails.h"
#include "watermark/detect.h"
#endif
#include "run/verify.h"
#include "run/batch.h"
#include "run/replay.h"
#include "run/guide.h"
#include "life/state.h"

#ifndef SAMP_NO_OPERATOR
#include "operator/weights.h"
#include "operator/search.h"
#include "operator/run.h"
#endif

#ifdef SAMPLING_KV_DECLARED
#include "kv/cells.h"
#include "kv/making.h"
#include "kv/slot.h"
#include "kv/sequences.h"
#include "kv/data.h"
#include "kv/update.h"
#include "kv/state.h"

#endif /* SAMPLING_KV_DECLARED */

#ifdef SAMPLING_LLAMA_DECLARED
#include "llama_cpp/functions.h"
#include "llama_cpp/object.h"
#include "llama_cpp/vocabulary.h"

#endif /* SAMPLING_LLAMA_DECLARED */

#if SAMPI_READS_JSON
#include "text/reading.h"
#include "text/strings.h"
#include "text/values.h"
#include "text/documents.h"

#endif /* SAMPI_READS_JSON */

#ifdef SAMPLING_GRAMMAR_DECLARED
#include "grammar/head.h"
#include "grammar/tree.h"
#include "grammar/building.h"
#include "grammar/places.h"
#include "grammar/finishing.h"
#include "grammar/reading.h"
#include "grammar/gbnf.h"
#include "grammar/unicode.h"
#include "grammar/regex.h"
#include "grammar/derivatives.h"
#include "grammar/counting.h"
#include "grammar/searching.h"
#include "grammar/vocabulary.h"
#include "grammar/triggers.h"
#include "grammar/matcher.h"
#include "grammar/cache.h"
#include "grammar/moving.h"
#include "grammar/visits.h"
#include "grammar/states.h"
#include "grammar/unique.h"
#include "grammar/items.h"
#include "grammar/masks.h"
#include "grammar/runs.h"
#include "grammar/entries.h"
#include "grammar/accepting.h"
#include "grammar/history.h"
#include "grammar/waiting.h"
#include "grammar/repeated.h"
#include "grammar/spent.h"
#include "grammar/room.h"
#include "grammar/sampler.h"
#include "grammar/warming.h"
#include "grammar/forced.h"
#include "grammar/hooks.h"

#include "schema/head.h"
#include "schema/errors.h"
#include "schema/collections.h"
#include "schema/references.h"
#include "schema/strings.h"
#include "schema/numbers.h"
#include "schema/sets.h"
#include "schema/formats.h"
#include "schema/scalars.h"
#include "schema/styles.h"
#include "schema/goals.h"
#include "schema/tagged.h"
#include "schema/alternatives.h"
#include "schema/objects.h"
#include "schema/arrays.h"
#include "schema/satisfiable.h"
#include "schema/whole.h"
#include "tags/head.h"
#include "tags/words.h"
#include "tags/inside.h"
#include "tags/formats.h"
#include "tags/models.h"
#include "grammar/grammars.h"
#endif /* SAMPLING_GRAMMAR_DECLARED */

#ifdef SAMPLING_PEERS_DECLARED
#include "peers/head.h"
#include "peers/values.h"
#include "peers/llama_server.h"
#include "peers/stops.h"
#include "peers/wishes.h"
#include "peers/fields.h"
#include "peers/tables.h"
#include "peers/requests.h"

#endif /* SAMPLING_PEERS_DECLARED */

#ifdef SAMPLING_VOCAB_DECLARED
#include "vocab/pieces.h"
#include "vocab/tokenizer_json.h"
#include "vocab/gguf.h"

#endif /* SAMPLING_VOCAB_DECLARED */

#ifdef SAMPLING_SHARDS_DECLARED
#include "shards/head.h"
#include "shards/bytes.h"
#include "shards/merging.h"
#include "shards/row.h"
#include "shards/answers.h"
#include "shards/logprobs.h"
#include "shards/taking.h"
#include "shards/asking.h"
#include "shards/prefix.h"
#include "shards/plans.h"
#define SAMPI_ON(name) sampi_shard_##name
#include "samplers/plans.h"
#undef SAMPI_ON
#include "shards/way.h"
#include "shards/memory.h"
#include "shards/batch.h"
#endif /* SAMPLING_SHARDS_DECLARED */

#ifdef SAMPLING_DRAFTS_DECLARED
#include "drafts/head.h"
#include "drafts/block.h"
#include "drafts/tree.h"
#include "drafts/relaxed.h"
#include "drafts/ngram.h"
#endif /* SAMPLING_DRAFTS_DECLARED */

#ifdef SAMPLING_SEARCH_DECLARED
#include "search/head.h"
#include "search/rows.h"
#include "search/states.h"
#include "search/beams.h"
#include "search/unmask.h"
#endif /* SAMPLING_SEARCH_DECLARED */

#if defined(SAMPLING_CONSTRAINTS_DECLARED) || defined(SAMPLING_STOP_DECLARED)
#include "text/automaton.h"
#ifdef SAMPLING_GRAMMAR_DECLARED
#include "grammar/patterns.h"
#endif
#endif

#ifdef SAMPLING_CONSTRAINTS_DECLARED
#include "constraints/automaton.h"
#include "constraints/making.h"
#include "constraints/sampler.h"
#include "constraints/constructors.h"
#ifdef SAMPLING_GRAMMAR_DECLARED
#include "constraints/patterns.h"
#endif
#include "constraints/looking.h"
#include "constraints/thinking.h"
#include "constraints/schedule.h"
#include "constraints/accepting.h"
#include "constraints/drawing.h"
#include "constraints/state.h"
#include "constraints/kind.h"
#include "constraints/top_p_decay.h"
#include "constraints/timestamps.h"
#include "constraints/accessors.h"
#endif /* SAMPLING_CONSTRAINTS_DECLARED */

#ifdef SAMPLING_STOP_DECLARED
#include "stop/head.h"
#include "stop/search.h"
#include "stop/making.h"
#include "stop/text.h"
#ifdef SAMPLING_GRAMMAR_DECLARED
#include "stop/patterns.h"
#endif
#include "stop/settings.h"
#endif /* SAMPLING_STOP_DECLARED */

#include "core/kinds.h"
#include "base/restore.h"
#endif /* SAMPLING_IMPLEMENTATION */

#include "api/license.h"
