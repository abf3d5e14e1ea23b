// generate.mjs - node-llama-cpp, a llama.cpp program that is built already, tells stories with every sampler that it
// offers: a line for each setting. With the stand-in preloaded and without it the lines must be the same.
//
//     node generate.mjs FOLDER MODEL [TOKENS]        FOLDER: where npm has installed node-llama-cpp
//
// With TOKENS it generates that many with the usual settings and prints the microseconds of each token, model and all.
import { pathToFileURL } from "node:url";

const [folder, modelPath, many] = process.argv.slice(2);
const program = pathToFileURL(`${folder}/node_modules/node-llama-cpp/dist/index.js`);
const { getLlama, LlamaCompletion, TokenBias } = await import(program);

const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, progressLogs: false, logLevel: "error" });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: many ? 4096 : 256, threads: 1 });
const sequence = context.getSequence();

if (many) {
    const best = [Infinity, 0];
    for (let round = 0; round < 3; round++) {
        await sequence.clearHistory();
        const start = process.hrtime.bigint();
        let n = 0;
        const options = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05, seed: 1, yieldEogToken: true };
        for await (const token of sequence.evaluate([1000], options)) {
            best[1] += token % 7;
            if (++n >= Number(many)) break;
        }
        best[0] = Math.min(best[0], Number(process.hrtime.bigint() - start) / 1000 / n);
    }
    console.log(best[0].toFixed(1));
    process.exit(0);
}

const bias = () => TokenBias.for(model).set(" king", 2).set(" the", "never").set(" old", { logit: -3 });
const repeat = (more) => ({ repeatPenalty: { lastTokens: 32, penalizeNewLine: true, ...more } });
const dry = (more) => ({ dryRepeatPenalty: { strength: 2, lastTokens: 96, allowedLength: 1, ...more } });
const usual = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 };

const settings = {
    greedy: {},
    "temperature 0": { temperature: 0, topK: 10 },
    "temperature 0, xtc": { temperature: 0, xtc: { probability: 0.5, threshold: 0.05 } },
    "temperature alone": { temperature: 1, topK: 0, topP: 1 },
    "temperature low": { temperature: 0.2, topK: 0, topP: 1 },
    "temperature high": { temperature: 2.5, topK: 0, topP: 1 },
    usual,
    "top_k 1": { temperature: 1, topK: 1 },
    "top_k 5": { temperature: 1, topK: 5, topP: 1 },
    "top_k 500": { temperature: 1.2, topK: 500, topP: 1 },
    "top_k beyond": { temperature: 1.2, topK: 100000, topP: 1 },
    "top_p": { temperature: 1, topK: 0, topP: 0.7 },
    "top_p 0": { temperature: 1, topK: 0, topP: 0 },
    "top_p, top_k": { temperature: 1.1, topK: 100, topP: 0.99 },
    "min_p": { temperature: 1.3, topK: 0, topP: 1, minP: 0.1 },
    "min_p low": { temperature: 1.3, topK: 0, topP: 1, minP: 0.001 },
    "min_p 1": { temperature: 1.3, topK: 0, topP: 1, minP: 1 },
    "xtc": { temperature: 1, topK: 0, topP: 1, xtc: { probability: 0.5, threshold: 0.1 } },
    "xtc always": { ...usual, xtc: { probability: 1, threshold: 0.05 } },
    "xtc off": { ...usual, xtc: { probability: 0.5, threshold: 0.9 } },
    "repeat": { ...usual, ...repeat({ penalty: 1.3 }) },
    "repeat, presence": { ...usual, ...repeat({ penalty: 1.1, presencePenalty: 0.5 }) },
    "repeat, frequency": { ...usual, ...repeat({ penalty: 1.05, frequencyPenalty: 0.7 }) },
    "repeat, greedy": repeat({ penalty: 1.4 }),
    "repeat long": { temperature: 1, ...repeat({ penalty: 1.2, lastTokens: 128 }) },
    "repeat off": { ...usual, ...repeat({ penalty: 1 }) },
    "dry": { ...usual, ...dry() },
    "dry, greedy": dry({ strength: 5 }),
    "dry, breakers": { temperature: 1.2, ...dry({ sequenceBreakers: ["\n", ",", " and", "the"] }) },
    "dry, no window": { ...usual, ...dry({ lastTokens: 0 }) },
    "bias": { ...usual, tokenBias: bias() },
    "bias, greedy": { tokenBias: bias() },
    "grammar": { ...usual, grammar: "root ::= [^aeq]*" },
    "grammar, greedy": { grammar: "root ::= (\" \" [a-z]+)+ [.]" },
    "grammar, json": { ...usual, grammar: "json" },
    "grammar, schema": { temperature: 1.2, topK: 0, topP: 1, grammar: { type: "object", properties: {
        name: { type: "string" }, age: { type: "integer" }, friends: { type: "array", items: { enum: ["fox", "wolf"] } } } } },
    "all": { ...usual, tokenBias: bias(), xtc: { probability: 0.3, threshold: 0.1 }, ...repeat({ penalty: 1.2 }), ...dry() },
};

const prompts = ["Once upon a time there was a king", "The wolf said to the"];
let lines = 0;
for (const [name, options] of Object.entries(settings))
    for (const [seed, maxTokens] of [[1, 40], [4294967294, 12]]) {
        const { grammar, ...others } = options;
        const prompt = prompts[lines % 2];
        await sequence.clearHistory();
        if (grammar === "json") others.grammar = await llama.getGrammarFor(grammar);
        else if (grammar?.type) others.grammar = await llama.createGrammarForJsonSchema(grammar);
        else if (grammar) others.grammar = await llama.createGrammar({ grammar });
        let text = "";
        if (options.dryRepeatPenalty) { // which generateCompletion does not hand on
            const tokens = [];
            for await (const token of sequence.evaluate(model.tokenize(prompt), { ...others, seed, yieldEogToken: true }))
                if (tokens.push(token) >= maxTokens) break;
            text = model.detokenize(tokens);
        } else {
            const completion = new LlamaCompletion({ contextSequence: sequence, autoDisposeSequence: false });
            text = await completion.generateCompletion(prompt, { ...others, seed, maxTokens });
            completion.dispose();
        }
        console.log(`${name}, seed ${seed}: ${JSON.stringify(text)}`);
        lines++;
    }
console.log(`${lines} settings`);
await llama.dispose();
