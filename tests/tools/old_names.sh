#!/bin/sh
# The old names (src/api/old_names.h): in C and in C++ each is the function with the new name; with SAMP_NO_OLD_NAMES none is there;
# the library has those of its parts as symbols, and they work. Usage: old_names.sh DIR
set -eu
cd "$(dirname "$0")/../.."
dir=$1
mkdir -p "$dir"
fail() { echo "old_names: $*" >&2; exit 1; }
sed -n 's/^#define \(samp_[a-z0-9_]*\) *\(samp_[a-z0-9_]*\)$/\1 \2/p' src/api/old_names.h > "$dir/pairs.txt"
[ -s "$dir/pairs.txt" ] || fail "src/api/old_names.h has none"
{
    for part in $(sed -n 's/^#define \(SAMPLING_[A-Z]*\)_DECLARED.*/\1/p' sampling.h | sort -u); do echo "#define $part"; done
    echo '#include "sampling_gpu.h"'
} > "$dir/all.h"

# two files, one of which knows no old names: each has the addresses, in the order of the pairs
addresses() { # column, name
    echo '#include "all.h"'
    while read -r old new; do
        [ "$1" = 1 ] || old=$new
        echo "static void *const p_$old = (void *)(uintptr_t)&$old;"
        printf 'p_%s, ' "$old" >> "$dir/list"
    done < "$dir/pairs.txt"
    echo "extern void *const *const $2;"
    echo "static void *const all_$2[] = { $(cat "$dir/list") };"
    echo "void *const *const $2 = all_$2;"
    rm "$dir/list"
}
n=$(wc -l < "$dir/pairs.txt")
for suffix in c cpp; do
    addresses 1 old_ones > "$dir/old.$suffix"
    { echo '#define SAMP_NO_OLD_NAMES'; addresses 2 new_ones; } > "$dir/new.$suffix"
    cat > "$dir/main.$suffix" <<END
extern void *const *const old_ones;
extern void *const *const new_ones;
int main(void) { int i = 0; while (i < $n && old_ones[i] == new_ones[i]) i++; return i < $n; }
END
done
printf '#define SAMPLING_IMPLEMENTATION\n#include "all.h"\n#include "tests/support/made_up_llama.h"\n' > "$dir/all.c"
quick="-O0 -w -I. -I$dir -DSAMP_NO_SIMD"
# shellcheck disable=SC2086
"$CC" -std=c11 $quick -c "$dir/all.c" -o "$dir/all.o"
# shellcheck disable=SC2086
for way in "c:$CC -std=c11" "cpp:$CXX -std=c++11"; do
    suffix=${way%%:*}
    ${way#*:} $quick -fpermissive "$dir/old.$suffix" "$dir/new.$suffix" "$dir/main.$suffix" "$dir/all.o" -o "$dir/same" -lm 2> "$dir/log" ||
        { cat "$dir/log" >&2; fail "they do not compile as ${way#*:}"; }
    "$dir/same" || fail "one is another function (${way#*:})"
done
while read -r old _; do
    printf '#define SAMP_NO_OLD_NAMES\n#include "all.h"\nvoid *f(void);\nvoid *f(void) { return (void *)(uintptr_t)&%s; }\n' "$old" > "$dir/none.c"
    # shellcheck disable=SC2086
    ! "$CC" -std=c11 $quick -fsyntax-only "$dir/none.c" 2> /dev/null || fail "SAMP_NO_OLD_NAMES leaves $old"
done < "$dir/pairs.txt"

# by symbol, as a program does that asks the loader
cat > "$dir/symbols.c" <<'END'
#define SAMP_NO_OLD_NAMES
#include "sampling.h"
samp_settings *samp_settings_new(void);
samp_random_sample *samp_random_sample_create(samp_dtype, samp_dtype, size_t, int *);
void samp_random_sample_destroy(samp_random_sample *);
int main(void)
{
    const float row[3] = { 0.2f, 0.5f, 0.3f };
    int32_t result[1] = { -1 };
    samp_settings *settings = samp_settings_new();
    samp_random_sample *op = samp_random_sample_create(SAMP_I32, SAMP_F32, 3, NULL);
    char workspace[65536];
    int status = samp_random_sample_run(op, workspace, sizeof workspace, result, row, 0.5f, 1, 1, 1);
    int bad = status != SAMP_OK || result[0] != 1 || samp_settings_set(settings, "top_k", "7", NULL) != SAMP_OK;
    samp_random_sample_destroy(op);
    samp_settings_free(settings);
    return bad;
}
END
# shellcheck disable=SC2086
"$CC" -std=c11 $quick "$dir/symbols.c" src/package/sampling.c -o "$dir/symbols" -lm
"$dir/symbols" || fail "the library's symbols do something else"
echo "== old names: $n, each is the function with its new name, in C and C++; the library has its symbols"
