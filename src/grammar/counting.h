/* ---- derivatives: two counts at once ----
   Of expressions that must match together, each may count something else: one words, the other characters. Two facts
   spare the search for a text a step for each number. If a word can be read once, with the same parts left, it can be
   read again and again, as far as the counts allow. And if all parts are units of a counted repetition, the number of
   units has bounds. */

enum { SAMPI_CONJUNCTS = 8, SAMPI_UNITS_INFINITE = INT32_MAX };

/* The parts of an AND, which all must match. */
typedef struct sampi_conjuncts {
    sampi_node part[SAMPI_CONJUNCTS];
    int32_t n;
} sampi_conjuncts;

/* Finds the parts of n. Returns false if there are too many, or only one. */
static bool sampi_grammar_conjuncts_of(sampi_deriver *d, sampi_node n, sampi_conjuncts *all)
{
    all->n = 1;
    all->part[0] = n;
    for (int32_t i = 0; i < all->n;) {
        const sampi_expr e = *sampi_grammar_at(&d->tree, all->part[i] = sampi_grammar_inlined(d, all->part[i]));
        if (e.kind != SAMPI_NODE_AND) {
            i++;
            continue;
        }
        if (all->n == SAMPI_CONJUNCTS) return false;
        all->part[i] = e.a;
        all->part[all->n++] = e.b;
    }
    return all->n > 1;
}

/* ---- words that are read again ---- */

/* A part of an AND behind a word. times: how many repetitions of `counted` the word is; 0: the part stays the same. */
typedef struct sampi_pumped {
    sampi_counted counted;
    int32_t times;
} sampi_pumped;

/* Returns n behind a word of n_word bytes. */
static sampi_node sampi_grammar_derive_word(sampi_deriver *d, sampi_node n, const uint8_t *word, int32_t n_word)
{
    for (int32_t i = 0; i < n_word && n != SAMPI_NEVER; i++) n = sampi_grammar_derive(d, n, word[i]);
    return n;
}

/* Finds an alternative of `now` that is a counted repetition of which the word is some, which is shown by an
   alternative of `before`, the parts before the word. */
static bool sampi_grammar_pumped_of(sampi_deriver *d, const sampi_conjuncts *before, sampi_node now,
                                    const uint8_t *word, int32_t n_word, sampi_pumped *is)
{
    sampi_tree *t = &d->tree;
    for (bool more = true; more; now = sampi_grammar_at(t, now)->b) {
        more = sampi_grammar_at(t, now)->kind == SAMPI_NODE_ALT;
        is->counted = sampi_grammar_counted_of(t, more ? sampi_grammar_at(t, now)->a : now);
        const sampi_counted c = is->counted;
        if (c.most == 1) continue;
        for (int32_t i = 0; i < before->n; i++) {
            sampi_node was = before->part[i];
            for (bool again = true; again; was = sampi_grammar_at(t, was)->b) {
                again = sampi_grammar_at(t, was)->kind == SAMPI_NODE_ALT;
                const sampi_counted b = sampi_grammar_counted_of(t, again ? sampi_grammar_at(t, was)->a : was);
                sampi_grammar_charge(d, 1);
                if (b.one != c.one || b.rest != c.rest) continue;
                is->times = b.most != c.most ? b.most - c.most : b.least - c.least;
                if (is->times <= 0 || is->times > n_word) continue;
                const sampi_node all = sampi_grammar_checked_node(d,
                                                                  sampi_tree_repeat(t, c.one, is->times, is->times));
                if (sampi_grammar_at(t, sampi_grammar_derive_word(d, all, word, n_word))->facts & SAMPI_FACT_EMPTY)
                    return !d->status;
            }
        }
    }
    return false;
}

/* Finds nodes whose texts, behind some number of repetitions of the word, are texts of `now`. `before` is a node from
   which the word leads to `now`. Returns their number. */
static int32_t sampi_grammar_pump(sampi_deriver *d, sampi_node before, sampi_node now, const uint8_t *word,
                                  int32_t n_word, sampi_node found[SAMPI_CONJUNCTS + 1])
{
    enum { LEFT = 2 }; /* repetitions of the word that are left, as the text's end may need some */
    sampi_conjuncts old, all;
    sampi_pumped part[SAMPI_CONJUNCTS];
    int32_t most = INT32_MAX, n = 0;
    if (!sampi_grammar_conjuncts_of(d, before, &old) || !sampi_grammar_conjuncts_of(d, now, &all)) return 0;
    for (int32_t i = 0; i < all.n; i++) {
        if (sampi_grammar_pumped_of(d, &old, all.part[i], word, n_word, &part[i])) {
            const int32_t times = part[i].counted.most / part[i].times;
            if (part[i].counted.most < INT32_MAX && times < most) most = times;
            continue;
        }
        part[i].times = 0;
        if (d->status || sampi_grammar_derive_word(d, all.part[i], word, n_word) != all.part[i]) return 0;
    }
    for (int32_t i = 0; i <= all.n && !d->status; i++) {
        int32_t k = most;
        if (i < all.n) k = part[i].times ? part[i].counted.least / part[i].times : 0;
        if ((k = (k < most ? k : most) - LEFT) <= LEFT || k >= INT32_MAX - LEFT) continue;
        sampi_node joined = sampi_tree_not(&d->tree, SAMPI_NEVER);
        for (int32_t p = 0; p < all.n; p++) {
            sampi_node one = all.part[p];
            if (part[p].times) {
                const sampi_counted c = part[p].counted;
                const int64_t less = (int64_t)k * part[p].times;
                one = sampi_tree_seq(&d->tree,
                                     sampi_tree_repeat(&d->tree, c.one,
                                                       c.least > less ? (int32_t)(c.least - less) : 0,
                                                       c.most < INT32_MAX ? (int32_t)(c.most - less) : -1),
                                     c.rest);
            }
            joined = sampi_tree_and(&d->tree, joined, one);
        }
        found[n++] = sampi_grammar_checked_node(d, joined);
    }
    return d->status ? 0 : n;
}

/* ---- how many units ---- */

/* What units are: texts of `unit`, a node no text of which begins with another one; rest: what comes behind them. far:
   a repetition that may come more often than this has no end within a token. searches: how many searches may still find
   out what is a unit; patience: how many nodes may be visited. */
typedef struct sampi_units {
    sampi_node unit, rest;
    int32_t far, searches, patience;
} sampi_units;

static bool sampi_grammar_matches_any(sampi_deriver *d, sampi_node n);

/* Returns whether no text of a is one of b's, as far as it is known or may be searched. */
static bool sampi_grammar_are_apart(sampi_deriver *d, sampi_node a, sampi_node b, int32_t *searches)
{
    const sampi_node both = sampi_grammar_checked_node(d, sampi_tree_and(&d->tree, a, b));
    const int32_t known = sampi_grammar_facts_of(&d->tree, both) & (SAMPI_FACT_ALIVE | SAMPI_FACT_DEAD);
    if (known || *searches <= 0) return known & SAMPI_FACT_DEAD;
    --*searches;
    return !sampi_grammar_matches_any(d, both) && !d->status;
}

/* Returns whether each text of n, a few characters or classes of them, is one unit. */
static bool sampi_grammar_is_unit(sampi_deriver *d, sampi_units *is, sampi_node n)
{
    if (n == is->unit) return true;
    if (sampi_grammar_at(&d->tree, n)->facts & (SAMPI_FACT_EMPTY | SAMPI_FACT_COUNT | SAMPI_FACT_CALLS)) return false;
    for (sampi_node end = n; sampi_grammar_at(&d->tree, end)->kind == SAMPI_NODE_SEQ;
         end = sampi_grammar_at(&d->tree, end)->b)
        if (sampi_grammar_at(&d->tree, sampi_grammar_at(&d->tree, end)->a)->kind == SAMPI_NODE_REPEAT) return false;
    return sampi_grammar_are_apart(d, n, sampi_grammar_checked_node(d, sampi_tree_not(&d->tree, is->unit)),
                                   &is->searches);
}

/* Of how many units texts are: at least `least` and at most `most`; each number from `from` to `to` occurs. If a text
   has begun, at most `left` more units are enough to end it; and it can be continued to each larger number of them, or
   at most to `short_of` more. */
typedef struct sampi_extent {
    int64_t least, most, from, to, left, short_of;
} sampi_extent;

/* Returns whether the numbers of units have no upper bound, and no gaps. */
static bool sampi_grammar_extent_grows(const sampi_extent *s)
{
    return s->from <= s->to && s->to >= SAMPI_UNITS_INFINITE;
}

static int64_t sampi_grammar_larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t sampi_grammar_smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Returns the extent of the texts of one part, a, behind which are those of another one. */
static sampi_extent sampi_grammar_extent_of_both(sampi_extent a, sampi_extent b)
{
    const bool none = a.from > a.to || b.from > b.to, grows = sampi_grammar_extent_grows(&b);
    const sampi_extent both = { a.least + b.least,
                                a.most + b.most,
                                none ? 1 : a.from + b.from,
                                none ? 0 : a.to + b.to,
                                sampi_grammar_larger(a.left + (grows ? b.from : b.least), b.left),
                                grows ? b.short_of : sampi_grammar_larger(a.short_of + b.most, b.short_of) };
    return both;
}

/* Returns the extent of the texts of two alternatives. */
static sampi_extent sampi_grammar_extent_of_either(sampi_extent a, sampi_extent b)
{
    sampi_extent both = b.to - b.from > a.to - a.from ? b : a;
    if (a.from <= a.to && b.from <= b.to && a.from <= b.to + 1 && b.from <= a.to + 1) {
        both.from = sampi_grammar_smaller(a.from, b.from);
        both.to = sampi_grammar_larger(a.to, b.to);
    }
    both.least = sampi_grammar_smaller(a.least, b.least);
    both.most = sampi_grammar_larger(a.most, b.most);
    both.left = sampi_grammar_larger(a.left, b.left);
    both.short_of = sampi_grammar_larger(a.short_of, b.short_of);
    return both;
}

/* Returns the extent of `least` to `most` texts, one behind the other; most: SAMPI_UNITS_INFINITE: any number. */
static sampi_extent sampi_grammar_extent_of_repeat(sampi_extent one, int64_t least, int64_t most, int32_t far)
{
    const int64_t wide = one.to - one.from;
    sampi_extent all = {
        one.least * least, one.most * most, 0, 0, one.left + one.least * least, SAMPI_UNITS_INFINITE
    };
    if (wide > 0 || (wide == 0 && one.from == 1)) {
        /* from `first` repetitions on, the numbers of one repetition more touch those before */
        const int64_t first = sampi_grammar_larger(least, wide ? (one.from + wide - 2) / wide : 0);
        all.from = first <= most ? first * one.from : 1;
        all.to = first <= most ? most * one.to : 0;
    } else if (least > 0) {
        all.from = wide < 0 ? 1 : one.from * least;
        all.to = wide < 0 ? 0 : one.from * least;
    }
    if (most >= SAMPI_UNITS_INFINITE && one.from <= 1 && one.to >= 1)
        all.short_of = 0;
    else if (sampi_grammar_extent_grows(&one))
        all.short_of = most > far ? 0 : one.short_of;
    else if (most <= far)
        all.short_of = one.short_of + all.most;
    return all;
}

/* Finds the extent of n. `last`: n is behind everything else. Returns false if it is not known, as where a text of n
   is not made of whole units. */
static bool sampi_grammar_extent_of(sampi_deriver *d, sampi_units *is, sampi_node n, bool last, sampi_extent *extent)
{
    sampi_tree *t = &d->tree;
    sampi_extent other;
    int64_t ones = 0;
    n = sampi_grammar_inlined(d, n);
    const sampi_expr e = *sampi_grammar_at(t, n);
    if (--is->patience < 0 || d->status) return false;
    const bool ends = last && is->rest != SAMPI_EMPTY;
    if (ends && n != is->rest && e.kind != SAMPI_NODE_SEQ && e.kind != SAMPI_NODE_ALT) return false;
    if (!ends && n != SAMPI_EMPTY && e.kind != SAMPI_NODE_REPEAT) ones = sampi_grammar_is_unit(d, is, n);
    if (e.kind == SAMPI_NODE_TEXT && !ones && !ends) {
        sampi_node now = is->unit;
        for (int32_t i = 0; i < e.b && now != SAMPI_NEVER; i++) {
            now = sampi_grammar_derive(d, now, sampi_grammar_bytes_at(t, e.a)[i]);
            if (!(sampi_grammar_at(t, now)->facts & SAMPI_FACT_EMPTY)) continue;
            ones++;
            now = is->unit;
        }
        if (now != is->unit) return false;
    }
    if (ones && (e.facts & SAMPI_FACT_AND) && !(sampi_grammar_facts_of(t, n) & SAMPI_FACT_ALIVE)) return false;
    extent->least = extent->most = extent->from = extent->to = extent->left = extent->short_of = ones;
    if (ones || n == SAMPI_EMPTY || (ends && n == is->rest)) return true;
    switch (e.kind) {
        case SAMPI_NODE_SEQ:
        case SAMPI_NODE_ALT:
            if (!sampi_grammar_extent_of(d, is, e.b, last, &other) ||
                !sampi_grammar_extent_of(d, is, e.a, last && e.kind == SAMPI_NODE_ALT, extent))
                return false;
            *extent = e.kind == SAMPI_NODE_SEQ ? sampi_grammar_extent_of_both(*extent, other)
                                               : sampi_grammar_extent_of_either(*extent, other);
            break;
        case SAMPI_NODE_REPEAT:
            if (!sampi_grammar_extent_of(d, is, e.a, false, &other)) return false;
            *extent = sampi_grammar_extent_of_repeat(other, e.b, e.c < 0 ? (int64_t)SAMPI_UNITS_INFINITE : e.c,
                                                     is->far);
            break;
        default: return false;
    }
    int64_t *numbers[6] = { &extent->least, &extent->most, &extent->from,
                            &extent->to,    &extent->left, &extent->short_of };
    for (int i = 0; i < 6; i++) *numbers[i] = sampi_grammar_smaller(*numbers[i], SAMPI_UNITS_INFINITE);
    return true;
}

/* Takes a text with which all parts begin off them, such as a quote. */
static void sampi_grammar_take_off(const sampi_tree *t, sampi_conjuncts *all)
{
    for (;;) {
        const sampi_expr *first = sampi_grammar_at(t, all->part[0]);
        bool same = first->kind == SAMPI_NODE_SEQ && sampi_grammar_at(t, first->a)->kind == SAMPI_NODE_TEXT;
        for (int32_t i = 1; i < all->n && same; i++) {
            const sampi_expr *e = sampi_grammar_at(t, all->part[i]);
            same = e->kind == SAMPI_NODE_SEQ && e->a == first->a;
        }
        if (!same) return;
        for (int32_t i = 0; i < all->n; i++) all->part[i] = sampi_grammar_at(t, all->part[i])->b;
    }
}

/* Finds a part of an AND, `all`, that is a number of units, and the extents of the others, as far as they are known.
   Does so from part i on. Returns the index of the part, or -1. For each part at most so many searches find out what
   is a unit. */
static int32_t sampi_grammar_extents_of(sampi_deriver *d, const sampi_conjuncts *all, int32_t i, int32_t far,
                                        int32_t searches, sampi_extent *extent, bool *known)
{
    enum { PATIENCE = 256 };
    sampi_tree *t = &d->tree;
    for (; i < all->n && !d->status; i++) {
        int32_t left = searches;
        const sampi_counted c = sampi_grammar_counted_of(t, all->part[i]);
        const int kind = sampi_grammar_at(t, c.rest)->kind;
        if (c.most == 1 || (kind != SAMPI_NODE_EMPTY && kind != SAMPI_NODE_TEXT)) continue;
        if (sampi_grammar_at(t, c.one)->facts & (SAMPI_FACT_EMPTY | SAMPI_FACT_COUNT | SAMPI_FACT_CALLS)) continue;
        const sampi_node more = sampi_grammar_checked_node(d, sampi_tree_not(t, SAMPI_EMPTY));
        if (!sampi_grammar_are_apart(d, c.one, sampi_grammar_join_sequence(d, c.one, more), &left)) continue;
        for (int32_t k = 0; k < all->n; k++) {
            sampi_units units = { c.one, c.rest, far, left, PATIENCE };
            known[k] = k != i && sampi_grammar_extent_of(d, &units, all->part[k], true, &extent[k]) && !d->status;
            left = units.searches;
            sampi_grammar_charge(d, (PATIENCE - units.patience) / 2);
        }
        return d->status ? -1 : i;
    }
    return -1;
}

/* Returns whether the parts of n, an AND, match together, as far as their numbers of units show it: SAMPI_FACT_ALIVE,
   SAMPI_FACT_DEAD, or 0 if it is not known. `searches` as above. */
static int32_t sampi_grammar_compare_counts(sampi_deriver *d, sampi_node n, int32_t searches)
{
    sampi_conjuncts all;
    sampi_extent extent[SAMPI_CONJUNCTS];
    bool known[SAMPI_CONJUNCTS];
    if (!(sampi_grammar_at(&d->tree, n)->facts & SAMPI_FACT_COUNT) || !sampi_grammar_conjuncts_of(d, n, &all))
        return 0;
    sampi_grammar_take_off(&d->tree, &all);
    for (int32_t i = 0; (i = sampi_grammar_extents_of(d, &all, i, 0, searches, extent, known)) >= 0; i++) {
        const sampi_counted c = sampi_grammar_counted_of(&d->tree, all.part[i]);
        for (int32_t k = 0; k < all.n; k++) {
            if (!known[k]) continue;
            if (extent[k].most < c.least || extent[k].least > c.most) return SAMPI_FACT_DEAD;
            const int64_t from = sampi_grammar_larger(extent[k].from, c.least);
            if (all.n == 2 && from <= extent[k].to && from <= c.most) return SAMPI_FACT_ALIVE;
        }
    }
    return 0;
}
