package sampling

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var row = []float32{1, 3, 2}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%v, not %v", got, want)
	}
}

func fails(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("%v, not an error with %q", err, text)
	}
}

func letters() *Vocab { return must(NewVocab([]string{"a", "b", ".", ""}, 3)) }

func TestTokens(t *testing.T) {
	chain := must(NewChain(map[string]string{"temp": "0.7", "top_p": "0.9", "penalty_repeat": "1.1", "seed": "42"}, nil))
	chain.Accept(2)
	chain.Accept(0)
	var said []Token
	for len(said) < 8 {
		said = append(said, must(chain.Sample(row)))
	}
	equal(t, said, []Token{1, 2, 1, 2, 1, 1, 2, 1}) // as on the pages of the other languages
	if !strings.Contains(chain.Describe(), "top-p(p=0.9") {
		t.Fatal(chain.Describe())
	}
}

func TestErrors(t *testing.T) {
	_, err := NewChain(map[string]string{"top_p": "1.5"}, nil)
	equal(t, err.(*Error).Field, "top_p")
	_, err = NewChain(map[string]string{"no_such": "1"}, nil)
	fails(t, err, "no_such")
	_, err = NewMinP(2, 1)
	equal(t, err.(*Error).Field, "min_p")
	_, err = Regex("(")
	fails(t, err, "line 1, column")
	_, err = Regex("a\x00")
	fails(t, err, "")
	_, err = NewVocab([]string{"a"}, 7)
	fails(t, err, "")
	_, err = NewNgram(0, 0, 1)
	fails(t, err, "nMin")
	_, err = NewGrammar(letters(), nil)
	fails(t, err, "")
	chain := must(NewChain(nil, nil))
	_, err = chain.Sample(nil)
	fails(t, err, "")
	equal(t, chain.Push(nil) != nil, true)
	chain.Close()
	chain.Close()
	_, err = chain.Sample(row)
	fails(t, err, "")
}

func TestBatch(t *testing.T) {
	make := func(seed string) *Chain { return must(NewChain(map[string]string{"seed": seed}, nil)) }
	rows := []float64{1, 3, 2, 2, 1, 0}
	tokens, errs, err := SampleBatch([]*Chain{make("1"), make("2")}, rows, 3, nil, 1)
	if err != nil || errs[0] != nil || errs[1] != nil {
		t.Fatal(err, errs)
	}
	equal(t, tokens, []Token{must(make("1").Sample([]float32{1, 3, 2})), must(make("2").Sample([]float32{2, 1, 0}))})
	tokens, _, _ = SampleBatch([]*Chain{make("1")}, []Bfloat16{0x3F80, 0x4040, 0x4000}, 3, []uint32{4}, 1)
	equal(t, tokens, []Token{2})
	_, errs, err = SampleBatch([]*Chain{make("1"), make("2")}, []float32{1, 3, 2, -1 / float32(zero), 0, 1 / float32(zero)}, 3, nil, 1)
	if err != nil || errs[0] != nil || errs[1] == nil {
		t.Fatal(err, errs)
	}
	_, _, err = SampleBatch([]*Chain{make("1")}, rows, 3, nil, 1)
	fails(t, err, "logits")
}

var zero float32

func TestGrammarsAndTexts(t *testing.T) {
	vocab, grammar := letters(), must(Regex("ab*\\."))
	matcher := must(NewMatcher(vocab, grammar))
	equal(t, must(matcher.Mask()), []uint32{1})
	equal(t, must(matcher.Forced()), "a")
	equal(t, matcher.Accept(0), nil)
	equal(t, must(matcher.Mask()), []uint32{6})
	fails(t, matcher.Accept(0), "")
	matcher.Reset()
	chain, text := must(EmptyChain()), must(NewText(vocab, "."))
	equal(t, chain.Push(matcher.Sampler), nil)
	equal(t, chain.Push(must(NewGreedy())), nil)
	vocab, grammar, matcher = nil, nil, nil
	for i := 0; i < 3; i++ {
		runtime.GC() // what the chain and the text borrow stays
	}
	shown, state, err := text.Push(must(chain.Sample([]float32{0, 9, 1, 5})))
	equal(t, []any{shown, state, err}, []any{"a", GoesOn, nil})
	shown, state, err = text.Push(must(chain.Sample([]float32{0, 1, 9, 5})))
	equal(t, []any{shown, state, err, text.Stop()}, []any{"", Stopped, nil, 0})
	var all sync.WaitGroup
	vocab, grammar = letters(), must(GBNF(`root ::= "b"`))
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if bits := must(must(NewMatcher(vocab, grammar)).Mask()); bits[0] != 2 {
				t.Error(bits)
			}
		}()
	}
	all.Wait()
}

func TestDraftsStatesAndRollback(t *testing.T) {
	settings := map[string]string{"seed": "7", "penalty_repeat": "1.2"}
	alone, chain := must(NewChain(settings, nil)), must(NewChain(settings, nil))
	want := []Token{must(alone.Sample(row)), must(alone.Sample(row)), must(alone.Sample(row))}
	rows := append(append(append([]float32{}, row...), row...), row...)
	equal(t, must(chain.Verify(rows, Draft{Tokens: want[:2]})), want)
	_, err := chain.Verify(rows[1:], Draft{Tokens: want[:2]})
	fails(t, err, "logits")
	state, other := must(chain.State()), must(chain.Clone())
	next := must(chain.Sample(row))
	equal(t, must(other.Sample(row)), next)
	equal(t, other.LoadState(state), nil)
	equal(t, must(other.Sample(row)), next)
	equal(t, other.KeepForRollback(4), nil)
	next = must(other.Sample(row))
	equal(t, other.Rollback(1), nil)
	equal(t, must(other.Sample(row)), next)
	ngram := must(NewNgram(1, 2, 100))
	for _, token := range []Token{5, 6, 7, 5, 6} {
		equal(t, ngram.Accept(token), nil)
	}
	equal(t, must(ngram.Draft(2)), []Token{7, 5})
}
