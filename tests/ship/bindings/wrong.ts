// What the types of sampling.d.ts refuse: each comment must be needed. Nobody runs this.
import { Chain, Constraint, Grammar, Matcher, Vocab, Watermark, sampleBatch } from './sampling.js';

const chain = new Chain(3);
// @ts-expect-error a number
const text: string = chain.sample([1]);
// @ts-expect-error a token and its log-probabilities
const token: number = chain.sample([1], { logprobs: 3 });
// @ts-expect-error no such method
chain.verify([1], [], { method: 'fast' });
// @ts-expect-error no such program
Chain.fromRequest('bing', {});
// @ts-expect-error a Vocab is needed
new Matcher('abc', Grammar.fromRegex('a'));
// @ts-expect-error tokens are no numbers
new Vocab([1, 2]);
// @ts-expect-error a list of chains is needed
sampleBatch(chain, [[1]]);
// @ts-expect-error a Vocab comes first
Constraint.bannedPattern('a+');
// @ts-expect-error a list of spans
Constraint.thinking([[1], [2]], 5);
// @ts-expect-error no such kind
new Watermark(5n, 'green');
// @ts-expect-error a list of settings is one of names and values
new Chain(3, 'top_k');
