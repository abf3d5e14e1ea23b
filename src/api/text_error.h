/* Why and where a text (a grammar, or the JSON of a request) was rejected. The caller passes a pointer to this struct,
   and the function that reads the text fills it. */
typedef struct samp_text_error {
    int status;          /* SAMP_OK: the text is valid */
    size_t line, column; /* the place of the error; both start at 1, and columns count bytes */
    char message[160];   /* what was expected */
} samp_text_error;

typedef samp_text_error samp_grammar_error;
