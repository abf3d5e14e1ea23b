#!/bin/sh
# Is test_turns.c any good? Break one thing of what threads share of a grammar at a time, in a copy of sampling.h, and see that
# the test fails.
# Usage: mutate_sharing.sh [DIR]
set -eu
dir=${1:-build/mutants_sharing}
mkdir -p "$dir/copy"
cc=${CC:-cc}

# function | what is wrong with it | sed's s command, within that function only
list() {
    cat <<'END'
sampi_find_entry|a slot is read twice|s/return at;/return SAMPI_INT_GET(*slot);/
sampi_use_cache|the cache is not looked at again|s/if (cache && SAMPI_PTR_GET.*continue;//
sampi_use_cache|a table of new numbers is used twice|s/kept = NULL;//
sampi_sweep_caches|a reader is not seen|s/read = SAMPI_PTR_GET(&space->reads) == cache/read = false/
sampi_memo_fits|a memo of another cache|s/if (m->space->memo_of == m->cache->serial) return;/return;/
sampi_renumber_position|a state that was not taken over|s/if (!states\[.*return false;//
sampi_renumber_position|a table of another cache|s/cache->moved_from != m->position_cache/!cache->moved_from/
sampi_make_next|one state for all groups of bytes|s/if (SAMPI_INT_GET(&next\[c\]) == way)//
sampi_make_next|a state after an error|s/    if (m->d.status) return 0;$//
sampi_tree_common|a node that is not compared|s/            at = SAMPI_INT_GET(&slots\[i\]);$/            return SAMPI_INT_GET(\&slots[i]);/
sampi_reserve_elements|two threads get one index|s/if (SAMPI_INT_CAS(used, at, at + n)) return at;/SAMPI_INT_PUT(used, at + n); return at;/
sampi_keep_mask|a mask that is not compared|s/mask && memcmp(mask, bits, n \* 4) == 0/mask/
sampi_workspace_take|two calls get one workspace|s/return .*/const bool is = SAMPI_INT_GET(\&space->busy) == 0; SAMPI_INT_PUT(\&space->busy, 1); return is;/
sampi_cache_allocate|a piece behind the end|s/if (at <= chunk->size - bytes) return/return/
sampi_move_states|a next state that was not taken over|s/v->states\[at\] : -1/v->states[at] : 0/
sampi_move_choose_entries|an entry without its parent|s/if (e->parent >= 2 .*continue;//
sampi_accept_once|a token that was not accepted stays|s/m->history.n -= kept != NULL;//
sampi_derive|a derivative after an error|s/if (d->status) {/if (0) {/
sampi_search_match|dead after an error|s/!found \&\& !d->status; at++/!found; at++/
END
}

fail() {
    echo "mutate_sharing: $1" >&2
    exit 1
}

build() {
    # shellcheck disable=SC2086
    "$cc" -O1 -std=c11 -w -I"$dir/copy" -I. tests/unit/test_turns.c -o "$dir/turns" -lcmocka -lm
}

. tests/tools/change_function.sh

cp sampling.h "$dir/copy/"
build
"$dir/turns" > "$dir/turns.log" 2>&1 || fail "test_turns fails without a mutation, see $dir/turns.log"
list > "$dir/list"
caught=0
survived=0
while IFS='|' read -r function what change; do
    change_function "" "$function" "$change" > "$dir/copy/sampling.h"
    ! cmp -s sampling.h "$dir/copy/sampling.h" || fail "sed finds nothing to change in $function ($what)"
    build
    if timeout 300 "$dir/turns" > "$dir/turns.log" 2>&1; then
        echo "mutate_sharing: NOT CAUGHT: $function, $what" >&2
        survived=$((survived + 1))
        continue
    fi
    echo "mutate_sharing: $function, $what: caught"
    caught=$((caught + 1))
done < "$dir/list"
[ $survived = 0 ] || fail "$survived mutants are not caught"
echo "mutate_sharing: $caught mutants, all caught"
