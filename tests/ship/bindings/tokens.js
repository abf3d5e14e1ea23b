// What tokens.c prints, by sampling.js; and that rows of other kinds give the same.
'use strict';
const { Chain, takes } = require('./sampling.js');

const nVocab = 12;
const rows = Array.from({ length: 60 }, (_, step) =>
    Array.from({ length: nVocab }, (_, i) => ((i * 7919 + step * 10007) % 1000) / 400));
const chain = new Chain(Array.from({ length: nVocab }, (_, i) => 'abcd'[i % 4]), {
    seed: 2n ** 64n - 1n, top_k: 100, topP: 0.9, temperature: 1.1, penalty_repeat: 1.2, dry_multiplier: 0.8,
    dryBreakers: ['b', '\n'], logit_bias: { 7: 2.5, 9: -Infinity },
    order: 'penalties;dry;temperature;top_n_sigma;top_k;typ_p;top_p;min_p;xtc',
});
const tokens = rows.map((row) => chain.sample(row));
for (const token of tokens) console.log(token);
for (const kind of [Float32Array, Float64Array]) {
    chain.reset();
    if (rows.some((row, step) => chain.sample(kind.from(row)) !== tokens[step])) throw new Error('other tokens');
}
const temp = chain.get('temp');
chain.close();
for (const bad of [{ temp: '0,8' }, { top_k: 2 ** 31 }, { no_such: 1 }, { top_p: 1.5 }]) {
    try {
        new Chain(nVocab, bad);
        console.log(bad, 'is accepted');
    } catch (error) {
        console.log(error.message);
    }
}
console.log(`${temp}, ${takes('top_p')}`);
