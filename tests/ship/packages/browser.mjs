// browser.mjs - answer.mjs in headless Chromium, with the npm package's browser build from a server on this machine; prints what the
// page prints.   node browser.mjs PACKAGE
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { open } from '../play/browser.mjs';

const here = dirname(fileURLToPath(import.meta.url)), types = { mjs: 'text/javascript', wasm: 'application/wasm', html: 'text/html' };
const files = {
    '/index.html': '<!doctype html><script type="importmap">{"imports": {"sampling": "./browser.mjs"}}</script><script type="module" src="answer.mjs"></script>',
    '/answer.mjs': `${readFileSync(join(here, 'answer.mjs'), 'utf8').replace('console.log(', 'document.title = (')}\n`,
    ...Object.fromEntries(['browser.mjs', 'sampling.wasm'].map((name) => [`/${name}`, readFileSync(join(process.argv[2], name))])),
};
const server = createServer(({ url }, to) => {
    to.writeHead(url in files ? 200 : 404, { 'content-type': types[url.split('.').pop()] ?? 'text/plain' });
    to.end(files[url]);
});
await new Promise((listens) => server.listen(0, '127.0.0.1', listens));
const page = await open(`http://127.0.0.1:${server.address().port}/index.html`);
await page.until('document.title.length > 0', 'an answer');
console.log(await page.run('document.title'));
await page.close();
server.close();
