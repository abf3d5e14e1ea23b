// play.js - the page to play with: settings in, bars and stories out. What samplers and settings there are, with their
// ranges and defaults, play.c tells, and so does it make the C code; here is only how they look and are moved.
'use strict';

// ---- the library ----------------------------------------------------------------------------------

const byId = (id) => document.getElementById(id);
let lib, about;
const FORMAT = -10, FULL = -11; // samp_status

const bytesAt = (at) => new Uint8Array(lib.memory.buffer, at);
const encoder = new TextEncoder(), decoder = new TextDecoder();

// A text that C has: its bytes end with 0.
function textAt(at) {
    const bytes = bytesAt(at);
    return decoder.decode(bytes.subarray(0, bytes.indexOf(0)));
}
const jsonAt = (at) => JSON.parse(textAt(at));

// Bytes that C gets: use(where they are).
function give(bytes, use) {
    const at = lib.play_memory(bytes.length + 1);
    bytesAt(at).set(bytes);
    bytesAt(at)[bytes.length] = 0;
    const result = use(at);
    lib.play_give_back(at);
    return result;
}
const giveText = (text, use) => give(encoder.encode(text.replaceAll('\0', '')), use);

function embedded(id) {
    const text = atob(byId(id).textContent), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

async function load() {
    const module = await WebAssembly.compile(embedded('play.wasm'));
    const wasi = {};
    for (const { name } of WebAssembly.Module.imports(module)) wasi[name] = () => 8; // EBADF: there are no files here
    wasi.clock_time_get = (clock, precision, at) => {
        new DataView(lib.memory.buffer).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
    };
    lib = (await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi })).exports;
    lib._initialize();
    const model = embedded('tales.bin'), rows = embedded('rows.f16'), vocabulary = 32768;
    const kept = lib.play_memory(model.length); // the model's from now on
    bytesAt(kept).set(model);
    const error = give(rows, (at) => lib.play_load(kept, model.length, at, rows.length / 2 / vocabulary, vocabulary));
    if (error) throw new Error(textAt(error));
    about = jsonAt(lib.play_about());
}

// ---- the state, and the link that has it ----------------------------------------------------------

// order: all samplers that don't select, with those in `on` that are in the chain; values: of all settings, as texts.
let state, initial;

function newState() {
    const on = about.on.split(';');
    return {
        order: about.samplers.filter((s) => !s.selects).map((s) => s.name),
        on: new Set(on.slice(0, -1)),
        select: on.at(-1),
        values: Object.fromEntries(Object.entries(about.knobs).map(([name, knob]) => [name, knob.first])),
        row: 0, // 0: the story's; 1 and up: another model's
        text: 'The old king had a',
        at: null, // behind how many tokens of the story; null: behind the text
        grammar: { kind: '', text: '' },
    };
}
const sampler = (name) => about.samplers.find((s) => s.name === name);
const knobsOf = (name) => sampler(name).knobs.split(' ').filter(Boolean);

// "-penalties;top_k;dist": all in their order, what is off with a minus before it.
const chainText = (s) => [...s.order.map((name) => (s.on.has(name) ? name : `-${name}`)), s.select].join(';');

function toHash() {
    const link = new URLSearchParams();
    if (chainText(state) !== chainText(initial)) link.set('chain', chainText(state));
    for (const [name, value] of Object.entries(state.values)) if (value !== initial.values[name]) link.set(name, value);
    if (state.row) link.set('row', state.row);
    if (state.text !== initial.text) link.set('text', state.text);
    if (state.grammar.kind) {
        link.set('grammar', state.grammar.kind);
        link.set('rules', state.grammar.text);
    }
    return link.toString().replaceAll('%3B', ';').replaceAll('%2C', ',');
}

// What a link does not know, or has wrong, is as at first.
function fromHash(hash) {
    const link = new URLSearchParams(hash.replace(/^#/, '')), s = newState();
    const chain = (link.get('chain') ?? '').split(';').filter(Boolean);
    const named = chain.map((name) => name.replace(/^-/, ''));
    const steps = named.filter((name, i) => s.order.includes(name) && named.indexOf(name) === i);
    if (chain.length) {
        s.order = [...steps, ...s.order.filter((name) => !steps.includes(name))];
        s.on = new Set(chain.filter((name) => steps.includes(name)));
        s.select = named.filter((name) => sampler(name)?.selects).at(-1) ?? s.select;
    }
    for (const name of Object.keys(s.values)) s.values[name] = link.get(name) ?? s.values[name];
    const row = Number(link.get('row') ?? 0);
    s.row = Number.isInteger(row) && row >= 0 && row <= about.rows ? row : 0;
    s.text = link.get('text') ?? s.text;
    const kind = link.get('grammar') ?? '';
    if ([...byId('grammar-kind').options].some((o) => o.value === kind)) s.grammar = { kind, text: link.get('rules') ?? '' };
    return s;
}

const place = () => (state.row ? -state.row : state.at ?? prompted);

// The settings as play_configure reads them: those that count.
function lines() {
    const chain = [...state.order.filter((name) => state.on.has(name)), state.select];
    const names = new Set(['seed', 'min_keep', ...chain.flatMap(knobsOf)]);
    return [`at=${place()}`, `chain=${chain.join(';')}`, ...[...names].map((name) => `${name}=${state.values[name].trim()}`)].join('\n');
}
const configure = () => giveText(lines(), (at) => jsonAt(lib.play_configure(at)));

// ---- pieces of the page ---------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
        else if (value !== false && value !== null) node.setAttribute(name, value === true ? '' : value);
    }
    node.append(...children);
    return node;
}
const sayPlace = (name) => { byId('live').textContent = `${name} is number ${state.order.indexOf(name) + 1} of ${state.order.length}`; };
const count = (n) => n.toLocaleString('en');

function percent(p, whole = false) {
    const x = 100 * p;
    if (whole) return x > 0 && x < 0.5 ? '<1' : x.toFixed(0);
    return x === 0 ? '0' : x < 0.05 ? '<0.1' : x > 99.95 && x < 100 ? '>99.9' : x.toFixed(1);
}
const time = (ns) => (ns < 9950 ? `${(ns / 1e3).toFixed(1)} µs` : ns < 999500 ? `${(ns / 1e3).toFixed(0)} µs` : `${(ns / 1e6).toFixed(2)} ms`);

// The text of a token, which may be a part of a character; ids where there are no texts.
function pieceBytes(token) {
    const at = lib.play_piece(token);
    return bytesAt(at + 1).subarray(0, bytesAt(at)[0]);
}
function pieceText(token) {
    if (state.row) return `#${token}`;
    const text = decoder.decode(pieceBytes(token));
    return token === about.end ? '(end)' : text === '' ? '(begin)' : text.replaceAll(' ', '\u2423').replaceAll('\n', '\u21b5');
}

// The same with its blanks in a quiet colour.
const spelt = (token) => pieceText(token).split(/(\u2423)/).filter(Boolean).map((part) => (part === '\u2423' ? make('span', { class: 'blank' }, part) : part));

function setValue(name, value, from) {
    state.values[name] = value;
    for (const input of document.querySelectorAll(`[data-knob="${name}"]`)) if (input !== from) input.value = value;
    refreshSoon();
}

// A setting that is 0 or 1: a box to tick.
function tick(name, id) {
    const box = make('input', { type: 'checkbox', id, 'data-knob': name, onchange: () => setValue(name, box.checked ? '1' : '0', box) });
    box.checked = state.values[name] === '1';
    return make('div', { class: 'knob' }, make('label', { for: id, title: about.knobs[name].takes }, name), box);
}

// A setting: its name, a slider where it has a range, and the text that the library reads.
function knob(name, owner) {
    const { from, to, takes, usual } = about.knobs[name], id = `${owner}-${name}`, whole = takes.includes('whole');
    if (whole && from === '0' && to === '1') return tick(name, id);
    const step = whole ? 1 : (Number(to) - Number(from)) / 100 < 0.011 ? 0.01 : 0.05;
    const text = make('input', {
        type: 'text', id, 'data-knob': name, inputmode: name === 'logit_bias' ? 'text' : 'decimal', autocomplete: 'off', spellcheck: 'false',
        placeholder: name === 'logit_bias' ? '591+2,12-inf' : false, 'aria-describedby': `${owner}-error`,
        oninput: () => setValue(name, text.value, text),
    });
    const label = make('label', { for: id, title: `${takes}${usual && `; ${usual} by default`}` }, name);
    text.value = state.values[name];
    if (to === '') return make('div', { class: 'knob wide' }, label, text);
    const range = make('input', {
        type: 'range', min: from, max: to, step, 'data-knob': name, 'aria-label': `${name}, slider`,
        oninput: () => setValue(name, String(Number(range.value)), range),
    });
    range.value = state.values[name];
    return make('div', { class: 'knob' }, label, range, text);
}
const knobs = (name) => make('div', { class: 'knobs', id: `${name}-knobs` }, ...knobsOf(name).map((k) => knob(k, name)));
const errorOf = (name) => make('p', { class: 'error about', id: `${name}-error`, role: 'alert' });

const dots = () => {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('width', '10');
    svg.setAttribute('height', '14');
    svg.setAttribute('aria-hidden', 'true');
    svg.innerHTML = [2, 7, 12].map((y) => `<circle cx="2" cy="${y}" r="1.4"/><circle cx="8" cy="${y}" r="1.4"/>`).join('');
    svg.style.fill = 'currentColor';
    return svg;
};

function stepItem(name) {
    const { does } = sampler(name);
    const item = make('li', { 'data-name': name });
    const on = make('input', { type: 'checkbox', tabindex: -1, 'aria-describedby': 'how-to-move', onchange: () => {
        state.on[on.checked ? 'add' : 'delete'](name);
        showStep(item);
        refreshSoon();
    } });
    const handle = make('button', {
        type: 'button', class: 'icon handle', tabindex: -1, 'aria-label': `Move ${name}`,
        onkeydown: (event) => {
            const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
            if (!by) return;
            event.preventDefault();
            move(name, by);
            handle.focus();
        },
        onpointerdown: (event) => drag(event, item, handle),
    }, dots());
    const arrow = (by, sign, word) => {
        const button = make('button', { type: 'button', class: 'icon', tabindex: -1, 'aria-label': `${name}: ${word}`, onclick: () => {
            move(name, by);
            button.focus();
        } }, sign);
        return button;
    };
    on.checked = state.on.has(name);
    item.append(
        make('div', { class: 'head' }, handle, make('label', { class: 'name' }, on, name), make('span', { class: 'does', title: does }),
            arrow(-1, '\u2191', 'earlier'), arrow(1, '\u2193', 'later')),
        make('p', { class: 'about' }, does), knobs(name), errorOf(name));
    showStep(item);
    return item;
}

function showStep(item) {
    const { name } = item.dataset, on = state.on.has(name);
    item.classList.toggle('on', on);
    item.querySelector('.knobs').hidden = !on;
    item.querySelector('.about').hidden = !on;
    item.querySelector('.does').textContent = on ? '' : sampler(name).does;
    if (!on) byId(`${name}-error`)?.replaceChildren();
}

function move(name, by) {
    const i = state.order.indexOf(name), to = Math.min(Math.max(i + by, 0), state.order.length - 1);
    state.order.splice(to, 0, state.order.splice(i, 1)[0]);
    const list = byId('steps'), item = list.querySelector(`[data-name="${name}"]`);
    if (to !== i) list.insertBefore(item, list.querySelectorAll(':scope > li')[to + (by > 0 ? 1 : 0)] ?? null);
    sayPlace(name);
    refreshSoon();
}

// The list is one stop of the tab key. Of its boxes the one that had the focus last is the stop.
const boxes = () => [...document.querySelectorAll('#steps > li > .head input')];
function stopAt(box) {
    for (const other of boxes()) other.tabIndex = other === box ? 0 : -1;
}
function walk(event) {
    const all = boxes(), i = all.indexOf(event.target), to = { ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: all.length - 1 }[event.key];
    if (i < 0 || to === undefined) return;
    event.preventDefault();
    if (event.altKey) move(state.order[i], to - i);
    (event.altKey ? all[i] : all[to] ?? all[i]).focus();
}

// By mouse, pen or finger: the item goes where the pointer is. The others are moved around it, for what leaves its place
// in the document loses the pointer.
function drag(event, item, handle) {
    if (event.button) return;
    const middle = (other) => { const box = other.getBoundingClientRect(); return box.top + Math.min(box.height, 60) / 2; };
    handle.setPointerCapture(event.pointerId);
    item.classList.add('dragging');
    const follow = ({ clientY }) => {
        while (item.previousElementSibling && clientY < middle(item.previousElementSibling)) item.after(item.previousElementSibling);
        while (item.nextElementSibling && clientY > middle(item.nextElementSibling)) item.before(item.nextElementSibling);
        if (clientY < 40) scrollBy(0, -12);
        if (clientY > innerHeight - 40) scrollBy(0, 12);
        const order = [...byId('steps').children].map((other) => other.dataset.name);
        if (order.join() === state.order.join()) return;
        state.order = order;
        refreshSoon();
    };
    const drop = () => {
        handle.removeEventListener('pointermove', follow);
        item.classList.remove('dragging');
        sayPlace(item.dataset.name);
    };
    handle.addEventListener('pointermove', follow);
    handle.addEventListener('lostpointercapture', drop, { once: true });
}

function selectorItem({ name, does }) {
    const radio = make('input', { type: 'radio', name: 'select', value: name, onchange: () => {
        state.select = name;
        showSelectors();
        refreshSoon();
    } });
    return make('li', { 'data-name': name },
        make('div', { class: 'head' }, make('label', { class: 'name' }, radio, name), make('span', { class: 'does', title: does })),
        make('p', { class: 'about' }, does), knobs(name), errorOf(name));
}

function showSelectors() {
    for (const item of byId('selectors').querySelectorAll('li')) {
        const on = item.dataset.name === state.select;
        item.classList.toggle('on', on);
        item.querySelector('input').checked = on;
        item.querySelector('.knobs').hidden = item.querySelector('.about').hidden = !on;
        item.querySelector('.does').textContent = on ? '' : sampler(item.dataset.name).does;
    }
}

// All that has the state in it.
function showState() {
    byId('steps').replaceChildren(...state.order.map(stepItem));
    stopAt(boxes()[0]);
    byId('selectors').querySelector('ul').replaceChildren(...about.samplers.filter((s) => s.selects).map(selectorItem));
    byId('general').replaceChildren(knob('seed', 'chain'), knob('min_keep', 'chain'));
    byId('chain-seed').after(make('button', { type: 'button', onclick: () => setValue('seed', String(Math.floor(1e6 * Math.random()))) }, 'Another'));
    showSelectors();
    byId('source').value = state.row;
    byId('text').value = state.text;
    byId('grammar-kind').value = state.grammar.kind;
    byId('grammar').value = state.grammar.text;
    prompt();
    useGrammar();
}

// ---- a row ----------------------------------------------------------------------------------------

let prompted = 0, shown = [], waiting = false, wait = 0;

function refreshSoon() {
    if (!waiting) requestAnimationFrame(() => { waiting = false; refresh(); });
    waiting = true;
}

// What is wrong stands where it can be mended; what is shown is then still of the settings before, and looks like it. Returns
// whether the settings are good.
function tellErrors(result) {
    document.body.classList.toggle('stale', result.status < 0);
    byId('row-error').textContent = '';
    for (const input of document.querySelectorAll('.side [aria-invalid]')) input.removeAttribute('aria-invalid');
    for (const p of document.querySelectorAll('.side .error')) p.textContent = '';
    if (result.status >= 0) return true;
    const chain = [...state.order.filter((name) => state.on.has(name)), state.select];
    const owner = chain.find((name) => knobsOf(name).includes(result.field)) ?? (result.field === 'vocab' && chain.find((name) => name === 'infill' || name === 'dry')) ?? null;
    const text = result.field === 'vocab' ? 'it needs the texts of tokens, which this row does not have' : `${result.field}${result.status === FORMAT ? '' : `: ${result.message};`}${result.takes && ` it takes ${result.takes}`}`.replace(/;$/, '');
    (owner ? byId(`${owner}-error`) : byId('chain-error')).textContent = text;
    byId('row-error').textContent = `${owner && !text.startsWith(owner) ? `${owner}: ` : ''}${text}. The table is still of the settings before.`;
    for (const input of document.querySelectorAll(`.side input[type=text][data-knob="${result.field}"]`)) input.setAttribute('aria-invalid', 'true');
    return false;
}

function refresh() {
    const good = tellErrors(configure());
    clearTimeout(wait);
    wait = setTimeout(() => history.replaceState(null, '', location.href.split('#')[0] + (toHash() && `#${toHash()}`)), 150);
    if (!good) return;
    shown = [];
    byId('tokens').replaceChildren();
    byId('draw-told').textContent = '';
    drawn = [];
    showTrace(jsonAt(lib.play_trace()));
    byId('code').textContent = textAt(lib.play_code());
}

const columnNames = (n) => {
    const names = ['model', ...state.order.filter((name) => state.on.has(name)), state.select];
    if (n > names.length) names.splice(1, 0, 'grammar');
    return names.slice(0, n);
};

function cell(p, before, most, many) {
    const td = make('td'), bars = make('div'), bar = (kind, from, to) => {
        if (to > from) bars.append(make('i', { class: kind, style: `left:${(100 * from) / most}%;width:${(100 * (to - from)) / most}%` }));
    };
    td.append(bars);
    if (p < 0 && before < 0) {
        td.append(make('span', { class: 'unseen' }, 'removed'));
    } else if (p < 0) {
        td.className = 'gone';
        bar('out', 0, Math.max(before, most / 60));
        td.append(make('span', {}, '\u00d7', make('span', { class: 'unseen' }, ' removed here')));
    } else {
        bar('kept', 0, Math.min(p, before));
        if (p > before * 1.001) bar('more', before, p);
        else bar('less', p, before);
        td.append(make('span', {}, percent(p, many)));
    }
    return td;
}

function showTrace(trace) {
    if (!trace.steps.length) return;
    const { steps, tokens } = trace, names = columnNames(steps.length), table = byId('bars');
    byId('row-error').textContent = trace.status < 0 ? `No token: ${trace.message}` : '';
    byId('row-about').textContent = trace.status < 0 ? '' : `${count(trace.n)} tokens, ${count(steps.at(-1).left)} to draw from; this draw: ${pieceText(trace.token)}`;
    const many = names.length > (innerWidth < 561 ? 6 : 8);
    table.classList.toggle('many', many);
    table.style.minWidth = many ? `${84 + 25 * names.length}px` : ''; // on a phone they are scrolled
    shown = tokens;
    const most = Math.max(1e-9, ...steps.flatMap((step) => step.p)) * 1.02;
    table.dataset.most = most;
    const idle = (k) => steps[k].text.startsWith('?');
    table.querySelector('thead').replaceChildren(make('tr', {}, make('th', { class: 'token', scope: 'col' }, make('span', { class: 'unseen' }, 'token')),
        ...names.map((name, k) => make('th', { scope: 'col', class: idle(k) ? 'idle' : false, title: steps[k].text.replace('?', 'off: ') }, make('code', {}, ...name.split(/(?<=_)/).flatMap((part) => [part, make('wbr')]))))));
    table.querySelector('tbody').replaceChildren(...tokens.map((token, i) => make('tr', { class: token === trace.token ? 'drawn' : false, 'data-token': token },
        make('th', { scope: 'row', title: `token ${token}` }, ...spelt(token), state.row ? '' : make('small', {}, token)),
        ...steps.map((step, k) => cell(step.p[i], k ? steps[k - 1].p[i] : step.p[i], most, many)))));
    const foot = (title, values) => make('tr', {}, make('th', { scope: 'row' }, title), ...values.map((v) => make('td', {}, make('span', {}, v))));
    table.querySelector('tfoot').replaceChildren(foot('all others, %', steps.map((s) => percent(s.others, many))), foot('tokens left', steps.map((s) => (many && s.left > 999 ? `${Math.round(s.left / 1000)}k` : count(s.left)))));
    showEffects(names, steps);
    showStrip(tokens, steps.at(-1).p);
    showPlace();
}

// What is drawn from, in short, where the table is out of sight.
function showStrip(tokens, p) {
    const best = tokens.map((token, i) => ({ token, p: p[i] })).filter((one) => one.p > 0).sort((a, b) => b.p - a.p);
    byId('strip').replaceChildren(...best.slice(0, 8).map((one) => {
        const text = pieceText(one.token), fits = one.p > 0.022 * text.length + 0.02; // on a phone
        return make('span', { style: `width:${100 * one.p}%` }, fits ? text : '\u00a0');
    }), make('span', {}));
}

// Which of the story's rows it is.
function showPlace() {
    byId('places').hidden = byId('text-field').hidden = Boolean(state.row);
    byId('earlier').disabled = place() <= prompted;
    byId('later').disabled = place() >= prompted + told.length;
    byId('place').textContent = state.at > prompted ? `and ${count(state.at - prompted)} tokens of the story` : '';
    const here = state.row || state.at === null ? undefined : story[state.at - prompted], box = byId('story');
    for (const span of story) span.classList.toggle('here', span === here);
    if (here && (here.offsetTop < box.scrollTop || here.offsetTop + 30 > box.scrollTop + box.clientHeight)) box.scrollTop = here.offsetTop - box.clientHeight / 2;
}

// Beside each sampler that is on: how many tokens it leaves.
function showEffects(names, steps) {
    const items = new Map([...document.querySelectorAll('.side li')].map((item) => [item.dataset.name, item]));
    names.forEach((name, k) => {
        const does = items.get(name)?.querySelector('.does');
        if (!does) return;
        const [before, now] = [steps[k - 1], steps[k]];
        const moved = now.p.some((p, i) => Math.abs(p - before.p[i]) > 1e-6);
        does.textContent = now.text.startsWith('?') ? 'off' : before.left !== now.left ? `${count(before.left)} \u2192 ${count(now.left)}` : moved ? `${count(now.left)}, moved` : `all ${count(now.left)} stay`;
        does.title = now.text;
    });
}

// ---- draws ----------------------------------------------------------------------------------------

let drawn = [];

function draw(n) {
    if (!tellErrors(configure())) return;
    const { tokens, ns } = jsonAt(lib.play_draw(n, 0));
    drawn = tokens;
    byId('draw-told').textContent = tokens[0] < 0 ? '' : `${count(n)} tokens with seed ${state.values.seed}, ${time(ns)} each`;
    byId('tokens').replaceChildren(...tokens.slice(0, 200).map((token) => make('span', {}, token < 0 ? 'none' : pieceText(token))));
    showShares(tokens);
}

// How often each token came, as a mark in the last column.
function showShares(tokens) {
    const often = new Map();
    for (const token of tokens) often.set(token, (often.get(token) ?? 0) + 1);
    const most = Number(byId('bars').dataset.most);
    for (const mark of byId('bars').querySelectorAll('.seen')) mark.remove();
    for (const row of byId('bars').querySelectorAll('tbody tr')) {
        const share = (often.get(Number(row.dataset.token)) ?? 0) / tokens.length;
        if (share) row.querySelector('td:last-child div').append(make('i', { class: 'seen', style: `left:${(100 * share) / most}%`, title: `${percent(share)} % of the draws` }));
    }
}

// New chains, the same seed: the same tokens, one by one.
function drawAgain() {
    if (!drawn.length) draw(20);
    if (!tellErrors(configure())) return;
    const before = drawn, { tokens } = jsonAt(lib.play_draw(before.length, 0));
    const same = tokens.filter((token, i) => token === before[i]).length;
    byId('draw-told').textContent = `Replayed: ${count(same)} of ${count(before.length)} tokens are the same`;
    [...byId('tokens').children].forEach((span, i) => { span.className = tokens[i] === before[i] ? 'same' : 'other'; });
}

// ---- the story ------------------------------------------------------------------------------------

let story = [], told = [], writing = 0, streaming;

function prompt() {
    stop();
    const n = giveText(state.text, (at) => lib.play_prompt(at));
    byId('text').toggleAttribute('aria-invalid', false);
    if (n < 0) byId('text').setAttribute('aria-invalid', 'true');
    else prompted = n;
    state.at = null;
    clearStory();
    refreshSoon();
}

function clearStory() {
    story = [];
    told = [];
    streaming = new TextDecoder();
    byId('story').replaceChildren(make('b', {}, state.text), state.grammar.kind ? '\n' : '');
    byId('story-told').textContent = '';
    byId('figures').hidden = byId('replay').disabled = true;
}

function append(token) {
    const i = told.push(token) - 1, share = lib.play_share(prompted + i);
    const text = token === about.end ? (state.grammar.kind ? '' : '\n\n') : streaming.decode(pieceBytes(token), { stream: true });
    const span = make('span', { class: share >= 0.5 ? false : share >= 0.1 ? 's1' : share >= 0.02 ? 's2' : 's3', title: `${percent(share)} % in the model's row` }, text);
    story.push(span);
    byId('story').append(span);
}

function showFigures(samplingNs) {
    const n = told.length, model = lib.play_model_ns() / n, sampling = samplingNs ?? lib.play_sampling_ns() / n;
    if (!n) return;
    byId('figures').hidden = false;
    byId('speed').textContent = model + sampling > 0 ? count(Math.round(1e9 / (model + sampling))) : '\u2026';
    byId('model-time').textContent = time(model);
    byId('sampling-time').textContent = `${time(sampling)}${model ? ` (${((100 * sampling) / (model + sampling)).toFixed(1)} %)` : ''}`;
}

function stop() {
    if (writing) cancelAnimationFrame(writing);
    writing = 0;
    byId('write').textContent = 'Write';
}

function write() {
    if (writing) return finish('Stopped.');
    if (!tellErrors(configure())) return;
    const status = lib.play_begin(0);
    clearStory();
    state.at = null;
    byId('write').textContent = 'Stop';
    if (status < 0) return finish('');
    const begin = performance.now(), pace = Number(byId('pace').value);
    const tick = () => {
        const now = performance.now(), due = pace ? ((now - begin) / 1000) * pace : Infinity;
        while (told.length < due && performance.now() - now < 12) {
            const token = lib.play_write();
            if (token >= 0) append(token);
            if (token === FULL) return finish('The context of the model is full.');
            if (token < 0) return finish('No token is allowed next.');
            if (token === about.end && state.grammar.kind) return finish('The text is complete.');
        }
        showFigures();
        byId('story').scrollTop = byId('story').scrollHeight;
        writing = requestAnimationFrame(tick);
    };
    writing = requestAnimationFrame(tick);
}

function finish(why) {
    stop();
    if (told.length) replay(why);
    else byId('story-told').textContent = why;
    showPlace();
}

// The same rows, the same seed, a new chain; and a time that even a browser's clock can tell.
function replay(why = '') {
    if (!tellErrors(configure())) return;
    const { tokens, same, ns } = jsonAt(lib.play_replay(2e7));
    byId('replay').disabled = false;
    if (same === tokens) showFigures(ns);
    byId('story-told').textContent = `${why} ${count(tokens)} tokens. `.trimStart() + (same === tokens
        ? `Replayed with seed ${state.values.seed}: all of them again.`
        : `Replayed: the same up to token ${count(same)}, then different, because the settings have changed.`);
}

function look(at) {
    state.row = 0;
    byId('source').value = 0;
    state.at = Math.min(Math.max(at, prompted), prompted + told.length);
    refreshSoon();
}

// ---- the grammar ----------------------------------------------------------------------------------

const KINDS = ['gbnf', 'json', 'regex'];
const EXAMPLES = { 'list.gbnf': 'gbnf', 'verse.gbnf': 'gbnf', 'hero.json': 'json' };
let wrong = null;

function useGrammar() {
    const { kind, text } = state.grammar;
    stop();
    const result = kind ? giveText(text, (at) => jsonAt(lib.play_grammar(KINDS.indexOf(kind), at))) : jsonAt(lib.play_grammar(0, 0));
    wrong = result.status < 0 ? result : null;
    byId('grammar').hidden = !kind;
    byId('grammar').setAttribute('aria-invalid', String(Boolean(wrong)));
    byId('grammar-error').textContent = wrong ? `${wrong.line ? `line ${wrong.line}, column ${wrong.column}: ` : ''}${wrong.message}` : '';
    byId('grammar-place').hidden = !wrong?.line;
    byId('grammar-good').textContent = !kind ? 'Choose a kind or an example, then write a story.' : wrong ? '' : 'The story will match it.';
    state.at = null;
    refreshSoon();
}

// To where the grammar is wrong; columns are bytes.
function goToError() {
    const text = byId('grammar').value, line = text.split('\n').slice(0, wrong.line - 1).join('\n').length + (wrong.line > 1);
    const rest = encoder.encode(text.slice(line)).subarray(0, wrong.column - 1), at = line + decoder.decode(rest).length;
    byId('grammar').focus();
    byId('grammar').setSelectionRange(at, Math.min(at + 1, text.length));
}

// ---- all together ---------------------------------------------------------------------------------

async function copy(text, status, what) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const field = make('textarea', { 'aria-hidden': 'true' });
        field.value = text;
        document.body.append(field);
        field.select();
        document.execCommand('copy');
        field.remove();
    }
    byId(status).textContent = what;
    setTimeout(() => { byId(status).textContent = ''; }, 3000);
}

function restore(hash) {
    state = fromHash(hash);
    showState();
    refresh();
}

function listen() {
    const on = (id, event, run) => byId(id).addEventListener(event, run);
    let typing = 0;
    const later = (run) => { clearTimeout(typing); typing = setTimeout(run, 200); };
    on('steps', 'keydown', walk);
    on('steps', 'focusin', ({ target }) => { if (boxes().includes(target)) stopAt(target); });
    on('copy-link', 'click', () => copy(`${location.href.split('#')[0]}#${toHash()}`, 'told', 'Copied.'));
    on('anew', 'click', () => restore(''));
    on('source', 'change', () => { state.row = Number(byId('source').value); refreshSoon(); });
    on('text', 'input', () => { state.text = byId('text').value; later(prompt); });
    on('earlier', 'click', () => look(place() - 1));
    on('later', 'click', () => look(place() + 1));
    on('draw', 'click', () => draw(20));
    on('draw-many', 'click', () => draw(2000));
    on('draw-again', 'click', drawAgain);
    on('write', 'click', write);
    on('replay', 'click', () => replay());
    on('story', 'click', (event) => { const i = story.indexOf(event.target); if (i >= 0) look(prompted + i); });
    on('grammar-kind', 'change', () => {
        state.grammar.kind = byId('grammar-kind').value;
        if (state.grammar.kind && !state.grammar.text) example(Object.keys(EXAMPLES).find((name) => EXAMPLES[name] === state.grammar.kind));
        useGrammar();
    });
    on('grammar-example', 'change', () => { example(byId('grammar-example').value); byId('grammar-example').value = ''; useGrammar(); });
    on('grammar', 'input', () => { state.grammar.text = byId('grammar').value; later(useGrammar); });
    on('grammar-place', 'click', goToError);
    on('copy-code', 'click', () => copy(byId('code').textContent, 'code-told', 'Copied.'));
    addEventListener('hashchange', () => { if (location.hash.slice(1) !== toHash()) restore(location.hash); });
}

function example(name) {
    if (name && byId(name)) state.grammar = { kind: EXAMPLES[name], text: byId(name).textContent.trim() };
    else if (state.grammar.kind === 'regex') state.grammar.text = '(The|A) [a-z]+ (said|asked|cried): "[A-Z][a-z ]{5,40}[.!?]"';
    byId('grammar').value = state.grammar.text;
    byId('grammar-kind').value = state.grammar.kind;
}

async function main() {
    await load();
    initial = newState();
    byId('version').textContent = about.version;
    byId('source').append(make('option', { value: 0 }, 'the story model\u2019s row'),
        ...Array.from({ length: about.rows }, (_, i) => make('option', { value: i + 1 }, `row ${i + 1} of ${about.rows} of a larger model`)));
    byId('grammar-example').append(...Object.keys(EXAMPLES).map((name) => make('option', { value: name }, name)));
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) byId('pace').value = '0';
    listen();
    byId('wait').hidden = true;
    document.querySelector('main').hidden = false;
    restore(location.hash);
    document.body.dataset.ready = 'true';
}

main().catch((error) => {
    byId('wait').textContent = `This page does not work here: ${error.message}`;
    throw error;
});
