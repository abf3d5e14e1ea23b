// Package sampling goes from a language model's logits to the next token: chains of samplers, batches, grammars, texts with
// stops, drafts, beams.
//
//	chain, err := sampling.NewChain(map[string]string{"temp": "0.7", "top_p": "0.9", "seed": "42"}, nil)
//	token, err := chain.Sample([]float32{1, 3, 2})
//
// What goes wrong is an *Error that names the setting or argument, and changes nothing. An object is for one goroutine at a time; a
// Vocab and a Grammar serve any number at once. Close frees an object now; else it is freed when nothing refers to it. Functions whose
// names begin with New make samplers as C's samp_init_... do; their contracts are in sampling.h.
package sampling

// #cgo CFLAGS: -std=c11 -O2
// #cgo LDFLAGS: -lm
// #include "binding.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// Token is the number of a token, from 0.
type Token = int32

// Must gives a value, or panics with the error: for programs that have nothing to do about it.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Error is a status of C, which is negative, the setting or argument that it is about, and a text of both.
type Error struct {
	Status int
	Field  string
	text   string
}

func (e *Error) Error() string { return e.text }

func failed(status C.int, field *C.char) error {
	buf := make([]byte, C.samp_error_text(status, field, nil, 0)+1)
	C.samp_error_text(status, field, (*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)))
	return &Error{int(status), C.GoString(field), string(buf[:len(buf)-1])}
}

func named(status C.int, field string) error {
	name := C.CString(field)
	defer C.free(unsafe.Pointer(name))
	return failed(status, name)
}

func done(status C.int) error {
	if status < 0 {
		return failed(status, nil)
	}
	return nil
}

func firstOf[T any](all []T) *T {
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// texts has them as C takes them, until free is called.
func texts(all []string) (list **C.char, free func()) {
	size := C.size_t(unsafe.Sizeof(list))
	list = (**C.char)(C.calloc(C.size_t(len(all)+1), size))
	own := unsafe.Slice(list, len(all)+1)
	for i, one := range all {
		own[i] = C.CString(one)
	}
	return list, func() {
		for _, one := range own {
			C.free(unsafe.Pointer(one))
		}
		C.free(unsafe.Pointer(list))
	}
}

func byteZero(all ...string) error {
	for _, one := range all {
		for i := 0; i < len(one); i++ {
			if one[i] == 0 {
				return failed(C.SAMP_E_FORMAT, nil)
			}
		}
	}
	return nil
}

// Vocab has the bytes of each token, and which tokens end a text.
type Vocab struct {
	raw  *C.samp_vocab
	n    int
	once sync.Once
	made *C.samp_vocab_index
}

// NewVocab makes one. A token without bytes is a control token. ends: the tokens that end a text, the first of them is eos.
func NewVocab(tokens []string, ends ...Token) (*Vocab, error) {
	var bytes []byte
	var status C.int
	lengths := make([]C.uint32_t, len(tokens)+1)
	for i, token := range tokens {
		bytes = append(bytes, token...)
		lengths[i] = C.uint32_t(len(token))
	}
	eos := Token(-1)
	if len(ends) > 0 {
		eos = ends[0]
	}
	bytes = append(bytes, 0)
	raw := C.samp_vocab_init((*C.char)(unsafe.Pointer(&bytes[0])), &lengths[0], C.int32_t(len(tokens)), (*C.samp_token)(firstOf(ends)), C.size_t(len(ends)), C.samp_token(eos), -1, &status)
	if raw == nil {
		return nil, failed(status, nil)
	}
	v := &Vocab{raw: raw, n: len(tokens)}
	runtime.SetFinalizer(v, func(v *Vocab) {
		C.samp_vocab_index_free(v.made)
		C.samp_vocab_free(v.raw)
	})
	return v, nil
}

func (v *Vocab) pointer() *C.samp_vocab {
	if v == nil {
		return nil
	}
	return v.raw
}

func (v *Vocab) index() *C.samp_vocab_index {
	if v == nil {
		return nil
	}
	v.once.Do(func() { v.made = C.samp_vocab_index_init(v.raw, nil) })
	return v.made
}

// Grammar is a set of texts.
type Grammar struct{ raw *C.samp_grammar }

func (g *Grammar) pointer() *C.samp_grammar {
	if g == nil {
		return nil
	}
	return g.raw
}

// refused is a status, with the place in a text if there is one.
func refused(status C.int, why *C.samp_text_error) error {
	if why.line == 0 {
		return failed(status, nil)
	}
	return &Error{int(status), "", fmt.Sprintf("line %d, column %d: %s", why.line, why.column, C.GoString(&why.message[0]))}
}

func grammar(kind C.samp_grammar_kind, source, root string) (*Grammar, error) {
	if err := byteZero(source, root); err != nil {
		return nil, err
	}
	text, name := C.CString(source), (*C.char)(nil)
	defer C.free(unsafe.Pointer(text))
	if root != "" {
		name = C.CString(root)
		defer C.free(unsafe.Pointer(name))
	}
	var why C.samp_text_error
	raw := C.samp_grammar_init(kind, text, name, &why)
	if raw == nil {
		return nil, refused(why.status, &why)
	}
	g := &Grammar{raw}
	runtime.SetFinalizer(g, func(g *Grammar) { C.samp_grammar_free(g.raw) })
	return g, nil
}

// JSONSchema makes the grammar of a schema. style: "compact", "spaced" and other options of white space and order, separated by spaces.
func JSONSchema(schema, style string) (*Grammar, error) {
	return grammar(C.SAMP_GRAMMAR_JSON_SCHEMA, schema, style)
}

// GBNF makes the grammar of llama.cpp's rules.
func GBNF(rules string) (*Grammar, error) { return grammar(C.SAMP_GRAMMAR_GBNF, rules, "") }

// Regex makes the grammar of a regular expression.
func Regex(expression string) (*Grammar, error) { return grammar(C.SAMP_GRAMMAR_REGEX, expression, "") }

// StructuralTag makes the grammar of tool calls in free text.
func StructuralTag(tag string) (*Grammar, error) {
	return grammar(C.SAMP_GRAMMAR_STRUCTURAL_TAG, tag, "")
}

// FromTools makes the grammar of a request's tools (JSON; "": none), called as a model writes it. options: "required", "one",
// "thinking"; style: of the tools' schemas.
func FromTools(model, tools, options, style string) (*Grammar, error) {
	if err := byteZero(model, tools, options); err != nil {
		return nil, err
	}
	name, listed, words := C.CString(model), (*C.char)(nil), C.CString(options)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(words))
	if tools != "" {
		listed = C.CString(tools)
		defer C.free(unsafe.Pointer(listed))
	}
	var why C.samp_text_error
	n := C.samp_builtin_tag(name, listed, words, nil, 0, &why)
	if n < 0 {
		return nil, refused(C.int(n), &why)
	}
	tag := make([]byte, n+1)
	C.samp_builtin_tag(name, listed, words, (*C.char)(unsafe.Pointer(&tag[0])), C.size_t(len(tag)), nil)
	return grammar(C.SAMP_GRAMMAR_STRUCTURAL_TAG, string(tag[:n]), style)
}

// Warm works masks out ahead, budget steps of some ten nanoseconds. It returns how many it took; 0: there is nothing to do.
func (g *Grammar) Warm(vocab *Vocab, budget int64) (int64, error) {
	defer runtime.KeepAlive(vocab)
	defer runtime.KeepAlive(g)
	n := C.samp_grammar_warm(vocab.index(), g.pointer(), C.int64_t(budget))
	if n < 0 {
		return 0, failed(C.int(n), nil)
	}
	return int64(n), nil
}

// Sampler is one sampler, to be put into a chain.
type Sampler struct {
	raw   *C.samp_sampler
	keeps []any // what C goes on to read
}

func made(raw *C.samp_sampler, keeps ...any) (*Sampler, error) {
	if raw == nil {
		return nil, failed(C.SAMP_E_NOMEM, nil)
	}
	var field *C.char
	s := &Sampler{raw, keeps}
	if status := C.samp_status(raw, &field); status < 0 {
		err := failed(status, field)
		C.samp_free(raw)
		return nil, err
	}
	runtime.SetFinalizer(s, (*Sampler).Close)
	return s, nil
}

// Close frees it now. Nil, closed, or in a chain, it is one that C refuses.
func (s *Sampler) Close() {
	C.samp_free(s.pointer())
	if s != nil {
		s.raw, s.keeps = nil, nil
	}
}

func (s *Sampler) pointer() *C.samp_sampler {
	if s == nil {
		return nil
	}
	return s.raw
}

// Chain is a list of samplers, the last of which selects the token.
type Chain struct{ *Sampler }

// NewChain makes the usual chain, with settings by name, the members of samp_params. vocab may be nil, if no grammar follows. Grammars
// stand in front.
func NewChain(of map[string]string, vocab *Vocab, grammars ...*Grammar) (*Chain, error) {
	own, err := settings(of, vocab)
	if err != nil {
		return nil, err
	}
	defer C.samp_settings_free(own)
	chain, err := chainOf(own, vocab)
	if err != nil {
		return nil, err
	}
	for i, grammar := range grammars {
		first, err := NewGrammar(vocab, grammar)
		if err == nil {
			err = chain.Insert(i, first)
		}
		if err != nil {
			chain.Close()
			return nil, err
		}
	}
	return chain, nil
}

// EmptyChain has no samplers yet.
func EmptyChain() (*Chain, error) {
	s, err := made(C.samp_chain_init())
	if err != nil {
		return nil, err
	}
	return &Chain{s}, nil
}

// Insert puts a sampler in front of sampler i, and takes it over.
func (c *Chain) Insert(i int, s *Sampler) error {
	raw := s.pointer()
	status := C.samp_chain_insert(c.raw, C.int32_t(i), raw)
	if raw != nil { // C has taken it, also where it fails
		c.keeps = append(c.keeps, s.keeps...)
		s.raw, s.keeps = nil, nil
	}
	return done(status)
}

// Push puts a sampler behind the last one.
func (c *Chain) Push(s *Sampler) error { return c.Insert(int(C.samp_chain_n(c.raw)), s) }

// Sample gives the token of a row, which the chain accepts.
func (c *Chain) Sample(logits []float32) (Token, error) {
	defer runtime.KeepAlive(c.Sampler)
	token := C.samp_sample(c.raw, (*C.float)(firstOf(logits)), C.size_t(len(logits)))
	return Token(token), done(C.int(token))
}

// Draw gives the token of a row, which the chain does not accept.
func (c *Chain) Draw(logits []float32) (Token, error) {
	defer runtime.KeepAlive(c.Sampler)
	token := C.samp_draw(c.raw, (*C.float)(firstOf(logits)), C.size_t(len(logits)))
	return Token(token), done(C.int(token))
}

// Draft has tokens that something cheaper proposes. Probs: with which probability it did, [tokens x vocabulary], if it drew them.
type Draft struct {
	Tokens []Token
	Probs  []float32
}

// Verify gives the tokens of a draft that hold, and the one behind them, unless its row cannot be sampled. logits: a row in front of each
// token, and one behind the last.
func (c *Chain) Verify(logits []float32, draft Draft) ([]Token, error) {
	defer runtime.KeepAlive(c.Sampler)
	rows := len(draft.Tokens) + 1
	nVocab := len(logits) / rows
	if nVocab*rows != len(logits) || (draft.Probs != nil && len(draft.Probs) != nVocab*(rows-1)) {
		return nil, named(C.SAMP_E_RANGE, "logits")
	}
	out := make([]Token, rows)
	n := C.go_verify(c.raw, (*C.float)(firstOf(logits)), C.size_t(nVocab), (*C.samp_token)(firstOf(draft.Tokens)), C.size_t(rows-1), (*C.float)(firstOf(draft.Probs)), (*C.samp_token)(&out[0]))
	if n < 0 {
		return nil, done(C.int(n))
	}
	if out[n] >= 0 {
		n++
	}
	return out[:n], nil
}

// Accept takes a token into the windows and grammars.
func (s *Sampler) Accept(token Token) error {
	defer runtime.KeepAlive(s)
	return done(C.samp_accept(s.pointer(), C.samp_token(token)))
}

// Rollback takes back the last n accepted tokens, of those that are kept.
func (s *Sampler) Rollback(n int) error {
	defer runtime.KeepAlive(s)
	return done(C.samp_rollback(s.pointer(), C.int32_t(n)))
}

// KeepForRollback says how many tokens are kept.
func (s *Sampler) KeepForRollback(depth int) error {
	defer runtime.KeepAlive(s)
	return done(C.samp_set_rollback(s.pointer(), C.int32_t(depth)))
}

// Reset forgets all tokens.
func (s *Sampler) Reset() {
	defer runtime.KeepAlive(s)
	C.samp_reset(s.pointer())
}

// Describe says what a chain does.
func (c *Chain) Describe() string {
	defer runtime.KeepAlive(c.Sampler)
	buf := make([]byte, max(0, int(C.samp_describe(c.raw, nil, 0)))+1)
	C.samp_describe(c.raw, (*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)))
	return string(buf[:len(buf)-1])
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// State is the whole state, as bytes.
func (c *Chain) State() ([]byte, error) {
	defer runtime.KeepAlive(c.Sampler)
	bytes := make([]byte, C.samp_state_size(c.raw)+1)
	err := done(C.samp_state_save(c.raw, unsafe.Pointer(&bytes[0]), C.size_t(len(bytes)-1)))
	return bytes[:len(bytes)-1], err
}

// LoadState goes back to a state of a chain that was made alike.
func (c *Chain) LoadState(bytes []byte) error {
	defer runtime.KeepAlive(c.Sampler)
	return done(C.samp_state_load(c.raw, unsafe.Pointer(firstOf(bytes)), C.size_t(len(bytes))))
}

// Clone has the same state.
func (c *Chain) Clone() (*Chain, error) {
	defer runtime.KeepAlive(c.Sampler)
	s, err := made(C.samp_clone(c.raw), c.keeps...)
	if err != nil {
		return nil, err
	}
	return &Chain{s}, nil
}

// Number is what logits may be: float32, float64; Bfloat16, Float16, which have the bits.
type Number interface {
	float32 | float64 | Bfloat16 | Float16
}

// Bfloat16 has the bits of a number.
type Bfloat16 uint16

// Float16 has the bits of a number.
type Float16 uint16

// batch has the arguments of a batch as C takes them: as many rows as n, or as there are logits for, where n is -1.
func batch[T Number](chains []*Chain, logits []T, nVocab, n int) (rows **C.samp_sampler, data unsafe.Pointer, nRows C.size_t, dtype C.samp_dtype, err error) {
	switch any(*new(T)).(type) {
	case float32:
		dtype = C.SAMP_F32
	case float64:
		dtype = C.SAMP_F64
	case Bfloat16:
		dtype = C.SAMP_BF16
	default:
		dtype = C.SAMP_F16
	}
	if nVocab < 1 || len(logits)%nVocab != 0 || (n >= 0 && len(logits)/nVocab != n) {
		return nil, nil, 0, dtype, named(C.SAMP_E_RANGE, "logits")
	}
	held := make([]*C.samp_sampler, len(chains))
	for i, chain := range chains {
		if chain != nil {
			held[i] = chain.pointer()
		}
	}
	return firstOf(held), unsafe.Pointer(firstOf(logits)), C.size_t(len(logits) / nVocab), dtype, nil
}

// SampleBatch gives a token for each chain, or row r's error in errs[r]; such a row leaves its chain as it was. logits: row behind row.
// mask: nil, or a bit for each token of each row, in (nVocab+31)/32 words a row. nThreads 0: as many as OpenMP likes.
func SampleBatch[T Number](chains []*Chain, logits []T, nVocab int, mask []uint32, nThreads int) (tokens []Token, errs []error, err error) {
	n := len(chains)
	rows, data, nRows, dtype, err := batch(chains, logits, nVocab, n)
	if err != nil {
		return nil, nil, err
	}
	if mask != nil && len(mask) != n*((nVocab+31)/32) {
		return nil, nil, named(C.SAMP_E_RANGE, "mask")
	}
	if n == 0 {
		return nil, nil, nil
	}
	tokens, errs = make([]Token, n), make([]error, n)
	for i := range tokens {
		tokens[i] = C.SAMP_E_EMPTY
	}
	status := C.go_batch(rows, data, nRows, C.size_t(nVocab), dtype, C.int32_t(nThreads), (*C.uint32_t)(firstOf(mask)), (*C.samp_token)(&tokens[0]))
	runtime.KeepAlive(chains)
	untouched := 0
	for i, token := range tokens {
		errs[i] = done(C.int(token))
		if token == C.SAMP_E_EMPTY {
			untouched++
		}
	}
	if status < 0 && untouched == n {
		return nil, nil, done(status)
	}
	return tokens, errs, nil
}

// Want says what SampleTold is to tell beside the token: how many of the most likely tokens, the log-probabilities of which tokens, and
// whether the tokens that could have been drawn.
type Want struct {
	Top     int
	IDs     []Token
	Support bool
}

// Logprob is a token's log-probability and its rank, 1 is the most likely one.
type Logprob struct {
	Token   Token
	Rank    int
	Logprob float32
}

// LogprobSet has the log-probabilities of one distribution; IDs: those of Want.IDs. Entropy is in nats.
type LogprobSet struct {
	Chosen  Logprob
	Top     []Logprob
	IDs     []float32
	Entropy float32
}

// Logprobs tells about a draw: Raw by the model's logits, Processed of the distribution that the chain drew from; the tokens that could
// have been drawn, their log-probabilities there, and their share of the model's distribution.
type Logprobs struct {
	Raw, Processed  LogprobSet
	Support         []Token
	SupportLogprobs []float32
	SupportMass     float64
}

// SampleTold does what Sample does, and tells what want asks for.
func (c *Chain) SampleTold(logits []float32, want Want) (Token, *Logprobs, error) {
	defer runtime.KeepAlive(c.Sampler)
	var chosen [2]C.samp_logprob
	var found [2]C.int32_t
	var entropy [2]C.float
	var nSupport *C.size_t
	var mass C.double
	var told Logprobs
	if want.Top < 0 || want.Top > C.SAMP_MAX_TOP_LOGPROBS || len(want.IDs) > C.SAMP_MAX_TOP_LOGPROBS {
		return 0, nil, named(C.SAMP_E_RANGE, "want")
	}
	n := 0
	if want.Support {
		n, nSupport = len(logits), new(C.size_t)
	}
	top, ids := make([]C.samp_logprob, 2*want.Top+1), make([]float32, 2*len(want.IDs)+1)
	tokens, logprobs := make([]Token, n+1), make([]float32, n+1)
	token := C.go_told(c.raw, (*C.float)(firstOf(logits)), C.size_t(len(logits)), &top[0], C.int32_t(want.Top),
		(*C.samp_token)(firstOf(want.IDs)), C.int32_t(len(want.IDs)), (*C.float)(&ids[0]), (*C.samp_token)(&tokens[0]),
		(*C.float)(&logprobs[0]), C.size_t(n), &chosen[0], &found[0], &entropy[0], nSupport, &mass)
	if token < 0 {
		return Token(token), nil, done(C.int(token))
	}
	logprob := func(of C.samp_logprob) Logprob { return Logprob{Token(of.token), int(of.rank), float32(of.logprob)} }
	for i, set := range []*LogprobSet{&told.Raw, &told.Processed} {
		set.Chosen, set.IDs, set.Entropy = logprob(chosen[i]), ids[i*len(want.IDs):(i+1)*len(want.IDs)], float32(entropy[i])
		for _, one := range top[i*want.Top : i*want.Top+int(found[i])] {
			set.Top = append(set.Top, logprob(one))
		}
	}
	if want.Support {
		told.Support, told.SupportLogprobs, told.SupportMass = tokens[:*nSupport], logprobs[:*nSupport], float64(mass)
	}
	return Token(token), &told, nil
}

// Score is what a chain would give a token: its log-probabilities by the model and in the chain's distribution, its rank by the model,
// and which sampler removes it, or "".
type Score struct {
	Raw, Processed float32
	Rank           int
	RemovedBy      string
}

// Score changes nothing.
func (c *Chain) Score(logits []float32, token Token) (Score, error) {
	defer runtime.KeepAlive(c.Sampler)
	var out C.samp_score_result
	err := done(C.samp_score(c.raw, (*C.float)(firstOf(logits)), C.size_t(len(logits)), C.samp_token(token), &out))
	return Score{float32(out.raw), float32(out.processed), int(out.rank), C.GoString(out.removed_by)}, err
}

// Explained is what one sampler leaves: how many tokens, their share of the model's distribution, and the token's probability among them.
type Explained struct {
	Name string
	Left int
	Mass float64
	P    float32
}

// Explain has a line for each sampler that is on. It changes nothing.
func (c *Chain) Explain(logits []float32, token Token) ([]Explained, error) {
	defer runtime.KeepAlive(c.Sampler)
	out := make([]C.samp_explained, 16)
	for {
		n := C.samp_explain(c.raw, (*C.float)(firstOf(logits)), C.size_t(len(logits)), C.samp_token(token), &out[0], C.size_t(len(out)))
		if n < 0 {
			return nil, done(C.int(n))
		}
		if int(n) <= len(out) {
			out = out[:n]
			break
		}
		out = make([]C.samp_explained, n)
	}
	lines := make([]Explained, len(out))
	for i, one := range out {
		lines[i] = Explained{C.GoString(one.name), int(one.n_left), float64(one.mass), float32(one.p)}
	}
	return lines, nil
}

// When a beam search ends, as transformers' early_stopping: False, True, "never".
const (
	EarlyHeuristic = iota
	EarlyAlways
	EarlyExact
)

// BeamParams says what a beam search does, as samp_beam_params. A length penalty of 0 is no division; transformers' default is 1.
// Sampled: texts are drawn without replacement, by the seed.
type BeamParams struct {
	Beams, Groups, MaxTokens        int32
	LengthPenalty, DiversityPenalty float32
	EarlyStopping                   int
	Ends                            []Token
	Sampled                         bool
	Seed                            uint64
}

// Beams is a beam search: the n best continuations of a text side by side, with transformers' rules.
type Beams struct {
	raw *C.samp_beams
	n   int
}

// NewBeams begins with one live beam, the empty text.
func NewBeams(params BeamParams) (*Beams, error) {
	var status C.int
	var field *C.char
	raw := C.go_beams_init(C.samp_beam_params{n_beams: C.int32_t(params.Beams), n_groups: C.int32_t(params.Groups),
		max_tokens: C.int32_t(params.MaxTokens), length_penalty: C.float(params.LengthPenalty),
		diversity_penalty: C.float(params.DiversityPenalty), early_stopping: C.samp_early_stopping(params.EarlyStopping),
		n_ends: C.int32_t(len(params.Ends)), seed: C.uint64_t(params.Seed), sampled: C.bool(params.Sampled)},
		(*C.samp_token)(firstOf(params.Ends)), &status, &field)
	if raw == nil {
		return nil, failed(status, field)
	}
	b := &Beams{raw, int(params.Beams)}
	runtime.SetFinalizer(b, func(b *Beams) { C.samp_beams_free(b.raw) })
	return b, nil
}

// Beam is one of the next beams: beam Parent, followed by Token.
type Beam struct {
	Parent int
	Token  Token
}

// BeamsStep gives the next beams, best first; none: the search is done. logits: a row for each live beam, the first time one. chains: nil,
// or as many as there are beams, made alike (Clone), which change the rows and follow their beams.
func BeamsStep[T Number](b *Beams, chains []*Chain, logits []T, nVocab int) ([]Beam, error) {
	if len(chains) != 0 && len(chains) != b.n {
		return nil, named(C.SAMP_E_RANGE, "chains")
	}
	rows, data, nRows, dtype, err := batch(chains, logits, nVocab, -1)
	if err != nil {
		return nil, err
	}
	tokens, parents := make([]Token, b.n), make([]int32, b.n)
	n := C.go_beams_step(b.raw, rows, data, nRows, C.size_t(nVocab), dtype, (*C.samp_token)(&tokens[0]), (*C.int32_t)(&parents[0]))
	runtime.KeepAlive(b)
	runtime.KeepAlive(chains)
	if n < 0 {
		return nil, done(n)
	}
	next := make([]Beam, n)
	for i := range next {
		next[i] = Beam{int(parents[i]), tokens[i]}
	}
	return next, nil
}

// FoundText is a text that a search has found, and its score.
type FoundText struct {
	Tokens []Token
	Score  float64
}

// Found has the texts found so far, best first.
func (b *Beams) Found() []FoundText {
	defer runtime.KeepAlive(b)
	texts := make([]FoundText, C.samp_beams_n_found(b.raw))
	for i := range texts {
		var score C.double
		tokens := make([]Token, C.go_beams_found(b.raw, C.int32_t(i), nil, 0, &score))
		C.go_beams_found(b.raw, C.int32_t(i), (*C.samp_token)(firstOf(tokens)), C.size_t(len(tokens)), &score)
		texts[i] = FoundText{tokens, float64(score)}
	}
	return texts
}

// State is the search as bytes; its chains have states of their own.
func (b *Beams) State() ([]byte, error) {
	defer runtime.KeepAlive(b)
	bytes := make([]byte, C.samp_beams_state_size(b.raw)+1)
	err := done(C.samp_beams_state_save(b.raw, unsafe.Pointer(&bytes[0]), C.size_t(len(bytes)-1)))
	return bytes[:len(bytes)-1], err
}

// LoadState goes back to a state of a search with the same parameters.
func (b *Beams) LoadState(bytes []byte) error {
	defer runtime.KeepAlive(b)
	return done(C.samp_beams_state_load(b.raw, unsafe.Pointer(firstOf(bytes)), C.size_t(len(bytes))))
}

// The rules of Unmask, as samp_unmask_rule says them.
const (
	UnmaskConfidence = iota
	UnmaskMargin
	UnmaskEntropy
	UnmaskThreshold
	UnmaskEntropyBound
	UnmaskRandom
	UnmaskRawConfidence
	UnmaskIndependent
)

// UnmaskParams says which masked positions a step fills, as samp_unmask_params.
type UnmaskParams struct {
	Rule      int
	N         int32
	Threshold float32
	Seed      uint64
	Temp      float32
}

// Unmask is a step of a diffusion model: a token for each position that is filled, -1 for the others. chains and logits: a chain and a
// row for each masked position.
func Unmask[T Number](params UnmaskParams, chains []*Chain, logits []T, nVocab int) ([]Token, error) {
	rows, data, nRows, dtype, err := batch(chains, logits, nVocab, len(chains))
	if err != nil || len(chains) == 0 {
		return nil, err
	}
	out := make([]Token, len(chains))
	status := C.go_unmask(C.samp_unmask_params{rule: C.samp_unmask_rule(params.Rule), n: C.int32_t(params.N), threshold: C.float(params.Threshold),
		seed: C.uint64_t(params.Seed), temp: C.float(params.Temp)}, rows, data, nRows, C.size_t(nVocab), dtype, (*C.samp_token)(&out[0]))
	runtime.KeepAlive(chains)
	if status < 0 {
		return nil, done(status)
	}
	return out, nil
}

// UnmaskCount tells how many positions a step 0 .. nSteps - 1 fills, evenly (LLaDA) or else linearly (Dream).
func UnmaskCount(evenly bool, nMasked, step, nSteps int) (int, error) {
	schedule := C.samp_unmask_schedule(C.SAMP_UNMASK_LINEAR)
	if evenly {
		schedule = C.SAMP_UNMASK_EVEN
	}
	n := C.samp_unmask_count(schedule, C.int32_t(nMasked), C.int32_t(step), C.int32_t(nSteps))
	return int(n), done(C.int(n))
}

// Matcher is a grammar and a place in a text, without a chain.
type Matcher struct {
	*Sampler
	nVocab int
}

// NewMatcher begins at the beginning of a text.
func NewMatcher(vocab *Vocab, grammar *Grammar) (*Matcher, error) {
	s, err := NewGrammar(vocab, grammar)
	if err != nil {
		return nil, err
	}
	return &Matcher{s, vocab.n}, nil
}

// Mask has a bit for each token: may it come next?
func (m *Matcher) Mask() ([]uint32, error) {
	defer runtime.KeepAlive(m.Sampler)
	bits := make([]uint32, (m.nVocab+31)/32)
	return bits, done(C.samp_grammar_mask(m.pointer(), (*C.uint32_t)(&bits[0])))
}

// IsComplete tells whether the text may end here.
func (m *Matcher) IsComplete() (bool, error) {
	defer runtime.KeepAlive(m.Sampler)
	is := C.samp_grammar_is_complete(m.pointer())
	return is == 1, done(is)
}

// Forced has the bytes that must follow.
func (m *Matcher) Forced() (string, error) {
	defer runtime.KeepAlive(m.Sampler)
	n := C.samp_grammar_forced(m.pointer(), nil, 0)
	if n <= 0 {
		return "", done(C.int(n))
	}
	bytes := make([]byte, n+1)
	C.samp_grammar_forced(m.pointer(), (*C.char)(unsafe.Pointer(&bytes[0])), C.size_t(len(bytes)))
	return string(bytes[:n]), nil
}

// What a text does behind a token.
const (
	GoesOn = iota
	Stopped
	Ended
)

// Text goes from tokens to the text to show: whole characters, up to a stop.
type Text struct {
	raw   *C.samp_text
	vocab *Vocab
}

// NewText begins a text.
func NewText(vocab *Vocab, stops ...string) (*Text, error) {
	if err := byteZero(stops...); err != nil {
		return nil, err
	}
	list, free := texts(stops)
	defer free()
	var status C.int
	return textOf(C.samp_text_init(vocab.pointer(), list, C.size_t(len(stops)), nil, &status), vocab, &status)
}

func textOf(raw *C.samp_text, vocab *Vocab, status *C.int) (*Text, error) {
	if raw == nil {
		return nil, named(*status, "stops")
	}
	t := &Text{raw, vocab}
	runtime.SetFinalizer(t, func(t *Text) { C.samp_text_free(t.raw) })
	return t, nil
}

// Push gives what may be shown now.
func (t *Text) Push(token Token) (text string, state int, err error) {
	var out *C.char
	var n C.size_t
	status := C.samp_text_push(t.raw, C.samp_token(token), &out, &n)
	text = C.GoStringN(out, C.int(n))
	runtime.KeepAlive(t)
	return text, int(status), done(status)
}

// Flush gives what was held back, if the text ends here.
func (t *Text) Flush() (string, error) {
	var out *C.char
	var n C.size_t
	status := C.samp_text_flush(t.raw, &out, &n)
	text := C.GoStringN(out, C.int(n))
	runtime.KeepAlive(t)
	return text, done(status)
}

// Stop tells which stop it was, or -1.
func (t *Text) Stop() int {
	defer runtime.KeepAlive(t)
	return int(C.samp_text_stop(t.raw))
}

// Rollback takes back the last n tokens.
func (t *Text) Rollback(n int) error {
	defer runtime.KeepAlive(t)
	return done(C.samp_text_rollback(t.raw, C.int32_t(n)))
}

// Ngram makes drafts out of the text itself: what came behind its last tokens before.
type Ngram struct{ raw *C.samp_ngram }

// NewNgram looks for the last nMax to nMin tokens in the last maxTokens.
func NewNgram(nMin, nMax, maxTokens int) (*Ngram, error) {
	raw := C.samp_ngram_init(C.int32_t(nMin), C.int32_t(nMax), C.size_t(maxTokens))
	if raw == nil {
		return nil, named(C.SAMP_E_RANGE, "nMin, nMax or maxTokens")
	}
	n := &Ngram{raw}
	runtime.SetFinalizer(n, func(n *Ngram) { C.samp_ngram_free(n.raw) })
	return n, nil
}

// Accept takes a token into the text.
func (n *Ngram) Accept(token Token) error {
	defer runtime.KeepAlive(n)
	return done(C.samp_ngram_accept(n.raw, C.samp_token(token)))
}

// Rollback takes back the last tokens.
func (n *Ngram) Rollback(tokens int) error {
	defer runtime.KeepAlive(n)
	return done(C.samp_ngram_rollback(n.raw, C.int32_t(tokens)))
}

// Draft proposes at most most tokens.
func (n *Ngram) Draft(most int) ([]Token, error) {
	defer runtime.KeepAlive(n)
	out := make([]Token, most+1)
	got := C.samp_ngram_draft(n.raw, (*C.samp_token)(&out[0]), C.size_t(most))
	if got < 0 {
		return nil, done(C.int(got))
	}
	return out[:got], nil
}
