// test.mjs - the site in headless Chromium: every page on a desktop and on a phone, light and dark; its links, its reference.
//     node tests/ship/site/test.mjs build/site
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { open } from '../play/browser.mjs';

const site = resolve(process.argv[2]), pages = readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html'));
let checks = 0;
function check(good, what) {
    checks++;
    if (!good) throw new Error(what);
}
check(pages.length > 30, `only ${pages.length} pages`);

// what the files say: nothing is loaded from anywhere else, each link leads to a page or file, and to a heading of it
const texts = new Map(pages.map((name) => [join(site, name), readFileSync(join(site, name), 'utf8')]));
const idOf = (text, id) => text.includes(`id="${id}"`);
for (const [file, text] of texts) {
    check(!/(src|srcset|@import|url\()\s*=?\s*["'(]?(https?:)?\/\//.test(text), `${file} loads from elsewhere`);
    if (file.endsWith('play.html')) continue; // make test-play looks at it
    check(!/<link\b/.test(text), `${file} has a <link>`);
    for (const [, link] of text.matchAll(/<(?:a|img)[^>]* (?:href|src)="([^"]*)"/g)) {
        if (/^https?:/.test(link)) continue;
        const [path, anchor] = link.split('#'), to = path ? join(dirname(file), path) : file;
        check(existsSync(to), `${file}: ${link} leads nowhere`);
        if (anchor && texts.has(to)) check(idOf(texts.get(to), anchor), `${file}: ${link}: no such heading`);
    }
}
const reference = texts.get(join(site, 'api.html')), header = readFileSync('sampling.h', 'utf8');
const functions = [...header.matchAll(/^SAMP_API [^;]*?\b(samp_[a-z0-9_]+)\(/gm)].map(([, name]) => name);
check(functions.length > 200, 'the header has too few functions');
for (const name of functions) check(new RegExp(`\\b${name}\\b`).test(reference), `the reference has no ${name}`);

const page = await open(pathToFileURL(join(site, 'index.html')).href);
const load = async (name) => {
    await page.call('Page.navigate', { url: pathToFileURL(join(site, name)).href });
    await page.until(`document.readyState === 'complete' && location.href.endsWith('${name}')`);
};
for (const [width, dark] of [[1280, false], [360, true]]) {
    await page.look({ width, height: 800, dark });
    for (const name of pages) {
        await load(name);
        check(await page.run('document.documentElement.scrollWidth <= innerWidth + 1'), `${name} is wider than ${width}`);
        if (name === 'play.html') continue;
        check(await page.run('document.title.length > 5 && document.querySelectorAll("nav a").length > 5 && document.querySelectorAll("h1").length > 0'), `${name} has no head`);
        const light = await page.run('(([r, g, b]) => r + g + b)(getComputedStyle(document.documentElement).color.match(/\\d+/g).map(Number))');
        check(dark ? light > 380 : light < 380, `${name}: ${dark ? 'dark' : 'light'} text on ${dark ? 'dark' : 'light'}`);
        check(await page.run('[...document.images].every((one) => one.naturalWidth > 0)'), `${name}: a picture is missing`);
    }
}
await load('api.html');
const shown = 'document.querySelectorAll("h3:not([hidden])").length';
const all = await page.run(shown);
await page.run('(box => { box.value = "watermark detect"; box.oninput(); })(document.querySelector("input"))');
const some = await page.run(shown);
check(some > 0 && some < all / 4, `the search finds ${some} of ${all}`);
check(page.complaints.length === 0, page.complaints.join('\n'));
await page.close();
console.log(`site: ${pages.length} pages on a desktop and a phone, light and dark; ${checks} checks`);
