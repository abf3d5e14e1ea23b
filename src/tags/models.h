/* ---- structural tags: models' tool calls ----
   How models write their calls of tools, as templates of structural tags; samp_builtin_tag fills in the tools. A
   template is JSON with ' instead of ", ` instead of \", and these marks:
     %T   the tags of all tools, separated by commas; each is the model's template of a call
     %N   in a call: the tool's name;   %P   the schema of its parameters
     %+X ... %.   only with X;   %-X ... %.   only without it.   X is T: there are tools; R: "required"; O: "one"; K:
     "thinking" */

/* clang-format off */
#define SAMPI_TAG_ARGUMENTS(style) "{'type':'json_schema','style':'" style "','json_schema':%P}"
#define SAMPI_TAG_CALL(begin, style, end) \
    "{'begin':'" begin "','content':" SAMPI_TAG_ARGUMENTS(style) ",'end':'" end "'}"
/* a call with a number behind `begin` */
#define SAMPI_TAG_NUMBERED(begin, behind, style, end) \
    "{'begin':'" begin "','content':{'type':'sequence','elements':[{'type':'regex','pattern':'[0-9]+'}," \
    SAMPI_TAG_TEXT(behind) "," SAMPI_TAG_ARGUMENTS(style) "]},'end':'" end "'}"
#define SAMPI_TAG_TEXT(text) "{'type':'const_string','value':'" text "'}"
#define SAMPI_TAG_ONE "%+O,'stop_after_first':true%."
/* the text up to the end of thinking, and `behind` after it; then `text` */
#define SAMPI_TAG_THINK(end, behind, text) \
    "%+K{'type':'sequence','elements':[{'type':'tag','begin':'','content':{'type':'any_text'},'end':'" end "'}," \
    behind "%." text "%+K]}%."
#define SAMPI_TAG_THINKS "'<think>','</think>'"
#define SAMPI_TAG_BREAK SAMPI_TAG_TEXT("\\n\\n") ","
/* free text with calls in it; `out`: what the text does not contain */
#define SAMPI_TAG_FREE(trigger, out) \
    "%-T{'type':'any_text','excludes':[" out "]}%." \
    "%+T{'type':'triggered_tags','triggers':['" trigger "'],'tags':[%T],'excludes':[" out "]" \
    "%+R,'at_least_one':true%." SAMPI_TAG_ONE "}%."
/* free text, and sections with calls in it; with "required" the text is `before` and the section */
#define SAMPI_TAG_SECTION(before, trigger, more, separator, end, out) \
    "%-T{'type':'any_text','excludes':[" out "]}%." \
    "%+T%-R{'type':'triggered_tags','triggers':['" trigger "'],'tags':[%." \
    "{'type':'tag','begin':'%+R" before "%." trigger more "','content':" SAMPI_TAG_LIST(separator) \
    ",'end':'" end "'}" \
    "%-R],'excludes':[" out "]" SAMPI_TAG_ONE "}%.%."
#define SAMPI_TAG_LIST(separator) \
    "{'type':'tags_with_separator','separator':'" separator "','at_least_one':true,'tags':[%T]" SAMPI_TAG_ONE "}"
/* the marks of DeepSeek's tokens: U+FF5C, U+2581 */
#define SAMPI_BAR "\xef\xbd\x9c"
#define SAMPI_LOW "\xe2\x96\x81"
#define SAMPI_DEEP(name) "<" SAMPI_BAR "tool" SAMPI_LOW name SAMPI_BAR ">"
#define SAMPI_FENCE "\\u0060\\u0060\\u0060"
#define SAMPI_DEEPSEEK(separator) \
    SAMPI_TAG_THINK("</think>", "", \
        SAMPI_TAG_SECTION("", SAMPI_DEEP("calls" SAMPI_LOW "begin"), "", separator, \
                          SAMPI_DEEP("calls" SAMPI_LOW "end"), SAMPI_TAG_THINKS))
#define SAMPI_DEEPSEEK_CALL(begin, end) \
    SAMPI_TAG_CALL(SAMPI_DEEP("call" SAMPI_LOW "begin") begin, "json", end SAMPI_DEEP("call" SAMPI_LOW "end"))
#define SAMPI_DSML_CALLS(calls) \
    SAMPI_TAG_THINK("</think>", "", \
        SAMPI_TAG_SECTION("\\n\\n", "<" SAMPI_DSML calls ">", "\\n", "", "</" SAMPI_DSML calls ">", SAMPI_TAG_THINKS))
#define SAMPI_DSML_CALL \
    SAMPI_TAG_CALL("<" SAMPI_DSML "invoke name=`%N`>\\n", "deepseek_xml", "</" SAMPI_DSML "invoke>\\n")
#define SAMPI_GLM_OUT \
    "%-T'<tool_call>',%.'</tool_call>','<arg_key>','</arg_key>','<arg_value>','</arg_value>'," SAMPI_TAG_THINKS
#define SAMPI_KIMI_TEXT(begin, end) \
    "{'type':'tag','begin':'" begin "','content':{'type':'any_text','excludes':['<|open|>','<|close|>']}," \
    "'end':'<|close|>" end "<|sep|>'}"
#define SAMPI_KIMI_TOOLS \
    "{'type':'repeat','min':%+R1%.%-R0%.,'max':1,'content':" \
    "{'type':'tag','begin':'<|open|>tools<|sep|>','content':" SAMPI_TAG_LIST("") ",'end':'<|close|>tools<|sep|>'}}"
#define SAMPI_HARMONY_CALL(begin) SAMPI_TAG_CALL(begin "<|message|>", "json", "<|call|>")
#define SAMPI_HARMONY_TEXT(channel, end) \
    "{'type':'tag','begin':'<|channel|>" channel "<|message|>','content':{'type':'any_text'},'end':[" end "]}"
#define SAMPI_HARMONY_ENDS "'<|end|>','<|return|>'"

static const struct {
    const char *names; /* separated by semicolons */
    const char *call, *text;
} sampi_tag_models[] = {
    { "llama", SAMPI_TAG_CALL("{`name`: `%N`, `parameters`: ", "json", "}"),
      SAMPI_TAG_FREE("{`name`: ", SAMPI_TAG_THINKS) },
    { "qwen_3;qwen",
      SAMPI_TAG_CALL("<tool_call>\\n{`name`: `%N`, `arguments`: ", "json", "}\\n</tool_call>"),
      SAMPI_TAG_THINK("</think>", SAMPI_TAG_BREAK, SAMPI_TAG_FREE("<tool_call>", SAMPI_TAG_THINKS)) },
    { "exaone",
      SAMPI_TAG_CALL("<tool_call>{`name`: `%N`, `arguments`: ", "json", "}</tool_call>"),
      SAMPI_TAG_THINK("</think>", SAMPI_TAG_BREAK, SAMPI_TAG_FREE("<tool_call>", SAMPI_TAG_THINKS)) },
    { "qwen_3_5;qwen_3_coder;qwen_coder",
      SAMPI_TAG_CALL("<tool_call>\\n<function=%N>\\n", "qwen_xml", "\\n</function>\\n</tool_call>"),
      SAMPI_TAG_THINK("</think>", SAMPI_TAG_BREAK, SAMPI_TAG_FREE("<tool_call>\\n<function=", SAMPI_TAG_THINKS)) },
    { "glm_4_7;glm47",
      SAMPI_TAG_CALL("<tool_call>%N", "glm_xml", "</tool_call>"),
      SAMPI_TAG_THINK("</think>", "", SAMPI_TAG_FREE("<tool_call>", SAMPI_GLM_OUT)) },
    { "minimax",
      SAMPI_TAG_CALL("<invoke name=`%N`>\\n", "minimax_xml", "</invoke>\\n"),
      SAMPI_TAG_THINK("</think>", SAMPI_TAG_BREAK,
          SAMPI_TAG_SECTION("\\n", "<minimax:tool_call>", "\\n", "", "</minimax:tool_call>", SAMPI_TAG_THINKS)) },
    { "kimi",
      SAMPI_TAG_NUMBERED("<|tool_call_begin|>functions.%N:", "<|tool_call_argument_begin|>", "json",
                         "<|tool_call_end|>"),
      SAMPI_TAG_THINK("</think>", "",
          SAMPI_TAG_SECTION("", "<|tool_calls_section_begin|>", "", "", "<|tool_calls_section_end|>",
                            "'<|tool_call_begin|>'," SAMPI_TAG_THINKS)) },
    { "kimi_k3",
      SAMPI_TAG_NUMBERED("<|open|>call tool=`%N` index=`", "`<|sep|>", "kimi_k3_xml", "<|close|>call<|sep|>"),
      "{'type':'sequence','elements':[%+K" SAMPI_KIMI_TEXT("", "think") ",%."
      SAMPI_KIMI_TEXT("%+K<|open|>response<|sep|>%.", "response") "%+T," SAMPI_KIMI_TOOLS "%.,"
      SAMPI_TAG_TEXT("<|close|>message<|sep|>") "]}" },
    { "deepseek_r1",
      SAMPI_DEEPSEEK_CALL("function" SAMPI_DEEP("sep") "%N\\n" SAMPI_FENCE "json\\n", "\\n" SAMPI_FENCE),
      SAMPI_DEEPSEEK("\\n") },
    { "deepseek_v3_1", SAMPI_DEEPSEEK_CALL("%N" SAMPI_DEEP("sep"), ""), SAMPI_DEEPSEEK("") },
    { "deepseek_v3_2", SAMPI_DSML_CALL, SAMPI_DSML_CALLS("function_calls") },
    { "deepseek_v4", SAMPI_DSML_CALL, SAMPI_DSML_CALLS("tool_calls") },
    { "cohere",
      SAMPI_TAG_NUMBERED("<cofl:tool_call id=`", "` name=`%N`>", "cohere_xml", "</cofl:tool_call>"),
      SAMPI_TAG_THINK("<|END_THINKING|>", "",
          SAMPI_TAG_SECTION("", "<cofl:tool_calls>", "", "", "</cofl:tool_calls>",
                            "'<|START_THINKING|>','<|END_THINKING|>'")) },
    { "harmony", /* gpt-oss */
      SAMPI_HARMONY_CALL("<|channel|>commentary to=functions.%N<|constrain|>json") ","
      SAMPI_HARMONY_CALL("<|channel|>commentary to=functions.%N <|constrain|>json") ","
      SAMPI_HARMONY_CALL(" to=functions.%N<|channel|>commentary <|constrain|>json") ","
      SAMPI_HARMONY_CALL(" to=functions.%N<|channel|>commentary json"),
      "{'type':'sequence','elements':[%+K{'type':'star','content':{'type':'sequence','elements':["
      SAMPI_HARMONY_TEXT("analysis", "'<|end|>'") "," SAMPI_TAG_TEXT("<|start|>assistant") "]}},%."
      "{'type':'tags_with_separator','separator':'<|start|>assistant','at_least_one':true,'tags':[%+T%T%."
      "%-R%+T,%." SAMPI_HARMONY_TEXT("final", SAMPI_HARMONY_ENDS)
      "%+K," SAMPI_HARMONY_TEXT("analysis", SAMPI_HARMONY_ENDS) "%.%.]" SAMPI_TAG_ONE "}]}" }
};
/* clang-format on */

/* What fills in a template. The document has the tools. */
typedef struct sampi_tag_maker {
    sampi_tags tags;
    const char *call;
    bool with[4]; /* T, R, O, K */
    char *text;   /* [size] */
    size_t size, n;
} sampi_tag_maker;

static SAMPI_COLD void sampi_tag_write(sampi_tag_maker *m, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++, m->n++)
        if (m->n + 1 < m->size) m->text[m->n] = text[i];
}

/* Returns the function of a tool of OpenAI's form, {"type":"function","function":{"name","parameters"}}, whose type may
   be missing; -1 if it is none, which is an error. A name has no character that ends it in some model's calls. */
static SAMPI_COLD int32_t sampi_tag_function(sampi_tags *g, int32_t tool)
{
    size_t n = 0;
    if (!sampi_tags_is(g, tool, SAMPI_JSON_OBJECT)) return sampi_schema_malformed(&g->x, tool, "expected a tool"), -1;
    const bool typed = sampi_tags_member(g, tool, "type") >= 0;
    const int32_t type = typed ? sampi_tags_required(g, tool, "type", SAMPI_JSON_STRING) : -1;
    const char *text = type < 0 ? "" : sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, type)->text, &n);
    if (type >= 0 && (n != 8 || memcmp(text, "function", 8)))
        sampi_schema_refuse(&g->x, type, "tools other than functions are not supported");
    const int32_t function = g->x.status ? -1 : sampi_tags_required(g, tool, "function", SAMPI_JSON_OBJECT);
    const int32_t name = function < 0 ? -1 : sampi_tags_required(g, function, "name", SAMPI_JSON_STRING);
    const int32_t schema = function < 0 ? -1 : sampi_tags_member(g, function, "parameters");
    if (name < 0) return -1;
    text = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, name)->text, &n);
    bool good = n > 0;
    for (size_t i = 0; i < n; i++) good = good && (unsigned char)text[i] > ' ' && !strchr("\"\\<>", text[i]);
    if (!good) sampi_schema_malformed(&g->x, name, "expected a name without blanks, quotes, \\ and < >");
    if (schema >= 0 && sampi_schema_doc(&g->x, schema)->kind < SAMPI_JSON_OBJECT &&
        sampi_schema_doc(&g->x, schema)->kind > SAMPI_JSON_TRUE)
        sampi_schema_malformed(&g->x, schema, "expected a schema");
    return g->x.status ? -1 : function;
}

/* Fills in a template. `function` is the tool's node in the document, or -1 outside of calls. */
static SAMPI_COLD void sampi_tag_expand(sampi_tag_maker *m, const char *text, int32_t function)
{
    static const char conditions[] = "TROK";
    const sampi_tags *g = &m->tags;
    int32_t skipped = 0; /* how many of the conditions around the place are skipped, from the first that fails on */
    for (; *text; text++) {
        const char c = *text == '%' ? *++text : 0;
        size_t n;
        if (c == '+' || c == '-') {
            const bool is = m->with[strchr(conditions, *++text) - conditions];
            skipped += skipped || is != (c == '+');
        } else if (c == '.') {
            skipped -= skipped > 0;
        } else if (skipped) {
            continue;
        } else if (c == 'T') {
            for (int32_t i = sampi_schema_doc(&g->x, 0)->first; i >= 0; i = sampi_schema_doc(&g->x, i)->next) {
                sampi_tag_expand(m, m->call, sampi_tags_member(g, i, "function"));
                if (sampi_schema_doc(&g->x, i)->next >= 0) sampi_tag_write(m, ",", 1);
            }
        } else if (c == 'N') {
            const int32_t name = sampi_tags_member(g, function, "name");
            const char *bytes = sampi_schema_doc_text(&g->x, sampi_schema_doc(&g->x, name)->text, &n);
            sampi_tag_write(m, bytes, n);
        } else if (c == 'P') {
            const int32_t schema = sampi_tags_member(g, function, "parameters"),
                          strict = sampi_tags_member(g, function, "strict");
            if (schema < 0 || sampi_tags_is(g, schema, SAMPI_JSON_NULL) || sampi_tags_is(g, strict, SAMPI_JSON_FALSE))
                sampi_tag_write(m, "{\"type\":\"object\"}", 17);
            else
                sampi_tag_write(m, g->x.doc.source + sampi_schema_doc(&g->x, schema)->at,
                                sampi_tags_value_length(&g->x.doc, schema));
        } else {
            const char *quote = *text == '\'' ? "\"" : *text == '`' ? "\\\"" : NULL;
            sampi_tag_write(m, quote ? quote : text, quote ? strlen(quote) : 1);
        }
    }
}

SAMP_API int64_t samp_builtin_tag(const char *model, const char *tools, const char *options, char *text, size_t size,
                                  samp_text_error *error)
{
    static const char *const words[] = { "", "required", "one", "thinking" };
    const size_t n_models = sizeof sampi_tag_models / sizeof *sampi_tag_models;
    samp_text_error mine;
    sampi_tag_maker m;
    size_t at = 0;
    memset(&m, 0, sizeof m);
    memset(error ? error : &mine, 0, sizeof mine);
    m.text = text;
    m.size = size;
    sampi_json *doc = &m.tags.x.doc;
    const char *source = tools ? tools : "[]";
    int status = sampi_json_read(doc, source, strlen(source), error ? error : &mine);
    if (!status && (!model || (!text && size)))
        status = sampi_json_fail(doc, 0, SAMP_E_NULL, "model or text is NULL");
    while (!status && at < n_models && !sampi_tags_is_listed(sampi_tag_models[at].names, ';', model, strlen(model)))
        at++;
    if (!status && at == n_models) status = sampi_json_fail(doc, 0, SAMP_E_NAME, "model: this name is not known");
    for (const char *word = options ? options : ""; *word && !status;) {
        const size_t n = strcspn(word, " ");
        int i = 1;
        while (i < 4 && (strlen(words[i]) != n || memcmp(words[i], word, n))) i++;
        if (i == 4 && n) status = sampi_json_fail(doc, 0, SAMP_E_RANGE, "options: expected required, one, thinking");
        if (i < 4) m.with[i] = true;
        word += n + (word[n] == ' ');
    }
    m.tags.x.status = status;
    if (!status && !sampi_tags_is(&m.tags, 0, SAMPI_JSON_ARRAY))
        sampi_schema_malformed(&m.tags.x, 0, "expected a list of tools");
    m.with[0] = !m.tags.x.status && sampi_schema_doc(&m.tags.x, 0)->n > 0;
    if (!m.tags.x.status && m.with[1] && !m.with[0])
        sampi_schema_fail(&m.tags.x, 0, SAMP_E_EMPTY, "a call is required, and there is no tool");
    for (int32_t i = m.with[0] ? sampi_schema_doc(&m.tags.x, 0)->first : -1; i >= 0 && !m.tags.x.status;
         i = sampi_schema_doc(&m.tags.x, i)->next)
        sampi_tag_function(&m.tags, i);
    status = m.tags.x.status;
    if (!status) {
        m.call = sampi_tag_models[at].call;
        sampi_tag_write(&m, "{\"type\":\"structural_tag\",\"format\":", 34);
        sampi_tag_expand(&m, sampi_tag_models[at].text, -1);
        sampi_tag_write(&m, "}", 1);
    }
    if (size && text) text[m.n < size ? m.n : size - 1] = 0;
    if (doc->nodes) sampi_json_free(doc);
    return status ? status : (int64_t)m.n;
}
