// test.mjs - the page to play with, in headless Chromium: for 1,000 random settings its tokens are those of the native
// library, made by the C code that the page shows; and what a reader does with mouse, keyboard and links works.
//
//     node tests/ship/play/test.mjs build/play [seed]           CC, and the library: build/libsampling.a
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { open } from './browser.mjs';

const folder = resolve(process.argv[2]), seed = Number(process.argv[3] ?? 1), SETTINGS = 1000, DRAWS = 12;
const url = pathToFileURL(`${folder}/index.html`).href;
let checks = 0;
function check(good, what) {
    checks++;
    if (!good) throw new Error(what);
}
function equal(got, wanted, what) {
    check(got === wanted, `${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}

// ---- the same tokens ------------------------------------------------------------------------------

let noise = BigInt(seed);
function below(n) { // splitmix64
    noise = (noise + 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn;
    let x = noise;
    x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & 0xffffffffffffffffn;
    x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & 0xffffffffffffffffn;
    return Number((x ^ (x >> 31n)) % BigInt(n));
}
const pick = (list) => list[below(list.length)];
const sometimes = (percent) => below(100) < percent;

const GRAMMARS = [
    ['gbnf', 'root ::= ([a-z ] | "?")+'], ['regex', '[A-Za-z ,.\'"?]*?!'], ['regex', '( [a-z]+)+\\.'],
    ['json', '{"type": "array", "items": {"type": "string"}}'], ['gbnf', '# a comment ??/ "\nroot ::= " " [^x\\n]+ "é"?'],
];

// A value within a slider's range, of one to four digits; the default sometimes.
function randomValue(name, { from, to, takes, usual, first }) {
    if (name === 'seed') return sometimes(10) ? '18446744073709551615' : String(below(1e6));
    if (name === 'logit_bias') return Array.from({ length: 1 + below(3) }, () => `${below(2048)}${pick(['+1.5', '-2', '-inf', '+0.333333343', '+20'])}`).join(',');
    if (sometimes(15)) return sometimes(50) ? usual : first;
    const [low, high] = [Number(from), Number(to)];
    if (takes.includes('whole')) return String(low + below(high - low + 1));
    const value = Number((low + ((high - low) * below(10001)) / 10000).toFixed(1 + below(4))); // beyond an end it is that
    return value >= high ? to : value <= low ? from : String(value);
}

function randomHash(about, wide) {
    const link = new URLSearchParams(), steps = about.samplers.filter((s) => !s.selects).map((s) => s.name), on = 5 + below(60);
    const order = sometimes(40) ? steps : steps.map((name) => [below(1e6), name]).sort((a, b) => a[0] - b[0]).map((pair) => pair[1]);
    const chain = order.map((name) => (sometimes(on) ? name : `-${name}`));
    // infill needs texts, and takes its time over a whole row
    const i = chain.indexOf('infill'), k = chain.indexOf('top_k');
    if (i >= 0 && (wide || (!sometimes(3) && !(k >= 0 && k < i)))) chain[i] = '-infill';
    link.set('chain', [...chain, sometimes(50) ? 'dist' : pick(about.samplers.filter((s) => s.selects)).name].join(';'));
    for (const [name, knob] of Object.entries(about.knobs)) link.set(name, randomValue(name, knob));
    if (!wide && sometimes(15)) {
        const [kind, rules] = pick(GRAMMARS);
        link.set('grammar', kind);
        link.set('rules', rules);
    }
    return link.toString();
}

// In the page: the state that a link says, at a row; its tokens and its code.
const IN_PAGE = `(({ hash, at }) => {
    state = fromHash(hash);
    const again = JSON.stringify({ ...fromHash(toHash()), on: [...fromHash(toHash()).on] }) === JSON.stringify({ ...state, on: [...state.on] });
    if (at < 0) state.row = -at; else state.at = at;
    const { kind, text } = state.grammar;
    const grammar = kind ? giveText(text, (where) => jsonAt(lib.play_grammar(KINDS.indexOf(kind), where))) : jsonAt(lib.play_grammar(0, 0));
    const result = configure();
    return { again, grammar: grammar.status, status: result.status, message: result.field + ' ' + result.message, code: textAt(lib.play_code()), tokens: jsonAt(lib.play_draw(${DRAWS}, 1)).tokens };
})`;
const ROW = `(at => {
    state.row = at < 0 ? -at : 0;
    state.at = at < 0 ? null : at;
    configure();
    const bytes = new Uint8Array(lib.memory.buffer, lib.play_row(), 4 * lib.play_row_length());
    let text = '';
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text);
})`;

function nativeProgram(cases, rows) {
    const makers = cases.map(({ code }, i) => `static samp_sampler *make_${i}(void)\n{\n${code}return chain;\n}\n`).join('');
    return `#define SAMPLING_KV
#define SAMPLING_GRAMMAR
#define SAMPLING_GUMBEL
#include "sampling.h"
#include "bench/demo/tales_model.h"
static tales_model model;
static const char *bytes_of(const samp_vocab *v, samp_token t, size_t *n)
{
    *n = 0;
    return v->user ? tales_piece(&model, t, n) : "";
}
static samp_vocab vocab;
${makers}
static const struct { samp_sampler *(*make)(void); int row; } cases[] = { ${cases.map(({ row }, i) => `{ make_${i}, ${row} }`).join(', ')} };
static const int lengths[] = { ${rows.map((row) => row.length / 4).join(', ')} };
int main(int argc, char **argv)
{
    static const samp_token end[] = { TALES_END };
    static float rows[${rows.reduce((sum, row) => sum + row.length / 4, 0)}];
    FILE *f = fopen(argv[1], "rb");
    if (argc < 3 || tales_load(&model, "bench/data/tales.bin") || !f || fread(rows, sizeof rows, 1, f) != 1) return 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float *row = rows;
        int n = lengths[cases[i].row];
        for (int k = 0; k < cases[i].row; k++) row += lengths[k];
        bool story = n == model.n_vocab;
        samp_vocab v = { n, bytes_of, NULL, story ? &model : NULL, end, story, story ? TALES_END : -1, -1 };
        vocab = v;
        samp_sampler *chain = cases[i].make();
        samp_set_position(chain, (uint64_t)atoi(argv[2]));
        for (int k = 0; k < ${DRAWS}; k++) printf("%d%c", (int)samp_sample(chain, row, (size_t)n), k < ${DRAWS} - 1 ? ',' : '\\n');
        samp_free(chain);
    }
    return fclose(f);
}
`;
}

async function sameTokens(page) {
    const about = await page.run('about');
    const places = [6, 7, 20, 60, 100, 150, 200, 230, ...Array.from({ length: about.rows }, (_, i) => -1 - i)];
    const rows = [];
    for (const at of places) rows.push(Buffer.from(await page.run(`${ROW}(${at})`), 'base64'));
    const jobs = Array.from({ length: SETTINGS }, () => {
        const row = below(100) < 92 ? below(8) : 8 + below(about.rows);
        return { hash: randomHash(about, places[row] < 0), at: places[row], row };
    });
    const results = await page.run(`${JSON.stringify(jobs)}.map(${IN_PAGE})`);
    results.forEach((r, i) => {
        check(r.status === 0 && r.grammar === 0, `setting ${i}: ${r.message}, ${jobs[i].hash}`);
        check(r.again, `setting ${i}: its link gives another state: ${jobs[i].hash}`);
    });
    const cases = results.map((r, i) => ({ code: r.code, row: jobs[i].row }));
    const out = `${folder}/test`;
    mkdirSync(out, { recursive: true });
    writeFileSync(`${out}/settings.txt`, jobs.map(({ hash, at }) => `${at} ${hash}\n`).join(''));
    writeFileSync(`${out}/tokens.c`, nativeProgram(cases, rows));
    writeFileSync(`${out}/rows.f32`, Buffer.concat(rows));
    const compiler = (process.env.CC || 'cc').split(' ');
    execFileSync(compiler[0], [...compiler.slice(1), '-std=c11', '-O0', '-Wall', '-Wextra', '-Werror', '-I.', `${out}/tokens.c`, `${folder}/../libsampling.a`, '-o', `${out}/tokens`, '-lm'], { stdio: 'inherit' });
    const native = (position) => execFileSync(`${out}/tokens`, [`${out}/rows.f32`, String(position)], { encoding: 'utf8', maxBuffer: 1 << 24 }).trim().split('\n');
    const differ = (lines) => results.filter((r, i) => r.tokens.join() !== lines[i]).length;
    const lines = native(0);
    equal(lines.length, SETTINGS, 'native settings');
    const first = results.findIndex((r, i) => r.tokens.join() !== lines[i]);
    equal(differ(lines), 0, first < 0 ? '' : `other tokens, as with setting ${first} (${out}/settings.txt): ${results[first].tokens} in the page, ${lines[first]} natively`);
    const others = differ(native(1)); // from the next draw on: most must differ, or nothing was compared
    check(others > SETTINGS / 3, `only ${others} of ${SETTINGS} differ from the next draw on`);
    const drawn = new Set(results.map((r) => r.tokens.join())).size, short = results.filter((r) => r.code.includes('samp_chain_from_params')).length;
    check(drawn > SETTINGS / 2 && short > 20 && short < SETTINGS - 20, `${drawn} different texts, ${short} by samp_params`);
    return `${SETTINGS} settings, ${drawn} different sequences of ${DRAWS} tokens, ${short} by samp_params: 0 differences (${others} where the draws are shifted by one)`;
}

// ---- what a reader does ---------------------------------------------------------------------------

const orderOf = (page) => page.run(`[...document.querySelectorAll('#steps > li')].map((li) => li.dataset.name).join()`);
const settled = (page) => page.run('new Promise((done) => setTimeout(done, 250))');
const centre = (page, selector) => page.run(`(() => { const b = document.querySelector('${selector}').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`);
const type = (page, id, text) => page.run(`(() => { const field = document.getElementById(${JSON.stringify(id)}); field.value = ${JSON.stringify(text)}; field.dispatchEvent(new Event('input', { bubbles: true })); field.dispatchEvent(new Event('change', { bubbles: true })); })()`);

async function startsWell(page) {
    const code = await page.run('document.getElementById("code").textContent');
    equal(code, 'samp_params params = samp_default_params();\nparams.seed = 42;\nsamp_sampler *chain = samp_chain_from_params(&params, NULL);\n', 'the first code');
    equal(await page.run('document.querySelectorAll("#bars tbody tr").length'), 16, 'tokens shown');
    const table = readFileSync('src/samplers/tables.md', 'utf8').split('\n').filter((line) => /^\|.*`samp_init_/.test(line)).join('\n');
    const elsewhere = ['custom', 'watermark', 'ras', 'replay']; // a program's own; what needs a key or a text; what samp_params has no member for
    const names = [...table.matchAll(/samp_init_(\w+)\(/g)].map((match) => match[1]).filter((name) => !elsewhere.includes(name));
    equal(await page.run('about.samplers.map((s) => s.name).sort().join()'), names.sort().join(), 'the page has the samplers of src/samplers/tables.md (STAGES and SELECTORS of src/page/play.c)');
}

// Each slider of each sampler is in the code; and a sampler that is switched off is not.
async function knobsCount(page) {
    const idle = await page.run(`about.samplers.flatMap(({ name, knobs, selects }) => [...knobs.split(' '), 'seed', 'min_keep'].filter((knob) => knob && (about.knobs[knob].to || knob === 'seed')).filter((knob) => {
        const codes = ['from', 'to', 'off'].map((end) => {
            state = newState();
            state.on = new Set(selects || end === 'off' ? [] : [name]);
            if (selects && end !== 'off') state.select = name;
            else if (end !== 'off') state.select = 'dist';
            state.values[knob] = knob === 'seed' ? { from: '3', to: '4', off: '5' }[end] : about.knobs[knob][end] ?? '7';
            configure();
            return textAt(lib.play_code());
        });
        return codes[0] === codes[1] || (knob !== 'seed' && knob !== 'min_keep' && codes[2].includes(knob));
    }).map((knob) => name + ' ' + knob)).join(', ')`);
    // of those that samp_params can't say alone, these have no min_keep, and greedy draws nothing
    equal(idle, 'logit_bias min_keep, softmax min_keep, gumbel min_keep, greedy seed, greedy min_keep, mirostat min_keep, mirostat_v2 min_keep', 'settings that are not in the code');
    await page.run('restore("")');
}

// No slider leads to a value that its sampler refuses.
async function slidersAreRight(page) {
    const refused = await page.run(`about.samplers.flatMap(({ name, selects }) => knobsOf(name).filter((k) => about.knobs[k].to).flatMap((k) => ['min', 'max'].filter((end) => {
        state = newState();
        state.on = new Set(selects ? [] : [name]);
        if (selects) state.select = name;
        showState();
        const range = document.querySelector('.side li.on [data-knob=' + k + ']');
        setValue(k, range.type === 'range' ? range[end] : '01'[Number(end === 'max')], null);
        return configure().status < 0;
    }).map((end) => k + ' ' + end))).join(', ')`);
    equal(refused, '', 'ends of sliders that are refused');
    await page.run('restore("")');
}

// The tab key goes through the page in few steps, of which the list of samplers is one.
async function tabs(page) {
    const stops = [], here = `(document.activeElement.closest('li')?.dataset.name ?? '') + '/' + (document.activeElement.id || document.activeElement.type || document.activeElement.tagName)`;
    await page.run('document.activeElement.blur(); scrollTo(0, 0)');
    for (let stop; stops.length < 130; stops.push(stop)) {
        await page.key('Tab');
        stop = await page.run(here);
        if (stop === '/BODY' || stop === stops[0]) break;
    }
    check(stops.length > 20 && stops.length <= 40, `${stops.length} stops of the tab key: ${stops.join(' ')}`);
    equal(stops.filter((stop) => stop.endsWith('/checkbox')).join(), 'logit_bias/checkbox', 'stops in the list of samplers');
    await page.run(`document.querySelector('[data-name=logit_bias] input').focus()`);
    await page.key('ArrowDown');
    equal(await page.run(here), 'penalties/checkbox', 'the arrow key goes on');
    await page.key(' ');
    check(await page.run(`state.on.has('penalties')`), 'space switches it on');
    await page.key('End');
    equal(await page.run(here), 'softmax/checkbox', 'the last');
    await page.key('ArrowUp', true);
    equal(await page.run(here), 'softmax/checkbox', 'what is moved keeps the focus');
    check((await orderOf(page)).endsWith('softmax,log_softmax'), 'Alt and the arrow key move it');
    equal(await page.run(`document.querySelectorAll('#steps .head [tabindex="0"]').length`), 1, 'stops in the list, still');
    await page.run('restore("")');
}

async function reorders(page) {
    const before = (await orderOf(page)).split(',');
    await page.run(`document.querySelector('[data-name=top_k] .handle').focus()`);
    await page.key('ArrowDown');
    await settled(page);
    const swapped = [...before], i = swapped.indexOf('top_k');
    [swapped[i], swapped[i + 1]] = [swapped[i + 1], swapped[i]];
    equal(await orderOf(page), swapped.join(), 'the order after an arrow key');
    check(await page.run(`document.activeElement.closest('li').dataset.name === 'top_k'`), 'the moved one keeps the focus');
    check((await page.run('document.getElementById("live").textContent')).includes('top_k is number'), 'the move is announced');
    check((await page.run('location.hash')).includes('tail_free;top_k'.replace('tail_free', '-tail_free')), 'the link has the order');
    await page.key('ArrowUp');
    await settled(page);
    equal(await orderOf(page), before.join(), 'the order after moving it back');
    equal(await page.run('location.hash'), '', 'the link of what is as at first');

    const [x, y] = await centre(page, '[data-name=min_p] .handle'), [, to] = await centre(page, '[data-name=top_k] .head');
    await page.mouse('mousePressed', x, y);
    for (let k = 1; k <= 8; k++) await page.mouse('mouseMoved', x, y + ((to - 20 - y) * k) / 8);
    await settled(page);
    equal(await page.run(`[...document.querySelectorAll('#bars thead code')].map((c) => c.textContent).join()`), 'model,min_p,top_k,top_p,temp,dist', 'the table during a drag');
    await page.mouse('mouseReleased', x, to - 20);
    await settled(page);
    const dragged = before.filter((name) => name !== 'min_p');
    dragged.splice(dragged.indexOf('top_k'), 0, 'min_p');
    equal(await orderOf(page), dragged.join(), 'the order after a drag');
    check((await page.run('document.getElementById("code").textContent')).includes('params.order = "min_p;top_k;top_p;temp"'), 'the code has the order');
    await page.run(`document.querySelector('[data-name=penalties] input[type=checkbox]').click()`);
    await settled(page);
    check(await page.run(`[...document.querySelectorAll('#bars thead code')].some((c) => c.textContent === 'penalties')`), 'what is switched on has a column');
}

async function linkRestores(page) {
    await page.run(`location.hash = '#chain=xtc;-top_p;temp;mirostat_v2&temp=1.25&mirostat_tau=2.5&xtc_threshold=0.2&seed=7&text=The wolf said'`);
    await settled(page);
    equal((await orderOf(page)).split(',').slice(0, 3).join(), 'xtc,top_p,temp', 'the order of a link');
    equal(await page.run(`['temp-temp', 'mirostat_v2-mirostat_tau', 'xtc-xtc_threshold', 'chain-seed', 'text'].map((id) => document.getElementById(id).value).join()`), '1.25,2.5,0.2,7,The wolf said', 'the values of a link');
    equal(await page.run(`[...document.querySelectorAll('#steps input[type=checkbox]:checked')].map((i) => i.closest('li').dataset.name).join()`), 'xtc,temp', 'what is on');
    check(await page.run(`document.querySelector('#selectors [value=mirostat_v2]').checked`), 'the selector of a link');
    await page.run(`location.hash = '#chain=;;nonsense;-;dist;top_k;top_k&row=99&grammar=x&temp=%00%ff&text=%F0'`);
    await settled(page);
    check((await page.run(`document.getElementById('temp-error').textContent + [...state.on].join()`)).includes('top_k'), 'a damaged link');
    await page.run('document.getElementById("anew").click()');
    await settled(page);
    equal(await page.run('toHash()'), '', 'all anew');
}

// A box to tick: the code has it, in either of its forms, and so does the link, which ticks it again.
async function ticks(page) {
    const code = () => page.run('document.getElementById("code").textContent'), box = `document.getElementById('top_k-top_k_ties')`;
    await page.run('restore("")');
    await page.run(`${box}.click()`);
    await settled(page);
    check((await code()).includes('params.top_k_ties = 1;'), 'the code of a ticked box');
    equal(await page.run('toHash()'), 'top_k_ties=1', 'the link of a ticked box');
    await page.run(`restore(''); location.hash = '#chain=top_k;gumbel&top_k=7&top_k_ties=1'`);
    await settled(page);
    check(await page.run(`${box}.checked`), 'a link ticks the box');
    check((await code()).includes('samp_init_top_k_ties(7)'), 'the constructor of a ticked box');
    await page.run(`${box}.click()`);
    await settled(page);
    check((await code()).includes('samp_init_top_k(7)'), 'the constructor of an empty box');
    await page.run('restore("")');
}

async function tellsErrors(page) {
    await type(page, 'top_p-top_p', '1.5');
    await settled(page);
    equal(await page.run(`document.getElementById('top_p-error').textContent`), 'top_p: a value is outside its range; it takes a number in (0, 1]', 'a bad value');
    check(await page.run(`document.getElementById('top_p-top_p').getAttribute('aria-invalid') === 'true'`), 'the field is marked');
    const looks = () => page.run(`['bars', 'code'].map((id) => getComputedStyle(document.getElementById(id)).opacity).join()`), said = () => page.run(`document.getElementById('row-error').textContent`);
    check((await looks()).split(',').every((opacity) => opacity < 0.6), `a table of other settings looks like one: ${await looks()}`);
    equal(await said(), 'top_p: a value is outside its range; it takes a number in (0, 1]. The table is still of the settings before.', 'and it says so');
    await page.run(`document.getElementById('draw').click()`);
    equal(await page.run(`document.getElementById('tokens').textContent + document.getElementById('draw-told').textContent`), '', 'draws with a bad value');
    await type(page, 'top_p-top_p', '0.9');
    await settled(page);
    equal(await page.run(`document.getElementById('top_p-error').textContent`), '', 'a good value');
    equal(await looks() + await said(), '1,1', 'the table is that of the settings again');

    await type(page, 'grammar-kind', 'gbnf');
    await type(page, 'grammar', 'root ::= "a" |\n  "é" x\n');
    await page.until(`document.getElementById('grammar-error').textContent !== ''`, 'the grammar is wrong');
    const told = await page.run(`document.getElementById('grammar-error').textContent`);
    check(/^line 2, column \d+: /.test(told), `where the grammar is wrong: ${told}`);
    check(await page.run(`document.getElementById('grammar').getAttribute('aria-invalid') === 'true'`), 'the grammar is marked');
    await page.run(`document.getElementById('grammar-place').click()`);
    const at = await page.run(`document.getElementById('grammar').value.slice(document.getElementById('grammar').selectionStart)`);
    check(at === 'x\n', `where it leads to: ${JSON.stringify(at)}`);
}

async function storyOf(page, what) {
    await page.run(`document.getElementById('write').click()`);
    await page.until('told.length > 0 && !writing', what);
    return page.run(`story.map((span) => span.textContent).join('')`);
}

async function writes(page) {
    await type(page, 'grammar-example', 'list.gbnf');
    await page.until(`document.getElementById('grammar-error').textContent === ''`, 'the example is a grammar');
    const list = await storyOf(page, 'a list');
    check(/^1\. .*\n2\. .*\n3\. .*$/.test(list), `the list: ${list}`);
    check((await page.run('document.getElementById("code").textContent')).includes('samp_grammar_init(SAMP_GRAMMAR_GBNF, text, NULL, NULL)'), 'the code has the grammar');
    await type(page, 'grammar-example', 'hero.json');
    const hero = JSON.parse(await storyOf(page, 'a hero'));
    check(/^[A-Z]/.test(hero.name), 'the hero has a name');
    await type(page, 'grammar-kind', '');
    const story = await storyOf(page, 'a story'), n = await page.run('told.length');
    check(n > 200, `${n} tokens`);
    check((await page.run(`document.getElementById('story-told').textContent`)).includes('all of them again'), 'the replay');
    check(Number((await page.run(`document.getElementById('speed').textContent`)).replaceAll(',', '')) > 10, 'the speed');
    equal(await storyOf(page, 'the same story'), story, 'the same seed');
    await type(page, 'pace', '60');
    await page.run(`document.getElementById('write').click(); new Promise((done) => setTimeout(done, 1000))`);
    const some = await page.run('told.length');
    check(some > 5 && some < 75, `${some} tokens in a second, of 60`);
    await page.run(`document.getElementById('write').click()`);
    check((await page.run(`document.getElementById('story-told').textContent`)).startsWith('Stopped.'), 'it stops');
    check(story.startsWith(await page.run(`story.map((span) => span.textContent).join('')`)), 'what was written by then');
    await type(page, 'pace', '0');
    await storyOf(page, 'the story to its end');
    await page.run(`story[30].click()`);
    await settled(page);
    equal(await page.run(`document.querySelector('#bars .drawn').dataset.token`), String(await page.run('told[30]')), 'the row of a word, and what it draws');
    await type(page, 'chain-seed', '43');
    await settled(page);
    await page.run(`document.getElementById('replay').click()`);
    check((await page.run(`document.getElementById('story-told').textContent`)).includes('then different'), 'a replay with another seed');
    check((await storyOf(page, 'another story')) !== story, 'another seed');
    await page.run('look(prompted)');
    await settled(page);
    await page.run(`document.getElementById('draw-many').click(); document.getElementById('draw-again').click()`);
    check((await page.run(`document.getElementById('draw-told').textContent`)).startsWith('Replayed: 2,000 of 2,000'), 'the draws again');
    check((await page.run(`document.querySelectorAll('#bars .seen').length`)) > 1, 'marks of what was drawn');
}

// Nobody needs eyes or a mouse: all that can be used has a name.
async function named(page) {
    await page.run(`for (const box of document.querySelectorAll('#steps input[type=checkbox]:not(:checked)')) box.click()`);
    await settled(page);
    const { nodes } = await page.call('Accessibility.getFullAXTree');
    const used = nodes.filter((node) => !node.ignored && ['button', 'textbox', 'slider', 'checkbox', 'radio', 'combobox'].includes(node.role?.value));
    check(used.length > 90, `${used.length} things to use`);
    const nameless = used.filter((node) => !node.name?.value);
    equal(nameless.length, 0, 'things without a name');
}

// The contrast of what is read to what it stands on, as WCAG counts it.
async function legible(page) {
    const colours = await page.run(`Object.fromEntries(['text', 'quiet', 'gone', 'mark', 'page', 'card', 'field', 'kept', 'gone-back', 'ours', 'on-accent'].map((name) => [name, getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim()]))`);
    const light = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    for (const [ink, ...papers] of [['text', 'page', 'card', 'field', 'kept', 'gone-back'], ['quiet', 'page', 'card', 'field'], ['gone', 'card', 'gone-back'], ['mark', 'card'], ['on-accent', 'ours']])
        for (const paper of papers) {
            const [a, b] = [light(colours[ink]), light(colours[paper])].sort((x, y) => y - x), contrast = (a + 0.05) / (b + 0.05);
            check(contrast >= 4.5, `${ink} on ${paper}: a contrast of ${contrast.toFixed(2)}`);
        }
}

// The table's numbers: none where nothing is left, and each apart from the next column's bar.
async function tableIsRight(page) {
    const others = `[...document.querySelectorAll('#bars tfoot tr')].map((tr) => [...tr.querySelectorAll('td')].map((td) => td.textContent))`;
    for (const link of ['', '#chain=top_k;dist&top_k=5', '#chain=top_k;greedy&top_k=40', '#chain=top_p;dist&row=2&top_p=0.99']) {
        await page.run(`restore('${link}')`);
        const [share, left] = await page.run(others), seen = await page.run(`document.querySelectorAll('#bars tbody tr').length`);
        for (let i = 0; i < left.length; i++)
            if (link.includes('greedy') && i === left.length - 1) equal(share[i], '0', 'what greedy leaves to others');
            else check((Number(left[i].replace(',', '')) <= seen) === (share[i] === '0'), `${link}: ${left[i]} tokens are left, of which others have ${share[i]} %`);
    }
    await page.run('restore("")');
    const gaps = await page.run(`[...document.querySelectorAll('#bars tbody td:not(:last-child) > span:not(.unseen), #bars tfoot td:not(:last-child) > span')].map((span) => {
        const range = document.createRange();
        range.selectNodeContents(span);
        return span.parentNode.nextSibling.getBoundingClientRect().left - range.getBoundingClientRect().right;
    })`);
    check(gaps.length > 80 && Math.min(...gaps) >= 8, `a number is ${Math.min(...gaps)} pixels from the next column`);
}

// On a phone the table is above the list, and what a finger presses is large enough for one.
async function handy(page) {
    await page.look({ width: 390, height: 844 });
    const [table, list] = await page.run(`['bars', 'steps'].map((id) => document.getElementById(id).getBoundingClientRect().top)`);
    check(table < list && table < 400, `the table is at ${table}, the list at ${list}`);
    const small = await page.run(`[...document.querySelectorAll('#steps .head label, #steps .head .icon, #selectors .head label, button')].filter((e) => e.offsetParent && (e.offsetHeight < 44 || e.offsetWidth < 36)).map((e) => e.textContent || e.getAttribute('aria-label')).join()`);
    equal(small, '', 'too small for a finger');
    equal(await page.run(`[...document.querySelectorAll('#steps input[type=checkbox]')].filter((e) => e.offsetParent && e.offsetWidth < 24).length`), 0, 'small boxes');
}

async function fits(page, width, dark) {
    await page.look({ width, height: 740, dark });
    await page.run('restore("")');
    const everything = `for (const box of document.querySelectorAll('#steps input[type=checkbox]')) if (!box.checked) box.click()`;
    for (const act of ['', everything, `state.row = 1; refresh(); draw(2000)`]) {
        await page.run(act);
        await settled(page);
        check((await page.run('document.documentElement.scrollWidth')) <= width, `${width} pixels: wider than that`);
        if (width > 960) check(await page.run(`(() => { const box = document.querySelector('.scroll'); return box.scrollWidth <= box.clientWidth; })()`), `${width} pixels: the table is wider than its place`);
    }
    await legible(page);
}

const page = await open(url);
try {
    await page.until('document.body?.dataset.ready === "true"', 'the page is there');
    await startsWell(page);
    await knobsCount(page);
    await slidersAreRight(page);
    await tabs(page);
    await reorders(page);
    await linkRestores(page);
    await ticks(page);
    await tellsErrors(page);
    await writes(page);
    const told = await sameTokens(page);
    await page.run('restore("")');
    await named(page);
    await tableIsRight(page);
    await handy(page);
    await fits(page, 360, true);
    await fits(page, 1280, false);
    equal(page.complaints.join('\n'), '', 'complaints of the page');
    await page.close();
    console.log(`== test-play: ${told}; ${checks} checks`);
} catch (error) {
    console.error(`test-play: ${error.message}${page.complaints.map((text) => `\n  the page: ${text}`).join('')}`);
    process.exitCode = 1;
    await page.close().catch(() => {});
}
