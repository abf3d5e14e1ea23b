//! Constraints whose arguments are lists of lists: spans of thinking, schedules, sequences.
use crate::*;

/// What a loop is; `samp_loop` says more.
pub type Loop = ffi::samp_loop;

impl Default for Loop {
    fn default() -> Self {
        Loop { min_period: 4, max_period: 128, copies: 3, last_n: 512, every: 16 }
    }
}

/// What begins and ends thinking, and what is forced where its budget ends (empty: `end`).
#[derive(Clone, Copy, Default)]
pub struct Thinking<'t> {
    pub start: &'t [Token],
    pub end: &'t [Token],
    pub force: &'t [Token],
}

fn spans_in_c(spans: &[Thinking]) -> Vec<ffi::samp_thinking> {
    let one = |of: &Thinking| ffi::samp_thinking {
        start: of.start.as_ptr(),
        n_start: of.start.len(),
        end: of.end.as_ptr(),
        n_end: of.end.len(),
        force: if of.force.is_empty() { ptr::null() } else { of.force.as_ptr() },
        n_force: of.force.len(),
    };
    spans.iter().map(one).collect()
}

fn sequences_in_c(sequences: &[(&[Token], f32)]) -> Vec<ffi::samp_sequence> {
    sequences.iter().map(|(tokens, bias)| ffi::samp_sequence { tokens: tokens.as_ptr(), n: tokens.len(), bias: *bias }).collect()
}

fn or_null<T>(of: &Option<T>) -> *const T {
    of.as_ref().map_or(ptr::null(), |one| one as *const T)
}

/// How the bias on the end of thinking grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ramp {
    #[default]
    None,
    Linear,
    Exponential,
}

/// How thinking ends; `samp_thinking_plan` says more. The default adds nothing to the budget.
#[derive(Clone, Copy, Default)]
pub struct ThinkingPlan<'t> {
    pub total: i32,
    pub soft: i32,
    pub soft_ratio: f32,
    pub grace: i32,
    pub note: &'t [Token],
    pub ends: &'t [&'t [Token]],
    pub ramp: Ramp,
    pub bias: f32,
    pub repeats: Option<Loop>,
    pub repeats_from: i32,
}

/// What a schedule counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Tokens,
    Lines,
}

/// Where a schedule is active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Area {
    #[default]
    Anywhere,
    Inside,
    Outside,
}

/// When samplers are active: from <= c < to (0: without an end), and every other condition; `samp_schedule` says more.
#[derive(Clone, Copy, Default)]
pub struct Schedule<'t> {
    pub count: Unit,
    pub from: i32,
    pub to: i32,
    pub begin: i32,
    pub area: Area,
    pub spans: &'t [Thinking<'t>],
    /// The span in which the text begins.
    pub inside: Option<usize>,
    pub until: &'t [Token],
    pub repeats: Option<Loop>,
}

impl<'a> Sampler<'a> {
    /// `samp_init_thinking`: at most `budget` tokens of thinking. vocab: tells where lines and characters end. open: the span in which
    /// the text begins.
    pub fn thinking(vocab: Option<&'a Vocab>, spans: &[Thinking], budget: i32, open: Option<usize>, plan: &ThinkingPlan) -> Result<Self> {
        let list = spans_in_c(spans);
        let ends = sequences_in_c(&plan.ends.iter().map(|tokens| (*tokens, 0.0)).collect::<Vec<_>>());
        let raw = ffi::samp_thinking_plan {
            total: plan.total,
            soft: plan.soft,
            soft_ratio: plan.soft_ratio,
            grace: plan.grace,
            note: if plan.note.is_empty() { ptr::null() } else { plan.note.as_ptr() },
            n_note: plan.note.len(),
            ends: ends.as_ptr(),
            n_ends: ends.len(),
            ramp: plan.ramp as ffi::samp_ramp,
            bias: plan.bias,
            r#loop: or_null(&plan.repeats),
            loop_from: plan.repeats_from,
        };
        let vocab = vocab.map_or(ptr::null(), |one| one.raw as *const _);
        unsafe { Self::made(ffi::samp_init_thinking(vocab, list.as_ptr(), list.len(), budget, place(open), &raw)) }
    }

    /// `samp_init_schedule`: the member, or a chain of them, at times only. vocab: for [`Unit::Lines`].
    pub fn schedule(when: &Schedule, vocab: Option<&'a Vocab>, member: Sampler<'a>) -> Result<Self> {
        let spans = spans_in_c(when.spans);
        let raw = ffi::samp_schedule {
            count: when.count as ffi::samp_unit,
            from: when.from,
            to: when.to,
            begin: when.begin,
            r#where: when.area as ffi::samp_area,
            spans: spans.as_ptr(),
            n_spans: spans.len(),
            inside: place(when.inside).saturating_add(1),
            until: when.until.as_ptr(),
            n_until: when.until.len(),
            vocab: vocab.map_or(ptr::null(), |one| one.raw as *const _),
            r#loop: or_null(&when.repeats),
        };
        let taken = member.raw;
        std::mem::forget(member); // C takes it, also where it fails
        unsafe { Self::made(ffi::samp_init_schedule(&raw, taken)) }
    }

    /// `samp_init_sequence_bias`
    pub fn sequence_bias(sequences: &[(&[Token], f32)]) -> Result<Self> {
        let list = sequences_in_c(sequences);
        unsafe { Self::made(ffi::samp_init_sequence_bias(list.as_ptr(), list.len())) }
    }

    /// `samp_init_banned_sequences`
    pub fn banned_sequences(sequences: &[&[Token]], flags: u32) -> Result<Self> {
        let list = sequences_in_c(&sequences.iter().map(|tokens| (*tokens, 0.0)).collect::<Vec<_>>());
        unsafe { Self::made(ffi::samp_init_banned_sequences(list.as_ptr(), list.len(), flags)) }
    }
}

impl<'a> From<Chain<'a>> for Sampler<'a> {
    /// A chain as one sampler of another, or of a schedule.
    fn from(chain: Chain<'a>) -> Self {
        chain.0
    }
}

fn place(of: Option<usize>) -> i32 {
    of.map_or(-1, |i| i32::try_from(i).unwrap_or(i32::MAX))
}
