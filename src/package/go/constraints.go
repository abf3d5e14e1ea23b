package sampling

// #include "binding.h"
import "C"

import "unsafe"

// Loop says what a loop is, as samp_loop; UsualLoop has the usual numbers.
type Loop struct{ MinPeriod, MaxPeriod, Copies, LastN, Every int32 }

// UsualLoop has the usual numbers.
var UsualLoop = Loop{4, 128, 3, 512, 16}

// Thinking says what begins and ends thinking, and what is forced where its budget ends (nil: End).
type Thinking struct{ Start, End, Force []Token }

// Sequence is a bias for the token that would complete these tokens.
type Sequence struct {
	Tokens []Token
	Bias   float32
}

// How the bias on the end of thinking grows.
const (
	RampNone = iota
	RampLinear
	RampExponential
)

// ThinkingPlan says how thinking ends, as samp_thinking_plan; without anything in it, by the budget alone. Loop nil: not by a loop.
type ThinkingPlan struct {
	Total, Soft int32
	SoftRatio   float32
	Grace       int32
	Note        []Token
	Ends        [][]Token
	Ramp        int
	Bias        float32
	Loop        *Loop
	LoopFrom    int32
}

// What a schedule counts.
const (
	Tokens = iota
	Lines
)

// Where a schedule is active.
const (
	Anywhere = iota
	Inside
	Outside
)

// Schedule says when samplers are active, as samp_schedule: From <= c < To (0: without an end), and every other condition. Inside: 1 +
// the span in which the text begins, or 0.
type Schedule struct {
	Count           int
	From, To, Begin int32
	Where           int
	Spans           []Thinking
	Inside          int32
	Until           []Token
	Loop            *Loop
}

// inC has lists in C's memory, which C may point to, until it is freed.
type inC []unsafe.Pointer

func (m *inC) free() {
	for _, one := range *m {
		C.free(one)
	}
}

func (m *inC) room(n int, size uintptr) unsafe.Pointer {
	at := C.calloc(C.size_t(n+1), C.size_t(size))
	*m = append(*m, at)
	return at
}

func (m *inC) tokens(list []Token) *C.samp_token {
	if len(list) == 0 {
		return nil
	}
	at := (*C.samp_token)(m.room(len(list), unsafe.Sizeof(Token(0))))
	copy(unsafe.Slice((*Token)(at), len(list)), list)
	return at
}

func (m *inC) spans(list []Thinking) *C.samp_thinking {
	at := (*C.samp_thinking)(m.room(len(list), unsafe.Sizeof(C.samp_thinking{})))
	for i, of := range list {
		unsafe.Slice(at, len(list))[i] = C.samp_thinking{start: m.tokens(of.Start), n_start: C.size_t(len(of.Start)),
			end: m.tokens(of.End), n_end: C.size_t(len(of.End)), force: m.tokens(of.Force), n_force: C.size_t(len(of.Force))}
	}
	return at
}

func (m *inC) sequences(list []Sequence) *C.samp_sequence {
	at := (*C.samp_sequence)(m.room(len(list), unsafe.Sizeof(C.samp_sequence{})))
	for i, of := range list {
		unsafe.Slice(at, len(list))[i] = C.samp_sequence{tokens: m.tokens(of.Tokens), n: C.size_t(len(of.Tokens)), bias: C.float(of.Bias)}
	}
	return at
}

func (m *inC) loop(of *Loop) *C.samp_loop {
	if of == nil {
		return nil
	}
	at := (*C.samp_loop)(m.room(1, unsafe.Sizeof(C.samp_loop{})))
	*at = C.samp_loop{C.int32_t(of.MinPeriod), C.int32_t(of.MaxPeriod), C.int32_t(of.Copies), C.int32_t(of.LastN), C.int32_t(of.Every)}
	return at
}

func unbiased(all [][]Token) (list []Sequence) {
	for _, one := range all {
		list = append(list, Sequence{Tokens: one})
	}
	return list
}

// NewThinking is samp_init_thinking: at most budget tokens of thinking. vocab may be nil; it tells where lines and characters end.
// open: the span in which the text begins, or -1.
func NewThinking(vocab *Vocab, spans []Thinking, budget, open int32, plan ThinkingPlan) (*Sampler, error) {
	var m inC
	defer m.free()
	raw := C.samp_thinking_plan{total: C.int32_t(plan.Total), soft: C.int32_t(plan.Soft), soft_ratio: C.float(plan.SoftRatio),
		grace: C.int32_t(plan.Grace), note: m.tokens(plan.Note), n_note: C.size_t(len(plan.Note)), ends: m.sequences(unbiased(plan.Ends)),
		n_ends: C.size_t(len(plan.Ends)), ramp: C.samp_ramp(plan.Ramp), bias: C.float(plan.Bias), loop: m.loop(plan.Loop),
		loop_from: C.int32_t(plan.LoopFrom)}
	return made(C.samp_init_thinking(vocab.pointer(), m.spans(spans), C.size_t(len(spans)), C.int32_t(budget), C.int32_t(open), &raw), vocab)
}

// NewSchedule is samp_init_schedule: the member, or a chain's Sampler, at times only, and takes it over. vocab: for Lines, else nil.
func NewSchedule(when Schedule, vocab *Vocab, member *Sampler) (*Sampler, error) {
	var m inC
	defer m.free()
	raw := C.samp_schedule{count: C.samp_unit(when.Count), from: C.int32_t(when.From), to: C.int32_t(when.To), begin: C.int32_t(when.Begin),
		where: C.samp_area(when.Where), spans: m.spans(when.Spans), n_spans: C.size_t(len(when.Spans)), inside: C.int32_t(when.Inside),
		until: m.tokens(when.Until), n_until: C.size_t(len(when.Until)), vocab: vocab.pointer(), loop: m.loop(when.Loop)}
	keeps := []any{vocab}
	taken := member.pointer()
	if taken != nil { // C takes it, also where it fails
		keeps = append(keeps, member.keeps...)
		member.raw, member.keeps = nil, nil
	}
	return made(C.samp_init_schedule(&raw, taken), keeps...)
}

// NewSequenceBias is samp_init_sequence_bias.
func NewSequenceBias(sequences []Sequence) (*Sampler, error) {
	var m inC
	defer m.free()
	return made(C.samp_init_sequence_bias(m.sequences(sequences), C.size_t(len(sequences))))
}

// NewBannedSequences is samp_init_banned_sequences.
func NewBannedSequences(sequences [][]Token, flags uint32) (*Sampler, error) {
	var m inC
	defer m.free()
	return made(C.samp_init_banned_sequences(m.sequences(unbiased(sequences)), C.size_t(len(sequences)), C.uint(flags)))
}
