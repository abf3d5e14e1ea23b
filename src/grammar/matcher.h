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

   MEMORY. All arrays only grow, within the limits (samp_set_grammar_limits); numbers stay valid. Between two tokens,
   frames that nobody can return to are dropped. What does not fit is not asked for: the call under way gives up, all
   states and entries go (sampi_sweep_nodes; they come back when they are needed), and it tries once more. Nodes of the
   grammar itself are the first in the matcher's tree, and stay. */

enum {
    SAMPI_STATE_ENDS = 1,  /* its node matches the empty text */
    SAMPI_STATE_CALLS = 2, /* it has calls */
    SAMPI_STATE_TOKENS = 4 /* and some of them are tokens */
};

typedef struct sampi_lex {
    sampi_node node;
    int32_t flags, calls, n_calls; /* calls: the first of them */
    int32_t live, first;           /* in the matcher's array, -1: not known yet: sampi_live_of, sampi_first_of */
    int32_t mark;                  /* sampi_explore has seen it, if it is the matcher's mark */
    int32_t one;                   /* the kinds of which it takes one character: sampi_one_of; -1: not known yet */
    int32_t reach[2];              /* [keep] and kinds [keep]: sampi_run; -1: not known yet */
    uint16_t kinds[2];
    bool explored[2];
    bool stops; /* what is longer than its run can't come: sampi_counted */
} sampi_lex;

/* Go on with `then` behind a rule; or, with rule -1, behind a token (negated: any other one). If the rule is a list's
   member i (-1: it is none), `then` still begins with the list before it: sampi_list_behind. */
typedef struct sampi_call {
    int32_t rule;
    samp_token token;
    bool negated;
    sampi_node then;
    int32_t member;
} sampi_call;

typedef struct sampi_frame {
    int32_t rule, edge; /* edge: the first, or -1 */
} sampi_frame;
typedef struct sampi_edge {
    sampi_node then;
    int32_t member, frame, next; /* member: as in a call */
} sampi_edge;
typedef struct sampi_item {
    int32_t state, frame; /* state below 0: of node ~state, since the states have gone (sampi_find_states) */
} sampi_item;

/* parent: 0 and 1: the root of both tries, 2 e + 2 and 2 e + 3: the places of entry e; the odd ones keep places of
   their own, the even ones are of the outermost frame, behind which nothing can follow. */
typedef struct sampi_entry {
    int32_t parent, state;
    uint32_t *bits;          /* a whole mask, or NULL: */
    int32_t token, n_tokens; /* in the matcher's array */
    int32_t place, n_places;
} sampi_entry;

/* A set of pairs, emptied by counting up. */
typedef struct sampi_pairs {
    sampi_vec slots; /* of 2^k times { round, a, b } */
    int32_t n, round;
} sampi_pairs;

/* A level of a walk: what there was when the node was done. Its items are those behind the level before it; or, where
   it is but one, it is not on the stack, but here: state, in frame. */
typedef struct sampi_level {
    int32_t items, frames, edges;
    int32_t state, frame;
    bool calls; /* its items have calls that have not been entered yet */
} sampi_level;

/* A node on the way of a walk over the plain tokens: its state, what UTF-8 expects, the characters so far, and the
   state's run, if it is known or worth to be found out. */
typedef struct sampi_plain_level {
    int32_t state, expects;
    uint32_t kinds, length, run_kinds;
    int32_t run_reach;
} sampi_plain_level;

typedef struct sampi_matcher {
    sampi_deriver d; /* its tree: a copy of the grammar's, which grows; its memory and steps: the whole matcher's */
    const samp_vocab_index *index;
    const samp_grammar *grammar;
    sampi_vec states;  /* sampi_lex; 0 is dead */
    sampi_vec next;    /* int32_t [states x classes] the state behind each class of bytes, below 0: not known yet */
    sampi_vec calls;   /* sampi_call */
    sampi_vec items;   /* sampi_item; the first n_now are where the text is */
    sampi_vec frames;  /* sampi_frame */
    sampi_vec edges;   /* sampi_edge */
    sampi_vec entries; /* sampi_entry */
    sampi_vec entry_slots; /* int32_t, -1 = free */
    sampi_vec classes;     /* uint32_t [8] each: sets of classes of bytes, of states */
    sampi_vec tokens, places;
    sampi_vec history; /* samp_token: what has been accepted */
    sampi_vec past;    /* sampi_item: those of the places before the last tokens, one place behind the other, */
    sampi_vec past_n;  /* int32_t: and how many of each (sampi_place_size) */
    int32_t depth;     /* at least so many tokens have a place, if there were so many */
    sampi_lazy lazy;   /* while it waits, the items stand where they begin, and allow everything */
    sampi_pairs seen, joined;
    int32_t *rule_frame;      /* [rules] the frame of a rule's call, if it is one of this step */
    sampi_level *level;       /* [index->deepest + 1] */
    sampi_plain_level *plain; /* [index->deepest + 1]: on the stack they would take most of a small one */
    uint32_t *bits;           /* a mask, for apply */
    int32_t n_now, base;      /* base: frames from there on are of the step under way */
    int32_t live;             /* frames that were left when they were last looked through */
    int32_t in_vain;          /* steps that sampi_explore took before it gave up */
    int32_t mark;             /* of its last call */
    bool stateless;           /* some items have nodes instead of states */
    bool ended;               /* the step under way has an item that ends the outermost frame */
    bool unborn;              /* there was no room for the beginning of a text */
    int64_t max_steps;
    uint64_t named;               /* made of the tokens that the grammar has by their text */
    struct sampi_matcher *behind; /* the next one of a samp_state_load under way */
} sampi_matcher;

static sampi_lex *sampi_lex_at(const sampi_matcher *m, int32_t s) { return (sampi_lex *)m->states.data + s; }
static sampi_item *sampi_item_at(const sampi_matcher *m, int32_t i) { return (sampi_item *)m->items.data + i; }
static sampi_frame *sampi_frame_at(const sampi_matcher *m, int32_t i) { return (sampi_frame *)m->frames.data + i; }
static sampi_edge *sampi_edge_at(const sampi_matcher *m, int32_t i) { return (sampi_edge *)m->edges.data + i; }
static sampi_entry *sampi_entry_at(const sampi_matcher *m, int32_t i) { return (sampi_entry *)m->entries.data + i; }

static void sampi_pairs_clear(sampi_pairs *p)
{
    p->n = 0;
    if (p->round == INT32_MAX) { /* begin to count anew, without what is left of the old rounds */
        if (p->slots.n) memset(p->slots.data, 0, (size_t)p->slots.n * 4);
        p->round = 0;
    }
    p->round++;
}

/* Put a pair in. Is it new? (If there is no memory it is not, and the fault is told.) */
static bool sampi_pairs_add(sampi_matcher *m, sampi_pairs *p, int32_t a, int32_t b)
{
    if (3 * (2 * p->n + 2) > p->slots.n) { /* twice the room, and all of this round again */
        sampi_vec old = p->slots;
        p->slots = sampi_vec_like(&old);
        if (!sampi_more(&m->d, &p->slots, 4, old.n ? 2 * old.n : 3 * 64)) {
            p->slots = old;
            return false;
        }
        memset(p->slots.data, 0, (size_t)p->slots.n * 4);
        p->n = 0;
        for (int32_t i = 0; i < old.n; i += 3) {
            const int32_t *s = (const int32_t *)old.data + i;
            if (s[0] == p->round) sampi_pairs_add(m, p, s[1], s[2]);
        }
        sampi_vec_free(&old);
    }
    uint32_t mask = (uint32_t)p->slots.n / 3 - 1, i = ((uint32_t)a * 0x9E3779B1u ^ (uint32_t)b * 0x85EBCA77u);
    for (i = (i ^ i >> 15) & mask;; i = (i + 1) & mask) {
        int32_t *s = (int32_t *)p->slots.data + 3 * (size_t)i;
        if (s[0] != p->round) {
            s[0] = p->round;
            s[1] = a;
            s[2] = b;
            p->n++;
            return true;
        }
        if (s[1] == a && s[2] == b) return false;
    }
}
