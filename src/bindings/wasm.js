// wasm.js - what sampling.js uses of koffi, for the library compiled to WebAssembly. load() takes a file's path, or an instance.
// An argument is copied into the library's memory for the call, and back if C writes it. Types are wasm32's.
'use strict';

const number = (size, name) => ({ size, align: size, get: `get${name}`, set: `set${name}`, list: globalThis[`${name}Array`] });
const [I32, U32] = [number(4, 'Int32'), number(4, 'Uint32')];
const TYPES = {
    void: null, char: number(1, 'Int8'), bool: { ...number(1, 'Uint8'), flag: true }, uint8_t: number(1, 'Uint8'), int: I32, int32_t: I32, long: I32, uint: U32, uint32_t: U32,
    size_t: U32, uintptr_t: U32, float: number(4, 'Float32'), double: number(8, 'Float64'), int64_t: number(8, 'BigInt64'), uint64_t: number(8, 'BigUint64'),
    'const char *': { ...U32, text: true }, 'const void *': { ...U32, way: 'in' }, 'void *': { ...U32, way: 'inout' },
};
const typeOf = (type) => (typeof type === 'string' ? TYPES[type] : type);

let lib, view; // the instance's exports; its memory
const instances = new Map();
const nothing = { wasi_snapshot_preview1: new Proxy({}, { get: () => () => 8 }) }; // the library needs none of it; what prints does
const data = () => (view?.buffer === lib.memory.buffer ? view : (view = new DataView(lib.memory.buffer))); // another one when it has grown
const bytes = (at, n) => new Uint8Array(lib.memory.buffer, at, n);

// A file's path, or an instance of WebAssembly.
function load(library) {
    if (typeof library !== 'string') lib = library.exports;
    else if (instances.has(library)) lib = instances.get(library);
    else {
        lib = new WebAssembly.Instance(new WebAssembly.Module(require('fs').readFileSync(library)), nothing).exports;
        lib._initialize();
        instances.set(library, lib);
    }
    return { func };
}

// Memory for one call, zeroed.
function room(call, size) {
    const at = lib.malloc(Math.max(size, 1));
    if (!at) throw new RangeError('out of memory');
    call.rooms.push(at);
    bytes(at, size).fill(0);
    return at;
}

function pointerTo(call, { of, way }, value) {
    if (value === null || value === undefined) return 0;
    if (typeof value === 'number' || typeof value === 'bigint') return Number(value);
    if (!of) { // a typed array, or memory of alloc's
        const own = value.memory ? new Uint8Array(value.memory) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
        const at = value.memory ? value.at : room(call, own.length); // arrays have an at(), too
        bytes(at, own.length).set(own);
        if (way !== 'in') call.after.push(() => own.set(bytes(at, own.length)));
        return at;
    }
    const all = Array.isArray(value) ? value : [value], at = room(call, all.length * of.size);
    all.forEach((one, i) => {
        if (way !== 'out') write(call, of, at + i * of.size, one);
        if (way === 'in') return;
        call.after.push(() => {
            const now = read(of, at + i * of.size);
            if (of.members) Object.assign(one, now);
            else value[i] = now;
        });
    });
    return at;
}

function plain(call, type, value) {
    if (type.text) return value === null || value === undefined ? 0 : pointerTo(call, TYPES['const void *'], new TextEncoder().encode(`${value}\0`));
    if (type.way) return pointerTo(call, type, value);
    return type.size === 8 && type.list !== Float64Array ? BigInt(value ?? 0) : Number(value ?? 0);
}

function write(call, type, at, value) {
    if (type.members) for (const [name, of, offset] of type.members) write(call, of, at + offset, value[name]);
    else if (!type.elements) {
        const now = plain(call, type, value); // which may move the memory
        data()[type.set](at, now, true);
    }
}

const textAt = (at) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes(at, bytes(at).indexOf(0)).slice());

const listAt = (type, at, n) => new type.list(bytes(at, n * type.size).slice().buffer);

function told(type, value) {
    if (type.flag) return Boolean(value);
    if (type.text) return value ? textAt(value) : null;
    return typeof value === 'bigint' && value >= -(2n ** 53n) && value <= 2n ** 53n ? Number(value) : value;
}

function read(type, at) {
    if (type.members) return Object.fromEntries(type.members.map(([name, of, offset]) => [name, read(of, at + offset)]));
    if (type.elements === TYPES.char) return textAt(at);
    return type.elements ? listAt(type.elements, at, type.n) : told(type, data()[type.get](at, true));
}

function func(name, result, parameters) {
    const call = lib[name], type = typeOf(result), types = parameters.map(typeOf), exports = lib;
    if (!call) throw new Error(`there is no ${name}`);
    return (...values) => {
        lib = exports;
        const now = { rooms: [], after: [] };
        try {
            const first = type?.members ? [room(now, type.size)] : [];
            const said = call(...first, ...types.map((one, i) => plain(now, one, values[i])));
            for (const after of now.after) after();
            if (first.length) return read(type, first[0]);
            return type ? told(type, type === U32 || type.text ? said >>> 0 : type === TYPES.uint64_t ? BigInt.asUintN(64, said) : said) : undefined;
        } finally {
            for (const at of now.rooms) lib.free(at);
        }
    };
}

function struct(members) {
    let size = 0, align = 1;
    const all = Object.entries(members).map(([name, given]) => {
        const type = typeOf(given), offset = Math.ceil(size / type.align) * type.align;
        size = offset + type.size;
        align = Math.max(align, type.align);
        return [name, type, offset];
    });
    return { members: all, size: Math.ceil(size / align) * align, align };
}

const way = (name) => (type) => ({ ...type, way: name });

module.exports = {
    load, struct, in: way('in'), out: way('out'), inout: way('inout'),
    pointer: (of) => ({ ...U32, of: typeOf(of), way: 'in' }),
    array: (of, n) => ({ size: n * typeOf(of).size, align: typeOf(of).align, elements: typeOf(of), n }), // within a struct; C writes it
    sizeof: (type) => typeOf(type).size,
    offsetof: (type, name) => type.members.find(([one]) => one === name)[2],
    decode: (at, type, n) => (n === undefined ? read(typeOf(type), Number(at)) : listAt(typeOf(type), Number(at), n)),
    alloc: (type, n) => ({ at: lib.malloc(Math.max(n * typeOf(type).size, 1)), memory: new ArrayBuffer(n * typeOf(type).size) }),
    address: ({ at }) => BigInt(at),
    view: ({ memory }) => memory,
    free: ({ at }) => lib.free(at),
};
