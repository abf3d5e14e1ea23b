/* grammars.h - GBNF for grammar.c, between braces: what the language has, and shapes that grammars in use have. */
/* clang-format off */
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
/* English, and any script */
"root ::= word ([ \\t\\n] word)*\nword ::= (letter | digit | mark)+\nletter ::= [a-zA-Z]\ndigit ::= [0-9]\n"
"mark ::= [!\"#$%&'()*+,\\-./:;<=>?@[\\\\\\]^_`{|}~]\n",
"root ::= ([a-z\\u0430-\\u044f\\u05d0-\\u05ea\\u0e01-\\u0e2e]+ [ .,!?])+\n",
"root ::= [\\U0001F300-\\U0001FAFF]{1,4} (\" \" [a-z]{2,8}){0,3} \".\"\n",
/* arrays and objects in the order of a schema */
"root ::= \"[\" ws (value (\",\" ws value)*)? \"]\" ws\n"
"value ::= string | number | \"true\" | \"false\" | \"null\" | \"[\" ws (value (\",\" ws value)*)? \"]\" | \"{\" ws (string \":\" ws value (\",\" ws string \":\" ws value)*)? \"}\"\n"
"string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1F] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" [0-9a-fA-F]{4}))* \"\\\"\"\n"
"number ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15}) (\".\" [0-9]+)? ([eE] [-+]? [0-9]{1,15})?\n"
"ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n",
"root ::= \"{\" space name-kv \",\" space age-kv (tail)? \"}\" space\n"
"tail ::= \",\" space (email-kv tail-2 | phone-kv)\ntail-2 ::= (\",\" space phone-kv)?\n"
"name-kv ::= \"\\\"name\\\"\" space \":\" space string\nage-kv ::= \"\\\"age\\\"\" space \":\" space integer\n"
"email-kv ::= \"\\\"email\\\"\" space \":\" space string\n"
"phone-kv ::= \"\\\"phone\\\"\" space \":\" space string\nstring ::= \"\\\"\" char* \"\\\"\" space\n"
"char ::= [^\"\\\\\\x7F\\x00-\\x1F] | [\\\\] ([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4})\n"
"integer ::= (\"-\"? integral-part) space\nintegral-part ::= [0] | [1-9] [0-9]{0,15}\n"
"space ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}\n",
"root ::= \"{\\\"kind\\\": \" kind \", \\\"tags\\\": [\" tag (\", \" tag){0,3} \"]}\"\n"
"kind ::= \"\\\"circle\\\"\" | \"\\\"square\\\"\" | \"\\\"line\\\"\" | \"\\\"lines\\\"\"\n"
"tag ::= \"\\\"\" [a-z] [a-z0-9_]{0,11} \"\\\"\"\n",
"root ::= object\nobject ::= \"{\" (pair (\",\" pair)*)? \"}\"\npair ::= key \":\" (object | number)\n"
"key ::= \"\\\"\" (\"a\" | \"ab\" | \"abc\" | \"b\") \"\\\"\"\nnumber ::= [0-9]+ (\".\" [0-9]{1,2})?\n",
/* formats */
"root ::= date \"T\" time zone?\n"
"date ::= [0-9]{4} \"-\" (\"0\" [1-9] | \"1\" [0-2]) \"-\" (\"0\" [1-9] | [12] [0-9] | \"3\" [01])\n"
"time ::= ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{3})?\n"
"zone ::= \"Z\" | [+-] [01] [0-9] \":\" [0-5] [0-9]\n",
"root ::= hex{8} \"-\" hex{4} \"-\" hex{4} \"-\" hex{4} \"-\" hex{12}\nhex ::= [0-9a-fA-F]\n",
"root ::= byte (\".\" byte){3} (\"/\" ([12]? [0-9] | \"3\" [0-2]))?\n"
"byte ::= \"25\" [0-5] | \"2\" [0-4] [0-9] | \"1\" [0-9] [0-9] | [1-9]? [0-9]\n",
"root ::= local \"@\" (label \".\"){1,3} [a-z]{2,6}\nlocal ::= [a-zA-Z0-9._%+-]{1,16}\n"
"label ::= [a-z0-9] ([a-z0-9-]{0,10} [a-z0-9])?\n",
"root ::= \"http\" \"s\"? \"://\" [a-z0-9.-]+ (\":\" [0-9]{1,5})? (\"/\" [^ ?#\\n]*)? (\"?\" [^ #\\n]+)? (\"#\" [^ \\n]+)?\n",
"root ::= [+-]? ([0-9]+ (\".\" [0-9]*)? | \".\" [0-9]+) ([eE] [+-]? [0-9]+)? \"\\n\"\n",
"root ::= \"+\" [0-9]{1,3} \" (\" [0-9]{3} \") \" [0-9]{3} \"-\" [0-9]{4}\n",
/* languages */
"root ::= \"SELECT \" columns \" FROM \" name (\" WHERE \" cond)? (\" ORDER BY \" name (\" DESC\")?)? \";\"\n"
"columns ::= \"*\" | name (\", \" name)*\ncond ::= test ((\" AND \" | \" OR \") test)* | \"NOT (\" cond \")\"\n"
"test ::= name \" \" (\"=\" | \"<\" | \">\" | \"<=\" | \">=\" | \"LIKE\") \" \" (number | \"'\" [^'\\n]* \"'\")\n"
"name ::= [a-z_] [a-z_0-9]{0,15}\nnumber ::= \"-\"? [0-9]{1,9}\n",
"root ::= element\nelement ::= \"<\" tag attr* (\">\" (text | element)* \"</\" tag \">\" | \"/>\")\n"
"tag ::= \"p\" | \"b\" | \"div\" | \"ul\" | \"li\" | \"h\" [1-6]\n"
"attr ::= \" \" (\"id\" | \"class\") \"=\\\"\" [a-z0-9 -]* \"\\\"\"\n"
"text ::= [^<>&\\n] | \"&\" (\"lt\" | \"gt\" | \"amp\") \";\"\n",
"root ::= line+\nline ::= key \": \" (scalar \"\\n\" | \"\\n\" (\" \" \" \" key \": \" scalar \"\\n\")+)\n"
"key ::= [a-z] [a-z0-9_-]*\n"
"scalar ::= [^\\n:#]+ | \"\\\"\" [^\"\\n]* \"\\\"\" | \"[\" (scalar-2 (\", \" scalar-2)*)? \"]\"\n"
"scalar-2 ::= [a-z0-9]+\n",
"root ::= (row \"\\n\")+\nrow ::= cell (\",\" cell)*\n"
"cell ::= [^\",\\n\\r]* | \"\\\"\" ([^\"] | \"\\\"\\\"\")* \"\\\"\"\n",
"root ::= \"(\" ws (atom ws | root ws)* \")\"\natom ::= [a-z+*/<>=-]+ | [0-9]+ | \"\\\"\" [^\"]* \"\\\"\"\n"
"ws ::= [ \\n]*\n",
"root ::= stmt+\n"
"stmt ::= \"let \" id \" = \" expr \";\\n\" | \"if \" expr \" {\\n\" stmt* \"}\\n\" (\"else {\\n\" stmt* \"}\\n\")? | id \"(\" (expr (\", \" expr)*)? \");\\n\"\n"
"expr ::= prim (\" \" op \" \" prim)*\n"
"prim ::= id | [0-9]+ | \"!\" prim | \"(\" expr \")\" | id \"(\" (expr (\", \" expr)*)? \")\"\n"
"op ::= \"+\" | \"-\" | \"*\" | \"/\" | \"==\" | \"!=\" | \"<\" | \"&&\" | \"||\"\nid ::= [a-z] [a-zA-Z0-9]*\n",
"root ::= heading para+ list?\nheading ::= \"#\"{1,3} \" \" [^\\n#]{1,40} \"\\n\\n\"\n"
"para ::= sentence (\" \" sentence){0,4} \"\\n\\n\"\nsentence ::= [A-Z] [a-z ,']* [.!?]\n"
"list ::= ((\"- \" | [1-9] \". \") [^\\n]+ \"\\n\")+\n",
"root ::= \"diff\" (\"\\n\" [ +-] [^\\n]*)+ \"\\n\"\n",
/* calls of tools, and thinking before */
"root ::= (\"<think>\\n\" [^<]* \"</think>\\n\")? (call | answer)\n"
"call ::= \"<tool_call>\\n{\\\"name\\\": \\\"\" name \"\\\", \\\"arguments\\\": {\" (arg (\", \" arg)*)? \"}}\\n</tool_call>\"\n"
"name ::= \"search\" | \"get_weather\" | \"get_time\" | \"add\"\n"
"arg ::= \"\\\"\" [a-z_]+ \"\\\": \" (\"\\\"\" [^\"\\\\\\n]* \"\\\"\" | \"-\"? [0-9]+ | \"true\" | \"false\")\n"
"answer ::= \"The answer is \" [0-9]+ \".\"\n",
"root ::= name \"(\" arg (\",\" \" \" arg){0,2} \")\"\nname ::= \"add\" | \"sub\" | \"mul\" | \"add_all\"\n"
"arg ::= [0-9]{1,3} | name \"(\" arg \")\"\n",
/* choices that share beginnings, and many of them */
"root ::= \"yes\" | \"no\" | \"maybe\" | \"not now\" | \"nothing\" | \"none\" | \"never\"\n",
"root ::= \"red\" | \"reddish\" | \"green\" | \"grey\" | \"greyish\" | \"blue\" | \"black\" | \"bluish\" | \"brown\" | \"white\" | \"yellow\" | \"violet\" | \"orange\" | \"pink\" | \"purple\"\n",
"root ::= (\"a\" | \"ab\" | \"abc\" | \"abcd\" | \"bcd\" | \"cd\" | \"d\"){2,6}\n",
"root ::= (\"the \" | \"The \") adj{0,3} noun (\" and the \" adj{0,2} noun)* \".\"\n"
"adj ::= \"big \" | \"little \" | \"very \" | \"old \"\n"
"noun ::= \"cat\" | \"dog\" | \"bird\" | \"girl\" | \"boy\" | \"tree\"\n",
/* nesting, counting, and what may be empty */
"root ::= a b c\na ::= \"a\" a?\nb ::= (\"b\" b)?\nc ::= \"c\"* d\nd ::= | \"d\" d\n",
"root ::= pair*\npair ::= \"(\" pair* \")\" | \"[\" pair* \"]\" | \"{\" pair* \"}\" | \"<\" pair* \">\"\n",
"root ::= \"a\" root \"b\" | \"c\" root \"d\" | \"e\"?\n",
"root ::= s \"!\" \ns ::= \"x\" s \"x\" | \"y\" s \"y\" | \"z\"\n",
"root ::= (((\"a\" | \"b\")? \"c\"?){2} (\"d\" | \"e\"){1,2})* \"f\"\n",
"root ::= ([a-z] ([a-z] ([a-z] ([a-z] [a-z]?)?)?)?)? \" \" root | \".\"\n",
"root ::= [a-z]{0,3} [a-m]{2} [n-z]{1,}\n",
"root ::= \"a\"{2}{3} \"b\"\n",
"root ::= ((\"a\"{1,2}){1,2}){1,2} \"!\"\n",
/* characters of two, three and four bytes, cut anywhere */
"root ::= (\"\xc3\xa9\" | \"\xc3\xa8\" | \"\xe2\x82\xac\" | \"\xf0\x9f\x98\x80\" | \"\xf0\x9f\x98\x81\")+ \".\"\n",
"root ::= [\xc3\xa0-\xc3\xa9]{2} [\xe2\x82\xa0-\xe2\x82\xbf] [\xf0\x9f\x98\x80-\xf0\x9f\x99\x8f]\n",
"root ::= [^\\u0000-\\u00ff]+ \"a\"\n",
"root ::= [\\u0000-\\uffff]{1,6} \".\"\n",
"root ::= ([^\\U0001F600] | \"\\U0001F600x\")+ \"\\n\"\n",
"root ::= [\\u07ff\\u0800] | [\\ud7ff\\ue000] [\\uffff\\U00010000]+\n",
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
