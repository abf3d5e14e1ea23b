/* grammars.h - GBNF for grammar.c, between braces: what the language has, and shapes that grammars in use have. */
/* any JSON */
JSON_GBNF,
/* arithmetic, without left recursion */
"root ::= (expr \"=\" ws term \"\\n\")+\nexpr ::= term ([-+*/] term)*\nterm ::= ident | num | \"(\" ws expr \")\" ws\n"
"ident ::= [a-z] [a-z0-9_]* ws\nnum ::= [0-9]+ ws\nws ::= [ \\t\\n]*\n",
/* a list */
"root ::= item+\nitem ::= \"- \" [^\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029]+ \"\\n\"\n",
/* chess */
"root ::= \"1. \" move \" \" move \"\\n\" ([1-9] [0-9]? \". \" move \" \" move \"\\n\")+\nmove ::= (pawn | nonpawn | castle) [+#]?\n"
"nonpawn ::= [NBKQR] [a-h]? [1-8]? \"x\"? [a-h] [1-8]\npawn ::= ([a-h] \"x\")? [a-h] [1-8] (\"=\" [NBKQR])?\ncastle ::= \"O-O\" \"-O\"?\n",
/* Japanese */
"root ::= jp-char+ ([ \\t\\n] jp-char+)*\njp-char ::= hiragana | katakana | cjk\nhiragana ::= [\xe3\x81\x81-\xe3\x82\x9f]\n"
"katakana ::= [\xe3\x82\xa1-\xe3\x83\xbf]\ncjk ::= [\xe4\xb8\x80-\xe9\xbf\xbf]\n",
/* something like C */
"root ::= (declaration)*\ndeclaration ::= type \" \" identifier \"(\" parameter? \")\" \" {\" statement* \"}\"\ntype ::= \"int\" | \"float\" | \"char\"\n"
"identifier ::= [a-zA-Z_] [a-zA-Z_0-9]*\nparameter ::= type \" \" identifier\n"
"statement ::= ( type \" \" identifier \" = \" expression \";\" ) | ( identifier \" = \" expression \";\" ) |\n"
" ( \"while\" \"(\" condition \")\" \"{\" statement* \"}\" ) | ( \"return \" expression \";\" )\n"
"condition ::= expression (\"<\" | \"==\" | \"!=\") expression\nexpression ::= term ((\"+\" | \"-\") term)*\nterm ::= factor ((\"*\" | \"/\") factor)*\n"
"factor ::= identifier | number | \"(\" expression \")\"\nnumber ::= [0-9]+\n",
/* repetitions */
"root ::= \"a\"{3} [bc]{2,} \"x\"{0,2} \"y\"{1,3}\n",
"root ::= (\"ab\" | [0-9]+){2,4} \"z\"*\n",
"root ::= \"a\"{0} \"b\" \"c\"{0,0}\n",
"root ::= ([a-z]{1,5} \" \"){3}\n",
"root ::= \"a\"{1998}\n",
"root ::= \"a\"{2000}\n",
"root ::= (\"a\"{0,50}){50}\n",
"root ::= \"a\"{3,3000} \"b\"\n",
"root ::= (\"x\" | \"xx\")*\n",
"root ::= (\"a\"? \"b\"?){3} \"c\"\n",
"root ::= (\"x\" | \"xx\" | \"xxx\"){3,7} \"y\"\n",
/* classes, escapes and characters in pieces */
"root ::= [\\x41-\\x5a\\u00e9\\U0001F600-\\U0001F64F\\]\\-\\[]+\n",
"root ::= [^\\x41-\\x5a\\n\\t\\r\\\\\\\"]+ \"\\n\"\n",
"root ::= .{3,5} \"\xe2\x82\xac\" .*\n",
"root ::= [^a-z]+ \"\xf0\x9f\x98\x80\"+\n",
"root ::= [\xc3\xa0-\xc3\xbf]{2,}\n",
"root ::= \"\" | \"a\" | \"\\x41\\u0042\\U00000043\"\n",
"root ::= []\"a\" [^]\"b\"\n",
"root ::= [-a] [a-] [a-c-e]\n",
"root ::= [z-a] | \"b\"\n",
/* layout */
"  # a comment\nroot ::=\n  a |  # one\n  b\na ::= \"x\" # two\n\n\nb ::= (\n \"y\"\n \"z\" )\r\nc ::= \"q\"",
"root ::= a\na ::= \"x\"\na ::= \"y\"\n",
"root ::= \"a\"\n\"b\"\n",
"root ::= \"a\" |\n\"b\"\n",
"root ::= (\"a\"\n\"b\")* \"c\"\n",
"root ::= a-b-1\na-b-1 ::= \"x\"\n",
/* what is refused */
"root ::= b\n", "root ::= \"a", "root ::= [a", "root ::= (\"a\"", "root ::= \"a\")", "root = \"a\"", "root ::= *", "root ::= \"\"*", "root ::= []*",
"root ::= \"a\"{", "root ::= \"a\"{1", "root ::= \"a\"{1,2", "root ::= \"a\"{,2}", "root ::= \"a\"{x}", "root ::= \"\\q\"", "root ::= \"\\x4\"", "x ::= \"a\"",
"root", "root ::= \"a\"{0}*", "root ::= a.b", "root ::= \"a\" ? *", "root ::= _a", "root ::= <[1", "root ::= <abc", "root ::= !a", "root ::= <the quick>",
/* recursion */
"root ::= \"a\" root | \"b\"\n",
"root ::= \"(\" root \")\" root | \"\"\n",
"root ::= \"a\" root \"a\" | \"a\" root \"b\" | \"c\"\n",
"root ::= \"(\" (root | \"x\") (\",\" root)* \")\"\n",
"root ::= root \"a\" | \"b\"\n",
"root ::= (\"a\"?)* \"b\"\n",
"root ::= x root \"y\" | \"z\"\nx ::= \"x\"?\n",
"root ::= [a-z] | \"(\" root op root \")\"\nop ::= \"+\" | \"and\" | \" of \"\n",
"root ::= a \" \" a\na ::= \"x\" b | \"y\"\nb ::= \"(\" a \")\" | c\nc ::= \"[\" b \"]\" | \"{\" a \"}\" | \"0\"\n",
/* tokens */
"root ::= <[5]> <[6]> \"a\"\n",
"root ::= \" \" <[300]>+ \"b\"\n",
"root ::= !<[5]> !<[6]> \" the\"\n",
"root ::= <tool> [a-z]+ <tool>\n",
"root ::= (!<tool>)* <tool> \"x\"\n",
"root ::= (<[100]> | \"a\")* \"b\"\n",
"root ::= <[99999]> | \"a\"\n",
