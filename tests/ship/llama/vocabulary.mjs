// vocabulary.mjs - Llama 3's tokens as text for bench/llama/gguf.c: their number, a piece a line, a merge a line.
//
//     node vocabulary.mjs FOLDER OUT        FOLDER: where npm has installed llama3-tokenizer-js
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, out] = process.argv.slice(2);
const found = pathToFileURL(`${folder}/node_modules/llama3-tokenizer-js/bundle/llama3-tokenizer-with-baked-data.js`);
const { default: tokenizer } = await import(found);
const merges = [...tokenizer.merges.entries()].sort((a, b) => a[1] - b[1]).map(([pair]) => pair);
writeFileSync(out, [tokenizer.vocabById.length, ...tokenizer.vocabById, ...merges, ""].join("\n"));
