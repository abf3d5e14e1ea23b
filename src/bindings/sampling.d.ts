// Types of sampling.js.

export type Dtype = 'float32' | 'float16' | 'bfloat16' | 'float64';
/** A typed array is read where it is; 16-bit floats in a Uint16Array need a dtype. Lists are copied. */
export type Row = Float32Array | Float64Array | Uint16Array | ArrayLike<number>;
/** Rows side by side, or a list of rows, which is copied. */
export type Rows = Row | ArrayLike<Row>;
/** Words of 32 bits: bit i % 32 of word i / 32 is token i. Or a bool for each token. */
export type Mask = Uint32Array | Int32Array | Uint8Array | ArrayLike<boolean>;
export type Piece = string | Uint8Array | null;
export type Setting = number | bigint | string | boolean | null | undefined;

/** samp_params' members, in snake_case or camelCase; or what other programs call them (aliases). */
export interface Settings {
    logitBias?: Record<number, number> | Map<number, number> | [number, number][] | string | null;
    logit_bias?: Record<number, number> | Map<number, number> | [number, number][] | string | null;
    dryBreakers?: string[] | null;
    dry_breakers?: string[] | null;
    order?: string[] | string | null;
    seed?: number | bigint | null;
    temperature?: number | null;
    topK?: number | null;
    topP?: number | null;
    minP?: number | null;
    [name: string]: unknown;
}

export interface Logprob { token: number; rank: number; logprob: number }
/** entropy: in nats; given: the log-probabilities of the options' ids. */
export interface LogprobSet { chosen: Logprob; top: Logprob[]; entropy: number; given: number[] }
/** The tokens that could have been drawn; null: there are more than were asked for. mass: their share of what the model said. */
export interface Support { n: number; mass: number; tokens: number[] | null; logprobs: number[] | null }
/** raw: what the model said; processed: what the chain left to draw from. */
export interface Logprobs { raw: LogprobSet; processed: LogprobSet; support: Support | null }
/** One of these must be there. */
export type Told = { logprobs: number; ids?: ArrayLike<number> | null; support?: number | null } |
    { logprobs?: number | null; ids: ArrayLike<number>; support?: number | null } |
    { logprobs?: number | null; ids?: ArrayLike<number> | null; support: number };
export interface NotTold { logprobs?: null; ids?: null; support?: null }

export class SamplingError extends Error {
    constructor(status: number, field?: string | null, text?: string | null);
    /** A samp_status, negative. */
    readonly status: number;
    /** Its name: 'SAMP_E_RANGE'. */
    readonly code: string;
    readonly field: string | null;
}

export class BatchError extends SamplingError {
    constructor(tokens: (number | null)[], errors: Map<number, SamplingError>, logprobs?: (Logprobs | null)[] | null);
    readonly tokens: (number | null)[];
    readonly errors: Map<number, SamplingError>;
    readonly logprobs: (Logprobs | null)[] | null;
}

export class Vocab {
    constructor(tokens: Iterable<Piece>, ends?: { eos?: number | null; eot?: number | null; eog?: Iterable<number> | null });
    /** Of Hugging Face's tokenizer.json. */
    static fromTokenizerJson(file: string | Uint8Array): Vocab;
    /** Of llama.cpp's GGUF, or its beginning with all settings. */
    static fromGguf(file: Uint8Array): Vocab;
    readonly length: number;
    readonly eos: number | null;
    readonly eot: number | null;
    readonly eog: number[];
    close(): void;
}

export class Grammar {
    constructor(text: string, kind?: 'gbnf' | 'json_schema' | 'regex' | 'structural_tag', root?: string | null);
    static fromString(gbnf: string, root?: string | null): Grammar;
    static fromJsonSchema(schema: object | boolean | string, style?: string | null): Grammar;
    static fromRegex(pattern: string | RegExp): Grammar;
    static fromStructuralTag(tag: object | string, style?: string | null): Grammar;
    static fromTools(model: string, tools?: object[] | string | null, options?: string | null, style?: string | null): Grammar;
    warm(vocab: Vocab, budget: number): number;
    close(): void;
}

/** What all samplers of a grammar have learnt together, and its memory. */
export interface GrammarStats {
    nStates: number; nEntries: number; nMasks: number; nHits: number; nRenewals: number; nBytes: number; maxBytes: number;
}

export abstract class Sampler {
    accept(token: number | Iterable<number>): void;
    reset(): void;
    rollback(n?: number): void;
    setRollback(depth: number): void;
    save(): Uint8Array;
    load(state: Uint8Array): void;
    /** A BigInt beyond 2^53. */
    get position(): number | bigint;
    set position(position: number | bigint);
    readonly seed: bigint;
    describe(): string;
    rewindLength(): number;
    loopLength(): number;
    thinkingLeft(): number | null;
    thinkingNow(): 'not' | 'open' | 'soft' | 'note' | 'grace' | 'ends';
    thinkingUsed(): number;
    thinkingEnd(): void;
    scheduleHolds(): boolean;
    close(): void;
}

export class Matcher extends Sampler {
    constructor(vocab: Vocab, grammar: Grammar,
        triggers?: { triggerWords?: string[]; triggerPatterns?: string[]; triggerTokens?: Iterable<number> });
    readonly vocab: Vocab;
    readonly grammar: Grammar;
    clone(): Matcher;
    mask(): Uint32Array;
    mask<T extends Uint32Array | Int32Array>(out: T): T;
    allows(token: number): boolean;
    isComplete(): boolean;
    isAwaiting(): boolean;
    forced(): Uint8Array;
    draft(n?: number): number[];
    certain(n?: number): number[];
    prepare(budget: number): boolean;
    stats(): GrammarStats;
    setLimits(maxBytes: number, maxSteps: number): void;
}

export type Tokens = ArrayLike<number> | Iterable<number>;
/** What begins thinking, what ends it, and what is said where it must end. */
export type Span = [start: Tokens, end: Tokens, force?: Tokens];
export interface Loop { minPeriod?: number; maxPeriod?: number; copies?: number; lastN?: number; every?: number }
export interface Plan {
    vocab?: Vocab | null; inside?: number | null; total?: number; soft?: number; softRatio?: number; grace?: number;
    note?: Tokens; ends?: Tokens[]; ramp?: 'none' | 'linear' | 'exponential' | null; bias?: number; loop?: Loop | null;
    loopFrom?: number;
}
export interface When {
    count?: 'tokens' | 'lines'; start?: number; stop?: number; begin?: number; where?: 'anywhere' | 'inside' | 'outside';
    spans?: Span[]; inside?: number | null; until?: Tokens; vocab?: Vocab | null; loop?: Loop | null;
}
export interface Ban { rewind?: boolean; anyCase?: boolean }

export class Constraint extends Sampler {
    private constructor();
    clone(): Constraint;
    static thinking(spans: Span[], budget: number, plan?: Plan): Constraint;
    static schedule(what: Constraint | Settings, when?: When): Constraint;
    static loopWatch(loop?: Loop): Constraint;
    static loopBreaker(loop?: Loop, penalty?: number): Constraint;
    static loopBreakerCusum(how?: { n?: number; lastN?: number; loss?: number; alarm?: number; penalty?: number }): Constraint;
    static bannedPattern(vocab: Vocab, pattern: string | RegExp, how?: Ban): Constraint;
    static bannedStrings(vocab: Vocab, strings: string[], how?: Ban): Constraint;
    static bannedSequences(sequences: Iterable<Tokens>, how?: { rewind?: boolean }): Constraint;
    static sequenceBias(biases: Iterable<[Tokens, number]>): Constraint;
    static suppressedTokens(tokens: Tokens): Constraint;
    static beginSuppressedTokens(tokens: Tokens, begin?: number): Constraint;
    static minTokens(tokens: Tokens, nMin: number, begin?: number): Constraint;
    static allowedTokens(tokens: Tokens): Constraint;
    static forcedPrefix(tokens: Tokens, begin?: number): Constraint;
    static eogBias(tokens: Tokens, bias: number): Constraint;
    static lengthPenalty(tokens: Tokens, start: number, factor: number, begin?: number): Constraint;
    static topPDecay(p: number, decay: number, lowest: number, resets?: Tokens, minKeep?: number): Constraint;
    static noRepeatNgram(n: number, lastN?: number, exempt?: Tokens): Constraint;
    static timestamps(first: number, how?: { noTimestamps?: number | null; maxInitial?: number | null; exempt?: Tokens }): Constraint;
}

/** What a detector says: pValue is the probability that a text without this mark has such a score or a larger one. */
export interface WatermarkResult { score: number; pValue: number; nScored: number; lnP: number }
export interface WatermarkSpan { begin: number; end: number; result: WatermarkResult; pValue: number; lnP: number }

export class Watermark {
    constructor(key: bigint | number, kind?: 'gumbel' | 'gumbel_dual' | 'sbw_selfhash' | 'sbw_lefthash' | 'synthid', numbers?: {
        seed?: number | bigint | null; contextWidth?: number; scope?: 'once_in_text' | 'once_in_all' | 'always'; history?: number;
        alpha?: number; depth?: number; gamma?: number; delta?: number;
    });
    forDraft(): Watermark;
    detect(text: Tokens): WatermarkResult;
    detectKeys(keys: Iterable<number | bigint>, text: Tokens): WatermarkResult[];
    find(text: Tokens, window?: number): WatermarkSpan;
}

export interface TextOptions {
    stopTokens?: Tokens; minTokens?: number; includeStop?: boolean; rawBytes?: boolean; stripSpace?: boolean;
}
export type TextState = 'goes_on' | 'stopped' | 'ended';

/** Tokens become the text that may be shown; with rawBytes as bytes: new Text<Uint8Array>(vocab, stops, { rawBytes: true }). */
export class Text<T extends string | Uint8Array = string> {
    constructor(vocab: Vocab, stops?: Iterable<string>, options?: TextOptions & { rawBytes?: T extends string ? false : true });
    push(token: number): T;
    flush(): T;
    readonly state: TextState;
    readonly stop: number | null;
    readonly stopAt: { token: number; byte: number } | null;
    addPattern(pattern: string | RegExp, maxBytes?: number): void;
    rollback(n?: number): void;
    clone(): Text<T>;
    reset(): void;
    close(): void;
}

/** A text that proposes how it goes on. */
export class Ngram {
    constructor(nMin?: number, nMax?: number, maxTokens?: number);
    accept(token: number | Iterable<number>): void;
    rollback(n?: number): void;
    draft(n?: number): number[];
    reset(): void;
    close(): void;
}

/** Beam search, with transformers' names and rules. */
export class Beams {
    constructor(nBeams: number, maxTokens: number, how?: {
        ends?: Tokens; lengthPenalty?: number; earlyStopping?: boolean | 'never'; nGroups?: number; diversityPenalty?: number;
        sampled?: boolean; seed?: number | bigint;
    });
    step(logits: Rows, how?: { chains?: Chain[] | null; dtype?: Dtype }): { parent: number; token: number }[];
    readonly found: { tokens: number[]; score: number }[];
    save(): Uint8Array;
    load(state: Uint8Array): void;
    close(): void;
}
export function unmask(chains: Chain[], logits: Rows, how?: {
    rule?: 'confidence' | 'margin' | 'entropy' | 'threshold' | 'entropy_bound' | 'random' | 'raw_confidence' | 'independent';
    n?: number; threshold?: number; seed?: number | bigint; temp?: number; dtype?: Dtype;
}): (number | null)[];
export function unmaskCount(schedule: 'even' | 'linear', nMasked: number, step: number, nSteps: number): number;

export interface SampleOptions { mask?: Mask | null; dtype?: Dtype }

export class Chain extends Sampler {
    constructor(vocab?: number | Vocab | Iterable<Piece> | null, settings?: Settings & {
        grammar?: Grammar | Matcher | null; constraints?: Constraint[]; watermark?: Watermark | null;
    });
    static fromRequest(peer: 'openai' | 'vllm' | 'transformers' | 'llama_server' | 'ollama' | 'anthropic' | 'sglang',
        request: object | string, more?: {
            vocab?: number | Vocab | Iterable<Piece> | null; grammar?: Grammar | Matcher | null; handled?: string[];
            lenient?: boolean; seed?: number | bigint | null; thinking?: ((budget: number) => Constraint) | null;
            nPrompt?: number; constraints?: Constraint[]; watermark?: Watermark | null;
        }): Chain;
    readonly vocab: number | Vocab | null;
    readonly nVocab: number | null;
    /** Of a chain of fromRequest: is the prompt to be accepted too? */
    readonly withPrompt?: boolean;
    /** The fields that lenient has left out. */
    readonly leftOut?: string[];
    readonly settings: Settings;
    clone(): Chain;
    /** With the stops of the request. */
    text(vocab?: Vocab): Text;
    sample(logits: Row, options?: SampleOptions & NotTold): number;
    sample(logits: Row, options: SampleOptions & Told): { token: number; logprobs: Logprobs };
    /** removedBy: the name of the sampler that removes it. */
    score(logits: Row, token: number): { raw: number; processed: number; rank: number; removedBy: string | null };
    explain(logits: Row, token: number): { name: string; nLeft: number; mass: number; p: number }[];
    replay(tokens: ArrayLike<number>): Chain;
    replayCheck(logits: Rows, tokens: ArrayLike<number>, options?: {
        mask?: Uint32Array | Int32Array | ArrayLike<Mask> | null; dtype?: Dtype;
    }): number | null;
    verify(logits: Rows, draft: ArrayLike<number>, options?: VerifyOptions &
        { logprobs?: null; logprobIds?: null; support?: null }): number[];
    verify(logits: Rows, draft: ArrayLike<number>, options: VerifyOptions & (
        { logprobs: number; logprobIds?: ArrayLike<number> | null; support?: number | null } |
        { logprobs?: number | null; logprobIds: ArrayLike<number>; support?: number | null } |
        { logprobs?: number | null; logprobIds?: ArrayLike<number> | null; support: number })):
        { tokens: number[]; logprobs: Logprobs[] };
    update(settings: Settings): void;
    get(name: string): string;
    prev(n?: number): number[];
}

export interface VerifyOptions {
    probs?: Rows | null;
    ids?: ArrayLike<number> | ArrayLike<ArrayLike<number>> | null;
    method?: 'exact' | 'ratio' | 'block';
    dtype?: Dtype;
}

export interface BatchOptions {
    mask?: Uint32Array | Int32Array | ArrayLike<Mask> | null;
    rowIndex?: ArrayLike<number> | null;
    nVocab?: number | null;
    stride?: number | null;
    nThreads?: number;
    dtype?: Dtype;
}
export function sampleBatch(chains: Chain[], logits: Rows, options?: BatchOptions & NotTold): number[];
export function sampleBatch(chains: Chain[], logits: Rows, options: BatchOptions & Told):
    { tokens: number[]; logprobs: Logprobs[] };
export function rawLogprobs(logits: Rows, options?: {
    tokens?: ArrayLike<number> | null; logprobs?: number | null; ids?: ArrayLike<number> | null;
    mask?: Uint32Array | Int32Array | ArrayLike<Mask> | null; nVocab?: number | null; dtype?: Dtype;
}): LogprobSet[];
export function guide(cond: Row, uncond: Row, scale: number, out?: Float32Array): Float32Array;
export const aliases: Record<string, string>;
export function takes(name: string): string;
export function childSeed(seed: number | bigint, i: number | bigint): bigint;
export function version(): number;
