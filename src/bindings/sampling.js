// sampling.h from JavaScript: koffi, and no struct written down again. A page to copy and change.
//
//     const { Chain } = require('./sampling.js');
//     const chain = new Chain(nVocab, { top_k: 40, temp: 0.8 });
//     const token = chain.sample(logits);        // a Float32Array is read where it is; any list will do
//
// The library is libsampling.so (make lib) beside this file, else one that is installed (make install), or what
// SAMPLING_LIBRARY names. Run as a program it prints what tokens.c prints.
'use strict';
const fs = require('fs');
const koffi = require('koffi');

const beside = `${__dirname}/libsampling.so`;
const lib = koffi.load(process.env.SAMPLING_LIBRARY ?? (fs.existsSync(beside) ? beside : 'libsampling.so'));
koffi.opaque('samp_settings');
koffi.opaque('samp_params');
koffi.opaque('samp_sampler');
koffi.opaque('samp_vocab');
const tokenBytes = koffi.proto('const void *token_bytes(const samp_vocab *vocab, int32_t token, _Out_ size_t *n_bytes)');

const strerror = lib.func('const char *samp_strerror(int status)');
const settingsNew = lib.func('samp_settings *samp_settings_new()');
const settingsFree = lib.func('void samp_settings_free(samp_settings *settings)');
const settingsSet = lib.func('int samp_settings_set(samp_settings *settings, const char *name, const char *value, _Out_ const char **field)');
const settingsGet = lib.func('int samp_settings_get(samp_settings *settings, const char *name, _Out_ uint8_t *buf, size_t size)');
const settingsTakes = lib.func('int samp_settings_takes(const char *name, _Out_ uint8_t *buf, size_t size)');
const settingsSetVocab = lib.func('int samp_settings_set_vocab(samp_settings *settings, int32_t n_vocab, token_bytes *bytes, void *user)');
const settingsParams = lib.func('const samp_params *samp_settings_params(samp_settings *settings)');
const checkParams = lib.func('int samp_check_params(const samp_params *params, _Out_ const char **field)');
const chainFromParams = lib.func('samp_sampler *samp_chain_from_params(const samp_params *params, _Out_ int *status)');
const sample = lib.func('int32_t samp_sample(samp_sampler *chain, const float *logits, size_t n_vocab)');
const accept = lib.func('int samp_accept(samp_sampler *chain, int32_t token)');
const reset = lib.func('void samp_reset(samp_sampler *chain)');
const free = lib.func('void samp_free(samp_sampler *chain)');

function check(status, field) {
    if (status < 0) throw new RangeError(`${field[0]}: ${strerror(status)}`);
}

function textOf(write) {
    const buffer = Buffer.alloc(400);
    return buffer.toString('utf8', 0, write(buffer, buffer.length));
}

// A chain of samplers: new Chain(nVocab, { top_k: 40, temp: 0.8, dry_breakers: ['\n'] }); a list sets one by one.
class Chain {
    constructor(nVocab, settings, pieces) {
        const field = [null], status = [0];
        this.nVocab = nVocab;
        this.settings = settingsNew();
        try {
            this.set('n_vocab', nVocab);
            if (pieces) this.use(pieces);
            for (const [name, values] of Object.entries(settings))
                for (const value of Array.isArray(values) ? values : [values]) this.set(name, value);
            check(checkParams(settingsParams(this.settings), field), field);
            this.handle = chainFromParams(settingsParams(this.settings), status);
            if (!this.handle) throw new Error(strerror(status[0]));
        } catch (error) {
            this.close();
            throw error;
        }
    }
    // The bytes of each token, for dry.
    use(pieces) {
        const memory = pieces.map((piece) => {
            const bytes = Buffer.from(piece), at = koffi.alloc('uint8_t', bytes.length);
            koffi.encode(at, koffi.array('uint8_t', bytes.length), bytes);
            return { at, length: bytes.length };
        });
        this.memory = memory;
        this.callback = koffi.register((vocab, token, nBytes) => {
            koffi.encode(nBytes, 'size_t', memory[token].length);
            return memory[token].at;
        }, koffi.pointer(tokenBytes)); // must stay as long as the chain
        settingsSetVocab(this.settings, pieces.length, this.callback, null);
    }
    set(name, value) {
        const field = [null];
        check(settingsSet(this.settings, name, String(value), field), field);
    }
    get(name) {
        return textOf((buffer, size) => settingsGet(this.settings, name, buffer, size));
    }
    // The next token, which the chain has then accepted.
    sample(logits) {
        if (logits.length !== this.nVocab) throw new RangeError(`${logits.length} logits, not ${this.nVocab}`);
        const token = sample(this.handle, logits instanceof Float32Array ? logits : Float32Array.from(logits), this.nVocab);
        if (token < 0) throw new Error(strerror(token));
        return token;
    }
    // Tell the samplers of a token that was not sampled here: a prompt's.
    accept(token) {
        const status = accept(this.handle, token);
        if (status < 0) throw new Error(strerror(status));
    }
    reset() {
        reset(this.handle);
    }
    close() {
        free(this.handle ?? null);
        settingsFree(this.settings);
        if (this.callback) koffi.unregister(this.callback);
        for (const piece of this.memory ?? []) koffi.free(piece.at);
        this.handle = this.settings = this.callback = this.memory = null;
    }
}

function main() {
    const nVocab = 12;
    const rows = Array.from({ length: 60 }, (_, step) =>
        Array.from({ length: nVocab }, (_, i) => ((i * 7919 + step * 10007) % 1000) / 400));
    const chain = new Chain(nVocab, {
        seed: 2n ** 64n - 1n, top_k: 100, top_p: 0.9, temperature: 1.1, penalty_repeat: 1.2, dry_multiplier: 0.8,
        dry_breakers: ['b', '\n'], logit_bias: '7+2.5,9-inf',
        order: 'penalties;dry;temperature;top_n_sigma;top_k;typ_p;top_p;min_p;xtc',
    }, Array.from({ length: nVocab }, (_, i) => 'abcd'[i % 4]));
    const tokens = rows.map((row) => chain.sample(row));
    for (const token of tokens) console.log(token);
    chain.reset();
    if (rows.some((row, step) => chain.sample(Float32Array.from(row)) !== tokens[step])) throw new Error('other tokens');
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
    console.log(`${temp}, ${textOf((buffer, size) => settingsTakes('top_p', buffer, size))}`);
}

module.exports = { Chain };
if (require.main === module) main();
