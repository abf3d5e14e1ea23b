//! From a language model's logits to the next token: chains of samplers, batches, grammars, texts with stops, drafts, beams.
//!
//! ```
//! let mut chain = sampling::Chain::new(&[("temp", "0.7"), ("top_p", "0.9"), ("seed", "42")])?;
//! let token = chain.sample(&[1.0, 3.0, 2.0])?;
//! # assert!(token >= 0);
//! # Ok::<(), sampling::Error>(())
//! ```
//!
//! What goes wrong is an [`Error`] that names the setting or argument, and changes nothing. What a chain borrows, a [`Vocab`] or a
//! [`Grammar`], outlives it:
//!
//! ```compile_fail
//! let chain = {
//!     let vocab = sampling::Vocab::new(&[b"a"], &[])?;
//!     sampling::Chain::with_vocab(&[("dry_multiplier", "1")], &vocab)?
//! };
//! # Ok::<(), sampling::Error>(())
//! ```
//!
//! An object is for one thread at a time, and may move to another; a `Vocab` and a `Grammar` serve any number at once.
//! The module `ffi` has all functions of C, whose contracts are in sampling.h.

mod constraints;
pub mod ffi;
mod requests;
mod samplers;

pub use constraints::{Area, Loop, Ramp, Schedule, Thinking, ThinkingPlan, Unit};
use requests::Settings;
pub use requests::{Peer, Request};
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int};
use std::sync::Mutex;
use std::{fmt, ptr, slice};

pub type Token = i32;
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong: a status of C (`ffi::SAMP_E_RANGE`), which setting or argument, and a text of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub status: i32,
    pub field: Option<String>,
    text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl Error {
    fn new(status: c_int, field: *const c_char) -> Self {
        let text = written(|buf, size| unsafe { ffi::samp_error_text(status, field, buf, size) });
        let field = (!field.is_null()).then(|| owned(field));
        Error { status, field, text }
    }

    fn named(status: c_int, field: &str) -> Self {
        Error::new(status, CString::new(field).unwrap_or_default().as_ptr())
    }

    fn of_text(error: &ffi::samp_text_error) -> Self {
        let message = owned(error.message.as_ptr());
        Error { status: error.status, field: None, text: format!("line {}, column {}: {message}", error.line, error.column) }
    }
}

/// A result of C's that is not negative.
fn done(status: c_int) -> Result<c_int> {
    if status < 0 { Err(Error::new(status, ptr::null())) } else { Ok(status) }
}

/// What C writes as text, which first says how long it is.
fn written(write: impl Fn(*mut c_char, usize) -> c_int) -> String {
    let mut bytes = vec![0u8; write(ptr::null_mut(), 0).max(0) as usize + 1];
    write(bytes.as_mut_ptr().cast(), bytes.len());
    bytes.pop();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A text of C's that is not NULL.
fn owned(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn text(of: &str) -> Result<CString> {
    CString::new(of).map_err(|_| Error::new(ffi::SAMP_E_FORMAT, ptr::null()))
}

/// Texts as C takes them.
struct Texts(Vec<*const c_char>, Vec<CString>);

impl Texts {
    fn of(all: &[&str]) -> Result<Self> {
        let own = all.iter().map(|one| text(one)).collect::<Result<Vec<_>>>()?;
        Ok(Texts(own.iter().map(|one| one.as_ptr()).chain([ptr::null()]).collect(), own))
    }
    fn as_ptr(&self) -> *const *const c_char {
        self.0.as_ptr()
    }
    fn len(&self) -> usize {
        self.1.len()
    }
}

/// The bytes of each token, and which tokens end a text.
pub struct Vocab {
    raw: *mut ffi::samp_vocab,
    n: usize,
    index: Mutex<usize>, // made for the first grammar
}

unsafe impl Send for Vocab {} // it never changes
unsafe impl Sync for Vocab {}

impl Vocab {
    /// A token without bytes is a control token. ends: the tokens that end a text, the first of them is eos.
    pub fn new<T: AsRef<[u8]>>(tokens: &[T], ends: &[Token]) -> Result<Self> {
        let lengths: Vec<u32> = tokens.iter().map(|one| one.as_ref().len() as u32).collect();
        let bytes: Vec<u8> = tokens.iter().flat_map(|one| one.as_ref()).copied().collect();
        let (mut status, eos) = (0, ends.first().copied().unwrap_or(-1));
        let raw = unsafe {
            ffi::samp_vocab_init(bytes.as_ptr().cast(), lengths.as_ptr(), lengths.len() as i32, ends.as_ptr(), ends.len(), eos, -1, &mut status)
        };
        if raw.is_null() { Err(Error::new(status, ptr::null())) } else { Ok(Vocab { raw, n: tokens.len(), index: Mutex::new(0) }) }
    }

    pub fn len(&self) -> usize {
        self.n
    }

    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    fn index(&self) -> Result<*const ffi::samp_vocab_index> {
        let (mut index, mut status) = (self.index.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), 0);
        if *index == 0 {
            *index = unsafe { ffi::samp_vocab_index_init(self.raw, &mut status) } as usize;
        }
        if *index == 0 { Err(Error::new(status, ptr::null())) } else { Ok(*index as *const _) }
    }
}

impl Drop for Vocab {
    fn drop(&mut self) {
        let index = *self.index.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        unsafe {
            ffi::samp_vocab_index_free(index as *mut _);
            ffi::samp_vocab_free(self.raw);
        }
    }
}

/// A set of texts.
pub struct Grammar {
    raw: *mut ffi::samp_grammar,
}

unsafe impl Send for Grammar {} // it never changes
unsafe impl Sync for Grammar {}

impl Grammar {
    fn of(kind: ffi::samp_grammar_kind, source: &str, root: Option<&str>) -> Result<Self> {
        let (source, root) = (text(source)?, root.map(text).transpose()?);
        let mut error = ffi::samp_text_error { status: 0, line: 0, column: 0, message: [0; 160] };
        let raw = unsafe { ffi::samp_grammar_init(kind, source.as_ptr(), root.as_ref().map_or(ptr::null(), |one| one.as_ptr()), &mut error) };
        if raw.is_null() { Err(Error::of_text(&error)) } else { Ok(Grammar { raw }) }
    }
    /// style: "compact", "spaced" and other options of white space and order, separated by spaces.
    pub fn json_schema(schema: &str, style: &str) -> Result<Self> {
        Grammar::of(ffi::SAMP_GRAMMAR_JSON_SCHEMA, schema, Some(style).filter(|one| !one.is_empty()))
    }
    pub fn gbnf(rules: &str) -> Result<Self> {
        Grammar::of(ffi::SAMP_GRAMMAR_GBNF, rules, None)
    }
    pub fn regex(expression: &str) -> Result<Self> {
        Grammar::of(ffi::SAMP_GRAMMAR_REGEX, expression, None)
    }
    pub fn structural_tag(tag: &str) -> Result<Self> {
        Grammar::of(ffi::SAMP_GRAMMAR_STRUCTURAL_TAG, tag, None)
    }
    /// Calls of a request's tools (JSON; "": none) as a model writes them. options: "required", "one", "thinking"; style: of the tools' schemas.
    pub fn from_tools(model: &str, tools: &str, options: &str, style: &str) -> Result<Self> {
        let (model, listed, options) = (text(model)?, text(tools)?, text(options)?);
        let mut error = ffi::samp_text_error { status: 0, line: 0, column: 0, message: [0; 160] };
        let mut write = |to: *mut c_char, size: usize| unsafe {
            let tools = if tools.is_empty() { ptr::null() } else { listed.as_ptr() };
            ffi::samp_builtin_tag(model.as_ptr(), tools, options.as_ptr(), to, size, &mut error)
        };
        let n = write(ptr::null_mut(), 0);
        let mut tag = vec![0u8; n.max(0) as usize + 1];
        write(tag.as_mut_ptr().cast(), tag.len());
        tag.pop();
        if n < 0 { return Err(if error.status < 0 { Error::of_text(&error) } else { Error::new(n as c_int, ptr::null()) }); }
        let style = Some(style).filter(|one| !one.is_empty());
        Grammar::of(ffi::SAMP_GRAMMAR_STRUCTURAL_TAG, &String::from_utf8_lossy(&tag), style)
    }
    /// Works masks out ahead, `budget` steps of some ten nanoseconds. How many it took; 0: there is nothing to do.
    pub fn warm(&self, vocab: &Vocab, budget: i64) -> Result<i64> {
        let n = unsafe { ffi::samp_grammar_warm(vocab.index()?, self.raw, budget) };
        if n < 0 { Err(Error::new(n as c_int, ptr::null())) } else { Ok(n) }
    }
}

impl Drop for Grammar {
    fn drop(&mut self) {
        unsafe { ffi::samp_grammar_free(self.raw) }
    }
}

/// One sampler, to be put into a [`Chain`]. Its constructors are C's: `samp_init_top_k(k)` is `Sampler::top_k(k)`.
pub struct Sampler<'a> {
    raw: *mut ffi::samp_sampler,
    borrows: PhantomData<&'a Vocab>,
}

unsafe impl Send for Sampler<'_> {}

impl<'a> Sampler<'a> {
    /// # Safety
    /// `raw` is NULL or a sampler that nobody else frees; what it keeps lives as long as 'a.
    unsafe fn made(raw: *mut ffi::samp_sampler) -> Result<Self> {
        let mut field = ptr::null();
        if raw.is_null() {
            return Err(Error::new(ffi::SAMP_E_NOMEM, field));
        }
        let made = Sampler { raw, borrows: PhantomData };
        match ffi::samp_status(raw, &mut field) {
            0 => Ok(made),
            status => Err(Error::new(status, field)),
        }
    }
}

impl Drop for Sampler<'_> {
    fn drop(&mut self) {
        unsafe { ffi::samp_free(self.raw) }
    }
}

/// A list of samplers, the last of which selects the token.
pub struct Chain<'a>(Sampler<'a>);

impl<'a> Chain<'a> {
    /// The usual chain, with settings by name: the members of `samp_params`.
    pub fn new(settings: &[(&str, &str)]) -> Result<Self> {
        Chain::of(settings, None)
    }

    /// The same for samplers that look at tokens' bytes.
    pub fn with_vocab(settings: &[(&str, &str)], vocab: &'a Vocab) -> Result<Self> {
        Chain::of(settings, Some(vocab))
    }

    /// The same with a grammar in front, which all texts follow.
    pub fn with_grammar(settings: &[(&str, &str)], vocab: &'a Vocab, grammar: &'a Grammar) -> Result<Self> {
        let mut chain = Chain::with_vocab(settings, vocab)?;
        chain.insert(0, Sampler::grammar(vocab, grammar)?)?;
        Ok(chain)
    }

    fn of(settings: &[(&str, &str)], vocab: Option<&'a Vocab>) -> Result<Self> {
        Settings::new(settings, vocab)?.chain()
    }

    /// A chain of no samplers yet.
    pub fn empty() -> Result<Self> {
        unsafe { Sampler::made(ffi::samp_chain_init()).map(Chain) }
    }

    pub fn push(&mut self, sampler: Sampler<'a>) -> Result<()> {
        let raw = sampler.raw;
        std::mem::forget(sampler); // C takes it, also where it fails
        done(unsafe { ffi::samp_chain_add(self.0.raw, raw) }).map(drop)
    }

    pub fn insert(&mut self, i: i32, sampler: Sampler<'a>) -> Result<()> {
        let raw = sampler.raw;
        std::mem::forget(sampler);
        done(unsafe { ffi::samp_chain_insert(self.0.raw, i, raw) }).map(drop)
    }

    /// The token of a row, which the chain accepts.
    pub fn sample(&mut self, logits: &[f32]) -> Result<Token> {
        done(unsafe { ffi::samp_sample(self.0.raw, logits.as_ptr(), logits.len()) })
    }

    /// The token of a row, which the chain does not accept.
    pub fn draw(&mut self, logits: &[f32]) -> Result<Token> {
        done(unsafe { ffi::samp_draw(self.0.raw, logits.as_ptr(), logits.len()) })
    }

    /// As [`Chain::sample`], with what `want` asks for.
    pub fn sample_told(&mut self, logits: &[f32], want: &Want) -> Result<(Token, Logprobs)> {
        let batch = Batch { logits: Logits::F32(logits), n_vocab: logits.len(), mask: None, n_threads: 1 };
        let (mut raw, mut token) = (batch.raw()?, ffi::SAMP_E_EMPTY);
        let mut told = Told::new(want);
        let mut sets = told.sets(want);
        raw.logprobs = &mut sets;
        let status = unsafe { ffi::samp_sample_batch(&self.0.raw, &raw, &mut token) };
        done(status)?;
        done(token)?;
        Ok((token, told.read(&sets)))
    }

    /// What the chain would give a token now. It changes nothing.
    pub fn score(&mut self, logits: &[f32], token: Token) -> Result<Score> {
        let mut out: ffi::samp_score_result = unsafe { std::mem::zeroed() };
        done(unsafe { ffi::samp_score(self.0.raw, logits.as_ptr(), logits.len(), token, &mut out) })?;
        Ok(Score { raw: out.raw, processed: out.processed, rank: out.rank, removed_by: (!out.removed_by.is_null()).then(|| owned(out.removed_by)) })
    }

    /// What each sampler that is on leaves, and how likely the token is then. It changes nothing.
    pub fn explain(&mut self, logits: &[f32], token: Token) -> Result<Vec<Explained>> {
        let mut out: Vec<ffi::samp_explained> = vec![unsafe { std::mem::zeroed() }; 16];
        loop {
            let n = done(unsafe { ffi::samp_explain(self.0.raw, logits.as_ptr(), logits.len(), token, out.as_mut_ptr(), out.len()) })? as usize;
            if n <= out.len() {
                return Ok(out[..n].iter().map(|one| Explained { name: owned(one.name), n_left: one.n_left, mass: one.mass, p: one.p }).collect());
            }
            out.resize(n, out[0]);
        }
    }

    pub fn accept(&mut self, token: Token) -> Result<()> {
        done(unsafe { ffi::samp_accept(self.0.raw, token) }).map(drop)
    }

    /// The tokens of a draft that hold, and the one behind them, unless its row cannot be sampled. logits: a row in front of each token, and one behind the last.
    pub fn verify(&mut self, logits: &[f32], draft: &Draft) -> Result<Vec<Token>> {
        let (rows, n_vocab) = (draft.tokens.len() + 1, logits.len() / (draft.tokens.len() + 1));
        if n_vocab * rows != logits.len() || draft.probs.map_or(false, |all| all.len() != n_vocab * (rows - 1)) {
            return Err(Error::named(ffi::SAMP_E_RANGE, "logits"));
        }
        let (method, probs) = draft.probs.map_or((ffi::SAMP_VERIFY_EXACT, ptr::null()), |all| (ffi::SAMP_VERIFY_RATIO, all.as_ptr()));
        let mut raw: ffi::samp_draft = unsafe { std::mem::zeroed() };
        raw.n = draft.tokens.len();
        raw.tokens = draft.tokens.as_ptr();
        raw.probs = probs;
        let mut out = vec![0; rows];
        let n = done(unsafe { ffi::samp_verify(self.0.raw, logits.as_ptr(), n_vocab, &raw, method, out.as_mut_ptr()) })?;
        out.truncate(n as usize + usize::from(out[n as usize] >= 0));
        Ok(out)
    }

    /// Takes back the last n accepted tokens, of those that are kept.
    pub fn rollback(&mut self, n: i32) -> Result<()> {
        done(unsafe { ffi::samp_rollback(self.0.raw, n) }).map(drop)
    }

    pub fn keep_for_rollback(&mut self, depth: i32) -> Result<()> {
        done(unsafe { ffi::samp_set_rollback(self.0.raw, depth) }).map(drop)
    }

    pub fn reset(&mut self) {
        unsafe { ffi::samp_reset(self.0.raw) }
    }

    pub fn position(&self) -> u64 {
        unsafe { ffi::samp_get_position(self.0.raw) }
    }

    pub fn describe(&self) -> String {
        written(|buf, size| unsafe { ffi::samp_describe(self.0.raw, buf, size) })
    }

    pub fn state(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; unsafe { ffi::samp_state_size(self.0.raw) }];
        done(unsafe { ffi::samp_state_save(self.0.raw, bytes.as_mut_ptr().cast(), bytes.len()) })?;
        Ok(bytes)
    }

    pub fn load_state(&mut self, bytes: &[u8]) -> Result<()> {
        done(unsafe { ffi::samp_state_load(self.0.raw, bytes.as_ptr().cast(), bytes.len()) }).map(drop)
    }

    pub fn try_clone(&self) -> Result<Self> {
        unsafe { Sampler::made(ffi::samp_clone(self.0.raw)).map(Chain) }
    }
}

/// What [`Chain::sample_told`] is to tell beside the token.
#[derive(Clone, Copy, Default)]
pub struct Want<'w> {
    /// How many of the most likely tokens.
    pub n_top: usize,
    /// Tokens whose log-probabilities are wanted.
    pub ids: &'w [Token],
    /// The tokens that could have been drawn, if they are so many at most.
    pub support: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logprob {
    pub token: Token,
    pub rank: i32,
    pub logprob: f32,
}

/// The log-probabilities of one distribution. ids: those of [`Want::ids`]; entropy in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LogprobSet {
    pub chosen: Logprob,
    pub top: Vec<Logprob>,
    pub ids: Vec<f32>,
    pub entropy: f32,
}

/// How many tokens could have been drawn, their share of the model's distribution, and which they were (None: more than wanted).
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    pub n: usize,
    pub mass: f64,
    pub tokens: Option<Vec<(Token, f32)>>,
}

/// raw: by the model's logits; processed: of the distribution that the chain drew from.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    pub raw: LogprobSet,
    pub processed: LogprobSet,
    pub support: Option<Support>,
}

/// The arrays that C writes: for raw and for processed, and the support's.
struct Told {
    top: [Vec<ffi::samp_logprob>; 2],
    ids: [Vec<f32>; 2],
    tokens: Vec<Token>,
    logprobs: Vec<f32>,
    support: Option<Box<ffi::samp_support>>,
}

impl Told {
    fn new(want: &Want) -> Self {
        let (top, ids) = (vec![ffi::samp_logprob { token: 0, rank: 0, logprob: 0.0 }; want.n_top], vec![0.0; want.ids.len()]);
        let n = want.support.unwrap_or(0);
        Told { top: [top.clone(), top], ids: [ids.clone(), ids], tokens: vec![0; n], logprobs: vec![0.0; n], support: None }
    }

    fn sets(&mut self, want: &Want) -> ffi::samp_logprobs {
        let mut sets: ffi::samp_logprobs = unsafe { std::mem::zeroed() };
        for (i, set) in [&mut sets.raw, &mut sets.processed].into_iter().enumerate() {
            set.n_top = i32::try_from(want.n_top).unwrap_or(i32::MAX);
            set.top_logprobs = self.top[i].as_mut_ptr();
            set.n_ids = i32::try_from(want.ids.len()).unwrap_or(i32::MAX);
            set.ids = want.ids.as_ptr();
            set.id_logprobs = self.ids[i].as_mut_ptr();
        }
        if let Some(capacity) = want.support {
            let (tokens, logprobs) = (self.tokens.as_mut_ptr(), self.logprobs.as_mut_ptr());
            sets.support = self.support.insert(Box::new(ffi::samp_support { tokens, logprobs, capacity, n: 0, mass: 0.0 })).as_mut();
        }
        sets
    }

    fn read(self, sets: &ffi::samp_logprobs) -> Logprobs {
        let logprob = |one: &ffi::samp_logprob| Logprob { token: one.token, rank: one.rank, logprob: one.logprob };
        let set = |of: &ffi::samp_logprob_set, i: usize| LogprobSet {
            chosen: logprob(&of.chosen),
            top: self.top[i][..of.n_top_found as usize].iter().map(logprob).collect(),
            ids: self.ids[i].clone(),
            entropy: of.entropy,
        };
        let support = self.support.as_ref().map(|of| Support {
            n: of.n,
            mass: of.mass,
            tokens: (of.n <= self.tokens.len()).then(|| self.tokens.iter().copied().zip(self.logprobs.iter().copied()).take(of.n).collect()),
        });
        Logprobs { raw: set(&sets.raw, 0), processed: set(&sets.processed, 1), support }
    }
}

/// What a chain would give a token: its log-probabilities by the model and in the chain's distribution, its rank by the model, and
/// the sampler that removes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    pub raw: f32,
    pub processed: f32,
    pub rank: i32,
    pub removed_by: Option<String>,
}

/// What one sampler leaves: how many tokens, their share of the model's distribution, and the token's probability among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    pub name: String,
    pub n_left: usize,
    pub mass: f64,
    pub p: f32,
}

/// Tokens that something cheaper proposes; probs: with which probability it did, [tokens x vocabulary], if it drew them.
#[derive(Clone, Copy)]
pub struct Draft<'d> {
    pub tokens: &'d [Token],
    pub probs: Option<&'d [f32]>,
}

/// Drafts out of the text itself: what came behind its last tokens before.
pub struct Ngram(*mut ffi::samp_ngram);

unsafe impl Send for Ngram {}

impl Ngram {
    pub fn new(n_min: i32, n_max: i32, max_tokens: usize) -> Result<Self> {
        let raw = unsafe { ffi::samp_ngram_init(n_min, n_max, max_tokens) };
        if raw.is_null() { Err(Error::named(ffi::SAMP_E_RANGE, "n_min, n_max or max_tokens")) } else { Ok(Ngram(raw)) }
    }
    pub fn accept(&mut self, token: Token) -> Result<()> {
        done(unsafe { ffi::samp_ngram_accept(self.0, token) }).map(drop)
    }
    pub fn rollback(&mut self, n: i32) -> Result<()> {
        done(unsafe { ffi::samp_ngram_rollback(self.0, n) }).map(drop)
    }
    pub fn draft(&self, n_max: usize) -> Result<Vec<Token>> {
        let mut out = vec![0; n_max];
        let n = done(unsafe { ffi::samp_ngram_draft(self.0, out.as_mut_ptr(), n_max) } as c_int)?;
        out.truncate(n as usize);
        Ok(out)
    }
}

impl Drop for Ngram {
    fn drop(&mut self) {
        unsafe { ffi::samp_ngram_free(self.0) }
    }
}

/// The logits of a batch, row behind row.
#[derive(Clone, Copy)]
pub enum Logits<'l> {
    F32(&'l [f32]),
    F64(&'l [f64]),
    F16(&'l [u16]),
    Bf16(&'l [u16]),
}

/// A row for each chain, sampled in one call.
pub struct Batch<'l> {
    pub logits: Logits<'l>,
    pub n_vocab: usize,
    /// A bit for each token of each row, in (n_vocab + 31) / 32 words a row.
    pub mask: Option<&'l [u32]>,
    /// 0: as many as OpenMP likes.
    pub n_threads: i32,
}

impl Batch<'_> {
    /// As C takes it; its rows are as many as there are logits for.
    fn raw(&self) -> Result<ffi::samp_logits> {
        let (data, length, dtype) = match self.logits {
            Logits::F32(all) => (all.as_ptr().cast(), all.len(), ffi::SAMP_F32),
            Logits::F64(all) => (all.as_ptr().cast(), all.len(), ffi::SAMP_F64),
            Logits::F16(all) => (all.as_ptr().cast(), all.len(), ffi::SAMP_F16),
            Logits::Bf16(all) => (all.as_ptr().cast(), all.len(), ffi::SAMP_BF16),
        };
        if self.n_vocab == 0 || length % self.n_vocab != 0 {
            return Err(if length == 0 { Error::new(ffi::SAMP_E_EMPTY, ptr::null()) } else { Error::named(ffi::SAMP_E_RANGE, "logits") });
        }
        let (n_rows, words) = (length / self.n_vocab, self.n_vocab / 32 + usize::from(self.n_vocab % 32 != 0));
        if self.mask.map_or(false, |mask| mask.len() != words * n_rows) {
            return Err(Error::named(ffi::SAMP_E_RANGE, "mask"));
        }
        let mut raw: ffi::samp_logits = unsafe { std::mem::zeroed() };
        raw.data = data;
        raw.dtype = dtype;
        raw.n_rows = n_rows;
        raw.n_vocab = self.n_vocab;
        raw.stride = self.n_vocab;
        raw.mask = self.mask.map_or(ptr::null(), |mask| mask.as_ptr());
        raw.mask_stride = words;
        raw.n_threads = self.n_threads;
        Ok(raw)
    }

    /// The same for so many chains.
    fn raw_for(&self, chains: &[&mut Chain]) -> Result<(ffi::samp_logits, Vec<*mut ffi::samp_sampler>)> {
        let raw = self.raw()?;
        if raw.n_rows != chains.len() {
            return Err(Error::named(ffi::SAMP_E_RANGE, "logits"));
        }
        Ok((raw, chains.iter().map(|one| one.0.raw).collect()))
    }

    /// Each row's token or error; a row with an error leaves its chain as it was.
    pub fn sample(&self, chains: &mut [&mut Chain]) -> Result<Vec<Result<Token>>> {
        let (raw, rows) = self.raw_for(chains)?;
        let mut out = vec![ffi::SAMP_E_EMPTY; rows.len()];
        let status = unsafe { ffi::samp_sample_batch(rows.as_ptr(), &raw, out.as_mut_ptr()) };
        if status < 0 && out.iter().all(|&token| token == ffi::SAMP_E_EMPTY) {
            done(status)?;
        }
        Ok(out.into_iter().map(done).collect())
    }
}

/// When a beam search ends, as transformers' early_stopping: False, True, "never".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyStopping {
    #[default]
    Heuristic,
    Always,
    Exact,
}

/// What a beam search does; `samp_beam_params` says more.
#[derive(Clone, Copy)]
pub struct BeamParams<'p> {
    pub n_beams: i32,
    pub n_groups: i32,
    pub max_tokens: i32,
    pub length_penalty: f32,
    pub diversity_penalty: f32,
    pub early_stopping: EarlyStopping,
    pub ends: &'p [Token],
    /// Texts are drawn without replacement, by the seed.
    pub sampled: bool,
    pub seed: u64,
}

impl Default for BeamParams<'_> {
    fn default() -> Self {
        let early_stopping = EarlyStopping::Heuristic;
        BeamParams { n_beams: 4, n_groups: 1, max_tokens: 256, length_penalty: 1.0, diversity_penalty: 0.0, early_stopping, ends: &[], sampled: false, seed: 0 }
    }
}

/// Beam search: the n best continuations of a text side by side, with transformers' rules.
pub struct Beams {
    raw: *mut ffi::samp_beams,
    n: usize,
}

unsafe impl Send for Beams {}

impl Beams {
    pub fn new(params: &BeamParams) -> Result<Self> {
        let mut raw: ffi::samp_beam_params = unsafe { std::mem::zeroed() };
        raw.n_beams = params.n_beams;
        raw.n_groups = params.n_groups;
        raw.max_tokens = params.max_tokens;
        raw.length_penalty = params.length_penalty;
        raw.diversity_penalty = params.diversity_penalty;
        raw.early_stopping = params.early_stopping as ffi::samp_early_stopping;
        raw.ends = params.ends.as_ptr();
        raw.n_ends = i32::try_from(params.ends.len()).unwrap_or(i32::MAX);
        raw.seed = params.seed;
        raw.sampled = params.sampled;
        let (mut field, mut status) = (ptr::null(), 0);
        let wrong = unsafe { ffi::samp_beams_check_params(&raw, &mut field) };
        if wrong < 0 {
            return Err(Error::new(wrong, field));
        }
        let made = unsafe { ffi::samp_beams_init(&raw, &mut status) };
        if made.is_null() { Err(Error::new(status, ptr::null())) } else { Ok(Beams { raw: made, n: raw.n_beams as usize }) }
    }

    /// The next beams, best first, each with its parent and its token; none: the search is done. batch: a row for each live beam, the
    /// first time one. chains: none, or n_beams of them made alike ([`Chain::try_clone`]), which change the rows and follow their beams.
    pub fn step<'a>(&mut self, batch: &Batch, chains: &mut [&mut Chain<'a>]) -> Result<Vec<(usize, Token)>> {
        let raw = batch.raw()?;
        if !chains.is_empty() && chains.len() != self.n {
            return Err(Error::named(ffi::SAMP_E_RANGE, "chains"));
        }
        let rows: Vec<_> = chains.iter().map(|one| one.0.raw).collect();
        let (mut tokens, mut parents) = (vec![0; self.n], vec![0; self.n]);
        let rows = if rows.is_empty() { ptr::null() } else { rows.as_ptr() };
        let n = done(unsafe { ffi::samp_beams_step(self.raw, rows, &raw, tokens.as_mut_ptr(), parents.as_mut_ptr()) })?;
        Ok(parents.into_iter().map(|parent: i32| parent as usize).zip(tokens).take(n as usize).collect())
    }

    /// The texts found so far, best first, each with its score.
    pub fn found(&self) -> Vec<(Vec<Token>, f64)> {
        let each = |i| {
            let (mut tokens, mut n, mut score) = (ptr::null(), 0, 0.0);
            unsafe {
                ffi::samp_beams_found(self.raw, i, &mut tokens, &mut n, &mut score);
                (if n == 0 { vec![] } else { slice::from_raw_parts(tokens, n).to_vec() }, score)
            }
        };
        (0..unsafe { ffi::samp_beams_n_found(self.raw) }).map(each).collect()
    }

    /// The search as bytes; its chains have states of their own.
    pub fn state(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; unsafe { ffi::samp_beams_state_size(self.raw) }];
        done(unsafe { ffi::samp_beams_state_save(self.raw, bytes.as_mut_ptr().cast(), bytes.len()) })?;
        Ok(bytes)
    }

    pub fn load_state(&mut self, bytes: &[u8]) -> Result<()> {
        done(unsafe { ffi::samp_beams_state_load(self.raw, bytes.as_ptr().cast(), bytes.len()) }).map(drop)
    }
}

impl Drop for Beams {
    fn drop(&mut self) {
        unsafe { ffi::samp_beams_free(self.raw) }
    }
}

/// How the positions are chosen; `samp_unmask_rule` says more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnmaskRule {
    #[default]
    Confidence,
    Margin,
    Entropy,
    Threshold,
    EntropyBound,
    Random,
    RawConfidence,
    Independent,
}

/// Which masked positions a step of a diffusion model fills; `samp_unmask_params` says more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unmask {
    pub rule: UnmaskRule,
    pub n: i32,
    pub threshold: f32,
    pub seed: u64,
    pub temp: f32,
}

impl Unmask {
    /// A token for each position that is filled. batch and chains: a row and a chain for each masked position.
    pub fn step(&self, batch: &Batch, chains: &mut [&mut Chain]) -> Result<Vec<Option<Token>>> {
        let (raw, rows) = batch.raw_for(chains)?;
        let Unmask { rule, n, threshold, seed, temp } = *self;
        let params = ffi::samp_unmask_params { rule: rule as ffi::samp_unmask_rule, n, threshold, seed, temp };
        let mut out = vec![-1; rows.len()];
        done(unsafe { ffi::samp_unmask(&params, rows.as_ptr(), &raw, out.as_mut_ptr()) })?;
        Ok(out.into_iter().map(|token| (token >= 0).then_some(token)).collect())
    }
}

/// How many positions a step 0 .. n_steps - 1 fills, evenly (LLaDA) or else linearly (Dream).
pub fn unmask_count(evenly: bool, n_masked: i32, step: i32, n_steps: i32) -> Result<i32> {
    done(unsafe { ffi::samp_unmask_count(if evenly { ffi::SAMP_UNMASK_EVEN } else { ffi::SAMP_UNMASK_LINEAR }, n_masked, step, n_steps) })
}

/// A grammar and a place in a text, without a chain.
pub struct Matcher<'a> {
    sampler: Sampler<'a>,
    n_vocab: usize,
}

impl<'a> Matcher<'a> {
    pub fn new(vocab: &'a Vocab, grammar: &'a Grammar) -> Result<Self> {
        Ok(Matcher { sampler: Sampler::grammar(vocab, grammar)?, n_vocab: vocab.len() })
    }
    /// A bit for each token: may it come next?
    pub fn mask(&mut self) -> Result<Vec<u32>> {
        let mut bits = vec![0; (self.n_vocab + 31) / 32];
        done(unsafe { ffi::samp_grammar_mask(self.sampler.raw, bits.as_mut_ptr()) })?;
        Ok(bits)
    }
    pub fn accept(&mut self, token: Token) -> Result<()> {
        done(unsafe { ffi::samp_accept(self.sampler.raw, token) }).map(drop)
    }
    /// May the text end here?
    pub fn is_complete(&self) -> Result<bool> {
        Ok(done(unsafe { ffi::samp_grammar_is_complete(self.sampler.raw) })? == 1)
    }
    /// The bytes that must follow.
    pub fn forced(&mut self) -> Result<Vec<u8>> {
        let n = done(unsafe { ffi::samp_grammar_forced(self.sampler.raw, ptr::null_mut(), 0) } as c_int)? as usize;
        let mut bytes = vec![0u8; n + 1];
        done(unsafe { ffi::samp_grammar_forced(self.sampler.raw, bytes.as_mut_ptr().cast(), bytes.len()) } as c_int)?;
        bytes.truncate(n);
        Ok(bytes)
    }
    pub fn rollback(&mut self, n: i32) -> Result<()> {
        done(unsafe { ffi::samp_rollback(self.sampler.raw, n) }).map(drop)
    }
    pub fn reset(&mut self) {
        unsafe { ffi::samp_reset(self.sampler.raw) }
    }
    /// As a chain's sampler.
    pub fn into_sampler(self) -> Sampler<'a> {
        self.sampler
    }
}

/// What a text does behind a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    GoesOn,
    Stopped,
    Ended,
}

/// From tokens to the text to show: whole characters, up to a stop.
pub struct Text<'a> {
    raw: *mut ffi::samp_text,
    borrows: PhantomData<&'a Vocab>,
}

unsafe impl Send for Text<'_> {}

impl<'a> Text<'a> {
    pub fn new(vocab: &'a Vocab, stops: &[&str]) -> Result<Self> {
        let (stops, mut status) = (Texts::of(stops)?, 0);
        let raw = unsafe { ffi::samp_text_init(vocab.raw, stops.as_ptr(), stops.len(), ptr::null(), &mut status) };
        if raw.is_null() { Err(Error::named(status, "stops")) } else { Ok(Text { raw, borrows: PhantomData }) }
    }
    /// What may be shown now.
    pub fn push(&mut self, token: Token) -> Result<(State, &[u8])> {
        self.shown(|raw, out, n| unsafe { ffi::samp_text_push(raw, token, out, n) })
    }
    /// What was held back, if the text ends here.
    pub fn flush(&mut self) -> Result<&[u8]> {
        Ok(self.shown(|raw, out, n| unsafe { ffi::samp_text_flush(raw, out, n) })?.1)
    }
    fn shown(&mut self, call: impl Fn(*mut ffi::samp_text, *mut *const c_char, *mut usize) -> c_int) -> Result<(State, &[u8])> {
        let (mut out, mut n) = (ptr::null(), 0);
        let state = match done(call(self.raw, &mut out, &mut n))? {
            ffi::SAMP_TEXT_STOPPED => State::Stopped,
            ffi::SAMP_TEXT_ENDED => State::Ended,
            _ => State::GoesOn,
        };
        Ok((state, if n == 0 { &[] } else { unsafe { slice::from_raw_parts(out.cast(), n) } }))
    }
    /// Which stop it was.
    pub fn stop(&self) -> Option<usize> {
        usize::try_from(unsafe { ffi::samp_text_stop(self.raw) }).ok()
    }
    pub fn rollback(&mut self, n: i32) -> Result<()> {
        done(unsafe { ffi::samp_text_rollback(self.raw, n) }).map(drop)
    }
    pub fn reset(&mut self) {
        unsafe { ffi::samp_text_reset(self.raw) }
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        unsafe { ffi::samp_text_free(self.raw) }
    }
}

/// Which values a setting takes, for a user to read.
pub fn takes(name: &str) -> Result<String> {
    let name = text(name)?;
    done(unsafe { ffi::samp_settings_takes(name.as_ptr(), ptr::null_mut(), 0) })?;
    Ok(written(|buf, size| unsafe { ffi::samp_settings_takes(name.as_ptr(), buf, size) }))
}
