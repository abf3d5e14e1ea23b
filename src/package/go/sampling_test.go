package sampling

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var row = []float32{1, 3, 2}

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

func letters() *Vocab { return Must(NewVocab([]string{"a", "b", ".", ""}, 3)) }

func TestTokens(t *testing.T) {
	chain := Must(NewChain(map[string]string{"temp": "0.7", "top_p": "0.9", "penalty_repeat": "1.1", "seed": "42"}, nil))
	chain.Accept(2)
	chain.Accept(0)
	var said []Token
	for len(said) < 8 {
		said = append(said, Must(chain.Sample(row)))
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
	chain := Must(NewChain(nil, nil))
	_, err = chain.Sample(nil)
	fails(t, err, "")
	equal(t, chain.Push(nil) != nil, true)
	chain.Close()
	chain.Close()
	_, err = chain.Sample(row)
	fails(t, err, "")
}

func TestBatch(t *testing.T) {
	make := func(seed string) *Chain { return Must(NewChain(map[string]string{"seed": seed}, nil)) }
	rows := []float64{1, 3, 2, 2, 1, 0}
	tokens, errs, err := SampleBatch([]*Chain{make("1"), make("2")}, rows, 3, nil, 1)
	if err != nil || errs[0] != nil || errs[1] != nil {
		t.Fatal(err, errs)
	}
	equal(t, tokens, []Token{Must(make("1").Sample([]float32{1, 3, 2})), Must(make("2").Sample([]float32{2, 1, 0}))})
	tokens, _, _ = SampleBatch([]*Chain{make("1")}, []Bfloat16{0x3F80, 0x4040, 0x4000}, 3, []uint32{4}, 1)
	equal(t, tokens, []Token{2})
	_, errs, err = SampleBatch([]*Chain{make("1"), make("2")}, []float32{1, 3, 2, -1 / float32(zero), 0, 1 / float32(zero)}, 3, nil, 1)
	if err != nil || errs[0] != nil || errs[1] == nil {
		t.Fatal(err, errs)
	}
	_, _, err = SampleBatch([]*Chain{make("1")}, rows, 3, nil, 1)
	fails(t, err, "logits")
}

func TestTools(t *testing.T) {
	tools := `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`
	calls := Must(FromTools("qwen_3", tools, "required", "compact"))
	bytes := make([]string, 257)
	for i := 0; i < 256; i++ {
		bytes[i] = string([]byte{byte(i)})
	}
	forced := Must(Must(NewMatcher(Must(NewVocab(bytes, 256)), calls)).Forced())
	equal(t, strings.HasPrefix(forced, "<tool_call>"), true)
	Must(FromTools("qwen_3", "", "", ""))
	_, err := FromTools("nobody", tools, "", "")
	fails(t, err, "")
	_, err = FromTools("qwen_3", "[1]", "", "")
	fails(t, err, "line 1")
}

var zero float32

func TestGrammarsAndTexts(t *testing.T) {
	vocab, grammar := letters(), Must(Regex("ab*\\."))
	Must(grammar.Warm(vocab, 1000))
	_, err := grammar.Warm(vocab, 0)
	fails(t, err, "")
	matcher := Must(NewMatcher(vocab, grammar))
	equal(t, Must(matcher.Mask()), []uint32{1})
	equal(t, Must(matcher.Forced()), "a")
	equal(t, matcher.Accept(0), nil)
	equal(t, Must(matcher.Mask()), []uint32{6})
	fails(t, matcher.Accept(0), "")
	matcher.Reset()
	chain, text := Must(EmptyChain()), Must(NewText(vocab, "."))
	equal(t, chain.Push(matcher.Sampler), nil)
	equal(t, chain.Push(Must(NewGreedy())), nil)
	vocab, grammar, matcher = nil, nil, nil
	for i := 0; i < 3; i++ {
		runtime.GC() // what the chain and the text borrow stays
	}
	shown, state, err := text.Push(Must(chain.Sample([]float32{0, 9, 1, 5})))
	equal(t, []any{shown, state, err}, []any{"a", GoesOn, nil})
	shown, state, err = text.Push(Must(chain.Sample([]float32{0, 1, 9, 5})))
	equal(t, []any{shown, state, err, text.Stop()}, []any{"", Stopped, nil, 0})
	var all sync.WaitGroup
	vocab, grammar = letters(), Must(GBNF(`root ::= "b"`))
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if bits := Must(Must(NewMatcher(vocab, grammar)).Mask()); bits[0] != 2 {
				t.Error(bits)
			}
		}()
	}
	all.Wait()
}

func TestDraftsStatesAndRollback(t *testing.T) {
	settings := map[string]string{"seed": "7", "penalty_repeat": "1.2"}
	alone, chain := Must(NewChain(settings, nil)), Must(NewChain(settings, nil))
	want := []Token{Must(alone.Sample(row)), Must(alone.Sample(row)), Must(alone.Sample(row))}
	rows := append(append(append([]float32{}, row...), row...), row...)
	equal(t, Must(chain.Verify(rows, Draft{Tokens: want[:2]})), want)
	_, err := chain.Verify(rows[1:], Draft{Tokens: want[:2]})
	fails(t, err, "logits")
	state, other := Must(chain.State()), Must(chain.Clone())
	next := Must(chain.Sample(row))
	equal(t, Must(other.Sample(row)), next)
	equal(t, other.LoadState(state), nil)
	equal(t, Must(other.Sample(row)), next)
	equal(t, other.KeepForRollback(4), nil)
	next = Must(other.Sample(row))
	equal(t, other.Rollback(1), nil)
	equal(t, Must(other.Sample(row)), next)
	ngram := Must(NewNgram(1, 2, 100))
	for _, token := range []Token{5, 6, 7, 5, 6} {
		equal(t, ngram.Accept(token), nil)
	}
	equal(t, Must(ngram.Draft(2)), []Token{7, 5})
}

func TestWhatADrawTells(t *testing.T) {
	chain := Must(NewChain(map[string]string{"top_k": "2", "temp": "1", "seed": "3"}, nil))
	z := float32(math.Log(math.Exp(1) + math.Exp(3) + math.Exp(2)))
	near := func(got, want float32) {
		t.Helper()
		if math.Abs(float64(got-want)) > 1e-6 {
			t.Fatalf("%v, not %v", got, want)
		}
	}
	token, told, err := chain.SampleTold(row, Want{Top: 2, IDs: []Token{0, 1}, Support: true})
	equal(t, err, nil)
	near(told.Raw.Chosen.Logprob, row[token]-z)
	equal(t, []any{told.Raw.Chosen.Token, told.Raw.Top[0].Token, told.Raw.Top[1].Rank, len(told.Processed.Top)}, []any{token, 1, 2, 2})
	near(told.Raw.IDs[0], 1-z)
	equal(t, told.Processed.IDs[0] < -math.MaxFloat32 && told.Processed.Entropy < told.Raw.Entropy, true)
	equal(t, told.Support, []Token{1, 2})
	near(told.SupportLogprobs[0], -0.3132617)
	near(float32(told.SupportMass), float32(1-math.Exp(float64(1-z))))
	_, told, _ = chain.SampleTold(row, Want{})
	equal(t, []any{told.Support == nil, len(told.Raw.Top), len(told.Raw.IDs)}, []any{true, 0, 0})
	_, _, err = chain.SampleTold(row, Want{IDs: []Token{3}})
	fails(t, err, "")
	_, _, err = chain.SampleTold(row, Want{Top: 5000})
	fails(t, err, "want")
	_, _, err = chain.SampleTold(nil, Want{})
	fails(t, err, "")

	score := Must(chain.Score(row, 0))
	near(score.Raw, 1-z)
	equal(t, []any{score.Rank, score.RemovedBy, Must(chain.Score(row, 1)).RemovedBy}, []any{3, "top-k", ""})
	lines := Must(chain.Explain(row, 1))
	equal(t, lines[len(lines)-1].Name, "dist")
	near(lines[len(lines)-1].P, 0.7310586)
	long := Must(EmptyChain())
	for i := 0; i < 20; i++ {
		equal(t, long.Push(Must(NewTopK(2))), nil)
	}
	equal(t, long.Push(Must(NewGreedy())), nil)
	equal(t, len(Must(long.Explain(row, 1))), 21)
	_, err = chain.Score(row, 3)
	fails(t, err, "")
	_, err = chain.Explain(row, -1)
	fails(t, err, "")
}

func TestBeams(t *testing.T) {
	behind := [][]float64{{.4, .3, .2, .1}, {.1, .3, .2, .4}, {.25, .15, .45, .15}, {.2, .15, .05, .6}}
	search := func(beams *Beams, chains []*Chain) (said string) {
		for live := []Beam{{0, -1}}; len(live) > 0; {
			var rows []float64
			for _, beam := range live {
				for _, p := range behind[beam.Token+1] {
					rows = append(rows, math.Log(p))
				}
			}
			live = Must(BeamsStep(beams, chains, rows, 4))
		}
		for _, found := range beams.Found() {
			said += fmt.Sprintf("%v %.3f ", found.Tokens, found.Score)
		}
		return said
	}
	params := BeamParams{Beams: 2, MaxTokens: 5, LengthPenalty: 1, Ends: []Token{3}}
	beams := Must(NewBeams(params))
	start, want := Must(beams.State()), "[1 2 3] -0.838 [0 1 2 3] -0.857 " // as on the pages of the other languages
	equal(t, search(beams, nil), want)
	equal(t, beams.LoadState(start), nil)
	chain := Must(NewChain(map[string]string{"top_k": "0", "top_p": "1", "min_p": "0", "temp": "1"}, nil))
	chains := []*Chain{chain, Must(chain.Clone())}
	equal(t, search(beams, chains), want)
	fails(t, beams.LoadState(start[1:]), "")
	equal(t, beams.LoadState(start), nil)
	_, err := BeamsStep(beams, chains[:1], behind[0], 4)
	fails(t, err, "chains")
	_, err = BeamsStep(beams, []*Chain{chain, nil}, behind[0], 4)
	fails(t, err, "")
	_, err = BeamsStep(beams, nil, behind[0], 3)
	fails(t, err, "logits")
	params.Groups = 3
	_, err = NewBeams(params)
	fails(t, err, "n_groups")
}

func TestUnmask(t *testing.T) {
	rows := []float32{1, 2, 3, 9, 0, 0, 0, 0, .5}
	make := func() *Chain { return Must(NewChain(map[string]string{"temp": "0"}, nil)) }
	chains := []*Chain{make(), make(), make()}
	equal(t, Must(Unmask(UnmaskParams{N: 1}, chains, rows, 3)), []Token{-1, 0, -1})
	equal(t, Must(Unmask(UnmaskParams{Rule: UnmaskEntropy, N: 2}, chains, rows, 3)), []Token{2, 0, -1})
	equal(t, Must(Unmask(UnmaskParams{Rule: UnmaskThreshold, Threshold: .6}, chains, rows, 3)), []Token{2, 0, -1})
	equal(t, Must(Unmask(UnmaskParams{Rule: UnmaskIndependent, Threshold: 1}, chains, rows, 3)), []Token{2, 0, 2})
	drawn := map[string]bool{}
	for seed := uint64(0); seed < 40; seed++ {
		drawn[fmt.Sprint(Must(Unmask(UnmaskParams{N: 1, Temp: .5, Seed: seed}, chains, rows, 3)))] = true
	}
	equal(t, len(drawn), 3)
	_, err := Unmask(UnmaskParams{}, chains, rows, 3)
	fails(t, err, "")
	_, err = Unmask(UnmaskParams{N: 1}, chains, rows[:6], 3)
	fails(t, err, "logits")
	var counts []int
	for step, left := range []int{10, 7, 4, 2} {
		counts = append(counts, Must(UnmaskCount(true, left, step, 4)))
	}
	equal(t, counts, []int{3, 3, 2, 2})
	_, err = UnmaskCount(false, 4, 4, 4)
	fails(t, err, "")
}

func TestThinkingSchedulesAndSequences(t *testing.T) {
	vocab, flat := letters(), []float32{0, .1, .2, .3}
	greedy := func(first *Sampler, err error) (said []Token) {
		t.Helper()
		equal(t, err, nil)
		chain := Must(EmptyChain())
		equal(t, chain.Push(first), nil)
		equal(t, chain.Push(Must(NewGreedy())), nil)
		for len(said) < 5 {
			said = append(said, Must(chain.Sample(flat)))
		}
		return said
	}
	spans := []Thinking{{Start: []Token{0}, End: []Token{1, 2}}}
	equal(t, greedy(NewThinking(vocab, spans, 2, 0, ThinkingPlan{})), []Token{3, 3, 1, 2, 3})
	loop := UsualLoop
	loop.MinPeriod = 1
	equal(t, greedy(NewThinking(vocab, spans, 2, 0, ThinkingPlan{Ends: [][]Token{{3}}, Loop: &loop})), []Token{3, 3, 3, 3, 3})
	_, err := NewThinking(nil, spans, 2, 1, ThinkingPlan{})
	equal(t, err.(*Error).Field, "open")

	at := func(when Schedule) []Token {
		return greedy(NewSchedule(when, nil, Must(NewSuppressedTokens([]Token{3}))))
	}
	equal(t, at(Schedule{From: 1, To: 3}), []Token{3, 2, 2, 3, 3})
	equal(t, at(Schedule{Until: []Token{2}}), []Token{2, 3, 3, 3, 3})
	bans := Must(EmptyChain())
	equal(t, bans.Push(Must(NewSuppressedTokens([]Token{3}))), nil)
	equal(t, bans.Push(Must(NewSuppressedTokens([]Token{2}))), nil)
	equal(t, greedy(NewSchedule(Schedule{To: 1}, nil, bans.Sampler)), []Token{1, 3, 3, 3, 3})
	_, err = NewSchedule(Schedule{From: 2, To: 1}, nil, Must(NewGreedy()))
	fails(t, err, "")
	_, err = NewSchedule(Schedule{}, nil, nil)
	fails(t, err, "sampler")

	equal(t, greedy(NewBannedSequences([][]Token{{3, 3}, {2, 2}}, 0)), []Token{3, 2, 3, 2, 3})
	equal(t, greedy(NewSequenceBias([]Sequence{{[]Token{3, 1}, 9}, {[]Token{0}, -1}})), []Token{3, 1, 3, 1, 3})
}

func TestRequests(t *testing.T) {
	vocab := letters()
	request := Must(NewRequest(VLLM, `{"prompt": "x", "temperature": 0, "stop": ["b"], "min_tokens": 2, "logprobs": 3}`, nil, nil, vocab))
	equal(t, []any{request.MinTokens, request.Top, request.Logprobs, request.Seeded}, []any{2, 3, true, false})
	chain, text := Must(request.Chain()), Must(request.Text(vocab))
	equal(t, Must(chain.Sample([]float32{1, 3, 2, 0})), 1)
	for _, token := range []Token{0, 0, 1} {
		_, state, err := text.Push(token)
		equal(t, []any{state == Stopped, err}, []any{token == 1, nil})
	}
	_, err := NewRequest(OpenAI, `{"top_p": 2}`, nil, nil, nil)
	equal(t, err.(*Error).Field, "top_p")
	fails(t, err, "top_p: ")
	_, err = NewRequest(VLLM, `{"no_such": 1}`, nil, nil, nil)
	fails(t, err, "no_such")
	request = Must(NewRequest(VLLM, `{"no_such": 1, "logprob_token_ids": [5, 9]}`, []string{"no_such"}, map[string]string{"seed": "7"}, nil))
	equal(t, request.LogprobIDs, []Token{5, 9})
	Must(request.Chain())
}
