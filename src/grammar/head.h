/* ================================================================================================== >>grammar
   Texts that a model may write (SAMPLING_GRAMMAR). In comes a grammar, out goes, token by token, the set of tokens that
   keep the text a beginning of one that the grammar has. The parts, in the order of the file:

     tree         expressions over bytes: what every kind of grammar becomes
     finishing    which rules recur, what matches the empty text, which bytes are never told apart: a samp_grammar
     reading      GBNF, regular expressions
     derivatives  what may follow a byte, as a tree again: all that schemas and the matcher have in common
     vocabulary   a trie of all tokens: samp_vocab_index
     triggers     what a lazy grammar waits for, as programs
     matcher      the store, which samplers share; derivatives -> states (a lazy DFA); items and frames (an Earley
                  parser over them); walks over the trie; runs (characters that a state takes whatever they are, so that
                  no walk is needed); entries, which keep what was found, and masks made of them; accepting
     sampler      samp_init_grammar and its functions; what the core asks of it

   A token's way: samp_accept -> sampi_matcher_accept -> for each byte sampi_advance, which moves every item's state on
   (sampi_next, sampi_derive) and lets calls begin and return (sampi_close). A mask's: sampi_matcher_mask -> for each
   item sampi_mask_entry -> sampi_entry_of, which looks only if nobody has (sampi_entry_fill): for the plain tokens by
   sampi_walk_plain, which begins with those of a run, and for the others by sampi_walk.

   The one thing to know: nodes are shared. Two equal expressions have one number, so a set of texts that comes back
   while a text is read is known again, and what was computed for it is there.

   The idea: what may still come is a grammar itself. At first it is the whole one; behind a byte it is what that one
   has behind this byte, its derivative. A token may come if the derivative by all its bytes still has a text.

   The life of a state: it is made when a text first comes to its node, the state behind a byte when that byte is first
   read, its mask when one is first asked for; all of it stays for whatever text of whichever sampler comes there again.
   When the store where it is has grown to its limit, what was used last goes on in another one.

   Who owns what: an index its tries, or somebody else the bytes that it maps; a grammar its tree, and for each index
   that it is used with a store of all that has been learnt. All samplers of a grammar and an index add to it and read
   it, in any number of threads, and no one waits (store.h). A matcher has its place: items, frames, history. */
