// schema_ajv.mjs - are the documents of schema_walks.c valid? Asks npm's ajv, by the schema's own draft.
//     node schema_ajv.mjs NODE_MODULES FILE       Exit 1 if one isn't. Schemas that ajv does not take are counted, and so
// are documents of which ajv only says that a format is another one: its e-mail addresses need a dot in the domain, say.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
const require = createRequire(resolve(process.argv[2], 'x.js'));
const load = (name) => require(name).default ?? require(name);
const options = { strict: false, allErrors: false, logger: false, validateSchema: false };
const make = {
    4: () => new (load('ajv-draft-04'))(options),
    7: () => new (load('ajv'))(options),
    2019: () => new (load('ajv/dist/2019'))(options),
    2020: () => new (load('ajv/dist/2020'))(options),
};
const draftOf = (schema) => {
    const text = schema === true || schema === false ? '' : String(schema.$schema ?? '');
    return /draft-0[34]/.test(text) ? 4 : /draft-0[67]/.test(text) ? 7 : /2019-09/.test(text) ? 2019 : 2020;
};
let schemas = 0, documents = 0, refused = 0, invalid = 0, formats = 0;
for (const line of readFileSync(process.argv[3], 'utf8').split('\n').filter(Boolean)) {
    const { name, schema, documents: texts } = JSON.parse(line);
    let validate;
    try {
        if (typeof schema.$schema === 'string') delete schema.$schema;
        const ajv = make[draftOf(JSON.parse(line).schema)]();
        load('ajv-formats')(ajv);
        validate = ajv.compile(schema);
    } catch (e) {
        refused++;
        continue;
    }
    schemas++;
    for (const text of texts) {
        documents++;
        let why;
        try {
            if (validate(JSON.parse(text))) continue;
            if (validate.errors.every((e) => e.keyword === 'format')) {
                formats++;
                continue;
            }
            why = JSON.stringify(validate.errors[0]);
        } catch (e) {
            why = String(e);
        }
        if (invalid++ < 40) console.log(`INVALID ${name}: ${text.slice(0, 200)}: ${why.slice(0, 200)}`);
    }
}
console.log(`ajv: schemas ${schemas} documents ${documents} invalid ${invalid}, formats ${formats}; ${refused} schemas it does not take`);
process.exit(invalid || !documents ? 1 : 0);
