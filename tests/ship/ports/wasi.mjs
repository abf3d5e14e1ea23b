// wasi.mjs -- run a WebAssembly program under node's WASI: node wasi.mjs PROGRAM.wasm [arguments]
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

process.removeAllListeners('warning'); // that WASI is experimental
const args = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args, env: {}, returnOnExit: true });
const module = await WebAssembly.compile(readFileSync(args[0]));
const imports = { wasi_snapshot_preview1: wasi.wasiImport }; // node 18 has no getImportObject
process.exitCode = wasi.start(await WebAssembly.instantiate(module, imports));
