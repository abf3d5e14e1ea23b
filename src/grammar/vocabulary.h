/* ---- the vocabulary ----
   All tokens form a trie over their bytes, stored in depth-first order. So a walk over the trie is a loop over an
   array, and one addition skips all tokens that begin with the same bytes. A node of the trie is two 32-bit words:

       token << 8 | byte          the token that ends at this node, or 0xffffff
       size << 10 | depth         the number of nodes in the node's subtree, itself included; the number of bytes up to
                                  this node

   There are two tries, one after the other. The first trie has the plain tokens: those of whole characters that JSON
   strings contain without an escape. Grammars mostly allow such characters by kinds: all letters, say, or all but
   spaces. So each character has one of 16 kinds (sampi_grammar_kind_of), and the other parts of the index list tokens
   by their kinds. With these lists many tokens are allowed at once, without a walk. The index is an array of 32-bit
   words, in this order:

       head       see below
       plain      a set of bits: the tokens of the first trie
       all        a set of bits: the tokens of both tries, except those that begin with byte 0
       groups     the plain tokens are grouped by the set of kinds that they contain; for each group this set, and the
                  index of the group's first token in `listed`. Behind the last group: 0 and n_listed
       listed     the tokens of all groups, the shortest of each group first: token | number of characters << 24 (255:
                  255 or more)
       below      a word for each node of the first trie, which describes the nodes below it: the set of their kinds |
                  the number of characters of the longest path << 16
       nodes      the nodes of both tries */

#define SAMPI_INDEX_MAGIC 0x33495653u /* "SVI3" */
/* the words of the head: magic, n_vocab, n_nodes, n_plain, checksum of the rest (2), n_groups, n_listed */
#define SAMPI_INDEX_HEAD 8
#define SAMPI_NO_TOKEN   0xffffffu /* the token of a trie node at which no token ends */
#define SAMPI_ALL_KINDS  0xffffu   /* the set of all 16 kinds of characters */
#define SAMPI_KIND_WIDE  15        /* the kind of characters outside of ASCII, of up to 4 bytes */
#define SAMPI_MAX_PIECE  1023      /* the largest length of a token, in bytes */
#define SAMPI_MAX_TRIE   (1 << 22) /* the largest number of nodes in a trie */

struct samp_vocab_index {
    const samp_vocab *vocab;
    size_t serial;                              /* no other index in the process has the same serial number */
    const uint32_t *words;                      /* the whole index, in the form in which it is saved */
    uint32_t *own;                              /* the same address if the index owns the memory, else NULL */
    uint32_t n_vocab, n_nodes, n_plain, n_mask; /* n_mask: the number of words in a mask */
    uint32_t n_groups, n_listed, deepest;       /* deepest: the number of bytes of the longest token */
    const uint32_t *plain, *all, *groups, *listed, *below, *nodes;
    uint8_t kind_of[256]; /* the result of sampi_grammar_kind_of for each byte */
};

/* A token with its bytes, used while the tries are made. */
typedef struct sampi_token_text {
    const uint8_t *bytes;
    uint32_t n, token;
} sampi_token_text;

/* A range of tokens that have the same first `depth` bytes and must still be sorted. */
typedef struct sampi_sort_range {
    size_t first, n;
    uint32_t depth;
} sampi_sort_range;

/* Returns whether a sorts before b. Both must have the same first `depth` bytes. */
static bool sampi_grammar_token_text_before(const sampi_token_text *a, const sampi_token_text *b, uint32_t depth)
{
    const uint32_t n = (a->n < b->n ? a->n : b->n) - depth;
    const int order = memcmp(a->bytes + depth, b->bytes + depth, n);
    return order ? order < 0 : a->n < b->n;
}

/* Sorts a few tokens by insertion sort. All of them must have the same first `depth` bytes. */
static void sampi_grammar_sort_few(sampi_token_text *p, size_t n, uint32_t depth)
{
    for (size_t i = 1; i < n; i++) {
        const sampi_token_text x = p[i];
        size_t k = i;
        for (; k > 0 && sampi_grammar_token_text_before(&x, &p[k - 1], depth); k--) p[k] = p[k - 1];
        p[k] = x;
    }
}

/* Sorts tokens by their bytes: a radix sort that splits tokens with equal beginnings by their next byte (0: no next
   byte). Ranges to split wait in a list, so no set of tokens makes it slow or its recursion deep. `room` has n
   elements. */
static int sampi_grammar_sort_token_texts(sampi_token_text *p, sampi_token_text *room, size_t n)
{
    enum { FEW = 16 };
    int status = SAMP_OK;
    sampi_vec todo;
    sampi_sort_range now = { 0, n, 0 };
    memset(&todo, 0, sizeof todo);
    for (;;) {
        sampi_token_text *at = p + now.first;
        if (now.n < FEW) {
            sampi_grammar_sort_few(at, now.n, now.depth);
            if (todo.n == 0) break;
            now = ((const sampi_sort_range *)todo.data)[--todo.n];
            continue;
        }
        /* how many tokens have each next byte; later the positions where they begin, then where they end */
        size_t end[257] = { 0 }, first = 0;
        for (size_t i = 0; i < now.n; i++) end[at[i].n > now.depth ? 1 + at[i].bytes[now.depth] : 0]++;
        for (size_t c = 0; c < 257; c++) {
            const size_t count = end[c];
            end[c] = first;
            first += count;
        }
        for (size_t i = 0; i < now.n; i++) room[end[at[i].n > now.depth ? 1 + at[i].bytes[now.depth] : 0]++] = at[i];
        memcpy(at, room, now.n * sizeof *at);
        for (size_t c = 1; c < 257 && !status; c++) { /* range 0 is left out: tokens without a next byte are equal */
            if (end[c] - end[c - 1] < 2) continue;
            sampi_sort_range *more = (sampi_sort_range *)sampi_grammar_vec_add(&todo, sizeof *more, 1);
            if (!more) {
                status = SAMP_E_NOMEM;
                break;
            }
            more->first = now.first + end[c - 1];
            more->n = end[c] - end[c - 1];
            more->depth = now.depth + 1;
        }
        if (status || todo.n == 0) break;
        now = ((const sampi_sort_range *)todo.data)[--todo.n];
    }
    sampi_grammar_vec_free(&todo);
    return status;
}

/* Returns whether the token is plain: it has only whole UTF-8 characters, and no control character, quote or
   backslash. */
static bool sampi_grammar_token_text_is_plain(const sampi_token_text *p)
{
    for (uint32_t i = 0; i < p->n;) {
        uint8_t c = p->bytes[i];
        if (c < 0x80) {
            if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) return false;
            i++;
            continue;
        }
        uint32_t n = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
        if (n == 0 || i + n > p->n) return false;
        for (uint32_t k = 1; k < n; k++)
            if ((p->bytes[i + k] & 0xc0) != 0x80) return false;
        uint8_t next = p->bytes[i + 1]; /* refuses overlong forms, surrogates and code points above 10ffff */
        if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) || (c == 0xf0 && next < 0x90) ||
            (c == 0xf4 && next > 0x8f))
            return false;
        i += n;
    }
    return true;
}

/* Appends the trie of n sorted tokens. A node's size is written when the loop leaves the node. path [d] is the number
   of the current node at depth d. */
static int sampi_index_trie(sampi_vec *words, const sampi_token_text *p, size_t n, uint32_t *path)
{
    uint32_t depth = 0, first = (uint32_t)words->n / 2;
    uint32_t *root = (uint32_t *)sampi_grammar_vec_add(words, 4, 2);
    if (!root) return SAMP_E_NOMEM;
    root[0] = SAMPI_NO_TOKEN << 8;
    path[0] = first;
    for (size_t i = 0;; i++) {
        uint32_t same = 0; /* how many first bytes this token has in common with the one before */
        if (i > 0 && i < n)
            while (same < p[i].n && same < p[i - 1].n && p[i].bytes[same] == p[i - 1].bytes[same]) same++;
        if (i < n && same == p[i].n) same--; /* equal tokens are neighbours; each gets a last node of its own */
        uint32_t end = (uint32_t)words->n / 2;
        for (; depth > same || i == n; depth--) {
            ((uint32_t *)words->data)[2 * (size_t)path[depth] + 1] = (end - path[depth]) << 10 | depth;
            if (depth == 0) return SAMP_OK;
        }
        for (depth = same; depth < p[i].n;) {
            uint32_t *node = (uint32_t *)sampi_grammar_vec_add(words, 4, 2);
            if (!node) return SAMP_E_NOMEM;
            if (words->n / 2 >= SAMPI_MAX_TRIE) return SAMP_E_RANGE;
            node[0] = SAMPI_NO_TOKEN << 8 | p[i].bytes[depth];
            path[++depth] = (uint32_t)words->n / 2 - 1;
        }
        uint32_t *leaf = (uint32_t *)words->data + 2 * (size_t)path[depth];
        leaf[0] = p[i].token << 8 | (leaf[0] & 0xff);
    }
}

/* Returns the kind (0 to 15) of a character by its first byte. Letters have four kinds, because some patterns allow
   only hexadecimal digits. Punctuation marks that patterns often name have a kind each. All other ASCII characters
   share one kind, and so do all characters outside of ASCII. */
static uint32_t sampi_grammar_kind_of(uint8_t byte)
{
    static const char marks[] = " _-./:,@+";
    if (byte >= 0x80) return SAMPI_KIND_WIDE;
    if ((byte | 32) >= 'a' && (byte | 32) <= 'z') return ((byte | 32) > 'f') + 2u * (byte < 'a');
    if (byte >= '0' && byte <= '9') return 4;
    uint32_t kind = 5;
    while (kind < 14 && marks[kind - 5] != (char)byte) kind++;
    return kind;
}

/* Sets the members of an index, whose parts are in `words`. */
static void sampi_index_open(samp_vocab_index *index, const uint32_t *words)
{
    index->words = words;
    index->n_vocab = words[1];
    index->n_nodes = words[2];
    index->n_plain = words[3];
    index->n_groups = words[6];
    index->n_listed = words[7];
    index->n_mask = (index->n_vocab + 31) / 32;
    index->plain = words + SAMPI_INDEX_HEAD;
    index->all = index->plain + index->n_mask;
    index->groups = index->all + index->n_mask;
    index->listed = index->groups + 2 * (size_t)index->n_groups + 2;
    index->below = index->listed + index->n_listed;
    index->nodes = index->below + index->n_plain;
    index->deepest = 0;
    for (uint32_t i = 0; i < index->n_nodes; i++)
        if ((index->nodes[2 * (size_t)i + 1] & 1023) > index->deepest)
            index->deepest = index->nodes[2 * (size_t)i + 1] & 1023;
    for (uint32_t b = 0; b < 256; b++) index->kind_of[b] = (uint8_t)sampi_grammar_kind_of((uint8_t)b);
}

/* Returns the number of 32-bit words of an index with this head. */
static size_t sampi_index_words(const uint32_t *head)
{
    return SAMPI_INDEX_HEAD + 2 * (((size_t)head[1] + 31) / 32) + 2 * (size_t)head[6] + 2 + head[7] + head[3] +
           2 * (size_t)head[2];
}

/* A plain token with its sort key: its set of kinds << 8 | its number of characters, at most 255. */
typedef struct sampi_keyed_token {
    uint32_t key, token;
} sampi_keyed_token;

/* Sorts tokens by their keys, 8 bits in each pass; tokens with equal keys keep their order. `room` has n elements. */
static void sampi_grammar_sort_keyed_tokens(sampi_keyed_token *p, sampi_keyed_token *room, size_t n)
{
    for (uint32_t shift = 0; shift < 32; shift += 8) { /* the number of passes is even, so the result is in p */
        size_t at[257] = { 0 };
        for (size_t i = 0; i < n; i++) at[(p[i].key >> shift & 255) + 1]++;
        for (size_t i = 0; i < 256; i++) at[i + 1] += at[i];
        for (size_t i = 0; i < n; i++) room[at[p[i].key >> shift & 255]++] = p[i];
        sampi_keyed_token *t = p;
        p = room;
        room = t;
    }
}

/* Appends the groups of the plain tokens, and the list of these tokens. */
static int sampi_index_groups(sampi_vec *words, const sampi_token_text *pieces, size_t n)
{
    sampi_keyed_token *p = (sampi_keyed_token *)SAMP_MALLOC((2 * n + 1) * sizeof *p);
    uint32_t n_groups = 0, key = 0;
    if (!p) return SAMP_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t kinds = 0, length = 0;
        for (uint32_t k = 0; k < pieces[i].n; k++) {
            kinds |= 1u << sampi_grammar_kind_of(pieces[i].bytes[k]);
            length += (pieces[i].bytes[k] & 0xc0) != 0x80;
        }
        p[i].key = kinds << 8 | (length < 255 ? length : 255);
        p[i].token = pieces[i].token;
    }
    sampi_grammar_sort_keyed_tokens(p, p + n, n);
    for (size_t i = 0; i < n; i++) n_groups += i == 0 || p[i].key >> 8 != p[i - 1].key >> 8;
    uint32_t *at = (uint32_t *)sampi_grammar_vec_add(words, 4, 2 * (int32_t)n_groups + 2 + (int32_t)n);
    if (at) {
        uint32_t *listed = at + 2 * (size_t)n_groups + 2;
        for (size_t i = 0; i < n; i++) {
            if (i == 0 || p[i].key >> 8 != key >> 8) {
                *at++ = p[i].key >> 8;
                *at++ = (uint32_t)i;
            }
            key = p[i].key;
            listed[i] = p[i].token | (key & 255) << 24;
        }
        *at++ = 0;
        *at = (uint32_t)n;
        ((uint32_t *)words->data)[6] = n_groups;
        ((uint32_t *)words->data)[7] = (uint32_t)n;
    }
    SAMP_FREE(p);
    return at ? (int)SAMP_OK : (int)SAMP_E_NOMEM;
}

/* Computes the word `below` of each of n trie nodes, which describes the nodes below it. These nodes follow the node in
   the array, so the loop runs backwards. path [d] collects what was found below the node at depth d until the loop
   reaches that node. */
static void sampi_index_below(const uint32_t *nodes, uint32_t n, uint32_t *below, uint32_t *path)
{
    for (uint32_t d = 0; d <= SAMPI_MAX_PIECE; d++) path[d] = 0;
    for (uint32_t i = n; i-- > 0;) {
        const uint32_t depth = nodes[2 * (size_t)i + 1] & 1023;
        const uint8_t byte = (uint8_t)nodes[2 * (size_t)i];
        below[i] = path[depth];
        path[depth] = 0;
        if (i == 0) return;
        const uint32_t longest = (below[i] >> 16) + ((byte & 0xc0) != 0x80), other = path[depth - 1];
        path[depth - 1] = ((below[i] | other | 1u << sampi_grammar_kind_of(byte)) & SAMPI_ALL_KINDS) |
                          (longest > other >> 16 ? longest : other >> 16) << 16;
    }
}

/* Collects the tokens for the tries, plain ones first, without those that end a generation or have no bytes. Returns
   their number; *n_plain: how many are plain. */
static size_t sampi_index_pieces(const samp_vocab *vocab, sampi_token_text *pieces, size_t *n_plain, int *status)
{
    size_t n = 0;
    *n_plain = 0;
    for (int32_t token = 0; token < vocab->n_vocab; token++) {
        sampi_token_text p;
        size_t n_bytes = 0;
        p.bytes = (const uint8_t *)vocab->token_bytes(vocab, token, &n_bytes);
        if (!p.bytes || n_bytes == 0 || sampi_is_eog(vocab, token)) continue;
        if (n_bytes > SAMPI_MAX_PIECE) *status = SAMP_E_RANGE;
        p.n = (uint32_t)n_bytes;
        p.token = (uint32_t)token;
        pieces[n++] = p;
    }
    for (size_t i = 0; i < n; i++) {
        if (!sampi_grammar_token_text_is_plain(&pieces[i])) continue;
        sampi_token_text t = pieces[i];
        pieces[i] = pieces[*n_plain];
        pieces[(*n_plain)++] = t;
    }
    return n;
}

/* Writes the whole index to `words`. */
static int sampi_index_build(const samp_vocab *vocab, sampi_vec *words, sampi_token_text *pieces, uint32_t *path)
{
    int status = SAMP_OK;
    size_t n_plain, n = sampi_index_pieces(vocab, pieces, &n_plain, &status);
    if (status) return status;
    uint32_t n_mask = ((uint32_t)vocab->n_vocab + 31) / 32;
    int32_t head = SAMPI_INDEX_HEAD + 2 * (int32_t)n_mask;
    uint32_t *at = (uint32_t *)sampi_grammar_vec_add(words, 4, head);
    if (!at) return SAMP_E_NOMEM;
    memset(at, 0, (size_t)head * 4);
    for (size_t i = 0; i < n; i++) {
        uint32_t token = pieces[i].token;
        if (i < n_plain) at[SAMPI_INDEX_HEAD + token / 32] |= 1u << token % 32;
        if (pieces[i].bytes[0]) at[SAMPI_INDEX_HEAD + n_mask + token / 32] |= 1u << token % 32;
    }
    status = sampi_index_groups(words, pieces, n_plain);
    if (status) return status;
    status = sampi_grammar_sort_token_texts(pieces, pieces + vocab->n_vocab, n_plain);
    if (!status) status = sampi_grammar_sort_token_texts(pieces + n_plain, pieces + vocab->n_vocab, n - n_plain);
    if (status) return status;
    sampi_vec nodes;
    memset(&nodes, 0, sizeof nodes);
    status = sampi_index_trie(&nodes, pieces, n_plain, path);
    uint32_t n_first = (uint32_t)nodes.n / 2;
    if (!status) status = sampi_index_trie(&nodes, pieces + n_plain, n - n_plain, path);
    uint32_t *room = status ? NULL : (uint32_t *)sampi_grammar_vec_add(words, 4, (int32_t)n_first + nodes.n);
    if (room) {
        sampi_index_below((const uint32_t *)nodes.data, n_first, room, path);
        memcpy(room + n_first, nodes.data, (size_t)nodes.n * 4);
    }
    if (!status && !room) status = SAMP_E_NOMEM;
    at = (uint32_t *)words->data;
    at[0] = SAMPI_INDEX_MAGIC;
    at[1] = (uint32_t)vocab->n_vocab;
    at[2] = (uint32_t)nodes.n / 2;
    at[3] = n_first;
    sampi_grammar_vec_free(&nodes);
    if (status) return status;
    uint64_t sum = sampi_checksum(at + SAMPI_INDEX_HEAD, ((size_t)words->n - SAMPI_INDEX_HEAD) * 4);
    at[4] = (uint32_t)sum;
    at[5] = (uint32_t)(sum >> 32);
    return SAMP_OK;
}

static samp_vocab_index *sampi_index_fail(int *status, int why)
{
    if (status) *status = why;
    return NULL;
}

/* Returns the error of a vocabulary, or SAMP_OK. */
static int sampi_index_check(const samp_vocab *vocab)
{
    if (!vocab || !vocab->token_bytes || (vocab->n_eog && !vocab->eog)) return SAMP_E_NULL;
    if (vocab->n_vocab == 0) return SAMP_E_EMPTY;
    return vocab->n_vocab < 0 || vocab->n_vocab > SAMP_MAX_VOCAB ? (int)SAMP_E_RANGE : SAMP_OK;
}

SAMP_API samp_vocab_index *samp_vocab_index_init(const samp_vocab *vocab, int *status)
{
    int why = sampi_index_check(vocab);
    if (why) return sampi_index_fail(status, why);
    size_t n = (size_t)vocab->n_vocab;
    samp_vocab_index *index = (samp_vocab_index *)SAMP_MALLOC(sizeof *index);
    /* the second half is room for sorting */
    sampi_token_text *pieces = (sampi_token_text *)SAMP_MALLOC(2 * n * sizeof *pieces);
    uint32_t *path = (uint32_t *)SAMP_MALLOC((SAMPI_MAX_PIECE + 1) * sizeof *path);
    sampi_vec words;
    memset(&words, 0, sizeof words);
    why = index && pieces && path ? sampi_index_build(vocab, &words, pieces, path) : (int)SAMP_E_NOMEM;
    SAMP_FREE(pieces);
    SAMP_FREE(path);
    if (why) {
        sampi_grammar_vec_free(&words);
        SAMP_FREE(index);
        return sampi_index_fail(status, why);
    }
    index->vocab = vocab;
    index->serial = sampi_next_serial();
    index->own = (uint32_t *)words.data;
    sampi_index_open(index, index->own);
    if (status) *status = SAMP_OK;
    return index;
}

/* Returns whether the trie in the nodes [first, end) can be walked: each node must be a child of the last node that is
   still open, and end within it, and its token must exist. open [d] is the end of the open node at depth d. */
static bool sampi_index_trie_sound(const uint32_t *nodes, uint32_t first, uint32_t end, uint32_t n_vocab)
{
    uint32_t open[SAMPI_MAX_PIECE + 1], depth = 0;
    open[0] = 0;
    for (uint32_t i = first; i < end; i++) {
        const uint32_t token = nodes[2 * (size_t)i] >> 8, size = nodes[2 * (size_t)i + 1] >> 10;
        while (i > first && depth > 0 && open[depth] == i) depth--;
        const uint32_t expected = i > first ? depth + 1 : 0;
        if ((nodes[2 * (size_t)i + 1] & 1023) != expected || expected > SAMPI_MAX_PIECE) return false;
        if (size == 0 || size > (i > first ? open[depth] : end) - i) return false;
        if (token != SAMPI_NO_TOKEN && token >= n_vocab) return false;
        open[depth = expected] = i + size;
    }
    return first < end && open[0] == end;
}

/* Returns whether the bytes are a sound index for a vocabulary of this size. They may be any bytes. */
static bool sampi_index_sound(const uint32_t *words, size_t size, uint32_t n_vocab)
{
    if (size < 4 * SAMPI_INDEX_HEAD || words[0] != SAMPI_INDEX_MAGIC || words[1] != n_vocab) return false;
    const uint32_t n_nodes = words[2], n_plain = words[3], n_groups = words[6], n_listed = words[7];
    if (n_nodes > 2 * SAMPI_MAX_TRIE || n_plain > n_nodes || n_listed > n_vocab || n_groups > n_listed) return false;
    if (size != 4 * sampi_index_words(words)) return false;
    uint64_t sum = sampi_checksum(words + SAMPI_INDEX_HEAD, size - 4 * SAMPI_INDEX_HEAD);
    if (sum != ((uint64_t)words[5] << 32 | words[4])) return false;
    samp_vocab_index index;
    sampi_index_open(&index, words);
    for (uint32_t i = 0; i <= n_groups; i++) {
        const uint32_t first = index.groups[2 * (size_t)i + 1];
        if (i == 0 ? first != 0 : first < index.groups[2 * (size_t)i - 1] || first > n_listed) return false;
        if (i == n_groups && first != n_listed) return false;
    }
    for (uint32_t i = 0; i < n_listed; i++)
        if ((index.listed[i] & SAMPI_NO_TOKEN) >= n_vocab) return false;
    return sampi_index_trie_sound(index.nodes, 0, n_plain, n_vocab) &&
           sampi_index_trie_sound(index.nodes, n_plain, n_nodes, n_vocab);
}

SAMP_API samp_vocab_index *samp_vocab_index_map(const samp_vocab *vocab, const void *bytes, size_t size, int *status)
{
    int why = bytes ? sampi_index_check(vocab) : (int)SAMP_E_NULL;
    if (why) return sampi_index_fail(status, why);
    const uint32_t *words = (const uint32_t *)bytes;
    if ((uintptr_t)bytes % 4) return sampi_index_fail(status, SAMP_E_RANGE);
    if (!sampi_index_sound(words, size, (uint32_t)vocab->n_vocab)) return sampi_index_fail(status, SAMP_E_FORMAT);
    samp_vocab_index *index = (samp_vocab_index *)SAMP_MALLOC(sizeof *index);
    if (!index) return sampi_index_fail(status, SAMP_E_NOMEM);
    index->vocab = vocab;
    index->serial = sampi_next_serial();
    index->own = NULL;
    sampi_index_open(index, words);
    if (status) *status = SAMP_OK;
    return index;
}

SAMP_API size_t samp_vocab_index_size(const samp_vocab_index *index)
{
    return index ? 4 * sampi_index_words(index->words) : 0;
}

SAMP_API int samp_vocab_index_save(const samp_vocab_index *index, void *bytes, size_t size)
{
    if (!index || !bytes) return SAMP_E_NULL;
    if (size < samp_vocab_index_size(index)) return SAMP_E_WORKSPACE;
    memcpy(bytes, index->words, samp_vocab_index_size(index));
    return SAMP_OK;
}

SAMP_API void samp_vocab_index_free(samp_vocab_index *index)
{
    if (!index) return;
    SAMP_FREE(index->own);
    SAMP_FREE(index);
}
