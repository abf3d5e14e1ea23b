// browser.mjs - sampling.js in a browser, over WebAssembly. make npm writes the two files in at the lines with @, and the names.
const [wasm, sampling] = [{}, {}];
((module) => {
@wasm.js
})(wasm);
const { instance } = await WebAssembly.instantiateStreaming(fetch(new URL('./sampling.wasm', import.meta.url)));
instance.exports._initialize();
const modules = {
    './wasm.js': { ...wasm.exports, load: () => wasm.exports.load(instance) }, fs: { existsSync: () => false }, vm: { runInThisContext: eval },
};
((module, require, process, __dirname) => {
@sampling.js
})(sampling, (name) => modules[name], { env: { SAMPLING_LIBRARY: 'sampling.wasm' } }, '.');
export const { @NAMES } = sampling.exports;
