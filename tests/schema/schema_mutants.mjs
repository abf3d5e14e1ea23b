// schema_mutants.mjs - documents of the official suite, changed at random, and what ajv says of each.
//     node schema_mutants.mjs NODE_MODULES DRAFT N SEED FILE ...      DRAFT: 4, 7 or 2020, of schemas that name none
// About N documents, as lines {name, schema, tests: [{valid, data}]} for schema_files.c. Left out: schemas that ajv does
// not take, or of which it judges the suite's own documents otherwise than the suite; documents that a format alone makes
// invalid (ajv's formats are not the suite's); names of JavaScript's own members ("toString"); numbers of more than 12
// characters, which ajv divides in doubles.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { ajv, draftOf } from './ajv.mjs';
const [modules, draftName, n, seed, ...files] = process.argv.slice(2);
const compile = ajv(modules), address = { 4: 'http://json-schema.org/draft-04/schema#', 7: 'http://json-schema.org/draft-07/schema#' };

let state = (Number(seed) * 2654435761 + 1) >>> 0;
const below = (k) => {
    state ^= state << 13, state >>>= 0, state ^= state >>> 17, state ^= state << 5, state >>>= 0;
    return state % k;
};
const pick = (list) => list[below(list.length)];
const copy = (x) => JSON.parse(JSON.stringify(x));

// All values and names of the suite, to take from.
const values = [null, true, false, 0, 1, -1, 1.5, 100, '', 'a', 'foo', [], {}, [1, 1], { a: 1 }], names = ['a', 'foo', 'bar', ''];
const gather = (x) => {
    values.push(x);
    if (typeof x !== 'object' || x === null) return;
    if (!Array.isArray(x)) names.push(...Object.keys(x));
    for (const part of Object.values(x)) gather(part);
};
const plain = (x) => typeof x === 'number' ? /^[-.0-9]{1,12}$/.test(String(x)) : typeof x !== 'object' || x === null ||
    Object.entries(x).every(([name, part]) => !(name in {}) && plain(part));

const changeString = (s) => {
    const chars = [...s], at = below(chars.length + 1);
    chars.splice(at, below(2), ...pick([[], ['a'], ['é'], [' '], ['0'], [chars[0] ?? 'b'], ['😀']]));
    return chars.join('');
};
const changeNumber = (x) => pick([x + 1, x - 1, -x, x * 2, x / 2, x + 0.5, x * 10, x / 10, Math.round(x), 0]);
const changeArray = (list) => {
    const at = below(list.length + 1);
    switch (below(5)) {
        case 0: list.splice(at, 1); break;
        case 1: list.splice(at, 0, copy(pick(values))); break;
        case 2: if (list.length) list.splice(at, 0, copy(pick(list))); break;
        case 3: list.reverse(); break;
        default: if (list.length) list[at % list.length] = change(list[at % list.length]);
    }
    return list;
};
const changeObject = (x) => {
    const keys = Object.keys(x), key = keys.length ? pick(keys) : pick(names);
    switch (below(4)) {
        case 0: delete x[key]; break;
        case 1: x[pick(names)] = copy(pick(values)); break;
        case 2: if (keys.length) x[changeString(key)] = x[key], delete x[key]; break;
        default: if (keys.length) x[key] = change(x[key]);
    }
    return x;
};
const change = (x) => {
    if (below(6) === 0) return copy(pick(values));
    if (below(20) === 0) return pick([[x], { [pick(names)]: x }]);
    if (typeof x === 'string') return changeString(x);
    if (typeof x === 'number') return changeNumber(x);
    if (Array.isArray(x)) return changeArray(x);
    return x !== null && typeof x === 'object' ? changeObject(x) : copy(pick(values));
};

const cases = files.flatMap((file) => JSON.parse(readFileSync(file, 'utf8')).map((c) => ({ ...c, file: basename(file) })));
for (const c of cases) for (const t of c.tests) gather(t.data);
const judged = cases.flatMap((c) => {
    const schema = typeof c.schema === 'object' && address[draftName] && !c.schema.$schema ?
        { $schema: address[draftName], ...c.schema } : c.schema;
    try {
        const draft = draftOf(schema);
        const validate = compile(copy(schema), draft, true), loosely = compile(copy(schema), draft, false);
        return c.tests.every((t) => validate(t.data) === t.valid) ? [{ ...c, schema, validate, loosely }] : [];
    } catch (e) {
        return [];
    }
});
for (const c of judged) {
    const tests = new Map();
    for (let i = Math.ceil(Number(n) / judged.length); i > 0; i--) {
        let data = copy(pick(c.tests).data);
        for (let k = 1 + below(3); k > 0; k--) data = change(data);
        if (!plain(data)) continue;
        const text = JSON.stringify(data);
        try {
            const valid = c.validate(JSON.parse(text));
            if (valid === c.loosely(JSON.parse(text))) tests.set(text, valid);
        } catch (e) { // ajv compares no object that has a member "toString"
            continue;
        }
    }
    const list = [...tests].map(([text, valid]) => `{"valid":${valid},"data":${text}}`);
    console.log(`{"name":${JSON.stringify(`${c.file}: ${c.description}`)},"schema":${JSON.stringify(c.schema)},"tests":[${list}]}`);
}
