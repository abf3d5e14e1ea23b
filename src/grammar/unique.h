/* ---- grammars: values that must differ ----
   The items of an array with uniqueItems are calls of one rule (SAMPI_UNIQUE_ITEM), and the array is one too. So are
   the names of an object, and the object, where minProperties counts names that the schema does not list. The states
   know nothing of it, so they do not depend on the items that came. Where bytes are read one by one, the text of the
   array is at hand, and each new item is compared with those before it: an item that came before may not end, and no
   item may begin so that it can only become one of them. What a mask leaves out because of it: repeated.h.

   The items are null, booleans, numbers without an exponent, and strings in their shortest spelling. So two of them are
   equal if their texts are, but for zeros at the end of a fraction and the sign of zero. */

/* How the item that is being read compares with those before it: it is the beginning of none; of one; it equals one. */
enum { SAMPI_NEW, SAMPI_BEGINS, SAMPI_CAME };

static bool sampi_grammar_is_gap(uint8_t byte)
{
    return byte == ' ' || byte == ',' || byte == '[' || byte == '{' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Appends bytes to the text, if it is needed. */
static void sampi_grammar_read_text(sampi_matcher *m, const uint8_t *bytes, size_t n)
{
    void *room = n && m->grammar->unique ? sampi_grammar_append(&m->d, &m->text, 1, (int32_t)n) : NULL;
    if (room) memcpy(room, bytes, n);
}

/* Returns where the value of a member ends that begins at byte i of the text; `end` if it does not end before that. */
static int32_t sampi_grammar_behind_value(const uint8_t *text, int32_t end, int32_t i)
{
    int32_t depth = 0;
    for (bool quoted = false; i < end && (depth || quoted || text[i] != ','); i++) {
        const uint8_t byte = text[i];
        if (byte == '"') quoted = !quoted;
        if (quoted && byte == '\\') i++;
        if (!quoted) depth += (byte == '[' || byte == '{') - (byte == ']' || byte == '}');
    }
    return i;
}

/* Finds the next item of an array, or name of an object, in the text from *at on. Sets *from to its beginning and *at
   to its end. Returns false if there is none before `end`. */
static bool sampi_grammar_next_value(const uint8_t *text, int32_t end, int32_t *at, int32_t *from)
{
    int32_t i = *at;
    while (i < end && sampi_grammar_is_gap(text[i])) i++;
    if (i < end && text[i] == ':') i = sampi_grammar_behind_value(text, end, i);
    while (i < end && sampi_grammar_is_gap(text[i])) i++;
    const bool any = i < end, quoted = any && text[i] == '"';
    for (*from = i++; i < end && (quoted ? text[i] != '"' : !sampi_grammar_is_gap(text[i])); i++)
        if (quoted && text[i] == '\\') i++;
    *at = i + quoted;
    return any;
}

/* Compares the first n bytes of an item with the whole value of an earlier one. Returns SAMPI_NEW and so on. */
static int sampi_grammar_compare_value(const uint8_t *value, int32_t n_value, const uint8_t *text, int32_t n)
{
    const bool number = value[0] == '-' || (value[0] >= '0' && value[0] <= '9');
    bool point = false;
    for (int32_t i = 0; i < n_value && number; i++) point |= value[i] == '.';
    while (point && value[n_value - 1] == '0') n_value--;
    if (point && value[n_value - 1] == '.') point = --n_value == 0;
    if (number && value[n_value - 1] == '0' && n_value == 1 + (value[0] == '-')) { /* zero, with any sign */
        value += n_value - 1;
        n_value = 1;
        if (n > 0 && text[0] == '-') text++, n--;
    }
    if (n < n_value) return n && memcmp(value, text, (size_t)n) ? SAMPI_NEW : SAMPI_BEGINS;
    if (memcmp(value, text, (size_t)n_value)) return SAMPI_NEW;
    if (n == n_value) return SAMPI_CAME;
    text += n_value;
    n -= n_value;
    if (!number || (!point && text[0] != '.')) return SAMPI_NEW;
    if (!point && n == 1) return SAMPI_BEGINS;
    for (int32_t i = !point; i < n; i++)
        if (text[i] != '0') return SAMPI_NEW;
    return SAMPI_CAME;
}

/* Compares the item that begins at byte `item` of the text, as far as it was read, with an earlier one. If it is the
   beginning of that, or equal, the earlier one's place is pushed on the stack. *how becomes the larger one of itself
   and the result. */
static void sampi_grammar_compare_item(sampi_matcher *m, int32_t from, int32_t to, int32_t item, int *how)
{
    const uint8_t *text = (const uint8_t *)m->text.data;
    const int one = sampi_grammar_compare_value(text + from, to - from, text + item, m->text.n - item);
    if (one != SAMPI_NEW) sampi_grammar_work_push_pair(&m->d, from, to);
    if (one > *how) *how = one;
}

/* Compares an item with all before it in the array that begins at byte `array`. */
static int sampi_grammar_compare_items(sampi_matcher *m, int32_t array, int32_t item)
{
    int how = SAMPI_NEW;
    sampi_grammar_charge(&m->d, (item - array) / 32);
    for (int32_t at = array, from; sampi_grammar_next_value((const uint8_t *)m->text.data, item, &at, &from);)
        sampi_grammar_compare_item(m, from, at, item, &how);
    return how;
}

/* Compares an item, after one more byte of it, with those whose places are on the stack from index `first` on. */
static int sampi_grammar_compare_again(sampi_matcher *m, int32_t first, int32_t item)
{
    int how = SAMPI_NEW;
    const int32_t end = m->d.work.n;
    sampi_grammar_charge(&m->d, (end - first) / 8);
    for (int32_t i = first; i < end; i += 2) {
        const sampi_node *place = (const sampi_node *)m->d.work.data + i;
        sampi_grammar_compare_item(m, place[0], place[1], item, &how);
    }
    return how;
}

static int sampi_grammar_unique_of(const sampi_matcher *m, const sampi_frame *f)
{
    return sampi_grammar_rule_at(&m->d.tree, f->rule)->unique;
}

/* Returns the byte of the text where the array begins whose item the frame (a call of a rule) is, or the object of
   whose members it is a name; -1 if it is none. */
static int32_t sampi_grammar_array_of(const sampi_matcher *m, int32_t frame)
{
    const sampi_frame *f = sampi_grammar_frame_at(m, frame);
    if (frame == 0 || sampi_grammar_unique_of(m, f) != SAMPI_UNIQUE_ITEM) return -1;
    do /* a member is a call of its own */
        f = sampi_grammar_frame_at(m, sampi_grammar_edge_at(m, f->edge)->frame);
    while (sampi_grammar_unique_of(m, f) != SAMPI_UNIQUE_ARRAY);
    return f->from;
}

/* Returns whether a frame is an item that its array has already. */
static bool sampi_grammar_came_before(sampi_matcher *m, int32_t frame)
{
    const int32_t array = sampi_grammar_array_of(m, frame), bottom = m->d.work.n;
    const bool came = array >= 0 &&
                      sampi_grammar_compare_items(m, array, sampi_grammar_frame_at(m, frame)->from) == SAMPI_CAME;
    m->d.work.n = bottom;
    return came;
}

/* Returns whether an item that was read up to `state` can become one that differs from all before it. It compares as
   `how` says with those whose places are on the stack from index `first` on. At most `depth` bytes are tried. */
static bool sampi_grammar_can_differ(sampi_matcher *m, int32_t state, int32_t item, int how, int32_t first,
                                     int32_t depth)
{
    const int32_t bottom = m->d.work.n;
    bool differs = how == SAMPI_NEW ||
                   (how == SAMPI_BEGINS && (sampi_grammar_dfa_state_at(m, state)->flags & SAMPI_STATE_ENDS));
    for (int32_t b = 0; b < 256 && !differs && depth > 0; b++) {
        const uint8_t byte = (uint8_t)b;
        const int32_t next = sampi_grammar_next(m, state, byte);
        if (!next || !sampi_grammar_step(&m->d)) continue;
        sampi_grammar_read_text(m, &byte, 1);
        const int now = m->d.status ? SAMPI_CAME : sampi_grammar_compare_again(m, first, item);
        differs = sampi_grammar_can_differ(m, next, item, now, bottom, depth - 1);
        m->d.work.n = bottom;
        m->text.n--;
    }
    return differs;
}

enum { SAMPI_DIFFERS_WITHIN = 1000 }; /* how far an item that goes on like an earlier one is followed */

/* Returns whether an item of the parser need not become a value that came before. */
static bool sampi_grammar_item_can_differ(sampi_matcher *m, int32_t state, int32_t frame)
{
    const int32_t array = sampi_grammar_array_of(m, frame), item = sampi_grammar_frame_at(m, frame)->from,
                  first = m->d.work.n;
    if (array < 0) return true;
    const int how = sampi_grammar_compare_items(m, array, item);
    const bool differs = sampi_grammar_can_differ(m, state, item, how, first, SAMPI_DIFFERS_WITHIN);
    m->d.work.n = first;
    return differs;
}
