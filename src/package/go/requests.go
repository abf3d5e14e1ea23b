package sampling

// #include "binding.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// The programs whose requests NewRequest reads.
const (
	OpenAI = iota
	VLLM
	Transformers
	LlamaServer
	Ollama
	Anthropic
	SGLang
)

// settings are those by name, which the caller frees.
func settings(of map[string]string, vocab *Vocab) (*C.samp_settings, error) {
	own := C.samp_settings_init()
	set := func(name, value string) error {
		if err := byteZero(name, value); err != nil {
			return err
		}
		n, v := C.CString(name), C.CString(value)
		defer C.free(unsafe.Pointer(n))
		defer C.free(unsafe.Pointer(v))
		var field *C.char
		if status := C.samp_settings_set(own, n, v, &field); status < 0 {
			return failed(status, field) // which may be n itself
		}
		return nil
	}
	err := done(C.samp_settings_use_vocab(own, vocab.pointer()))
	for name, value := range of {
		if err == nil {
			err = set(name, value)
		}
	}
	if err != nil {
		C.samp_settings_free(own)
		return nil, err
	}
	return own, nil
}

func chainOf(own *C.samp_settings, vocab *Vocab) (*Chain, error) {
	var field *C.char
	params := C.samp_settings_params(own)
	if status := C.samp_check_params(params, &field); status < 0 {
		return nil, failed(status, field)
	}
	s, err := made(C.samp_chain_from_params(params, nil), vocab)
	if err != nil {
		return nil, err
	}
	return &Chain{s}, nil
}

// Request is one to another program: chains by its settings, texts up to its stops, and what the caller has to see to, as samp_request.
// ThinkingBudget -1: none; Beams 0: no search.
type Request struct {
	Seeded, WithPrompt        bool
	ThinkingBudget, MinTokens int
	MaskEnds                  bool
	GuidanceScale             float32
	N, Beams, Groups          int
	EarlyStopping             int
	LengthPenalty             float32
	DiversityPenalty          float32
	Logprobs, PromptLogprobs  bool
	Top, PromptTop            int
	Support, Entropy          bool
	LogprobIDs                []Token
	raw                       *C.samp_settings
	vocab                     *Vocab
}

// NewRequest reads it by the program's names, defaults and ranges. handled: fields that the caller sees to. defaults: settings that no
// request has, such as n_vocab, or a seed for requests without one. vocab may be nil.
func NewRequest(peer int, json string, handled []string, defaults map[string]string, vocab *Vocab) (*Request, error) {
	if err := byteZero(append([]string{json}, handled...)...); err != nil {
		return nil, err
	}
	own, err := settings(defaults, vocab)
	if err != nil {
		return nil, err
	}
	list, free := texts(handled)
	defer free()
	text := C.CString(json)
	defer C.free(unsafe.Pointer(text))
	var of C.samp_request
	if status := C.samp_settings_from(own, C.samp_peer(peer), text, list, &of); status < 0 {
		C.samp_settings_free(own)
		field := C.GoString(&of.field[0])
		return nil, &Error{int(status), field, field + ": " + C.GoString(&of.error.message[0])}
	}
	r := &Request{bool(of.seeded), bool(of.with_prompt), int(of.thinking_budget), int(of.min_tokens), bool(of.mask_ends), float32(of.guidance_scale),
		int(of.n), int(of.n_beams), int(of.n_groups), int(of.early_stopping), float32(of.length_penalty), float32(of.diversity_penalty),
		bool(of.logprobs), bool(of.prompt_logprobs), int(of.n_top), int(of.n_prompt_top), bool(of.support), bool(of.entropy), nil, own, vocab}
	for _, id := range of.logprob_ids[:of.n_logprob_ids] {
		r.LogprobIDs = append(r.LogprobIDs, Token(id))
	}
	runtime.SetFinalizer(r, func(r *Request) { C.samp_settings_free(r.raw) })
	return r, nil
}

// Chain makes a chain of the request's settings.
func (r *Request) Chain() (*Chain, error) {
	defer runtime.KeepAlive(r)
	return chainOf(r.raw, r.vocab)
}

// Text begins a text up to the request's stops.
func (r *Request) Text(vocab *Vocab) (*Text, error) {
	defer runtime.KeepAlive(r)
	var status C.int
	return textOf(C.samp_text_from_settings(r.raw, vocab.pointer(), &status), vocab, &status)
}
