/* ---- 13. vocabularies from a model's own files (SAMPLING_VOCAB) ------------------------------------------------
   A samp_vocab, which grammars, banned strings, stops and dry need, from a tokenizer.json or a GGUF file, given as
   bytes in memory. */

/* samp_vocab_from_tokenizer_json -- reads Hugging Face's tokenizer.json.
     text     [n] the file, UTF-8
     Reads    the pieces of a BPE or Unigram model, with their ids; how the decoder (or, without one, the pre-tokenizer)
              spells them: bytes as letters (ByteLevel), or U+2581 for a blank and <0x0A> for a byte (Metaspace,
              Replace, ByteFallback); and added_tokens. Tokens marked "special" are control tokens, which have no
              bytes; so have ids that no token has. Merges, normalizers and scores do not matter.
     Ends     The file does not say which tokens end a text. Special tokens with the usual names do: </s>, <eos>,
              <|end_of_text|>, <|endoftext|> (eos), <|eot_id|>, <|im_end|>, <|end|>, <end_of_turn> (eot) and others;
              all of them are in eog. If the model has others, set the members of the vocabulary before you use it.
     Returns  the vocabulary, to be freed by samp_vocab_free; NULL on error. error (may be NULL): SAMP_E_FORMAT: not
              JSON, or not a tokenizer, with the place; SAMP_E_UNSUPPORTED: the message names what the file asks for (a
              WordPiece model, another decoder); SAMP_E_RANGE: an id of SAMP_MAX_VOCAB or more, 2^26 bytes of text, or
              2^31 bytes of tokens; SAMP_E_EMPTY: no tokens; SAMP_E_NULL; SAMP_E_NOMEM.
     Memory   While it reads, some ten times the file's size.   Threads  any. */
SAMP_API samp_vocab *samp_vocab_from_tokenizer_json(const char *text, size_t n, samp_grammar_error *error);

/* samp_vocab_from_gguf -- reads the vocabulary of a llama.cpp model, from the beginning of its GGUF file (version 2 or
     3). file     [n] the file, or its beginning with all settings; a mapped file will do. Any alignment is allowed.
     Reads    tokenizer.ggml.model ("gpt2", "llama" or "t5"), .tokens, .token_type, .eos_token_id and .eot_token_id.
              Normal tokens and bytes are spelt as the model says; tokens of the user are taken as they are; control,
              unknown and unused tokens have no bytes. Further ends are found by name, as in
              samp_vocab_from_tokenizer_json.
     Returns  as samp_vocab_from_tokenizer_json; in error, line is 1 and column the offset in the file, from 1.
     Memory   While it reads, 24 bytes a token and the bytes of all tokens.   Threads  any. */
SAMP_API samp_vocab *samp_vocab_from_gguf(const void *file, size_t n, samp_grammar_error *error);
