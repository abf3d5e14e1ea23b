// What is wrong is a SamplingError and changes nothing: every method of sampling.js, found by introspection, gets every
// argument and option of a wrong type, shape or range (ranges are those of the table in sampling.js); objects are closed
// in every order; values change while they are read. SAMPLING_LIBRARY is counted.c's; node --expose-gc.
'use strict';
const assert = require('assert');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { spawnSync } = require('child_process');
const { Beams, Chain, Constraint, Grammar, Matcher, Ngram, Sampler, SamplingError, Text, Vocab, Watermark, childSeed, sampleBatch, takes, unmask, unmaskCount } = require('./sampling.js');
const sampling = require('./sampling.js');
const live = (({ load }) => { const of = load(process.env.SAMPLING_LIBRARY).func('counted_live', 'long', []); return () => Number(of()); })(require('koffi'));

const N = 8, ROW = Float32Array.of(1, 3, 2, 0, 1, 2, 3, 1), PIECES = [...'abcdefg', null];
const vocab = () => new Vocab(PIECES, { eos: 7 }), grammar = () => Grammar.fromRegex('[a-g]*');
const matcher = () => new Matcher(vocab(), grammar()), chain = (more = {}) => new Chain(N, { seed: 3, ...more }), ban = () => Constraint.suppressedTokens([1]);
const thinking = () => new Chain(N, { constraints: [Constraint.thinking([[[1], [2]]], 5, { inside: 0 }), Constraint.loopWatch(), Constraint.schedule({ temp: 2 })] });

// ---- kinds of arguments: a value that is right, and those that are wrong ----

const source = fs.readFileSync(require.resolve('./sampling.js'), 'utf8');
const LIMITS = { i32: [-(2 ** 31), 2 ** 31 - 1], token: [-(2 ** 31), 2 ** 31 - 1], size: [0, 2n ** 64n - 1n], u64: [0, 2n ** 64n - 1n], i64: [-(2n ** 63n), 2n ** 63n - 1n] };
// Below and above what the table says of argument `name` of a function or struct.
function beyond(of, name) {
    const [, body] = new RegExp(`^(?:fn|struct)\\('${of}',(.*?)\\);$`, 'ms').exec(source) ?? assert.fail(`no ${of} in the table`);
    const [, type, range = ''] = new RegExp(`\\b${name}: '(\\w+)(?: ([^' ]*))?`).exec(body) ?? assert.fail(`no ${of}.${name} in the table`);
    const [low, high] = range.replace(/[()\]]/g, '').split('..').map((one) => (/^-?[\d.]+$/.test(one) ? Number(one) : undefined)); // no formulas
    if (type.startsWith('f')) return [...(low === undefined ? [] : [low - 1]), ...(range[0] === '(' ? [low] : []), ...(high === undefined ? [] : [high + 0.5]), 1e39];
    const least = low ?? LIMITS[type][0], most = high ?? LIMITS[type][1];
    return [BigInt(least) - 1n, BigInt(most) + 1n, ...(most < 2 ** 53 ? [most + 1, Number(least) - 1] : [])];
}
const strange = () => [Symbol('x'), () => 1, {}, { valueOf: () => 1, toString: () => '1' }, Object.create(null), new Date(0), /a/];
const noNumber = () => [null, true, '1', '', [1], [], ...strange()];
const int = (of, value = 1) => ({ value, wrong: () => [NaN, Infinity, -Infinity, 0.5, 3.9, 2 ** 32 + 5.5, 2 ** 53, 1e300, 2n ** 64n, ...noNumber(), ...beyond(...of.split('.'))] });
const real = (of, value = 0.5) => ({ value, wrong: () => [NaN, ...noNumber(), ...beyond(...of.split('.'))] });
const noText = () => [new Proxy(/a/, {}), 'a\0b', '\0', 'a\uD800', '\uDC00b', 5, 5n, NaN, true, null, ['a'], Buffer.from('a'), ...strange()];
const text = (value, ...more) => ({ value, wrong: () => [...noText(), ...more] });
const word = (value) => ({ value, wrong: () => ['', 'x', 'toString', 'constructor', '__proto__', 0, 1, null, true, [value], ...strange()] });
const flag = (value = true) => ({ value, wrong: () => [0, 1, 'true', null, [], {}, NaN] });
const noList = () => [null, 5, 'abc', true, {}, { length: -1 }, { length: 1e300 }, Symbol('x'), () => [1], new ArrayBuffer(8), new DataView(new ArrayBuffer(8)), revoked()];
const noToken = () => [NaN, 0.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 40, 2n ** 40n, '1', null, undefined, true, [[1]], {}];
const tokens = (value = [1, 2], ...more) => ({ value, wrong: () => [...noList(), ...noToken().map((one) => [value[0] ?? 1, one]), ...more, function* () { yield '1'; }()] });
const lists = (value, one, ...more) => ({ value, wrong: () => [...noList(), ...one.map((x) => [x]), ...more] });
const texts = (value) => ({ value, wrong: () => [...noList(), ...noText().map((one) => [value[0], one])] });
const floats = (value, ...more) => ({ value, wrong: () => [...noList(), new Uint8Array(4 * N), Buffer.alloc(N), new Uint16Array(N), new BigInt64Array(N), detached(),
    ...[NaN, '1', null, undefined, true, {}, Symbol('x')].map((one) => [...ROW.subarray(1), one]), ROW.subarray(1), [], fake(), ...more] });
const object = (make, ...others) => ({ make, wrong: () => [5, 'a', true, {}, { handle: 1, release: () => 1, clone: () => ({ release: () => 1 }) }, closed(make()), revoked(), ...strange(), ...others] });
const plain = (value) => ({ options: value, wrong: () => [5, 'a', true, [], new Map(), new Uint32Array(2), vocab(), { noSuch: 1 }, JSON.parse('{ "__proto__": 1 }'), Symbol('x')] });
const or = (none, kind) => ({ ...kind, wrong: () => kind.wrong().filter((one) => one !== none) }); // it may be that, too
const any = (value) => ({ value, wrong: () => [] });
const revoked = () => {
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    return proxy;
};
const detached = () => {
    const array = Float32Array.from(ROW);
    structuredClone(array.buffer, { transfer: [array.buffer] });
    return array;
};
const fake = () => Object.setPrototypeOf(Object.defineProperty(new Uint8Array(2), 'length', { value: N }), Float32Array.prototype);
const closed = (one) => (one.close?.(), one.close ? one : null);

const text_ = () => new Text(vocab(), ['a']), ngram = () => new Ngram(), beams = () => new Beams(1, 5);
const JSON_FILE = '{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]},"decoder":{"type":"ByteLevel"}}', noFile = () => [null, undefined, 5, true, [], {}, new ArrayBuffer(9), new Float32Array(9), detached(), revoked(), Symbol('x')];
const GGUF_FILE = Buffer.concat([Buffer.from('GGUF'), Buffer.from(Uint32Array.of(3, 0, 0, 2, 0, 20, 0).buffer), Buffer.from('tokenizer.ggml.model'), Buffer.from(Uint32Array.of(8, 4, 0).buffer), Buffer.from('gpt2'),
    Buffer.from(Uint32Array.of(21, 0).buffer), Buffer.from('tokenizer.ggml.tokens'), Buffer.from(Uint32Array.of(9, 8, 1, 0, 1, 0).buffer), Buffer.from('a')]);
const GRAMMAR = object(grammar, vocab()), VOCAB = object(vocab, grammar()), spans = lists([[[1], [2]]], [null, 5, [], [[1]], [[1], [2], [3], [4]], ['1', '2'], [[1], [0.5]], [[], []]]);
const loop = () => plain(Object.fromEntries([['minPeriod', 4], ['maxPeriod', 128], ['copies', 3], ['lastN', 512], ['every', 16]].map(([name, value]) => [name, int(`loop.${name.replace(/[A-Z]/, (one) => `_${one.toLowerCase()}`)}`, value)])));
const told = () => ({ logprobs: or(null, { value: 2, wrong: () => [-1, 1025, NaN, 0.5, true, '1', {}] }), support: or(null, { value: 2, wrong: () => [-1, 2 ** 22 + 1, NaN, 0.5, true, '1', {}] }) });
const options = () => plain({ mask: or(null, lists(Array(N).fill(true), [1], Uint32Array.of(), [...Array(N - 1).fill(true), 'false'], Array(N).fill(2), new Float32Array(N).fill(0.5))),
    ...told(), ids: or(null, tokens([1], [N], [-1])), dtype: { value: 'float32', wrong: () => [...word('').wrong(), 'float64'] } });
const batchOptions = () => plain({ ...options().options, mask: or(null, lists([Array(N).fill(true)], [1, Array(N - 1)], [], [[], []])), nVocab: or(null, { value: N, wrong: () => [N - 0.5, N + 1, 0, -N, NaN, 2 ** 32 + N, '8', true, {}] }),
    stride: or(null, { value: N, wrong: () => [N - 1, N + 0.5, NaN, Infinity, 0, -1, '8', {}] }), rowIndex: or(null, tokens([0], [1], [-1], [0, 0], [])), nThreads: int('logits.n_threads') });
const PIECE = lists(PIECES, [5, true, undefined, '\uD800', [], {}, new ArrayBuffer(1), new Float32Array(1)]), ends = () => plain({
    eos: or(null, { value: 7, wrong: () => [8, -2, 0.5, NaN, 2 ** 32, '7', true, []] }), eot: or(null, { value: 7, wrong: () => [8, -2, 3.9, '1', {}] }), eog: or(null, tokens([7], [8], [-1])) });
const settings = () => plain({
    temperature: or(null, { value: 0.5, wrong: () => [NaN, -1, true, 'x', '0.5\0', ' 1', [1], ['1', '2'], {}, Symbol('x'), () => 1, { toString: () => '1' }] }),
    topK: or(null, { value: 4, wrong: () => [NaN, 0.5, 2 ** 31, 2 ** 32 + 5, -(2 ** 31) - 1, 2n ** 40n, true, '4.0', [4]] }), seed: or(null, { value: 5, wrong: () => [-1, 0.5, 2 ** 53, 2 ** 60, 2n ** 64n, true, [5]] }),
    order: or(null, { value: ['top_k', 'temperature'], wrong: () => [5, true, [5], [null], ['a\0'], {}, ['no_such']] }), dryBreakers: or(null, { value: ['a'], wrong: () => [5, true, ['\0'], [''], [5], [null], {}] }),
    logitBias: or(null, { value: { 1: 2 }, wrong: () => [5, true, { 1: NaN }, { 1: '2,3+4' }, { 1: null }, { x: 1 }, { 1.5: 1 }, { [N]: 1 }, [[1]], [[1, 2, 3]], [[0.5, 1]], [['1,2+3', 1]], new Map([[-1, 1]]), [5], new Uint8Array(2), vocab()] }),
    rng: or(null, word('philox')), topKTies: or(null, { value: true, wrong: () => [2, 0.5, 'yes', []] }) });
const CONSTRAINTS = lists([], [null, 5, {}, revoked(), vocab(), chain(), closed(ban()), { clone: () => ({ release: () => 1 }), keep: null }]), MARK = or(null, object(() => new Watermark(5), vocab(), chain()));
const MATCHER = or(null, { make: matcher, wrong: () => [...GRAMMAR.wrong(), ban(), closed(matcher()), closed(grammar())] });
const withMore = () => plain({ ...settings().options, grammar: or(null, { ...any(null), wrong: () => MATCHER.wrong() }), constraints: CONSTRAINTS, watermark: { ...MARK, wrong: () => MARK.wrong().filter((one) => one !== null) } });
const numbers = () => plain({ seed: or(null, int('watermark.seed')), contextWidth: or(null, int('watermark.context_width', 2)), scope: or(null, word('always')), history: or(null, int('watermark.history', 9)),
    alpha: or(null, real('watermark.alpha')), depth: or(null, int('watermark.depth')), gamma: or(null, { value: 0.5, wrong: () => [NaN, '1', true, []] }), delta: or(null, real('watermark.delta')) });
const plan = () => plain({ vocab: or(null, VOCAB), inside: or(null, int('schedule.inside', 0)), total: int('thinking_plan.total', 0), soft: int('thinking_plan.soft', 0), softRatio: real('thinking_plan.soft_ratio', 0),
    grace: int('thinking_plan.grace', 0), note: tokens([]), ends: lists([], [[], null, ['1'], [0.5]]), ramp: or(null, word('linear')), bias: real('thinking_plan.bias', 0), loop: or(null, loop()), loopFrom: int('thinking_plan.loop_from', 0) });
const when = () => plain({ count: word('tokens'), start: int('schedule.from'), stop: int('schedule.to', 9), begin: int('schedule.begin'), where: word('anywhere'), spans: { ...spans, value: [] }, inside: or(null, { ...int('schedule.inside'), value: null }),
    until: tokens([]), vocab: or(null, VOCAB), loop: or(null, loop()) });
const how = () => plain({ rewind: flag(false), anyCase: flag(false) }), SEQUENCES = lists([[1, 2]], [null, 5, [], ['1'], [0.5]]);

const TOKEN = { ...int('score.token'), wrong: () => [...int('score.token').wrong(), N, -1] };
const CHAINS = lists([chain()], [null, 5, {}, matcher(), ban(), closed(chain())], []);

// Each method: what it is called on, and its arguments. What has no arguments needs an object that can.
const calls = {
    'new Vocab': [PIECE, ends()], 'Vocab.length': vocab, 'Vocab.eos': vocab, 'Vocab.eot': vocab, 'Vocab.eog': vocab, 'Vocab.close': vocab,
    'Vocab.fromTokenizerJson': [{ value: JSON_FILE, wrong: () => [...noFile(), '', '{', '\0', '{}', JSON_FILE.slice(1), Buffer.alloc(0)] }], 'Vocab.fromGguf': [{ value: GGUF_FILE, wrong: () => [...noFile(), JSON_FILE, GGUF_FILE.subarray(1), GGUF_FILE.subarray(0, 60), new Uint8Array(0)] }],
    'new Text': [VOCAB, lists(['a'], noText()), plain({ stopTokens: tokens([1], [-1], [2 ** 22]), minTokens: int('text_options.min_tokens', 0), includeStop: flag(false), rawBytes: flag(false), stripSpace: flag(false) })],
    'Text.push': [text_, { value: 1, wrong: () => [NaN, 0.5, -1, 8, 2 ** 31, '1', null, undefined, true, [1], {}, 2n ** 40n] }], 'Text.flush': text_, 'Text.state': text_, 'Text.stop': text_, 'Text.stopAt': text_, 'Text.clone': text_, 'Text.reset': text_, 'Text.close': text_,
    'Text.addPattern': [text_, { ...text('b', '(', 'a*', ''), wrong: () => [...text('b', '(', 'a*', '').wrong().filter((x) => !(x instanceof RegExp)), /b*/] }, int('text_add_pattern.max_bytes')], 'Text.rollback': [text_, { ...int('text_rollback.n', 0), wrong: () => [...int('text_rollback.n').wrong(), 1] }],
    'new Ngram': [int('ngram_init.n_min'), { ...int('ngram_init.n_max', 3), wrong: () => [...int('ngram_init.n_max').wrong(), 0, -1] }, int('ngram_init.max_tokens', 9)], 'Ngram.accept': [ngram, { value: 5, wrong: () => [...int('ngram_accept.token').wrong(), ...tokens().wrong(), [-1], -1].filter((one) => one !== 5 && !['[1]', '[]'].includes(say(one))) }],
    'Ngram.rollback': [ngram, { ...int('ngram_rollback.n', 0), wrong: () => [...int('ngram_rollback.n').wrong(), 1] }], 'Ngram.draft': [ngram, int('ngram_draft.n_max')], 'Ngram.reset': ngram, 'Ngram.close': ngram,
    guide: [floats(ROW, [...ROW, 1], [[1]]), floats(ROW, [...ROW, 1]), real('guide.scale'), { value: new Float32Array(N), wrong: () => [null, 5, 'a', true, {}, [...ROW], new Float64Array(N), new Float32Array(N - 1), new Uint32Array(N), detached(), fake(), revoked()] }],
    'new Grammar': [text('root ::= "a"', '('), word('gbnf'), or(null, text('root', 'no_such'))], 'Grammar.close': grammar,
    'Grammar.fromString': [text('a ::= "a"', '('), or(null, text('a', 'b'))], 'Grammar.fromRegex': [text('a', '(')].map((one) => ({ ...one, wrong: () => one.wrong().filter((x) => !(x instanceof RegExp)) })),
    'Grammar.fromJsonSchema': [{ value: {}, wrong: () => [5, null, undefined, 5n, Symbol('x'), () => 1, '{', '{}\0', '{"type":"object"}\0 rubbish', circular(), []] }, or(null, text('compact', 'no-such'))],
    'Grammar.fromStructuralTag': [{ value: { type: 'structural_tag', format: { type: 'any_text' } }, wrong: () => [5, null, undefined, 5n, {}, '{', circular()] }, or(null, text('compact', 'no-such'))],
    'Grammar.fromTools': [word('llama'), or(null, { value: [{ type: 'function', function: { name: 'f' } }], wrong: () => [5, null, 5n, {}, '{', circular()] }), or(null, text('one', 'no-such')), or(null, text('compact', 'no-such'))],
    'Grammar.warm': [grammar, VOCAB, int('grammar_warm.budget', 9)],
    'new Matcher': [VOCAB, GRAMMAR, plain({ triggerWords: or(null, texts(['a'])), triggerTokens: or(null, tokens([1])) })],
    'Matcher.vocab': matcher, 'Matcher.grammar': matcher, 'Matcher.clone': matcher, 'Matcher.isComplete': matcher, 'Matcher.isAwaiting': matcher, 'Matcher.forced': matcher, 'Matcher.stats': matcher,
    'Matcher.mask': [matcher, { value: new Uint32Array(1), wrong: () => [null, 5, [], [0], new Uint32Array(0), new Float32Array(4), new Uint8Array(4), Buffer.alloc(4), {}, detached(), new BigUint64Array(1), revoked(), Object.create(Uint32Array.prototype)] }],
    'Matcher.allows': [matcher, { value: 1, wrong: () => [NaN, 0.5, 2 ** 31, '1', null, true, [1], {}, 2n ** 40n] }],
    'Matcher.draft': [matcher, int('grammar_draft.n_max')], 'Matcher.certain': [matcher, int('grammar_certain.n_max')], 'Matcher.prepare': [matcher, int('grammar_prepare.budget')],
    'Matcher.setLimits': [matcher, int('set_grammar_limits.max_bytes', 1 << 20), int('set_grammar_limits.max_steps', 1 << 20)],
    'Sampler.accept': [chain, { value: 5, wrong: () => [...int('accept.token').wrong(), ...tokens().wrong(), [1, -1], -1].filter((one) => one !== 5 && !['[1]', '[]'].includes(say(one))) }], 'Sampler.reset': chain,
    'Sampler.rollback': [chain, { ...int('rollback.n', 0), wrong: () => [...int('rollback.n').wrong(), 1] }], 'Sampler.setRollback': [chain, int('set_rollback.depth')], 'Sampler.save': chain,
    'Sampler.load': [chain, { value: chain().save(), wrong: () => [null, 5, [], 'a', {}, new Uint8Array(0), chain().save().subarray(1), new Float32Array(9), new ArrayBuffer(9), detached(), revoked()] }],
    'Sampler.position': [chain, int('set_position.position')], 'Sampler.seed': chain, 'Sampler.describe': chain, 'Sampler.rewindLength': thinking, 'Sampler.loopLength': thinking, 'Sampler.thinkingLeft': thinking,
    'Sampler.thinkingNow': thinking, 'Sampler.thinkingUsed': thinking, 'Sampler.thinkingEnd': thinking, 'Sampler.scheduleHolds': thinking, 'Sampler.close': chain,
    'new Constraint': [any()], 'Constraint.clone': ban, 'Constraint.thinking': [spans, int('init_thinking.budget', 5), plan()], 'Constraint.loopWatch': [loop()],
    'Constraint.schedule': [{ make: ban, wrong: () => [5, null, revoked(), 'a', [], { no_such: 1 }, { seed: 1 }, { mirostat: 2 }, { temp: true }, { temp: NaN }, vocab(), chain(), closed(ban()), { handle: 1 }] }, when()],
    'Constraint.loopBreaker': [loop(), real('init_loop_breaker.penalty', 1)],
    'Constraint.loopBreakerCusum': [plain({ n: int('init_loop_breaker_cusum.n', 6), lastN: int('init_loop_breaker_cusum.last_n', 9), loss: real('init_loop_breaker_cusum.loss'), alarm: real('init_loop_breaker_cusum.alarm', 15), penalty: real('init_loop_breaker_cusum.penalty', 1) })],
    'Constraint.bannedPattern': [VOCAB, { ...text('a', '(', 'a*', ''), wrong: () => [...text('a', '(', 'a*', '').wrong().filter((x) => !(x instanceof RegExp)), /a*/] }, how()],
    'Constraint.bannedStrings': [VOCAB, texts(['a']), how()], 'Constraint.bannedSequences': [SEQUENCES, plain({ rewind: flag(false) })],
    'Constraint.sequenceBias': [lists([[[1, 2], 0.5]], [null, 5, [], [[1]], [[1], NaN], [[1], '1'], [[1], true], [[1], Infinity], [[1], 1, 1], [[0.5], 1], [['1'], 1]])],
    'Constraint.suppressedTokens': [tokens()], 'Constraint.beginSuppressedTokens': [tokens(), int('init_begin_suppressed_tokens.begin')],
    'Constraint.minTokens': [tokens(), int('init_min_tokens.n_min'), int('init_min_tokens.begin')], 'Constraint.allowedTokens': [tokens([1], [])], 'Constraint.forcedPrefix': [tokens(), int('init_forced_prefix.begin')],
    'Constraint.eogBias': [tokens(), { ...real('init_eog_bias.bias'), wrong: () => [...real('init_eog_bias.bias').wrong(), 1e300, Infinity] }],
    'Constraint.lengthPenalty': [tokens(), int('init_length_penalty.start'), real('init_length_penalty.factor'), int('init_length_penalty.begin')],
    'Constraint.topPDecay': [real('init_top_p_decay.p'), real('init_top_p_decay.decay'), real('init_top_p_decay.lowest', 0.3), tokens(), int('init_top_p_decay.min_keep', 0)],
    'Constraint.noRepeatNgram': [int('init_no_repeat_ngram_except.n', 2), int('init_no_repeat_ngram_except.last_n', 9), tokens()],
    'Constraint.timestamps': [int('init_timestamps_except.first', 3), plain({ noTimestamps: or(null, int('init_timestamps_except.no_timestamps', 2)), maxInitial: or(null, int('init_timestamps_except.max_initial', 1)), exempt: tokens() })],
    'new Watermark': [int('watermark.key'), word('gumbel'), numbers()], 'Watermark.forDraft': () => new Watermark(5, 'gumbel_dual'), 'Watermark.detect': [() => new Watermark(5), tokens([1, 2], [-1])],
    'Watermark.detectKeys': [() => new Watermark(5), lists([5n], [-1, 2 ** 53, 2n ** 64n, 0.5, NaN, '5', null, true]), tokens([1, 2], [-1])], 'Watermark.find': [() => new Watermark(5), tokens([1, 2], [-1]), int('watermark_find.window', 2)],
    'new Chain': [{ value: N, wrong: () => [NaN, revoked(), 0.5, -1, 2 ** 31, 2n ** 40n, '8', 'abc', true, {}, grammar(), chain(), closed(vocab()), Symbol('x'), [5], () => 8] }, withMore()],
    'Chain.fromRequest': [word('vllm'), { value: { top_k: 5 }, wrong: () => [5, null, undefined, 5n, Symbol('x'), '{', '{"top_k":5}\0 rubbish', '{}{}', { no_such: 1 }, { top_k: 'x' }, circular(), []] },
        plain({ vocab: or(null, { value: N, wrong: () => [NaN, -1, 0.5, '8', {}, true] }), grammar: or(null, { ...any(null), wrong: () => MATCHER.wrong() }), handled: texts(['a']), lenient: flag(false), nPrompt: int('init_min_tokens.begin', 0), seed: or(null, settings().options.seed), thinking: or(null, { value: () => ban(), wrong: () => [5, 'a', {}] }), constraints: CONSTRAINTS, watermark: MARK })],
    'Chain.vocab': chain, 'Chain.nVocab': chain, 'Chain.settings': chain, 'Chain.clone': chain, 'Chain.text': [() => new Chain(vocab()), { make: vocab, wrong: () => VOCAB.wrong().filter((one) => one !== undefined) }], 'Chain.sample': [chain, floats(ROW, [...ROW, 1], [[...ROW]]), options()],
    'Chain.verify': [chain, floats(Float32Array.of(...ROW, ...ROW)), tokens([1], [8], [-1], [1, 1]), plain({ probs: or(null, floats(Float32Array.from(ROW, () => 0.125), [NaN], [2])), method: word('ratio'), dtype: { value: 'float32', wrong: () => ['x', null, 5, 'float16'] }, ...told() })],
    'Chain.score': [chain, floats(ROW, [[...ROW]]), TOKEN], 'Chain.explain': [chain, floats(ROW, [[...ROW]]), TOKEN],
    'Chain.replay': [chain, tokens([1], [-1], [2 ** 22])],
    'Chain.replayCheck': [chain, floats([[...ROW]]), tokens([1], [N], [-1], [1, 1], []), plain({ mask: batchOptions().options.mask, dtype: options().options.dtype })],
    rawLogprobs: [{ ...floats([[...ROW]]), wrong: () => floats([[...ROW]]).wrong().filter((one) => !(ArrayBuffer.isView(one) && one.length === N - 1)) }, plain({ logprobs: told().logprobs, ids: options().options.ids, mask: batchOptions().options.mask, dtype: options().options.dtype, tokens: or(null, tokens([1], [N], [-2], [1, 1], [])), nVocab: batchOptions().options.nVocab })],
    'Chain.update': [chain, settings()], 'Chain.get': [chain, text('temp', 'no_such', 'toString')], 'Chain.prev': [chain, int('prev.n')],
    'new Beams': [int('beam_params.n_beams'), int('beam_params.max_tokens', 5), plain({ ends: tokens([1], [-1]), lengthPenalty: real('beam_params.length_penalty', 1),
        earlyStopping: { value: 'never', wrong: () => [0, 1, 'ever', '', null, [], {}] }, nGroups: { value: 1, wrong: () => [2, -1, 0.5, '1', null, true, {}] },
        diversityPenalty: real('beam_params.diversity_penalty', 0), sampled: flag(false), seed: int('beam_params.seed') })],
    'Beams.step': [beams, { ...floats(ROW), wrong: () => floats(ROW).wrong().filter((one) => !(ArrayBuffer.isView(one) && one.length === N - 1)) }, plain({ chains: or(null, CHAINS), dtype: options().options.dtype })],
    'Beams.found': beams, 'Beams.save': beams, 'Beams.load': [beams, { value: new Beams(1, 5).save(), wrong: () => [null, 5, 'a', [], {}, new Uint8Array(3), new Float32Array(4), detached()] }], 'Beams.close': beams,
    unmask: [CHAINS, floats([[...ROW]]), plain({ rule: word('margin'), n: { value: 1, wrong: () => [-1, 0, 0.5, 2 ** 31, '1', null, true] }, threshold: { value: 0.5, wrong: () => [NaN, Infinity, -1, '1', null, true] }, seed: int('unmask_params.seed'), temp: { value: 0.5, wrong: () => [NaN, Infinity, -1, '1', null, true] }, dtype: { value: undefined, wrong: () => ['x', null, 5] } })],
    unmaskCount: [word('even'), int('unmask_count.n_masked', 3), { value: 0, wrong: () => [-1, 1, 0.5, '0', null] }, { value: 1, wrong: () => [0, -1, 0.5, '1', null] }],
    sampleBatch: [lists([chain()], [null, 5, {}, matcher(), ban(), closed(chain()), { handle: 1, nVocab: N, fits: () => 1 }]), floats(ROW), batchOptions()], takes: [text('temp', 'no_such')],
    childSeed: [int('child_seed.seed'), int('child_seed.i')], version: [],
};
function circular() {
    const of = {};
    of.of = of;
    return of;
}

const valueOf = (kind) => (kind.options ? Object.fromEntries(Object.entries(kind.options).map(([name, one]) => [name, valueOf(one)])) : kind.make ? kind.make() : kind.value);
// Every wrong value of an argument, and of each option in it: [where, value].
function* wrongs(kind, where) {
    for (const value of kind.wrong()) yield [where, value];
    for (const [name, one] of Object.entries(kind.options ?? {})) for (const [at, value] of wrongs(one, `${where}.${name}`)) yield [at, { ...valueOf(kind), [name]: value }];
}

const say = (value) => {
    try {
        return typeof value === 'object' && value !== null ? JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}n` : one)) ?? String(value) : String(value);
    } catch {
        return 'what cannot be said';
    }
};
function refused(what, where, value) {
    try {
        what();
    } catch (error) {
        assert(error instanceof SamplingError && error.message && error.code.startsWith('SAMP_E_'), `${where} of ${say(value)}: ${error.stack}`);
        return error;
    }
    return assert.fail(`${where} takes ${say(value)}`);
}

let n = 0;
const tests = {
    everyMethod() {
        const seen = new Set();
        for (const [key, given] of Object.entries(calls)) {
            const [, of, name] = /^(?:new )?(\w+)(?:\.(\w+))?$/.exec(key), Class = sampling[of], isNew = key.startsWith('new '), kinds = Array.isArray(given) ? [...given] : [];
            seen.add(key);
            const isMethod = !isNew && name && !(Object.hasOwn(Class, name) && typeof Class[name] === 'function'), make = isMethod ? (Array.isArray(given) ? kinds.shift() : given) : null;
            const setter = isMethod && Object.getOwnPropertyDescriptor(Class.prototype, name)?.set;
            const call = (target, args) => (isNew ? new Class(...args) : setter ? (target[name] = args[0]) : isMethod ? (typeof target[name] === 'function' ? target[name](...args) : target[name]) : name ? Class[name](...args) : Class(...args));
            if (key !== 'new Constraint') call(make?.(), kinds.map(valueOf)); // what is right is taken
            const target = make?.(), saved = target instanceof Sampler ? target.save() : null;
            kinds.forEach((kind, i) => {
                for (const [where, value] of wrongs(kind, `${key}(${i})`)) {
                    refused(() => call(target, [...kinds.slice(0, i).map(valueOf), value, ...kinds.slice(i + 1).map(valueOf)]), where, value);
                    n++;
                }
            });
            if (saved) assert.deepEqual(target.save(), saved, key);
            if (make && typeof target[name] === 'function' && name !== 'close' && !(target instanceof Watermark)) assert.match(refused(() => call(closed(make()), kinds.map(valueOf)), key, 'a closed object').message, /closed/);
        }
        for (const [of, Class] of Object.entries(sampling)) {
            if (['SamplingError', 'BatchError'].includes(of) || typeof Class !== 'function') continue;
            const isClass = /^class/.test(Class);
            if (!isClass) assert(seen.has(of), of);
            else for (const name of [...Object.getOwnPropertyNames(Class.prototype), ...Object.getOwnPropertyNames(Class)])
                if (!['constructor', 'length', 'name', 'prototype'].includes(name) || Object.getOwnPropertyDescriptor(Class.prototype, name)?.get) assert(seen.has(`${of}.${name}`), `${of}.${name} is not called here`);
            assert(!isClass || of === 'Sampler' || seen.has(`new ${of}`), of);
        }
    },
    // Six objects that use one another are closed in every order: the others go on, and in the end nothing is left.
    everyOrder() {
        const make = () => {
            const of = { vocab: vocab(), grammar: grammar() };
            of.matcher = new Matcher(of.vocab, of.grammar);
            const strings = Constraint.bannedStrings(of.vocab, ['ab']);
            of.ban = Constraint.schedule(strings, { vocab: of.vocab, count: 'lines' });
            strings.close();
            of.chain = new Chain(of.vocab, { grammar: of.matcher, constraints: [of.ban], dryMultiplier: 1, dryBreakers: ['a'], seed: 1 });
            of.copy = of.chain.clone();
            return of;
        };
        const use = {
            vocab: (of) => new Chain(of.vocab).close(), grammar: (of) => of.vocab && new Matcher(of.vocab, of.grammar).close(), matcher: (of) => of.matcher.mask(), ban: (of) => of.ban.clone().close(),
            chain: (of) => of.chain.sample(ROW), copy: (of) => of.copy.sample(ROW),
        };
        const orders = (names) => (names.length ? names.flatMap((one) => orders(names.filter((other) => other !== one)).map((rest) => [one, ...rest])) : [[]]);
        const before = live();
        let tokens;
        for (const order of orders(Object.keys(use))) {
            const of = make(), drawn = [];
            for (const name of order) {
                const one = of[name];
                one.close();
                one.close();
                delete of[name];
                for (const other of Object.keys(of)) use[other](of);
                if (of.chain) drawn.push(of.chain.prev().at(-1));
            }
            if (order.at(-1) === 'chain') assert.deepEqual(drawn, (tokens ??= drawn));
            assert.equal(live(), before, order.join());
        }
        const of = make();
        of.vocab.close();
        for (const what of [() => new Matcher(of.vocab, of.grammar), () => new Chain(of.vocab, { grammar: of.grammar }), () => of.chain.update({ temp: 1 }), () => Constraint.bannedStrings(of.vocab, ['a'])])
            assert.match(refused(what, 'a closed vocab', null).message, /vocab: it is closed/);
        for (const one of Object.values(of)) one.close();
    },
    // Lists are read once, and what changes while others are read does no harm.
    readOnce() {
        function* each(...all) {
            yield* all;
        }
        const of = vocab(), bans = () => each(Constraint.allowedTokens(each(2)), Constraint.bannedStrings(of, each('a')));
        for (const list of [bans(), [...bans()], new Set(bans())]) {
            const draws = new Chain(of, { constraints: list, seed: 1 });
            global.gc();
            assert.deepEqual([draws.sample(ROW), draws.clone().sample(ROW)], [2, 2]);
        }
        assert.equal(new Matcher(of, grammar(), { triggerWords: each('b') }).isAwaiting(), true);
        assert.equal(Constraint.thinking(each([each(1), each(2)]), 5, { inside: 0 }).thinkingNow(), 'open');
        assert.equal(new Watermark(5).detectKeys(each(1n, 2n), each(1, 2)).length, 2);
        assert.equal(sampleBatch(each(chain(), chain()), [ROW, ROW], { rowIndex: each(1, 0) }).length, 2);
        assert.equal(new Chain(N, { logitBias: each([4, 1e30]) }).sample(ROW), 4);
        const two = [new Chain(2, { topK: 1 }), new Chain(2, { topK: 1 })], data = Float32Array.of(1, 2, 2, 1), index = Int32Array.of(0, 1);
        const during = (what) => [{ 0: true, get 1() { return what(), true; }, length: 2 }, [true, true]]; // a mask that does something
        assert.deepEqual(sampleBatch(two, data, { rowIndex: index, mask: during(() => index.fill(2 ** 30)) }), [1, 0]);
        const resizable = new Float32Array(new ArrayBuffer(16, { maxByteLength: 32 }));
        for (const what of [() => resizable.buffer.resize(4), () => structuredClone(data.buffer, { transfer: [data.buffer] }), () => two[1].close()])
            refused(() => sampleBatch(two, what.toString().includes('data') ? data : resizable, { mask: during(what), nVocab: 2, stride: 2 }), 'sampleBatch', what);
        const gone = vocab();
        refused(() => new Chain(gone, { get topK() { return gone.close(), 5; }, grammar: grammar() }), 'a Vocab that a getter closes', null);
        const lost = ban();
        refused(() => new Chain(N, { constraints: [lost], get topK() { return lost.close(), 5; } }), 'a Constraint that a getter closes', null);
        const short = chain();
        assert.equal(short.sample(new Proxy([...ROW], { get: (list, name) => (name === '3' ? ((list.length = 8), list[3]) : list[name]) })), chain().sample(ROW));
        refused(() => short.sample(new Proxy([...ROW], { get: (list, name) => (name === '3' ? ((list.length = 4), 0) : list[name]) })), 'a list that gets shorter', null);
        const wide = Object.defineProperty(new Uint32Array(1), 'length', { value: 1000 });
        assert.equal(matcher().mask(wide)[0], 255);
        assert.deepEqual(Object.assign(ROW.slice(), { subarray: null, set: null }) && chain().sample(Object.assign(ROW.slice(), { subarray: null })), chain().sample(ROW));
    },
    // Memory that other threads may write to is copied; bytes may lie anywhere.
    memory() {
        const shared = (array) => {
            const copy = new array.constructor(new SharedArrayBuffer(array.byteLength));
            copy.set(array);
            return copy;
        };
        const mask = Uint32Array.of(1 << 4), state = chain().save(), odd = Buffer.concat([Buffer.alloc(1), state]).subarray(1), out = shared(mask);
        assert.equal(chain().sample(shared(ROW)), chain().sample(ROW));
        assert.equal(chain().sample(ROW, { mask: shared(mask) }), 4);
        assert.equal(sampleBatch([chain()], shared(ROW), { mask: shared(mask), rowIndex: shared(Int32Array.of(0)) })[0], 4);
        assert(matcher().mask(out) === out && out[0] === 255);
        for (const bytes of [shared(state), odd]) {
            const one = chain();
            one.load(bytes);
            assert.deepEqual(one.save(), state);
        }
        assert.equal(new Vocab([shared(Uint8Array.of(97)), odd, Buffer.alloc(0), null]).length, 4);
        const one = matcher();
        assert.throws(() => (one.vocab = { length: 1 }), TypeError);
        assert.throws(() => (one.vocab.length = 1), TypeError);
        assert.equal(one.mask()[0], 255);
    },
    // No object has an address that its user made up.
    addresses() {
        const made = { kind: 'sampler', handle: 4096, keeps: [], release() {} };
        for (const Class of [Sampler, Constraint, Object.getPrototypeOf(Sampler), class extends Sampler {}, class extends Matcher { constructor() { super(made, made, made); } }])
            refused(() => new Class(made), 'a class', made);
        refused(() => new Chain(made), 'a chain', made);
    },
    // Numbers of 64 bits are exact or refused.
    exact() {
        const one = chain();
        one.position = 2n ** 63n + 1n;
        assert.equal(one.position, 2n ** 63n + 1n);
        one.position = 2 ** 53 - 1;
        assert.equal(one.position, 2 ** 53 - 1);
        one.accept(5n);
        one.rollback(1n);
        assert.equal(chain({ seed: 2n ** 60n }).seed, 2n ** 60n);
        assert.equal(childSeed(1n, 2), childSeed(1, 2n));
        for (const part of ['__proto__', 'constructor', 'hasOwnProperty']) refused(() => takes(part), 'takes', part);
        refused(() => chain({ temperature: 1, temp: 1 }), 'a setting said twice', null);
        refused(() => Chain.fromRequest('vllm', {}).get('temp'), 'settings of a request', null);
    },
    // Many structs and texts at once.
    many() {
        const sequences = Array.from({ length: 65536 }, (_, i) => [i % 7, i >> 8, i & 255]), of = vocab();
        Constraint.bannedSequences(sequences).close();
        Constraint.bannedStrings(of, sequences.map((one) => one.join('a'))).close();
        refused(() => Constraint.bannedSequences([...sequences, [1]]), 'too many sequences', null);
    },
    // What is missing is said, and what to do.
    missing() {
        const at = fs.mkdtempSync(path.join(os.tmpdir(), 'sampling-')), run = (env, dir = at) => spawnSync(process.execPath, ['-e', `
            try {
                require(${JSON.stringify(`${dir}/sampling.js`)});
            } catch (error) {
                console.log(error.name, error.code, error.field, error.message);
            }`], { cwd: at, env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' }).stdout;
        try {
            fs.copyFileSync(require.resolve('./sampling.js'), `${at}/sampling.js`);
            fs.writeFileSync(`${at}/no.so`, 'no library');
            const { NODE_PATH } = process.env, modules = path.dirname(path.dirname(require.resolve('koffi')));
            for (const file of [`${at}/none.so`, `${at}/no.so`, at]) assert.match(run({ NODE_PATH, SAMPLING_LIBRARY: file }), /^SamplingError SAMP_E_UNSUPPORTED library library: .*make lib.*make install.*SAMPLING_LIBRARY/, file);
            assert.match(run({ NODE_PATH, SAMPLING_LIBRARY: `${modules}/koffi/../../nothing` }), /^SamplingError/);
            assert.match(run({ SAMPLING_LIBRARY: process.env.SAMPLING_LIBRARY }), /^SamplingError SAMP_E_UNSUPPORTED koffi koffi: .*npm install koffi/);
            const of = spawnSync('ldconfig', ['-p'], { encoding: 'utf8' }).stdout?.match(/libm\.so\.6 .*=> (\S+)/);
            if (of) assert.match(run({ NODE_PATH, SAMPLING_LIBRARY: of[1] }), /^SamplingError SAMP_E_UNSUPPORTED library library: .*samp_/);
            fs.mkdirSync(`${at}/program/node_modules`, { recursive: true }); // koffi is the program's, sampling.js lies elsewhere
            fs.symlinkSync(`${modules}/koffi`, `${at}/program/node_modules/koffi`);
            fs.writeFileSync(`${at}/program/main.js`, 'console.log(new (require(\'../sampling.js\').Chain)(3, { topK: 1 }).sample([1, 3, 2]));');
            const said = spawnSync(process.execPath, [`${at}/program/main.js`], { env: { PATH: process.env.PATH, SAMPLING_LIBRARY: process.env.SAMPLING_LIBRARY }, encoding: 'utf8' });
            assert.equal(said.stdout, '1\n', said.stderr);
        } finally {
            fs.rmSync(at, { recursive: true });
        }
    },
    // Two copies of sampling.js in one program: each knows its own objects only.
    twice() {
        const name = require.resolve('./sampling.js'), own = require.cache[name];
        delete require.cache[name];
        const other = require('./sampling.js');
        require.cache[name] = own;
        assert(other.Chain !== Chain && new other.Chain(N, { topK: 1 }).sample(ROW) === 1);
        refused(() => new Matcher(new other.Vocab(PIECES), grammar()), 'a Vocab of another copy', null);
    },
};

// What refers to itself in a circle is freed, too.
async function circles() {
    const settle = async (most) => {
        for (let i = 0; i < 50 && live() > most; i++) {
            global.gc();
            await new Promise((done) => setTimeout(done, 5));
        }
        return live();
    };
    const request = () => {
        const of = { vocab: vocab(), grammar: grammar() };
        of.matcher = new Matcher(of.vocab, of.grammar);
        of.ban = Constraint.bannedStrings(of.vocab, ['a']);
        [of.text, of.ngram] = [new Text(of.vocab, ['a']), new Ngram()];
        of.chain = new Chain(of.vocab, { grammar: of.matcher, constraints: [of.ban] });
        for (const one of Object.values(of)) one.of = of;
    };
    const before = await settle(0);
    for (let i = 0; i < 20; i++) request();
    assert.equal(await settle(before), before);
}

(async () => {
    const all = Object.entries({ ...tests, circles }).filter(([one]) => !process.argv.includes(one));
    for (const [name, test] of all) {
        try {
            await test();
        } catch (error) {
            console.error(`test_wrong.js: ${name} fails`);
            throw error;
        }
    }
    console.log(`${all.length} tests, ${n} wrong values`);
})();
