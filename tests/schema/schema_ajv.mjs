// schema_ajv.mjs - are the documents of schema_walks.c valid? Asks npm's ajv, by the schema's own draft.
//     node schema_ajv.mjs NODE_MODULES FILE       Exit 1 if one isn't. Schemas that ajv does not take are counted, and so
// are documents that it only refuses because of a format: its e-mail addresses need a dot in the domain, say.
import { readFileSync } from 'node:fs';
import { ajv, draftOf } from './ajv.mjs';
const compile = ajv(process.argv[2]);
let schemas = 0, documents = 0, refused = 0, invalid = 0, formats = 0;
for (const line of readFileSync(process.argv[3], 'utf8').split('\n').filter(Boolean)) {
    const { name, schema, documents: texts } = JSON.parse(line);
    const draft = draftOf(schema);
    let validate, loosely;
    try {
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
