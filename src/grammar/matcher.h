/* ---- the matcher ----
   A matcher is a grammar together with a position in a text. The position is a set of items. An item is a state, and a
   frame to return to when the state is done.

     state    A node of the grammar, with what can follow: the state behind each byte (it is made when it is first
              needed, as the derivative of the node by that byte), whether the text may end here, and which rules the
              state may call. A regular expression needs only one state at a time: its states are a lazy DFA.
     frame    A call of a rule at one position of the text, with everything that waits for the call: edges, each with
              the node to continue with and the frame of that node. All calls of a rule at one position share a frame,
              so ambiguity and left recursion cost no more than their sets. This is an Earley parser whose items are DFA
              states. Frame 0 is the outermost. If nothing is left to do behind a call, the call shares its caller's
              frame, so right recursion keeps no frames.

   The mask of a position (the tokens that may come next) is the union over its items. One walk over the tries finds
   what an item's state allows within its frame. The result is kept as an entry: the tokens that are allowed, and the
   entry's exits. An exit is a node of the tries where the frame ended before the token did. What may follow an exit
   depends on the edges that wait for the frame. It is an entry too: that of the state to continue with, at the exits
   of the first entry. So a mask is a union of a few sets of bits, once its entries exist.

   Memory: nodes, states and entries are in a cache, which samplers share (cache.h). Items, frames, edges and the
   history belong to the matcher; between two tokens, frames that no item can return to are dropped. Memory beyond the
   limit is not allocated: the call gives up, a new cache replaces the full one, and the call does its work again
   (accepting.h). */

/* The flags of a state. */
enum {
    SAMPI_STATE_ENDS = 1,  /* the state's node matches the empty text, so the state may end */
    SAMPI_STATE_CALLS = 2, /* the state can call rules or tokens */
    SAMPI_STATE_TOKENS = 4 /* the state can call tokens */
};

/* A call that a state can make: of a rule, or, if rule is -1, of a token by its number (negated: of any other token).
   `then` is the node that follows the call. If the called rule is member i of a list (an object's members in any
   order), `member` is i and `then` begins with the list as it was before that member (sampi_grammar_list_behind);
   else `member` is -1. */
typedef struct sampi_call {
    int32_t rule;
    samp_token token;
    bool negated;
    sampi_node also; /* a TOKEN node whose token is excluded too; 0: none */
    sampi_node then;
    int32_t member;
} sampi_call;

/* The run of a state (runs.h): any text of at most `reach` characters, all of certain kinds, is allowed. It is packed
   into 32 bits, which threads access at once: 16 bits of kinds, 14 bits of reach + 1 (0: not computed yet; the largest
   value: no limit), a bit for `explored`, a bit for `stops`. */
typedef struct sampi_free_run {
    uint32_t kinds;
    int32_t reach; /* the length in characters; -1: not computed yet; INT32_MAX: no limit */
    bool explored, stops;
} sampi_free_run;

/* Where a state's member `near` holds: everywhere; from the roots of the tries, to which the parent, 0 or 1, is added;
   or nowhere yet: the state itself was met as the near one of another state. */
enum { SAMPI_NEAR_ALL, SAMPI_NEAR_ROOTS, SAMPI_NEAR_MET = 3 };

/* A state of the lazy DFA. node, flags, n_calls and calls never change. `used` is the time of the last use. The other
   members are computed later, by the first thread that needs them. If two threads compute one at once, both get the
   same value. */
typedef struct sampi_dfa_state {
    sampi_node node;
    int32_t flags, n_calls;
    int32_t used;                   /* the time of the state's last use, by the cache's clock */
    const struct sampi_call *calls; /* [n_calls] */
    /* [8] Sets of byte classes as bits, NULL if they are not computed yet. next_classes: those that may come next
       (sampi_grammar_next_classes_of); call_classes: those with which a called rule may begin
       (sampi_grammar_call_classes_of). */
    uint32_t *next_classes, *call_classes;
    int32_t single_kinds; /* the kinds of characters that complete the state; -1: not computed yet */
    /* 4 times the state that allows the same tokens and whose counts are far from their bounds
       (sampi_grammar_near_state), plus one of SAMPI_NEAR_*; 0: not computed yet */
    int32_t near;
    /* [keep] The state's runs (characters of which any text is allowed), packed into 32 bits each. With keep = 1 the
       called rule does not end within the run. */
    int32_t run[2];
} sampi_dfa_state;

typedef struct sampi_frame {
    int32_t rule, edge; /* edge: the first of the call frame's edges, as an index, or -1 */
    int32_t from;       /* where in the matcher's `text` the call began (unique.h) */
    int32_t token;      /* which token of the text is the first one with a byte behind the beginning (spent.h) */
} sampi_frame;
typedef struct sampi_edge {
    sampi_node then;
    int32_t member, frame, next; /* member: as in sampi_call; next: the next edge of the frame, or -1 */
} sampi_edge;
typedef struct sampi_item {
    int32_t state, frame, flags; /* flags: a copy of the state's flags */
} sampi_item;

/* An entry: the tokens that a state allows from certain nodes of the tries. `parent` is 0 or 1 for the roots of both
   tries; 2 e + 2 or 2 e + 3 for the exits of entry e (8 and 9: of entry 3), which are the nodes where its called rule
   ended. An entry with an odd parent has exits of its own. An even parent means the outermost frame,
   behind which nothing can follow. */
typedef struct sampi_entry {
    int32_t parent, state;
    uint32_t *bits;        /* the allowed tokens as a mask; NULL if they are few and `tokens` lists them */
    const int32_t *tokens; /* [n_tokens] */
    /* [n_exits] the trie nodes where the called rule ended before the token did */
    const uint32_t *exits;
    int32_t n_tokens, n_exits;
    int32_t used; /* the time of the entry's last use, by the cache's clock */
    int32_t slot; /* the slot of `bits` in the cache's table of masks (sampi_grammar_keep_mask) */
} sampi_entry;

/* One level of a walk over a trie, for one node of the trie: the numbers of the parser's items, frames and edges after
   that node was visited. The level's items are those above the items of the level before. If there is only one item, it
   is not on the stack of items but in `state` and `frame`; else `frame` is the length of the matcher's `text`. */
typedef struct sampi_level {
    int32_t items, frames, edges;
    int32_t state, frame;
    bool calls;    /* the level's items can call rules, which was not done yet */
    int32_t usual; /* where the usual state (sampi_grammar_usual_entry) goes to; 0 if its entry has no tokens below */
} sampi_level;

/* One level of the walk over the plain tokens (tokens of whole, ordinary characters), for one node on the path from the
   root: the grammar's state, the bytes that UTF-8 expects next (sampi_grammar_plain_next), the kinds and the number
   of the characters so far, and the state's run (sampi_grammar_run_word) if it is known or worth computing. */
typedef struct sampi_plain_level {
    int32_t state, expects;
    uint32_t kinds, length, run;
    int32_t usual; /* as in sampi_level */
} sampi_plain_level;

/* The run (runs.h) with which the walk over the plain tokens begins; its tokens are already in the entry's bits. sure:
   the run is that of the entry's state, so all its tokens are allowed. Otherwise it is the run of another state, to
   which most characters lead, among them all characters of the kinds `to_usual`; the walk then removes tokens that are
   not allowed. */
typedef struct sampi_first_run {
    uint32_t kinds, to_usual;
    int32_t reach;
    bool sure, stops; /* stops: no longer text of these kinds is allowed */
} sampi_first_run;

/* The progress of an entry's walks over the tries. node: the node at which the walk continues (0: at the beginning).
   begun: `start` has been computed. walk: for an entry from the roots, 0 is the walk over plain tokens and 1 the walk
   over the others; else it is the index of the parent's exit that is being walked. */
typedef struct sampi_progress {
    sampi_first_run start;
    uint32_t node;
    int32_t walk;
    bool begun;
} sampi_progress;

/* An entry (a state's allowed tokens) that samp_grammar_prepare has begun and not completed. */
typedef struct sampi_unfinished {
    size_t cache; /* the serial number of the cache to which the numbers belong; 0 if no entry was begun */
    int32_t parent, state;
    sampi_progress at;
    sampi_vec tokens, exits, bits; /* bits: [n_mask] words, or empty */
} sampi_unfinished;

/* A block of memory in a cache. Pieces of the block are given out from its beginning on. */
typedef struct sampi_chunk {
    struct sampi_chunk *behind;
    size_t size, used;
} sampi_chunk;

enum { SAMPI_MASKS = 64 };

/* A cache of the data computed for a grammar with a vocabulary, which are nodes, states and entries. See
   cache.h. */
typedef struct sampi_cache {
    size_t serial;      /* no other cache in the process has the same serial number */
    size_t bytes, most; /* how many bytes this cache has allocated, and their limit */
    /* the bytes of a replaced cache, which bytes_gone of sampi_shared counts; 0 before it is replaced */
    size_t bytes_gone;
    size_t fixed;    /* the size of the block that begins with this struct, in bytes */
    size_t chunk;    /* the size of an ordinary chunk, in bytes */
    sampi_tree tree; /* the tree of nodes; the grammar's own nodes come first */
    sampi_growth growth;
    int32_t *state_of;       /* [nodes] each node's state; 0 if it has none yet */
    sampi_dfa_state *states; /* state 0 is the dead state, which matches no text */
    /* [states x classes] for each state and class of bytes: the next state; a negative value if it is not computed
       yet */
    int32_t *next;
    sampi_entry *entries;
    int32_t *entry_slots; /* [n_slots] a hash table of entries; -1: the slot is free */
    int32_t n_states, cap_states, n_entries, cap_entries, n_slots;
    int32_t n_calls; /* how many calls have used this cache */
    int32_t shift;   /* the shift of the cache's clock (sampi_cache_time) */
    sampi_chunk *chunks;
    struct sampi_cache *behind; /* the next one in a list of caches that wait to be freed */
    /* moved_from: the serial number of the older cache whose data this one took over, or 0. moved: the new number of
       each node of the older cache and, from index moved_states on, of each of its states; 0 if it was not taken
       over. */
    size_t moved_from;
    int32_t *moved;
    int32_t moved_states, n_moved;
    /* a hash table of masks ([n_mask] words each), which entries with equal masks share; NULL: free */
    uint32_t *masks[SAMPI_MASKS];
} sampi_cache;

/* The memory that one call works in. A call borrows a free workspace and gives it back at its end. */
typedef struct sampi_workspace {
    struct sampi_workspace *behind;
    int32_t busy;       /* 1 while a call uses the workspace, else 0 */
    sampi_cache *reads; /* the cache that the call reads, and which is therefore not freed */
    size_t memo_of;     /* the serial number of the cache to which the memo's nodes belong */
    sampi_memo *memo;
    int32_t n_memo;
    sampi_vec work, calls, tokens, exits;
    sampi_pairs seen, joined, queued;
    int32_t *rule_frame; /* [rules] the parser's frame of each rule's call, if the rule was called in this step */
    sampi_level *level;  /* [index->deepest + 1] */
    sampi_plain_level *plain; /* [index->deepest + 1]; on the heap, as it is too large for a small stack */
    uint32_t *bits;           /* [n_mask] the allowed tokens of the state that is being walked */
    /* how many masks were made with this workspace, and how many of them needed no new token set */
    size_t masks, hits;
} sampi_workspace;

/* The data that all samplers of a grammar and an index share. The grammar has a list of these, one for each index. */
typedef struct sampi_shared {
    struct sampi_shared *behind;
    const samp_grammar *grammar;
    const samp_vocab_index *index;
    size_t index_serial;    /* distinguishes the index from a freed one that was at the same address */
    size_t deepest, n_mask; /* copies of the index's numbers, as the index may be freed before the grammar */
    int status;             /* SAMP_E_RANGE if a <text> of the grammar is not one token */
    uint64_t named;         /* a hash of the tokens that the grammar names by their texts */
    sampi_vec texts;        /* sampi_named: these tokens */
    sampi_vec commas;       /* int32_t: the tokens in which a value may follow a comma (sampi_grammar_find_commas) */
    /* the memory account: `bytes` counts workspaces and samplers' arrays, `cache_bytes` counts caches */
    sampi_account account;
    /* now: the current cache; gone: a list of replaced caches that calls may still read */
    sampi_cache *now, *gone;
    size_t bytes_gone; /* the bytes of the replaced caches, which the memory account leaves out */
    sampi_workspace *workspaces;
    int32_t n_users; /* the number of matchers */
    size_t renewals; /* how many caches were replaced */
    /* samp_grammar_warm. is_warming: 1 while a call uses the other two; warming: its work so far, or NULL; is_warm: the
       work is done */
    int32_t is_warming;
    struct sampi_warming *warming;
    bool is_warm;
} sampi_shared;

typedef struct sampi_named {
    sampi_node text;
    samp_token token;
} sampi_named;

typedef struct sampi_matcher {
    /* computes derivatives; its tree is the cache's; its work, memo and queued are borrowed from the workspace */
    sampi_deriver d;
    const samp_vocab_index *index;
    const samp_grammar *grammar;
    sampi_shared *shared;
    sampi_workspace *space; /* the workspace (borrowed memory) of the current call, or else of the last one */
    sampi_cache *cache;     /* the cache of states that the current call reads */
    sampi_cache *own;       /* the cache that only this call uses, or NULL */
    /* the serial number of the cache whose states the items have; 0: the text must be read again */
    size_t position_cache;
    size_t tree_of;   /* the serial number of the cache whose tree is d.tree */
    int32_t now;      /* the cache's clock in this call: the time of last use of what the call uses */
    sampi_vec items;  /* the parser's items, of which the first n_now are the position in the text */
    sampi_vec frames; /* sampi_frame */
    sampi_vec edges;  /* sampi_edge */
    /* arrays borrowed from the workspace: the calls of a state, the tokens and exits of an entry */
    sampi_vec calls, tokens, exits;
    sampi_vec history; /* samp_token: all accepted tokens */
    /* bytes: the accepted text, and those that are being read, if values in the grammar must differ (unique.h) */
    sampi_vec text;
    sampi_vec past;    /* sampi_item: the positions before the last tokens, as one array of all their items */
    sampi_vec past_n;  /* int32_t: the number of items of each position in `past` (sampi_grammar_position_size) */
    int32_t depth;     /* the number of past positions to keep, if there are as many tokens */
    /* triggers; while the grammar waits for one, the items are those of the beginning and every token is allowed */
    sampi_lazy lazy;
    sampi_pairs seen, joined; /* borrowed from the workspace */
    int32_t *rule_frame;      /* borrowed from the workspace, as the next three members are */
    sampi_level *level;
    sampi_plain_level *plain;
    uint32_t *found;
    uint32_t *bits;      /* a mask, which samp_apply uses */
    int32_t n_now, base; /* base: the first call frame of the parser's current step */
    int32_t n_reachable; /* how many call frames remained when unreachable ones were last dropped */
    /* the entry of another state, of which an entry is made (sampi_grammar_usual_entry, sampi_grammar_short_entry),
       or NULL */
    const sampi_entry *like;
    int32_t n_like; /* how many exits of that entry were taken over or left out */
    uint32_t far;   /* both entries have the same plain tokens of at most so many bytes; 0: not known */
    int32_t n_computed;  /* how many token sets (entries) the current mask had to compute */
    bool ended;          /* an item of the parser's current step ends the outermost rule */
    bool rereading;      /* the accepted text is being read again */
    bool reading;        /* bytes are read one by one, and `text` has them; in a walk over the tries it has not */
    int64_t max_steps;
    sampi_unfinished begun;
    /* The call is one of samp_grammar_prepare: a token set that its steps do not complete is kept, and the next call
       continues it. */
    bool preparing;
    int32_t n_idle; /* how many calls of samp_grammar_prepare made no progress; each one that did lowers this by 1 */
    int64_t advances;             /* how many times the computation of an entry (token set) made progress */
    int64_t spent;                /* the steps that samp_grammar_prepare took since the last token */
    bool warming; /* it is that of samp_grammar_warm: its calls drop nothing, and do not move the cache's clock */
    struct sampi_matcher *behind; /* the next matcher in a list, during samp_state_load */
} sampi_matcher;

/* The work of samp_grammar_warm (warming.h), which goes on from call to call. Its matcher's earlier positions are the
   items of the places that wait for a visit. */
typedef struct sampi_warming {
    sampi_matcher *m;
    sampi_vec places; /* sampi_warm_place */
    sampi_pairs met;  /* hashes of the places that were met (sampi_grammar_warm_meets) */
    size_t met_of;    /* the serial number of the cache to which the hashes belong */
    int32_t n_items;  /* how many items the places have together */
    int32_t rank;     /* the rank of the place that is being visited; -1: none is */
} sampi_warming;

/* Returns the number of items of a past position, from its number n in past_n: 3 means 3 items; SAMPI_POSITION_SAME
   means no items, because the token, which ends a generation, left the position as it was; -5 means 3 items of a
   grammar that was waiting for a trigger (-2 - n). */
#define SAMPI_POSITION_SAME (-1)
static int32_t sampi_grammar_position_size(int32_t n)
{
    return n < SAMPI_POSITION_SAME ? SAMPI_POSITION_SAME - 1 - n : n < 0 ? 0 : n;
}

static sampi_dfa_state *sampi_grammar_dfa_state_at(const sampi_matcher *m, int32_t s) { return m->cache->states + s; }
static sampi_item *sampi_grammar_item_at(const sampi_matcher *m, int32_t i)
{
    return (sampi_item *)m->items.data + i;
}
static sampi_frame *sampi_grammar_frame_at(const sampi_matcher *m, int32_t i)
{
    return (sampi_frame *)m->frames.data + i;
}
static sampi_edge *sampi_grammar_edge_at(const sampi_matcher *m, int32_t i)
{
    return (sampi_edge *)m->edges.data + i;
}
static const sampi_entry *sampi_grammar_entry_at(const sampi_matcher *m, int32_t i) { return m->cache->entries + i; }

/* A state's run in 32 bits: its kinds, the reach and 1 (0: the run is not known; SAMPI_ENDLESS: no end) from bit 16 on,
   explored, stops. */
enum { SAMPI_ENDLESS = 0x3fff };
static uint32_t sampi_grammar_run_word(const sampi_matcher *m, int32_t state, bool keep)
{
    return (uint32_t)SAMPI_INT_GET(&sampi_grammar_dfa_state_at(m, state)->run[keep]);
}

/* Returns whether n characters of these kinds are within a run. */
static bool sampi_grammar_within_run(uint32_t kinds, uint32_t n, uint32_t word)
{
    return !(kinds & ~word) && n < (word >> 16 & SAMPI_ENDLESS);
}

static sampi_free_run sampi_grammar_run_at(const sampi_matcher *m, int32_t state, bool keep)
{
    const uint32_t word = sampi_grammar_run_word(m, state, keep);
    const int32_t reach = (int32_t)(word >> 16 & SAMPI_ENDLESS);
    sampi_free_run run = { word & 0xffff, reach == SAMPI_ENDLESS ? INT32_MAX : reach - 1, (word >> 30 & 1) != 0,
                           word >> 31 != 0 };
    return run;
}
/* Keeps a state's run. All reaches that are longer than any token mean the same. */
static void sampi_grammar_run_put(const sampi_matcher *m, int32_t state, bool keep, sampi_free_run run)
{
    const uint32_t reach = run.reach == INT32_MAX          ? (uint32_t)SAMPI_ENDLESS
                           : run.reach > SAMPI_ENDLESS - 2 ? (uint32_t)SAMPI_ENDLESS - 1
                                                           : (uint32_t)(run.reach + 1);
    SAMPI_INT_PUT(&sampi_grammar_dfa_state_at(m, state)->run[keep],
                  (int32_t)(run.kinds | reach << 16 | (uint32_t)run.explored << 30 | (uint32_t)run.stops << 31));
}
