/* naive_grammar.h - what a tree of >>grammar matches, by definition: for a node and a place of the text the set of all
   places where a match can end, one node after the other. Slow, and without any of the library's machinery; remembers
   what it has found. Include it behind the implementation.

       naive n = naive_begin(tree, text, length);
       bool whole = naive_matches(&n, node);        // is the text one of the node's?
       int begun = naive_continues(&n, node);       // can it become one? NAIVE_NO, NAIVE_PERHAPS, NAIVE_YES
       naive_end(&n);

   A set of places is a sorted list. Rules may recur, to the left too: sets grow until nothing is new. What continues a
   text is found the same way, as the least answer that fits all nodes; of an AND or a NOT whose parts do not decide it
   the answer is NAIVE_PERHAPS, and of a token by its name, which has no bytes here. */
#ifndef NAIVE_GRAMMAR_H
#define NAIVE_GRAMMAR_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Places [n] in ascending order. */
typedef struct naive_set {
    int32_t *at;
    int32_t n, room;
} naive_set;

/* The set of a node at a place. */
typedef struct naive_entry {
    int32_t node, from;
    naive_set ends;
    bool open; /* being found: what it has so far counts */
    bool done;
    int8_t continues;
    int32_t round; /* in which that was looked at */
} naive_entry;

enum { NAIVE_NO, NAIVE_PERHAPS, NAIVE_YES };

typedef struct naive {
    const sampi_tree *tree;
    const unsigned char *text;
    int32_t n;
    naive_entry **slots; /* hash table */
    size_t n_slots, n_entries;
    bool used_open; /* a set that was open has been used */
    bool grew;      /* an answer of this round of naive_continues is better than before */
    int32_t round;
} naive;

static bool naive_has(const naive_set *s, int32_t place)
{
    int32_t lo = 0, hi = s->n;
    while (lo < hi) {
        int32_t mid = (lo + hi) / 2;
        if (s->at[mid] < place)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->n && s->at[lo] == place;
}

static bool naive_add(naive_set *s, int32_t place)
{
    int32_t i = s->n;
    while (i > 0 && s->at[i - 1] > place) i--;
    if (i > 0 && s->at[i - 1] == place) return false;
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 4;
        s->at = (int32_t *)realloc(s->at, (size_t)s->room * sizeof *s->at);
        assert(s->at);
    }
    memmove(s->at + i + 1, s->at + i, (size_t)(s->n - i) * sizeof *s->at);
    s->at[i] = place;
    s->n++;
    return true;
}

static void naive_add_all(naive_set *s, const naive_set *more)
{
    for (int32_t i = 0; i < more->n; i++) naive_add(s, more->at[i]);
}

static size_t naive_place(const naive *n, int32_t node, int32_t from)
{
    uint64_t h = ((uint64_t)(uint32_t)node << 32 | (uint32_t)from) * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h >> 20) & (n->n_slots - 1);
    while (n->slots[i] && (n->slots[i]->node != node || n->slots[i]->from != from)) i = (i + 1) & (n->n_slots - 1);
    return i;
}

static naive_entry *naive_entry_of(naive *n, int32_t node, int32_t from)
{
    if (2 * (n->n_entries + 1) > n->n_slots) {
        naive_entry **old = n->slots;
        size_t n_old = n->n_slots;
        n->n_slots = n_old ? 2 * n_old : 1024;
        n->slots = (naive_entry **)calloc(n->n_slots, sizeof *n->slots);
        assert(n->slots);
        for (size_t i = 0; i < n_old; i++)
            if (old[i]) n->slots[naive_place(n, old[i]->node, old[i]->from)] = old[i];
        free(old);
    }
    size_t i = naive_place(n, node, from);
    if (!n->slots[i]) {
        n->slots[i] = (naive_entry *)calloc(1, sizeof **n->slots);
        assert(n->slots[i]);
        n->slots[i]->node = node;
        n->slots[i]->from = from;
        n->n_entries++;
    }
    return n->slots[i];
}

static const naive_set *naive_ends(naive *n, int32_t node, int32_t from);

/* All places behind `a` that are behind least to most of it: count by count, until no new place comes. */
static void naive_repeat(naive *n, naive_set *out, int32_t a, int32_t least, int32_t most, int32_t from)
{
    naive_set now = { NULL, 0, 0 };
    naive_add(&now, from);
    for (int32_t count = 0; now.n > 0; count++) {
        int32_t before = out->n;
        if (count >= least) naive_add_all(out, &now);
        /* behind `least`, only new places matter; a part that may be empty brings any count up to it */
        if (count > least && out->n == before) break;
        if (count == most) break;
        naive_set next = { NULL, 0, 0 };
        for (int32_t i = 0; i < now.n; i++) naive_add_all(&next, naive_ends(n, a, now.at[i]));
        bool same = next.n == now.n && (next.n == 0 || !memcmp(next.at, now.at, (size_t)next.n * sizeof *next.at));
        free(now.at);
        now = next;
        if (same && count < least && (most < 0 || most >= least)) count = least - 1;
    }
    free(now.at);
}

/* ---- lists: their witnesses are the last members, `slots` groups of SAMPI_KINDS_OF_NAMES ---- */

static int32_t naive_plain(const sampi_list *list) { return list->n - list->slots * SAMPI_KINDS_OF_NAMES; }

/* Has one of a slot been there? */
static bool naive_slot_seen(const sampi_list *list, const bool *seen, int32_t slot)
{
    bool one = false;
    for (int32_t k = 0; k < SAMPI_KINDS_OF_NAMES; k++)
        one = one || seen[naive_plain(list) + slot * SAMPI_KINDS_OF_NAMES + k];
    return one;
}

/* Has a witness of that kind been there? */
static bool naive_kind_seen(const sampi_list *list, const bool *seen, int32_t kind)
{
    bool one = false;
    for (int32_t s = 0; s < list->slots; s++) one = one || seen[naive_plain(list) + s * SAMPI_KINDS_OF_NAMES + kind];
    return one;
}

/* May member i come, with those in `seen` before it? */
static bool naive_may_come(const sampi_list *list, const bool *seen, int32_t i)
{
    const int32_t at = i - naive_plain(list);
    if (i == list->n) return true;
    if (at < 0) return !seen[i];
    return !naive_slot_seen(list, seen, at / SAMPI_KINDS_OF_NAMES) &&
           !naive_kind_seen(list, seen, at % SAMPI_KINDS_OF_NAMES);
}

/* Member i; i = n: any other one. */
static int32_t naive_member_node(const naive *n, const sampi_list *list, const bool *seen, int32_t i)
{
    const sampi_member *members = (const sampi_member *)n->tree->members.data + list->first;
    int32_t set = 0;
    if (i < list->n) return members[i].node;
    if (list->slots == 0) return list->other;
    for (int32_t k = 0; k < SAMPI_KINDS_OF_NAMES; k++) set |= naive_kind_seen(list, seen, k) << k;
    return members[list->n + set].node;
}

/* A list of members, behind those in `seen` (bits of the list), `count` in all. */
static void naive_members(naive *n, naive_set *out, const sampi_list *list, bool *seen, size_t count, int32_t from)
{
    const sampi_member *members = (const sampi_member *)n->tree->members.data + list->first;
    bool complete = count >= (size_t)list->least;
    for (int32_t i = 0; i < naive_plain(list); i++) complete = complete && (seen[i] || !members[i].required);
    for (int32_t i = 0; i < list->slots; i++) complete = complete && naive_slot_seen(list, seen, i);
    if (complete) naive_add(out, from);
    if (list->most < INT32_MAX && count >= (size_t)list->most) return;
    naive_set starts = { NULL, 0, 0 };
    if (count == 0)
        naive_add(&starts, from);
    else
        naive_add_all(&starts, naive_ends(n, list->separator, from));
    for (int32_t s = 0; s < starts.n; s++) {
        for (int32_t i = 0; i <= list->n; i++) {
            if (!naive_may_come(list, seen, i)) continue;
            const naive_set *ends = naive_ends(n, naive_member_node(n, list, seen, i), starts.at[s]);
            if (i < list->n) seen[i] = true;
            for (int32_t k = 0; k < ends->n; k++)
                if (ends->at[k] > from) naive_members(n, out, list, seen, count + 1, ends->at[k]);
            if (i < list->n) seen[i] = false;
        }
    }
    free(starts.at);
}

/* Is a text a number whose digits, as many behind the point as count, make a multiple of e->a? */
static bool naive_multiple(const sampi_expr *e, const unsigned char *text, int32_t n)
{
    int32_t whole = 0, places = e->c / SAMPI_MULTIPLE_PLACE, rest = 0, i = 0;
    while (whole < n && text[whole] >= '0' && text[whole] <= '9') whole++;
    if (whole == 0 || (whole > 1 && text[0] == '0') || whole == n - 1 || (whole < n && text[whole] != '.'))
        return false;
    if ((e->c & SAMPI_MULTIPLE_ENDS) && n > whole && n - whole - 1 > places) return false;
    for (; i < whole; i++) rest = (rest * 10 + text[i] - '0') % e->a;
    for (i = whole + 1; i < n; i++)
        if (text[i] < '0' || text[i] > '9' || (i - whole > places && text[i] != '0')) return false;
    for (i = whole + 1; i <= whole + places; i++) rest = (rest * 10 + (i < n ? text[i] - '0' : 0)) % e->a;
    return rest == 0;
}

/* Can one begin so? Then with a point or without, and up to four digits more, since e->a has no more. */
static int naive_multiple_begins(const sampi_expr *e, const unsigned char *text, int32_t n)
{
    static unsigned char longer[1024];
    if (n + 5 > (int32_t)sizeof longer || e->c / SAMPI_MULTIPLE_PLACE > 4) return NAIVE_PERHAPS;
    memcpy(longer, text, (size_t)n);
    for (int32_t point = 0; point < 2; point++)
        for (int32_t many = 0, end = 1; many <= 4; many++, end *= 10)
            for (int32_t figures = 0; figures < end; figures++) {
                longer[n] = '.';
                for (int32_t k = many, left = figures; k-- > 0; left /= 10)
                    longer[n + point + k] = (unsigned char)('0' + left % 10);
                if (naive_multiple(e, longer, n + point + many)) return NAIVE_YES;
            }
    return NAIVE_NO;
}

/* Are all names of the object different that begins at `from` and ends, or is cut off, at `to`? */
static bool naive_names_differ(const naive *n, int32_t from, int32_t to)
{
    enum { MOST = 64 };
    int32_t begin[MOST], length[MOST], n_names = 0, depth = 0;
    bool named = false;
    for (int32_t i = from + 1; i < to; i++) {
        const char c = (char)n->text[i];
        const int32_t first = i;
        if (c == '"') {
            for (i++; i < to && n->text[i] != '"'; i++)
                if (n->text[i] == '\\') i++;
            if (i >= to || depth || named) continue;
            assert(n_names < MOST);
            begin[n_names] = first;
            length[n_names] = i - first;
            for (int32_t k = 0; k < n_names; k++)
                if (length[k] == i - first && !memcmp(n->text + begin[k], n->text + first, (size_t)(i - first)))
                    return false;
            n_names++;
            named = true;
        } else if (depth == 0 && c == ',') {
            named = false;
        }
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    }
    return true;
}

/* Are all values of the array different that begins at `from` and ends, or is cut off, at `to`? Behind a comma or the
   end of the array a value is whole. The values are scalars, so every comma outside of strings is between two. */
static bool naive_differ(const naive *n, int32_t from, int32_t to)
{
    enum { MOST = 64, LONGEST = 80 };
    static char value[MOST][LONGEST];
    int32_t n_values = 0, length = 0;
    bool quoted = false;
    if (from < to && n->text[from] == '{') return naive_names_differ(n, from, to);
    for (int32_t i = from + 1; i < to; i++) {
        const char c = (char)n->text[i];
        if (!quoted && (c == ',' || c == ']') && length > 0) {
            char *end, *other;
            double is = strtod(value[n_values], &end);
            for (int32_t k = 0; k < n_values; k++) {
                const bool numbers = *end == 0 && strtod(value[k], &other) == is && *other == 0;
                if (numbers || !strcmp(value[k], value[n_values])) return false;
            }
            n_values++;
            length = 0;
            assert(n_values < MOST);
        } else if (quoted || !strchr(" \t\r\n", c)) {
            if (c == '"') quoted = !quoted;
            assert(length + 2 < LONGEST);
            if (c == '\\') value[n_values][length++] = (char)n->text[i++];
            value[n_values][length++] = (char)n->text[i];
            value[n_values][length] = 0;
        }
    }
    return true;
}

/* Must the values differ that rule number `rule` lists? */
static bool naive_is_unique(const naive *n, int32_t rule)
{
    return sampi_grammar_rule_at(n->tree, rule)->unique == SAMPI_UNIQUE_ARRAY;
}

/* ---- parts of a regular expression that look at their place: elements of sets are 4 * place + what is before it ---- */

static void naive_look(naive *n, naive_set *out, int32_t node, int32_t at, int32_t end);

/* All elements behind least to most of `a`, as naive_repeat. */
static void naive_look_repeat(naive *n, naive_set *out, const sampi_expr *e, int32_t at, int32_t end)
{
    naive_set now = { NULL, 0, 0 };
    naive_add(&now, at);
    for (int32_t count = 0, before = -1; now.n > 0; count++) {
        if (count >= e->b) {
            before = out->n;
            naive_add_all(out, &now);
            if (count > e->b && out->n == before) break;
        }
        if (count == e->c) break;
        naive_set next = { NULL, 0, 0 };
        for (int32_t i = 0; i < now.n; i++) naive_look(n, &next, e->a, now.at[i], end);
        free(now.at);
        now = next;
    }
    free(now.at);
}

/* Does the rest of the text, up to its end, match the node? */
static bool naive_look_ends(naive *n, int32_t node, int32_t at, int32_t end)
{
    naive_set rest = { NULL, 0, 0 };
    naive_look(n, &rest, node, at, end);
    const bool does = rest.n > 0 && rest.at[rest.n - 1] / 4 == end;
    free(rest.at);
    return does;
}

static void naive_look_group(naive *n, naive_set *out, const sampi_expr *e, int32_t at, int32_t end)
{
    const bool word = at & SAMPI_PLACE_WORD;
    const sampi_expr *pair = sampi_grammar_at(n->tree, e->a);
    bool is;
    switch (e->b) {
        case SAMPI_GROUP_BEGIN: is = at & SAMPI_PLACE_BEGIN; break;
        case SAMPI_GROUP_END: is = at / 4 == end; break;
        case SAMPI_GROUP_AHEAD: is = naive_look_ends(n, e->a, at, end); break;
        case SAMPI_GROUP_NOT_AHEAD: is = !naive_look_ends(n, e->a, at, end); break;
        case SAMPI_GROUP_EDGE: is = naive_look_ends(n, word ? pair->b : pair->a, at, end); break;
        case SAMPI_GROUP_NO_EDGE: is = naive_look_ends(n, word ? pair->a : pair->b, at, end); break;
        case SAMPI_GROUP_WORD:
        case SAMPI_GROUP_OTHER: {
            const naive_set *ends = naive_ends(n, e->a, at / 4);
            for (int32_t i = 0; i < ends->n && ends->at[i] <= end; i++)
                naive_add(out, 4 * ends->at[i] + (e->b == SAMPI_GROUP_WORD ? SAMPI_PLACE_WORD : 0));
            return;
        }
        default: naive_look(n, out, e->a, at, end); return;
    }
    if (is) naive_add(out, at);
}

/* Adds where a match of the node that begins at `at` can end, in a text that ends at `end`. */
static void naive_look(naive *n, naive_set *out, int32_t node, int32_t at, int32_t end)
{
    const sampi_expr *e = sampi_grammar_at(n->tree, node);
    if (!(e->facts & (SAMPI_FACT_CALLS | SAMPI_FACT_AND)) || e->kind == SAMPI_NODE_AND || e->kind == SAMPI_NODE_NOT) {
        const naive_set *ends = naive_ends(n, node, at / 4);
        for (int32_t i = 0; i < ends->n && ends->at[i] <= end; i++)
            naive_add(out, ends->at[i] == at / 4 ? at : 4 * ends->at[i]);
    } else if (e->kind == SAMPI_NODE_SEQ) {
        naive_set a = { NULL, 0, 0 };
        naive_look(n, &a, e->a, at, end);
        for (int32_t i = 0; i < a.n; i++) naive_look(n, out, e->b, a.at[i], end);
        free(a.at);
    } else if (e->kind == SAMPI_NODE_ALT) {
        naive_look(n, out, e->a, at, end);
        naive_look(n, out, e->b, at, end);
    } else if (e->kind == SAMPI_NODE_REPEAT) {
        naive_look_repeat(n, out, e, at, end);
    } else {
        assert(e->kind == SAMPI_NODE_GROUP);
        naive_look_group(n, out, e, at, end);
    }
}

static void naive_find(naive *n, naive_set *out, const sampi_expr *e, int32_t from)
{
    const unsigned char *pool = (const unsigned char *)n->tree->pool.data;
    switch (e->kind) {
        case SAMPI_NODE_EMPTY: naive_add(out, from); break;
        case SAMPI_NODE_TEXT:
            if (n->n - from >= e->b && !memcmp(pool + e->a, n->text + from, (size_t)e->b))
                naive_add(out, from + e->b);
            break;
        case SAMPI_NODE_SET:
            if (from < n->n && pool[e->a + n->text[from] / 8] >> n->text[from] % 8 & 1) naive_add(out, from + 1);
            break;
        case SAMPI_NODE_SEQ: {
            const naive_set *a = naive_ends(n, e->a, from);
            for (int32_t i = 0; i < a->n; i++) naive_add_all(out, naive_ends(n, e->b, a->at[i]));
            break;
        }
        case SAMPI_NODE_ALT:
            naive_add_all(out, naive_ends(n, e->a, from));
            naive_add_all(out, naive_ends(n, e->b, from));
            break;
        case SAMPI_NODE_REPEAT: naive_repeat(n, out, e->a, e->b, e->c, from); break;
        case SAMPI_NODE_PLACED:
            for (int32_t to = from; to <= n->n; to++)
                if (naive_look_ends(n, e->a, 4 * from + (e->b & 3), to)) naive_add(out, to);
            break;
        case SAMPI_NODE_MULTIPLE:
            for (int32_t to = from; to <= n->n; to++)
                if (naive_multiple(e, n->text + from, to - from)) naive_add(out, to);
            break;
        case SAMPI_NODE_AND: {
            const naive_set *a = naive_ends(n, e->a, from), *b = a->n ? naive_ends(n, e->b, from) : a;
            for (int32_t i = 0; i < a->n; i++)
                if (naive_has(b, a->at[i])) naive_add(out, a->at[i]);
            break;
        }
        case SAMPI_NODE_NOT: {
            const naive_set *a = naive_ends(n, e->a, from);
            for (int32_t i = from; i <= n->n; i++)
                if (!naive_has(a, i)) naive_add(out, i);
            break;
        }
        case SAMPI_NODE_REF: {
            const naive_set *a = naive_ends(n, sampi_grammar_rule_at(n->tree, e->a)->body, from);
            for (int32_t i = 0; i < a->n; i++)
                if (!naive_is_unique(n, e->a) || naive_differ(n, from, a->at[i])) naive_add(out, a->at[i]);
            break;
        }
        case SAMPI_NODE_MEMBERS: {
            const sampi_list *list = (const sampi_list *)n->tree->lists.data + e->a;
            bool *seen = (bool *)calloc((size_t)list->n + 1, 1);
            assert(seen);
            naive_members(n, out, list, seen, 0, from);
            free(seen);
            break;
        }
        default: break;
    }
}

/* Where a match of the node that begins at `from` can end. */
static const naive_set *naive_ends(naive *n, int32_t node, int32_t from)
{
    naive_entry *entry = naive_entry_of(n, node, from);
    if (entry->done) return &entry->ends;
    if (entry->open) {
        n->used_open = true;
        return &entry->ends;
    }
    bool outer = n->used_open;
    entry->open = true;
    for (;;) {
        naive_set found = { NULL, 0, 0 };
        n->used_open = false;
        naive_find(n, &found, sampi_grammar_at(n->tree, node), from);
        int32_t before = entry->ends.n;
        naive_add_all(&entry->ends, &found);
        free(found.at);
        if (!n->used_open || entry->ends.n == before) break;
    }
    entry->open = false;
    entry->done = !n->used_open; /* otherwise it may lack what a set around it gets later */
    n->used_open = n->used_open || outer;
    return &entry->ends;
}

static naive naive_begin(const sampi_tree *tree, const void *text, size_t length)
{
    naive n = { tree, (const unsigned char *)text, (int32_t)length, NULL, 0, 0, false, false, 0 };
    return n;
}

static void naive_end(naive *n)
{
    for (size_t i = 0; i < n->n_slots; i++)
        if (n->slots[i]) {
            free(n->slots[i]->ends.at);
            free(n->slots[i]);
        }
    free(n->slots);
}

/* Is the whole text one of the node's? */
static inline bool naive_matches(naive *n, int32_t node) { return naive_has(naive_ends(n, node, 0), n->n); }

/* ---- beginnings ---- */

static int naive_begins(naive *n, int32_t node, int32_t from);

static inline int naive_both(int a, int b) { return a < b ? a : b; }
static inline int naive_either(int a, int b) { return a > b ? a : b; }

/* Can each slot from `slot` on still get a witness, of kinds that are not in `taken`? */
static int naive_slots_end(naive *n, const sampi_list *list, const bool *seen, int32_t slot, uint32_t taken)
{
    int found = NAIVE_NO;
    if (slot == list->slots) return NAIVE_YES;
    if (naive_slot_seen(list, seen, slot)) return naive_slots_end(n, list, seen, slot + 1, taken);
    for (int32_t k = 0; k < SAMPI_KINDS_OF_NAMES; k++) {
        int32_t i = naive_plain(list) + slot * SAMPI_KINDS_OF_NAMES + k;
        if (taken >> k & 1 || naive_kind_seen(list, seen, k)) continue;
        int text = naive_begins(n, naive_member_node(n, list, seen, i), n->n);
        if (text > found)
            found = naive_either(
                found, naive_both(text, naive_slots_end(n, list, seen, slot + 1, taken | (uint32_t)1 << k)));
    }
    return found;
}

/* Can a list with these members seen be brought to its end by any text? */
static int naive_list_ends(naive *n, const sampi_list *list, const bool *seen, size_t count)
{
    const sampi_member *members = (const sampi_member *)n->tree->members.data + list->first;
    int known = NAIVE_YES, least = NAIVE_YES;
    size_t missing = 0, sure = 0,
           left = 0; /* required and unseen; of all unseen: those that have a text, or may have */
    for (int32_t i = 0; i < list->slots; i++) {
        bool open = !naive_slot_seen(list, seen, i);
        missing += open;
        sure += open;
        left += open;
    }
    known = naive_slots_end(n, list, seen, 0, 0);
    for (int32_t i = 0; i < naive_plain(list); i++) {
        if (seen[i]) continue;
        int text = naive_begins(n, members[i].node, n->n);
        if (members[i].required) {
            known = naive_both(known, text);
            missing++;
        }
        sure += text == NAIVE_YES;
        left += text != NAIVE_NO;
    }
    int other = naive_begins(n, naive_member_node(n, list, seen, list->n), n->n);
    if (count + sure < (size_t)list->least) least = naive_either(other, left > sure ? NAIVE_PERHAPS : NAIVE_NO);
    if (count + missing > (size_t)list->most && list->most < INT32_MAX) return NAIVE_NO;
    size_t more = count < (size_t)list->least ? (size_t)list->least - count : 0;
    if (missing > more) more = missing;
    if (count + more > 1 && more > 0) known = naive_both(known, naive_begins(n, list->separator, n->n));
    return naive_both(known, least);
}

/* Can the text go on as a list, behind the members in `seen`? */
static int naive_list_begins(naive *n, const sampi_list *list, bool *seen, size_t count, int32_t from)
{
    int found = from == n->n ? naive_list_ends(n, list, seen, count) : NAIVE_NO;
    if (list->most < INT32_MAX && count >= (size_t)list->most) return found;
    int separator = count ? naive_begins(n, list->separator, from) : NAIVE_NO;
    naive_set starts = { NULL, 0, 0 };
    if (count == 0)
        naive_add(&starts, from);
    else
        naive_add_all(&starts, naive_ends(n, list->separator, from));
    for (int32_t i = 0; i <= list->n; i++) {
        if (!naive_may_come(list, seen, i)) continue;
        int32_t node = naive_member_node(n, list, seen, i);
        if (i < list->n) seen[i] = true;
        int rest = naive_list_ends(n, list, seen, count + 1);
        found = naive_either(found, naive_both(separator, naive_both(naive_begins(n, node, n->n), rest)));
        for (int32_t s = 0; s < starts.n; s++) {
            found = naive_either(found, naive_both(naive_begins(n, node, starts.at[s]), rest));
            const naive_set *ends = naive_ends(n, node, starts.at[s]);
            for (int32_t k = 0; k < ends->n; k++)
                if (ends->at[k] > from)
                    found = naive_either(found, naive_list_begins(n, list, seen, count + 1, ends->at[k]));
        }
        if (i < list->n) seen[i] = false;
    }
    free(starts.at);
    return found;
}

static int naive_find_begins(naive *n, const sampi_expr *e, int32_t from)
{
    const unsigned char *pool = (const unsigned char *)n->tree->pool.data;
    int found = NAIVE_NO;
    naive_set places = { NULL, 0, 0 };
    switch (e->kind) {
        case SAMPI_NODE_TEXT: {
            int32_t left = n->n - from;
            return !memcmp(pool + e->a, n->text + from, (size_t)(left < e->b ? left : e->b)) && left <= e->b
                       ? NAIVE_YES
                       : NAIVE_NO;
        }
        case SAMPI_NODE_SET: return from == n->n ? NAIVE_YES : NAIVE_NO; /* no set is empty */
        case SAMPI_NODE_MULTIPLE: return naive_multiple_begins(e, n->text + from, n->n - from);
        case SAMPI_NODE_SEQ:
            found = naive_both(naive_begins(n, e->a, from), naive_begins(n, e->b, n->n));
            naive_add_all(&places, naive_ends(n, e->a, from));
            for (int32_t i = 0; i < places.n; i++) found = naive_either(found, naive_begins(n, e->b, places.at[i]));
            break;
        case SAMPI_NODE_ALT: return naive_either(naive_begins(n, e->a, from), naive_begins(n, e->b, from));
        case SAMPI_NODE_REPEAT:
            naive_repeat(n, &places, e->a, 0, e->c < 0 ? -1 : e->c - 1, from);
            for (int32_t i = 0; i < places.n; i++) found = naive_either(found, naive_begins(n, e->a, places.at[i]));
            break;
        case SAMPI_NODE_AND:
            found = naive_both(naive_begins(n, e->a, from), naive_begins(n, e->b, from));
            return naive_both(found, NAIVE_PERHAPS);
        case SAMPI_NODE_NOT:
        case SAMPI_NODE_PLACED:
        case SAMPI_NODE_TOKEN: return NAIVE_PERHAPS;
        case SAMPI_NODE_REF:
            found = naive_begins(n, sampi_grammar_rule_at(n->tree, e->a)->body, from);
            if (!naive_is_unique(n, e->a) || from == n->n) return found;
            /* the value that was begun may have to become one that came before */
            return naive_differ(n, from, n->n) ? naive_both(found, NAIVE_PERHAPS) : NAIVE_NO;
        case SAMPI_NODE_MEMBERS: {
            const sampi_list *list = (const sampi_list *)n->tree->lists.data + e->a;
            bool *seen = (bool *)calloc((size_t)list->n + 1, 1);
            assert(seen);
            found = naive_list_begins(n, list, seen, 0, from);
            free(seen);
            break;
        }
        default: return NAIVE_NO;
    }
    free(places.at);
    return found;
}

/* Is the text from `from` on the beginning of one of the node's? As far as this round knows. */
static int naive_begins(naive *n, int32_t node, int32_t from)
{
    if (naive_has(naive_ends(n, node, from), n->n)) return NAIVE_YES;
    naive_entry *entry = naive_entry_of(n, node, from);
    if (entry->round == n->round) return entry->continues;
    entry->round = n->round;
    int found = naive_find_begins(n, sampi_grammar_at(n->tree, node), from);
    if (found > entry->continues) {
        entry->continues = (int8_t)found;
        n->grew = true;
    }
    return entry->continues;
}

/* Is the text the beginning of one of the node's? */
static inline int naive_continues(naive *n, int32_t node)
{
    int found;
    do {
        n->grew = false;
        n->round++;
        found = naive_begins(n, node, 0);
    } while (n->grew);
    return found;
}

#endif /* NAIVE_GRAMMAR_H */
