// schema_ajv.mjs - are the documents of schema_walks.c valid? Asks npm's ajv, by the schema's own draft.
//     node schema_ajv.mjs NODE_MODULES FILE       Exit 1 if one isn't. Schemas that ajv does not take are counted, and so
// are documents that it only refuses because of a format: its e-mail addresses need a dot in the domain, say.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
const require = createRequire(resolve(process.argv[2], 'x.js'));
const load = (name) => require(name).default ?? require(name);
// Without ownProperties every object has a "constructor"; 0.47 is no multiple of 0.01 in doubles.
const options = { strict: false, logger: false, validateSchema: false, ownProperties: true, multipleOfPrecision: 9 };
const of = { 4: 'ajv-draft-04', 7: 'ajv', 2019: 'ajv/dist/2019', 2020: 'ajv/dist/2020' };
const compile = (schema, draft, formats) => {
    const ajv = new (load(of[draft]))({ ...options, validateFormats: formats });
    load('ajv-formats')(ajv);
    return ajv.compile(schema);
};
// Up to draft 7 a $ref has no neighbours, but ajv asks them too.
const ASKING = new Set(['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items', 'minimum',
    'maximum', 'minLength', 'maxLength', 'pattern', 'format', 'minItems', 'maxItems', 'allOf', 'anyOf', 'oneOf', 'not']);
const alone = (x) => {
    if (typeof x !== 'object' || x === null) return x;
    if (typeof x.$ref === 'string') for (const key of Object.keys(x)) if (ASKING.has(key)) delete x[key];
    for (const part of Object.values(x)) alone(part);
    return x;
};
const draftOf = (schema) => {
    const text = schema === true || schema === false ? '' : String(schema.$schema ?? '');
    return /draft-0[34]/.test(text) ? 4 : /draft-0[67]/.test(text) ? 7 : /2019-09/.test(text) ? 2019 : 2020;
};
let schemas = 0, documents = 0, refused = 0, invalid = 0, formats = 0;
for (const line of readFileSync(process.argv[3], 'utf8').split('\n').filter(Boolean)) {
    const { name, schema, documents: texts } = JSON.parse(line);
    const draft = draftOf(schema);
    let validate, loosely;
    try {
        delete schema.$schema;
        if (draft <= 7) alone(schema);
        validate = compile(schema, draft, true);
        loosely = compile(schema, draft, false);
    } catch (e) {
        refused++;
        continue;
    }
    schemas++;
    for (const text of texts) {
        documents++;
        let why;
        try {
            const data = JSON.parse(text);
            if (validate(data)) continue;
            if (loosely(data)) {
                formats++;
                continue;
            }
            why = JSON.stringify(loosely.errors[0]);
        } catch (e) {
            why = String(e);
        }
        if (invalid++ < 40) console.log(`INVALID ${name}: ${text.slice(0, 200)}: ${why.slice(0, 200)}`);
    }
}
console.log(`ajv: schemas ${schemas} documents ${documents} invalid ${invalid}, formats ${formats}; ${refused} schemas it does not take`);
process.exit(invalid || !documents ? 1 : 0);
