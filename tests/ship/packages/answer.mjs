// answer.py in JavaScript.
import { Chain, Grammar, Vocab } from 'sampling';

const schema = { type: 'object', properties: { name: { enum: ['Ada', 'Grace'] }, job: { enum: ['maths', 'ships'] } }, required: ['name', 'job'], additionalProperties: false };
const vocab = new Vocab([...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)), null], { eos: 95 }), tokens = [];
const chain = new Chain(vocab, { grammar: Grammar.fromJsonSchema(schema, 'compact'), seed: 4 });
while (tokens.at(-1) !== 95) tokens.push(chain.sample(Float32Array.from({ length: 96 }, (_, i) => ((i * 7919 + tokens.length * 10007) % 1000) / 250)));
console.log(String.fromCharCode(...tokens.slice(0, -1).map((token) => 32 + token)));
