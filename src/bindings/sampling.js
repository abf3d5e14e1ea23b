// sampling.h from JavaScript: chains, batches, masks, log-probabilities, grammars, drafts, states. javascript.md has
// examples, sampling.d.ts the types.
//
//     const { Chain } = require('./sampling.js');
//     const chain = new Chain(nVocab, { topK: 40, temperature: 0.8 });
//     const token = chain.sample(logits);        // a typed array is read where it is; any list will do
//
// Needs koffi (npm). The library is libsampling.so (make lib) beside this file, else one that is installed (make install),
// or what SAMPLING_LIBRARY names. Whatever goes wrong is a SamplingError, and never a token.
'use strict';
const fs = require('fs');
const koffi = require('koffi');

const VERSION = 100; // major and minor version that the structures below are those of: 1.0

// ---- C's side ----

const beside = `${__dirname}/libsampling.so`;
const lib = koffi.load(process.env.SAMPLING_LIBRARY ?? (fs.existsSync(beside) ? beside : 'libsampling.so'));
const declare = (name, result, ...parameters) => lib.func(`${result} samp_${name}(${parameters.join(', ')})`);

const version = declare('version', 'int');
if (Math.floor(version() / 100) !== VERSION)
    throw new Error(`libsampling is version ${version()}, sampling.js is for ${VERSION / 100}`);

koffi.struct('samp_logprob', { token: 'int32_t', rank: 'int32_t', logprob: 'float' });
koffi.struct('samp_logprob_set', {
    top_logprobs: 'void *', n_top: 'int32_t', n_top_found: 'int32_t', chosen: 'samp_logprob', cumulative_logprob: 'double',
});
koffi.struct('samp_logprobs', { raw: 'samp_logprob_set', processed: 'samp_logprob_set' });
koffi.struct('samp_logits', {
    data: 'const void *', dtype: 'int', n_rows: 'size_t', n_vocab: 'size_t', stride: 'size_t', row_index: 'const void *',
    mask: 'const void *', mask_stride: 'size_t', logprobs: 'void *', n_threads: 'int32_t',
});
koffi.struct('samp_draft', {
    n: 'size_t', tokens: 'const void *', probs: 'const void *', ids: 'const void *', n_top: 'size_t',
});
koffi.struct('samp_text_error', {
    status: 'int', line: 'size_t', column: 'size_t', message: koffi.array('char', 160),
});
koffi.struct('samp_request', {
    error: 'samp_text_error', field: koffi.array('char', 64), seeded: 'bool', with_prompt: 'bool',
    thinking_budget: 'int32_t',
});

const c = {
    errorText: declare('error_text', 'int', 'int status', 'const char *field', 'void *buf', 'size_t size'),
    childSeed: declare('child_seed', 'uint64_t', 'uint64_t seed', 'uint64_t i'),
    settingsNew: declare('settings_new', 'void *'),
    settingsFree: declare('settings_free', 'void', 'void *settings'),
    settingsSet: declare('settings_set', 'int', 'void *settings', 'const char *name', 'const char *value',
        '_Out_ const char **field'),
    settingsGet: declare('settings_get', 'int', 'void *settings', 'const char *name', 'void *buf', 'size_t size'),
    settingsTakes: declare('settings_takes', 'int', 'const char *name', 'void *buf', 'size_t size'),
    settingsUseVocab: declare('settings_use_vocab', 'int', 'void *settings', 'void *vocab'),
    settingsParams: declare('settings_params', 'void *', 'void *settings'),
    settingsFrom: declare('settings_from', 'int', 'void *settings', 'int peer', 'const char *json',
        'const char **handled', '_Out_ samp_request *request'),
    checkParams: declare('check_params', 'int', 'void *params', '_Out_ const char **field'),
    chainFromParams: declare('chain_from_params', 'void *', 'void *params', '_Out_ int *status'),
    chainUpdate: declare('chain_update', 'int', 'void *chain', 'void *params'),
    chainInsert: declare('chain_insert', 'int', 'void *chain', 'int32_t i', 'void *s'),
    vocabInit: declare('vocab_init', 'void *', 'const void *bytes', 'const void *lengths', 'int32_t n',
        'const void *eog', 'size_t n_eog', 'int32_t eos', 'int32_t eot', '_Out_ int *status'),
    vocabFree: declare('vocab_free', 'void', 'void *vocab'),
    indexInit: declare('vocab_index_init', 'void *', 'void *vocab', '_Out_ int *status'),
    indexFree: declare('vocab_index_free', 'void', 'void *index'),
    grammarInit: declare('grammar_init', 'void *', 'int kind', 'const char *text', 'const char *root',
        '_Out_ samp_text_error *error'),
    grammarFree: declare('grammar_free', 'void', 'void *grammar'),
    initGrammar: declare('init_grammar', 'void *', 'void *index', 'void *grammar'),
    initLazy: declare('init_grammar_lazy', 'void *', 'void *index', 'void *grammar', 'const char **words', 'size_t n',
        'const void *tokens', 'size_t n_tokens'),
    initLazyPatterns: declare('init_grammar_lazy_patterns', 'void *', 'void *index', 'void *grammar',
        'const char **patterns', 'size_t n', 'const void *tokens', 'size_t n_tokens'),
    grammarMask: declare('grammar_mask', 'int', 'void *s', 'void *bits'),
    grammarIsComplete: declare('grammar_is_complete', 'int', 'void *s'),
    grammarIsAwaiting: declare('grammar_is_awaiting', 'int', 'void *s'),
    grammarForced: declare('grammar_forced', 'int64_t', 'void *s', 'void *bytes', 'size_t size'),
    sample: declare('sample', 'int32_t', 'void *chain', 'const void *logits', 'size_t n_vocab'),
    sampleBatch: declare('sample_batch', 'int', 'void **rows', 'const samp_logits *logits', 'void *out'),
    verify: declare('verify', 'int32_t', 'void *s', 'const void *logits', 'size_t n_vocab', 'const samp_draft *draft',
        'int method', 'void *out'),
    verifyBlock: declare('verify_block', 'int32_t', 'void *s', 'const void *logits', 'size_t n_vocab',
        'const samp_draft *draft', 'void *out'),
    accept: declare('accept', 'int', 'void *s', 'int32_t token'),
    rollback: declare('rollback', 'int', 'void *s', 'int32_t n'),
    setRollback: declare('set_rollback', 'int', 'void *s', 'int32_t depth'),
    reset: declare('reset', 'void', 'void *s'),
    clone: declare('clone', 'void *', 'void *s'),
    free: declare('free', 'void', 'void *s'),
    status: declare('status', 'int', 'void *s', '_Out_ const char **field'),
    stateSize: declare('state_size', 'size_t', 'void *s'),
    stateSave: declare('state_save', 'int', 'void *s', 'void *bytes', 'size_t size'),
    stateLoad: declare('state_load', 'int', 'void *s', 'const void *bytes', 'size_t size'),
    getPosition: declare('get_position', 'uint64_t', 'void *s'),
    setPosition: declare('set_position', 'int', 'void *s', 'uint64_t position'),
    getSeed: declare('get_seed', 'uint64_t', 'void *s'),
    prev: declare('prev', 'size_t', 'void *s', 'void *out', 'size_t n'),
    describe: declare('describe', 'int', 'void *s', 'void *buf', 'size_t size'),
};

// ---- errors ----

const CODES = 'OK E_NULL E_RANGE E_NAN E_EMPTY E_NOMEM E_WORKSPACE E_DTYPE E_DEVICE E_UNSUPPORTED E_FORMAT E_FULL E_NAME'.split(' ');
const E_NULL = -1, E_RANGE = -2, E_NOMEM = -5, E_DTYPE = -7, E_UNSUPPORTED = -9, E_FORMAT = -10;

// The text that write(buffer, size) writes, which returns its length.
function textOf(write, field) {
    const size = check(write(null, 0), field), buffer = Buffer.alloc(size + 1);
    write(buffer, size + 1);
    return buffer.toString('utf8', 0, size);
}

// status: a samp_status, negative; code: 'SAMP_E_RANGE'; field: which setting, or null.
class SamplingError extends Error {
    constructor(status, field = null, text = null) {
        super(text ?? textOf((buffer, size) => c.errorText(status, field, buffer, size)));
        this.name = 'SamplingError';
        this.status = status;
        this.code = `SAMP_${CODES[-status] ?? status}`;
        this.field = field;
    }
}

// Some rows failed; the others have their tokens: tokens (null where there is none), errors (a Map from row to error).
class BatchError extends SamplingError {
    constructor(tokens, errors, logprobs = null) {
        const [row, first] = errors.entries().next().value;
        super(first.status, first.field, `row ${row}: ${first.message}`);
        this.name = 'BatchError';
        this.tokens = tokens;
        this.errors = errors;
        this.logprobs = logprobs;
    }
}

function check(status, field = null) {
    if (status < 0) throw new SamplingError(Number(status), field);
    return Number(status);
}
const wrong = (field, text, status = E_RANGE) => new SamplingError(status, field, `${field}: ${text}`);

// ---- what owns something of C's: freed once, when nothing refers to it; samplers by close() too ----

// What is kept is freed later: it is borrowed.
const registry = new FinalizationRegistry((owned) => owned.free(owned.handle));

class Owner {
    #owned = null;
    own(handle, free, keep) {
        if (!handle) throw new SamplingError(E_NOMEM);
        this.#owned = { handle, free, keep };
        registry.register(this, this.#owned, this.#owned);
    }
    get handle() {
        return this.#owned?.handle ?? null;
    }
    // C owns it now.
    release() {
        const owned = this.#owned;
        this.#owned = null;
        if (owned) registry.unregister(owned);
        return owned?.handle ?? null;
    }
    // Free it now.
    free() {
        const free = this.#owned?.free, handle = this.release();
        if (handle) free(handle);
    }
}

// ---- arrays, where they are ----

const DTYPES = { float32: 0, float16: 1, bfloat16: 2, float64: 3 };

// One typed array of logits or probabilities, and what its elements are. Lists are copied, lists of rows side by side.
function floats(of, dtype, field = 'logits') {
    if (dtype !== undefined && !(dtype in DTYPES))
        throw wrong('dtype', `${dtype} is none of ${Object.keys(DTYPES).join(', ')}`, E_DTYPE);
    const is = of instanceof Float32Array ? 'float32' : of instanceof Float64Array ? 'float64'
        : globalThis.Float16Array && of instanceof globalThis.Float16Array ? 'float16' : null;
    if (of instanceof Uint16Array) {
        if (dtype !== 'float16' && dtype !== 'bfloat16')
            throw wrong('dtype', "two bytes are 'float16' or 'bfloat16'? Say dtype", E_DTYPE);
        return { data: of, dtype: DTYPES[dtype] };
    }
    if (is) {
        if (dtype !== undefined && dtype !== is) throw wrong('dtype', `the array's is ${is}, not ${dtype}`, E_DTYPE);
        return { data: of, dtype: DTYPES[is] };
    }
    if (of == null || typeof of.length !== 'number') throw wrong(field, 'neither a typed array nor a list', E_DTYPE);
    if (of.length && typeof of[0] === 'object') {
        const rows = Array.from(of, (row) => floats(row, dtype, field)), n = rows[0].data.length;
        if (rows.some((row) => row.data.length !== n || row.dtype !== rows[0].dtype))
            throw wrong(field, 'rows of different lengths or types');
        const data = new rows[0].data.constructor(n * rows.length);
        rows.forEach((row, r) => data.set(row.data, r * n));
        return { data, dtype: rows[0].dtype, rows: rows.length };
    }
    return { data: Float32Array.from(of), dtype: 0 };
}

function integers(of, field) {
    if (of instanceof Int32Array) return of;
    const all = Array.from(of).flat();
    if (!all.every((one) => Number.isInteger(one) && one >= -(2 ** 31) && one < 2 ** 31))
        throw wrong(field, 'not whole numbers of 32 bits');
    return Int32Array.from(all);
}

// Words of 32 bits, from a bool for each token too; words from row to row.
function bits(mask, rows, nVocab) {
    const words = Math.ceil(nVocab / 32);
    if (mask instanceof Uint32Array || mask instanceof Int32Array) {
        if (mask.length % rows || mask.length / rows < words)
            throw wrong('mask', `${mask.length} words, not ${rows} times ${words}`);
        return mask;
    }
    const isRow = (one) => ArrayBuffer.isView(one) || Array.isArray(one);
    const all = rows === 1 && !isRow(mask[0]) ? [mask] : Array.from(mask), out = new Uint32Array(rows * words);
    if (all.length !== rows) throw wrong('mask', `${all.length} rows, not ${rows}`);
    all.forEach((row, r) => {
        if (row instanceof Uint32Array || row instanceof Int32Array) {
            if (row.length < words) throw wrong('mask', `${row.length} words, not ${words}`);
            out.set(row.subarray(0, words), r * words);
            return;
        }
        if (row.length !== nVocab) throw wrong('mask', `${row.length} tokens, not ${nVocab}`);
        for (let i = 0; i < nVocab; i++) if (row[i]) out[r * words + (i >>> 5)] |= 1 << (i & 31);
    });
    return out;
}

function bytesOf(text) {
    if (text == null) return Buffer.alloc(0);
    return typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.byteLength);
}
const some = (array) => (array.length ? array : new Int32Array(4)); // never NULL

// ---- vocabularies and grammars ----

// The tokens' bytes, for dry, infill and grammars: strings, Uint8Arrays, or null for control tokens.
class Vocab extends Owner {
    #index = { handle: null };
    constructor(tokens, { eos = null, eot = null, eog = null } = {}) {
        super();
        const pieces = Array.from(tokens, bytesOf), status = [0];
        this.length = pieces.length;
        this.eog = Array.from(eog ?? [eos, eot].filter((token) => token !== null));
        const lengths = Uint32Array.from(pieces, (piece) => piece.length), ends = integers(this.eog, 'eog');
        const handle = c.vocabInit(some(Buffer.concat(pieces)), some(lengths), pieces.length, some(ends), ends.length,
            eos ?? -1, eot ?? -1, status);
        check(status[0], status[0] === E_RANGE ? 'eog' : null);
        this.own(handle, freeVocab(this.#index), null);
    }
    // Made when a grammar needs it for the first time.
    index() {
        if (!this.handle) throw new SamplingError(E_NULL, 'vocab');
        if (!this.#index.handle) {
            const status = [0];
            this.#index.handle = c.indexInit(this.handle, status);
            check(status[0]);
        }
        return this.#index.handle;
    }
}
// Must not know the object itself, or that would never go.
function freeVocab(index) {
    return (handle) => {
        c.indexFree(index.handle);
        c.vocabFree(handle);
        index.handle = null;
    };
}

const KINDS = { gbnf: 0, json_schema: 1, regex: 2 };

// What a text may be.
class Grammar extends Owner {
    constructor(text, kind = 'gbnf', root = null) {
        super();
        if (!(kind in KINDS)) throw wrong('kind', `${kind} is none of ${Object.keys(KINDS).join(', ')}`);
        if (text.includes('\0')) throw wrong('grammar', 'byte 0', E_FORMAT);
        const error = {}, handle = c.grammarInit(KINDS[kind], text, root, error);
        if (!handle)
            throw wrong('grammar', `line ${error.line}, column ${error.column}: ${error.message}`, error.status);
        this.own(handle, c.grammarFree, null);
    }
    // llama.cpp's GBNF; root: the rule to begin with.
    static fromString(gbnf, root = null) {
        return new Grammar(gbnf, 'gbnf', root);
    }
    // A schema as text or object; style: 'ordered', 'compact', 'spaced', with blanks between.
    static fromJsonSchema(schema, style = null) {
        return new Grammar(typeof schema === 'string' ? schema : JSON.stringify(schema), 'json_schema', style);
    }
    // The whole text matches it. A RegExp's flags are not looked at.
    static fromRegex(pattern) {
        return new Grammar(pattern instanceof RegExp ? pattern.source : pattern, 'regex');
    }
}

// ---- samplers ----

class Sampler extends Owner {
    // Free it now. Else it is freed when nothing refers to it.
    close() {
        this.free();
    }
    // Tell of a token that was not sampled here, or of several: a prompt's.
    accept(token) {
        for (const one of typeof token === 'number' ? [token] : token) check(c.accept(this.handle, one));
    }
    reset() {
        c.reset(this.handle);
    }
    // Take back the last n tokens, as if they had never been drawn.
    rollback(n = 1) {
        check(c.rollback(this.handle, n));
    }
    // How many can be taken back from now on.
    setRollback(depth) {
        check(c.setRollback(this.handle, depth));
    }
    // What it has become, as bytes: the same on every machine.
    save() {
        const state = new Uint8Array(Number(c.stateSize(this.handle)));
        check(c.stateSave(this.handle, some(state), state.length));
        return state;
    }
    load(state) {
        check(c.stateLoad(this.handle, some(state), state.length));
    }
    get position() {
        return Number(c.getPosition(this.handle));
    }
    set position(position) {
        if (position < 0 || BigInt(position) >= 2n ** 64n) throw wrong('position', 'not in [0, 2^64)');
        check(c.setPosition(this.handle, position));
    }
    get seed() {
        return BigInt(c.getSeed(this.handle));
    }
    describe() {
        return textOf((buffer, size) => c.describe(this.handle, buffer, size));
    }
}

if (Symbol.dispose)
    Object.defineProperty(Sampler.prototype, Symbol.dispose, { value: function dispose() { this.close(); } });

// A grammar at work on one text: which tokens may come next. With triggers it waits for one, and allows all until then.
class Matcher extends Sampler {
    constructor(vocab, grammar, { triggerWords, triggerPatterns, triggerTokens, from } = {}) {
        super();
        this.vocab = vocab;
        this.grammar = grammar;
        if (triggerWords && triggerPatterns) throw wrong('trigger_patterns', 'there are trigger_words already');
        const keep = [vocab, grammar], index = vocab.index(), field = [null];
        if (from) {
            this.own(c.clone(from), c.free, keep);
            return;
        }
        if (triggerWords || triggerPatterns || triggerTokens) {
            const texts = triggerWords ?? triggerPatterns ?? [], tokens = integers(triggerTokens ?? [], 'trigger_tokens');
            const make = triggerPatterns ? c.initLazyPatterns : c.initLazy;
            this.own(make(index, grammar.handle, [...texts, null], texts.length, some(tokens), tokens.length), c.free, keep);
        } else this.own(c.initGrammar(index, grammar.handle), c.free, keep);
        const status = c.status(this.handle, field);
        if (status < 0) {
            this.close();
            throw new SamplingError(status, field[0]);
        }
    }
    clone() {
        check(c.status(this.handle, [null]));
        return new Matcher(this.vocab, this.grammar, { from: this.handle });
    }
    // The tokens that may follow: bit i % 32 of word i / 32 is token i. Into out (a Uint32Array or Int32Array) if it is given.
    mask(out = new Uint32Array(Math.ceil(this.vocab.length / 32))) {
        if (!(out instanceof Uint32Array || out instanceof Int32Array) || out.length < Math.ceil(this.vocab.length / 32))
            throw wrong('out', `not a Uint32Array of ${Math.ceil(this.vocab.length / 32)}`);
        check(c.grammarMask(this.handle, some(out)));
        return out;
    }
    allows(token) {
        return token >= 0 && token < this.vocab.length && (this.mask()[token >>> 5] >>> (token & 31) & 1) === 1;
    }
    isComplete() {
        return check(c.grammarIsComplete(this.handle)) === 1;
    }
    isAwaiting() {
        return check(c.grammarIsAwaiting(this.handle)) === 1;
    }
    // The bytes that must follow, whatever comes.
    forced() {
        const bytes = new Uint8Array(4096), n = check(c.grammarForced(this.handle, bytes, 4096));
        return bytes.slice(0, n);
    }
}

// What vLLM, transformers, llama-cpp-python and node-llama-cpp call the settings; and the samplers' names, for a first value.
const aliases = {
    temperature: 'temp', typical: 'typ_p', xtc: 'xtc_probability', dry: 'dry_multiplier', penalties: 'penalty_last_n',
    repetition_penalty: 'penalty_repeat', repeat_penalty: 'penalty_repeat', frequency_penalty: 'penalty_freq',
    presence_penalty: 'penalty_present', repeat_last_n: 'penalty_last_n', typical_p: 'typ_p', mirostat_mode: 'mirostat',
    tfs: 'tfs_z', dynatemp_exp: 'dynatemp_exponent', smoothing: 'smoothing_factor',
};
const nameOf = (name) => {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return aliases[snake] ?? snake;
};

// A value as the texts that samp_settings_set takes, one after the other.
function textsOf(name, value) {
    const number = (x) => (x === Infinity ? 'inf' : x === -Infinity ? '-inf' : String(x));
    if (name === 'logit_bias' && typeof value === 'object') {
        const pairs = value instanceof Map ? [...value] : Array.isArray(value) ? value : Object.entries(value);
        return pairs.map(([token, bias]) => `${token}${bias >= 0 ? '+' : ''}${number(bias)}`);
    }
    if (name === 'order' && Array.isArray(value)) return [value.join(';')];
    if (Array.isArray(value)) return value.map(String);
    if (typeof value === 'boolean') return [String(Number(value))];
    return [typeof value === 'number' ? number(value) : String(value)];
}

// use(settings) with a samp_settings that has these values.
function withSettings(values, vocab, use) {
    const settings = c.settingsNew(), field = [null];
    if (!settings) throw new SamplingError(E_NOMEM);
    const set = (name, text) => {
        if (text.includes('\0')) throw wrong(name, 'byte 0', E_FORMAT);
        check(c.settingsSet(settings, name, text, field), field[0]);
    };
    try {
        if (vocab instanceof Vocab) check(c.settingsUseVocab(settings, vocab.handle));
        else if (vocab != null) set('n_vocab', String(vocab));
        for (const [name, value] of Object.entries(values))
            if (value != null) for (const text of textsOf(nameOf(name), value)) set(nameOf(name), text);
        check(c.checkParams(c.settingsParams(settings), field), field[0]);
        return use(settings);
    } finally {
        c.settingsFree(settings);
    }
}

const PEERS = { openai: 0, vllm: 1, transformers: 2, llama_server: 3, ollama: 4, anthropic: 5, sglang: 6 };

// A chain of samplers: new Chain(vocab, { topK: 40, temperature: 0.8, dryBreakers: ['\n'], logitBias: { 7: -100 }, grammar }).
// vocab: how many tokens there are, a Vocab, or a list for one; null: rows of any length.
class Chain extends Sampler {
    #values = {};
    #keep = null;
    constructor(vocab = null, settings = {}, more = {}) {
        super();
        if (vocab !== null && typeof vocab === 'object' && !(vocab instanceof Vocab)) vocab = new Vocab(vocab);
        const { grammar = null, ...values } = settings;
        this.vocab = vocab;
        if (more.from) { // a clone
            this.#values = values;
            this.#keep = more.keep;
            this.own(c.clone(more.from), c.free, more.keep);
            return;
        }
        if (more.request) this.#values = null;
        else this.#values = values;
        withSettings(values, vocab, (of) => {
            if (more.request) more.request(of);
            this.#make(c.settingsParams(of), grammar);
        });
    }
    #make(params, grammar) {
        const status = [0];
        let first = null;
        if (grammar instanceof Grammar) {
            if (!(this.vocab instanceof Vocab)) throw wrong('vocab', "a grammar needs a Vocab, to know the tokens' bytes", E_NULL);
            first = new Matcher(this.vocab, grammar);
        } else if (grammar) first = grammar.clone();
        this.#keep = [this.vocab, first?.vocab, first?.grammar];
        const handle = c.chainFromParams(params, status);
        this.own(handle, c.free, this.#keep);
        check(status[0]);
        if (first) check(c.chainInsert(this.handle, 0, first.release()));
    }
    clone() {
        check(c.status(this.handle, [null]));
        const other = new Chain(this.vocab, this.#values ?? {}, { from: this.handle, keep: this.#keep });
        other.#values = this.#values;
        return other;
    }
    // What a request to another program asks for, by its names, defaults and ranges. handled: fields that you see to.
    // .withPrompt tells whether the prompt is to be accepted too.
    static fromRequest(peer, request, { vocab = null, grammar = null, handled = [], seed = null } = {}) {
        if (!(peer in PEERS)) throw wrong('peer', `${peer} is none of ${Object.keys(PEERS).join(', ')}`);
        const told = {}, text = typeof request === 'string' ? request : JSON.stringify(request);
        const read = (settings) => {
            const status = c.settingsFrom(settings, PEERS[peer], text, [...handled, null], told);
            if (status >= 0 && told.thinking_budget >= 0)
                throw wrong('thinking_budget', 'see to it yourself, by handled', E_UNSUPPORTED);
            if (status >= 0) return;
            const message = told.error.message || new SamplingError(status).message;
            throw new SamplingError(status, told.field || null, told.field ? `${told.field}: ${message}` : message);
        };
        const chain = new Chain(vocab, { seed, grammar }, { request: read });
        chain.withPrompt = told.with_prompt;
        return chain;
    }
    get nVocab() {
        return this.vocab instanceof Vocab ? this.vocab.length : this.vocab;
    }
    fits(n) {
        if (this.vocab instanceof Vocab ? n < this.vocab.length : this.vocab !== null && n !== this.vocab)
            throw wrong('logits', `there are ${n}, not ${this.nVocab}`);
    }
    // The next token, which the chain has then accepted. mask: a Uint32Array of bits, or a bool for each token. logprobs:
    // the n most likely tokens too; then { token, logprobs }. dtype: of a Uint16Array, 'float16' or 'bfloat16'.
    sample(logits, { mask = null, logprobs = null, dtype } = {}) {
        const at = floats(logits, dtype);
        if (at.rows !== undefined) throw wrong('logits', 'this is no row; sampleBatch takes many');
        this.fits(at.data.length);
        const n = at.data.length;
        if (mask === null && logprobs === null && at.dtype === 0) return check(c.sample(this.handle, some(at.data), n));
        try {
            const told = batch([this], at, 1, n, n, mask, logprobs, null, 1);
            return logprobs === null ? told[0] : { token: told.tokens[0], logprobs: told.logprobs[0] };
        } catch (error) {
            throw error instanceof BatchError ? error.errors.get(0) : error;
        }
    }
    // How much of a draft is right? The tokens that are accepted, and one more. logits: a row more than the draft has
    // tokens, side by side. method: 'exact', 'ratio' or 'block'; probs [n, nVocab], or [n, nTop] with ids.
    verify(logits, draft, { probs = null, ids = null, method = 'exact', dtype } = {}) {
        const at = floats(logits, dtype), tokens = integers(draft, 'draft'), n = tokens.length;
        const nVocab = at.data.length / (n + 1);
        if (at.dtype !== 0) at.data = Float32Array.from(widened(at));
        if (!Number.isInteger(nVocab) || (at.rows ?? n + 1) !== n + 1)
            throw wrong('logits', 'they must have a row more than the draft has tokens');
        this.fits(nVocab);
        if (!['exact', 'ratio', 'block'].includes(method)) throw wrong('method', `${method} is none of exact, ratio, block`);
        const q = probs && floats(probs, undefined, 'probs'), which = ids && integers(ids, 'ids');
        if (q && q.dtype !== 0) q.data = Float32Array.from(q.data);
        if (q && q.data.length !== (which ? which.length : n * nVocab)) throw wrong('probs', `${q.data.length} do not fit`);
        if (which && (!q || which.length % n)) throw wrong('ids', 'they do not fit probs and the draft');
        const out = new Int32Array(n + 1).fill(-1);
        const of = {
            n, tokens: some(tokens), probs: q && some(q.data), ids: which && some(which),
            n_top: which && n ? which.length / n : 0,
        };
        const accepted = check(method === 'block' ? c.verifyBlock(this.handle, some(at.data), nVocab, of, out)
            : c.verify(this.handle, some(at.data), nVocab, of, Number(method === 'ratio'), out));
        const taken = [...out.subarray(0, accepted)];
        if (out[accepted] < 0) throw new BatchError(taken, new Map([[accepted, new SamplingError(out[accepted])]]));
        return [...taken, out[accepted]];
    }
    // Other values for these settings, between two tokens; what the chain has seen stays. null: the default.
    update(settings) {
        if (!this.#values) throw new SamplingError(E_UNSUPPORTED, null, 'a chain of fromRequest has no settings by name');
        const values = { ...this.#values };
        for (const [name, value] of Object.entries(settings)) {
            for (const old of Object.keys(values)) if (nameOf(old) === nameOf(name)) delete values[old];
            values[name] = value;
        }
        withSettings(values, this.vocab, (of) => check(c.chainUpdate(this.handle, c.settingsParams(of))));
        this.#values = values;
    }
    get settings() {
        return { ...this.#values };
    }
    // A setting's value, as text.
    get(name) {
        return withSettings(this.#values ?? {}, this.vocab,
            (of) => textOf((buffer, size) => c.settingsGet(of, nameOf(name), buffer, size), name));
    }
    // The last accepted tokens, n at most, the oldest first.
    prev(n = 64) {
        const out = new Int32Array(n);
        return [...out.subarray(0, Number(c.prev(this.handle, some(out), n)))];
    }
}

// f32 of whatever there is.
function widened({ data, dtype }) {
    if (dtype === DTYPES.float64 || !(data instanceof Uint16Array)) return data;
    const words = new Uint32Array(1), float = new Float32Array(words.buffer);
    if (dtype === DTYPES.bfloat16) return Array.from(data, (bits16) => ((words[0] = bits16 << 16), float[0]));
    return Array.from(data, (h) => {
        const sign = h & 0x8000 ? -1 : 1, exponent = h >>> 10 & 31, fraction = h & 1023;
        if (exponent === 31) return fraction ? NaN : sign * Infinity;
        return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
    });
}

// Room for the log-probabilities of some rows, which C writes: { at, read(r), free() }.
function roomForLogprobs(rows, n) {
    const set = koffi.sizeof('samp_logprob_set'), one = koffi.sizeof('samp_logprob'), all = koffi.sizeof('samp_logprobs');
    const size = rows * (all + 2 * n * one), memory = koffi.alloc('uint8_t', Math.max(size, 1)), base = koffi.address(memory);
    const view = new DataView(koffi.view(memory, Math.max(size, 1)));
    const little = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
    const nTop = koffi.offsetof('samp_logprob_set', 'n_top'), found = koffi.offsetof('samp_logprob_set', 'n_top_found');
    const chosen = koffi.offsetof('samp_logprob_set', 'chosen'), list = (r, k) => rows * all + (2 * r + k) * n * one;
    new Uint8Array(view.buffer).fill(0);
    for (let r = 0; r < rows; r++)
        for (let k = 0; k < 2; k++) {
            const at = r * all + k * set;
            view.setInt32(at + nTop, n, little);
            if (n) view.setBigUint64(at, BigInt(base) + BigInt(list(r, k)), little); // the address is the first member
        }
    const logprob = (at) => ({
        token: view.getInt32(at, little), rank: view.getInt32(at + 4, little), logprob: view.getFloat32(at + 8, little),
    });
    const read = (r, k) => {
        const at = r * all + k * set, length = n ? view.getInt32(at + found, little) : 0;
        return { chosen: logprob(at + chosen), top: Array.from({ length }, (_, i) => logprob(list(r, k) + i * one)) };
    };
    return { at: memory, read: (r) => ({ raw: read(r, 0), processed: read(r, 1) }), free: () => koffi.free(memory) };
}

function batch(chains, at, rows, nVocab, stride, mask, logprobs, index, nThreads) {
    if (logprobs !== null && !(Number.isInteger(logprobs) && logprobs >= 0 && logprobs <= 1024))
        throw wrong('logprobs', `${logprobs} is not in [0, 1024]`);
    const words = mask === null ? null : bits(mask, rows, nVocab);
    const room = logprobs === null ? null : roomForLogprobs(rows, logprobs);
    try {
        const out = new Int32Array(rows);
        check(c.sampleBatch(chains.map((chain) => chain.handle), {
            data: some(at.data), dtype: at.dtype, n_rows: rows, n_vocab: nVocab, stride, row_index: index, mask: words,
            mask_stride: words ? words.length / rows : 0, logprobs: room?.at ?? null, n_threads: nThreads,
        }, out));
        const tokens = [...out], told = room && tokens.map((token, r) => (token < 0 ? null : room.read(r)));
        if (tokens.some((token) => token < 0)) {
            const errors = new Map();
            tokens.forEach((token, r) => token < 0 && errors.set(r, new SamplingError(token)));
            throw new BatchError(tokens.map((token) => (token < 0 ? null : token)), errors, told);
        }
        return room ? { tokens, logprobs: told } : tokens;
    } finally {
        room?.free();
    }
}

// A token for each chain: chain r reads row r of logits, or row rowIndex[r]. logits: one typed array with the rows side by
// side, or `stride` elements from one to the next, each of nVocab; or a list of rows (which is copied).
// A row that fails leaves its chain as it was; when all others have their tokens, it is a BatchError, which has them.
function sampleBatch(chains, logits, options = {}) {
    const { mask = null, logprobs = null, rowIndex = null, stride = null, nThreads = 0, dtype } = options;
    let { nVocab = null } = options;
    const rows = chains.length, at = floats(logits, dtype), index = rowIndex && integers(rowIndex, 'row_index');
    if (!rows) return logprobs === null ? [] : { tokens: [], logprobs: [] };
    nVocab ??= at.rows ? at.data.length / at.rows : index || stride ? chains[0].nVocab : at.data.length / rows;
    const step = stride ?? nVocab, given = at.rows ?? Math.floor((at.data.length + step - nVocab) / step);
    if (!Number.isInteger(nVocab) || nVocab < 1 || step < nVocab || (!index && given !== rows))
        throw wrong('logits', `${at.data.length} numbers, not ${rows} rows of ${nVocab}`);
    if (index && (index.length !== rows || index.some((r) => r < 0 || r >= given)))
        throw wrong('row_index', `not ${rows} numbers in [0, ${given})`);
    for (const chain of chains) chain.fits(nVocab);
    return batch(chains, at, rows, nVocab, step, mask, logprobs, index, nThreads);
}

// Which values a setting takes, for a user to read.
const takes = (name) => textOf((buffer, size) => c.settingsTakes(nameOf(name), buffer, size), name);
// The seed of sample i of several from one request.
const childSeed = (seed, i) => BigInt(c.childSeed(seed, i));

module.exports = { BatchError, Chain, Grammar, Matcher, Sampler, SamplingError, Vocab, aliases, childSeed, sampleBatch, takes, version };
