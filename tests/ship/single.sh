#!/bin/sh
# make single: each part alone, all, none, and without each thing that can be left out, compiles without a warning as C and as
# C++, and gives the tokens of the whole header. Usage: single.sh DIR
set -eu
dir=$1
mkdir -p "$dir"
fail() { echo "single: $*" >&2; exit 1; }
cat > "$dir/tokens.c" <<'END'
#define SAMPLING_IMPLEMENTATION
#define SAMP_SELF_INCLUDE "my.h"
#include "my.h"
#include <stdio.h>
#include <string.h>
int main(void)
{
    float logits[300];
    samp_params params = samp_default_params();
    params.seed = 42;
    params.penalty_repeat = 1.1f;
    samp_sampler *chain = samp_chain_from_params(&params, NULL);
    for (int i = 0; i < 300; i++) logits[i] = (float)(i * 7919 % 300) * 0.02f;
    for (int i = 0; i < 20; i++) printf("%d ", (int)samp_sample(chain, logits, 300));
#ifdef SAMPLING_GRAMMAR
    samp_grammar_free(samp_grammar_init(SAMP_GRAMMAR_REGEX, "a+b", NULL, NULL));
#endif
#ifdef SAMPLING_CONSTRAINTS
    samp_free(samp_init_min_tokens(NULL, 0, 0, 0));
#endif
#ifdef SAMPLING_KV
    samp_kv_free(NULL);
#endif
#ifdef SAMPLING_GUMBEL
    samp_free(samp_init_gumbel(1));
#endif
#ifdef SAMPLING_WATERMARK
    samp_free(samp_init_watermark(NULL));
#endif
#ifdef SAMPLING_STOP
    samp_text_free(samp_text_init(NULL, NULL, 0, NULL, NULL));
    samp_text_free(samp_text_from_settings(NULL, NULL, NULL));
#endif
#ifdef SAMP_NO_MT19937 /* whatever would choose it says so, and changes nothing */
    const char *field = "";
    samp_settings *settings = samp_settings_init();
    if (samp_set_rng(chain, SAMP_RNG_MT19937) != SAMP_E_UNSUPPORTED) printf("samp_set_rng");
    if (samp_settings_set(settings, "rng", "mt19937", &field) != SAMP_E_UNSUPPORTED || strcmp(field, "rng"))
        printf("samp_settings_set");
    if (samp_settings_set(settings, "rng", "philox", &field) != SAMP_OK) printf("philox");
    samp_settings_free(settings);
    params.rng = SAMP_RNG_MT19937;
    if (samp_check_params(&params, &field) != SAMP_E_UNSUPPORTED || strcmp(field, "rng")) printf("samp_check_params");
    if (samp_chain_update(chain, &params) != SAMP_E_UNSUPPORTED) printf("samp_chain_update");
    samp_sampler *none = samp_chain_from_params(&params, NULL);
    if (samp_status(none, &field) != SAMP_E_UNSUPPORTED || strcmp(field, "rng")) printf("samp_chain_from_params");
    samp_free(none);
#endif
    for (int i = 0; i < 20; i++) printf("%d ", (int)samp_sample(chain, logits, 300));
    samp_free(chain);
    printf("\n");
    return 0;
}
END
sed 's/my\.h/sampling.h/' "$dir/tokens.c" > "$dir/whole.c"
"$CC" -std=c11 -O1 -I. "$dir/whole.c" -o "$dir/whole" -lm
want=$("$dir/whole")
n=0
try() { # parts, what is left out
    sh src/single.sh "$1" "$2" "$dir/my.h" || fail "PARTS=\"$1\" NO=\"$2\""
    flags=
    for part in $1; do [ "$part" = core ] || flags="$flags -DSAMPLING_$(echo "$part" | tr a-z A-Z)"; done
    # shellcheck disable=SC2086
    case $1 in
    *llama*) "$CC" -std=c11 -O0 -Wall -Wextra -Wpedantic -Werror $flags -I"$dir" -c "$dir/tokens.c" -o "$dir/tokens.o" ;; # there is no libllama to link with
    *)
        "$CC" -std=c11 -O0 -Wall -Wextra -Wpedantic -Werror $flags -I"$dir" "$dir/tokens.c" -o "$dir/tokens" -lm
        [ "$("$dir/tokens")" = "$want" ] || fail "PARTS=\"$1\" NO=\"$2\": other tokens" ;;
    esac
    # shellcheck disable=SC2086
    "$CXX" -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror $flags -I"$dir" -fsyntax-only "$dir/tokens.c"
    n=$((n + 1))
}
all="grammar constraints peers drafts gumbel watermark stop kv shards vocab llama"
try core ""
try "$all" ""
for part in $all; do try "$part" ""; done
for what in mt19937 "mt19937 operator" operator avx512 avx2 sse2 neon wasm; do try core "$what"; done
for part in grammar shards "${all% llama}" "$all"; do try "$part" mt19937; done
sh src/single.sh core "" "$dir/my.h"
if "$CC" -DSAMPLING_KV -I"$dir" -fsyntax-only "$dir/tokens.c" 2> "$dir/log" || ! grep -q 'made without SAMPLING_KV' "$dir/log"; then
    fail "a part that is not there is not told"
fi
if sh src/single.sh "core kvs" "" "$dir/my.h" 2> /dev/null; then fail "a part that nobody knows"; fi
if sh src/single.sh core "avx" "$dir/my.h" 2> /dev/null; then fail "a thing to leave out that nobody knows"; fi
echo "single: $n headers with some parts alone compile without a warning and give the same tokens"
