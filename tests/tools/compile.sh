#!/bin/sh
# Compile the implementation; any warning is an error. Usage:
#   compile.sh DIR         with each of $COMPILERS, as C11 and C++11 with optimisation and without, the other languages' syntax
#   compile.sh DIR full    with each of $COMPILERS, every language and optimisation
#   compile.sh DIR quick   as C11 and C++11 with $CC and $CXX, once
set -eu
dir=$1
mkdir -p "$dir"

cat > "$dir/one.c" <<'EOF'
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "sampling.h"
int one(void);
int one(void)
{
    samp_params params = samp_default_params();
    samp_sampler *chain = samp_chain_from_params(&params, NULL);
    float logits[3] = { 1.0f, 3.0f, 2.0f };
    int token = (int)samp_sample(chain, logits, 3);
    samp_free(chain);
    return token;
}
EOF
cat > "$dir/two.c" <<'EOF'
#include "sampling.h"
int one(void);
int main(void) { return one() < 0 || samp_strerror(SAMP_OK)[0] != 'o' || samp_version() != SAMP_VERSION; }
EOF
cat > "$dir/only.c" <<'EOF'
#include "sampling.h"
#if SAMP_MAX_VOCAB < 1000000
#error "not a number that the preprocessor can compare"
#endif
extern const float masked[1];
const float masked[1] = { -INFINITY };
EOF
cat > "$dir/late.c" <<'EOF'
#include "sampling.h"
#define SAMPLING_KV
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
EOF
sed 's/SAMPLING_KV/SAMPLING_LLAMA/' "$dir/late.c" > "$dir/late_llama.c"
sed 's/SAMPLING_KV/SAMPLING_GUMBEL/' "$dir/late.c" > "$dir/late_gumbel.c"
sed 's/SAMPLING_KV/SAMPLING_PEERS/' "$dir/late.c" > "$dir/late_peers.c"
sed 's/SAMPLING_KV/SAMPLING_SHARDS/' "$dir/late.c" > "$dir/late_shards.c"
sed 's/SAMPLING_KV/SAMPLING_DRAFTS/' "$dir/late.c" > "$dir/late_drafts.c"
sed 's/SAMPLING_KV/SAMPLING_CONSTRAINTS/' "$dir/late.c" > "$dir/late_constraints.c"
sed 's/SAMPLING_KV/SAMPLING_WATERMARK/' "$dir/late.c" > "$dir/late_watermark.c"
sed 's/SAMPLING_KV/SAMPLING_STOP/' "$dir/late.c" > "$dir/late_stop.c"
sed 's/SAMPLING_KV/SAMPLING_VOCAB/' "$dir/late.c" > "$dir/late_vocab.c"
sed 's/SAMPLING_KV/SAMPLING_SEARCH/' "$dir/late.c" > "$dir/late_search.c"
cat > "$dir/llama.c" <<'EOF'
#define SAMPLING_LLAMA
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
#include "sampling.h"
EOF
cat > "$dir/types.c" <<'EOF'
#define SAMPLING_STATIC
#include "sampling_gpu.h"
#include "sampling.h"
int types(const samp_params *params, samp_sampler *chain);
int types(const samp_params *params, samp_sampler *chain) { return params->top_k + (chain == NULL) + SAMP_E_NULL; }
EOF
cat > "$dir/static.c" <<'EOF'
#define SAMPLING_STATIC
#include "sampling.h"
#define SAMPLING_IMPLEMENTATION
#include "sampling.h"
int one(void);
int one(void) { return samp_init_top_k(1) == NULL; }
EOF
cat > "$dir/gpu.c" <<'EOF'
#define SAMPLING_STATIC
#define SAMPLING_IMPLEMENTATION
#include "sampling_gpu.h"
#include "sampling.h"
#include "sampling_gpu.h"
int gpu(void);
int gpu(void) { return samp_gpu_available(); }
EOF
sed 's/int one(void);/extern "C" int one(void);/' "$dir/one.c" > "$dir/one.cpp"
sed 's/int one(void);/extern "C" int one(void);/' "$dir/two.c" > "$dir/two.cpp"
sed 's/int one(void);/extern "C" int one(void);/' "$dir/static.c" > "$dir/static.cpp"
cp "$dir/gpu.c" "$dir/gpu.cpp"
cp "$dir/types.c" "$dir/types.cpp"
cp "$dir/only.c" "$dir/only.cpp"
cp "$dir/late.c" "$dir/late.cpp"
cp "$dir/late_llama.c" "$dir/late_llama.cpp"
cp "$dir/late_gumbel.c" "$dir/late_gumbel.cpp"
cp "$dir/late_peers.c" "$dir/late_peers.cpp"
cp "$dir/late_shards.c" "$dir/late_shards.cpp"
cp "$dir/late_drafts.c" "$dir/late_drafts.cpp"
cp "$dir/late_constraints.c" "$dir/late_constraints.cpp"
cp "$dir/late_watermark.c" "$dir/late_watermark.cpp"
cp "$dir/late_stop.c" "$dir/late_stop.cpp"
cp "$dir/late_vocab.c" "$dir/late_vocab.cpp"
cp "$dir/late_search.c" "$dir/late_search.cpp"
cp "$dir/llama.c" "$dir/llama.cpp"

warn="-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wvla -Wconversion -Wsign-conversion -Werror -I."
private() { # the same: a copy of one file's own, behind what build has made
    # shellcheck disable=SC2086
    "$1" -std="$2" $warn -O0 ${5:-} -c "$dir/static.$3" -o "$dir/static.o"
    "$1" "$dir/static.o" "$dir/two.o" "$dir/one.o" -o "$dir/run" -lm 2> /dev/null && {
        echo "compile: static and extern copies should clash only in one()" >&2; exit 1; }
    return 0
}
build() { # compiler, standard, suffix, optimisation, further flags
    # shellcheck disable=SC2086
    "$1" -std="$2" $warn $4 ${5:-} -c "$dir/one.$3" -o "$dir/one.o"
    "$1" -std="$2" $warn $4 ${5:-} -c "$dir/two.$3" -o "$dir/two.o"
    "$1" -std="$2" $warn $4 ${5:-} ${5:+-DSAMPLING_LLAMA} -c "$dir/gpu.$3" -o "$dir/gpu.o" # nothing is linked with it
    "$1" -std="$2" $warn $4 ${5:-} -c "$dir/only.$3" -o "$dir/only.o"
    # shellcheck disable=SC2086
    "$1" -std="$2" $warn $4 ${5:-} -c "$dir/types.$3" -o "$dir/types.o"
    # shellcheck disable=SC2086
    "$1" $4 "$dir/one.o" "$dir/two.o" -o "$dir/run" -lm
    "$dir/run"
    case "$4 ${5:-}" in -O0* | *-DSAMPLING*) private "$@" ;; esac # optimised it is what one.o is
    n=$((n + 1))
}

n=0
errors() { # compiler, standard, suffix: an optional part that comes too late is one error, not hundreds
    for late in late late_llama late_gumbel late_peers late_shards late_drafts late_constraints late_watermark late_stop late_vocab late_search; do
        "$1" -std="$2" -I. -fsyntax-only "$dir/$late.$3" 2> "$dir/late.txt" && { echo "compile: $late.$3 compiles" >&2; exit 1; }
        [ "$(grep -c 'error:' "$dir/late.txt")" = 1 ] || { grep 'error:' "$dir/late.txt" | head -3 >&2; exit 1; }
    done
}
llama() { # compiler, standard, suffix, optimisation: there is no libllama to link with
    # shellcheck disable=SC2086
    "$1" -std="$2" $warn $4 -c "$dir/llama.$3" -o "$dir/llama.o"
    n=$((n + 1))
}
hidden() { # compiler, standard, suffix: what is public is exported where the rule is to hide
    "$1" -std="$2" -I. -O0 -fPIC -shared -fvisibility=hidden "$dir/one.$3" -o "$dir/hidden.so" -lm
    nm -D --defined-only "$dir/hidden.so" | grep -q ' samp_sample$' || { echo "compile: hidden exports nothing" >&2; exit 1; }
    if nm -D --defined-only "$dir/hidden.so" | grep sampi_; then echo "compile: hidden exports too much" >&2; exit 1; fi
}

# What a user does wrong, and what the compiler then has to say: compiler, standard, suffix, flags, pattern, program
tells() {
    printf '%b' "$6" > "$dir/tells.$3"
    # shellcheck disable=SC2086
    if "$1" -std="$2" ${4:--I.} -c "$dir/tells.$3" -o "$dir/tells.o" 2> "$dir/tells.txt"; then
        echo "compile: $1 -std=$2 $4 compiles: $6" >&2
        exit 1
    fi
    grep -q "error.*$5" "$dir/tells.txt" || {
        echo "compile: $1 -std=$2 $4 does not tell of $5: $6" >&2
        head -n 5 "$dir/tells.txt" >&2
        exit 1
    }
}
hints() { # compiler, standard, suffix
    while read -r part use; do # a part that was not asked for
        tells "$1" "$2" "$3" "" "define $part before the first" \
            "#include \"sampling.h\"\nvoid use(void);\nvoid use(void) { $use; }\n"
    done <<END
SAMPLING_GUMBEL samp_free(samp_init_gumbel(1))
SAMPLING_WATERMARK samp_watermark mark = samp_default_watermark(SAMP_WATERMARK_SYNTHID); (void)mark
SAMPLING_KV samp_kv_free(0)
SAMPLING_LLAMA samp_llama_vocab_free(0)
SAMPLING_GRAMMAR samp_grammar *grammar = samp_grammar_init(SAMP_GRAMMAR_REGEX, "a", 0, 0); (void)grammar
SAMPLING_GRAMMAR samp_free(samp_init_grammar(0, 0))
SAMPLING_SHARDS samp_shard_free(0)
SAMPLING_PEERS (void)samp_settings_from(0, SAMP_PEER_OPENAI, "", 0, 0)
SAMPLING_VOCAB (void)samp_vocab_from_gguf("", 0, 0)
SAMPLING_DRAFTS (void)samp_verify_block(0, 0, 0, 0, 0)
SAMPLING_STOP samp_text_free(0)
SAMPLING_SEARCH samp_beams_free(0)
SAMPLING_CONSTRAINTS samp_thinking span; samp_free(samp_init_thinking_budget(0, &span, 0, 1, 0))
END
    tells "$1" "$2" "$3" "" "define SAMPLING_KV before the first" \
        "#define SAMPLING_STATIC\n#define SAMPLING_IMPLEMENTATION\n#include \"sampling.h\"\nvoid use(void);\nvoid use(void) { samp_kv_free(0); }\n"
    mkdir -p "$dir/alone"
    cp sampling.h "$dir/alone/renamed.h"
    tells "$1" "$2" "$3" "-I$dir/alone" "define SAMP_SELF_INCLUDE" \
        "#define SAMPLING_IMPLEMENTATION\n#include \"renamed.h\"\n"
    "$1" -std="$2" "-DSAMP_SELF_INCLUDE=\"renamed.h\"" "-I$dir/alone" -fsyntax-only "$dir/tells.$3"
    for bad in -ffast-math -Ofast -ffinite-math-only; do
        tells "$1" "$2" "$3" "-I. $bad" "file of its own and add -fno-fast-math" \
            "#define SAMPLING_IMPLEMENTATION\n#include \"sampling.h\"\n"
    done
}

syntax() { # compiler, standard, suffix: what the language alone may find, of all there is
    # shellcheck disable=SC2086
    "$1" -std="$2" $warn $parts -fsyntax-only "$dir/gpu.$3"
    n=$((n + 1))
}
parts="-DSAMPLING_KV -DSAMPLING_GRAMMAR -DSAMPLING_GUMBEL -DSAMPLING_PEERS -DSAMPLING_SHARDS -DSAMPLING_DRAFTS -DSAMPLING_CONSTRAINTS -DSAMPLING_WATERMARK -DSAMPLING_STOP -DSAMPLING_VOCAB -DSAMPLING_SEARCH"

if [ "${2:-}" = quick ]; then
    hints "$CC" c11 c
    hints "$CXX" c++11 cpp
    errors "$CC" c11 c
    hidden "$CC" c11 c
    build "$CC" c11 c -O0 "-DSAMPLING_GRAMMAR -DSAMPLING_CONSTRAINTS -DSAMPLING_STOP"
    llama "$CC" c11 c -O0
    # shellcheck disable=SC2086
    for file in one gpu llama; do "$CXX" -std=c++11 $warn -DSAMPLING_GRAMMAR -DSAMPLING_CONSTRAINTS -DSAMPLING_STOP -fsyntax-only "$dir/$file.cpp"; done
    echo "compile: both headers as C11 ($CC) and C++11 ($CXX) without a warning; make test-compile tries more"
    exit 0
fi
for c in $COMPILERS; do
    case $c in gcc) cxx=g++ ;; clang) cxx=clang++ ;; *) cxx=c++ ;; esac
    hints "$c" c11 c
    hints "$cxx" c++11 cpp
    errors "$cxx" c++11 cpp
    hidden "$cxx" c++11 cpp
    for std in c11 c++11; do
        case $std in c++*) driver=$cxx suffix=cpp ;; *) driver=$c suffix=c ;; esac
        build "$driver" $std $suffix -O0
        case $std in c++*) build "$driver" $std $suffix -O2 ;; esac # as C with OpenMP, below
        build "$driver" $std $suffix -O0 "$parts"
        [ "${2:-}" != full ] || build "$driver" $std $suffix "-O3 -march=native"
    done
    for std in gnu11 c17 gnu++17 c++20; do
        case $std in *++*) driver=$cxx suffix=cpp ;; *) driver=$c suffix=c ;; esac
        [ "${2:-}" = full ] || { syntax "$driver" $std $suffix; continue; }
        for opt in -O0 -O2 "-O3 -march=native"; do build "$driver" $std $suffix "$opt"; done
    done
    build "$c" c11 c "-O2 -fopenmp" -fPIC
    build "$c" gnu11 c "-O3 -march=native" "$parts"
    llama "$c" c11 c -O2
done
echo "compile: $n builds without a warning ($(echo $COMPILERS)); -ffast-math is refused"
