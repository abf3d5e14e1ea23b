/* ---- the matcher ----
   Where a text is in a grammar. A position in the text is a set of items. An item is a state, and a frame to return to
   when the state is done.

     state    A node, and what can follow it: the state behind each byte (made when it is first needed, as the
              derivative of the node by that byte), whether it may end here, which rules it may call. A regular
              expression needs only one state at a time: states are a lazy DFA.
     frame    A call of a rule at one position, with everything that waits for it: edges, each with the node to continue
              with and the frame of that node. All calls of a rule at one position share a frame, so ambiguity and left
              recursion cost no more than their sets. This is an Earley parser whose items are DFA states. Frame 0 is
              the outermost. If nothing is left to do behind a call, the call shares its caller's frame, so right
              recursion keeps no frames.

   The mask of a position is the union over its items. One walk over the tries finds what an item's state allows without
   leaving its frame. The result is kept as an entry: the tokens that are allowed, and the nodes of the tries where the
   frame ended before the token did; these nodes are called the entry's places. What follows them depends on what waits
   for the frame. It is an entry too: of the state to continue with, at the places of the first entry. So once its
   entries exist, a mask is a union of a few sets of bits.

   MEMORY. Nodes, states and entries are in a store, which samplers share (store.h). Items, frames, edges and the
   history are a matcher's own; between two tokens, frames that no item can return to are dropped. A request beyond the
   limit is not made: the call gives up, a new store replaces the full one, and the call does its work again
   (accepting.h). */

enum {
    SAMPI_STATE_ENDS = 1,  /* its node matches the empty text */
    SAMPI_STATE_CALLS = 2, /* it has calls */
    SAMPI_STATE_TOKENS = 4 /* and some of them are tokens */
};

/* What a state may call: a rule, or with rule -1 a token by name (negated: any other token). `then` follows the call.
   If the rule is member i of a list (-1: it is not), `then` still begins with the list before that member:
   sampi_list_behind. */
typedef struct sampi_call {
    int32_t rule;
    samp_token token;
    bool negated;
    sampi_node then;
    int32_t member;
} sampi_call;

/* A state's run (runs.h). It is packed into 32 bits, so that threads read and write it at once: 16 bits of kinds, 14 of
   reach + 1 (0: not known yet; the largest: no end), one for `explored`, one for `stops`. */
typedef struct sampi_stretch {
    uint32_t kinds;
    int32_t reach; /* in characters; -1: not known yet; INT32_MAX: no end */
    bool explored, stops;
} sampi_stretch;

/* A state. node, flags, n_calls and calls never change. `used` is a time. The others are found out later, by the first
   thread that needs them; two threads at once find the same. */
typedef struct sampi_lex {
    sampi_node node;
    int32_t flags, n_calls;
    int32_t used;                   /* the time of its last use, by the store's clock */
    const struct sampi_call *calls; /* [n_calls] */
    uint32_t *live, *first;         /* [8] sets of classes of bytes; NULL: not known: sampi_live_of, sampi_first_of */
    int32_t one;                    /* kinds: sampi_one_of; -1: not known yet */
    int32_t run[2];                 /* [keep]: sampi_stretch in 32 bits */
} sampi_lex;

typedef struct sampi_frame {
    int32_t rule, edge; /* edge: the first one, or -1 */
} sampi_frame;
typedef struct sampi_edge {
    sampi_node then;
    int32_t member, frame, next; /* member: as in a call */
} sampi_edge;
typedef struct sampi_item {
    int32_t state, frame, flags; /* flags: the state's */
} sampi_item;

/* An entry: what a state allows from certain nodes of the tries. parent 0, 1: from the roots of both tries; 2 e + 2, 2
   e + 3: from the places of entry e. With an odd parent it has places of its own. With an even one it belongs to the
   outermost frame, behind which nothing can follow. */
typedef struct sampi_entry {
    int32_t parent, state;
    uint32_t *bits;        /* a whole mask; or NULL, and the tokens are a list: */
    const int32_t *tokens; /* [n_tokens] */
    const uint32_t *places;
    int32_t n_tokens, n_places;
    int32_t used; /* as a state's */
} sampi_entry;

/* A level of a walk: the numbers of items, frames and edges when its node of the trie was done. Its items are those
   above the level before it. A single item is not on the stack but here: state and frame. */
typedef struct sampi_level {
    int32_t items, frames, edges;
    int32_t state, frame;
    bool calls; /* its items have calls that were not entered yet */
} sampi_level;

/* A node on the way from the root of the trie of plain tokens to the walk's current node: the grammar's state there,
   what UTF-8 expects next, the kinds and the number of characters so far, and the state's run (runs.h), if it is known
   or worth finding out. */
typedef struct sampi_plain_level {
    int32_t state, expects;
    uint32_t kinds, length, run_kinds;
    int32_t run_reach;
} sampi_plain_level;

/* The run with which the walk over the plain tokens begins; the run's tokens are already in the entry's bits. sure: it
   is the run of the entry's state, so all of them are allowed. Else it is the run of the state that most characters
   lead to, among them all of the kinds to_usual. */
typedef struct sampi_head_start {
    uint32_t kinds, to_usual;
    int32_t reach;
    bool sure, stops; /* stops: no longer text of these kinds is allowed */
} sampi_head_start;

/* How far the walks of an entry have come. node: the next node (0: the beginning of the walk). begun: `start` is known.
   walk: for the root 0: plain tokens, 1: others; else the index of the parent's place that is being walked. */
typedef struct sampi_progress {
    sampi_head_start start;
    uint32_t node;
    int32_t walk;
    bool begun;
} sampi_progress;

/* An entry that samp_grammar_prepare has begun, and what was found for it. */
typedef struct sampi_begun {
    size_t store; /* the store of its numbers; 0: no entry was begun */
    int32_t parent, state;
    sampi_progress at;
    sampi_vec tokens, places, bits; /* bits: [n_mask], or empty */
} sampi_begun;

/* A block of memory in a store. Pieces of it are given out one after the other. */
typedef struct sampi_chunk {
    struct sampi_chunk *behind;
    size_t size, used;
} sampi_chunk;

/* What is known of a grammar with a vocabulary: nodes, states, entries. See store.h. */
typedef struct sampi_store {
    size_t serial;      /* no other store of the process has the same */
    size_t bytes, most; /* bytes held, and the limit */
    size_t fixed;       /* size of the block that begins with this record */
    size_t chunk;       /* size of a usual chunk, in bytes */
    sampi_tree tree;    /* the grammar's own nodes come first */
    sampi_growth growth;
    int32_t *state_of; /* [nodes] 0: there is no state yet */
    sampi_lex *states; /* state 0 is dead: it matches nothing */
    int32_t *next;     /* [states x classes] the state behind each class of bytes; below 0: not known yet */
    sampi_entry *entries;
    int32_t *entry_slots; /* [n_slots] a hash table; -1: free */
    int32_t n_states, cap_states, n_entries, cap_entries, n_slots;
    int32_t n_calls; /* how many calls have used it */
    sampi_chunk *chunks;
    struct sampi_store *behind; /* the next one that waits to be freed */
    /* moved_from: the serial of the store from which this one took over, or 0. moved: the new number of each node of
       that store and, from moved_states on, of each state; 0: it was not taken over. */
    size_t moved_from;
    int32_t *moved;
    int32_t moved_states, n_moved;
} sampi_store;

/* What a call needs for its work; it borrows one. */
typedef struct sampi_workspace {
    struct sampi_workspace *behind;
    int32_t busy;
    sampi_store *reads; /* the store that the call reads, which is therefore not freed */
    size_t memo_of;     /* the serial of the store whose nodes the memo has */
    sampi_memo *memo;
    int32_t n_memo;
    sampi_vec work, calls, tokens, places;
    sampi_pairs seen, joined, queued;
    int32_t *rule_frame;      /* [rules] the frame of a rule's call, if it was made in this step */
    sampi_level *level;       /* [index->deepest + 1] */
    sampi_plain_level *plain; /* [index->deepest + 1]; too large for a small stack */
    uint32_t *bits;           /* [n_mask] of the entry that is being found */
    size_t masks, hits;       /* masks that were made with it; those of them that needed nothing new */
} sampi_workspace;

/* What all samplers of a grammar and an index share. The grammar has a list of these. */
typedef struct sampi_shared {
    struct sampi_shared *behind;
    const samp_grammar *grammar;
    const samp_vocab_index *index;
    size_t index_serial;     /* distinguishes an index from a freed one at the same address */
    size_t deepest, n_mask;  /* the index's; the index may be freed before the grammar */
    int status;              /* SAMP_E_RANGE: a <text> of the grammar is not one token */
    uint64_t named;          /* a hash of the tokens that the grammar names by their text */
    sampi_vec texts;         /* sampi_named */
    sampi_held held;         /* all memory: workspaces and samplers' arrays; and stores, separately */
    sampi_store *now, *gone; /* gone: a list of replaced stores that some call may still read */
    sampi_workspace *workspaces;
    int32_t n_users; /* matchers */
    size_t renewals; /* how many stores were replaced */
    int32_t in_vain; /* steps that sampi_explore took without a result */
} sampi_shared;

typedef struct sampi_named {
    sampi_node text;
    samp_token token;
} sampi_named;

typedef struct sampi_matcher {
    sampi_deriver d; /* its tree is the store's; work, memo and `queued` are borrowed, as other members below */
    const samp_vocab_index *index;
    const samp_grammar *grammar;
    sampi_shared *shared;
    sampi_workspace *space;          /* the matcher's last workspace; during a call, its current one */
    sampi_store *store;              /* during a call: the store that it reads */
    sampi_store *own;                /* the same store, if it is this call's alone, or NULL */
    size_t place_in;                 /* the store whose states the items have; 0: the position must be found again */
    size_t tree_of;                  /* the serial of the store whose tree is d.tree */
    int32_t now;                     /* during a call: the time of the store's clock */
    sampi_vec items;                 /* sampi_item; the first n_now are the text's position */
    sampi_vec frames;                /* sampi_frame */
    sampi_vec edges;                 /* sampi_edge */
    sampi_vec calls, tokens, places; /* borrowed: a state's calls, an entry's tokens and places */
    sampi_vec history;               /* samp_token: the accepted tokens */
    sampi_vec past;                  /* sampi_item: the positions before the last tokens, one behind the other, */
    sampi_vec past_n;                /* int32_t: how many items each position has (sampi_place_size) */
    int32_t depth;                   /* at least so many positions are kept, if there were so many tokens */
    sampi_lazy lazy;          /* while it waits, the items are those of the beginning, and every token is allowed */
    sampi_pairs seen, joined; /* borrowed */
    int32_t *rule_frame;      /* borrowed, as the next three: see sampi_workspace */
    sampi_level *level;
    sampi_plain_level *plain;
    uint32_t *found;
    uint32_t *bits;      /* a mask, for apply */
    int32_t n_now, base; /* base: the first frame of the current step */
    int32_t live;        /* how many frames the last sweep left */
    int32_t missed;      /* how many entries the current mask had to find */
    bool ended;          /* the current step has an item that ends the outermost frame */
    bool again;          /* the text is being read again */
    int64_t max_steps;
    sampi_begun begun;
    bool ahead;   /* a call of samp_grammar_prepare: what its steps do not complete is continued by the next one */
    int32_t idle; /* how many such calls in a row made no progress, */
    int64_t advances;             /* and how often one did */
    int64_t spent;                /* their steps since the last token */
    struct sampi_matcher *behind; /* the next matcher of a samp_state_load */
} sampi_matcher;

/* A number in past_n. SAMPI_PLACE_STAYS: the token, which ends a generation, left the position as it was. Below that:
   the grammar was waiting; the number of items is encoded (sampi_place_size). Else: the number of items. */
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
/* Stores a state's run. All reaches that are longer than any token mean the same. */
static void sampi_run_put(const sampi_matcher *m, int32_t state, bool keep, sampi_stretch run)
{
    enum { ENDLESS = 0x3fff };
    const uint32_t reach = run.reach == INT32_MAX    ? (uint32_t)ENDLESS
                           : run.reach > ENDLESS - 2 ? (uint32_t)ENDLESS - 1
                                                     : (uint32_t)(run.reach + 1);
    SAMPI_INT_PUT(&sampi_lex_at(m, state)->run[keep],
                  (int32_t)(run.kinds | reach << 16 | (uint32_t)run.explored << 30 | (uint32_t)run.stops << 31));
}
