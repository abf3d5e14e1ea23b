/* Why and where a text (a grammar's, a request's) was rejected. The caller passes one; functions of grammars and of
   peers fill it. */
typedef struct samp_text_error {
    int status;          /* SAMP_OK if it is good */
    size_t line, column; /* from 1; columns are bytes */
    char message[160];   /* what was expected */
} samp_text_error;
