/* json_gbnf.h - any JSON in GBNF, with the space that a model writes: what tests and the benchmark begin with. */
#ifndef JSON_GBNF
/* clang-format off */
#define JSON_GBNF \
    "root   ::= object\n" \
    "value  ::= object | array | string | number | (\"true\" | \"false\" | \"null\") ws\n" \
    "object ::= \"{\" ws ( string \":\" ws value (\",\" ws string \":\" ws value)* )? \"}\" ws\n" \
    "array  ::= \"[\" ws ( value (\",\" ws value)* )? \"]\" ws\n" \
    "string ::= \"\\\"\" ( [^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4}) )* \"\\\"\" " \
    "ws\n" \
    "number ::= (\"-\"? ([0-9] | [1-9] [0-9]{0,15})) (\".\" [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws\n" \
    "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n"
/* clang-format on */
#endif
