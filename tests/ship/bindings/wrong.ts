// What the types of sampling.d.ts refuse: each comment must be needed. Nobody runs this.
import { Chain, Constraint, Grammar, Matcher, Ngram, Text, Vocab, Watermark, guide, sampleBatch } from './sampling.js';

const chain = new Chain(3);
// @ts-expect-error a number
const text: string = chain.sample([1]);
// @ts-expect-error a token and its log-probabilities
const token: number = chain.sample([1], { logprobs: 3 });
// @ts-expect-error a token and its log-probabilities
const supported: number = chain.sample([1], { support: 3 });
// @ts-expect-error tokens and their log-probabilities
const tokens: number[] = chain.verify([1], [], { logprobs: 0 });
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
const vocab = new Vocab(['a']), bytes: Uint8Array = new Text<Uint8Array>(vocab, ['a'], { rawBytes: true }).push(0), shown: string = new Text(vocab).push(0);
// @ts-expect-error a string
const notBytes: Uint8Array = new Text(vocab, ['a']).push(0);
// @ts-expect-error stops are a list of strings
new Text(vocab, [1]);
// @ts-expect-error no such option
new Text(vocab, ['a'], { stop: 1 });
// @ts-expect-error numbers
new Ngram('2');
// @ts-expect-error a scale is needed
guide([1], [2]);
// @ts-expect-error a GGUF is no text
Vocab.fromGguf('GGUF');
// @ts-expect-error a list of settings is one of names and values
new Chain(3, 'top_k');
