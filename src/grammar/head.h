/* ================================================================================================== >>grammar
   Grammars (SAMPLING_GRAMMAR): texts that a model may write. The input is a grammar. The output, token by token, is the
   set of tokens behind which the text is still the beginning of a text of the grammar. The parts, in the order of the
   file:

     tree         expressions over bytes: every kind of grammar becomes a tree of them
     finishing    a tree becomes a samp_grammar: which rules recurse, which nodes match the empty text, which bytes the
                  grammar never distinguishes
     reading      GBNF, regular expressions
     derivatives  what may follow a byte, as a node of the tree again; schemas and the matcher share this part
     vocabulary   a trie of all tokens: samp_vocab_index
     triggers     the words, patterns and tokens that a lazy grammar waits for, as programs
     matcher      the store, which samplers share; states, made of derivatives (a lazy DFA); items and frames (an Earley
                  parser whose items have these states); walks over the trie; runs (any text of certain characters is
                  allowed, so no walk is needed); entries, which keep the tokens that were found, and masks made of
                  entries; accepting a token
     sampler      samp_init_grammar and its functions; the hooks that the core calls

   Accepting a token: samp_accept calls sampi_matcher_accept; this calls sampi_advance for each byte, which replaces
   every item's state by the next one (sampi_next, sampi_derive) and lets rules be called and return (sampi_close).
   Making a mask: sampi_matcher_mask calls sampi_mask_entry for each item; this takes the entry from sampi_entry_of,
   which computes it only if the store does not have it (sampi_entry_fill): sampi_walk_plain finds the plain tokens,
   beginning with those of a run, and sampi_walk the others.

   Nodes are shared: two equal expressions have the same number. So if a text leads to a set of texts that was met
   before, everything that was computed for that set is there.

   The idea is that the rest of a text has a grammar too. At the beginning it is the whole grammar. Behind a byte it is
   the derivative by this byte: the texts that the grammar allows after that byte. A token is allowed if the derivative
   by all its bytes still matches some text.

   A state is made when a text first reaches its node; the state behind a byte when this byte is first read; its mask
   when it is first needed. All of them stay for every text of every sampler. When a store has grown to its limit, a new
   one takes over what was used last.

   Who owns what: an index owns its tries, or the user owns the bytes that the index maps. A grammar owns its tree, and
   for each index that it is used with a store of all that was computed. All samplers of a grammar and an index read
   this store and add to it, in any number of threads, and no thread waits for another (store.h). A matcher owns its
   position in the text: items, frames, history. */
