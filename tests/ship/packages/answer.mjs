// answer.py in JavaScript.
import { Chain, Grammar, Vocab } from 'sampling';

const schema = { type: 'object', properties: { name: { enum: ['Ada', 'Grace'] }, job: { enum: ['maths', 'ships'] } }, required: ['name', 'job'], additionalProperties: false };
const pieces = [...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)), null];
const model = (text) => Float32Array.from({ length: 96 }, (_, i) => ((i * 7919 + text.length * 10007) % 1000) / 250);
let text = '';

// in five lines:
const vocab = new Vocab(pieces, { eos: 95 });
const chain = new Chain(vocab, { grammar: Grammar.fromJsonSchema(schema, 'compact'), seed: 4 });
for (let token; (token = chain.sample(model(text))) !== 95;) text += pieces[token];
console.log(text);
