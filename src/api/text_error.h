/* Why and where a text (a grammar, a request) was rejected. The caller passes one; functions of grammars and of peers
   fill it. */
typedef struct samp_text_error {
    int status;          /* SAMP_OK: the text is valid */
    size_t line, column; /* from 1; columns count bytes */
    char message[160];   /* what was expected */
} samp_text_error;
