// regex_suite.mjs - regular expressions and texts of RE2's and of AT&T's suites, as Go's source has them, and what node says.
//     node regex_suite.mjs TESTDATA EVERY      TESTDATA: Go's src/regexp/testdata; of RE2's exhaustive list each EVERY-th
// Lines {name, schema: {type: "string", pattern}, tests: [{valid, data}]} for schema_files.c. Left out: what is no expression
// to node (with the flag u), and texts that are not Unicode.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
const [dir, every] = process.argv.slice(2);
const patterns = new Map(); // pattern -> set of texts
const add = (pattern, texts) => {
    if (!patterns.has(pattern)) patterns.set(pattern, new Set());
    for (const text of texts) if (text.isWellFormed()) patterns.get(pattern).add(text);
};
const unquote = (line) => {
    try {
        return JSON.parse(line.replace(/\\x([0-9a-f]{2})/gi, '\\u00$1').replace(/\\a/g, '\\u0007').replace(/\\v/g, '\\u000b'));
    } catch (e) {
        return undefined;
    }
};
const re2 = (text, nth) => {
    let texts = [], reading = false, seen = 0;
    for (const line of text.split('\n')) {
        if (line === 'strings') texts = [], reading = true;
        else if (line === 'regexps') reading = false;
        else if (line[0] === '"') {
            const value = unquote(line);
            if (value === undefined) continue;
            if (reading) texts.push(value);
            else if (seen++ % nth === 0) add(value, texts);
        }
    }
};
const att = (text) => { // flags, expression, text, what matches; \n and such only if a flag says so
    for (const line of text.split('\n')) {
        const [flags, pattern, subject] = line.split(/\t+/);
        if (/^[BEASK]*E[BEASK]*$/.test(flags) && pattern && subject) add(pattern, [subject === 'NULL' ? '' : subject]);
    }
};
re2(readFileSync(`${dir}/re2-search.txt`, 'utf8'), 1);
re2(execFileSync('bzcat', [`${dir}/re2-exhaustive.txt.bz2`], { encoding: 'utf8', maxBuffer: 1 << 28 }), Number(every));
for (const file of ['basic.dat', 'nullsubexpr.dat', 'repetition.dat']) att(readFileSync(`${dir}/${file}`, 'utf8'));
const all = [...new Set([...patterns.values()].flatMap((texts) => texts.size < 40 ? [...texts] : []))];
for (const [pattern, texts] of patterns) {
    let expression;
    try {
        expression = new RegExp(pattern, 'u');
    } catch (e) {
        continue;
    }
    const more = texts.size < 40 ? all.slice(0, 200) : [];
    const list = [...new Set([...texts, ...more])].map((text) => `{"valid":${expression.test(text)},"data":${JSON.stringify(text)}}`);
    console.log(`{"name":${JSON.stringify(pattern)},"schema":${JSON.stringify({ type: 'string', pattern })},"tests":[${list}]}`);
}
