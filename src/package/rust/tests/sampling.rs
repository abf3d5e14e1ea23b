// What the crate promises; that what is borrowed must live is a test of the compiler, in the crate's first comment.
use sampling::{ffi, takes, unmask_count, Batch, BeamParams, Beams, Chain, Draft, Grammar, Logits, Loop, Matcher, Ngram, Peer, Request};
use sampling::{Sampler, Schedule, State, Text, Thinking, ThinkingPlan, Unmask, UnmaskRule, Vocab, Want};

const ROW: [f32; 3] = [1.0, 3.0, 2.0];

fn letters() -> Vocab {
    Vocab::new(&["a", "b", ".", ""], &[3]).unwrap()
}

#[test]
fn tokens_are_those_of_c() {
    let settings = [("temp", "0.7"), ("top_p", "0.9"), ("penalty_repeat", "1.1"), ("seed", "42")];
    let mut chain = Chain::new(&settings).unwrap();
    chain.accept(2).unwrap();
    chain.accept(0).unwrap();
    let mut moved = std::thread::spawn(move || {
        let said: Vec<_> = (0..4).map(|_| chain.sample(&ROW).unwrap()).collect();
        (chain, said)
    }).join().unwrap();
    moved.1.extend((0..4).map(|_| moved.0.sample(&ROW).unwrap()));
    assert_eq!(moved.1, [1, 2, 1, 2, 1, 1, 2, 1]); // as on the pages of the other languages
    assert!(moved.0.describe().contains("top-p(p=0.9") && moved.0.position() == 8);
}

#[test]
fn what_is_wrong_is_named() {
    let error = Chain::new(&[("top_p", "1.5")]).err().unwrap();
    assert_eq!((error.status, error.field.as_deref()), (ffi::SAMP_E_RANGE, Some("top_p")));
    assert!(Chain::new(&[("no_such", "1")]).err().unwrap().to_string().contains("no_such"));
    assert!(Chain::new(&[("temp", "1\0")]).is_err() && takes("top_p").unwrap() == "a number in (0, 1]");
    assert_eq!(Sampler::min_p(2.0, 1).err().unwrap().field.as_deref(), Some("min_p"));
    assert!(Grammar::regex("(").err().unwrap().to_string().starts_with("line 1, column"));
    assert!(Vocab::new(&[b"a"], &[7]).is_err() && Ngram::new(0, 0, 1).is_err());
    let mut chain = Chain::new(&[]).unwrap();
    assert_eq!(chain.sample(&[1.0, f32::NAN]).unwrap_err().status, ffi::SAMP_E_NAN);
    assert_eq!(chain.sample(&[]).unwrap_err().status, ffi::SAMP_E_EMPTY);
    assert!(chain.position() == 0 && chain.sample(&ROW).is_ok());
}

#[test]
fn a_batch_gives_what_each_row_gives_alone() {
    let make = |seed: &str| Chain::new(&[("seed", seed)]).unwrap();
    let rows = [1.0, 3.0, 2.0, 2.0, f32::NAN, 0.0, 0.0, 0.5, 1.0];
    let (mut a, mut b, mut c) = (make("1"), make("2"), make("3"));
    let batch = Batch { logits: Logits::F32(&rows), n_vocab: 3, mask: None, n_threads: 1 };
    let said = batch.sample(&mut [&mut a, &mut b, &mut c]).unwrap();
    assert_eq!(said[0], make("1").sample(&rows[..3]));
    assert_eq!(said[1].as_ref().unwrap_err().status, ffi::SAMP_E_NAN);
    assert_eq!(said[2], make("3").sample(&rows[6..]));
    assert!(Batch { n_vocab: 4, ..batch }.sample(&mut [&mut a, &mut b, &mut c]).is_err());
    let bits: Vec<u16> = ROW.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
    let masked = Batch { logits: Logits::Bf16(&bits), n_vocab: 3, mask: Some(&[0b101]), n_threads: 1 };
    assert_ne!(masked.sample(&mut [&mut a]).unwrap()[0], Ok(1));
}

#[test]
fn tools_of_a_request() {
    let tools = r#"[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]"#;
    let calls = Grammar::from_tools("qwen_3", tools, "required", "compact").unwrap();
    let bytes: Vec<Vec<u8>> = (0..=255u8).map(|one| vec![one]).chain([vec![]]).collect();
    let vocab = Vocab::new(&bytes, &[256]).unwrap();
    assert!(Matcher::new(&vocab, &calls).unwrap().forced().unwrap().starts_with(b"<tool_call>"));
    assert!(Grammar::from_tools("qwen_3", "", "", "").is_ok());
    assert_eq!(Grammar::from_tools("nobody", tools, "", "").err().unwrap().status, ffi::SAMP_E_NAME);
    assert!(format!("{}", Grammar::from_tools("qwen_3", "[1]", "", "").err().unwrap()).contains("line 1"));
}

#[test]
fn grammars_and_texts() {
    let (vocab, grammar) = (letters(), Grammar::regex("ab*\\.").unwrap());
    assert!(grammar.warm(&vocab, 1000).unwrap() >= 0 && grammar.warm(&vocab, 0).is_err());
    let mut matcher = Matcher::new(&vocab, &grammar).unwrap();
    assert_eq!(matcher.mask().unwrap(), [0b0001]);
    assert_eq!(matcher.forced().unwrap(), b"a");
    matcher.accept(0).unwrap();
    assert_eq!(matcher.mask().unwrap(), [0b0110]);
    assert!(matcher.accept(0).is_err() && !matcher.is_complete().unwrap());
    matcher.accept(2).unwrap();
    assert!(matcher.is_complete().unwrap());
    matcher.reset();
    let (mut chain, mut text) = (Chain::empty().unwrap(), Text::new(&vocab, &["."]).unwrap());
    chain.push(matcher.into_sampler()).unwrap();
    chain.push(Sampler::greedy().unwrap()).unwrap();
    assert_eq!(chain.sample(&[0.0, 9.0, 1.0, 5.0]).unwrap(), 0);
    assert_eq!(text.push(0).unwrap(), (State::GoesOn, &b"a"[..]));
    let token = chain.sample(&[0.0, 1.0, 9.0, 5.0]).unwrap();
    assert_eq!(text.push(token).unwrap(), (State::Stopped, &b""[..]));
    assert_eq!(text.stop(), Some(0));
    let threads: Vec<_> = std::thread::scope(|scope| {
        let make = || Matcher::new(&vocab, &grammar).unwrap().mask().unwrap();
        (0..4).map(|_| scope.spawn(make)).collect::<Vec<_>>().into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(threads, [[1], [1], [1], [1]]);
}

#[test]
fn drafts_states_and_rollback() {
    let settings = [("seed", "7"), ("penalty_repeat", "1.2")];
    let (mut alone, mut chain) = (Chain::new(&settings).unwrap(), Chain::new(&settings).unwrap());
    let want: Vec<_> = (0..3).map(|_| alone.sample(&ROW).unwrap()).collect();
    let rows = [ROW, ROW, ROW].concat();
    let draft = Draft { tokens: &want[..2], probs: None };
    assert_eq!(chain.verify(&rows, &draft).unwrap(), want);
    assert!(chain.verify(&rows[1..], &draft).is_err());
    let (state, mut copy) = (chain.state().unwrap(), chain.try_clone().unwrap());
    let next = chain.sample(&ROW).unwrap();
    assert_eq!(copy.sample(&ROW).unwrap(), next);
    copy.load_state(&state).unwrap();
    assert_eq!(copy.sample(&ROW).unwrap(), next);
    copy.keep_for_rollback(4).unwrap();
    let after = copy.sample(&ROW).unwrap();
    copy.rollback(1).unwrap();
    assert_eq!(copy.sample(&ROW).unwrap(), after);
    copy.reset();
    assert_eq!(copy.sample(&ROW).unwrap(), want[0]);
    let mut ngram = Ngram::new(1, 2, 100).unwrap();
    for token in [5, 6, 7, 5, 6] {
        ngram.accept(token).unwrap();
    }
    assert_eq!(ngram.draft(2).unwrap(), [7, 5]);
}

fn of(rows: &[f32], n_vocab: usize) -> Batch<'_> {
    Batch { logits: Logits::F32(rows), n_vocab, mask: None, n_threads: 1 }
}

#[test]
fn what_a_draw_tells() {
    let mut chain = Chain::new(&[("top_k", "2"), ("temp", "1"), ("seed", "3")]).unwrap();
    let (token, told) = chain.sample_told(&ROW, &Want { n_top: 2, ids: &[0, 1], support: Some(3) }).unwrap();
    let near = |a: f32, b: f32| (a - b).abs() < 1e-6;
    let z = ROW.iter().map(|x| x.exp()).sum::<f32>().ln();
    assert!(token > 0 && told.raw.chosen.token == token && near(told.raw.chosen.logprob, ROW[token as usize] - z));
    assert_eq!(told.raw.top.iter().map(|one| (one.token, one.rank)).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
    assert!(near(told.raw.ids[0], 1.0 - z) && told.processed.ids[0] == f32::NEG_INFINITY && told.processed.entropy < told.raw.entropy);
    let support = told.support.unwrap();
    let tokens = support.tokens.unwrap();
    assert_eq!((support.n, tokens[0].0, tokens[1].0), (2, 1, 2));
    assert!(near(tokens[0].1, -0.3132617) && (support.mass - f64::exp((3.0_f32 - z).into()) - f64::exp((2.0_f32 - z).into())).abs() < 1e-6);
    let (_, told) = chain.sample_told(&ROW, &Want { support: Some(1), ..Want::default() }).unwrap();
    assert!(told.support.unwrap().tokens.is_none() && told.raw.top.is_empty());
    assert_eq!(chain.sample_told(&ROW, &Want { ids: &[3], ..Want::default() }).unwrap_err().status, ffi::SAMP_E_RANGE);
    assert_eq!(chain.sample_told(&ROW, &Want { n_top: 5000, ..Want::default() }).unwrap_err().status, ffi::SAMP_E_RANGE);
    assert_eq!(chain.position(), 2);

    let score = chain.score(&ROW, 0).unwrap();
    assert!(near(score.raw, 1.0 - z) && score.rank == 3 && score.removed_by.as_deref() == Some("top-k"));
    assert_eq!(chain.score(&ROW, 1).unwrap().removed_by, None);
    let lines = chain.explain(&ROW, 1).unwrap();
    assert!(lines.iter().any(|one| one.name == "top-k" && one.n_left == 2 && near(one.p, 0.7310586)) && lines.last().unwrap().name == "dist");
    let mut long = Chain::empty().unwrap();
    for _ in 0..20 {
        long.push(Sampler::top_k(2).unwrap()).unwrap();
    }
    long.push(Sampler::greedy().unwrap()).unwrap();
    assert_eq!(long.explain(&ROW, 1).unwrap().len(), 21);
    assert!(chain.score(&ROW, 3).is_err() && chain.explain(&ROW, -1).is_err() && chain.position() == 2);
}

#[test]
fn beams() {
    let behind = [[0.4, 0.3, 0.2, 0.1], [0.1, 0.3, 0.2, 0.4], [0.25, 0.15, 0.45, 0.15], [0.2, 0.15, 0.05, 0.6_f32]].map(|row| row.map(f32::ln));
    let search = |beams: &mut Beams, chains: &mut [&mut Chain]| {
        let mut live = vec![(0, -1)];
        while !live.is_empty() {
            let rows: Vec<f32> = live.iter().flat_map(|one| behind[(one.1 + 1) as usize]).collect();
            live = beams.step(&of(&rows, 4), chains).unwrap();
        }
        beams.found().into_iter().map(|(text, score)| (text, (score * 1000.0).round())).collect::<Vec<_>>()
    };
    let params = BeamParams { n_beams: 2, max_tokens: 5, ends: &[3], ..BeamParams::default() };
    let mut beams = Beams::new(&params).unwrap();
    let start = beams.state().unwrap();
    let want = [(vec![1, 2, 3], -838.0), (vec![0, 1, 2, 3], -857.0)]; // as on the pages of the other languages
    assert_eq!(search(&mut beams, &mut []), want);
    beams.load_state(&start).unwrap();
    let mut chain = Chain::new(&[("top_k", "0"), ("top_p", "1"), ("min_p", "0"), ("temp", "1")]).unwrap();
    let mut other = chain.try_clone().unwrap();
    assert_eq!(search(&mut beams, &mut [&mut chain, &mut other]), want);
    assert!(beams.load_state(&start[1..]).is_err());
    beams.load_state(&start).unwrap();
    assert!(beams.step(&of(&behind[0], 4), &mut [&mut chain]).unwrap_err().field.as_deref() == Some("chains"));
    assert!(beams.step(&of(&behind[0], 3), &mut []).is_err() && beams.step(&of(&behind.concat(), 4), &mut []).is_err());
    assert_eq!(Beams::new(&BeamParams { n_groups: 3, ..params }).err().unwrap().field.as_deref(), Some("n_groups"));
}

#[test]
fn masked_positions_are_filled() {
    let rows = [1.0, 2.0, 3.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.5];
    let make = || Chain::new(&[("temp", "0")]).unwrap();
    let (mut a, mut b, mut c) = (make(), make(), make());
    let chains = &mut [&mut a, &mut b, &mut c];
    let of_rule = |rule, n, threshold| Unmask { rule, n, threshold, ..Unmask::default() };
    let all = of(&rows, 3);
    assert_eq!(of_rule(UnmaskRule::Confidence, 1, 0.0).step(&all, chains).unwrap(), [None, Some(0), None]);
    assert_eq!(of_rule(UnmaskRule::Entropy, 2, 0.0).step(&all, chains).unwrap(), [Some(2), Some(0), None]);
    assert_eq!(of_rule(UnmaskRule::Threshold, 0, 0.6).step(&all, chains).unwrap(), [Some(2), Some(0), None]);
    assert_eq!(of_rule(UnmaskRule::Independent, 0, 1.0).step(&all, chains).unwrap(), [Some(2), Some(0), Some(2)]);
    let drawn = |seed| Unmask { n: 1, temp: 0.5, seed, ..Unmask::default() };
    assert_eq!((0..40).map(|seed| drawn(seed).step(&all, chains).unwrap()).collect::<std::collections::HashSet<_>>().len(), 3);
    assert!(Unmask::default().step(&all, chains).is_err() && drawn(1).step(&of(&rows[..6], 3), chains).is_err());
    assert_eq!([10, 7, 4, 2].iter().zip(0..).map(|(&left, step)| unmask_count(true, left, step, 4).unwrap()).collect::<Vec<_>>(), [3, 3, 2, 2]);
    assert!(unmask_count(false, 4, 4, 4).is_err());
}

#[test]
fn thinking_schedules_and_sequences() {
    let (vocab, flat) = (letters(), [0.0, 0.1, 0.2, 0.3]);
    let greedy = |first: Sampler<'_>| -> Vec<i32> {
        let mut chain = Chain::empty().unwrap();
        chain.push(first).unwrap();
        chain.push(Sampler::greedy().unwrap()).unwrap();
        (0..5).map(|_| chain.sample(&flat).unwrap()).collect()
    };
    let spans = [Thinking { start: &[0], end: &[1, 2], ..Thinking::default() }];
    let limited = |plan: &ThinkingPlan| greedy(Sampler::thinking(Some(&vocab), &spans, 2, Some(0), plan).unwrap());
    assert_eq!(limited(&ThinkingPlan::default()), [3, 3, 1, 2, 3]);
    assert_eq!(limited(&ThinkingPlan { repeats: Some(Loop { min_period: 1, ..Loop::default() }), ends: &[&[3]], ..ThinkingPlan::default() }), [3; 5]);
    assert_eq!(Sampler::thinking(None, &spans, 2, Some(1), &ThinkingPlan::default()).err().unwrap().field.as_deref(), Some("open"));

    let ban = || Sampler::suppressed_tokens(&[3]).unwrap();
    let at = |when: Schedule| greedy(Sampler::schedule(&when, None, ban()).unwrap());
    assert_eq!(at(Schedule { from: 1, to: 3, ..Schedule::default() }), [3, 2, 2, 3, 3]);
    assert_eq!(at(Schedule { until: &[2], ..Schedule::default() }), [2, 3, 3, 3, 3]);
    let mut hot = Chain::empty().unwrap();
    hot.push(ban()).unwrap();
    hot.push(Sampler::suppressed_tokens(&[2]).unwrap()).unwrap();
    assert_eq!(greedy(Sampler::schedule(&Schedule { to: 1, ..Schedule::default() }, None, hot.into()).unwrap()), [1, 3, 3, 3, 3]);
    assert!(Sampler::schedule(&Schedule { from: 2, to: 1, ..Schedule::default() }, None, ban()).is_err());

    assert_eq!(greedy(Sampler::banned_sequences(&[&[3, 3], &[2, 2]], 0).unwrap()), [3, 2, 3, 2, 3]);
    assert_eq!(greedy(Sampler::sequence_bias(&[(&[3, 1], 9.0), (&[0], -1.0)]).unwrap()), [3, 1, 3, 1, 3]);
}

#[test]
fn requests_of_other_programs() {
    let vocab = letters();
    let json = r#"{"prompt": "x", "temperature": 0, "stop": ["b"], "min_tokens": 2, "logprobs": 3}"#;
    let request = Request::new(Peer::Vllm, json, &[], &[], Some(&vocab)).unwrap();
    assert_eq!((request.asks.min_tokens, request.asks.n_top, request.asks.logprobs, request.asks.seeded), (2, 3, true, false));
    let (mut chain, mut text) = (request.chain().unwrap(), request.text(&vocab).unwrap());
    assert_eq!(chain.sample(&[1.0, 3.0, 2.0, 0.0]).unwrap(), 1);
    for token in [0, 0] {
        assert_eq!(text.push(token).unwrap().0, State::GoesOn);
    }
    assert_eq!(text.push(1).unwrap().0, State::Stopped);
    let wrong = |peer, json: &str| Request::new(peer, json, &[], &[], None).err().unwrap();
    let error = wrong(Peer::OpenAi, r#"{"top_p": 2}"#);
    assert_eq!((error.status, error.field.as_deref()), (ffi::SAMP_E_RANGE, Some("top_p")));
    assert!(error.to_string().starts_with("top_p: ") && wrong(Peer::Ollama, "{").status == ffi::SAMP_E_FORMAT);
    assert_eq!(wrong(Peer::Vllm, r#"{"no_such": 1}"#).status, ffi::SAMP_E_NAME);
    assert!(Request::new(Peer::Vllm, r#"{"no_such": 1}"#, &["no_such"], &[("seed", "7")], None).unwrap().chain().is_ok());
    let ids = Request::new(Peer::Vllm, r#"{"logprob_token_ids": [5, 9]}"#, &[], &[], None).unwrap().asks;
    assert_eq!(ids.logprob_ids[..ids.n_logprob_ids as usize], [5, 9]);
}
