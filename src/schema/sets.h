/* ---- schemas: sets of texts ----
   A set of texts (sampi_texts) is all texts, the texts of an expression, or a list of values. Union, intersection and
   complement return lists if they can: removing "abc" from a list is cheaper than an expression for all strings but
   "abc". */

static sampi_texts sampi_texts_any(void)
{
    sampi_texts all = { SAMPI_NEVER, 0, SAMPI_ANY };
    return all;
}

static sampi_texts sampi_texts_none(void)
{
    sampi_texts none = { SAMPI_NEVER, 0, 0 };
    return none;
}

static SAMPI_COLD sampi_texts sampi_texts_some(sampi_schema *x, sampi_node node)
{
    sampi_schema_check(x, node);
    sampi_texts some = { node, 0, node == SAMPI_NEVER ? 0 : SAMPI_SOME };
    return some;
}

/* Returns the hash table's slot of a number, or the free slot for it; NULL if too many collide. */
static SAMPI_COLD int32_t *sampi_schema_value_slot(const sampi_schema *x, const sampi_decimal *d)
{
    const uint32_t mask = (uint32_t)x->values.n - 1;
    uint32_t h = sampi_place_of(d->d, (size_t)d->n) + (uint32_t)d->point * 0x9E3779B1u + d->negative;
    sampi_decimal other;
    for (uint32_t i = 0; i < SAMPI_JSON_PROBES; i++, h++) {
        int32_t *slot = sampi_schema_ints(&x->values, (int32_t)(h & mask));
        SAMPI_COUNT_STEPS(1);
        if (*slot < 0 || (sampi_decimal_of(x, *slot, &other) && sampi_decimal_same(d, &other))) return slot;
    }
    return NULL;
}

/* Doubles the hash table of numbers and enters all numbers again. */
static SAMPI_COLD bool sampi_schema_values_rehash(sampi_schema *x)
{
    sampi_vec old = x->values;
    sampi_decimal d;
    if (!sampi_grammar_table_doubled(&x->values, &old))
        return sampi_schema_fail(x, SAMPI_HERE, SAMP_E_NOMEM, "out of memory"), false;
    for (int32_t i = 0; i < old.n && !x->status; i++) {
        const int32_t string = *sampi_schema_ints(&old, i);
        if (string < 0 || !sampi_decimal_of(x, string, &d)) continue;
        int32_t *slot = sampi_schema_value_slot(x, &d);
        if (slot)
            *slot = string;
        else
            sampi_schema_fail(x, SAMPI_HERE, SAMP_E_RANGE, "too many numbers collide");
    }
    sampi_grammar_vec_free(&old);
    return !x->status;
}

/* Returns the string that represents the value of a number or string of the document. Equal values have the same
   string: 1 and 1.0, for example. */
static SAMPI_COLD int32_t sampi_schema_value(sampi_schema *x, int32_t node)
{
    const int32_t string = sampi_schema_doc(x, node)->text;
    sampi_decimal d;
    if (sampi_schema_doc(x, node)->kind != SAMPI_JSON_NUMBER) return string;
    if (x->value_of[string]) return x->value_of[string] - 1;
    int32_t value = string;
    if (sampi_decimal_of(x, string, &d)) {
        if (2 * (x->n_values + 1) > x->values.n && !sampi_schema_values_rehash(x)) return string;
        int32_t *slot = sampi_schema_value_slot(x, &d);
        if (!slot) return sampi_schema_fail(x, node, SAMP_E_RANGE, "too many numbers collide"), string;
        if (*slot >= 0) value = *slot;
        x->n_values += *slot < 0;
        *slot = value;
    }
    x->value_of[string] = value + 1;
    return value;
}

/* Returns the node of the texts of one value, which is a number or a string. */
static SAMPI_COLD sampi_node sampi_schema_value_text(sampi_schema *x, int32_t value)
{
    return sampi_schema_doc(x, value)->kind == SAMPI_JSON_STRING
               ? sampi_schema_quoted(x, sampi_schema_doc(x, value)->text)
               : sampi_schema_exactly(x, value);
}

static SAMPI_COLD sampi_node sampi_texts_node(sampi_schema *x, sampi_texts a, bool string)
{
    if (a.n == SAMPI_ANY) return string ? x->string : x->number;
    if (a.n == SAMPI_SOME) return a.node;
    sampi_node node = SAMPI_NEVER;
    for (int32_t i = 0; i < a.n && node >= 0 && sampi_schema_work(x, SAMPI_HERE, 1); i++)
        node = sampi_tree_alt(x->tree, sampi_schema_value_text(x, *sampi_schema_ints(&x->arena, a.list + i)), node);
    return node;
}

/* Marks the values of a list, so that sampi_schema_is_marked finds them. The caller must not pass one of the sets
   SAMPI_ANY and SAMPI_SOME, which have no list. If the list was the last one marked and has only grown since, only its
   new values are marked. */
static SAMPI_COLD void sampi_texts_mark(sampi_schema *x, sampi_texts list)
{
    int32_t i = x->marked.list == list.list && x->marked.n <= list.n ? x->marked.n : 0;
    if (i == 0) x->round++;
    for (; i < list.n && (i % 64 || sampi_schema_work(x, SAMPI_HERE, 1)); i++) {
        const int32_t value = sampi_schema_value(x, *sampi_schema_ints(&x->arena, list.list + i));
        SAMPI_COUNT_STEPS(1);
        x->marks[value] = x->round;
    }
    x->marked = list;
}
static SAMPI_COLD bool sampi_schema_is_marked(const sampi_schema *x, int32_t value)
{
    return x->marks[value] == x->round;
}

/* Returns the values of list a that are in list b; with `in` false, those that are not in list b. */
static SAMPI_COLD sampi_texts sampi_texts_filter(sampi_schema *x, sampi_texts a, sampi_texts b, bool in)
{
    sampi_texts both = { SAMPI_NEVER, x->arena.n, 0 };
    sampi_texts_mark(x, b);
    for (int32_t i = 0; i < a.n && sampi_schema_step(x, SAMPI_HERE); i++) {
        int32_t value = *sampi_schema_ints(&x->arena, a.list + i);
        if (sampi_schema_is_marked(x, sampi_schema_value(x, value)) == in) sampi_schema_push(x, &x->arena, value);
    }
    both.n = x->arena.n - both.list;
    return both;
}

/* Returns whether the node is "all strings of a certain length". If so, *r is the repetition in it: characters r->a, at
   least r->b and at most r->c of them (-1: any number). */
static SAMPI_COLD bool sampi_schema_is_length(const sampi_schema *x, sampi_node node, sampi_expr *r)
{
    const sampi_tree *t = x->tree;
    if (node < 0 || x->status) return false;
    sampi_node inside = node;
    if (!x->raw) { /* the quotes */
        if (sampi_grammar_at(t, node)->kind != SAMPI_NODE_SEQ) return false;
        const sampi_node quote = sampi_grammar_at(t, x->string)->a, behind = sampi_grammar_at(t, node)->b;
        if (sampi_grammar_at(t, node)->a != quote || sampi_grammar_at(t, behind)->kind != SAMPI_NODE_SEQ)
            return false;
        if (sampi_grammar_at(t, behind)->b != quote) return false;
        inside = sampi_grammar_at(t, behind)->a;
    }
    *r = *sampi_grammar_at(t, inside);
    if (r->kind != SAMPI_NODE_REPEAT) { /* a length of 1 is not a REPEAT node */
        r->a = inside;
        r->b = r->c = 1;
    }
    return r->a == x->any || r->a == x->character;
}

/* Returns the node of the strings of at least `least` and at most `most` characters (-1: any number). */
static SAMPI_COLD sampi_node sampi_schema_strings_of_length(const sampi_schema *x, sampi_node character,
                                                            int32_t least, int32_t most)
{
    return sampi_schema_in_quotes(x, sampi_tree_repeat(x->tree, character, least, most));
}

/* Returns whether the node matches the multiples of a number. If so, that number is r->a times 10 to the power of
   -r->c, and r->b is 1 if its decimal places end (sampi_tree_multiple). */
static SAMPI_COLD bool sampi_schema_is_multiples(const sampi_schema *x, sampi_node node, sampi_expr *r)
{
    const sampi_tree *t = x->tree;
    if (node < 0 || x->status || sampi_grammar_at(t, node)->kind != SAMPI_NODE_SEQ) return false;
    const sampi_node sign = sampi_grammar_at(t, node)->a;
    *r = *sampi_grammar_at(t, sampi_grammar_at(t, node)->b);
    const bool begins = r->kind == SAMPI_NODE_MULTIPLE && r->b == 0 && r->c % 8 == SAMPI_MULTIPLE_BEGINS;
    r->b = r->c & SAMPI_MULTIPLE_ENDS ? 1 : 0;
    r->c /= SAMPI_MULTIPLE_PLACE;
    return begins && sign == sampi_schema_optional(x->tree, sampi_tree_text(x->tree, "-", 1));
}

/* Returns the node of the common multiples of two numbers, as the multiples of one number; NEVER if that number is too
   large. */
static SAMPI_COLD sampi_node sampi_schema_common_multiples(sampi_schema *x, const sampi_expr *p, const sampi_expr *q)
{
    enum { MOST = 100000000 };
    sampi_tree *t = x->tree;
    int64_t a = p->a, b = q->a, first, rest;
    int32_t places = p->c > q->c ? p->c : q->c;
    for (int32_t i = p->c; i < places && a <= MOST; i++) a *= 10;
    for (int32_t i = q->c; i < places && b <= MOST; i++) b *= 10;
    for (first = a, rest = b; rest;) { /* Euclid's algorithm */
        const int64_t next = first % rest;
        first = rest;
        rest = next;
    }
    if (a > MOST || b < 1 || b > MOST || a / first > MOST / b) return SAMPI_NEVER;
    for (a = a / first * b; places > 0 && a % 10 == 0; places--) a /= 10;
    return sampi_tree_seq(t, sampi_schema_optional(t, sampi_tree_text(t, "-", 1)),
                          sampi_tree_multiple(t, (int32_t)a, places, p->b || q->b));
}

/* Returns the node of the texts that both a and b match, if b is the multiples of a number and a is too, or is an AND
   of multiples and something else. Otherwise returns NEVER. */
static SAMPI_COLD sampi_node sampi_schema_both_multiples(sampi_schema *x, sampi_node a, sampi_node b)
{
    sampi_expr p, q;
    if (a < 0 || !sampi_schema_is_multiples(x, b, &q)) return SAMPI_NEVER;
    if (sampi_schema_is_multiples(x, a, &p)) return sampi_schema_common_multiples(x, &p, &q);
    const sampi_expr e = *sampi_grammar_at(x->tree, a);
    for (int i = 0; i < 2 && e.kind == SAMPI_NODE_AND; i++) {
        const sampi_node part = i ? e.b : e.a, other = i ? e.a : e.b;
        if (!sampi_schema_is_multiples(x, part, &p)) continue;
        const sampi_node both = sampi_schema_common_multiples(x, &p, &q);
        return both == SAMPI_NEVER ? both : sampi_tree_and(x->tree, both, other);
    }
    return SAMPI_NEVER;
}

/* Returns the strings of a length, which is the node `all` with the repetition r. If `other` is made of one pattern,
   format or value, all its texts have the shortest spelling, and so has the result: then one of the two is often
   contained in the other. */
static SAMPI_COLD sampi_node sampi_schema_shortest_length(const sampi_schema *x, sampi_node all, const sampi_expr *r,
                                                          sampi_node other)
{
    const sampi_tree *t = x->tree;
    if (other < 0 || sampi_grammar_at(t, other)->kind != SAMPI_NODE_SEQ ||
        sampi_grammar_at(t, other)->a != sampi_grammar_at(t, x->string)->a)
        return all;
    return sampi_schema_strings_of_length(x, x->character, r->b, r->c);
}

/* Returns the node of the texts that both a and b match. Two ranges of lengths become one range, and two sets of
   multiples become one: two counters in one expression would need too many states. */
static SAMPI_COLD sampi_node sampi_schema_intersection(sampi_schema *x, sampi_node a, sampi_node b)
{
    sampi_expr p, q;
    sampi_node both = sampi_schema_both_multiples(x, a, b);
    if (both == SAMPI_NEVER) both = sampi_schema_both_multiples(x, b, a);
    if (both != SAMPI_NEVER) return both;
    const bool a_is = sampi_schema_is_length(x, a, &p), b_is = sampi_schema_is_length(x, b, &q);
    if (!a_is || !b_is) {
        if (a_is) a = sampi_schema_shortest_length(x, a, &p, b);
        if (b_is) b = sampi_schema_shortest_length(x, b, &q, a);
        return sampi_tree_and(x->tree, a, b);
    }
    int32_t least = p.b > q.b ? p.b : q.b, most = p.c < 0 || (q.c >= 0 && q.c < p.c) ? q.c : p.c;
    return most >= 0 && least > most ? (sampi_node)SAMPI_NEVER
                                     : sampi_schema_strings_of_length(x, p.a == x->any ? q.a : p.a, least, most);
}

static SAMPI_COLD sampi_texts sampi_texts_and(sampi_schema *x, sampi_texts a, sampi_texts b, bool string)
{
    if (a.n == SAMPI_ANY || b.n == 0) return b;
    if (b.n == SAMPI_ANY || a.n == 0) return a;
    if (a.n > 0 && b.n > 0) return sampi_texts_filter(x, a, b, true);
    return sampi_texts_some(
        x, sampi_schema_intersection(x, sampi_texts_node(x, a, string), sampi_texts_node(x, b, string)));
}

/* Returns the union of two sets. Two lists become one, without copying list a if b's new values directly follow it in
   the arena. */
static SAMPI_COLD sampi_texts sampi_texts_or(sampi_schema *x, sampi_texts a, sampi_texts b, bool string)
{
    if (a.n == SAMPI_ANY || b.n == 0) return a;
    if (b.n == SAMPI_ANY || a.n == 0) return b;
    if (a.n < 0 || b.n < 0)
        return sampi_texts_some(
            x, sampi_tree_alt(x->tree, sampi_texts_node(x, a, string), sampi_texts_node(x, b, string)));
    sampi_texts either = sampi_texts_filter(x, b, a, false);
    int32_t list = x->arena.n;
    if (a.list + a.n == either.list) { /* the new values directly follow list a in the arena */
        a.n += either.n;
        return a;
    }
    for (int32_t i = 0; i < a.n + either.n && (i % 64 || sampi_schema_work(x, SAMPI_HERE, 4)); i++)
        sampi_schema_push(x, &x->arena, *sampi_schema_ints(&x->arena, i < a.n ? a.list + i : either.list + i - a.n));
    either.list = list;
    either.n = x->arena.n - list;
    return either;
}

/* Returns the complement of a set. The complement of a range of lengths is the shorter and the longer strings. */
static SAMPI_COLD sampi_texts sampi_texts_not(sampi_schema *x, sampi_texts a, bool string)
{
    if (a.n == SAMPI_ANY) return sampi_texts_none();
    if (a.n == 0) return sampi_texts_any();
    sampi_expr r;
    if (string && a.n == SAMPI_SOME && sampi_schema_is_length(x, a.node, &r)) {
        sampi_node longer = r.c < 0 ? SAMPI_NEVER : sampi_schema_strings_of_length(x, x->character, r.c + 1, -1);
        sampi_node shorter = r.b == 0 ? SAMPI_NEVER : sampi_schema_strings_of_length(x, x->character, 0, r.b - 1);
        return sampi_texts_some(x, sampi_tree_alt(x->tree, shorter, longer));
    }
    const bool over = x->over;
    x->over = !over; /* what is allowed excludes a value in every spelling */
    const sampi_node without = sampi_texts_node(x, a, string);
    x->over = over;
    return sampi_texts_some(x, sampi_schema_except(x->tree, string ? x->shortest : sampi_schema_plain(x), without));
}
