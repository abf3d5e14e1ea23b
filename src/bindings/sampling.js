// sampling.h from JavaScript: chains, batches, masks, log-probabilities, grammars, constraints, watermarks, drafts, texts, states.
// javascript.md has examples, sampling.d.ts the types.
//
//     const { Chain } = require('./sampling.js');
//     const chain = new Chain(nVocab, { topK: 40, temperature: 0.8 });
//     const token = chain.sample(logits);        // a typed array is read where it is; any list will do
//
// The library is libsampling.so (make lib) beside this file, which needs koffi (npm); else sampling.wasm beside it (wasm.js); else
// one that is installed (make install); or what SAMPLING_LIBRARY names. Whatever goes wrong is a SamplingError, and never a token.
'use strict';
const fs = require('fs');
const { runInThisContext } = require('vm');

const encoder = new TextEncoder(), decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const VERSION = 200; // major and minor version that the functions and structures below are those of: 2.0

// ---- errors ----

const CODES = 'OK E_NULL E_RANGE E_NAN E_EMPTY E_NOMEM E_WORKSPACE E_DTYPE E_DEVICE E_UNSUPPORTED E_FORMAT E_FULL E_NAME E_ADDRESS'.split(' ');
const E_NULL = -1, E_RANGE = -2, E_NAN = -3, E_EMPTY = -4, E_NOMEM = -5, E_DTYPE = -7, E_UNSUPPORTED = -9, E_FORMAT = -10, E_NAME = -12;

// use(), whose errors that name nothing are about this field.
function blaming(field, use) {
    try {
        return use();
    } catch (error) {
        throw error.field === null && field !== null ? new SamplingError(error.status, field) : error;
    }
}

// The text that write(buffer, size) writes, which returns its length. name: the setting that it is about.
function textOf(write, name = null) {
    return blaming(name, () => {
        const size = write(null, 0), buffer = new Uint8Array(size + 1);
        write(buffer, size + 1);
        return decoder.decode(buffer.subarray(0, size));
    });
}

// status: a samp_status, negative; code: 'SAMP_E_RANGE'; field: which setting or argument, or null.
class SamplingError extends Error {
    constructor(status, field = null, text = null, cause = undefined) {
        super(text ?? textOf((buffer, size) => c.error_text(status, field, buffer, size)), cause && { cause });
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

const wrong = (field, text, status = E_RANGE, cause = undefined) => new SamplingError(status, field, `${field}: ${text}`, cause);

// A value in an error's text.
function said(value) {
    try {
        return (typeof value === 'string' ? JSON.stringify(value) : String(value)).slice(0, 80);
    } catch {
        return `a strange ${typeof value}`;
    }
}

// A proxy may be revoked.
function isA(value, Class) {
    try {
        return value instanceof Class;
    } catch {
        return false;
    }
}

// ---- the library ----

// What use() finds; what it lacks is an error that says what to do.
function needed(field, advice, use) {
    try {
        return use();
    } catch (cause) {
        throw wrong(field, `${advice} (${cause.message.split('\n')[0]})`, E_UNSUPPORTED, cause);
    }
}

// koffi is a module of the program, also where this file lies elsewhere.
const native = () => require(require.resolve('koffi', { paths: [__dirname, require.main?.path ?? process.cwd()] }));
const has = (use) => {
    try {
        return use();
    } catch {
        return null;
    }
};

// The library: SAMPLING_LIBRARY, or what lies beside this file: for this machine, else as WebAssembly (also where koffi is missing).
const places = [`${__dirname}/libsampling.so`, `${__dirname}/${process.platform}-${process.arch}/libsampling.so`, `${__dirname}/sampling.wasm`];
const loads = (place) => fs.existsSync(place) && (place === places[2] || has(() => native().load(place)) || !fs.existsSync(places[2]));
const library = process.env.SAMPLING_LIBRARY || (places.find(loads) ?? 'libsampling.so');
const koffi = library.endsWith('.wasm') ? require('./wasm.js') : needed('koffi', 'it is missing: npm install koffi', native);
const lib = needed('library', `${library} does not load: put libsampling.so ("make lib") beside sampling.js, install it ("make install"), ` +
    'or say where it is, by the environment variable SAMPLING_LIBRARY', () => koffi.load(library));

// ---- objects of C's ----

// One object of C's. handle: its address, 0 when C owns it. refs: how many use it, which are the JavaScript object that
// it belongs to and the holders that keep it. keeps: the holders of what C goes on to read for it. It is freed when the
// last user lets go of it, in whatever order they do. It refers to no JavaScript object, so that no circle holds it.
class Holder {
    constructor(kind, handle) {
        this.kind = kind;
        this.handle = handle;
        this.refs = 1;
        this.keeps = new Set();
    }
    keep(others) {
        for (const one of others)
            if (!this.keeps.has(one)) {
                this.keeps.add(one);
                one.refs++;
            }
    }
    release() {
        if (--this.refs > 0) return;
        if (this.handle) FREE[this.kind](this);
        for (const one of this.keeps) one.release();
    }
}
const FREE = {
    sampler: (holder) => c.free(holder), vocab: (holder) => c.vocab_free(holder), vocab_index: (holder) => c.vocab_index_free(holder),
    grammar: (holder) => c.grammar_free(holder), settings: (holder) => c.settings_free(holder), text_stream: (holder) => c.text_free(holder),
    ngram: (holder) => c.ngram_free(holder),
    beams: (holder) => c.beams_free(holder),
};

// What is not closed lets go when nothing refers to it.
const registry = new FinalizationRegistry((holder) => holder.release());

// An object that has a holder, until it is closed.
class Owner {
    #holder;
    constructor(holder) {
        if (!isA(holder, Holder)) throw wrong('constructor', 'this class is not to be made by hand', E_UNSUPPORTED);
        this.#holder = holder;
        registry.register(this, holder, holder);
    }
    // Let go of it now: it is freed with the last object that uses it.
    close() {
        const holder = this.#holder;
        if (holder === null) return;
        this.#holder = null;
        registry.unregister(holder);
        holder.release();
    }
    // null: it is closed; undefined: it is none.
    static holder(value) {
        try {
            return value.#holder; // faster than to ask first
        } catch {
            return isA(value, Holder) ? value : undefined;
        }
    }
}
const holderOf = Owner.holder;
delete Owner.holder;
if (Symbol.dispose)
    Object.defineProperty(Owner.prototype, Symbol.dispose, { value: function dispose() { this.close(); } });

// ---- values, as C takes them ----

// Members of a typed array, whatever its user has done to it.
const getter = (of, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(of, name).get);
const TYPED = Object.getPrototypeOf(Int8Array.prototype);
const lengthOf = getter(TYPED, 'length'), bufferOf = getter(TYPED, 'buffer');
const tagOf = getter(TYPED, Symbol.toStringTag); // 'Float32Array'; undefined: this is no typed array

// May other threads write to this typed array? (Or it is one of another realm's; it is copied.)
const isShared = (array) => !(bufferOf(array) instanceof ArrayBuffer);

const FLT_MAX = (2 - 2 ** -23) * 2 ** 127, I32 = ['int32_t', -(2 ** 31), 2 ** 31 - 1], MOST = 2n ** 64n - 1n;
const NUMBERS = { // koffi's type, the least value, the largest
    i32: I32, token: I32, int: I32, u32: ['uint32_t', 0, 2 ** 32 - 1], unsigned: ['uint', 0, 2 ** 32 - 1],
    i64: ['int64_t', -(2n ** 63n), 2n ** 63n - 1n], u64: ['uint64_t', 0, MOST], size: ['size_t', 0, koffi.sizeof('size_t') === 8 ? MOST : 2 ** 32 - 1],
    f32: ['float', -FLT_MAX, FLT_MAX], f64: ['double', -Number.MAX_VALUE, Number.MAX_VALUE],
};
const [Addresses, addressOf] = koffi.sizeof('void *') === 8 ? [BigUint64Array, BigInt] : [Uint32Array, Number];
const ARRAYS = {
    f32: ['Float32Array'], i32: ['Int32Array'], token: ['Int32Array'], u32: ['Uint32Array', 'Int32Array'], u64: ['BigUint64Array'], f64: ['Float64Array'],
    char: ['Uint8Array'], size: [Addresses.name], c: [Addresses.name], byte: ['Uint8Array', 'Float32Array', 'Float64Array', 'Uint16Array', 'Float16Array'],
};
const OBJECTS = [...Object.keys(FREE), 'params'];
const NONE = new Int32Array(4); // never NULL
const enums = {}, structs = {}, table = {}, c = Object.create(table); // members of a prototype are found fastest

// The functions below make take(value, n): it returns the value as koffi takes it, or throws an error that names the
// field. It runs no code of users', so that nothing changes between a check and the call. n: the next argument, which
// is an array's length.

// range: '0..', '1..4096', '(0..1]', or nothing. An end that is a formula is C's to check. Of a float only what an end names is infinite.
function takeNumber(type, range, field) {
    const [, open, from, to, shut] = /^(\(?)(.*)\.\.(.*?)([)\]]?)$/.exec(range ?? '..'), [, lowest, highest] = NUMBERS[type];
    const end = (text, of) => (text === '-inf' ? -Infinity : text === 'inf' ? Infinity : /^-?[\d.]+$/.test(text) ? Number(text) : of);
    const least = end(from, lowest), most = end(to, highest), low = Number(least), high = Number(most); // a number is compared with a BigInt slowly
    const isFloat = (x) => type === 'f64' || Math.abs(x) <= FLT_MAX || !Number.isFinite(x);
    const refuse = (value, what) => {
        throw wrong(field, `${said(value)} is not ${what} in ${open || '['}${least}, ${most}${shut || ']'}`);
    };
    if (type === 'f32' || type === 'f64')
        return (value) => {
            const x = typeof value === 'bigint' ? Number(value) : value;
            if (Number.isNaN(x)) throw wrong(field, 'it is NaN', E_NAN);
            if (typeof x !== 'number' || x < low || x > high || (open && x === low) || (shut === ')' && x === high) || !isFloat(x)) refuse(value, 'a number');
            return x;
        };
    return (value) => {
        if (typeof value === 'number' ? Number.isSafeInteger(value) && value >= low && value <= high : typeof value === 'bigint' && value >= least && value <= most)
            return value;
        return refuse(value, Number.isInteger(value) && !Number.isSafeInteger(value) ? 'exact, as a BigInt is,' : 'a whole number');
    };
}

const takeBool = (field) => (value) => {
    if (typeof value !== 'boolean') throw wrong(field, `${said(value)} is neither true nor false`);
    return value;
};

const takeText = (field) => (value) => {
    if (typeof value !== 'string') throw wrong(field, `${said(value)} is no string`, E_FORMAT);
    if (/[\0\p{Cs}]/u.test(value)) // C would read another text
        throw wrong(field, value.includes('\0') ? 'byte 0' : 'half a surrogate pair', E_FORMAT);
    return value;
};

const takeWord = (words, field) => (value) => {
    const i = words.indexOf(value);
    if (i < 0) throw wrong(field, `${said(value)} is none of ${words.join(', ')}`);
    return i;
};

const takeObject = (kind, field) => (value) => {
    const holder = holderOf(value);
    if (holder && holder.kind === kind && holder.handle) return holder.handle;
    throw wrong(field, holder === null ? 'it is closed' : `${said(value)} is no ${kind}`, E_NULL);
};

// A function of its own for each struct and each function of C's: V8 inlines the calls in it, unlike those in a shared one.
const compiled = (text, ...values) => runInThisContext(text)(...values);

// How many elements an array has whose length C takes too.
const count = (array) => (array === null || array === undefined ? 0 : Array.isArray(array) ? array.length : lengthOf(array));
const lengthIn = (all, name) => all.find(({ out, shape }) => shape === name && !out); // which array's length this is

// A member that is a list's length need not be said.
function takeStruct({ members }) {
    const each = members.map(([name], i) => {
        const array = lengthIn(members.map(([, one]) => one), name), own = `takes[${i}](of.${name})`;
        return `${name}: ${array ? `of.${name} === undefined ? count(of.${array.field}) : ${own}` : own}`;
    });
    return compiled(`(takes, count) => (of) => ({ ${each.join(', ')} })`, members.map(([, { take }]) => take), count);
}

const takeObjects = (take) => (all) => {
    const out = new Addresses(Math.max(all.length, 1));
    for (let i = 0; i < all.length; i++) out[i] = addressOf(take(all[i]));
    return out;
};

// Numbers are a typed array, which C reads or writes where it is.
const takeNumbers = ([is, ...others], isCounted, field) => (array, n) => {
    const tag = tagOf(array);
    const length = tag === is || others.includes(tag) ? lengthOf(array) : -1;
    if (length < 0 || (isCounted && length < n)) throw wrong(field, `this is not ${is} with ${n} elements`);
    return length ? array : NONE;
};

// What functions.txt says of an argument or of a member of a struct. type: koffi's. next: the name of the next argument.
// told: it only tells an error. Where C writes a number, or a pointer, is an array of one.
function parameter(field, text, next, isMember) {
    const [, owned, , out, name, shape, optional, range] =
        /^(kept |taken )?(const )?(out |inout )?(\w+)(?:\[([^\]]*)\])?(\?)?(?: (\S*\.\.\S*))?(?: .*)?$/.exec(text);
    const of = structs[name], isObject = OBJECTS.includes(name), isList = shape !== undefined || name === 'c' || (out && name in NUMBERS);
    const made = (type, take, told = false) => {
        const none = type === 'uintptr_t' ? 0 : null, orNone = (value, n) => (value === null || value === undefined ? none : take(value, n));
        return { name, field, owned, out, of, isObject, isList, shape, range, type, told, optional, take: optional && !told ? orNone : take };
    };
    const pointer = (type, way = 'in') => koffi[way](koffi.pointer(type)), each = (take) => (all) => all.map((one) => take(one));
    if (isMember && ['char', 'token'].includes(name) && /^[0-9]+$/.test(shape)) return made(koffi.array(name === 'char' ? name : 'int32_t', Number(shape)), null);
    if (name === 'status' || name === 'field') return made(pointer(name === 'status' ? 'int' : 'const char *', 'out'), () => [null], true);
    if (name === 'text') return made('const char *', takeText(field));
    if (name === 'texts') return made(pointer('const char *'), (all) => [...all.map(takeText(field)), null]);
    if (of && isMember && !isList) return made(of.type, takeStruct(of));
    if (of && out && isMember) return made('void *', (at) => at); // memory of koffi's
    if (of && out) return made(pointer(of.type, out.trim()), isList ? (all) => all : out === 'out ' ? () => ({}) : takeStruct(of), name === 'text_error');
    if (of) return made(pointer(of.type), isList ? each(takeStruct(of)) : takeStruct(of));
    if (isObject && !isList) return made('uintptr_t', takeObject(name, field));
    if (isObject) return made('const void *', takeObjects(takeObject(name, field)));
    if (isList) return made(out || name === 'c' ? 'void *' : 'const void *', takeNumbers(ARRAYS[name], out !== undefined && (shape === next || next === undefined), field));
    if (name in enums) return made('int', takeWord(enums[name], field));
    return name === 'bool' ? made('bool', takeBool(field)) : made(NUMBERS[name][0], takeNumber(name, range, field));
}

const enumeration = (name, ...words) => (enums[name] = words);

function struct(name, members) {
    const all = Object.entries(members).map(([field, text]) => [field, parameter(field, text, undefined, true)]);
    structs[name] = { members: all, type: koffi.struct(Object.fromEntries(all.map(([field, { type }]) => [field, type]))) };
}

// What C has written, with the words of enumerations.
function worded({ members }, values) {
    for (const [field, { name }] of members) if (name in enums) values[field] = enums[name][values[field]];
    return values;
}

// c.NAME is samp_NAME. It takes the arguments in C's order, without lengths of arrays that C reads, and without `out status`,
// `out field` and `out text_error`, whose errors it throws. Behind an array at the end the least length may be given.
function fn(name, result, parameters = {}) {
    const fields = Object.keys(parameters), all = fields.map((field, i) => parameter(field, parameters[field], fields[i + 1]));
    const [, how, kind, least = 0, whose] = /^(new |lent )?(\w+)(?: (-?\d+)\.\.)?(?: of (\w+))?$/.exec(result);
    const type = structs[kind]?.type ?? (how ? 'uintptr_t' : { status: 'int', text: 'const char *', void: 'void' }[kind] ?? NUMBERS[kind][0]);
    const raw = needed('library', `${library} has no samp_${name}`, () => lib.func(`samp_${name}`, type, all.map((one) => one.type)));
    const given = all.filter((one) => !one.told && !lengthIn(all, one.field));
    const numbers = given.filter((one) => one.name in NUMBERS && !one.isList && !/\d\.\.\d/.test(one.range)); // the others are right
    const blamed = numbers.length > 0 && numbers.length < 4 ? numbers.map((one) => one.field).join(' or ') : null;
    const fails = ['status', 'int', 'i32', 'i64', 'token'].includes(kind) ? Number(least) : -Infinity;
    const done = (value, field = null) => {
        if (value < fails) throw new SamplingError(Number(value), field ?? (value === E_RANGE ? blamed : null));
        return value;
    };
    if (kind in structs) table[name] = (a) => worded(structs[kind], raw(all[0].take(a)));
    else if (kind === 'void' && all[0].owned === 'taken ') table[name] = (holder) => raw(holder.handle); // it frees this
    else {
        const values = all.map((one, i) => {
            const at = given.indexOf(one);
            return at >= 0 ? `takes[${i}](a${at}, a${at + 1})` : one.told ? `takes[${i}]()` : `count(a${given.indexOf(lengthIn(all, one.field))})`;
        }).join(', ');
        const takes = all.map((one) => one.take), list = Array.from({ length: given.length + 1 }, (_, i) => `a${i}`);
        if (how || all.some((one) => one.owned || one.told || (one.out && one.of && !one.isList)))
            table[name] = owning(raw, compiled(`(takes, count) => (${list}) => [${values}]`, takes, count), all, given, how, kind, whose, done);
        else table[name] = compiled(`(raw, done, takes, count) => (${list}) => done(raw(${values}))`, raw, done, takes, count);
    }
}

// What a text_error says: where in the text `what`, or which argument is wrong.
function located({ status, line, column, message }, what, given = []) {
    const field = message.split(':')[0];
    if (given.some((one) => one.field === field)) return new SamplingError(status, field, message);
    return wrong(what, `line ${line}, column ${column}: ${message}`, status);
}

// The same where C makes an object, goes on to read one, takes one over, or writes a struct. valuesOf: what C is given.
function owning(raw, valuesOf, all, given, how, kind, whose, done) {
    const at = (name) => all.findIndex((one) => one.name === name && one.told), from = given.findIndex((one) => one.field === whose);
    const takes = given.findIndex((one) => one.owned === 'taken '), text = all.find((one) => one.name === 'text')?.field;
    const keeping = given.flatMap((one, i) => [
        ...(one.owned === 'kept ' ? [(args) => args[i]] : []),
        ...(one.of && !one.isList ? one.of.members.filter(([, { owned }]) => owned === 'kept ').map(([field]) => (args) => args[i][field]) : []),
    ]);
    return (...args) => {
        const taken = holderOf(args[takes]);
        let values;
        try {
            values = valuesOf(...args);
        } catch (error) {
            taken?.release();
            throw error;
        }
        const result = raw(...values), owner = !how ? holderOf(args[0]) : result ? new Holder(kind, result) : null, source = holderOf(args[from]);
        if (how === 'lent ') return Object.assign(owner, { keeps: source.keeps, isLent: true });
        for (const of of keeping) {
            const kept = holderOf(of(args));
            if (kept) owner?.keep(kept.isLent ? kept.keeps : [kept]);
        }
        if (source) owner?.keep(source.keeps);
        if (taken) {
            owner?.keep(taken.keeps);
            taken.handle = 0; // C owns it
            taken.release();
        }
        all.forEach((one, i) => one.out && one.of && !one.isList && !one.told && args[given.indexOf(one)] && Object.assign(args[given.indexOf(one)], worded(one.of, values[i])));
        const told = values[at('text_error')] ?? {};
        if (!how && told.message) throw located(told, given.find((one) => one.name === 'text' && one.optional)?.field, given);
        if (!how) return done(result, values[at('field')]?.[0]);
        try {
            const { status = values[at('status')]?.[0], message } = told;
            if (message) throw located(told, text === 'pattern' ? text : kind);
            if (owner && kind === 'sampler') c.status(owner);
            else if (status < 0) throw new SamplingError(status);
            if (!owner) throw new SamplingError(E_NOMEM);
            return owner;
        } catch (error) {
            owner?.release();
            throw error;
        }
    };
}

// ---- C's side: made from functions.txt by "make bindings" ----
enumeration('dtype', 'f32', 'f16', 'bf16', 'f64', 'i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64');
enumeration('verify_method', 'exact', 'ratio');
struct('logprob', { token: 'token', rank: 'i32 1..', logprob: 'f32' });
struct('logprob_set', { top_logprobs: 'out logprob[n_top]?', n_top: 'i32 0..1024', n_top_found: 'i32',
    chosen: 'logprob', cumulative_logprob: 'f64', ids: 'token[n_ids]? 0..n_vocab-1', n_ids: 'i32 0..1024',
    id_logprobs: 'out f32[n_ids]?', entropy: 'f32' });
struct('support', { tokens: 'out token[capacity]?', logprobs: 'out f32[capacity]?', capacity: 'size 0..', n: 'size',
    mass: 'f64' });
struct('logprobs', { raw: 'logprob_set', processed: 'logprob_set', support: 'out support[1]?' });
struct('score_result', { raw: 'f32', processed: 'f32', rank: 'i32 1..', removed_by: 'text?' });
struct('explained', { name: 'text', n_left: 'size', mass: 'f64', p: 'f32' });
struct('logits', { data: 'byte[rows x stride elements]', dtype: 'dtype', n_rows: 'size 0..',
    n_vocab: 'size 1..4194304', stride: 'size n_vocab.. elements', row_index: 'i32[n_rows]? 0..',
    mask: 'u32[n_rows x mask_stride]?', mask_stride: 'size (n_vocab+31)/32.. words',
    logprobs: 'out logprobs[n_rows]?', n_threads: 'i32 0..', n_vocab_of: 'size[n_rows]? 1..n_vocab' });
struct('draft', { n: 'size 0..', tokens: 'token[n] 0..n_vocab-1', probs: 'f32[n x n_vocab or n x n_top]? 0..1',
    ids: 'token[n x n_top]? 0..n_vocab-1', n_top: 'size 1..n_vocab', logprobs: 'out logprobs[n+1]?' });
fn('sample', 'token', { s: 'sampler', logits: 'f32[n_vocab]', n_vocab: 'size 1..4194304' });
fn('sample_batch', 'status', { rows: 'sampler[logits.n_rows]', logits: 'logits', out: 'out token[logits.n_rows]' });
fn('score', 'status', { chain: 'sampler', logits: 'f32[n_vocab]', n_vocab: 'size 1..4194304',
    token: 'token 0..n_vocab-1', out: 'out score_result' });
fn('explain', 'i32', { chain: 'sampler', logits: 'f32[n_vocab]', n_vocab: 'size 1..4194304',
    token: 'token 0..n_vocab-1', out: 'out explained[n_max]?', n_max: 'size 0..' });
fn('raw_logprobs', 'status', { logits: 'logits' });
fn('replay_check', 'i64', { chain: 'sampler', logits: 'logits', tokens: 'token[logits.n_rows]' });
fn('verify', 'i32', { s: 'sampler', logits: 'f32[draft.n+1 x n_vocab]', n_vocab: 'size 1..4194304', draft: 'draft',
    method: 'verify_method', out: 'out token[draft.n+1]' });
fn('guide', 'status', { cond: 'f32[n]', uncond: 'f32[n]', n: 'size 1..4194304', scale: 'f32', out: 'out f32[n]' });
fn('error_text', 'int', { status: 'int', field: 'text?', buf: 'out char[size]?', size: 'size' });
fn('params_error_text', 'int', { params: 'params', buf: 'out char[size]?', size: 'size' });
fn('logits_error_text', 'int', { logits: 'logits', row: 'size 0..logits.n_rows-1', buf: 'out char[size]?',
    size: 'size' });
fn('version', 'int');
fn('check_params', 'status', { params: 'params', field: 'out field?' });
fn('chain_from_params', 'new sampler of params', { params: 'params', status: 'out status?' });
fn('chain_update', 'status', { chain: 'sampler', params: 'kept params' });
fn('settings_init', 'new settings');
fn('settings_free', 'void', { settings: 'taken settings?' });
fn('settings_params', 'lent params of settings', { settings: 'const settings' });
fn('settings_set', 'status', { settings: 'settings', name: 'text', value: 'text?', field: 'out field?' });
fn('settings_get', 'status', { settings: 'const settings', name: 'text', buf: 'out char[size]?', size: 'size' });
fn('settings_takes', 'status', { name: 'text', buf: 'out char[size]?', size: 'size' });
fn('settings_use_vocab', 'status', { settings: 'settings', vocab: 'kept const vocab?' });
fn('vocab_init', 'new vocab', { bytes: 'char[sum of n_bytes]', n_bytes: 'u32[n_vocab]', n_vocab: 'i32 1..4194304',
    eog: 'token[n_eog]? 0..n_vocab-1', n_eog: 'size', eos: 'token -1..n_vocab-1', eot: 'token -1..n_vocab-1',
    status: 'out status?' });
fn('vocab_free', 'void', { vocab: 'taken vocab?' });
fn('chain_add', 'status', { chain: 'sampler', s: 'taken sampler' });
fn('chain_insert', 'status', { chain: 'sampler', i: 'i32 0..chain_n', s: 'taken sampler' });
fn('chain_get', 'lent sampler of chain', { chain: 'const sampler', i: 'i32 0..chain_n-1' });
fn('chain_n', 'i32', { chain: 'const sampler' });
fn('chain_remove', 'new sampler of chain', { chain: 'sampler', i: 'i32 0..chain_n-1' });
fn('status', 'status', { s: 'const sampler', field: 'out field?' });
fn('get_seed', 'u64', { s: 'const sampler' });
fn('child_seed', 'u64', { seed: 'u64', i: 'u64' });
fn('get_position', 'u64', { s: 'const sampler' });
fn('set_position', 'status', { s: 'sampler', position: 'u64' });
fn('prev', 'size', { chain: 'const sampler', out: 'out token[n]', n: 'size' });
fn('rollback', 'status', { s: 'sampler', n: 'i32 0.. tokens' });
fn('set_rollback', 'status', { s: 'sampler', depth: 'i32 0.. tokens' });
fn('state_size', 'size', { s: 'const sampler' });
fn('state_save', 'status', { s: 'const sampler', bytes: 'out byte[size]', size: 'size' });
fn('state_load', 'status', { s: 'sampler', bytes: 'byte[size]', size: 'size' });
fn('describe', 'status', { s: 'const sampler', buf: 'out char[size]?', size: 'size' });
fn('accept', 'status', { s: 'sampler', token: 'token 0..' });
fn('name', 'text of s', { s: 'const sampler' });
fn('reset', 'void', { s: 'sampler' });
fn('clone', 'new sampler of s', { s: 'const sampler' });
fn('free', 'void', { s: 'taken sampler?' });
fn('init_replay', 'new sampler', { tokens: 'token[n]? 0..4194303', n: 'size 0..4194304' });
enumeration('grammar_kind', 'gbnf', 'json_schema', 'regex', 'structural_tag');
struct('text_error', { status: 'int', line: 'size 1..', column: 'size 1.. bytes', message: 'char[160]' });
struct('grammar_usage', { n_states: 'size', n_entries: 'size', n_masks: 'size', n_hits: 'size', n_renewals: 'size',
    n_bytes: 'size', max_bytes: 'size' });
fn('grammar_init', 'new grammar', { kind: 'grammar_kind', text: 'text', root: 'text?', error: 'out text_error?' });
fn('grammar_free', 'void', { grammar: 'taken grammar?' });
fn('builtin_tag', 'i64', { model: 'text', tools: 'text?', options: 'text?', text: 'out char[size]?', size: 'size',
    error: 'out text_error?' });
fn('vocab_index_init', 'new vocab_index', { vocab: 'kept const vocab', status: 'out status?' });
fn('vocab_index_free', 'void', { index: 'taken vocab_index?' });
fn('init_grammar', 'new sampler', { index: 'kept const vocab_index', grammar: 'kept const grammar' });
fn('init_grammar_lazy', 'new sampler', { index: 'kept const vocab_index', grammar: 'kept const grammar',
    words: 'texts[n_words]', n_words: 'size', tokens: 'token[n_tokens] 0..n_vocab-1', n_tokens: 'size' });
fn('init_grammar_lazy_patterns', 'new sampler', { index: 'kept const vocab_index', grammar: 'kept const grammar',
    patterns: 'texts[n_patterns]', n_patterns: 'size', tokens: 'token[n_tokens] 0..n_vocab-1', n_tokens: 'size' });
fn('grammar_is_awaiting', 'status', { s: 'const sampler' });
fn('set_grammar_limits', 'status', { s: 'sampler', max_bytes: 'size', max_steps: 'i64 0..' });
fn('grammar_stats', 'status', { s: 'const sampler', usage: 'out grammar_usage' });
fn('grammar_mask', 'status', { s: 'sampler', bits: 'out u32[(n_vocab+31)/32]' });
fn('grammar_prepare', 'status', { s: 'sampler', budget: 'i64 0.. steps' });
fn('grammar_warm', 'i64', { index: 'const vocab_index', grammar: 'const grammar', budget: 'i64 1.. steps' });
fn('grammar_is_complete', 'status', { s: 'const sampler' });
fn('grammar_forced', 'i64', { s: 'sampler', bytes: 'out char[size]?', size: 'size' });
fn('grammar_draft', 'i64', { grammar: 'sampler', tokens: 'out token[n_max]', n_max: 'size' });
fn('grammar_certain', 'i64', { grammar: 'sampler', tokens: 'out token[n_max]', n_max: 'size' });
enumeration('ramp', 'none', 'linear', 'exponential');
enumeration('unit', 'tokens', 'lines');
enumeration('area', 'anywhere', 'inside', 'outside');
struct('sequence', { tokens: 'token[n] 0..', n: 'size 1..1024', bias: 'f32 -inf..' });
struct('loop', { min_period: 'i32 1..65536 tokens', max_period: 'i32 min_period..65536 tokens',
    copies: 'i32 2..65536', last_n: 'i32 ..4194304 tokens', every: 'i32 1.. tokens' });
struct('thinking', { start: 'token[n_start] 0..', n_start: 'size 1..1024', end: 'token[n_end] 0..',
    n_end: 'size 1..1024', force: 'token[n_force]? 0..', n_force: 'size 1..1024' });
struct('thinking_plan', { total: 'i32 0.. tokens', soft: 'i32 0.. tokens', soft_ratio: 'f32 0..1',
    grace: 'i32 0.. tokens', note: 'token[n_note]? 0..', n_note: 'size 0..1024', ends: 'sequence[n_ends]?',
    n_ends: 'size 0..1024', ramp: 'ramp', bias: 'f32 0..', loop: 'loop[1]?', loop_from: 'i32 0.. tokens' });
struct('schedule', { count: 'unit', from: 'i32 0..', to: 'i32 0..', begin: 'i32 0.. tokens', where: 'area',
    spans: 'thinking[n_spans]?', n_spans: 'size 0..1024', inside: 'i32 0..n_spans', until: 'token[n_until]? 0..',
    n_until: 'size', vocab: 'kept const vocab?', loop: 'loop[1]?' });
fn('init_sequence_bias', 'new sampler', { sequences: 'sequence[n]', n: 'size 0..65536' });
fn('init_banned_sequences', 'new sampler', { sequences: 'sequence[n]', n: 'size 0..65536', flags: 'unsigned 0..1' });
fn('init_banned_strings', 'new sampler', { vocab: 'kept const vocab', strings: 'texts[n]', n: 'size 0..65536',
    flags: 'unsigned 0..3' });
fn('init_banned_pattern', 'new sampler', { vocab: 'kept const vocab', pattern: 'text', flags: 'unsigned 0..3',
    error: 'out text_error?' });
fn('rewind_length', 'i32', { s: 'const sampler' });
fn('init_suppressed_tokens', 'new sampler', { tokens: 'token[n] 0..', n: 'size 0..4194304' });
fn('init_begin_suppressed_tokens', 'new sampler', { tokens: 'token[n] 0..', n: 'size 0..4194304',
    begin: 'i32 0.. tokens' });
fn('init_min_tokens', 'new sampler', { tokens: 'token[n] 0..', n: 'size 0..4194304', n_min: 'i32 0..',
    begin: 'i32 0.. tokens' });
fn('init_allowed_tokens', 'new sampler', { tokens: 'token[n] 0..', n: 'size 0..4194304' });
fn('init_forced_prefix', 'new sampler', { tokens: 'token[n] 0..', n: 'size 0..4194304', begin: 'i32 0.. tokens' });
fn('init_eog_bias', 'new sampler', { tokens: 'token[n] 0..', n: 'size 0..4194304', bias: 'f32 -inf..' });
fn('init_length_penalty', 'new sampler', { tokens: 'token[n] 0..', n: 'size 0..4194304', start: 'i32 0.. tokens',
    factor: 'f32 (0..', begin: 'i32 0.. tokens' });
fn('init_top_p_decay', 'new sampler', { p: 'f32 (0..1]', decay: 'f32 (0..1]', lowest: 'f32 (0..p]',
    resets: 'token[n] 0..', n: 'size 0..4194304', min_keep: 'size tokens' });
fn('init_timestamps_except', 'new sampler', { first: 'i32 0..4194303', no_timestamps: 'i32 -1..4194303',
    max_initial: 'i32 -1..', exempt: 'token[n] 0..', n: 'size 0..4194304' });
fn('init_no_repeat_ngram_except', 'new sampler', { n: 'i32 0..last_n tokens', last_n: 'i32 n..4194304 tokens',
    exempt: 'token[n_exempt] 0..', n_exempt: 'size 0..4194304' });
fn('init_loop_breaker', 'new sampler', { min_period: 'i32 1..max_period tokens',
    max_period: 'i32 min_period..65536 tokens', copies: 'i32 2..last_n/min_period', last_n: 'i32 ..4194304 tokens',
    every: 'i32 1.. tokens', penalty: 'f32 0..inf' });
fn('init_loop_breaker_cusum', 'new sampler', { n: 'i32 1..last_n tokens', last_n: 'i32 n..4194304 tokens',
    loss: 'f32 0..', alarm: 'f32 (0..', penalty: 'f32 0..inf' });
fn('init_loop_watch', 'new sampler', { loop: 'loop' });
fn('loop_length', 'i32', { s: 'const sampler' });
fn('thinking_left', 'i32 -1..', { s: 'const sampler' });
fn('init_thinking', 'new sampler', { vocab: 'kept const vocab?', spans: 'thinking[n_spans]', n_spans: 'size 0..1024',
    budget: 'i32 tokens', open: 'i32 -1..n_spans-1', plan: 'thinking_plan?' });
fn('thinking_end', 'status', { s: 'sampler' });
fn('thinking_now', 'i32', { s: 'const sampler' });
fn('thinking_used', 'i32', { s: 'const sampler' });
fn('init_schedule', 'new sampler of member', { when: 'schedule', member: 'taken sampler' });
fn('schedule_holds', 'i32', { s: 'const sampler' });
enumeration('watermark_kind', 'gumbel', 'gumbel_dual', 'sbw_selfhash', 'sbw_lefthash', 'synthid');
enumeration('watermark_scope', 'once_in_text', 'once_in_all', 'always');
struct('watermark', { kind: 'watermark_kind', key: 'u64', context_width: 'i32 1..64 tokens', scope: 'watermark_scope',
    history: 'i32 1..4194304 tokens', alpha: 'f64 0..1', depth: 'i32 1..32', gamma: 'f64 (0..1)', delta: 'f32 0..',
    seed: 'u64' });
struct('watermark_result', { score: 'f64', p_value: 'f64', n_scored: 'size', ln_p: 'f64' });
struct('watermark_span', { begin: 'size', end: 'size', result: 'watermark_result', p_value: 'f64', ln_p: 'f64' });
fn('default_watermark', 'watermark', { kind: 'watermark_kind' });
fn('init_watermark', 'new sampler', { mark: 'watermark' });
fn('init_watermark_draft', 'new sampler', { mark: 'watermark' });
fn('watermark_detect_keys', 'status', { mark: 'watermark', keys: 'u64[n_keys]', n_keys: 'size', text: 'token[n] 0..',
    n: 'size 0..1073741824', out: 'out watermark_result[n_keys]' });
fn('watermark_find', 'status', { mark: 'watermark', text: 'token[n] 0..', n: 'size 0..1073741824',
    window: 'size 1.. tokens', out: 'out watermark_span' });
enumeration('peer', 'openai', 'vllm', 'transformers', 'llama_server', 'ollama', 'anthropic', 'sglang');
struct('request', { error: 'text_error', field: 'char[64]', seeded: 'bool', with_prompt: 'bool',
    thinking_budget: 'i32 -1.. tokens', min_tokens: 'i32 0.. tokens', mask_ends: 'bool', guidance_scale: 'f32',
    n: 'i32 1..', n_beams: 'i32 0..4096', n_groups: 'i32 1..4096', early_stopping: 'i32 0..2', length_penalty: 'f32',
    diversity_penalty: 'f32 0..', logprobs: 'bool', prompt_logprobs: 'bool', n_top: 'i32 -1..',
    n_prompt_top: 'i32 -1..', support: 'bool', entropy: 'bool', n_logprob_ids: 'i32 0..128',
    logprob_ids: 'token[128]' });
fn('settings_from', 'status', { settings: 'settings', peer: 'peer', json: 'text', handled: 'texts[]?',
    request: 'out request?' });
fn('settings_from_lenient', 'status', { settings: 'settings', peer: 'peer', json: 'text', handled: 'texts[]?',
    request: 'out request?', left_out: 'out char[size]?', size: 'size' });
struct('text_options', { stop_tokens: 'token[n_stop_tokens]? 0..', n_stop_tokens: 'size 0..4194304',
    min_tokens: 'i32 0.. tokens', include_stop: 'bool', raw_bytes: 'bool', strip_space: 'bool' });
fn('text_init', 'new text_stream', { vocab: 'kept const vocab', stops: 'texts[n_stops]', n_stops: 'size 0..65536',
    options: 'text_options?', status: 'out status?' });
fn('text_from_settings', 'new text_stream', { settings: 'const settings', vocab: 'kept const vocab',
    status: 'out status?' });
fn('text_add_pattern', 'status', { text: 'text_stream', pattern: 'text', max_bytes: 'size 1..4096' });
fn('text_push', 'status', { text: 'text_stream', token: 'token 0..n_vocab-1', out: 'c', n: 'out size' });
fn('text_flush', 'status', { text: 'text_stream', out: 'c', n: 'out size' });
fn('text_stop', 'i32 -1..', { text: 'const text_stream' });
fn('text_stop_at', 'status', { text: 'const text_stream', token: 'out i32?', byte: 'out size?' });
fn('text_rollback', 'status', { text: 'text_stream', n: 'i32 0.. tokens' });
fn('text_clone', 'new text_stream of text', { text: 'const text_stream' });
fn('text_reset', 'void', { text: 'text_stream' });
fn('text_free', 'void', { text: 'taken text_stream?' });
fn('verify_block', 'i32', { s: 'sampler', logits: 'f32[draft.n+1 x n_vocab]', n_vocab: 'size 1..4194304',
    draft: 'draft', out: 'out token[draft.n+1]' });
fn('ngram_init', 'new ngram', { n_min: 'i32 1..64 tokens', n_max: 'i32 n_min..64 tokens',
    max_tokens: 'size n_max..67108864' });
fn('ngram_free', 'void', { ngram: 'taken ngram?' });
fn('ngram_reset', 'void', { ngram: 'ngram?' });
fn('ngram_accept', 'status', { ngram: 'ngram', token: 'token 0..' });
fn('ngram_rollback', 'status', { ngram: 'ngram', n: 'i32 0.. tokens' });
fn('ngram_draft', 'i64', { ngram: 'const ngram', out: 'out token[n_max]?', n_max: 'size' });
enumeration('early_stopping', 'heuristic', 'always', 'exact');
enumeration('unmask_rule', 'confidence', 'margin', 'entropy', 'threshold', 'entropy_bound', 'random',
    'raw_confidence', 'independent');
enumeration('unmask_schedule', 'even', 'linear');
struct('beam_params', { n_beams: 'i32 1..4096', n_groups: 'i32 0..n_beams', max_tokens: 'i32 1..1048576',
    length_penalty: 'f32', diversity_penalty: 'f32 0..', early_stopping: 'early_stopping', ends: 'token[n_ends]? 0..',
    n_ends: 'i32 0..4096', seed: 'u64', sampled: 'bool' });
struct('unmask_params', { rule: 'unmask_rule', n: 'i32 0..', threshold: 'f32 0..', seed: 'u64', temp: 'f32 0..' });
fn('beams_init', 'new beams', { params: 'beam_params', status: 'out status?' });
fn('beams_free', 'void', { beams: 'taken beams?' });
fn('beams_step', 'i32', { beams: 'beams', rows: 'sampler[beams.n_beams]?', logits: 'logits',
    tokens: 'out token[beams.n_beams]', parents: 'out i32[beams.n_beams]' });
fn('beams_n_found', 'i32', { beams: 'const beams?' });
fn('beams_found', 'status', { beams: 'const beams', i: 'i32 0..n_found-1', tokens: 'c', n: 'out size?',
    score: 'out f64?' });
fn('beams_state_size', 'size', { beams: 'const beams?' });
fn('beams_state_save', 'status', { beams: 'const beams', bytes: 'out byte[size]', size: 'size' });
fn('beams_state_load', 'status', { beams: 'beams', bytes: 'byte[size]', size: 'size' });
fn('unmask', 'i32', { params: 'unmask_params', rows: 'sampler[logits.n_rows]', logits: 'logits',
    tokens: 'out token[logits.n_rows]' });
fn('unmask_count', 'i32', { schedule: 'unmask_schedule', n_masked: 'i32 0..', step: 'i32 0..n_steps-1',
    n_steps: 'i32 1..' });
fn('vocab_from_tokenizer_json', 'new vocab', { text: 'char[n]', n: 'size 0..67108864', error: 'out text_error?' });
fn('vocab_from_gguf', 'new vocab', { file: 'byte[n]', n: 'size', error: 'out text_error?' });
// ---- end of C's side ----

if (Math.floor(c.version() / 100) !== VERSION)
    throw wrong('library', `${library} is version ${c.version()}, sampling.js is for ${VERSION / 100}`, E_UNSUPPORTED);

// ---- values, as users give them ----

// Lists and objects are read once, into copies: their getters, iterators and proxies may do anything meanwhile.

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

// A whole number in [low, high], as a Number.
function whole(value, field, low = 0, high = 2 ** 31 - 1) {
    const x = typeof value === 'bigint' ? Number(value) : value;
    if (!Number.isInteger(x) || x < low || x > high) throw wrong(field, `${said(value)} is not a whole number in [${low}, ${high}]`);
    return x;
}

// read(), whose mistakes in types are errors of this field.
function reading(field, read) {
    try {
        return read();
    } catch (cause) {
        if (cause instanceof TypeError || cause instanceof RangeError) throw wrong(field, cause.message, E_FORMAT, cause);
        throw cause;
    }
}

// An object's members, with defaults for those that it lacks. Another name is an error, unless `others` are wanted too.
function options(given, defaults, field = 'options', others = null) {
    if (given === undefined) return defaults;
    const all = { ...defaults };
    for (const name of namesOf(given, field)) {
        const of = Object.hasOwn(defaults, name) ? all : others;
        if (!of) throw wrong(snake(name), `none of ${Object.keys(defaults).map(snake).join(', ')}`, E_NAME);
        const value = given[name];
        if (of === others || value !== undefined) of[name] = value;
    }
    return all;
}

// A plain object's.
function namesOf(of, field) {
    try {
        const kind = typeof of === 'object' && of !== null ? Object.getPrototypeOf(of) : undefined;
        if (kind === null || (kind !== undefined && Object.getPrototypeOf(kind) === null)) return Object.keys(of);
    } catch {} // a proxy that is revoked
    throw wrong(field, `${said(of)} is no plain object`, E_FORMAT);
}

// A list of one's own, of a list, a typed array or what is iterated.
function listOf(of, field) {
    return reading(field, () => {
        if (typeof of === 'object' && of !== null && (Symbol.iterator in of || (of.length >= 0 && of.length < 2 ** 28))) return Array.from(of);
        throw wrong(field, `${said(of)} is neither a typed array nor a list`, E_DTYPE);
    });
}

// A typed array of one's own, of what take(one) returns.
function numbersOf(of, field, Kind, take) {
    const list = Array.isArray(of) || tagOf(of) === 'Int32Array' ? of : listOf(of, field), out = new Kind(whole(list.length, field, 0, 2 ** 28));
    for (let i = 0; i < out.length; i++) out[i] = take(list[i]);
    return out;
}
const integers = (of, field, low = -(2 ** 31), high = 2 ** 31 - 1) => reading(field, () => numbersOf(of, field, Int32Array, (one) => whole(one, field, low, high)));
const real = (one, field) => {
    if (typeof one !== 'number') throw wrong(field, `${said(one)} is no number`, E_DTYPE);
    return one;
};

const DTYPES = new Map([['float32', 'f32'], ['float16', 'f16'], ['bfloat16', 'bf16'], ['float64', 'f64']]);
const FLOATS = { Float32Array: 'float32', Float64Array: 'float64', Float16Array: 'float16' };

// One typed array of logits or probabilities, and what its elements are: { data, dtype, rows }. It is read where it is,
// unless another thread may write to it. Lists are copied, lists of rows side by side; then rows is their number.
function floats(of, dtype, field = 'logits') {
    if (dtype !== undefined && !DTYPES.has(dtype)) throw wrong('dtype', `${said(dtype)} is none of ${[...DTYPES.keys()].join(', ')}`, E_DTYPE);
    const tag = tagOf(of), is = tag === 'Uint16Array' && (dtype === 'float16' || dtype === 'bfloat16') ? dtype : FLOATS[tag];
    if (is !== undefined) {
        if (dtype !== undefined && dtype !== is) throw wrong('dtype', `the array's is ${is}, not ${dtype}`, E_DTYPE);
        return { data: isShared(of) ? new globalThis[tag](of) : of, dtype: DTYPES.get(is), rows: undefined };
    }
    if (tag === 'Uint16Array') throw wrong('dtype', "two bytes are 'float16' or 'bfloat16'? Say dtype", E_DTYPE);
    if (tag === 'Uint8Array' || tag === 'Int8Array' || tag === 'Uint8ClampedArray') throw wrong(field, `a ${tag} has bytes, not numbers`, E_DTYPE);
    return reading(field, () => {
        const list = Array.isArray(of) ? of : listOf(of, field);
        if (typeof list[0] === 'object' && list[0] !== null) return sideBySide(Array.from(list, (row) => floats(row, dtype, field)), field);
        if (dtype !== undefined && dtype !== 'float32') throw wrong('dtype', `a list's is float32, not ${dtype}`, E_DTYPE);
        return { data: numbersOf(list, field, Float32Array, (one) => real(one, field)), dtype: 'f32', rows: undefined };
    });
}

function sideBySide(rows, field) {
    const n = lengthOf(rows[0].data), tag = tagOf(rows[0].data);
    if (rows.some((row) => lengthOf(row.data) !== n || row.dtype !== rows[0].dtype || row.rows !== undefined))
        throw wrong(field, 'rows of different lengths or types');
    const data = new globalThis[tag](n * rows.length);
    rows.forEach((row, r) => data.set(row.data, r * n));
    return { data, dtype: rows[0].dtype, rows: rows.length };
}

// f32 of whatever there is.
function widened({ data, dtype }) {
    if (dtype === 'f32') return data;
    if (dtype !== 'bf16' && tagOf(data) !== 'Uint16Array') return new Float32Array(data);
    const words = new Uint32Array(1), float = new Float32Array(words.buffer);
    return Float32Array.from(new Uint16Array(data), (h) => {
        if (dtype === 'bf16') return ((words[0] = h << 16), float[0]);
        const sign = h & 0x8000 ? -1 : 1, exponent = h >>> 10 & 31, fraction = h & 1023;
        if (exponent === 31) return fraction ? NaN : sign * Infinity;
        return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
    });
}

// Words of 32 bits, from a bool for each token too; as many words for each row.
function bits(mask, rows, nVocab) {
    const words = Math.ceil(nVocab / 32), isWords = (one) => ARRAYS.u32.includes(tagOf(one));
    if (isWords(mask)) {
        const own = isShared(mask) ? new Uint32Array(mask) : mask, n = lengthOf(own);
        if (n % rows || n / rows < words) throw wrong('mask', `${n} words, not ${rows} times ${words}`);
        return own;
    }
    let all = listOf(mask, 'mask');
    if (rows === 1 && (typeof all[0] !== 'object' || all[0] === null)) all = [all];
    if (all.length !== rows) throw wrong('mask', `${all.length} rows, not ${rows}`);
    const out = new Uint32Array(rows * words);
    all.forEach((row, r) => {
        if (isWords(row)) {
            const own = new Uint32Array(row);
            if (own.length < words) throw wrong('mask', `${own.length} words, not ${words}`);
            out.set(own.subarray(0, words), r * words);
            return;
        }
        const own = listOf(row, 'mask');
        if (own.length !== nVocab) throw wrong('mask', `${own.length} tokens, not ${nVocab}`);
        own.forEach((one, i) => {
            if (one !== true && one !== false && one !== 0 && one !== 1) throw wrong('mask', `${said(one)} is no bool`);
            if (one) out[r * words + (i >>> 5)] |= 1 << (i & 31);
        });
    });
    return out;
}

function jsonOf(of, field) {
    if (typeof of === 'string') return of;
    const text = reading(field, () => JSON.stringify(of));
    if (text === undefined) throw wrong(field, `${said(of)} is no JSON`, E_FORMAT);
    return text;
}
const patternOf = (pattern) => reading('pattern', () => (isA(pattern, RegExp) ? pattern.source : pattern));

// ---- vocabularies and grammars ----

// What a private constructor takes: a holder, and what else the object knows.
class Made {
    constructor(holder, more = {}) {
        Object.assign(this, { holder, ...more });
    }
}

let isVocab, indexOf; // indexOf: made when a grammar needs it for the first time, and kept

const ofVocab = koffi.struct({ // samp_vocab
    n_vocab: 'int32_t', token_bytes: 'void *', tokenize: 'void *', user: 'void *', eog: 'void *', n_eog: 'size_t', eos: 'int32_t', eot: 'int32_t',
});

// The tokens' bytes, for dry, infill, grammars and texts: strings, Uint8Arrays, or null for control tokens.
class Vocab extends Owner {
    #index = null;
    #length;
    #ends;
    constructor(tokens, given) {
        const holder = isA(tokens, Made) ? tokens.holder : Vocab.#make(tokens, given);
        super(holder);
        const { n_vocab, eos, eot, eog, n_eog } = koffi.decode(BigInt(holder.handle), ofVocab), one = (token) => (token < 0 ? null : token);
        this.#length = n_vocab;
        this.#ends = { eos: one(eos), eot: one(eot), eog: n_eog ? [...koffi.decode(eog, 'int32_t', Number(n_eog))] : [] };
    }
    static #make(tokens, given) {
        const { eos, eot, eog } = options(given, { eos: null, eot: null, eog: null });
        const pieces = listOf(tokens, 'tokens').map((piece) => {
            if (piece === null) return NONE.subarray(0, 0);
            if (typeof piece === 'string' && !/\p{Cs}/u.test(piece)) return encoder.encode(piece);
            if (tagOf(piece) === 'Uint8Array') return isShared(piece) ? new Uint8Array(piece) : piece;
            throw wrong('tokens', `${said(piece)} is neither a whole string nor a Uint8Array nor null`, E_DTYPE);
        });
        const most = pieces.length - 1, id = (token, field) => (token === null ? -1 : whole(token, field, -1, most));
        const ends = [id(eos, 'eos'), id(eot, 'eot')], last = integers(eog ?? ends.filter((token) => token >= 0), 'eog', 0, most);
        const lengths = Uint32Array.from(pieces, (piece) => lengthOf(piece));
        const bytes = new Uint8Array(lengths.reduce((sum, n) => sum + n, 0));
        let at = 0;
        pieces.forEach((piece, i) => {
            bytes.set(piece, at);
            at += lengths[i];
        });
        return c.vocab_init(bytes, lengths, last, ...ends);
    }
    static #from(read, file) {
        const own = typeof file === 'string' ? encoder.encode(file) : file;
        if (tagOf(own) !== 'Uint8Array') throw wrong('file', `${said(file)} is no Uint8Array`, E_DTYPE);
        return new Vocab(new Made(read(isShared(own) ? new Uint8Array(own) : own)));
    }
    // Of Hugging Face's tokenizer.json, as text or bytes.
    static fromTokenizerJson(file) {
        return Vocab.#from(c.vocab_from_tokenizer_json, file);
    }
    // Of llama.cpp's GGUF: the file's bytes, or those of its beginning with all settings. They are read where they are.
    static fromGguf(file) {
        if (typeof file === 'string') throw wrong('file', 'bytes, not a string', E_DTYPE);
        return Vocab.#from(c.vocab_from_gguf, file);
    }
    get length() {
        return this.#length;
    }
    // null: there is none.
    get eos() {
        return this.#ends.eos;
    }
    get eot() {
        return this.#ends.eot;
    }
    get eog() {
        return [...this.#ends.eog];
    }
    close() {
        this.#index?.close();
        this.#index = null;
        super.close();
    }
    static {
        isVocab = (value) => typeof value === 'object' && value !== null && #index in value;
        indexOf = (vocab) => {
            if (!isVocab(vocab)) throw wrong('vocab', `${said(vocab)} is no Vocab`, E_NULL);
            vocab.#index ??= new Owner(c.vocab_index_init(vocab));
            return vocab.#index;
        };
    }
}

// What a text may be.
class Grammar extends Owner {
    constructor(text, kind = 'gbnf', root = null) {
        super(c.grammar_init(kind, text, root));
    }
    // llama.cpp's GBNF; root: the rule to begin with.
    static fromString(gbnf, root = null) {
        return new Grammar(gbnf, 'gbnf', root);
    }
    // A schema as text or object; style: 'ordered', 'compact', 'spaced', with blanks between.
    static fromJsonSchema(schema, style = null) {
        return new Grammar(jsonOf(schema, 'grammar'), 'json_schema', style);
    }
    // The whole text matches it. A RegExp's flags are not looked at.
    static fromRegex(pattern) {
        return new Grammar(patternOf(pattern), 'regex');
    }
    // Calls of tools in free text: a structural tag as text or object, as XGrammar and vLLM's response_format have it;
    // style: of the schemas in it.
    static fromStructuralTag(tag, style = null) {
        return new Grammar(jsonOf(tag, 'grammar'), 'structural_tag', style);
    }
    // Calls of a request's tools as a model writes them ('llama', 'qwen_3', 'deepseek_v3_1', 'harmony' and so on); options:
    // 'required', 'one', 'thinking', with blanks between; style: of the tools' schemas.
    static fromTools(model, tools = null, options = null, style = null) {
        const listed = tools === null ? null : jsonOf(tools, 'tools');
        const tag = textOf((text, size) => c.builtin_tag(model, listed, options, text, size));
        return new Grammar(tag, 'structural_tag', style);
    }
    // Work masks out ahead, `budget` steps of some ten nanoseconds. How many it took; 0: there is nothing to do.
    warm(vocab, budget) {
        return c.grammar_warm(indexOf(vocab), this, budget);
    }
}

// ---- samplers ----

const STAGES = ['not', 'open', 'soft', 'note', 'grace', 'ends'];

function acceptEach(accept, text, token) {
    if (typeof token === 'object') for (const one of integers(token, 'token', 0)) accept(text, one);
    else accept(text, token);
}

class Sampler extends Owner {
    // Tell of a token that was not sampled here, or of several: a prompt's. Those before one that is refused stay accepted.
    accept(token) {
        acceptEach(c.accept, this, token);
    }
    reset() {
        c.reset(this);
    }
    // Take back the last n tokens, as if they had never been drawn.
    rollback(n = 1) {
        c.rollback(this, n);
    }
    // How many can be taken back from now on.
    setRollback(depth) {
        c.set_rollback(this, depth);
    }
    // What it has become, as bytes: the same on every machine.
    save() {
        const state = new Uint8Array(Number(c.state_size(this)));
        c.state_save(this, state, state.length);
        return state;
    }
    load(state) {
        if (tagOf(state) !== 'Uint8Array') throw wrong('state', `${said(state)} is no Uint8Array`, E_DTYPE);
        const own = isShared(state) ? new Uint8Array(state) : state;
        c.state_load(this, own);
    }
    // A BigInt beyond 2^53.
    get position() {
        return c.get_position(this);
    }
    set position(position) {
        c.set_position(this, position);
    }
    get seed() {
        return BigInt(c.get_seed(this));
    }
    describe() {
        return textOf((buffer, size) => c.describe(this, buffer, size));
    }
    // How many of the last tokens rollback() should take back, as what is banned has come to stand in them.
    rewindLength() {
        return c.rewind_length(this);
    }
    // The period of the loop that the text is in, as the first loop breaker or watch finds it; 0: in none.
    loopLength() {
        return c.loop_length(this);
    }
    // How many tokens the open span of thinking may still have; null: none is open.
    thinkingLeft() {
        const left = c.thinking_left(this);
        return left < 0 ? null : left;
    }
    // Its stage: 'not', 'open', 'soft', 'note', 'grace' or 'ends'.
    thinkingNow() {
        return STAGES[c.thinking_now(this)];
    }
    // How many tokens have been thought.
    thinkingUsed() {
        return c.thinking_used(this);
    }
    // End the open span now: its end is forced.
    thinkingEnd() {
        c.thinking_end(this);
    }
    // Is it the time of the first schedule?
    scheduleHolds() {
        return c.schedule_holds(this) === 1;
    }
}

// A grammar at work on one text: which tokens may come next. With triggers it waits for one, and allows all until then.
class Matcher extends Sampler {
    #vocab;
    #grammar;
    #words;
    constructor(vocab, grammar, triggers) {
        const made = isA(vocab, Made) ? vocab : new Made(Matcher.#make(vocab, grammar, triggers), { vocab, grammar });
        super(made.holder);
        this.#vocab = made.vocab;
        this.#grammar = made.grammar;
        this.#words = Math.ceil(made.vocab.length / 32);
    }
    static #make(vocab, grammar, triggers) {
        const { triggerWords, triggerPatterns, triggerTokens } = options(triggers, { triggerWords: null, triggerPatterns: null, triggerTokens: null });
        if (triggerWords && triggerPatterns) throw wrong('trigger_patterns', 'there are trigger_words already');
        if (!triggerWords && !triggerPatterns && !triggerTokens) return c.init_grammar(indexOf(vocab), grammar);
        const texts = listOf(triggerWords ?? triggerPatterns ?? [], triggerPatterns ? 'trigger_patterns' : 'trigger_words');
        const tokens = integers(triggerTokens ?? [], 'trigger_tokens'), make = triggerPatterns ? c.init_grammar_lazy_patterns : c.init_grammar_lazy;
        return make(indexOf(vocab), grammar, texts, tokens);
    }
    get vocab() {
        return this.#vocab;
    }
    get grammar() {
        return this.#grammar;
    }
    clone() {
        return new Matcher(new Made(c.clone(this), { vocab: this.#vocab, grammar: this.#grammar }));
    }
    // The tokens that may follow: bit i % 32 of word i / 32 is token i. Into out (a Uint32Array or Int32Array) if it is given.
    mask(out = new Uint32Array(this.#words)) {
        c.grammar_mask(this, out, this.#words);
        return out;
    }
    allows(token) {
        const one = whole(token, 'token', -(2 ** 31));
        return one >= 0 && one < this.#vocab.length && (this.mask()[one >>> 5] >>> (one & 31) & 1) === 1;
    }
    isComplete() {
        return c.grammar_is_complete(this) === 1;
    }
    isAwaiting() {
        return c.grammar_is_awaiting(this) === 1;
    }
    // The bytes that must follow, whatever comes.
    forced() {
        const bytes = new Uint8Array(4096), n = c.grammar_forced(this, bytes, 4096);
        return bytes.slice(0, n);
    }
    // What must follow as tokens, n at most: a draft for Chain's verify.
    draft(n = 64) {
        return tokensOf(n, 4096, (out, most) => c.grammar_draft(this, out, most));
    }
    // Those at its front that nothing else could be: they need no step of the model.
    certain(n = 64) {
        return tokensOf(n, 4096, (out, most) => c.grammar_certain(this, out, most));
    }
    // Do a part of the next mask's work ahead, `budget` steps of some ten nanoseconds. Is the mask there?
    prepare(budget) {
        return c.grammar_prepare(this, budget) === 1;
    }
    // What all samplers of this grammar have learnt together, and its memory.
    stats() {
        const of = {};
        c.grammar_stats(this, of);
        return Object.fromEntries(Object.entries(of).map(([name, n]) => [camel(name), Number(n)]));
    }
    // How much the grammar may hold for all its samplers, and how many steps a call on this one may take.
    setLimits(maxBytes, maxSteps) {
        c.set_grammar_limits(this, maxBytes, maxSteps);
    }
}

// The tokens that write(out, n) writes, n of them at most, of which there are never more than `most`.
function tokensOf(n, most, write) {
    const size = Math.min(whole(n, 'n', 0, Number.MAX_SAFE_INTEGER), most), out = new Int32Array(size);
    return [...out.subarray(0, Number(write(out, size)))];
}

// ---- constraints ----

// { tokens, bias } for C.
function sequence(tokens, bias, field) {
    return { tokens: integers(tokens, field), bias };
}

function spansOf(spans) {
    return listOf(spans, 'spans').map((span) => {
        const parts = listOf(span, 'spans').map((tokens) => integers(tokens, 'spans'));
        if (parts.length !== 2 && parts.length !== 3) throw wrong('spans', 'each is [start, end] or [start, end, force]');
        const [start, end, force = null] = parts;
        return { start, end, force };
    });
}

// What a loop is: a piece of minPeriod to maxPeriod tokens, `copies` times over, in the last lastN; looked for behind every
// `every` tokens.
function loopOf(loop) {
    const { minPeriod, maxPeriod, copies, lastN, every } = options(loop, { minPeriod: 4, maxPeriod: 128, copies: 3, lastN: 512, every: 16 }, 'loop');
    return { min_period: minPeriod, max_period: maxPeriod, copies, last_n: lastN, every };
}

// samp_init_banned_...'s flags, of { rewind, anyCase }.
function flagsOf(how, defaults) {
    const { rewind, anyCase = false } = options(how, defaults);
    return takeBool('rewind')(rewind) | takeBool('any_case')(anyCase) << 1;
}

// What masks, forces or weighs tokens by what has come before: for new Chain(vocab, { constraints: [...] }), which takes copies.
// Constraint.thinking(...), .schedule(...), .bannedPattern(...) and so on, named as samp_init_... is. Tokens are lists of numbers.
class Constraint extends Sampler {
    constructor(made) {
        super(made); // a holder
    }
    static #of(holder) {
        return new Constraint(holder);
    }
    clone() {
        return Constraint.#of(c.clone(this));
    }
    // At most `budget` tokens of thinking, and how it comes to its end. spans: what begins and ends it, each [start, end] or
    // [start, end, force]. vocab: tells where lines end. inside: the number of the span in which the text begins. total: of all
    // spans together. soft, softRatio: from so many tokens, or that share, on the note is said behind a line's end, and a bias
    // grows on the end (ramp 'linear' or 'exponential', to bias). grace: tokens more for the last line. ends: sequences that
    // end any span. loop: one ends it, from loopFrom tokens on.
    static thinking(spans, budget, plan) {
        const { vocab, inside, total, soft, softRatio, grace, note, ends, ramp, bias, loop, loopFrom } = options(plan, {
            vocab: null, inside: null, total: 0, soft: 0, softRatio: 0, grace: 0, note: [], ends: [], ramp: null, bias: 0, loop: null, loopFrom: 0,
        }, 'plan');
        const all = spansOf(spans), said = integers(note, 'note'), lasts = listOf(ends, 'ends').map((tokens) => sequence(tokens, 0, 'ends'));
        return Constraint.#of(c.init_thinking(vocab, all, budget, inside === null ? -1 : whole(inside, 'inside'), {
            total, soft, soft_ratio: softRatio, grace, note: said.length ? said : null, ends: lasts,
            ramp: ramp ?? 'none', bias, loop: loop && [loopOf(loop)], loop_from: loopFrom,
        }));
    }
    // `what` at work at times only: a Constraint (a copy), or settings, such as { temperature: 1.5 }. count: 'tokens' or 'lines' n,
    // from the beginning or the last border of a span; start <= n < stop (0: for ever). where: 'anywhere', 'inside' or
    // 'outside' of spans. until: over once one of these tokens has come. loop: n is 0 behind a loop that was found, too.
    static schedule(what, when) {
        const { count, start, stop, begin, where, spans, inside, until, vocab, loop } = options(when, {
            count: 'tokens', start: 0, stop: 0, begin: 0, where: 'anywhere', spans: [], inside: null, until: [], vocab: null, loop: null,
        }, 'when');
        const of = {
            count, from: start, to: stop, begin, where, spans: spansOf(spans), inside: inside === null ? 0 : whole(inside, 'inside') + 1,
            until: integers(until, 'until'), vocab, loop: loop && [loopOf(loop)],
        };
        return Constraint.#of(c.init_schedule(of, isA(what, Constraint) ? c.clone(what) : stepsOf(what, vocab)));
    }
    // Finds loops and changes nothing: loopLength() tells.
    static loopWatch(loop) {
        return Constraint.#of(c.init_loop_watch(loopOf(loop)));
    }
    // In a loop, penalty less for the token that goes on with it.
    static loopBreaker(loop, penalty = Infinity) {
        return Constraint.#of(c.init_loop_breaker(...Object.values(loopOf(loop)), penalty));
    }
    // The same for loops without a fixed period.
    static loopBreakerCusum(how) {
        const { n, lastN, loss, alarm, penalty } = options(how, { n: 6, lastN: 4096, loss: 0.25, alarm: 15, penalty: Infinity });
        return Constraint.#of(c.init_loop_breaker_cusum(n, lastN, loss, alarm, penalty));
    }
    // No text that a regular expression matches. rewind: only seen when it is there; see rewindLength().
    static bannedPattern(vocab, pattern, how) {
        return Constraint.#of(c.init_banned_pattern(vocab, patternOf(pattern), flagsOf(how, { rewind: false, anyCase: false })));
    }
    // None of these strings, whatever tokens spell it.
    static bannedStrings(vocab, strings, how) {
        return Constraint.#of(c.init_banned_strings(vocab, listOf(strings, 'strings'), flagsOf(how, { rewind: false, anyCase: false })));
    }
    // None of these sequences of tokens.
    static bannedSequences(sequences, how) {
        const all = listOf(sequences, 'sequences').map((tokens) => sequence(tokens, -Infinity, 'sequences'));
        return Constraint.#of(c.init_banned_sequences(all, flagsOf(how, { rewind: false })));
    }
    // [[tokens, bias], ...]: for the token that would complete a sequence.
    static sequenceBias(biases) {
        const all = listOf(biases, 'sequences').map((pair) => {
            const [tokens, bias, ...more] = listOf(pair, 'sequences');
            if (more.length) throw wrong('sequences', 'each is [tokens, bias]');
            return sequence(tokens, bias, 'sequences');
        });
        return Constraint.#of(c.init_sequence_bias(all));
    }
    static #listed(make, tokens, ...more) {
        return Constraint.#of(make(integers(tokens, 'tokens'), ...more));
    }
    // Never these tokens.
    static suppressedTokens(tokens) {
        return Constraint.#listed(c.init_suppressed_tokens, tokens);
    }
    // Not these at the position begin.
    static beginSuppressedTokens(tokens, begin = 0) {
        return Constraint.#listed(c.init_begin_suppressed_tokens, tokens, begin);
    }
    // Not these, usually vocab.eog, before nMin tokens.
    static minTokens(tokens, nMin, begin = 0) {
        return Constraint.#listed(c.init_min_tokens, tokens, nMin, begin);
    }
    // Only these tokens.
    static allowedTokens(tokens) {
        return Constraint.#listed(c.init_allowed_tokens, tokens);
    }
    // These tokens first, one after the other.
    static forcedPrefix(tokens, begin = 0) {
        return Constraint.#listed(c.init_forced_prefix, tokens, begin);
    }
    // A bias on these, usually vocab.eog.
    static eogBias(tokens, bias) {
        return Constraint.#listed(c.init_eog_bias, tokens, bias);
    }
    // These, usually vocab.eog, are more likely the longer the text is beyond start tokens.
    static lengthPenalty(tokens, start, factor, begin = 0) {
        return Constraint.#listed(c.init_length_penalty, tokens, start, factor, begin);
    }
    // topP whose p falls along a sentence.
    static topPDecay(p, decay, lowest, resets = [], minKeep = 0) {
        return Constraint.#of(c.init_top_p_decay(p, decay, lowest, integers(resets, 'resets'), minKeep));
    }
    // No n tokens that stand in the last lastN already.
    static noRepeatNgram(n, lastN = 4096, exempt = []) { // the tokens exempt are never masked
        return Constraint.#of(c.init_no_repeat_ngram_except(n, lastN, integers(exempt, 'exempt')));
    }
    // Whisper's rules for time stamps: the tokens from first on, in pairs, none before an earlier one, the first of a text at
    // most maxInitial behind first. noTimestamps: the token that is masked. exempt: tokens that may follow a single time stamp
    // behind text, such as the end.
    static timestamps(first, how) {
        const { noTimestamps, maxInitial, exempt } = options(how, { noTimestamps: null, maxInitial: null, exempt: [] });
        return Constraint.#of(c.init_timestamps_except(first, noTimestamps ?? -1, maxInitial ?? -1, integers(exempt, 'exempt')));
    }
}

// A chain of what settings say, without what draws; the usual numbers of the others are off.
function stepsOf(settings, vocab) {
    const values = valuesOf(settings);
    for (const name of ['mirostat', 'adaptive_target', 'seed', 'rng'])
        if (values.has(name)) throw wrong(name, 'what draws does so at all times', E_UNSUPPORTED);
    const chain = chainFrom(new Map([...valuesOf({ temp: 1, top_k: 0, top_p: 1, min_p: 0 }), ...values]), vocab);
    c.chain_remove(chain, c.chain_n(chain) - 1).release();
    return chain;
}

// ---- watermarks ----

let markOf, selects; // the sampler of a Watermark, with this seed for draws without a mark; does it select a token?

// The mark of a secret key, for new Chain(vocab, { watermark }), and its detector. kind: 'gumbel', 'gumbel_dual', 'synthid' (these
// draw in place of the chain's last sampler), 'sbw_selfhash', 'sbw_lefthash' (a bias). seed: of draws without a mark; null: the
// chain's. numbers: contextWidth, scope, history, alpha, depth, gamma, delta. The key is written nowhere.
class Watermark {
    #mark;
    #seeded;
    #drafts = false;
    constructor(key, kind = 'gumbel', numbers) {
        const given = options(numbers, {
            seed: null, contextWidth: null, scope: null, history: null, alpha: null, depth: null, gamma: null, delta: null,
        }, 'numbers');
        this.#mark = Object.assign(c.default_watermark(kind), { key });
        this.#seeded = given.seed !== null;
        for (const [name, value] of Object.entries(given)) if (value !== null) this.#mark[snake(name)] = value;
        markOf(this, null).release();
    }
    // The mark for the small model that drafts ('gumbel_dual').
    forDraft() {
        const other = new Watermark(0);
        [other.#mark, other.#seeded, other.#drafts] = [this.#mark, this.#seeded, true];
        markOf(other, null).release();
        return other;
    }
    // Does this text, the tokens as they were generated without the prompt, carry the mark?
    detect(text) {
        return this.detectKeys([this.#mark.key], text)[0];
    }
    // The same for each of these keys in place of its own.
    detectKeys(keys, text) {
        const all = BigUint64Array.from(listOf(keys, 'keys').map(takeKey), BigInt), tokens = integers(text, 'text', 0);
        const out = Array.from({ length: Math.max(all.length, 1) }, () => ({}));
        c.watermark_detect_keys(this.#mark, all, tokens, out);
        return out.slice(0, all.length).map(resultOf);
    }
    // The piece of `window` tokens that is most likely marked.
    find(text, window = 200) {
        const out = {};
        c.watermark_find(this.#mark, integers(text, 'text', 0), window, out);
        return { begin: Number(out.begin), end: Number(out.end), result: resultOf(out.result), pValue: out.p_value, lnP: out.ln_p };
    }
    static {
        markOf = (watermark, seed) => {
            const mark = watermark.#seeded || seed === null ? watermark.#mark : { ...watermark.#mark, seed };
            return watermark.#drafts ? c.init_watermark_draft(mark) : c.init_watermark(mark);
        };
        selects = (watermark) => {
            if (typeof watermark !== 'object' || !(#mark in watermark)) throw wrong('watermark', `${said(watermark)} is no Watermark`, E_NULL);
            return !watermark.#mark.kind.startsWith('sbw');
        };
    }
}
const takeKey = takeNumber('u64', '..', 'keys');
const resultOf = (of) => ({ score: of.score, pValue: of.p_value, nScored: Number(of.n_scored), lnP: of.ln_p });

// ---- tokens to text ----

const STATES = ['goes_on', 'stopped', 'ended'], START = new Addresses(1), LENGTH = new Addresses(1), PLACE = new Int32Array(1);

// Tokens become the text that may be shown: whole characters, and no byte of a stop. stops: strings that end the text, however
// they fall into tokens; stopTokens: tokens that do so besides vocab.eog. minTokens: the first so many end nothing. includeStop:
// the stop is shown. rawBytes: Uint8Arrays, with broken characters as they are. stripSpace: a space at the beginning is left out.
class Text extends Owner {
    #raw;
    #last;
    #state;
    constructor(vocab, stops = [], how) {
        const { holder, raw, last, state = 'goes_on' } = isA(vocab, Made) ? vocab : Text.#make(vocab, stops, how);
        super(holder);
        [this.#raw, this.#last, this.#state] = [raw, last, state];
    }
    static #make(vocab, stops, how) {
        const { stopTokens, minTokens, includeStop, rawBytes, stripSpace } = options(how, {
            stopTokens: [], minTokens: 0, includeStop: false, rawBytes: false, stripSpace: false,
        });
        const holder = blaming('stops', () => c.text_init(vocab, listOf(stops, 'stops'), {
            stop_tokens: integers(stopTokens, 'stop_tokens', 0, 2 ** 22 - 1), min_tokens: minTokens, include_stop: includeStop,
            raw_bytes: rawBytes, strip_space: stripSpace,
        }));
        return new Made(holder, { raw: rawBytes, last: vocab.length - 1 });
    }
    #shown() {
        const bytes = LENGTH[0] ? koffi.decode(BigInt(START[0]), 'uint8_t', Number(LENGTH[0])) : new Uint8Array(0);
        return this.#raw ? bytes : decoder.decode(bytes);
    }
    // What may be shown now; state tells whether more can follow.
    push(token) {
        this.#state = STATES[c.text_push(this, whole(token, 'token', 0, this.#last), START, LENGTH)];
        return this.#shown();
    }
    // No token follows: what was held back.
    flush() {
        c.text_flush(this, START, LENGTH);
        if (this.#state === 'goes_on') this.#state = 'ended';
        return this.#shown();
    }
    // 'goes_on', 'stopped' (a stop is complete), 'ended' (by a token, or by flush).
    get state() {
        return this.#state;
    }
    // Which stop has ended the text, of stops and behind them of patterns; null: none.
    get stop() {
        const stop = c.text_stop(this);
        return stop < 0 ? null : stop;
    }
    // Where the stop begins, or which token has ended the text: { token, byte }, its number and a place in its bytes. null: nothing has.
    get stopAt() {
        try {
            c.text_stop_at(this, PLACE, LENGTH);
        } catch (error) {
            if (error.status !== E_EMPTY) throw error;
            return null;
        }
        return { token: PLACE[0], byte: Number(LENGTH[0]) };
    }
    // A regular expression that ends the text, too, where it matches maxBytes bytes at most. Before the first token.
    addPattern(pattern, maxBytes = 1024) {
        blaming('pattern', () => c.text_add_pattern(this, patternOf(pattern), maxBytes));
    }
    // Take back the last n tokens; what they have shown is yours to take back. 0: only a flush.
    rollback(n = 1) {
        c.text_rollback(this, n);
        if (this.stopAt === null) this.#state = 'goes_on';
    }
    clone() {
        return new Text(new Made(c.text_clone(this), { raw: this.#raw, last: this.#last, state: this.#state }));
    }
    // An empty text with the same stops.
    reset() {
        c.text_reset(this);
        this.#state = 'goes_on';
    }
}

// A text that proposes how it goes on: as it did where its last tokens, nMax to nMin of them, came before, within maxTokens tokens.
class Ngram extends Owner {
    #most;
    constructor(nMin = 2, nMax = 5, maxTokens = 8192) {
        const least = whole(nMin, 'n_min', 1, 64), longest = whole(nMax, 'n_max', least, 64), most = whole(maxTokens, 'max_tokens', longest, 2 ** 26);
        super(c.ngram_init(least, longest, most));
        this.#most = most;
    }
    // A token, or several: of the prompt, and what the chain has accepted.
    accept(token) {
        acceptEach(c.ngram_accept, this, token);
    }
    rollback(n = 1) {
        c.ngram_rollback(this, n);
    }
    // n tokens at most: a draft for Chain's verify.
    draft(n = 64) {
        return tokensOf(n, this.#most, (out, most) => c.ngram_draft(this, out, most));
    }
    reset() {
        c.ngram_reset(this);
    }
}

// ---- beams, and texts to fill in ----

const EARLY = new Map([[false, 'heuristic'], [true, 'always'], ['never', 'exact']]);
const SCORE = new Float64Array(1);

// Beam search: the nBeams best continuations of a text, with transformers' names and rules. ends: the tokens that end a text.
// sampled: the texts are drawn without replacement, by seed.
class Beams extends Owner {
    #n;
    constructor(nBeams, maxTokens, how) {
        const { ends, lengthPenalty, earlyStopping, nGroups, diversityPenalty, sampled, seed } = options(how, {
            ends: [], lengthPenalty: 1, earlyStopping: false, nGroups: 1, diversityPenalty: 0, sampled: false, seed: 0,
        });
        const n = whole(nBeams, 'n_beams', 1, 4096);
        if (!EARLY.has(earlyStopping)) throw wrong('early_stopping', `${said(earlyStopping)} is none of false, true, 'never'`);
        const params = {
            n_beams: n, n_groups: whole(nGroups, 'n_groups', 0, n), max_tokens: maxTokens, length_penalty: lengthPenalty,
            diversity_penalty: diversityPenalty, early_stopping: EARLY.get(earlyStopping), ends: integers(ends, 'ends', 0), seed, sampled,
        };
        super(blaming('n_groups', () => c.beams_init(params)));
        this.#n = n;
    }
    // The next beams, best first: [{ parent, token }]; none: the search is done. logits: a row for each live beam, the first time
    // one; chains: as many as nBeams, made alike (clone), which change the rows and follow their beams.
    step(logits, how) {
        const { chains, dtype } = options(how, { chains: null, dtype: undefined });
        const all = chains === null ? null : listOf(chains, 'chains'), { data, dtype: type, rows = 1 } = floats(logits, dtype);
        if (all && (all.length !== this.#n || !all.every(isChain))) throw wrong('chains', `not a list of ${this.#n} Chains`, E_NULL);
        const n = lengthOf(data) / rows, tokens = new Int32Array(this.#n), parents = new Int32Array(this.#n);
        if (!Number.isInteger(n) || n < 1) throw wrong('logits', `${lengthOf(data)} numbers, not ${rows} rows`);
        for (const chain of all ?? []) fits(chain, n);
        const live = c.beams_step(this, all, { ...oneRow(data, n), dtype: type, n_rows: rows }, tokens, parents);
        return Array.from({ length: live }, (_, i) => ({ parent: parents[i], token: tokens[i] }));
    }
    // The texts found so far, best first: [{ tokens, score }]; score is log-probability / length ** lengthPenalty.
    get found() {
        return Array.from({ length: c.beams_n_found(this) }, (_, i) => {
            c.beams_found(this, i, START, LENGTH, SCORE);
            return { tokens: [...koffi.decode(BigInt(START[0]), 'int32_t', Number(LENGTH[0]))], score: SCORE[0] };
        });
    }
    // The search as bytes, for load of one with the same values; chains have states of their own.
    save() {
        const state = new Uint8Array(Number(c.beams_state_size(this)));
        c.beams_state_save(this, state, state.length);
        return state;
    }
    load(state) {
        if (tagOf(state) !== 'Uint8Array') throw wrong('state', `${said(state)} is no Uint8Array`, E_DTYPE);
        c.beams_state_load(this, isShared(state) ? new Uint8Array(state) : state);
    }
}

// A step of a diffusion model: a token for each masked position that is filled, null for the others. chains and logits (a list of
// rows): one for each masked position. rule: 'confidence', 'margin', 'entropy', 'raw_confidence', 'random': n positions;
// 'threshold', 'entropy_bound': up to threshold; 'independent': each with the probability threshold; of these three n 0 is no limit.
// temp: the first four draw the positions (Dream's alg_temp).
function unmask(chains, logits, how) {
    const { rule, n, threshold, seed, temp, dtype } = options(how, { rule: 'confidence', n: 1, threshold: 0, seed: 0, temp: 0, dtype: undefined });
    const all = listOf(chains, 'chains'), { data, dtype: type, rows = 1 } = floats(logits, dtype), size = lengthOf(data) / rows;
    if (!all.every(isChain)) throw wrong('chains', 'not a list of Chains', E_NULL);
    if (rows !== all.length || !Number.isInteger(size) || size < 1) throw wrong('logits', `${lengthOf(data)} numbers, not ${all.length} rows`);
    for (const chain of all) fits(chain, size);
    const out = new Int32Array(rows), params = { rule, n: whole(n, 'n', 0), threshold, seed, temp };
    blaming('n, threshold or temp', () => c.unmask(params, all, { ...oneRow(data, size), dtype: type, n_rows: rows }, out));
    return [...out].map((token) => (token < 0 ? null : token));
}
// How many positions step 0 .. nSteps - 1 fills: 'even' (LLaDA) or 'linear' (Dream).
const unmaskCount = (schedule, nMasked, step, nSteps) => c.unmask_count(schedule, nMasked, step, nSteps);

// ---- settings ----

// What vLLM, transformers, llama-cpp-python and node-llama-cpp call the settings; and the samplers' names, for a first value.
const aliases = {
    temperature: 'temp', typical: 'typ_p', xtc: 'xtc_probability', dry: 'dry_multiplier', penalties: 'penalty_last_n',
    repetition_penalty: 'penalty_repeat', repeat_penalty: 'penalty_repeat', frequency_penalty: 'penalty_freq',
    presence_penalty: 'penalty_present', repeat_last_n: 'penalty_last_n', typical_p: 'typ_p', mirostat_mode: 'mirostat',
    tfs: 'tfs_z', dynatemp_exp: 'dynatemp_exponent', smoothing: 'smoothing_factor',
};
function nameOf(name) {
    const of = snake(takeText('name')(name));
    return Object.hasOwn(aliases, of) ? aliases[of] : of;
}

// A plain object's members, each read once.
function membersOf(of, field) {
    const members = Object.create(null);
    options(of ?? null, {}, field, members);
    return members;
}

const takeBias = takeNumber('f32', '-inf..', 'logit_bias'), takeSeed = takeNumber('u64', '..', 'seed');

// A value as the texts that samp_settings_set takes, one after the other; null: the default.
function textsOf(name, value) {
    const number = (x) => (x === Infinity ? 'inf' : x === -Infinity ? '-inf' : String(x)), isList = typeof value === 'object' && value !== null;
    if (value === null || value === undefined) return [null];
    if (name === 'logit_bias' && isList) {
        const pairs = Symbol.iterator in value ? listOf(value, name).map((pair) => listOf(pair, name)) : Object.entries(membersOf(value, name));
        return pairs.map(([token, bias, ...more]) => {
            if (more.length) throw wrong(name, 'each is a token and its bias');
            const id = whole(typeof token === 'string' && /^\d+$/.test(token) ? Number(token) : token, name), x = takeBias(bias);
            return `${id}${x >= 0 ? '+' : ''}${number(x)}`;
        });
    }
    if (name === 'order' && isList) return [listOf(value, name).map(takeText(name)).join(';')];
    if (name === 'dry_breakers' && isList) return listOf(value, name).map(takeText(name));
    if (typeof value === 'string' || name === 'order' || name === 'dry_breakers') return [takeText(name)(value)];
    if (typeof value === 'boolean' && name === 'top_k_ties') return [String(Number(value))];
    if (typeof value !== 'number' && typeof value !== 'bigint') throw wrong(name, `${said(value)} is neither a number nor a string`, E_FORMAT);
    return [name === 'seed' ? String(takeSeed(value)) : number(value)];
}

// A Map from each setting's name to what it is called here, its value, and its texts.
function valuesOf(settings) {
    const values = new Map();
    for (const [called, value] of Object.entries(membersOf(settings, 'settings'))) {
        const name = nameOf(called);
        if (values.has(name)) throw wrong(name, `it is said twice, as ${called} too`, E_NAME);
        values.set(name, { called, value, texts: textsOf(name, value) });
    }
    return values;
}

function checkParams(params) {
    try {
        c.check_params(params);
    } catch (error) {
        throw error.field === 'params' ? error : new SamplingError(error.status, error.field, textOf((buffer, size) => c.params_error_text(params, buffer, size)));
    }
}

// use(settings) with a samp_settings that has these values.
function withSettings(values, vocab, use) {
    const settings = c.settings_init();
    try {
        if (isVocab(vocab)) c.settings_use_vocab(settings, vocab);
        else if (vocab !== null) c.settings_set(settings, 'n_vocab', String(whole(vocab, 'vocab')));
        for (const [name, { texts }] of values) for (const text of texts) c.settings_set(settings, name, text);
        checkParams(c.settings_params(settings));
        return use(settings);
    } finally {
        settings.release();
    }
}
const chainFrom = (values, vocab) => withSettings(values, vocab, (settings) => c.chain_from_params(c.settings_params(settings)));

// A chain's last sampler must draw, where a watermark is to draw in its place.
function mustDraw(chain) {
    if (c.name(c.chain_get(chain, c.chain_n(chain) - 1)) !== 'dist')
        throw wrong('watermark', 'this kind needs a draw: temperature above 0, no mirostat, no adaptiveTarget', E_UNSUPPORTED);
}

// ---- chains ----

let isChain, fits; // fits(chain, n) throws if a row of n tokens does not fit

// A chain of samplers: new Chain(vocab, { topK: 40, temperature: 0.8, dryBreakers: ['\n'], logitBias: { 7: -100 }, grammar }).
// vocab: how many tokens there are, a Vocab, or a list for one; null: rows of any length. constraints: copies of these stand
// behind the grammar. watermark: a Watermark, which draws in place of the last sampler, or stands behind the constraints.
class Chain extends Sampler {
    #vocab;
    #values;
    #marks; // it has a selecting sampler of its own: true, or 'replay', which needs no draw in its place
    #request; // reads it into settings
    constructor(vocab = null, settings = {}) {
        const made = isA(vocab, Made) ? vocab : Chain.#make(vocab, settings);
        super(made.holder);
        this.#vocab = made.vocab;
        this.#values = made.values;
        this.#marks = made.marks;
        this.#request = made.request ?? null;
    }
    static #make(vocab, settings) {
        const others = Object.create(null), more = options(settings, { grammar: null, constraints: [], watermark: null }, 'settings', others);
        return Chain.#build(vocab, valuesOf(others), more, () => []);
    }
    // read(settings, vocab): more constraints, the first ones.
    static #build(given, values, { grammar, constraints, watermark }, read) {
        const vocab = typeof given !== 'object' || given === null || isVocab(given) ? given : new Vocab(given), own = listOf(constraints, 'constraints');
        const holder = withSettings(values, vocab, (settings) => {
            const all = [...read(settings, vocab), ...own], chain = c.chain_from_params(c.settings_params(settings));
            try {
                all.forEach((one, i) => {
                    if (!isA(one, Constraint)) throw wrong('constraints', `${said(one)} is no Constraint`, E_NULL);
                    c.chain_insert(chain, i, c.clone(one));
                });
                if (watermark !== null) Chain.#mark(chain, watermark, all.length);
                if (isA(grammar, Matcher)) c.chain_insert(chain, 0, c.clone(grammar));
                else if (grammar !== null) {
                    if (!isVocab(vocab)) throw wrong('vocab', "a grammar needs a Vocab, to know the tokens' bytes", E_NULL);
                    c.chain_insert(chain, 0, c.init_grammar(indexOf(vocab), grammar));
                }
                return chain;
            } catch (error) {
                chain.release();
                throw error;
            }
        });
        return new Made(holder, { vocab, values, marks: watermark !== null && selects(watermark) });
    }
    static #mark(chain, watermark, place) {
        if (selects(watermark)) {
            mustDraw(chain);
            const mark = markOf(watermark, c.get_seed(chain));
            c.chain_remove(chain, c.chain_n(chain) - 1).release();
            c.chain_add(chain, mark);
        } else c.chain_insert(chain, place, markOf(watermark, c.get_seed(chain)));
    }
    get vocab() {
        return this.#vocab;
    }
    get nVocab() {
        return isVocab(this.#vocab) ? this.#vocab.length : this.#vocab;
    }
    clone() {
        return new Chain(new Made(c.clone(this), { vocab: this.#vocab, values: this.#values, marks: this.#marks, request: this.#request }));
    }
    // What a request to another program asks for, by its names, defaults and ranges. handled: fields that you see to. lenient:
    // fields that the program does not have are left out; .leftOut has their names. thinking: what makes a Constraint of a
    // number of tokens to think, if the request says one. nPrompt: how many tokens of a prompt you will accept, behind which
    // the request's least number of tokens begins. .withPrompt tells whether the prompt is to be accepted.
    static fromRequest(peer, request, more) {
        const { vocab, handled, lenient, seed, thinking, nPrompt, ...others } = options(more, {
            vocab: null, grammar: null, handled: [], lenient: false, seed: null, thinking: null, nPrompt: 0, constraints: [], watermark: null,
        }, 'more');
        const text = jsonOf(request, 'request'), names = listOf(handled, 'handled'), isLenient = takeBool('lenient')(lenient), begin = whole(nPrompt, 'n_prompt');
        if (thinking !== null && typeof thinking !== 'function') throw wrong('thinking', `${said(thinking)} is no function`);
        const left = new Uint8Array(64 + (isLenient ? 8 * encoder.encode(text).length : 0)), own = []; // no name is 8 times as long as its JSON
        const read = (settings, told) => {
            try {
                if (isLenient) c.settings_from_lenient(settings, peer, text, names, told, left, left.length);
                else c.settings_from(settings, peer, text, names, told);
            } catch (error) {
                if (!told.error?.message) throw error;
                throw wrong(told.field || 'request', told.error.message, error.status);
            }
            return told;
        };
        const told = {};
        try {
            const made = Chain.#build(vocab, valuesOf({ seed }), others, (settings, of) => {
                const ends = isVocab(of) ? of.eog : [], { min_tokens, mask_ends, thinking_budget } = read(settings, told);
                if (told.guidance_scale !== 1) throw wrong('guidance_scale', 'guide the logits yourself, and say it in handled', E_UNSUPPORTED);
                if (told.n_beams) throw wrong('beams', 'make Beams yourself, and say the field in handled', E_UNSUPPORTED);
                for (const name of ['min_tokens', 'mask_ends']) if (told[name] && !ends.length) throw wrong(name, 'it needs a Vocab that has eog', E_UNSUPPORTED);
                if (mask_ends) own.push(Constraint.suppressedTokens(ends));
                if (min_tokens) own.push(Constraint.minTokens(ends, min_tokens, begin));
                if (thinking_budget < 0) return own;
                if (!thinking) throw wrong('thinking_budget', 'say thinking, or see to it yourself, by handled', E_UNSUPPORTED);
                return [...own, thinking(thinking_budget)];
            });
            const chain = new Chain(Object.assign(made, { values: null, request: (settings) => read(settings, {}) }));
            chain.withPrompt = told.with_prompt;
            chain.leftOut = decoder.decode(left.subarray(0, left.indexOf(0))).split(';').filter((name) => name);
            return chain;
        } finally {
            for (const one of own) one.close();
        }
    }
    // A Text with the stops of the request that the chain was made of; of another chain only vocab.eog ends it.
    text(vocab = this.#vocab) {
        c.status(this);
        const holder = withSettings(this.#values ?? new Map(), vocab, (settings) => {
            this.#request?.(settings);
            return blaming('stop', () => c.text_from_settings(settings, vocab));
        });
        return new Text(new Made(holder, { raw: false, last: vocab.length - 1 }));
    }
    // The next token, which the chain has then accepted. mask: a Uint32Array of bits, or a bool for each token. logprobs:
    // the n most likely tokens too; ids: given tokens' log-probabilities; support: the tokens that could be drawn, if they are
    // at most so many; then { token, logprobs }. dtype: of a Uint16Array, 'float16' or 'bfloat16'.
    sample(logits, given) {
        if (given === undefined && tagOf(logits) === 'Float32Array' && !isShared(logits)) return this.#draw(logits); // the same, faster
        const { mask, dtype, ...told } = options(given, { mask: null, ...NOTHING_TOLD, dtype: undefined }), at = floats(logits, dtype);
        if (at.rows !== undefined) throw wrong('logits', 'this is no row; sampleBatch takes many');
        if (mask === null && !isTold(told) && at.dtype === 'f32') return this.#draw(at.data);
        const n = lengthOf(at.data);
        this.#fits(n);
        try {
            const all = batch([this], at, { nVocab: n, stride: n, mask, told, index: null, nThreads: 1 });
            return isTold(told) ? { token: all.tokens[0], logprobs: all.logprobs[0] } : all[0];
        } catch (error) {
            throw error instanceof BatchError ? error.errors.get(0) : error;
        }
    }
    #draw(row) {
        const n = lengthOf(row);
        this.#fits(n);
        try {
            return c.sample(this, row);
        } catch (error) {
            throw because(error, oneRow(row, n));
        }
    }
    // What the chain would give a token now: { raw, processed, rank, removedBy }.
    score(logits, token) {
        const { raw, processed, rank, removed_by: removedBy } = this.#judge(logits, token, c.score, {});
        return { raw, processed, rank, removedBy };
    }
    // What each sampler that is on leaves: [{ name, nLeft, mass, p }].
    explain(logits, token) {
        const lines = Array.from({ length: 256 }, () => ({})); // a chain that works on rows has no more
        return this.#judge(logits, token, (...all) => lines.slice(0, c.explain(...all, lines.length)), lines)
            .map(({ name, n_left: nLeft, mass, p }) => ({ name, nLeft: Number(nLeft), mass, p }));
    }
    #judge(logits, token, call, out) {
        const at = floats(logits), row = widened(at), n = lengthOf(row);
        if (at.rows !== undefined) throw wrong('logits', 'this is no row');
        this.#fits(n);
        try {
            const said = call(this, row, whole(token, 'token', 0, n - 1), out);
            return Array.isArray(out) ? said : out;
        } catch (error) {
            throw because(error, oneRow(row, n));
        }
    }
    // A copy of the chain that gives these tokens instead of drawing, the first one at the position 0: so their logprobs are
    // told as if the chain had drawn them. A token that the chain removes comes all the same.
    replay(tokens) {
        const text = integers(tokens, 'tokens', 0), other = c.clone(this);
        try {
            const last = c.init_replay(text);
            c.chain_remove(other, c.chain_n(other) - 1).release();
            c.chain_add(other, last);
        } catch (error) {
            other.release();
            throw error;
        }
        return new Chain(new Made(other, { vocab: this.#vocab, values: this.#values, marks: 'replay', request: this.#request }));
    }
    // Where is a text not what this chain draws? The first of the rows, side by side, from which it draws another token than the
    // row's of tokens, or null. The chain moves as if it had drawn the rows up to that one.
    replayCheck(logits, tokens, given) {
        const { mask, dtype } = options(given, { mask: null, dtype: undefined }), text = integers(tokens, 'tokens', 0), at = floats(logits, dtype);
        const rows = rowsOf(at, text.length, lengthOf(at.data) / text.length, mask);
        this.#fits(rows.n_vocab);
        if (text.some((token) => token >= rows.n_vocab)) throw wrong('tokens', `not all are below ${rows.n_vocab}`);
        try {
            const first = Number(c.replay_check(this, rows, text));
            return first < text.length ? first : null;
        } catch (error) {
            throw ofFirst(error, rows);
        }
    }
    // How much of a draft is right? The tokens that are accepted, and one more. logits: a row more than the draft has
    // tokens, side by side. method: 'exact', 'ratio' or 'block'; probs [n, nVocab], or [n, nTop] with ids. logprobs,
    // logprobIds, support: as sample's logprobs, ids, support; then { tokens, logprobs }.
    verify(logits, draft, given) {
        const { probs, ids, method, dtype, logprobs, logprobIds, support } = options(given, { probs: null, ids: null, method: 'exact', dtype: undefined, logprobs: null, logprobIds: null, support: null });
        const tokens = integers(draft, 'draft', 0), n = tokens.length, q = probs && widened(floats(probs, undefined, 'probs'));
        const which = ids && integers(listOf(ids, 'ids').flatMap((row) => (typeof row === 'object' ? listOf(row, 'ids') : row)), 'ids');
        const at = floats(logits, dtype), row = widened(at), nVocab = lengthOf(row) / (n + 1);
        if (!Number.isInteger(nVocab) || (at.rows ?? n + 1) !== n + 1) throw wrong('logits', 'they must have a row more than the draft has tokens');
        this.#fits(nVocab);
        if (tokens.some((token) => token >= nVocab)) throw wrong('draft', `not all are below ${nVocab}`);
        if (!['exact', 'ratio', 'block'].includes(method)) throw wrong('method', `${said(method)} is none of exact, ratio, block`);
        if (q && lengthOf(q) !== (which ? which.length : n * nVocab)) throw wrong('probs', `${lengthOf(q)} do not fit`);
        if (which && (!q || which.length % n)) throw wrong('ids', 'they do not fit probs and the draft');
        const of = { tokens, probs: q, ids: which, n_top: which && n ? which.length / n : 1 }, out = new Int32Array(n + 1).fill(-1);
        const rows = { ...oneRow(row, nVocab), n_rows: n + 1 }, room = roomFor(n + 1, wanted({ logprobs, ids: logprobIds, support }, nVocab, 'logprob_ids'));
        try {
            of.logprobs = room && room.at;
            const accepted = method === 'block' ? c.verify_block(this, row, nVocab, of, out) : c.verify(this, row, nVocab, of, method, out);
            const taken = [...out.subarray(0, accepted)], read = (all) => room && all.map((_, r) => room.read(r));
            if (out[accepted] < 0)
                throw new BatchError(taken, new Map([[accepted, because(new SamplingError(out[accepted]), rows, accepted)]]), read(taken));
            const tokens = [...taken, out[accepted]];
            return room ? { tokens, logprobs: read(tokens) } : tokens;
        } catch (error) {
            throw error instanceof BatchError ? error : because(error, rows);
        } finally {
            room?.free();
        }
    }
    // Other values for these settings, between two tokens; what the chain has seen stays. null: the default.
    update(settings) {
        const values = new Map([...this.#named(), ...valuesOf(settings)]);
        if (this.#marks === true) {
            const trial = chainFrom(values, this.#vocab);
            try {
                mustDraw(trial);
            } finally {
                trial.release();
            }
        }
        withSettings(values, this.#vocab, (of) => c.chain_update(this, c.settings_params(of)));
        if (this.#marks) c.chain_remove(this, c.chain_n(this) - 2).release(); // the new draw, in front of the mark or the replay
        this.#values = values;
    }
    #named() {
        c.status(this);
        if (!this.#values) throw new SamplingError(E_UNSUPPORTED, null, 'a chain of fromRequest has no settings by name');
        return this.#values;
    }
    get settings() {
        return Object.fromEntries(Array.from(this.#values?.values() ?? [], ({ called, value }) => [called, value]));
    }
    // A setting's value, as text.
    get(name) {
        return withSettings(this.#named(), this.#vocab, (of) => textOf((buffer, size) => c.settings_get(of, nameOf(name), buffer, size), name));
    }
    // The last accepted tokens, n at most, the oldest first.
    prev(n = 64) {
        return tokensOf(n, 2 ** 20, (out, most) => c.prev(this, out, most));
    }
    #fits(n) {
        if (n !== this.#vocab && isVocab(this.#vocab) ? n < this.#vocab.length : this.#vocab !== null && n !== this.#vocab)
            throw wrong('logits', `there are ${n}, not ${this.nVocab}`);
        if (!n) throw new SamplingError(E_EMPTY);
    }
    static {
        isChain = (value) => typeof value === 'object' && value !== null && #marks in value;
        fits = (chain, n) => chain.#fits(n);
    }
}

// One row, as a samp_logits.
const oneRow = (data, n) => ({ data, dtype: 'f32', n_rows: 1, n_vocab: n, stride: n, row_index: null, mask: null, mask_stride: 0, logprobs: null, n_threads: 1 });

// An error of a row of these logits, which says what is wrong with them.
function because(error, logits, row = 0) {
    if (error.status !== E_NAN && error.status !== E_EMPTY) return error;
    const text = textOf((buffer, size) => c.logits_error_text(logits, row, buffer, size));
    return text === 'ok' ? error : new SamplingError(error.status, null, text);
}

// The same of the first row that has one.
function ofFirst(error, logits) {
    for (let r = 0; r < logits.n_rows; r++) {
        const of = because(error, logits, r);
        if (of !== error) return wrong('logits', `row ${r}: ${of.message}`, of.status);
    }
    return error;
}

// What is to be told of a token, in options; and checked, or null: nothing.
const NOTHING_TOLD = { logprobs: null, ids: null, support: null };
const isTold = ({ logprobs, ids, support }) => logprobs !== null || ids !== null || support !== null;
const wanted = (told, nVocab, name = 'ids') => (isTold(told) ? {
    n: told.logprobs === null ? 0 : whole(told.logprobs, 'logprobs', 0, 1024), ids: integers(told.ids ?? [], name, 0, nVocab - 1),
    most: told.support === null ? null : Math.min(whole(told.support, 'support', 0, 2 ** 22), nVocab),
} : null);

// Room for it of some rows, which C writes: { at, choose(r, token), set(r, k), read(r), free() }; null: nothing is wanted.
function roomFor(rows, want) {
    if (want === null) return null;
    const { logprobs: { type }, logprob_set: { type: ofSet }, logprob: { type: ofOne }, support: { type: ofSupport } } = structs;
    const [all, set, one, kept] = [type, ofSet, ofOne, ofSupport].map((of) => koffi.sizeof(of)), { n, ids } = want, most = want.most ?? 0;
    const supports = rows * all, lists = supports + rows * kept, asked = lists + rows * 2 * n * one, given = asked + 4 * ids.length;
    const left = given + rows * 8 * ids.length, size = left + rows * 8 * most;
    const memory = koffi.alloc('uint8_t', size), base = koffi.address(memory), view = new DataView(koffi.view(memory, size));
    const of = (within, ...names) => names.map((name) => koffi.offsetof(within, name));
    const [found, chosen, entropy] = of(ofSet, 'n_top_found', 'chosen', 'entropy'), [capacity, nLeft, mass] = of(ofSupport, 'capacity', 'n', 'mass');
    const i32 = (at) => view.getInt32(at, LITTLE), f32 = (at) => view.getFloat32(at, LITTLE);
    const point = (at, to, isThere = true) => isThere && setAddress.call(view, at, addressOf(base + BigInt(to)), LITTLE);
    const list = (r, k) => lists + (2 * r + k) * n * one, givenTo = (r, k) => given + (2 * r + k) * 4 * ids.length, tokensOf = (r) => left + r * 8 * most;
    new Uint8Array(view.buffer, view.byteOffset, size).fill(0);
    ids.forEach((id, i) => view.setInt32(asked + 4 * i, id, LITTLE));
    for (let r = 0; r < rows; r++) {
        for (let k = 0; k < 2; k++) {
            const at = r * all + k * set, [toTop, nTop, toIds, nIds, toGiven] = of(ofSet, 'top_logprobs', 'n_top', 'ids', 'n_ids', 'id_logprobs');
            view.setInt32(at + nTop, n, LITTLE);
            view.setInt32(at + nIds, ids.length, LITTLE);
            point(at + toTop, list(r, k), n);
            point(at + toIds, asked, ids.length);
            point(at + toGiven, givenTo(r, k), ids.length);
        }
        if (want.most === null) continue;
        const at = supports + r * kept, [toTokens, toLogprobs] = of(ofSupport, 'tokens', 'logprobs');
        point(r * all + koffi.offsetof(type, 'support'), at);
        point(at + toTokens, tokensOf(r), most);
        point(at + toLogprobs, tokensOf(r) + 4 * most, most);
        setAddress.call(view, at + capacity, addressOf(most), LITTLE);
    }
    const many = (length, read) => Array.from({ length }, (_, i) => read(i)), numbers = (read, at, length) => many(length, (i) => read(at + 4 * i));
    const logprob = (at) => ({ token: i32(at), rank: i32(at + 4), logprob: f32(at + 8) });
    const setOf = (r, k) => {
        const at = r * all + k * set;
        return {
            chosen: logprob(at + chosen), top: many(n ? i32(at + found) : 0, (i) => logprob(list(r, k) + i * one)),
            entropy: f32(at + entropy), given: numbers(f32, givenTo(r, k), ids.length),
        };
    };
    const supportOf = (r) => {
        const at = supports + r * kept, count = Number(getAddress.call(view, at + nLeft, LITTLE)), fits = count <= most;
        return {
            n: count, mass: view.getFloat64(at + mass, LITTLE), tokens: fits ? numbers(i32, tokensOf(r), count) : null,
            logprobs: fits ? numbers(f32, tokensOf(r) + 4 * most, count) : null,
        };
    };
    return {
        at: memory, choose: (r, token) => view.setInt32(r * all + chosen, token, LITTLE), set: setOf, free: () => koffi.free(memory),
        read: (r) => ({ raw: setOf(r, 0), processed: setOf(r, 1), support: want.most === null ? null : supportOf(r) }),
    };
}
const setAddress = Addresses === BigUint64Array ? DataView.prototype.setBigUint64 : DataView.prototype.setUint32;
const getAddress = Addresses === BigUint64Array ? DataView.prototype.getBigUint64 : DataView.prototype.getUint32;
const LITTLE = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

// Rows as a samp_logits. The mask is the last value that is read; lengths are checked behind it.
function rowsOf({ data, dtype, rows: there }, rows, nVocab, mask, stride = nVocab, index = null) {
    if (!Number.isInteger(nVocab) || (there ?? rows) !== rows && !index) throw wrong('logits', `${lengthOf(data)} numbers, not ${rows} rows`);
    const words = mask === null ? null : bits(mask, rows, nVocab), last = index ? index.reduce((most, r) => Math.max(most, r), 0) : rows - 1;
    if (lengthOf(data) < last * stride + nVocab) throw wrong('logits', `${lengthOf(data)} numbers, not ${last + 1} rows of ${nVocab}`);
    return {
        data, dtype, n_rows: rows, n_vocab: nVocab, stride, row_index: index, mask: words, mask_stride: words ? lengthOf(words) / rows : 0,
        logprobs: null, n_threads: 1,
    };
}

// What samp_sample_batch gives.
function batch(chains, at, { nVocab, stride, index, mask, told, nThreads }) {
    const rows = chains.length, want = wanted(told, nVocab), logits = rowsOf(at, rows, nVocab, mask, stride, index), room = roomFor(rows, want);
    try {
        const out = new Int32Array(rows);
        Object.assign(logits, { logprobs: room && room.at, n_threads: nThreads });
        c.sample_batch(chains, logits, out);
        const tokens = [...out], all = room && tokens.map((token, r) => (token < 0 ? null : room.read(r)));
        if (tokens.some((token) => token < 0)) {
            const errors = new Map();
            tokens.forEach((token, r) => token < 0 && errors.set(r, because(new SamplingError(token), logits, r)));
            throw new BatchError(tokens.map((token) => (token < 0 ? null : token)), errors, all);
        }
        return room ? { tokens, logprobs: all } : tokens;
    } finally {
        room?.free();
    }
}

// A token for each chain: chain r reads row r of logits, or row rowIndex[r]. logits: one typed array with the rows side by
// side, or `stride` elements from one to the next, each of nVocab; or a list of rows (which is copied).
// A row that fails leaves its chain as it was; when all others have their tokens, it is a BatchError, which has them.
function sampleBatch(chains, logits, given) {
    const { mask, rowIndex, nVocab: n, stride, nThreads, dtype, ...told } = options(given, {
        mask: null, ...NOTHING_TOLD, rowIndex: null, nVocab: null, stride: null, nThreads: 0, dtype: undefined,
    });
    const all = listOf(chains, 'chains'), rows = all.length, index = rowIndex && integers(rowIndex, 'row_index');
    if (!all.every(isChain)) throw wrong('chains', 'not a list of Chains', E_NULL);
    const at = floats(logits, dtype), length = lengthOf(at.data);
    if (!rows) return isTold(told) ? { tokens: [], logprobs: [] } : [];
    const one = at.rows ? length / at.rows : index || stride !== null ? all[0].nVocab : length / rows;
    const nVocab = n === null ? one : whole(n, 'n_vocab', 1), step = stride === null ? nVocab : whole(stride, 'stride', 1);
    const there = at.rows ?? Math.floor((length + step - nVocab) / step);
    if (!Number.isInteger(nVocab) || nVocab < 1 || step < nVocab || (!index && there !== rows))
        throw wrong('logits', `${length} numbers, not ${rows} rows of ${nVocab}`);
    if (index && (index.length !== rows || index.some((r) => r < 0 || r >= there))) throw wrong('row_index', `not ${rows} numbers in [0, ${there})`);
    for (const chain of all) fits(chain, nVocab);
    return batch(all, at, { nVocab, stride: step, index, mask, told, nThreads });
}

// The log-probabilities of rows without chains, of a prompt for example: for each { chosen, top, entropy, given }. tokens: those that
// chosen tells of, -1: none. logits: rows side by side, one for each of the tokens, or of nVocab.
function rawLogprobs(logits, given) {
    const { tokens, mask, nVocab, dtype, logprobs, ids } = options(given, { tokens: null, mask: null, nVocab: null, dtype: undefined, logprobs: null, ids: null });
    const chosen = tokens === null ? null : integers(tokens, 'tokens', -1), at = floats(logits, dtype), length = lengthOf(at.data);
    const rows = at.rows ?? (nVocab === null ? chosen?.length ?? 1 : length / whole(nVocab, 'n_vocab', 1)), n = length / rows;
    if (!Number.isInteger(rows) || (nVocab ?? n) !== n) throw wrong('logits', `${length} numbers are no rows of ${nVocab ?? n}`);
    if (chosen && (chosen.length !== rows || chosen.some((token) => token >= n))) throw wrong('tokens', `not ${rows} numbers in [-1, ${n})`);
    if (!rows) return [];
    const want = wanted({ logprobs: logprobs ?? 0, ids, support: null }, n), of = rowsOf(at, rows, n, mask), room = roomFor(rows, want);
    try {
        for (let r = 0; r < rows; r++) room.choose(r, chosen ? chosen[r] : -1);
        c.raw_logprobs({ ...of, logprobs: room.at });
        return Array.from({ length: rows }, (_, r) => room.set(r, 0));
    } catch (error) {
        throw ofFirst(error, of);
    } finally {
        room.free();
    }
}

// Classifier-free guidance: what the model says with a prompt (cond) and without it (uncond), as one row, into out (a Float32Array)
// if it is given. scale 1: cond's; above: further from uncond.
function guide(cond, uncond, scale, out) {
    const [a, b] = [[cond, 'cond'], [uncond, 'uncond']].map(([row, field]) => widened(floats(row, undefined, field))), n = lengthOf(a);
    if (lengthOf(b) !== n) throw wrong('uncond', `there are ${lengthOf(b)}, not ${n}`);
    const to = out === undefined ? new Float32Array(n) : out;
    try {
        c.guide(a, b, scale, to, n);
    } catch (error) {
        for (const [row, field] of [[a, 'cond'], [b, 'uncond']]) {
            const { message } = error.field ? error : because(error, oneRow(row, n));
            if (message !== error.message) throw wrong(field, message, error.status);
        }
        throw error;
    }
    return to;
}

// Which values a setting takes, for a user to read.
const takes = (name) => textOf((buffer, size) => c.settings_takes(nameOf(name), buffer, size), name);
// The seed of sample i of several from one request.
const childSeed = (seed, i) => BigInt(c.child_seed(seed, i));
const version = () => c.version();

module.exports = {
    BatchError, Beams, Chain, Constraint, Grammar, Matcher, Ngram, Sampler, SamplingError, Text, Vocab, Watermark, aliases, childSeed, guide, rawLogprobs, sampleBatch,
    takes, unmask, unmaskCount, version,
};
