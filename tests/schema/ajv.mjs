// ajv.mjs - npm's ajv as the other judge of documents: validators of a schema by its own draft.
//     const compile = ajv(NODE_MODULES), validate = compile(schema, draftOf(schema), with formats?)
// It throws where ajv does not take the schema, whose $schema it takes out.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
// Without ownProperties every object has a "constructor"; 0.47 is no multiple of 0.01 in doubles.
const options = { strict: false, logger: false, validateSchema: false, ownProperties: true, multipleOfPrecision: 9 };
const of = { 4: 'ajv-draft-04', 7: 'ajv', 2019: 'ajv/dist/2019', 2020: 'ajv/dist/2020' };
// Up to draft 7 a $ref has no neighbours, but ajv asks them too.
const ASKING = new Set(['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items', 'minimum',
    'maximum', 'minLength', 'maxLength', 'pattern', 'format', 'minItems', 'maxItems', 'allOf', 'anyOf', 'oneOf', 'not']);
const alone = (x) => {
    if (typeof x !== 'object' || x === null) return x;
    if (typeof x.$ref === 'string') for (const key of Object.keys(x)) if (ASKING.has(key)) delete x[key];
    for (const part of Object.values(x)) alone(part);
    return x;
};
export const draftOf = (schema) => {
    const text = schema === true || schema === false ? '' : String(schema.$schema ?? '');
    return /draft-0[34]/.test(text) ? 4 : /draft-0[67]/.test(text) ? 7 : /2019-09/.test(text) ? 2019 : 2020;
};
export const ajv = (modules) => {
    const require = createRequire(resolve(modules, 'x.js'));
    const load = (name) => require(name).default ?? require(name);
    return (schema, draft, formats) => {
        delete schema.$schema;
        if (draft <= 7) alone(schema);
        const one = new (load(of[draft]))({ ...options, validateFormats: formats });
        load('ajv-formats')(one);
        return one.compile(schema);
    };
};
