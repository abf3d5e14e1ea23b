// sampling.h from JavaScript: chains, batches, masks, log-probabilities, grammars, constraints, watermarks, drafts, states.
// javascript.md has examples, sampling.d.ts the types.
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

koffi.struct('samp_grammar_usage', {
    n_states: 'size_t', n_entries: 'size_t', n_masks: 'size_t', n_hits: 'size_t', n_renewals: 'size_t', n_bytes: 'size_t',
    max_bytes: 'size_t',
});
koffi.struct('samp_sequence', { tokens: 'void *', n: 'size_t', bias: 'float' });
koffi.struct('samp_loop', { min_period: 'int32_t', max_period: 'int32_t', copies: 'int32_t', last_n: 'int32_t', every: 'int32_t' });
koffi.struct('samp_thinking', {
    start: 'void *', n_start: 'size_t', end: 'void *', n_end: 'size_t', force: 'void *', n_force: 'size_t',
});
koffi.struct('samp_thinking_plan', {
    total: 'int32_t', soft: 'int32_t', soft_ratio: 'float', grace: 'int32_t', note: 'void *', n_note: 'size_t', ends: 'void *',
    n_ends: 'size_t', ramp: 'int', bias: 'float', loop: 'void *', loop_from: 'int32_t',
});
koffi.struct('samp_schedule', {
    count: 'int', from: 'int32_t', to: 'int32_t', begin: 'int32_t', where: 'int', spans: 'void *', n_spans: 'size_t',
    inside: 'int32_t', until: 'void *', n_until: 'size_t', vocab: 'void *', loop: 'void *',
});
koffi.struct('samp_watermark', {
    kind: 'int', key: 'uint64_t', context_width: 'int32_t', scope: 'int', history: 'int32_t', alpha: 'double', depth: 'int32_t',
    gamma: 'double', delta: 'float', seed: 'uint64_t',
});
koffi.struct('samp_watermark_result', { score: 'double', p_value: 'double', n_scored: 'size_t', ln_p: 'double' });
koffi.struct('samp_watermark_span', {
    begin: 'size_t', end: 'size_t', result: 'samp_watermark_result', p_value: 'double', ln_p: 'double',
});

const LIST = ['const void *tokens', 'size_t n'];
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
    grammarDraft: declare('grammar_draft', 'int64_t', 'void *s', 'void *tokens', 'size_t n'),
    grammarCertain: declare('grammar_certain', 'int64_t', 'void *s', 'void *tokens', 'size_t n'),
    grammarPrepare: declare('grammar_prepare', 'int', 'void *s', 'int64_t budget'),
    grammarStats: declare('grammar_stats', 'int', 'void *s', '_Out_ samp_grammar_usage *usage'),
    setGrammarLimits: declare('set_grammar_limits', 'int', 'void *s', 'size_t max_bytes', 'int64_t max_steps'),
    initBannedSequences: declare('init_banned_sequences', 'void *', 'void *sequences', 'size_t n', 'uint flags'),
    initSequenceBias: declare('init_sequence_bias', 'void *', 'void *sequences', 'size_t n'),
    initBannedStrings: declare('init_banned_strings', 'void *', 'void *vocab', 'const char **strings', 'size_t n', 'uint flags'),
    initBannedPattern: declare('init_banned_pattern', 'void *', 'void *vocab', 'const char *pattern', 'uint flags',
        '_Out_ samp_text_error *error'),
    initSuppressedTokens: declare('init_suppressed_tokens', 'void *', ...LIST),
    initBeginSuppressedTokens: declare('init_begin_suppressed_tokens', 'void *', ...LIST, 'int32_t begin'),
    initMinTokens: declare('init_min_tokens', 'void *', ...LIST, 'int32_t n_min', 'int32_t begin'),
    initAllowedTokens: declare('init_allowed_tokens', 'void *', ...LIST),
    initForcedPrefix: declare('init_forced_prefix', 'void *', ...LIST, 'int32_t begin'),
    initEogBias: declare('init_eog_bias', 'void *', ...LIST, 'float bias'),
    initLengthPenalty: declare('init_length_penalty', 'void *', ...LIST, 'int32_t start', 'float factor', 'int32_t begin'),
    initTopPDecay: declare('init_top_p_decay', 'void *', 'float p', 'float decay', 'float lowest', ...LIST, 'size_t min_keep'),
    initNoRepeatNgram: declare('init_no_repeat_ngram', 'void *', 'int32_t n', 'int32_t last_n'),
    initLoopBreaker: declare('init_loop_breaker', 'void *', 'int32_t min_period', 'int32_t max_period', 'int32_t copies',
        'int32_t last_n', 'int32_t every', 'float penalty'),
    initLoopBreakerCusum: declare('init_loop_breaker_cusum', 'void *', 'int32_t n', 'int32_t last_n', 'float loss', 'float alarm',
        'float penalty'),
    initLoopWatch: declare('init_loop_watch', 'void *', 'void *loop'),
    initThinking: declare('init_thinking', 'void *', 'void *vocab', 'void *spans', 'size_t n', 'int32_t budget', 'int32_t open',
        'const samp_thinking_plan *plan'),
    initSchedule: declare('init_schedule', 'void *', 'const samp_schedule *when', 'void *member'),
    initWatermark: declare('init_watermark', 'void *', 'const samp_watermark *mark'),
    initWatermarkDraft: declare('init_watermark_draft', 'void *', 'const samp_watermark *mark'),
    rewindLength: declare('rewind_length', 'int32_t', 'void *s'),
    loopLength: declare('loop_length', 'int32_t', 'void *s'),
    thinkingLeft: declare('thinking_left', 'int32_t', 'void *s'),
    thinkingNow: declare('thinking_now', 'int32_t', 'void *s'),
    thinkingUsed: declare('thinking_used', 'int32_t', 'void *s'),
    thinkingEnd: declare('thinking_end', 'int', 'void *s'),
    scheduleHolds: declare('schedule_holds', 'int32_t', 'void *s'),
    defaultWatermark: declare('default_watermark', 'samp_watermark', 'int kind'),
    watermarkSet: declare('watermark_set', 'int', '_Inout_ samp_watermark *mark', 'const char *name', 'const char *value'),
    watermarkDetectKeys: declare('watermark_detect_keys', 'int', 'const samp_watermark *mark', 'const void *keys',
        'size_t n_keys', 'const void *text', 'size_t n', 'void *out'),
    watermarkFind: declare('watermark_find', 'int', 'const samp_watermark *mark', 'const void *text', 'size_t n',
        'size_t window', '_Out_ samp_watermark_span *out'),
    name: declare('name', 'const char *', 'void *s'),
    chainN: declare('chain_n', 'int32_t', 'void *chain'),
    chainGet: declare('chain_get', 'void *', 'void *chain', 'int32_t i'),
    chainAdd: declare('chain_add', 'int', 'void *chain', 'void *s'),
    chainRemove: declare('chain_remove', 'void *', 'void *chain', 'int32_t i'),
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

const CODES = 'OK E_NULL E_RANGE E_NAN E_EMPTY E_NOMEM E_WORKSPACE E_DTYPE E_DEVICE E_UNSUPPORTED E_FORMAT E_FULL E_NAME E_ADDRESS'.split(' ');
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

const KINDS = { gbnf: 0, json_schema: 1, regex: 2, structural_tag: 3 };

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
    // Calls of tools in free text: a structural tag as text or object, as XGrammar and vLLM's response_format have it;
    // style: of the schemas in it.
    static fromStructuralTag(tag, style = null) {
        return new Grammar(typeof tag === 'string' ? tag : JSON.stringify(tag), 'structural_tag', style);
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
    // How many of the last tokens rollback() should take back, as what is banned has come to stand in them.
    rewindLength() {
        return check(c.rewindLength(this.handle));
    }
    // The period of the loop that the text is in, as the first loop breaker or watch finds it; 0: in none.
    loopLength() {
        return check(c.loopLength(this.handle));
    }
    // How many tokens the open span of thinking may still have; null: none is open.
    thinkingLeft() {
        const left = c.thinkingLeft(this.handle);
        return left === -1 && c.thinkingNow(this.handle) === 0 ? null : check(left);
    }
    // Its stage: 'not', 'open', 'soft', 'note', 'grace' or 'ends'.
    thinkingNow() {
        return STAGES[check(c.thinkingNow(this.handle))];
    }
    // How many tokens have been thought.
    thinkingUsed() {
        return check(c.thinkingUsed(this.handle));
    }
    // End the open span now: its end is forced.
    thinkingEnd() {
        check(c.thinkingEnd(this.handle));
    }
    // Is it the time of the first schedule?
    scheduleHolds() {
        return check(c.scheduleHolds(this.handle)) === 1;
    }
}
const STAGES = ['not', 'open', 'soft', 'note', 'grace', 'ends'];

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
    // What must follow as tokens, n at most: a draft for Chain's verify.
    draft(n = 64) {
        const out = new Int32Array(n);
        return [...out.subarray(0, check(c.grammarDraft(this.handle, some(out), n)))];
    }
    // Those at its front that nothing else could be: they need no step of the model.
    certain(n = 64) {
        const out = new Int32Array(n);
        return [...out.subarray(0, check(c.grammarCertain(this.handle, some(out), n)))];
    }
    // Do a part of the next mask's work ahead, `budget` steps of some ten nanoseconds. Is the mask there?
    prepare(budget) {
        return check(c.grammarPrepare(this.handle, budget)) === 1;
    }
    // What all samplers of this grammar have learnt together, and its memory.
    stats() {
        const of = {};
        check(c.grammarStats(this.handle, of));
        return Object.fromEntries(Object.entries(of).map(([name, n]) => [name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), Number(n)]));
    }
    // How much the grammar may hold for all its samplers, and how many steps a call on this one may take.
    setLimits(maxBytes, maxSteps) {
        check(c.setGrammarLimits(this.handle, maxBytes, maxSteps));
    }
}

// ---- constraints ----

const word = (words, one, field) => {
    if (!(one in words)) throw wrong(field, `${one} is none of ${Object.keys(words).join(', ')}`);
    return words[one];
};

// use(memory) with memory of C's, which is freed then: lists of tokens and of structs, whose pointers go into others.
function withMemory(use) {
    const blocks = [], block = (type, n) => {
        blocks.push(koffi.alloc(type, Math.max(n, 1)));
        return blocks[blocks.length - 1];
    };
    const memory = {
        tokens(of, field) {
            const all = integers(of, field), at = block('int32_t', all.length);
            if (all.length) koffi.encode(at, koffi.array('int32_t', all.length), [...all]);
            return { at, n: all.length };
        },
        structs(type, all) {
            const at = block(type, all.length), size = koffi.sizeof(type);
            all.forEach((one, i) => koffi.encode(at, i * size, type, one));
            return at;
        },
        sequences(all, field) {
            return memory.structs('samp_sequence', all.map(([tokens, bias]) => {
                const { at, n } = memory.tokens(tokens, field);
                return { tokens: at, n, bias };
            }));
        },
        spans(all) {
            return memory.structs('samp_thinking', all.map((span) => {
                if (span.length !== 2 && span.length !== 3) throw wrong('spans', 'each is [start, end] or [start, end, force]');
                const [start, end, force] = span.map((tokens) => memory.tokens(tokens, 'spans'));
                return {
                    start: start.at, n_start: start.n, end: end.at, n_end: end.n, force: force?.at ?? null, n_force: force?.n ?? 0,
                };
            }));
        },
        loop(of) {
            return of && memory.structs('samp_loop', [loopOf(of)]);
        },
    };
    try {
        return use(memory);
    } finally {
        blocks.forEach(koffi.free);
    }
}

// What a loop is: a piece of minPeriod to maxPeriod tokens, `copies` times over, in the last lastN; looked for behind every
// `every` tokens.
function loopOf({ minPeriod = 4, maxPeriod = 128, copies = 3, lastN = 512, every = 16 } = {}) {
    return { min_period: minPeriod, max_period: maxPeriod, copies, last_n: lastN, every };
}

const flagsOf = (rewind, anyCase) => Number(rewind) | Number(anyCase) << 1;

// What masks, forces or weighs tokens by what has come before: for new Chain(vocab, { constraints: [...] }), which takes copies.
// Constraint.thinking(...), .schedule(...), .bannedPattern(...) and so on, named as samp_init_... is. Tokens are lists of numbers.
class Constraint extends Sampler {
    #keep;
    constructor(handle, keep = null) {
        super();
        const field = [null];
        this.#keep = keep;
        this.own(handle, c.free, keep);
        const status = c.status(this.handle, field);
        if (status < 0) {
            this.close();
            throw new SamplingError(status, field[0]);
        }
    }
    clone() {
        check(c.status(this.handle, [null]));
        return new Constraint(c.clone(this.handle), this.#keep);
    }
    get keep() {
        return this.#keep;
    }
    // At most `budget` tokens of thinking, and how it comes to its end. spans: what begins and ends it, each [start, end] or
    // [start, end, force]. vocab: tells where lines end. inside: the number of the span in which the text begins. total: of all
    // spans together. soft, softRatio: from so many tokens, or that share, on the note is said behind a line's end, and a bias
    // grows on the end (ramp 'linear' or 'exponential', to bias). grace: tokens more for the last line. ends: sequences that
    // end any span. loop: one ends it, from loopFrom tokens on.
    static thinking(spans, budget, {
        vocab = null, inside = null, total = 0, soft = 0, softRatio = 0, grace = 0, note = [], ends = [], ramp = 'none', bias = 0,
        loop = null, loopFrom = 0,
    } = {}) {
        return withMemory((memory) => {
            const said = memory.tokens(note, 'note');
            return new Constraint(c.initThinking(vocab?.handle ?? null, memory.spans(spans), spans.length, budget, inside ?? -1, {
                total, soft, soft_ratio: softRatio, grace, note: said.n ? said.at : null, n_note: said.n,
                ends: memory.sequences(ends.map((tokens) => [tokens, 0]), 'ends'), n_ends: ends.length,
                ramp: word({ none: 0, linear: 1, exponential: 2 }, ramp ?? 'none', 'ramp'), bias, loop: memory.loop(loop),
                loop_from: loopFrom,
            }), [vocab]);
        });
    }
    // `what` at work at times only: a Constraint (a copy), or settings, such as { temperature: 1.5 }. count: 'tokens' or 'lines' n,
    // from the beginning or the last border of a span; start <= n < stop (0: for ever). where: 'anywhere', 'inside' or
    // 'outside' of spans. until: over once one of these tokens has come. loop: n is 0 behind a loop that was found, too.
    static schedule(what, {
        count = 'tokens', start = 0, stop = 0, begin = 0, where = 'anywhere', spans = [], inside = null, until = [], vocab = null,
        loop = null,
    } = {}) {
        return withMemory((memory) => {
            const last = memory.tokens(until, 'until');
            const when = {
                count: word({ tokens: 0, lines: 1 }, count, 'count'), from: start, to: stop, begin,
                where: word({ anywhere: 0, inside: 1, outside: 2 }, where, 'where'), spans: memory.spans(spans),
                n_spans: spans.length, inside: inside === null ? 0 : inside + 1, until: last.at, n_until: last.n,
                vocab: vocab?.handle ?? null, loop: memory.loop(loop),
            };
            const member = what instanceof Constraint ? what.clone() : stepsOf(what, vocab), { keep } = member;
            return new Constraint(c.initSchedule(when, member.release()), [vocab, keep]);
        });
    }
    // Finds loops and changes nothing: loopLength() tells.
    static loopWatch(loop = {}) {
        return withMemory((memory) => new Constraint(c.initLoopWatch(memory.loop(loop))));
    }
    // In a loop, penalty less for the token that goes on with it.
    static loopBreaker(loop = {}, penalty = Infinity) {
        return new Constraint(c.initLoopBreaker(...Object.values(loopOf(loop)), penalty));
    }
    // The same for loops without a fixed period.
    static loopBreakerCusum({ n = 6, lastN = 4096, loss = 0.25, alarm = 15, penalty = Infinity } = {}) {
        return new Constraint(c.initLoopBreakerCusum(n, lastN, loss, alarm, penalty));
    }
    // No text that a regular expression matches. rewind: only seen when it is there; see rewindLength().
    static bannedPattern(vocab, pattern, { rewind = false, anyCase = false } = {}) {
        const error = {}, text = pattern instanceof RegExp ? pattern.source : pattern;
        if (text.includes('\0')) throw wrong('pattern', 'byte 0', E_FORMAT);
        const handle = c.initBannedPattern(vocab.handle, text, flagsOf(rewind, anyCase), error);
        if (error.status) {
            if (handle) c.free(handle);
            throw wrong('pattern', `line ${error.line}, column ${error.column}: ${error.message}`, error.status);
        }
        return new Constraint(handle, [vocab]);
    }
    // None of these strings, whatever tokens spell it.
    static bannedStrings(vocab, strings, { rewind = false, anyCase = false } = {}) {
        return new Constraint(c.initBannedStrings(vocab.handle, [...strings, null], strings.length, flagsOf(rewind, anyCase)), [vocab]);
    }
    // None of these sequences of tokens.
    static bannedSequences(sequences, { rewind = false } = {}) {
        const all = Array.from(sequences, (tokens) => [tokens, -Infinity]);
        return withMemory((memory) => new Constraint(c.initBannedSequences(memory.sequences(all, 'sequences'), all.length, flagsOf(rewind, false))));
    }
    // [[tokens, bias], ...]: for the token that would complete a sequence.
    static sequenceBias(biases) {
        const all = [...biases];
        return withMemory((memory) => new Constraint(c.initSequenceBias(memory.sequences(all, 'sequences'), all.length)));
    }
    static #listed(make, tokens, ...more) {
        const all = integers(tokens, 'tokens');
        return new Constraint(make(some(all), all.length, ...more));
    }
    // Never these tokens.
    static suppressedTokens(tokens) {
        return Constraint.#listed(c.initSuppressedTokens, tokens);
    }
    // Not these at the position begin.
    static beginSuppressedTokens(tokens, begin = 0) {
        return Constraint.#listed(c.initBeginSuppressedTokens, tokens, begin);
    }
    // Not these, usually vocab.eog, before nMin tokens.
    static minTokens(tokens, nMin, begin = 0) {
        return Constraint.#listed(c.initMinTokens, tokens, nMin, begin);
    }
    // Only these tokens.
    static allowedTokens(tokens) {
        return Constraint.#listed(c.initAllowedTokens, tokens);
    }
    // These tokens first, one after the other.
    static forcedPrefix(tokens, begin = 0) {
        return Constraint.#listed(c.initForcedPrefix, tokens, begin);
    }
    // A bias on these, usually vocab.eog.
    static eogBias(tokens, bias) {
        return Constraint.#listed(c.initEogBias, tokens, bias);
    }
    // These, usually vocab.eog, are more likely the longer the text is beyond start tokens.
    static lengthPenalty(tokens, start, factor, begin = 0) {
        return Constraint.#listed(c.initLengthPenalty, tokens, start, factor, begin);
    }
    // topP whose p falls along a sentence.
    static topPDecay(p, decay, lowest, resets = [], minKeep = 0) {
        const all = integers(resets, 'resets');
        return new Constraint(c.initTopPDecay(p, decay, lowest, some(all), all.length, minKeep));
    }
    // No n tokens that stand in the last lastN already.
    static noRepeatNgram(n, lastN = 4096) {
        return new Constraint(c.initNoRepeatNgram(n, lastN));
    }
}

// A chain of what settings say, without what draws; the usual numbers of the others are off.
function stepsOf(settings, vocab) {
    const values = { temp: 1, top_k: 0, top_p: 1, min_p: 0 };
    for (const [name, value] of Object.entries(settings)) {
        if (['mirostat', 'adaptive_target', 'seed', 'rng'].includes(nameOf(name)))
            throw wrong(name, 'what draws does so at all times', E_UNSUPPORTED);
        values[nameOf(name)] = value;
    }
    const chain = new Chain(vocab, values);
    c.free(c.chainRemove(chain.handle, c.chainN(chain.handle) - 1));
    return chain;
}

// ---- watermarks ----

const MARKS = { gumbel: 0, gumbel_dual: 1, sbw_selfhash: 2, sbw_lefthash: 3, synthid: 4 };
const resultOf = (of) => ({ score: of.score, pValue: of.p_value, nScored: Number(of.n_scored), lnP: of.ln_p });

// The mark of a secret key, for new Chain(vocab, { watermark }), and its detector. kind: 'gumbel', 'gumbel_dual', 'synthid' (these
// draw in place of the chain's last sampler), 'sbw_selfhash', 'sbw_lefthash' (a bias). seed: of draws without a mark; null: the
// chain's. numbers: contextWidth, scope, history, alpha, depth, gamma, delta. The key is written nowhere.
class Watermark {
    #mark;
    #seeded;
    #drafts = false;
    constructor(key, kind = 'gumbel', { seed = null, ...numbers } = {}) {
        this.#mark = c.defaultWatermark(word(MARKS, kind, 'kind'));
        this.#seeded = seed !== null;
        for (const [name, value] of Object.entries({ key, seed: seed ?? 0, ...numbers })) {
            const of = nameOf(name), status = c.watermarkSet(this.#mark, of, String(value));
            if (status < 0) throw new SamplingError(status, of);
        }
        c.free(this.sampler(0));
    }
    // The mark for the small model that drafts ('gumbel_dual').
    forDraft() {
        const other = new Watermark(0);
        other.#mark = this.#mark;
        other.#seeded = this.#seeded;
        other.#drafts = true;
        c.free(other.sampler(0));
        return other;
    }
    sampler(seed) {
        const mark = this.#seeded ? this.#mark : { ...this.#mark, seed }, field = [null];
        const handle = (this.#drafts ? c.initWatermarkDraft : c.initWatermark)(mark);
        if (!handle) throw new SamplingError(E_NOMEM);
        const status = c.status(handle, field);
        if (status >= 0) return handle;
        c.free(handle);
        throw new SamplingError(status, field[0]);
    }
    get selects() {
        return this.#mark.kind !== MARKS.sbw_selfhash && this.#mark.kind !== MARKS.sbw_lefthash;
    }
    // Does this text, the tokens as they were generated without the prompt, carry the mark?
    detect(text) {
        return this.detectKeys([this.#mark.key], text)[0];
    }
    // The same for each of these keys in place of its own.
    detectKeys(keys, text) {
        const all = Array.from(keys, BigInt), tokens = integers(text, 'text');
        if (!all.every((key) => key >= 0n && key < 2n ** 64n)) throw wrong('keys', 'not in [0, 2^64)');
        const size = koffi.sizeof('samp_watermark_result'), out = koffi.alloc('samp_watermark_result', Math.max(all.length, 1));
        try {
            check(c.watermarkDetectKeys(this.#mark, BigUint64Array.from(all.length ? all : [0n]), all.length, some(tokens), tokens.length, out));
            return all.map((_, i) => resultOf(koffi.decode(out, i * size, 'samp_watermark_result')));
        } finally {
            koffi.free(out);
        }
    }
    // The piece of `window` tokens that is most likely marked.
    find(text, window = 200) {
        const tokens = integers(text, 'text'), out = {};
        check(c.watermarkFind(this.#mark, some(tokens), tokens.length, window, out));
        return { begin: Number(out.begin), end: Number(out.end), result: resultOf(out.result), pValue: out.p_value, lnP: out.ln_p };
    }
}

// ---- chains ----

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
// vocab: how many tokens there are, a Vocab, or a list for one; null: rows of any length. constraints: copies of these stand
// behind the grammar. watermark: a Watermark, which draws in place of the last sampler, or stands behind the constraints.
class Chain extends Sampler {
    #values = {};
    #keep = null;
    #marks = false;
    constructor(vocab = null, settings = {}, more = {}) {
        super();
        if (vocab !== null && typeof vocab === 'object' && !(vocab instanceof Vocab)) vocab = new Vocab(vocab);
        const { grammar = null, constraints = [], watermark = null, ...values } = settings;
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
            const first = more.request?.(of) ?? [];
            this.#make(c.settingsParams(of), grammar, [...first, ...constraints], watermark);
        });
    }
    get keep() {
        return this.#keep;
    }
    #make(params, grammar, constraints, watermark) {
        const status = [0];
        let first = null;
        if (grammar instanceof Grammar) {
            if (!(this.vocab instanceof Vocab)) throw wrong('vocab', "a grammar needs a Vocab, to know the tokens' bytes", E_NULL);
            first = new Matcher(this.vocab, grammar);
        } else if (grammar) first = grammar.clone();
        this.#keep = [this.vocab, first?.vocab, first?.grammar, ...constraints.map((one) => one.keep)];
        const handle = c.chainFromParams(params, status);
        this.own(handle, c.free, this.#keep);
        check(status[0]);
        constraints.forEach((one, i) => check(c.chainInsert(this.handle, i, one.clone().release())));
        if (watermark) this.#mark(watermark, constraints.length);
        if (first) check(c.chainInsert(this.handle, 0, first.release()));
    }
    #mark(watermark, place) {
        const mark = watermark.sampler(this.seed), last = c.chainN(this.handle) - 1;
        this.#marks = watermark.selects;
        if (!this.#marks) {
            check(c.chainInsert(this.handle, place, mark));
            return;
        }
        try {
            this.#mustDraw();
        } catch (error) {
            c.free(mark);
            throw error;
        }
        c.free(c.chainRemove(this.handle, last));
        check(c.chainAdd(this.handle, mark));
    }
    #mustDraw() {
        if (c.name(c.chainGet(this.handle, c.chainN(this.handle) - 1)) !== 'dist')
            throw wrong('watermark', 'this kind needs a draw: temperature above 0, no mirostat, no adaptiveTarget', E_UNSUPPORTED);
    }
    clone() {
        check(c.status(this.handle, [null]));
        const other = new Chain(this.vocab, this.#values ?? {}, { from: this.handle, keep: this.#keep });
        other.#values = this.#values;
        other.#marks = this.#marks;
        return other;
    }
    // What a request to another program asks for, by its names, defaults and ranges. handled: fields that you see to.
    // thinking: what makes a Constraint of a number of tokens to think, if the request says one. .withPrompt tells whether the
    // prompt is to be accepted too.
    static fromRequest(peer, request, {
        vocab = null, grammar = null, handled = [], seed = null, thinking = null, constraints = [], watermark = null,
    } = {}) {
        if (!(peer in PEERS)) throw wrong('peer', `${peer} is none of ${Object.keys(PEERS).join(', ')}`);
        const told = {}, text = typeof request === 'string' ? request : JSON.stringify(request);
        const read = (settings) => {
            const status = c.settingsFrom(settings, PEERS[peer], text, [...handled, null], told);
            if (status >= 0 && told.thinking_budget >= 0 && !thinking)
                throw wrong('thinking_budget', 'say thinking, or see to it yourself, by handled', E_UNSUPPORTED);
            if (status >= 0) return told.thinking_budget >= 0 ? [thinking(told.thinking_budget)] : [];
            const message = told.error.message || new SamplingError(status).message;
            throw new SamplingError(status, told.field || null, told.field ? `${told.field}: ${message}` : message);
        };
        const chain = new Chain(vocab, { seed, grammar, constraints, watermark }, { request: read });
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
        if (this.#marks) new Chain(this.vocab, values).#mustDraw();
        withSettings(values, this.vocab, (of) => check(c.chainUpdate(this.handle, c.settingsParams(of))));
        if (this.#marks) c.free(c.chainRemove(this.handle, c.chainN(this.handle) - 2)); // the new draw, in front of the mark
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

module.exports = {
    BatchError, Chain, Constraint, Grammar, Matcher, Sampler, SamplingError, Vocab, Watermark, aliases, childSeed, sampleBatch, takes, version,
};
