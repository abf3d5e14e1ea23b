/* ================================================================================================== >>grammar
   Grammars (SAMPLING_GRAMMAR): the texts that a model may write. The input is a grammar. The output, token by token, is
   a mask: the set of tokens that may come next, so that the text remains the beginning of a text of the grammar. The
   parts, in the order of the file:

     tree         expressions over bytes: every kind of grammar becomes a tree of them
     finishing    a tree becomes a samp_grammar: which rules are recursive, which nodes match the empty text, which
                  bytes the grammar treats alike
     reading      GBNF, regular expressions
     derivatives  the texts that may follow a byte, as a node of the tree again; schemas and the matcher use this part
     vocabulary   samp_vocab_index: a trie of all tokens
     triggers     the words, patterns and tokens that a lazy grammar waits for, as programs
     matcher      the cache, which keeps computed data for all samplers; states, made of derivatives (a lazy DFA); items
                  and frames (an Earley parser whose items have these states); walks over the trie; runs (where any text
                  of certain characters is allowed, so that no walk is needed); entries, which keep the tokens that a
                  walk found; masks made of entries; accepting a token
     sampler      samp_init_grammar and its functions; masks that are made ahead; the hooks that the core calls

   The path of an accepted token: samp_accept calls sampi_matcher_accept, which calls sampi_grammar_advance for each
   byte. sampi_grammar_advance replaces every item's state by the state behind the byte (sampi_grammar_next,
   sampi_grammar_derive), and lets rules be called and return (sampi_grammar_close).
   The path of a mask: sampi_matcher_mask calls sampi_grammar_mask_entry for each item. This function takes the entry
   from sampi_grammar_entry_of, which computes an entry (sampi_grammar_entry_fill) only if the cache does not have it.
   To compute one, sampi_grammar_walk_plain finds the tokens of plain characters, first those of a run, and then
   sampi_grammar_walk finds the others.

   Nodes are shared: two equal expressions have the same number. So if two texts can be continued in the same ways, both
   lead to the same node, and what was computed behind the first text is reused behind the second.

   The idea is that the rest of a text has a grammar too. At the beginning it is the whole grammar. Behind a byte it is
   the derivative by this byte: the texts that the grammar allows after that byte. A token is allowed if the derivative
   by all its bytes still matches some text.

   Each state belongs to a node of the tree, and is made when a text first reaches this node. The state behind a byte is
   made when this byte is first read, and a state's mask when it is first needed. All of them are kept for every text of
   every sampler. When a cache has grown to its limit, a new cache takes over the data that were used last.

   Ownership: an index owns its tries; if it was mapped, the user owns the bytes. A grammar owns its tree, and one
   cache of computed data for each index that it is used with. All samplers of a grammar and an index read this cache
   and add to it, in any number of threads, and no thread waits for another (cache.h). A matcher owns its position in
   the text: items, frames, history. */
