// xgrammar.mjs - XGrammar's rows of the table that bench_grammar.c begins: its WebAssembly, called from JavaScript.
//
//     node xgrammar.mjs LIBRARY VOCABULARY DIRECTORY
//
// LIBRARY is @mlc-ai/web-xgrammar's index.js under a name that ends in .cjs; VOCABULARY is llama3_vocabulary.mjs's;
// DIRECTORY has bench_grammar's json.gbnf and script.txt. A mask is getNextTokenBitmask, which copies it out of the
// WebAssembly's memory and is a promise; what a call and an awaited one cost that do nothing is told. Masks that do not
// allow as many tokens as the script says are counted.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [library, vocabulary, directory] = process.argv.slice(2);
const xgrammar = createRequire(import.meta.url)(resolve(library));
const lines = readFileSync(`${directory}/script.txt`, "utf8").trim().split("\n");
const script = lines.map((line) => line.split(" ").map(Number));

// Bytes as GPT-2's letters, which its "byte_level" reads.
const letters = [];
for (let byte = 0, unseen = 256; byte < 256; byte++)
    letters.push(String.fromCodePoint((byte > 32 && byte < 127) || (byte > 160 && byte !== 173) ? byte : unseen++));
const pieces = [], hasBytes = [];
for (let file = readFileSync(vocabulary), at = 0; at < file.length; at += 1 + file[at]) {
    hasBytes.push(file[at] > 0);
    const bytes = [...file.subarray(at + 1, at + 1 + file[at])];
    pieces.push(file[at] ? bytes.map((byte) => letters[byte]).join("") : `<|special ${pieces.length}|>`);
}
const end = pieces.length - 1;

const now = () => Number(process.hrtime.bigint()) / 1e3;
const number = (x) => x.toFixed(1).padStart(9);

function row(name, times, init) {
    times.sort((a, b) => a - b);
    const mean = times.reduce((a, b) => a + b, 0) / times.length;
    const at = (share) => times[Math.floor(share * times.length)];
    console.log(name.padEnd(44), number(mean), number(at(0.5)), number(at(0.99)), init.padStart(9));
}

function allowed(bits) {
    let n = 0;
    for (let i = 0; i < pieces.length; i++) n += hasBytes[i] && (bits[i >> 5] >>> (i & 31)) & 1;
    return n;
}

// Masks along the script, whose every token must be allowed. Of a mask the least time of all passes is kept, for it
// is the time that passed on the clock, whatever else the machine did.
async function play(matcher, masks, times) {
    const different = { n: 0, most: 0 };
    for (const [i, [token, want]] of masks.entries()) {
        const start = now();
        const bits = await matcher.getNextTokenBitmask();
        times[i] = Math.min(times[i], now() - start);
        const more = Math.abs(allowed(bits) - want);
        different.n += more > 0;
        different.most = Math.max(different.most, more);
        if (token < 0) matcher.reset();
        else if (!matcher.acceptToken(token)) throw new Error(`XGrammar refuses the token ${token}`);
    }
    matcher.reset();
    return different;
}

async function grammar(name, masks, compile) {
    const times = masks.map(() => Infinity), start = now();
    const matcher = await xgrammar.GrammarMatcher.createGrammarMatcher(await compile());
    const initMs = (now() - start) / 1e3;
    let different;
    for (let pass = 0; pass < 3; pass++) different = await play(matcher, masks, times);
    row(name, times, initMs.toFixed(2));
    console.log(`${"".padEnd(44)} ${different.n} masks allow more tokens or fewer, by at most ${different.most}`);
    return matcher;
}

async function callCost(matcher) {
    const plain = [], awaited = [];
    for (let i = 0; i < 20000; i++) {
        let start = now();
        matcher.isTerminated();
        plain.push(now() - start);
        start = now();
        await (async () => matcher.isTerminated())();
        awaited.push(now() - start);
    }
    row("  of which a call that does nothing", plain, "");
    row("  of which an awaited call that does nothing", awaited, "");
}

const info = await xgrammar.TokenizerInfo.createTokenizerInfo(pieces, "byte_level", false, pieces.length, [end]);
const compiler = await xgrammar.GrammarCompiler.createGrammarCompiler(info, false);
const text = readFileSync(`${directory}/json.gbnf`, "utf8").replace("::= |", '::= "" |'); // so it writes "nothing"
const few = script.slice(0, 20);
const own = () => compiler.compileBuiltinJSONGrammar();
const matcher = await grammar("XGrammar (WebAssembly), its own for JSON", script, own);
await callCost(matcher);
await grammar(`XGrammar, the same grammar, ${few.length} masks`, few, () => compiler.compileGrammar(text, "root"));
