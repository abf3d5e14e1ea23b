/* ---- the matcher ----
   Where a text is in a grammar. A position is a set of items: a state, and a frame to go back to when it is done.

     state    a node, with what can be done next from it: the state behind each byte (made when first asked for, as the
              derivative of the node by that byte: what may follow it), whether it may end here, which rules it may
              call. What is regular is one state, never more: a lazy DFA
     frame    a call of a rule at one place of the text, with all that wait for it (edges: the node to go on with, and
              the frame in which). Calls of a rule from one place share a frame, so ambiguity and left recursion cost
              no more than their sets: an Earley parser, whose items are DFA states. Frame 0 is the outermost; what a
              call has nothing left to do behind it shares its caller's frame, so right recursion keeps no frames

   The mask of a position is the union over its items. What an item's state allows without leaving its frame is found by
   one walk over the tries, and kept: an entry, with the tokens that are allowed, and the places in the tries where the
   frame ended before the token did. Behind these places it depends on who waits for the frame: an entry again, of the
   state to go on with at the places of the first entry. So a mask is a few sets of bits joined, once its entries are
   there.

   MEMORY. Nodes, states and entries are in a store, which samplers share (store.h). Items, frames, edges and the
   history are a matcher's own; between two tokens, frames that nobody can return to are dropped. What does not fit is
   not asked for: the call under way gives up, another store takes the place of the full one, and it tries once more
   (accepting.h). */

enum {
    SAMPI_STATE_ENDS = 1,  /* its node matches the empty text */
    SAMPI_STATE_CALLS = 2, /* it has calls */
    SAMPI_STATE_TOKENS = 4 /* and some of them are tokens */
};

/* Go on with `then` behind a rule; or, with rule -1, behind a token (negated: any other one). If the rule is a list's
   member i (-1: it is none), `then` still begins with the list before it: sampi_list_behind. */
typedef struct sampi_call {
    int32_t rule;
    samp_token token;
    bool negated;
    sampi_node then;
    int32_t member;
} sampi_call;

/* What a state's run is, in 32 bits, so that it is read and written at once: 16 of kinds, 14 of reach + 1 (0: not known
   yet; the largest: no end), whether it was looked for far away, whether what is longer can't come. */
typedef struct sampi_stretch {
    uint32_t kinds;
    int32_t reach; /* -1: not known yet; INT32_MAX: no end */
    bool explored, stops;
} sampi_stretch;

/* What stands above `live` never changes; the others are found out later, by whoever first asks, or by two at once, who
   find the same. */
typedef struct sampi_lex {
    sampi_node node;
    int32_t flags, n_calls;
    int32_t used;                   /* when a text was here last, by the store's clock */
    const struct sampi_call *calls; /* [n_calls] */
    uint32_t *live, *first; /* [8] sets of classes of bytes, NULL: not known yet: sampi_live_of, sampi_first_of */
    int32_t one;            /* the kinds of which it takes one character: sampi_one_of; -1: not known yet */
    int32_t run[2];         /* [keep]: sampi_stretch */
} sampi_lex;

typedef struct sampi_frame {
    int32_t rule, edge; /* edge: the first, or -1 */
} sampi_frame;
typedef struct sampi_edge {
    sampi_node then;
    int32_t member, frame, next; /* member: as in a call */
} sampi_edge;
typedef struct sampi_item {
    int32_t state, frame, flags; /* flags: the state's */
} sampi_item;

/* parent: 0 and 1: the root of both tries, 2 e + 2 and 2 e + 3: the places of entry e; the odd ones keep places of
   their own, the even ones are of the outermost frame, behind which nothing can follow. */
typedef struct sampi_entry {
    int32_t parent, state;
    uint32_t *bits;        /* a whole mask, or NULL: */
    const int32_t *tokens; /* [n_tokens] */
    const uint32_t *places;
    int32_t n_tokens, n_places;
    int32_t used; /* as a state's */
} sampi_entry;

/* A level of a walk: what there was when the node was done. Its items are those behind the level before it; or, where
   it is but one, it is not on the stack, but here: state, in frame. */
typedef struct sampi_level {
    int32_t items, frames, edges;
    int32_t state, frame;
    bool calls; /* its items have calls that have not been entered yet */
} sampi_level;

/* A node of the trie on a walk's way down to where it is, in the trie of plain tokens: the grammar's state there, the
   bytes that UTF-8 expects, the number of characters so far, and the state's run (runs.h), if it is known or worth
   finding out. */
typedef struct sampi_plain_level {
    int32_t state, expects;
    uint32_t kinds, length, run_kinds;
    int32_t run_reach;
} sampi_plain_level;

/* A run that the walk over the plain tokens begins with: its tokens are in the entry's bits. sure: it is the state's
   own, so that all of them are allowed. Else it is that of `usual`, the state behind most characters, all of the kinds
   to_usual among them. */
typedef struct sampi_head_start {
    uint32_t kinds, to_usual;
    int32_t reach;
    bool sure, stops; /* stops: no longer text of these kinds can come */
} sampi_head_start;

/* Where the walks of an entry have come to: the next node, 0: at the beginning of its walk. begun: what the first walk
   begins with is known. walk: of the root 0: plain tokens, 1: others; else of the parent's places the one that is
   walked. */
typedef struct sampi_progress {
    sampi_head_start start;
    uint32_t node;
    int32_t walk;
    bool begun;
} sampi_progress;

/* An entry that samp_grammar_prepare has begun, and what has been found of it. */
typedef struct sampi_begun {
    size_t store; /* whose numbers it has; 0: there is none */
    int32_t parent, state;
    sampi_progress at;
    sampi_vec tokens, places, bits; /* bits: [n_mask], or empty */
} sampi_begun;

/* Bytes of a store that are given out one piece behind the other. */
typedef struct sampi_chunk {
    struct sampi_chunk *behind;
    size_t size, used;
} sampi_chunk;

/* What has been learnt of a grammar with a vocabulary: nodes, states, entries. See store.h. */
typedef struct sampi_store {
    size_t serial;      /* no other store of the process has it */
    size_t bytes, most; /* what it holds, and may hold */
    size_t fixed;       /* of that the block that this record begins */
    size_t chunk;       /* bytes of a usual chunk */
    sampi_tree tree;    /* the grammar's own nodes are the first */
    sampi_growth growth;
    int32_t *state_of; /* [nodes] 0: none yet */
    sampi_lex *states; /* 0 is dead */
    int32_t *next;     /* [states x classes] the state behind each class of bytes, below 0: not known yet */
    sampi_entry *entries;
    int32_t *entry_slots; /* [n_slots] -1: free */
    int32_t n_states, cap_states, n_entries, cap_entries, n_slots;
    int32_t n_calls; /* that have looked into it, so far as numbers go */
    sampi_chunk *chunks;
    struct sampi_store *behind; /* the next one that waits to be freed */
    size_t moved_from;          /* the store whose nodes and states it has begun with, or 0, and the numbers that */
    int32_t *moved;             /* these have got: nodes, and states from moved_states on; 0: it has not come */
    int32_t moved_states, n_moved;
} sampi_store;

/* What a call needs beside the text's place, lent to it. */
typedef struct sampi_workspace {
    struct sampi_workspace *behind;
    int32_t busy;
    sampi_store *reads; /* that the call may look into: it stays as long */
    size_t memo_of;     /* the store whose nodes the memo has */
    sampi_memo *memo;
    int32_t n_memo;
    sampi_vec work, calls, tokens, places;
    sampi_pairs seen, joined, queued;
    int32_t *rule_frame;      /* [rules] the frame of a rule's call, if it is one of this step */
    sampi_level *level;       /* [index->deepest + 1] */
    sampi_plain_level *plain; /* [index->deepest + 1]: on the stack they would take most of a small one */
    uint32_t *bits;           /* [n_mask] of the entry that is looked for */
    size_t masks, hits;       /* that it made; of these without looking for anything */
} sampi_workspace;

/* What all samplers of a grammar and an index share; the grammar has a list of these. */
typedef struct sampi_shared {
    struct sampi_shared *behind;
    const samp_grammar *grammar;
    const samp_vocab_index *index;
    size_t index_serial;     /* an address may come again */
    size_t deepest, n_mask;  /* the index's, which may go before the grammar */
    int status;              /* SAMP_E_RANGE: the grammar has the text of a token that is not one */
    uint64_t named;          /* made of the tokens that the grammar has by their text */
    sampi_vec texts;         /* sampi_named */
    sampi_held held;         /* all that there is: workspaces, samplers' own arrays; and apart from them the stores */
    sampi_store *now, *gone; /* gone: a list of those that somebody may still look into */
    sampi_workspace *workspaces;
    int32_t n_users; /* matchers */
    size_t renewals; /* stores that have gone */
    int32_t in_vain; /* steps that sampi_explore took before it gave up */
} sampi_shared;

typedef struct sampi_named {
    sampi_node text;
    samp_token token;
} sampi_named;

typedef struct sampi_matcher {
    sampi_deriver d; /* its tree is the store's; its work, memo and `queued` are lent, as what is marked so below */
    const samp_vocab_index *index;
    const samp_grammar *grammar;
    sampi_shared *shared;
    sampi_workspace *space; /* the one that it had last; in a call its own */
    sampi_store *store;     /* in a call: what it looks into; */
    sampi_store *own;       /* and the same if nobody else does, or NULL */
    size_t place_in;        /* the store whose states the items have; 0: none, the place is to be found again */
    size_t tree_of;         /* the store whose tree d.tree is */
    int32_t now;            /* in a call: the time of the store's clock */
    sampi_vec items;        /* sampi_item; the first n_now are where the text is */
    sampi_vec frames;       /* sampi_frame */
    sampi_vec edges;        /* sampi_edge */
    sampi_vec calls, tokens, places; /* lent: a state's calls, an entry's tokens and places, while they are found */
    sampi_vec history;               /* samp_token: what has been accepted */
    sampi_vec past;   /* sampi_item: those of the places before the last tokens, one place behind the other, */
    sampi_vec past_n; /* int32_t: and how many of each (sampi_place_size) */
    int32_t depth;    /* at least so many tokens have a place, if there were so many */
    sampi_lazy lazy;  /* while it waits, the items stand where they begin, and allow everything */
    sampi_pairs seen, joined; /* lent */
    int32_t *rule_frame;      /* lent, as the next three: see sampi_workspace */
    sampi_level *level;
    sampi_plain_level *plain;
    uint32_t *found;
    uint32_t *bits;      /* a mask, for apply */
    int32_t n_now, base; /* base: frames from there on are of the step under way */
    int32_t live;        /* frames that were left when they were last looked through */
    int32_t missed;      /* entries that the mask under way had to look for */
    bool ended;          /* the step under way has an item that ends the outermost frame */
    bool again;          /* the text is read again */
    int64_t max_steps;
    sampi_begun begun;
    bool ahead;       /* samp_grammar_prepare: what is not done in the steps that it has goes on in its next call */
    int32_t idle;     /* how many such calls have come no further, one after the other, */
    int64_t advances; /* and how often one has */
    int64_t spent;    /* steps of them since the last token */
    struct sampi_matcher *behind; /* the next one of a samp_state_load under way */
} sampi_matcher;

/* In past_n: the token has left the place as it was, it is an end of generation; from there down: the grammar waited,
   by its items. Else by its items. */
#define SAMPI_PLACE_STAYS (-1)
static int32_t sampi_place_size(int32_t n)
{
    return n < SAMPI_PLACE_STAYS ? SAMPI_PLACE_STAYS - 1 - n : n < 0 ? 0 : n;
}

static sampi_lex *sampi_lex_at(const sampi_matcher *m, int32_t s) { return m->store->states + s; }
static sampi_item *sampi_item_at(const sampi_matcher *m, int32_t i) { return (sampi_item *)m->items.data + i; }
static sampi_frame *sampi_frame_at(const sampi_matcher *m, int32_t i) { return (sampi_frame *)m->frames.data + i; }
static sampi_edge *sampi_edge_at(const sampi_matcher *m, int32_t i) { return (sampi_edge *)m->edges.data + i; }
static const sampi_entry *sampi_entry_at(const sampi_matcher *m, int32_t i) { return m->store->entries + i; }

static sampi_stretch sampi_run_at(const sampi_matcher *m, int32_t state, bool keep)
{
    enum { ENDLESS = 0x3fff };
    const uint32_t word = (uint32_t)SAMPI_INT_GET(&sampi_lex_at(m, state)->run[keep]);
    const int32_t reach = (int32_t)(word >> 16 & ENDLESS);
    sampi_stretch run = { word & 0xffff, reach == ENDLESS ? INT32_MAX : reach - 1, (word >> 30 & 1) != 0,
                          word >> 31 != 0 };
    return run;
}
/* A reach that is longer than any token is as good as a shorter one that is. */
static void sampi_run_put(const sampi_matcher *m, int32_t state, bool keep, sampi_stretch run)
{
    enum { ENDLESS = 0x3fff };
    const uint32_t reach = run.reach == INT32_MAX    ? (uint32_t)ENDLESS
                           : run.reach > ENDLESS - 2 ? (uint32_t)ENDLESS - 1
                                                     : (uint32_t)(run.reach + 1);
    SAMPI_INT_PUT(&sampi_lex_at(m, state)->run[keep],
                  (int32_t)(run.kinds | reach << 16 | (uint32_t)run.explored << 30 | (uint32_t)run.stops << 31));
}
