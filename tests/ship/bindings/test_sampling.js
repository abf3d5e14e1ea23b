// What sampling.js promises, but for the tokens themselves (tokens.js). SAMPLING_LIBRARY is counted.c's; node --expose-gc.
'use strict';
const assert = require('assert');
const fs = require('fs');
const koffi = require('koffi');
const { BatchError, Beams, Chain, Constraint, Grammar, Matcher, Ngram, SamplingError, Text, Vocab, Watermark, aliases, childSeed, guide, rawLogprobs, sampleBatch, takes, unmask, unmaskCount } = require('./sampling.js');
const sampling = require('./sampling.js');

const N = 40;
const ROW = Float32Array.from({ length: N }, (_, i) => ((i * 7919) % 1000) / 250);
const rows = (n, seed = 1) => Array.from({ length: n }, (_, r) => Array.from({ length: N }, (_, i) => (((i + 3 * r + seed) * 7919) % 1000) / 250));
const live = koffi.load(process.env.SAMPLING_LIBRARY).func('counted_live', 'long', []);

function fails(what, text, of = SamplingError) {
    try {
        what();
    } catch (error) {
        assert(error instanceof of, `${error.stack}`);
        assert(error.message.includes(text), `'${text}' is not in '${error.message}'`);
        return error;
    }
    assert.fail(`no ${of.name} with '${text}'`);
}

const LETTERS = [...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)), null], END = 95;
const letters = (text) => [...text].map((one) => one.charCodeAt(0) - 32);
const brain = (x) => new Uint32Array(Float32Array.of(x).buffer)[0] >>> 16;

const tests = {
    arrays() {
        const make = () => new Chain(N, { seed: 5, penalty_repeat: 1.3, temperature: 1.2 }), chain = make();
        const want = rows(20).map((row) => chain.sample(row));
        for (const kind of [Float32Array, Float64Array]) {
            const other = make();
            assert.deepEqual(rows(20).map((row) => other.sample(kind.from(row))), want);
        }
        const flat = Float32Array.from(rows(20).flat()), part = make();
        assert.deepEqual(rows(20).map((_, r) => part.sample(flat.subarray(r * N, (r + 1) * N))), want);
        const bits = Uint16Array.from(rows(1)[0], brain), exact = Float32Array.from(bits, (b) => new Float32Array(Uint32Array.of(b << 16).buffer)[0]);
        for (let seed = 0; seed < 9; seed++)
            assert.equal(new Chain(N, { seed }).sample(bits, { dtype: 'bfloat16' }), new Chain(N, { seed }).sample(exact));
        assert.equal(new Chain(3, { temp: 0 }).sample(Uint16Array.of(0x3C00, 0x4200, 0x4000), { dtype: 'float16' }), 1);
        fails(() => chain.sample(bits), "'float16' or 'bfloat16'");
        fails(() => chain.sample(ROW, { dtype: 'float16' }), 'float32, not float16');
        fails(() => chain.sample(ROW, { dtype: 'int4' }), '"int4" is none');
        fails(() => chain.sample(ROW.subarray(1)), 'there are 39, not 40');
        fails(() => chain.sample([[1, 2]]), 'no row');
        fails(() => chain.sample(null), 'neither');
        fails(() => chain.sample(7), 'neither');
        fails(() => new Chain().sample([]), 'no token is left');
        fails(() => new Chain().sample([1, NaN]), 'logit 1 is NaN');
        fails(() => new Chain().sample(Float64Array.of(1, Infinity)), 'logit 1 is +infinity');
        fails(() => new Chain().sample(['a', 1]), '"a" is no number');
        assert.equal(new Chain(null, { topK: 1 }).sample([1, 3, 2]), 1);
        if (!koffi.version) return; // WebAssembly's memory is its own
        // it is read where it is: C's memchr finds a typed array at one and the same place
        const memchr = koffi.load(null).func('void *memchr(const void *p, int c, size_t n)');
        const big = new Float32Array(128 * 1024), at = koffi.address(memchr(big, 0, 4));
        assert.equal(koffi.address(memchr(big, 0, 4)), at);
        assert.equal(koffi.address(memchr(big.subarray(64), 0, 4)) - at, 256n);
    },
    batches() {
        const data = rows(4), chains = data.map((_, seed) => new Chain(N, { seed, temperature: 1.5 }));
        const alone = data.map((row, seed) => new Chain(N, { seed, temperature: 1.5 }).sample(row));
        const again = (logits, options) => (chains.forEach((chain) => chain.reset()), sampleBatch(chains, logits, options));
        assert.deepEqual(again(data), alone);
        assert.deepEqual(again(Float32Array.from(data.flat())), alone);
        assert.deepEqual(again(Float64Array.from(data.flat()), { nThreads: 1 }), alone);
        const wide = new Float32Array(4 * (N + 8)).fill(99);
        data.forEach((row, r) => wide.set(row, r * (N + 8)));
        assert.deepEqual(again(wide, { stride: N + 8 }), alone);
        assert.deepEqual(again(wide.subarray(0, 3 * (N + 8) + N), { stride: N + 8, nVocab: N }), alone);
        chains.reverse();
        assert.deepEqual(again(data, { rowIndex: [3, 2, 1, 0] }), [...alone].reverse());
        assert.deepEqual(again(Float32Array.from(data.flat()), { rowIndex: Int32Array.of(3, 2, 1, 0) }), [...alone].reverse());
        chains.reverse();
        assert.deepEqual(sampleBatch([], data), []);
        fails(() => sampleBatch(chains, data.slice(1)), 'not 4 rows');
        fails(() => sampleBatch(chains, Float32Array.from(data.flat()).subarray(1)), 'not 4 rows');
        fails(() => sampleBatch(chains, data, { rowIndex: [0, 1, 2, 4] }), 'row_index');
        fails(() => sampleBatch(chains, data, { rowIndex: [0, 1, 2, -1] }), 'row_index');
        fails(() => sampleBatch(Array(4).fill(chains[0]), data), 'outside its range');
        const bad = rows(4);
        bad[2][5] = NaN;
        bad[3][7] = Infinity;
        chains.forEach((chain) => chain.reset());
        const before = chains.map((chain) => chain.save());
        const error = fails(() => sampleBatch(chains, bad, { logprobs: 1 }), 'row 2: logit 5 is NaN', BatchError);
        assert.equal(error.errors.get(3).message, 'logit 7 is +infinity');
        assert.deepEqual(error.tokens, [alone[0], alone[1], null, null]);
        assert.deepEqual([...error.errors.keys()], [2, 3]);
        assert(error.code === 'SAMP_E_NAN' && error.status === -3 && error.logprobs[0] && !error.logprobs[2]);
        assert.deepEqual(chains[2].save(), before[2]);
        assert.notDeepEqual(chains[0].save(), before[0]);
    },
    masks() {
        const chain = new Chain(N, { seed: 1, temperature: 5, topK: 0, topP: 1, minP: 0 }), mask = Uint32Array.of(1 << 3 | 1 << 20, 1 << 2);
        const seen = new Set(Array.from({ length: 200 }, () => chain.sample(ROW, { mask })));
        assert.deepEqual([...seen].sort((a, b) => a - b), [3, 20, 34]);
        const draw = (as) => (chain.reset(), Array.from({ length: 20 }, () => chain.sample(ROW, { mask: as })));
        const bools = Array.from({ length: N }, (_, i) => seen.has(i)), want = draw(mask);
        for (const as of [bools, Uint8Array.from(bools), new Int32Array(mask.buffer), Uint32Array.of(...mask, 0)]) assert.deepEqual(draw(as), want);
        const two = [new Chain(N, { seed: 1 }), new Chain(N, { seed: 1 })];
        assert.equal(sampleBatch(two, [ROW, ROW], { mask: [bools, bools.map((_, i) => i === 9)] })[1], 9);
        assert.equal(sampleBatch(two, [ROW, ROW], { mask: Uint32Array.of(1, 0, 0, 2) })[1], 33);
        assert.equal(sampleBatch(two, [ROW, ROW], { mask: [Uint32Array.of(1, 0), Uint32Array.of(0, 2)] })[1], 33);
        fails(() => chain.sample(ROW, { mask: Uint32Array.of(1) }), 'mask: 1 words');
        fails(() => chain.sample(ROW, { mask: bools.slice(1) }), 'mask: 39');
        fails(() => chain.sample(ROW, { mask: new Uint32Array(2) }), 'all 40 tokens are masked');
    },
    logprobs() {
        const chain = new Chain(N, { seed: 3, topK: 5, temperature: 1 }), total = ROW.reduce((sum, x) => sum + Math.exp(x), 0);
        const { token, logprobs: { raw, processed } } = chain.sample(ROW, { logprobs: 7 });
        const order = [...ROW.keys()].sort((a, b) => ROW[b] - ROW[a] || a - b);
        assert.deepEqual(raw.top.map((one) => one.token), order.slice(0, 7));
        assert.deepEqual(raw.top.map((one) => one.rank), [1, 2, 3, 4, 5, 6, 7]);
        assert(raw.chosen.token === token && order[raw.chosen.rank - 1] === token);
        assert(Math.abs(raw.chosen.logprob - (ROW[token] - Math.log(total))) < 1e-6);
        assert(processed.top.length <= 5 && Math.abs(processed.top.reduce((sum, one) => sum + Math.exp(one.logprob), 0) - 1) < 1e-6);
        assert.deepEqual(chain.sample(ROW, { logprobs: 0 }).logprobs.raw.top, []);
        fails(() => chain.sample(ROW, { logprobs: 1025 }), 'logprobs: 1025');
        const all = sampleBatch([new Chain(N, { seed: 3 }), new Chain(N, { seed: 4 })], rows(2), { logprobs: 2 });
        assert.deepEqual(all.logprobs.map((one) => one.raw.chosen.token), all.tokens);
    },
    // What a chain leaves, by lists and doubles of JavaScript's.
    told() {
        const near = (a, b) => assert(Math.abs(a - b) < 1e-5, `${a} is not ${b}`), sumOf = (list) => list.reduce((sum, x) => sum + x, 0);
        const entropy = (weights) => -sumOf(weights.map((w) => (w / sumOf(weights)) * Math.log(w / sumOf(weights))));
        for (let seed = 0; seed < 100; seed++) {
            const n = 3 + seed % 50, k = 1 + seed % 5, temp = 0.5 + (seed % 3) / 2, ids = [seed % n, n - 1];
            const row = Array.from({ length: n }, (_, i) => Math.fround(((i + seed) * 7919 % 1000) / 250)), model = row.map(Math.exp);
            const left = [...row.keys()].sort((a, b) => row[b] - row[a] || a - b).slice(0, k).sort((a, b) => a - b), weights = left.map((i) => Math.exp(row[i] / temp));
            const chain = new Chain(n, { seed, topK: k, topP: 1, minP: 0, temp }), score = chain.score(row, ids[0]), lines = chain.explain(row, ids[0]);
            const { token, logprobs: { raw, processed, support } } = chain.sample(row, { ids, support: k });
            assert.deepEqual(support.tokens, left);
            assert(left.includes(token) && support.n === left.length && lines.at(-1).nLeft === left.length && typeof lines[0].name === 'string');
            support.logprobs.forEach((one, i) => near(Math.exp(one), weights[i] / sumOf(weights)));
            near(support.mass, sumOf(left.map((i) => model[i])) / sumOf(model));
            ids.forEach((id, i) => near(raw.given[i], Math.log(model[id] / sumOf(model))));
            near(raw.entropy, entropy(model));
            near(processed.entropy, entropy(weights));
            assert(score.raw === raw.given[0] && score.processed === processed.given[0] && (score.removedBy === null) === left.includes(ids[0]));
            assert(left.includes(ids[0]) || score.removedBy === 'top-k');
        }
        const two = [new Chain(N, { topK: 3 }), new Chain(N, { topK: 3 })], all = sampleBatch(two, rows(2), { support: 2, logprobs: 1 });
        assert.deepEqual(all.logprobs.map(({ support: { n, tokens, logprobs } }) => [n, tokens, logprobs]), [[3, null, null], [3, null, null]]);
        assert.deepEqual(sampleBatch([], [], { support: 2 }), { tokens: [], logprobs: [] });
        fails(() => two[0].sample(ROW, { ids: [N] }), 'ids');
        fails(() => two[0].sample(ROW, { support: -1 }), 'support');
        fails(() => two[0].score(ROW, N), 'token');
        fails(() => two[0].explain([NaN, ...ROW.subarray(1)], 1), 'logit 0 is NaN');
    },
    replays() {
        const data = rows(6), flat = Float32Array.from(data.flat()), how = { logprobs: 2, ids: [0, 5], support: N };
        for (const settings of [{ topK: 5 }, { xtcProbability: 0.5, repetitionPenalty: 1.3 }, { temp: 0 }, { mirostat: 2 }]) {
            const fresh = () => new Chain(N, { seed: 8, ...settings }), chain = fresh(), drawn = data.map((row) => chain.sample(row, how)), text = drawn.map(({ token }) => token);
            const again = fresh().replay(text), told = data.map((row) => again.sample(row, how));
            if (settings.temp !== 0 && !settings.mirostat) assert.deepEqual(told, drawn); // of these a replay has only the chain before them
            assert.deepEqual(told.map(({ token }) => token), text);
            fails(() => again.sample(ROW), 'no token');
            again.rollback(2);
            again.update({ temp: 0.5 });
            assert.deepEqual([again.clone(), again].map((one) => data.slice(4).map((row) => one.sample(row))), [text.slice(4), text.slice(4)]);
            const same = fresh(), other = [...text.slice(0, 3), (text[3] + 1) % N, 0, 0];
            assert.equal(same.replayCheck(flat, text), null);
            assert.deepEqual(same.save(), chain.save());
            assert.equal(fresh().replayCheck(data, other), 3);
            const { tokens, logprobs } = fresh().verify(flat, other.slice(0, 5), { logprobs: 2, logprobIds: [0, 5], support: N });
            const of = ({ support, processed: { top, given } }) => [support, top, given];
            assert.deepEqual(tokens, text.slice(0, 4));
            assert.deepEqual(logprobs.map(of), drawn.slice(0, 4).map(({ logprobs }) => of(logprobs)));
            if (!settings.repetitionPenalty)
                assert.deepEqual(rawLogprobs(flat, { tokens: text, logprobs: 2, ids: [0, 5] }), drawn.map(({ logprobs: { raw } }) => raw));
        }
        assert.deepEqual(rawLogprobs(ROW)[0].chosen, { token: -1, rank: 0, logprob: 0 });
        assert.equal(rawLogprobs(flat, { nVocab: N }).length, 6);
        const mask = data.map((row) => row.map((_, i) => i !== 3)), broken = data.map((row, r) => (r === 2 ? [NaN, ...row.slice(1)] : row));
        assert.equal(rawLogprobs(data, { tokens: [3, 3, 3, 3, 3, 3], mask })[5].chosen.logprob, -Infinity);
        assert.equal(new Chain(N, { seed: 8 }).replayCheck(data, [3, 3, 3, 3, 3, 3], { mask }), 0);
        const chain = new Chain(N, { seed: 8 }), text = data.map((row) => chain.sample(row)), fresh = () => new Chain(N, { seed: 8 });
        fails(() => rawLogprobs(broken), 'row 2: logit 0 is NaN');
        fails(() => fresh().replayCheck(broken, text), 'row 2: logit 0 is NaN');
        const error = fails(() => fresh().verify(broken, text.slice(0, 5), { logprobs: 0 }), 'row 2: logit 0 is NaN', BatchError);
        assert.deepEqual(error.logprobs.map(({ raw }) => raw.chosen.token), text.slice(0, 2));
        fails(() => fresh().verify(flat, text.slice(0, 5), { logprobIds: [N] }), 'logprob_ids');
        fails(() => chain.replay([-1]), 'tokens');
        fails(() => chain.replayCheck(data, text.slice(1)), 'logits');
        fails(() => rawLogprobs(data, { tokens: [N, 0, 0, 0, 0, 0] }), 'tokens');
    },
    grammars() {
        const vocab = new Vocab(LETTERS, { eos: END });
        assert(vocab.length === 96 && vocab.eog[0] === END);
        const matcher = new Matcher(vocab, Grammar.fromJsonSchema({ type: 'integer' }));
        assert(matcher.allows(letters('4')[0]) && !matcher.allows(letters('x')[0]) && !matcher.allows(-1) && !matcher.isComplete());
        matcher.accept(letters('4'));
        assert(matcher.isComplete() && matcher.allows(END));
        const out = new Int32Array(3);
        assert(matcher.mask(out) === out && matcher.mask()[0] === out[0] >>> 0);
        fails(() => matcher.mask(new Uint32Array(2)), 'bits: ');
        const before = matcher.save(), copy = matcher.clone();
        fails(() => matcher.accept(letters('x')), 'token: the grammar refuses this token');
        assert.deepEqual(matcher.save(), before);
        matcher.rollback();
        assert(!matcher.isComplete() && copy.isComplete());
        matcher.load(before);
        assert(matcher.isComplete());
        const text = (bytes) => Buffer.from(bytes).toString();
        assert.equal(text(new Matcher(vocab, Grammar.fromRegex(/abc(d|e)/)).forced()), 'abc');
        assert.equal(text(new Matcher(vocab, Grammar.fromString('a ::= "xy"', 'a')).forced()), 'xy');
        const error = fails(() => Grammar.fromString('root ::= ('), 'grammar: line 1, column ');
        assert(error.code === 'SAMP_E_FORMAT' && error.field === 'grammar');
        fails(() => new Grammar('x', 'bnf'), 'kind');
        fails(() => Grammar.fromJsonSchema({ uniqueItems: true }), 'uniqueItems');
        fails(() => Grammar.fromString('root ::= "a\0"'), 'byte 0');
        const noise = Float32Array.from({ length: 96 }, (_, i) => ((i * 7919) % 1000) / 200);
        for (const grammar of [Grammar.fromRegex('[0-9]{6}'), new Matcher(vocab, Grammar.fromRegex('[0-9]{6}'))]) {
            const chain = new Chain(vocab, { grammar, seed: 9, temperature: 2 });
            const draw = () => String.fromCharCode(...Array.from({ length: 6 }, () => 32 + chain.sample(noise)));
            const first = draw();
            assert(/^\d{6}$/.test(first) && chain.sample(noise) === END);
            chain.reset();
            assert.equal(draw(), first);
            const other = chain.clone();
            assert(chain.sample(noise) === END && other.sample(noise) === END);
            chain.rollback(2);
            chain.update({ temperature: 0.1 });
            assert(/\d/.test(String.fromCharCode(32 + chain.sample(noise))) && chain.sample(noise) === END);
        }
        const padded = Float32Array.from([...noise, 9, 9, 9]);
        for (let seed = 0; seed < 20; seed++) assert(new Chain(vocab, { grammar: Grammar.fromRegex('[0-9]+'), seed }).sample(padded) < 96);
        fails(() => new Chain(96, { grammar: Grammar.fromRegex('a') }), 'needs a Vocab');
        const lazy = new Matcher(vocab, Grammar.fromRegex('<[ab]>'), { triggerWords: ['<'] });
        assert(lazy.isAwaiting() && lazy.allows(letters('z')[0]));
        lazy.accept(letters('zz<'));
        assert(!lazy.isAwaiting() && !lazy.allows(letters('z')[0]));
        const pattern = new Matcher(vocab, Grammar.fromRegex('<[ab]>'), { triggerPatterns: ['z(<)'] });
        pattern.accept(letters('<z<a'));
        assert(!pattern.isAwaiting() && new Matcher(vocab, Grammar.fromRegex('x'), { triggerTokens: letters('x') }).isAwaiting());
        fails(() => new Matcher(vocab, Grammar.fromRegex('x'), { triggerPatterns: ['('] }), 'trigger_patterns');
        fails(() => new Matcher(vocab, Grammar.fromRegex('x'), { triggerPatterns: [], triggerWords: [] }), 'trigger_');
        fails(() => new Vocab(['a'], { eos: 1 }), 'eos: 1 is not a whole number in [-1, 0]');
        fails(() => new Vocab(['a'], { eog: [2 ** 40] }), 'eog');
    },
    grammarDrafts() {
        const vocab = new Vocab(['{', '"', 'name', '":', '{"name', 'a', 'b', '}', ':', '"na', null], { eos: 10 });
        const schema = { type: 'object', properties: { name: { enum: ['a', 'b'] } }, required: ['name'], additionalProperties: false };
        const grammar = Grammar.fromJsonSchema(schema, 'compact'), matcher = new Matcher(vocab, grammar), before = matcher.save();
        assert.deepEqual([matcher.draft(), matcher.draft(1), matcher.draft(0), matcher.certain()], [[4, 3, 1], [4], [], []]);
        assert.deepEqual(matcher.save(), before);
        matcher.accept(matcher.draft());
        assert.deepEqual([matcher.draft(), matcher.certain()], [[], []]);
        matcher.accept(5);
        assert.deepEqual([matcher.certain(), matcher.draft(), matcher.mask()[0]], [[1, 7], [1, 7], 2]);
        assert(matcher.prepare(1 << 20));
        fails(() => matcher.prepare(0), 'budget');
        const stats = matcher.stats();
        assert(stats.nMasks >= 1 && stats.nBytes > 0 && stats.nBytes <= stats.maxBytes && stats.nStates > 0);
        matcher.setLimits(1 << 20, 1 << 20);
        assert.equal(matcher.stats().maxBytes, 1 << 20);
        fails(() => matcher.setLimits(1, 1), 'max_bytes');
        const data = Array.from({ length: 14 }, (_, r) => Array.from({ length: 11 }, (_, i) => (((i + 3 * r) * 7919) % 1000) / 250));
        const write = (drafts) => {
            const chain = new Chain(vocab, { grammar, seed: 3 }), own = new Matcher(vocab, grammar), text = [];
            let steps = 0;
            while (!text.includes(10)) {
                const draft = drafts ? own.draft() : [];
                const said = chain.verify(data.slice(text.length, text.length + draft.length + 1), draft);
                own.accept(said.filter((token) => token !== 10));
                text.push(...said);
                steps++;
            }
            return { text, steps };
        };
        const plain = write(false), drafted = write(true);
        assert.deepEqual(drafted.text, plain.text);
        assert(drafted.steps < plain.steps && plain.steps === plain.text.length);
        const tag = {
            type: 'structural_tag', format: {
                type: 'triggered_tags', triggers: ['<f='],
                tags: [{ begin: '<f=a>', content: { type: 'json_schema', json_schema: { enum: [1] } }, end: '</f>' }],
            },
        };
        const of = new Vocab(LETTERS, { eos: END });
        for (const one of [Grammar.fromStructuralTag(tag), new Grammar(JSON.stringify(tag), 'structural_tag')]) {
            const call = new Matcher(of, one);
            call.accept(letters('free <f='));
            assert(Buffer.from(call.forced()).toString() === 'a>1</f>' && !call.isComplete());
            call.accept(letters('a>'));
            assert(!call.allows(letters('2')[0]));
            call.accept(letters('1</f> free'));
            assert(call.isComplete());
        }
        fails(() => Grammar.fromStructuralTag({ type: 'structural_tag' }), 'grammar: line 1');
        const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] } } }];
        const warm = Grammar.fromTools('llama', tools, 'required one');
        assert(warm.warm(of, 1000) > 0 && warm.warm(of, 2 ** 40) > 0 && warm.warm(of, 1) === 0);
        for (const one of [warm, Grammar.fromTools('llama', JSON.stringify(tools), 'required one')])
            assert(Buffer.from(new Matcher(of, one).forced()).toString().startsWith('{"name": "f", "parameters": {'));
        assert(new Matcher(of, Grammar.fromTools('llama')).isComplete());
        fails(() => Grammar.fromTools('no model', tools), 'model: this name');
        fails(() => Grammar.fromTools('llama', { f: 1 }), 'tools: line 1, column 1');
        fails(() => Grammar.fromTools('llama', tools, 'many'), 'options: expected');
        fails(() => warm.warm(of, 0), 'budget');
    },
    constraints() {
        const vocab = new Vocab(LETTERS, { eos: END }), lines = new Vocab(LETTERS.map((one) => (one === '`' ? '\n' : one)), { eos: END });
        const [a] = letters('a'), [b] = letters('b'), think = letters('<'), answer = letters('>');
        const likesA = Float32Array.from({ length: 96 }, (_, i) => (i === a ? 9 : 0));
        const said = (chain, n, row = likesA) => Array.from({ length: n }, () => chain.sample(row));
        const draw = (constraint, n = 3) => said(new Chain(96, { constraints: [constraint], topK: 1 }), n);
        const plan = { vocab: lines, soft: 3, grace: 2, note: letters('N'), ramp: 'linear', bias: 1, ends: [letters('#')] };
        const chain = new Chain(96, { constraints: [Constraint.thinking([[think, answer]], 6, plan)], seed: 1, topK: 1 });
        assert.deepEqual([chain.thinkingNow(), chain.thinkingLeft(), chain.thinkingUsed()], ['not', null, 0]);
        chain.accept(think);
        assert.deepEqual([chain.thinkingNow(), chain.thinkingLeft()], ['open', 6]);
        assert.deepEqual(said(chain, 3), [a, a, a]);
        assert.deepEqual([chain.thinkingNow(), chain.thinkingLeft()], ['soft', 3]);
        chain.accept(letters('`')); // a line ends: the note
        assert.equal(chain.thinkingNow(), 'note');
        assert.deepEqual(said(chain, 1), letters('N'));
        const saved = chain.save(), copied = chain.clone(), rest = [a, a, a, ...answer];
        assert.deepEqual(said(chain, 4), rest);
        assert.equal(chain.thinkingNow(), 'not');
        chain.load(saved);
        assert.deepEqual([said(chain, 4), said(copied, 4)], [rest, rest]);
        chain.accept(think);
        chain.thinkingEnd();
        assert(chain.thinkingNow() === 'ends' && chain.sample(likesA) === answer[0]);
        fails(() => chain.thinkingEnd(), '');
        fails(() => new Chain(96).thinkingNow(), '');
        assert.equal(Constraint.thinking([[think, answer]], 0, { inside: 0 }).thinkingNow(), 'ends');
        fails(() => Constraint.thinking([[think]], 5), 'spans');
        fails(() => Constraint.thinking([[think, answer]], 5, { soft: 1, softRatio: 0.5 }), 'soft');
        fails(() => Constraint.thinking([[think, answer]], 5, { ramp: 'cubic' }), 'ramp');
        fails(() => Constraint.thinking([[think, []]], 5), '');
        const loop = { minPeriod: 1, maxPeriod: 4, copies: 3, lastN: 64, every: 1 };
        const looping = new Chain(96, { constraints: [Constraint.loopWatch(loop), Constraint.thinking([[think, answer]], 50, { loop })], topK: 1 });
        looping.accept(think);
        assert.deepEqual(said(looping, 5), [a, a, a, ...answer, a]);
        assert.equal(looping.loopLength(), 0);
        looping.accept(letters('ababababab'));
        assert.equal(looping.loopLength(), 2);
        assert(draw(Constraint.loopBreaker(loop), 9)[3] !== a);
        assert.equal(draw(Constraint.loopBreakerCusum({ n: 1, lastN: 64, alarm: 2 }), 9).length, 9);
        const timed = new Chain(96, {
            constraints: [Constraint.schedule({ temperature: 100 }, { stop: 5 }), Constraint.schedule(Constraint.allowedTokens([b]), { start: 2, stop: 4 })],
            seed: 3,
        });
        assert(timed.scheduleHolds());
        assert.deepEqual(said(timed, 6).slice(2, 4), [b, b]);
        assert(!timed.scheduleHolds());
        const inside = new Chain(96, { constraints: [Constraint.schedule(Constraint.allowedTokens([b]), { where: 'inside', spans: [[think, answer]] })], topK: 1 });
        assert(said(inside, 1)[0] === a && !inside.scheduleHolds());
        inside.accept(think);
        assert(said(inside, 1)[0] === b && inside.scheduleHolds());
        inside.rollback(2);
        assert(!inside.scheduleHolds());
        const until = Constraint.schedule(Constraint.allowedTokens([b]), { count: 'lines', stop: 1, until: answer, vocab: lines });
        assert(until.scheduleHolds());
        until.accept(answer);
        assert(!until.scheduleHolds());
        fails(() => Constraint.schedule({ mirostat: 2 }), 'mirostat');
        fails(() => Constraint.schedule({ topP: 2 }), 'top_p');
        fails(() => Constraint.schedule(Constraint.allowedTokens([b]), { where: 'inside' }), '');
        fails(() => Constraint.schedule(Constraint.allowedTokens([b]), { count: 'words' }), 'count');
        for (const ban of [Constraint.bannedPattern(vocab, /aa+/, { anyCase: true }), Constraint.bannedStrings(vocab, ['AA'], { anyCase: true }),
            Constraint.bannedSequences([[a, a]]), Constraint.sequenceBias([[[a, a], -Infinity]]), Constraint.noRepeatNgram(1, 1)]) {
            const text = said(new Chain(vocab, { constraints: [ban], topK: 1 }), 20);
            assert(text[0] === a && text.every((token, i) => i === 0 || token !== a || text[i - 1] !== a));
        }
        const rewind = new Chain(vocab, { constraints: [Constraint.bannedPattern(vocab, 'a[ab]a', { rewind: true })], topK: 1 });
        assert.deepEqual([said(rewind, 3), rewind.rewindLength()], [[a, a, a], 3]);
        rewind.rollback(3);
        assert(rewind.rewindLength() === 0 && rewind.sample(likesA) !== a);
        const error = fails(() => Constraint.bannedPattern(vocab, 'a('), 'pattern: line 1, column ');
        assert(error.code === 'SAMP_E_FORMAT' && error.field === 'pattern');
        fails(() => Constraint.bannedPattern(vocab, 'a*'), 'pattern');
        fails(() => Constraint.bannedPattern(vocab, 'a\0'), 'byte 0');
        assert(draw(Constraint.suppressedTokens([a]))[0] !== a && draw(Constraint.minTokens([a], 2))[1] !== a);
        assert.deepEqual([draw(Constraint.allowedTokens([b])), draw(Constraint.forcedPrefix([b, b])), draw(Constraint.eogBias([b], 20))],
            [[b, b, b], [b, b, a], [b, b, b]]);
        assert.deepEqual(draw(Constraint.beginSuppressedTokens([a])).slice(1), [a, a]);
        assert(draw(Constraint.lengthPenalty([a], 1, 0.01))[0] === a && draw(Constraint.topPDecay(0.9, 0.9, 0.3, [b]))[2] === a);
        fails(() => Constraint.allowedTokens([]), '');
        fails(() => Constraint.suppressedTokens([2 ** 40]), 'tokens');
        const both = new Chain(vocab, { grammar: Grammar.fromRegex('[ab]{9}'), constraints: [Constraint.suppressedTokens([a])], seed: 1 });
        assert.deepEqual(said(both, 10, new Float32Array(96)), [...Array(9).fill(b), END]);
        const budget = { custom_params: { thinking_budget: 2 }, top_k: 1 };
        const asked = Chain.fromRequest('sglang', budget, { vocab: 96, thinking: (n) => Constraint.thinking([[think, answer]], n, { inside: 0 }) });
        assert.deepEqual(said(asked, 3), [a, a, ...answer]);
        fails(() => Chain.fromRequest('sglang', budget, { vocab: 96 }), 'thinking_budget');
    },
    watermarks() {
        const data = rows(300);
        for (const kind of ['gumbel', 'gumbel_dual', 'synthid', 'sbw_selfhash', 'sbw_lefthash']) {
            const mark = new Watermark(987654321987654321n, kind, { history: 1000 }), other = new Watermark(1234567, kind);
            const make = () => new Chain(N, { watermark: mark, seed: 4, temperature: 1, topK: 0, topP: 1, minP: 0 });
            const chain = make(), text = data.map((row) => chain.sample(row)), again = make();
            assert(mark.detect(text).pValue < 1e-3 && other.detect(text).pValue > 0.1, kind);
            assert.deepEqual(mark.detectKeys([5, 987654321987654321n], text)[1], mark.detect(Int32Array.from(text)));
            const span = mark.find([...Array(200).keys()].map((i) => i % N).concat(text), 150);
            assert(span.end - span.begin === 150 && (kind === 'sbw_lefthash' || (span.end > 300 && span.pValue < 1e-9)), kind);
            assert(!(chain.describe() + JSON.stringify(mark)).includes('9876'));
            assert.deepEqual(data.map((row) => again.sample(row)), text);
            const cold = new Chain(N, { watermark: mark, seed: 4, temperature: 0.5, topK: 0, topP: 1, minP: 0 });
            again.reset();
            again.update({ temperature: 0.5 });
            assert.equal(again.describe(), cold.describe());
            assert.deepEqual(data.slice(0, 30).map((row) => again.sample(row)), data.slice(0, 30).map((row) => cold.sample(row)));
            if (!kind.startsWith('sbw')) {
                fails(() => chain.clone().update({ mirostat: 2 }), 'needs a draw');
                fails(() => new Chain(N, { watermark: mark, temperature: 0 }), 'needs a draw');
            }
        }
        assert(new Watermark(5, 'gumbel_dual').forDraft().detect([1, 2]).nScored >= 0);
        fails(() => new Watermark(5).forDraft(), 'kind');
        fails(() => new Watermark(5, 'none'), 'kind');
        fails(() => new Watermark(2n ** 64n), 'key');
        fails(() => new Watermark(5, 'gumbel', { contextWidth: 0 }), 'context_width');
        fails(() => new Watermark(5, 'gumbel', { colour: 0 }), 'colour');
        fails(() => new Watermark(5).find([1, 2], 0), 'window');
        fails(() => new Watermark(5).detect([-1]), 'text: -1');
        fails(() => new Watermark(5).detectKeys([-1], [1]), 'keys');
    },
    drafts() {
        const data = rows(5), chain = new Chain(N, { seed: 8 }), want = data.map((row) => chain.sample(row)), flat = Float32Array.from(data.flat());
        const fresh = () => new Chain(N, { seed: 8 });
        assert.deepEqual(fresh().verify(flat, want.slice(0, 4)), want);
        assert.deepEqual(fresh().verify(data, Int32Array.from(want.slice(0, 4))), want);
        assert.deepEqual(fresh().verify(Float64Array.from(flat), want.slice(0, 4)), want);
        assert.deepEqual(fresh().verify(flat, [want[0], want[1], (want[2] + 1) % N, 0]), want.slice(0, 3));
        assert.deepEqual(fresh().verify(flat.subarray(0, N), []), want.slice(0, 1));
        const sure = new Float32Array(4 * N);
        want.slice(0, 4).forEach((token, i) => (sure[i * N + token] = 1));
        for (const method of ['ratio', 'block']) {
            const dense = fresh().verify(flat, want.slice(0, 4), { method, probs: sure });
            assert.deepEqual(fresh().verify(flat, want.slice(0, 4), { method, probs: [1, 1, 1, 1], ids: want.slice(0, 4) }), dense);
            assert(dense.length >= 1);
        }
        fails(() => chain.verify(flat, want), 'a row more');
        fails(() => chain.verify(flat, [0, 1, 2, N]), 'draft');
        fails(() => chain.verify(flat, want.slice(0, 4), { method: 'fast' }), 'method');
        fails(() => chain.verify(flat, want.slice(0, 4), { probs: sure.subarray(N) }), 'probs');
        fails(() => chain.verify(flat, want.slice(0, 4), { ids: [1, 1, 1, 1] }), 'ids');
        const broken = Float32Array.from(flat);
        broken[2 * N] = NaN;
        assert.deepEqual(fails(() => fresh().verify(broken, want.slice(0, 4)), 'row 2: logit 0 is NaN', BatchError).tokens, want.slice(0, 2));
    },
    // Random texts, cut at random places, against a twin that looks at the whole text.
    texts() {
        let seed = 7;
        const random = (n) => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0), Math.floor(seed / 2 ** 32 * n)), some = (list) => list[random(list.length)];
        const CHARACTERS = ['a', 'a', 'b', ' ', 'é', '€', '😀'], word = (most) => Array.from({ length: 1 + random(most) }, () => some(CHARACTERS)).join('');
        const decoder = new TextDecoder('utf-8', { ignoreBOM: true }), totals = { goes_on: 0, stopped: 0, ended: 0 };
        for (let trial = 0; trial < 2000; trial++) {
            let bytes = Buffer.from(word(30));
            if (random(2)) bytes = Buffer.from(bytes.map((one) => (random(8) ? one : some([0, 0xC3, 0xE2, 0xF0, 0x82, 0xFF])))); // broken
            const cuts = [...new Set([0, ...Array.from({ length: random(bytes.length + 1) }, () => random(bytes.length)), bytes.length])].sort((a, b) => a - b);
            const tokens = cuts.slice(1).map((cut, i) => bytes.subarray(cuts[i], cut)), vocab = new Vocab([...tokens, null], { eos: tokens.length });
            const stops = Array.from({ length: random(4) }, () => word(3)), includeStop = !random(4), stripSpace = !random(2), minTokens = random(4) ? 0 : random(4);
            // the twin: the stop whose last byte comes first, of those the one that begins first, of those the first
            const skip = stripSpace && bytes[0] === 32 ? 1 : 0, at = (byte) => cuts.findLastIndex((cut) => cut <= byte);
            let found = null;
            for (let end = skip + 1; end <= bytes.length && !found; end++)
                stops.forEach((stop, i) => {
                    const begin = end - Buffer.byteLength(stop);
                    if (begin >= skip && at(end - 1) >= minTokens && bytes.subarray(begin, end).equals(Buffer.from(stop)) && (!found || begin < found.begin)) found = { begin, end, i };
                });
            const whole = bytes.subarray(skip, found ? (includeStop ? found.end : found.begin) : bytes.length), longest = Math.max(1, ...stops.map((stop) => Buffer.byteLength(stop)));
            const text = new Text(vocab, stops, { includeStop, stripSpace, minTokens }), raw = new Text(vocab, stops, { includeStop, stripSpace, minTokens, rawBytes: true }), copy = text.clone();
            const shown = [], rawly = [], length = () => rawly.reduce((n, one) => n + one.length, 0);
            for (let i = 0; i < tokens.length && text.state === 'goes_on'; i++) {
                shown.push(text.push(i));
                rawly.push(raw.push(i));
                assert.equal(raw.state, text.state);
                const held = Math.min(cuts[i + 1], found?.end ?? Infinity) - skip - length();
                if (text.state === 'goes_on') assert(held <= longest - 1 + 3 && (!includeStop || held <= 3), `${held} bytes are held`);
                assert(decoder.decode(whole).startsWith(shown.join('')) && whole.subarray(0, length()).equals(Buffer.concat(rawly)));
                if (!random(5)) { // back, and again
                    const n = random(i + 2);
                    for (const one of [text, raw]) one.rollback(n);
                    [shown.length, rawly.length] = [i + 1 - n, i + 1 - n];
                    assert.equal(text.state, n || !found || i < at(found.end - 1) ? 'goes_on' : 'stopped');
                    i -= n;
                }
            }
            totals[text.state]++;
            assert.deepEqual([text.state, text.stop], found ? ['stopped', found.i] : ['goes_on', null]);
            assert.deepEqual(text.stopAt, found && { token: at(found.begin), byte: found.begin - cuts[at(found.begin)] });
            if (!found && tokens.length >= minTokens && random(2)) {
                shown.push(text.push(tokens.length)); // the end
                assert.deepEqual([text.state, text.stopAt], ['ended', { token: tokens.length, byte: 0 }]);
                assert(text.push(0) === '' && text.state === 'ended');
            } else shown.push(text.flush());
            rawly.push(raw.flush());
            totals[text.state]++;
            assert.equal(shown.join(''), decoder.decode(whole));
            assert(whole.equals(Buffer.concat(rawly)) && text.flush() === '' && copy.state === 'goes_on' && copy.push(0) === shown[0]);
            text.reset();
            assert(text.state === 'goes_on' && text.push(0) === shown[0]);
            for (const one of [text, raw, copy, vocab]) one.close();
        }
        assert(Object.values(totals).every((n) => n > 500), JSON.stringify(totals));
        const vocab = new Vocab(LETTERS, { eos: END }), say = (text, said) => letters(said).map((token) => text.push(token)).join('');
        const text = new Text(vocab, ['stop'], { stopTokens: letters('#') });
        text.addPattern(/x[0-9]+y/, 5);
        assert.deepEqual([say(text, 'x1234'), say(text, '56x7'), say(text, 'y'), text.state, text.stop, text.stopAt], ['x1234', '56', '', 'stopped', 1, { token: 7, byte: 0 }]);
        text.reset();
        assert.deepEqual([say(text, 'a st#'), text.state, text.stop], ['a st', 'ended', null]);
        text.rollback();
        assert.deepEqual([say(text, 'op'), text.state, text.stop, new Text(vocab, ['b'], { minTokens: 2 }).push(END)], ['', 'stopped', 0, '']);
        fails(() => text.addPattern('z'), 'pattern');
        fails(() => new Text(vocab).addPattern('('), 'pattern');
        fails(() => new Text(vocab, ['']), 'stops');
        fails(() => text.push(96), 'token: 96 is not a whole number in [0, 95]');
        fails(() => text.rollback(99), 'n: ');
        text.close();
        for (const used of [() => text.push(1), () => text.flush(), () => text.stop, () => text.stopAt, () => text.clone()]) fails(used, 'text: it is closed');
    },
    beams() {
        const behind = [[.4, .3, .2, .1], [.1, .3, .2, .4], [.25, .15, .45, .15], [.2, .15, .05, .6]];
        const search = (beams, chains = null) => {
            for (let live = [{ token: -1 }]; live.length;) live = beams.step(live.map(({ token }) => behind[token + 1].map(Math.log)), { chains });
            return beams;
        };
        const beams = search(new Beams(2, 5, { ends: [3] })), [best, next] = beams.found;
        assert.deepEqual([best.tokens, next.tokens], [[1, 2, 3], [0, 1, 2, 3]]);
        assert(Math.abs(best.score + 0.837769) < 1e-5);
        assert.deepEqual(search(new Beams(2, 5, { ends: [3], earlyStopping: true })).found[1].tokens, [0, 3]);
        const other = new Beams(2, 5, { ends: [3] }), chains = [0, 1].map(() => new Chain(4, { temp: 0 }));
        other.load(beams.save());
        assert.deepEqual(other.found, beams.found);
        search(new Beams(2, 5, { ends: [3] }), chains);
        assert.equal(chains[0].prev().length, 3);
        fails(() => new Beams(4, 5, { nGroups: 3 }), 'n_groups');
        fails(() => other.step([0, 0, 0, 0], { chains: [chains[0]] }), 'chains');
        beams.close();
        fails(() => beams.step([0, 0, 0, 0]), 'beams: it is closed');
        const logits = [[1, 2, 3], [9, 0, 0], [0, 0, 0.5]], positions = logits.map(() => new Chain(3, { temp: 0, topP: 1, minP: 0 }));
        assert.deepEqual(unmask(positions, logits), [null, 0, null]);
        assert.deepEqual(unmask(positions, logits, { rule: 'threshold', n: 0, threshold: 0.6 }), [2, 0, null]);
        assert.equal(unmaskCount('even', 10, 0, 4), 3);
    },
    ngrams() {
        const text = new Ngram(), line = [5, 6, 7, 8, 9];
        text.accept([...line, ...line, 5, 6]);
        assert.deepEqual([text.draft(), text.draft(2), text.draft(0)], [[7, 8, 9, 5, 6], [7, 8], []]);
        text.rollback(2);
        text.accept(3);
        assert.deepEqual(text.draft(), []);
        text.rollback();
        text.accept(5n);
        text.accept(Int32Array.of(6));
        assert.deepEqual(text.draft(1), [7]);
        text.reset();
        assert.deepEqual(text.draft(), []);
        fails(() => text.rollback(), 'n: ');
        fails(() => new Ngram(5, 2), 'n_max: 2 is not a whole number in [5, 64]');
        fails(() => new Ngram(2, 5, 4), 'max_tokens');
        text.close();
        fails(() => text.draft(), 'ngram: it is closed');
    },
    guides() {
        const [cond, uncond] = rows(2), soft = (row) => row.map((x) => x - Math.log(row.reduce((sum, one) => sum + Math.exp(one), 0)));
        for (const scale of [0, 1, 1.5, -2]) {
            const [c, u] = [soft(cond), soft(uncond)], out = guide(cond, Float64Array.from(uncond), scale);
            out.forEach((x, i) => assert(Math.abs(x - (u[i] + scale * (c[i] - u[i]))) < 1e-5));
            const into = Float32Array.from(cond);
            assert(guide(into, uncond, scale, into) === into);
            assert.deepEqual(into, out);
        }
        assert.equal(fails(() => guide([1, NaN], [1, 2], 1), 'cond: logit 1 is NaN').field, 'cond');
        fails(() => guide([1, 2], [-Infinity, -Infinity], 1), 'uncond: all 2 tokens are masked');
        fails(() => guide([1, 2], [1], 1), 'uncond: there are 1, not 2');
        fails(() => guide([1, 2], [1, 2], NaN), 'scale');
        fails(() => guide([1, 2], [1, 2], 1, new Float32Array(1)), 'out');
    },
    files() {
        const model = { added_tokens: [{ id: 3, content: '</s>', special: true }, { id: 5, content: '<|im_end|>', special: true }], model: { type: 'BPE', vocab: { a: 0, 'Ġb': 1, 'Ã©': 2 }, merges: [] }, decoder: { type: 'ByteLevel' } };
        const string = (of) => [...new Uint8Array(BigUint64Array.of(BigInt(of.length)).buffer), ...Buffer.from(of)], word = (n) => [...new Uint8Array(Uint32Array.of(n).buffer)], long = (n) => [...word(n), ...word(0)];
        const list = (type, all) => [...word(9), ...word(type), ...long(all.length), ...all.flat()];
        const gguf = Uint8Array.from([...Buffer.from('GGUF'), ...word(3), ...long(0), ...long(4), ...string('tokenizer.ggml.model'), ...word(8), ...string('gpt2'),
            ...string('tokenizer.ggml.tokens'), ...list(8, ['a', 'Gb', '??', '</s>', 'x', '<|im_end|>'].map(string)), ...string('tokenizer.ggml.token_type'), ...list(5, [1, 1, 1, 3, 1, 3].map(word)),
            ...string('tokenizer.ggml.eos_token_id'), ...word(4), ...word(3)]);
        const json = JSON.stringify(model), of = [Vocab.fromTokenizerJson(json), Vocab.fromTokenizerJson(Buffer.from(json)), Vocab.fromGguf(gguf), Vocab.fromGguf(gguf.subarray(0))];
        for (const vocab of of) assert.deepEqual([vocab.length, vocab.eos, vocab.eot, vocab.eog], [6, 3, 5, [3, 5]]);
        const say = (vocab, tokens) => tokens.map((token) => new Text(vocab).push(token)).join('');
        assert.deepEqual([say(of[0], [0, 1, 2, 3, 5]), say(of[2], [0, 1, 2])], ['a bé', 'aGb??']);
        const error = fails(() => Vocab.fromTokenizerJson('{"model": 5'), 'vocab: line 1, column ');
        assert(error.field === 'vocab' && error.code === 'SAMP_E_FORMAT');
        fails(() => Vocab.fromTokenizerJson(JSON.stringify({ ...model, model: { type: 'WordPiece', vocab: {} } })), 'WordPiece');
        for (let n = 0; n < gguf.length - 9; n += 7) fails(() => Vocab.fromGguf(gguf.subarray(0, n)), 'vocab: line 1, column ');
        assert.deepEqual([new Vocab(['a', null], { eos: 1 }), new Vocab(['a'], { eog: [0] })].map(({ eos, eot, eog }) => [eos, eot, eog]), [[1, null, [1]], [null, null, [0]]]);
    },
    requests() {
        const vocab = new Vocab(LETTERS, { eos: END }), ask = (peer, request, more) => Chain.fromRequest(peer, request, { vocab, ...more }), wants = Float32Array.from({ length: 96 }, (_, i) => (i === END ? 9 : i === 66 ? 5 : 0));
        const chain = ask('openai', { stop: ['##', 'b'], colour: 1, proxy: { mood: 2 }, temperature: 0 }, { lenient: true }), say = (text, said) => letters(said).map((token) => text.push(token)).join('');
        assert.deepEqual([chain.leftOut, ask('openai', {}).leftOut], [['colour', 'proxy'], []]);
        fails(() => ask('openai', { colour: 1 }), 'colour');
        fails(() => ask('openai', { temperature: 'x', colour: 1 }, { lenient: true }), 'temperature');
        for (const text of [chain.text(), chain.clone().text(vocab)]) assert.deepEqual([say(text, 'a#x#'), say(text, '#'), text.state, text.stop], ['a#x', '', 'stopped', 0]);
        const plain = new Chain(vocab).text();
        assert.deepEqual([say(plain, 'b##'), plain.push(END), plain.state], ['b##', '', 'ended']);
        const shows = ask('vllm', { stop: 'b', include_stop_str_in_output: true, stop_token_ids: letters('!') }).text();
        assert.deepEqual([say(shows, 'ab'), shows.state], ['ab', 'stopped']);
        const pattern = ask('sglang', { sampling_params: { stop_regex: 'x[0-9]+' } }).text();
        assert.deepEqual([say(pattern, 'ax1'), pattern.state], ['a', 'stopped']);
        const least = { min_tokens: 2, temperature: 0 }, drawn = (of, n) => Array.from({ length: n }, () => of.sample(wants));
        assert.deepEqual(drawn(ask('vllm', least), 4), [66, 66, END, END]);
        const prompted = ask('vllm', least, { nPrompt: 3 });
        prompted.accept([1, 2, 3]);
        assert.deepEqual(drawn(prompted, 3), [66, 66, END]);
        assert.deepEqual(drawn(ask('llama_server', { ignore_eos: true, temperature: 0 }), 3), [66, 66, 66]);
        for (const [peer, request, name] of [['vllm', least, 'min_tokens'], ['llama_server', { ignore_eos: true }, 'mask_ends']])
            for (const of of [96, null, new Vocab(LETTERS)]) assert(fails(() => Chain.fromRequest(peer, request, { vocab: of }), name).code === 'SAMP_E_UNSUPPORTED');
        assert.deepEqual(drawn(ask('vllm', least, { vocab: 96, handled: ['min_tokens'] }), 1), [END]);
        fails(() => new Chain(96).text(), 'vocab');
        assert.equal(fails(() => new Chain(N, { logitBias: { 50: 1 } }), 'logit_bias: token 50 is outside its range: a whole number in [0, 39]').field, 'logit_bias');
    },
    states() {
        const make = () => new Chain(N, { seed: 2n ** 64n - 1n, penalty_repeat: 1.5, mirostat: 2 }), chain = make(), data = rows(30);
        assert(chain.seed === 2n ** 64n - 1n && chain.position === 0);
        const draw = (from) => data.slice(10).map((row) => from.sample(row)), head = data.slice(0, 10).map((row) => chain.sample(row));
        const state = chain.save(), other = chain.clone(), tail = draw(chain), fresh = make();
        assert.deepEqual(draw(other), tail);
        chain.rollback(20);
        assert.deepEqual([chain.save(), chain.prev(), chain.prev(3)], [state, head, head.slice(-3)]);
        fresh.load(state);
        assert.deepEqual(draw(fresh), tail);
        fails(() => fresh.load(state.subarray(1)), 'damaged');
        fails(() => new Chain(N, { seed: 2 }).load(state), 'damaged');
        fails(() => fresh.rollback(100), 'range');
        chain.setRollback(0);
        fails(() => chain.rollback(1), 'range');
        chain.position = 7;
        assert.equal(chain.position, 7);
        fails(() => (chain.position = -1), 'position');
        chain.close();
        chain.close();
        for (const used of [() => chain.sample(ROW), () => chain.save(), () => chain.clone(), () => chain.accept(1), () => chain.describe(),
            () => sampleBatch([chain], [ROW]), () => chain.update({ temp: 1 }), () => chain.verify(ROW, []),
            () => chain.score(ROW, 1), () => chain.replay([1]), () => chain.replayCheck(ROW, [1])]) fails(used, 'closed');
        assert(childSeed(1, 2) !== childSeed(1, 3) && new Chain().describe().includes('dist'));
    },
    settings() {
        const chain = new Chain(N, { repetitionPenalty: 1.25, frequency_penalty: 0.5, presencePenalty: 0.25, typicalP: 0.5, topKTies: true, order: ['top_k', 'temperature'], seed: null });
        assert.deepEqual(['penalty_repeat', 'penaltyFreq', 'presence_penalty', 'typ_p', 'top_k_ties', 'order'].map((name) => chain.get(name)),
            ['1.25', '0.5', '0.25', '0.5', '1', 'top_k;temperature']);
        for (const name of Object.keys(aliases)) assert(takes(name));
        const update = new Chain(N, { seed: 1, temperature: 0.5 }), first = update.sample(ROW);
        update.update({ temperature: 0 });
        assert(update.get('temp') === '0' && update.prev()[0] === first && update.sample(ROW) === ROW.indexOf(Math.max(...ROW)));
        fails(() => update.update({ topP: 2 }), 'top_p');
        assert.equal(update.get('topP'), '0.95');
        update.update({ temp: null });
        assert.equal(update.get('temp'), '0.8');
        assert.equal(new Chain(N, { logitBias: { 3: 1e30, 4: -Infinity }, temp: 1 }).sample(ROW), 3);
        assert.equal(new Chain(N, { logitBias: new Map([[3, 1e30]]) }).sample(ROW), 3);
        const error = fails(() => new Chain(N, { temperature: -1 }), 'temp: ');
        assert(error.status === -2 && error.field === 'temp' && error.code === 'SAMP_E_RANGE');
        fails(() => new Chain(N, { order: 'a\0b' }), 'order');
        fails(() => new Chain(N, { logitBias: { [N]: 1 } }), 'logit_bias');
        const vllm = Chain.fromRequest('vllm', { temperature: 0.5, top_k: 7, seed: 3, n: 2 }, { vocab: N });
        assert(vllm.seed === 3n && vllm.describe().includes('top-k(k=7') && typeof vllm.withPrompt === 'boolean');
        assert.equal(Chain.fromRequest('transformers', '{"do_sample": true}', { seed: 11 }).seed, 11n);
        assert.equal(fails(() => Chain.fromRequest('openai', { temperature: 3 }), 'temperature').field, 'temperature');
        assert.equal(fails(() => Chain.fromRequest('vllm', { no_such: 3 }), 'no_such').field, 'no_such');
        Chain.fromRequest('vllm', { no_such: 3 }, { handled: ['no_such'] });
        fails(() => Chain.fromRequest('vllm', { thinking_token_budget: 9 }), 'thinking_budget');
        fails(() => Chain.fromRequest('transformers', { guidance_scale: 1.5 }), 'guidance_scale');
        Chain.fromRequest('transformers', { guidance_scale: 1.5 }, { handled: ['guidance_scale'] }).close();
        Chain.fromRequest('vllm', { thinking_token_budget: 9 }, { handled: ['thinking_token_budget'] });
        fails(() => Chain.fromRequest('bing', {}), 'peer');
        fails(() => vllm.update({ temp: 1 }), 'fromRequest');
    },
    types() { // sampling.d.ts has the names that sampling.js has
        const text = fs.readFileSync(require.resolve('./sampling.js').replace(/js$/, 'd.ts'), 'utf8');
        for (const name of Object.keys(sampling)) assert(new RegExp(`export (abstract )?(class|function|const) ${name}\\b`).test(text), name);
        for (const [, name, body] of text.matchAll(/export (?:abstract )?class (\w+)[^{]*\{([\s\S]*?)\n\}/g)) {
            const told = new Set([...body.matchAll(/^ {4}(?:static |get |set |readonly )*(\w+)/gm)].map((match) => match[1]));
            const of = sampling[name], has = [...Object.getOwnPropertyNames(of.prototype), ...Object.getOwnPropertyNames(of).filter((key) => !['length', 'name', 'prototype'].includes(key))];
            for (const key of has) if (!['constructor', 'fits', 'index', 'own', 'release', 'handle', 'keep', 'sampler', 'selects'].includes(key)) assert(told.has(key), `${name}.${key} is not in sampling.d.ts`);
        }
    },
};

// What is not closed is freed when nothing refers to it: once, and before what it borrows.
async function memory() {
    for (let i = 0; i < 50; i++) {
        fails(() => new Chain(N, { topP: 2 }), '');
        fails(() => Grammar.fromRegex('('), '');
        fails(() => new Chain(LETTERS, { grammar: Grammar.fromRegex('a'), topK: 'x' }), '');
    }
    let keep = (() => new Chain(new Vocab(LETTERS, { eos: END }), { grammar: Grammar.fromRegex('[ab]*'), seed: 1 }))();
    const settle = async (least) => {
        for (let i = 0; i < 50 && live() > least; i++) {
            global.gc();
            await new Promise((done) => setTimeout(done, 5));
        }
    };
    await settle(0);
    assert(live() > 0 && [END, ...letters('ab')].includes(keep.sample(new Float32Array(96))));
    let copy = keep.clone();
    let text = copy.text(), other = text.clone(); // they keep the Vocab, which nothing else refers to
    keep = null;
    await settle(0);
    text.close();
    assert.equal(other.push(letters('a')[0]), 'a');
    text = other = null;
    assert([END, ...letters('ab')].includes(copy.sample(new Float32Array(96))));
    copy.close();
    copy = null;
    await settle(0);
    assert.equal(Number(live()), 0);
}

(async () => {
    for (const [name, test] of Object.entries(tests).filter(([one]) => !process.argv.includes(one))) {
        try {
            test();
        } catch (error) {
            console.error(`test_sampling.js: ${name} fails`);
            throw error;
        }
    }
    await memory();
    console.log(`${Object.keys(tests).length + 1} tests`);
})();
