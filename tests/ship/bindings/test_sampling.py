"""What sampling.py promises, but for the tokens themselves (tokens.py): arrays where they are, masks, grammars, drafts,
states, errors, memory. SAMPLING_LIBRARY is counted.c's."""
import array
import ast
import copy
import ctypes
import gc
import inspect
import itertools
import json
import math
import mmap
import os
import pickle
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

import sampling
from sampling import (BatchError, Beams, Chain, Constraint, Grammar, Loop, Matcher, Ngram, Sampler, SamplingError, Text,
                      Vocab, Watermark, child_seed, guide, raw_logprobs, sample_batch, unmask, unmask_count)

try:
    import numpy
except ImportError:
    numpy = None

N = 40
ROW = array.array("f", ((i * 7919) % 1000 / 250 for i in range(N)))


def rows(n, seed=1):
    return [[((i + 3 * r + seed) * 7919) % 1000 / 250 for i in range(N)] for r in range(n)]


def fails(what, text, of=SamplingError):
    try:
        what()
    except of as error:
        assert text in str(error), f"{text!r} is not in {str(error)!r}"
        return error
    raise AssertionError(f"no {of.__name__} with {text!r}")


def same_everywhere(seed=5):
    """A chain's tokens of some rows, for comparison."""
    with Chain(N, seed=seed, penalty_repeat=1.3, temperature=1.2) as chain:
        return [chain.sample(row) for row in rows(20)]


class Tensor:
    """As much of a torch tensor as is looked at."""

    def __init__(self, of, dtype="torch.float32", device="cpu"):
        self.of, self.dtype, self.device = of, dtype, type("device", (), {"type": device})
        self.shape = (len(of),)

    def data_ptr(self):
        return self.of.buffer_info()[0]

    def element_size(self):
        return self.of.itemsize

    def stride(self):
        return (1,)


def test_arrays():
    want = same_everywhere()

    def draw(make, **more):
        with Chain(N, seed=5, penalty_repeat=1.3, temperature=1.2) as chain:
            assert [chain.sample(make(row), **more) for row in rows(20)] == want

    draw(list)
    draw(lambda row: array.array("f", row))
    draw(lambda row: array.array("d", row))
    draw(lambda row: memoryview(array.array("f", row).tobytes()).cast("f"))  # read only
    draw(lambda row: (ctypes.c_float * N)(*row))
    draw(lambda row: Tensor(array.array("f", row)))
    for name, pack in ("float16", half), ("bfloat16", brain):
        rounded = [[unpack(pack(x), name) for x in row] for row in rows(20)]
        with Chain(N, seed=5, temperature=1.2) as chain:
            exact = [chain.sample(row) for row in rounded]
        for wrap in lambda x: x, lambda x: Tensor(x, f"torch.{name}"):
            with Chain(N, seed=5, temperature=1.2) as chain:
                more = {} if wrap(ROW) is not ROW else {"dtype": name}
                assert [chain.sample(wrap(array.array("H", map(pack, row))), **more) for row in rows(20)] == exact
    chain = Chain(N)
    fails(lambda: chain.sample(array.array("H", [0] * N)), '"float16" or "bfloat16"')
    fails(lambda: chain.sample(array.array("f", [0] * N), dtype="float16"), "float32, not float16")
    fails(lambda: chain.sample(ROW, dtype="int4"), "int4 is none of float32")
    fails(lambda: chain.sample(Tensor(ROW, device="cuda")), ".cpu()")
    fails(lambda: chain.sample(ROW[:-1]), "there are 39, not 40")
    fails(lambda: chain.sample([ROW, ROW]), "is no row")
    fails(lambda: chain.sample([[1], [1, 2]]), "rows of different lengths")
    fails(lambda: Chain().sample([]), "no token is left")
    assert Chain(top_k=1).sample([1, 3, 2]) == 1 and Chain(top_k=1).sample([1, 3]) == 1  # of any length
    # it is read, not copied: a change between two draws is seen, and no memory is taken for it
    greedy, row = Chain(temp=0), array.array("f", [0, 1, 2])
    view = memoryview(row)
    assert greedy.sample(view) == 2
    row[0] = 9
    assert greedy.sample(view) == 0
    assert sampling._floats(view, "logits").address == row.buffer_info()[0]
    if numpy is None:
        return
    draw(lambda row: numpy.array(row, dtype=numpy.float32))
    draw(lambda row: numpy.array(row))
    draw(lambda row: numpy.array([row, row], dtype=numpy.float32).T[:, 0])  # every other element
    draw(lambda row: numpy.array(row, dtype=">f4"))
    draw(lambda row: numpy.frombuffer(b"x" + numpy.array(row, dtype="f4").tobytes(), dtype="f4", offset=1))
    draw(lambda row: numpy.array(row, dtype=numpy.float32)[::-1][::-1])
    assert Chain(top_k=1).sample(numpy.array([1, 5, 3])) == 1  # whole numbers
    many = numpy.zeros((3, N + 2), dtype=numpy.float32)
    at = sampling._floats(many[:, 1:-1], "logits")
    assert at.address == many[:, 1:-1].ctypes.data and at.strides == (4 * (N + 2), 4)
    half_row = numpy.array(ROW, dtype=numpy.float16)
    at = sampling._floats(half_row, "logits")
    assert at.address == half_row.ctypes.data and at.dtype == "float16"
    frozen = numpy.array(ROW, dtype=numpy.float32)
    frozen.flags.writeable = False
    assert sampling._floats(frozen, "logits").address == frozen.ctypes.data


def half(x):
    return int.from_bytes(struct.pack("<e", x), "little")


def brain(x):
    return int.from_bytes(struct.pack("<f", x), "little") >> 16


def unpack(bits, name):
    unpack_ = struct.unpack
    return unpack_("<e", bits.to_bytes(2, "little"))[0] if name == "float16" else unpack_(
        "<f", (bits << 16).to_bytes(4, "little"))[0]


def test_batches():
    data = rows(4)
    alone = [Chain(N, seed=r, temperature=1.5).sample(row) for r, row in enumerate(data)]
    chains = [Chain(N, seed=r, temperature=1.5) for r in range(4)]
    assert sample_batch(chains, data) == alone
    for kind in (lambda: array.array("f", sum(data, [])),):
        flat = memoryview(kind()).cast("B").cast("f", (4, N))
        for chain in chains:
            chain.reset()
        assert sample_batch(chains, flat) == alone
    for chain in chains:
        chain.reset()
    assert sample_batch(chains[::-1], data, row_index=[3, 2, 1, 0]) == alone[::-1]
    assert sample_batch([], data) == [] and sample_batch([], data, logprobs=1) == ([], [])
    fails(lambda: sample_batch(chains, data[:3]), "3 rows, not 4")
    fails(lambda: sample_batch(chains, data, row_index=[0, 1, 2, 4]), "row_index")
    fails(lambda: sample_batch(chains, data, row_index=[0, 1, 2, -1]), "row_index")
    fails(lambda: sample_batch([chains[0]] * 4, data), "outside its range")
    fails(lambda: sample_batch(chains, ROW), "[n_rows, n_vocab]")
    # a row that fails gives no token, and leaves its chain as it was
    bad = [list(row) for row in data]
    bad[2][5], bad[3][7] = math.nan, math.inf
    before = [chain.save() for chain in chains]
    for chain in chains:
        chain.reset()
    before = [chain.save() for chain in chains]
    error = fails(lambda: sample_batch(chains, bad, logprobs=1), "row 2: logit ", BatchError)
    assert error.tokens[:2] == alone[:2] and error.tokens[2:] == [None, None] and sorted(error.errors) == [2, 3]
    assert error.status == -3 and error.name == "SAMP_E_NAN" and error.logprobs[2] is None and error.logprobs[0]
    assert chains[2].save() == before[2] and chains[0].save() != before[0]
    if numpy is not None:
        wide = numpy.zeros((4, N + 8), dtype=numpy.float64)
        wide[:, :N] = data
        for chain in chains:
            chain.reset()
        assert sample_batch(chains, wide[:, :N], n_threads=1) == alone


def test_masks():
    chain = Chain(N, seed=1, temperature=5.0, top_k=0, top_p=1, min_p=0)
    bits = array.array("I", [1 << 3 | 1 << 20, 1 << 2])
    seen = {chain.sample(ROW, mask=bits) for _ in range(200)}
    assert seen == {3, 20, 34}
    as_bools = [i in seen for i in range(N)]
    chain.reset()
    first = [chain.sample(ROW, mask=bits) for _ in range(20)]
    chain.reset()
    assert [chain.sample(ROW, mask=as_bools) for _ in range(20)] == first
    two = [Chain(N, seed=1), Chain(N, seed=1)]
    assert sample_batch(two, [ROW, ROW], mask=[as_bools, [i == 9 for i in range(N)]])[1] == 9
    fails(lambda: chain.sample(ROW, mask=array.array("I", [1])), "mask: uint32 (1, 1), not uint32 (1, 2)")
    fails(lambda: chain.sample(ROW, mask=as_bools[:-1]), "mask")
    fails(lambda: chain.sample(ROW, mask=array.array("d", [1] * N)), "mask: float64")
    fails(lambda: chain.sample(ROW, mask=array.array("I", [0, 0])), "all 40 tokens are masked")
    if numpy is not None:
        chain.reset()
        words = numpy.array([[7, 7], list(bits)], dtype=numpy.int32)
        assert [chain.sample(ROW, mask=words[1]) for _ in range(20)] == first
        chain.reset()
        assert [chain.sample(ROW, mask=numpy.array(as_bools)) for _ in range(20)] == first


def test_logprobs():
    chain, total = Chain(N, seed=3, top_k=5, temperature=1.0), sum(map(math.exp, ROW))
    token, told = chain.sample(ROW, logprobs=7)
    order = sorted(range(N), key=lambda i: (-ROW[i], i))
    assert [one.token for one in told.raw.top] == order[:7] and [one.rank for one in told.raw.top] == [*range(1, 8)]
    assert told.raw.chosen.token == token and order[told.raw.chosen.rank - 1] == token
    assert abs(told.raw.chosen.logprob - (ROW[token] - math.log(total))) < 1e-6
    assert len(told.processed.top) <= 5 and abs(sum(math.exp(o.logprob) for o in told.processed.top) - 1) < 1e-6
    assert chain.sample(ROW, logprobs=0)[1].raw.top == []
    fails(lambda: chain.sample(ROW, logprobs=1025), "logprobs: 1025 is not in [0, 1024]")
    fails(lambda: chain.sample(ROW, logprobs=-1), "logprobs: -1")
    tokens, all_ = sample_batch([Chain(N, seed=3), Chain(N, seed=4)], rows(2), logprobs=2)
    assert [one.raw.chosen.token for one in all_] == tokens


LETTERS = [chr(i).encode() for i in range(32, 127)] + [None]
END = len(LETTERS) - 1


def test_told():
    """What a chain leaves, by lists and doubles of Python's: a sorted copy, its nucleus, sums."""
    source = random.Random(1)
    for i in range(300):
        n = source.randrange(3, 60)
        k, p, t = source.choice([0, 1, 3, 10]), source.choice([1.0, 0.9, 0.5]), source.choice([1.0, 0.7, 1.5])
        chain = Chain(n, seed=i, top_k=k, top_p=p, min_p=0.0, temp=t)
        logits = array.array("f", [source.gauss(0, 3) for _ in range(n)])
        ids = [source.randrange(n) for _ in range(3)]
        score, lines = chain.score(logits, ids[0]), chain.explain(logits, ids[0])
        token, told = chain.sample(logits, ids=ids, support=n)
        model = [math.exp(one) for one in logits]
        z = math.fsum(model)
        left = sorted(range(n), key=lambda j: (-logits[j], j))[:k or n]
        if p < 1:
            mass = [math.fsum(model[j] for j in left[:m + 1]) / math.fsum(model[j] for j in left)
                    for m in range(len(left))]
            left = left[:next(m for m, of in enumerate(mass) if of >= p) + 1]
        weight = {j: math.exp(logits[j] / t) for j in left}
        chances = {j: weight[j] / math.fsum(weight.values()) for j in left}
        assert told.support.tokens == sorted(left) and token in left and told.support.n == len(left) == lines[-1].n_left
        assert all(abs(math.exp(one) - chances[j]) < 1e-5 for j, one in zip(told.support.tokens, told.support.logprobs))
        assert abs(told.support.mass - math.fsum(model[j] for j in left) / z) < 1e-6
        assert all(abs(one - math.log(model[j] / z)) < 1e-5 for j, one in zip(ids, told.raw.given))
        for of, chance in ((told.raw, [x / z for x in model]), (told.processed, chances.values())):
            assert abs(of.entropy + math.fsum(x * math.log(x) for x in chance)) < 1e-4
        assert (score.raw, score.processed) == (told.raw.given[0], told.processed.given[0])
        assert (score.removed_by is None) == (ids[0] in left)
    chain = Chain(N, top_k=3, seed=1)
    told = chain.sample([0.0] * N, support=2)[1]
    assert told.support.n == 3 and told.support.tokens is None and abs(told.support.mass - 3 / N) < 1e-6
    tokens, told = sample_batch([chain, chain.clone()], [[0.0] * N] * 2, ids=[5], support=9)
    assert [one.support.n for one in told] == [3, 3] and told[0].processed.given == [-math.inf]
    fails(lambda: chain.sample([0.0] * N, ids=[N]), "ids")
    fails(lambda: chain.sample([0.0] * N, support=-1), "support")
    fails(lambda: chain.score([0.0] * N, N), "token")


def test_replay():
    """A replay tells what the draw told, and a check finds the first token that is another one."""
    data, ids = rows(6), [0, 5]
    for settings in dict(top_k=5), dict(temp=0), dict(mirostat=2), dict(xtc_probability=0.5, penalty_repeat=1.3):
        chain = Chain(N, seed=8, **settings)
        drawn = [chain.sample(row, logprobs=2, ids=ids, support=N) for row in data]
        text = [token for token, _ in drawn]
        again = Chain(N, seed=8, **settings).replay(text)
        if settings.get("temp") != 0 and "mirostat" not in settings:  # of these a replay has only the chain before them
            assert [again.sample(row, logprobs=2, ids=ids, support=N) for row in data] == drawn
        else:
            assert [again.sample(row) for row in data] == text
        fails(lambda: again.sample(data[0]), "no token")
        assert again.position == 6 and chain.prev(6) == text == again.prev(6)
        again.rollback(2)
        again.update(temp=0.5)
        assert [again.sample(row) for row in data[4:]] == text[4:]
        fresh = Chain(N, seed=8, **settings)
        assert fresh.replay_check(data, text) is None and fresh.save() == chain.save()
        other = text[:3] + [(text[3] + 1) % N] + text[4:]
        fresh = Chain(N, seed=8, **settings)
        assert fresh.replay_check(data, other) == 3 and fresh.prev(9) == text[:4]
        tokens, told = Chain(N, seed=8, **settings).verify(data, other[:5], logprobs=2, logprob_ids=ids, support=N)
        assert tokens == text[:4] and [one.support for one in told] == [one.support for _, one in drawn[:4]]
        assert [one.processed[:3] for one in told] == [one.processed[:3] for _, one in drawn[:4]]
        assert [one.processed.given for one in told] == [one.processed.given for _, one in drawn[:4]]
        told = raw_logprobs(data, text, 2, ids=ids)
        assert told == [one.raw for _, one in drawn] or "penalty_repeat" in settings
    assert [of.chosen for of in raw_logprobs(data[:1])] == [(-1, 0, 0.0)]
    mask = [[i != 3 for i in range(N)]] * 6
    assert raw_logprobs(data, [3] * 6, mask=mask)[5].chosen.logprob == -math.inf
    assert Chain(N, seed=8).replay_check(data, [3] * 6, mask) == 0
    broken = [list(row) for row in data]
    broken[2][0] = math.nan
    fails(lambda: raw_logprobs(broken), "row 2: logit 0 is NaN")
    chain = Chain(N, seed=8)
    text = [chain.sample(row) for row in data]
    fails(lambda: Chain(N, seed=8).replay_check(broken, text), "row 2: logit 0 is NaN")
    error = fails(lambda: Chain(N, seed=8).verify(broken, text[:5], logprobs=0), "row 2: logit 0 is NaN", BatchError)
    assert len(error.logprobs) == 2 and error.logprobs[1].raw.chosen.token == text[1]
    fails(lambda: Chain(N, seed=8).verify(data, text[:5], logprob_ids=[N]), "logprob_ids")
    fails(lambda: chain.replay([-1]), "tokens")
    fails(lambda: chain.replay_check(data, text[1:]), "tokens")
    fails(lambda: raw_logprobs(data, [N] * 6), "tokens")


def letters(text):
    return [ord(c) - 32 for c in text]


def test_grammars():
    vocab = Vocab(LETTERS, eos=END)
    assert len(vocab) == 96 and vocab.eog == (END,)
    matcher = Matcher(vocab, Grammar.from_json_schema({"type": "integer"}))
    assert matcher.allows(letters("4")[0]) and not matcher.allows(letters("x")[0]) and not matcher.allows(-1)
    assert not matcher.is_complete() and not matcher.allows(1000)
    matcher.accept(letters("4"))
    assert matcher.is_complete() and matcher.allows(END)
    bits = matcher.mask()
    assert bits.typecode == "I" and len(bits) == 3
    out = array.array("I", [0] * 3)
    assert matcher.mask(out) is out and out == bits
    fails(lambda: matcher.mask(array.array("I", [0] * 2)), "out")
    fails(lambda: matcher.mask(array.array("d", [0] * 3)), "out")
    before = matcher.save()
    fails(lambda: matcher.accept(letters("x")), "token: the grammar refuses this token")
    assert matcher.save() == before
    matcher.rollback(1)
    assert not matcher.is_complete()
    matcher.load(before)
    assert matcher.is_complete()
    assert Matcher(vocab, Grammar.from_regex("abc(d|e)")).forced() == b"abc"
    assert Matcher(vocab, Grammar.from_string('a ::= "xy"', root="a")).forced() == b"xy"
    error = fails(lambda: Grammar.from_string("root ::= ("), "grammar: line 1, column ")
    assert error.name == "SAMP_E_FORMAT" and error.field == "grammar"
    fails(lambda: Grammar("x", kind="bnf"), "kind")
    fails(lambda: Grammar.from_json_schema({"uniqueItems": True}), "uniqueItems")
    fails(lambda: Grammar.from_string("root ::= \"a\0\""), "byte 0")
    # in a chain, which only says what the grammar takes
    noise = [((i * 7919) % 1000) / 200 for i in range(96)]
    for grammar in Grammar.from_regex("[0-9]{6}"), Matcher(vocab, Grammar.from_regex("[0-9]{6}")):
        chain = Chain(vocab, grammar, seed=9, temperature=2.0)
        text = "".join(chr(32 + chain.sample(noise)) for _ in range(6))
        assert text.isdigit() and chain.sample(noise) == END
        chain.reset()
        assert "".join(chr(32 + chain.sample(noise)) for _ in range(6)) == text
        other = chain.clone()
        assert chain.sample(noise) == other.sample(noise) == END
        chain.rollback(2)
        chain.update(temperature=0.1)
        assert chr(32 + chain.sample(noise)).isdigit() and chain.sample(noise) == END
    if isinstance(grammar, Matcher):
        assert not grammar.is_complete()  # the chain has a copy
    padded = noise + [9.0] * 9
    assert all(Chain(vocab, Grammar.from_regex("[0-9]+"), seed=s).sample(padded) < 96 for s in range(20))
    fails(lambda: Chain(96, Grammar.from_regex("a")), "needs a Vocab")
    lazy = Matcher(vocab, Grammar.from_regex("<[ab]>"), trigger_words=["<"])
    assert lazy.is_awaiting() and lazy.allows(letters("z")[0])
    lazy.accept(letters("zz<"))
    assert not lazy.is_awaiting() and not lazy.allows(letters("z")[0])
    by_pattern = Matcher(vocab, Grammar.from_regex("<[ab]>"), trigger_patterns=["z(<)"])
    by_pattern.accept(letters("<z<a"))
    assert not by_pattern.is_awaiting()
    assert Matcher(vocab, Grammar.from_regex("x"), trigger_tokens=letters("x")).is_awaiting()
    fails(lambda: Matcher(vocab, Grammar.from_regex("x"), trigger_patterns=["("]), "trigger_patterns")
    fails(lambda: Matcher(vocab, Grammar.from_regex("x"), trigger_words=["a"], trigger_patterns=["b"]), "trigger_")
    fails(lambda: Vocab([b"a"], eos=1), "eos: 1 is not in [-1, 0]")
    fails(lambda: Vocab([b"a"], eog=[2**40]), "eog")


def test_grammar_drafts():
    vocab = Vocab([b"{", b'"', b"name", b'":', b'{"name', b"a", b"b", b"}", b":", b'"na', None], eos=10)
    schema = {"type": "object", "properties": {"name": {"enum": ["a", "b"]}}, "required": ["name"],
              "additionalProperties": False}
    matcher = Matcher(vocab, Grammar.from_json_schema(schema, "compact"))
    before = matcher.save()
    assert matcher.draft() == [4, 3, 1] and matcher.draft(1) == [4] and matcher.draft(0) == []
    assert matcher.certain() == [] and matcher.save() == before  # "{" may come too
    matcher.accept(matcher.draft())
    assert matcher.draft() == matcher.certain() == []
    matcher.accept(5)
    assert matcher.certain() == [1, 7] == matcher.draft()
    assert matcher.prepare(1 << 20) and matcher.mask()[0] == 1 << 1
    fails(lambda: matcher.prepare(0), "range")
    stats = matcher.stats()
    assert stats.n_masks >= 1 and 0 < stats.n_bytes <= stats.max_bytes and stats.n_states > 0
    matcher.set_limits(1 << 20, 1 << 20)
    assert matcher.stats().max_bytes == 1 << 20
    fails(lambda: matcher.set_limits(1, 1), "range")
    # the same text with the drafts, in fewer steps of the model
    data = [[((i + 3 * r) * 7919 % 1000) / 250 for i in range(11)] for r in range(12)]

    def write(drafts):
        text, steps = [], 0
        chain, own = Chain(vocab, Grammar.from_json_schema(schema, "compact"), seed=3), matcher.clone()
        own.reset()
        while 10 not in text:
            draft = own.draft() if drafts else []
            new, steps = chain.verify(data[len(text):len(text) + len(draft) + 1], draft), steps + 1
            own.accept([token for token in new if token != 10])
            text += new
        return text, steps

    (text, many), (drafted, few) = write(False), write(True)
    assert text == drafted and few < many == len(text)
    # calls of tools in free text
    tag = {"type": "structural_tag", "format": {
        "type": "triggered_tags", "triggers": ["<f="], "tags": [
            {"begin": "<f=a>", "content": {"type": "json_schema", "json_schema": {"enum": [1]}}, "end": "</f>"}]}}
    of = Vocab(LETTERS, eos=END)
    for grammar in Grammar.from_structural_tag(tag), Grammar(json.dumps(tag), "structural_tag"):
        matcher = Matcher(of, grammar)
        matcher.accept(letters("free <f="))
        assert matcher.forced() == b"a>1</f>" and not matcher.is_complete()
        matcher.accept(letters("a>"))
        assert not matcher.allows(letters("2")[0])
        matcher.accept(letters("1</f> free"))
        assert matcher.is_complete()
    fails(lambda: Grammar.from_structural_tag({"type": "structural_tag"}), "grammar: line 1")
    tools = [{"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}}]
    grammar, matcher = Grammar.from_tools("llama", tools, "required one"), None
    assert grammar.warm(of, 1000) > 0 and grammar.warm(of, 1 << 40) > 0 and grammar.warm(of, 1) == 0
    for matcher in Matcher(of, grammar), Matcher(of, Grammar.from_tools("llama", json.dumps(tools), "required one")):
        assert matcher.forced().startswith(b'{"name": "f", "parameters": {')
    assert Matcher(of, Grammar.from_tools("llama")).is_complete()
    fails(lambda: Grammar.from_tools("no model", tools), "model: this name")
    fails(lambda: Grammar.from_tools("llama", {"f": 1}), "tools: line 1, column 1")
    fails(lambda: Grammar.from_tools("llama", tools, "many"), "options: expected")
    fails(lambda: grammar.warm(of, 0), "budget")


def said(chain, n, row=None):
    return [chain.sample(row or [0.0] * 96) for _ in range(n)]


def test_constraints():
    vocab, a, b = Vocab(LETTERS, eos=END), letters("a")[0], letters("b")[0]
    think, answer = letters("<"), letters(">")
    lines = Vocab([b"\n" if token == b"`" else token for token in LETTERS], eos=END)
    likes_a = [9.0 if i == a else 0.0 for i in range(96)]
    plan = dict(vocab=lines, soft=3, grace=2, note=letters("N"), ramp="linear", bias=1.0, ends=[letters("#")])
    thinking = Constraint.thinking([(think, answer)], 6, **plan)
    chain = Chain(96, constraints=[thinking], seed=1, top_k=1)
    assert (chain.thinking_now(), chain.thinking_left(), chain.thinking_used()) == ("not", None, 0)
    chain.accept(think)
    assert (chain.thinking_now(), chain.thinking_left()) == ("open", 6)
    assert said(chain, 3, likes_a) == [a] * 3 and chain.thinking_now() == "soft" and chain.thinking_left() == 3
    chain.accept(letters("`"))  # a line ends: the note
    assert chain.thinking_now() == "note" and said(chain, 1, likes_a) == letters("N")
    saved, copied = chain.save(), chain.clone()
    assert said(chain, 1, likes_a) == [a] and chain.thinking_now() == "grace"
    assert said(chain, 3, likes_a) == [a, a] + answer and chain.thinking_now() == "not"
    chain.load(saved)
    assert said(chain, 4, likes_a) == said(copied, 4, likes_a)
    chain.accept(think)
    chain.thinking_end()
    assert chain.thinking_now() == "ends" and chain.sample(likes_a) == answer[0]
    fails(chain.thinking_end, "")
    fails(Chain(96).thinking_now, "")
    assert Constraint.thinking([(think, answer)], 0, inside=0).thinking_now() == "ends"
    fails(lambda: Constraint.thinking([(think,)], 5), "spans")
    fails(lambda: Constraint.thinking([(think, answer)], 5, soft=1, soft_ratio=0.5), "soft")
    fails(lambda: Constraint.thinking([(think, answer)], 5, ramp="cubic"), "ramp")
    fails(lambda: Constraint.thinking([(think, [])], 5), "")
    # a loop: it is watched, ends thinking, and begins a time
    loop = Loop(1, 4, 3, 64, 1)
    assert Loop() == (4, 128, 3, 512, 16)
    looping = Chain(96, constraints=[Constraint.loop_watch(loop),
                                     Constraint.thinking([(think, answer)], 50, loop=loop)],
                    seed=1, top_k=1)
    looping.accept(think)
    assert said(looping, 5, likes_a) == [a] * 3 + answer + [a] and looping.loop_length() == 0
    looping.accept(letters("abab" "ababab"))
    assert looping.loop_length() == 2
    assert a not in said(Chain(96, constraints=[Constraint.loop_breaker(loop)], top_k=1), 9, likes_a)[3:4]
    assert len(said(Chain(96, constraints=[Constraint.loop_breaker_cusum(1, 64, 0.25, 2.0)], top_k=1), 9, likes_a)) == 9
    # settings and constraints at times
    first = Constraint.schedule({"temperature": 100.0}, stop=5)
    other = Constraint.schedule(Constraint.allowed_tokens([b]), start=2, stop=4)
    chain = Chain(96, constraints=[first, other], seed=3)
    assert chain.schedule_holds() and said(chain, 6, likes_a)[2:4] == [b, b] and not chain.schedule_holds()
    inside = Constraint.schedule(Constraint.allowed_tokens([b]), where="inside", spans=[(think, answer)])
    chain = Chain(96, constraints=[inside], seed=3, top_k=1)
    assert said(chain, 1, likes_a) == [a] and not chain.schedule_holds()
    chain.accept(think)
    assert said(chain, 1, likes_a) == [b] and chain.schedule_holds()
    chain.rollback(2)
    assert not chain.schedule_holds()
    until = Constraint.schedule(Constraint.allowed_tokens([b]), count="lines", stop=1, until=answer, vocab=lines,
                                loop=None)
    assert until.schedule_holds()
    until.accept(answer)
    assert not until.schedule_holds()
    fails(lambda: Constraint.schedule({"mirostat": 2}), "mirostat")
    fails(lambda: Constraint.schedule({"top_p": 2}), "top_p")
    fails(lambda: Constraint.schedule(Constraint.allowed_tokens([b]), where="inside"), "")
    fails(lambda: Constraint.schedule(Constraint.allowed_tokens([b]), count="words"), "count")
    # bans
    for ban in (Constraint.banned_pattern(vocab, "aa+", any_case=True),
                Constraint.banned_strings(vocab, ["AA"], any_case=True),
                Constraint.banned_sequences([[a, a]]), Constraint.sequence_bias({(a, a): -math.inf}),
                Constraint.no_repeat_ngram(1, 1)):
        text = said(Chain(vocab, constraints=[ban], top_k=1), 20, likes_a)
        assert text[0] == a and all(x != a or y != a for x, y in zip(text, text[1:])), ban
    rewind = Chain(vocab, constraints=[Constraint.banned_pattern(vocab, "a[ab]a", rewind=True)], top_k=1)
    assert said(rewind, 3, likes_a) == [a] * 3 and rewind.rewind_length() == 3
    rewind.rollback(3)
    assert rewind.rewind_length() == 0 and rewind.sample(likes_a) != a
    error = fails(lambda: Constraint.banned_pattern(vocab, "a("), "pattern: line 1, column ")
    assert error.name == "SAMP_E_FORMAT" and error.field == "pattern"
    fails(lambda: Constraint.banned_pattern(vocab, "a*"), "pattern")
    fails(lambda: Constraint.banned_pattern(vocab, "a\0"), "byte 0")
    draw = lambda *constraints, n=3: said(Chain(96, constraints=constraints, top_k=1), n, likes_a)
    assert draw(Constraint.suppressed_tokens([a]))[0] != a and draw(Constraint.allowed_tokens([b])) == [b] * 3
    assert draw(Constraint.begin_suppressed_tokens([a]))[1:] == [a, a] != draw(Constraint.min_tokens([a], 2))[:2]
    assert draw(Constraint.forced_prefix([b, b])) == [b, b, a] and draw(Constraint.eog_bias([b], 20.0)) == [b] * 3
    assert draw(Constraint.length_penalty([a], 1, 0.01))[0] == a and draw(Constraint.top_p_decay(0.9, 0.9, 0.3,
                                                                                                 [b])) == [a] * 3
    fails(lambda: Constraint.allowed_tokens([]), "")
    fails(lambda: Constraint.suppressed_tokens([2**40]), "tokens")
    # beside a grammar, which stands first; a request's budget
    chain = Chain(vocab, Grammar.from_regex("[ab]{9}"), constraints=[Constraint.suppressed_tokens([a])], seed=1)
    assert said(chain, 9) == [b] * 9 and chain.sample([0.0] * 96) == END
    budget = {"custom_params": {"thinking_budget": 2}, "top_k": 1}
    chain = Chain.from_request("sglang", budget, 96,
                               thinking=lambda n: Constraint.thinking([(think, answer)], n, inside=0))
    assert said(chain, 3, likes_a) == [a, a] + answer
    fails(lambda: Chain.from_request("sglang", budget, 96), "thinking_budget")
    assert Chain.from_request("sglang", {}, 96, thinking=None).thinking_left.__name__ == "thinking_left"


def test_watermarks():
    for kind in "gumbel", "gumbel_dual", "synthid", "sbw_selfhash", "sbw_lefthash":
        mark, wrong = Watermark(987654321987654321, kind, history=1000), Watermark(1234567, kind)
        chain = Chain(N, watermark=mark, seed=4, temperature=1.0, top_k=0, top_p=1, min_p=0)
        text = [chain.sample(row) for row in rows(300)]
        assert mark.detect(text).p_value < 1e-3 < 1e-1 < wrong.detect(text).p_value, kind
        assert mark.detect(text) == mark.detect_keys([5, 987654321987654321], text)[1]
        assert mark.detect(array.array("i", text)).n_scored >= 40  # of lefthash: pairs of tokens
        span = mark.find([i % N for i in range(200)] + text, 150)
        assert span.end - span.begin == 150 and (kind == "sbw_lefthash" or span.end > 300 and span.p_value < 1e-9), kind
        assert "9876" not in chain.describe() + repr(mark) + repr(chain.save())
        again = Chain(N, watermark=mark, seed=4, temperature=1.0, top_k=0, top_p=1, min_p=0)
        assert [again.sample(row) for row in rows(300)] == text
        other = Chain(N, watermark=mark, seed=4, temperature=0.5, top_k=0, top_p=1, min_p=0)
        again.reset()
        again.update(temperature=0.5)
        assert again.describe() == other.describe() and [again.sample(row) for row in rows(30)] == [
            other.sample(row) for row in rows(30)]
        if not kind.startswith("sbw"):
            fails(lambda: chain.update(mirostat=2), "needs a draw")
            fails(lambda: Chain(N, watermark=mark, temperature=0), "needs a draw")
            fails(lambda: Chain(N, watermark=mark, mirostat=2), "needs a draw")
    assert Watermark(5, "gumbel_dual").for_draft().detect([1, 2]).n_scored >= 0
    fails(lambda: Watermark(5).for_draft(), "kind")
    fails(lambda: Watermark(5, "none"), "kind")
    fails(lambda: Watermark(2**64), "key")
    fails(lambda: Watermark(5, context_width=0), "context_width")
    fails(lambda: Watermark(5, colour=0), "colour")
    fails(lambda: Watermark(5).find([1, 2], 0), "window: 0 is not in [1, ")
    fails(lambda: Watermark(5).detect([-1]), "range")
    fails(lambda: Watermark(5).detect_keys([-1], [1]), "keys")
    fails(lambda: Chain(N, watermark=mark, constraints=[Constraint.allowed_tokens([])]), "")
    for bad in -9876, "9876", 9876.5, 2**64 + 9876, [9876]:  # no error has a key
        assert "9876" not in str(fails(lambda: Watermark(bad), "key")) + str(fails(lambda: mark.detect_keys([bad], [1]),
                                                                                   "keys"))


def test_drafts():
    data = rows(5)
    want = same = None
    chain = Chain(N, seed=8)
    want = [chain.sample(row) for row in data]
    after = chain.save()
    for draft in want[:4], want[:2] + [(want[2] + 1) % N, 0]:
        same = Chain(N, seed=8)
        tokens = same.verify(data, draft)
        assert tokens == want[:len(tokens)] and len(tokens) == (5 if draft == want[:4] else 3)
        assert draft != want[:4] or same.save() == after
    assert Chain(N, seed=8).verify(data[:1], []) == want[:1]
    sure = [[1.0 if i == t else 0.0 for i in range(N)] for t in want[:4]]
    flat = [[1.0 / N] * N for _ in range(4)]
    for method in "ratio", "block":
        assert len(Chain(N, seed=8).verify(data, want[:4], method=method)) >= 1
        assert len(Chain(N, seed=8).verify(data, want[:4], flat, method=method)) >= 1
        top = Chain(N, seed=8).verify(data, want[:4], [[1.0]] * 4, ids=[[t] for t in want[:4]], method=method)
        assert top == Chain(N, seed=8).verify(data, want[:4], sure, method=method)
    fails(lambda: chain.verify(data, want), "a row more than the draft")
    fails(lambda: chain.verify(data, [0, 1, 2, N]), "outside its range")
    fails(lambda: chain.verify(data, want[:4], method="fast"), "method")
    fails(lambda: chain.verify(data, want[:4], flat[:3]), "probs")
    fails(lambda: chain.verify(data, want[:4], flat, ids=[[1]]), "probs")
    fails(lambda: chain.verify(data, want[:4], None, ids=[[1]] * 4), "ids")
    broken = [list(row) for row in data]
    broken[2][0] = math.nan
    error = fails(lambda: Chain(N, seed=8).verify(broken, want[:4]), "row 2: logit ", BatchError)
    assert error.tokens == want[:2] and list(error.errors) == [2]
    if numpy is not None:
        for kind in "f4", "f8", "f2":
            assert len(Chain(N, seed=8).verify(numpy.array(data, dtype=kind), numpy.array(want[:4]))) == 5


def test_states():
    chain = Chain(N, seed=2**64 - 1, penalty_repeat=1.5, mirostat=2)
    assert chain.seed == 2**64 - 1 and chain.position == 0
    data = rows(30)
    head = [chain.sample(row) for row in data[:10]]
    state, other, third = chain.save(), chain.clone(), copy.copy(chain)
    tail = [chain.sample(row) for row in data[10:]]
    assert [other.sample(row) for row in data[10:]] == tail == [third.sample(row) for row in data[10:]]
    chain.rollback(20)
    assert chain.save() == state and chain.prev() == head and chain.prev(3) == head[-3:]
    fresh = Chain(N, seed=2**64 - 1, penalty_repeat=1.5, mirostat=2)
    fresh.load(state)
    assert [fresh.sample(row) for row in data[10:]] == tail
    fails(lambda: fresh.load(state[:-1]), "damaged")
    fails(lambda: Chain(N, seed=2).load(state), "damaged")
    fails(lambda: fresh.rollback(100), "range")
    chain.set_rollback(0)
    fails(lambda: chain.rollback(1), "range")
    chain.position = 7
    assert chain.position == 7
    fails(lambda: setattr(chain, "position", -1), "position")
    chain.close()
    chain.close()
    for used in (lambda: chain.sample(ROW), chain.save, chain.clone, lambda: chain.accept(1), chain.describe,
                 lambda: sample_batch([chain], [ROW]), lambda: chain.update(temp=1), lambda: chain.verify([ROW], []),
                 lambda: chain.score(ROW, 1), lambda: chain.replay([1]), lambda: chain.replay_check([ROW], [1])):
        assert fails(used, "closed").name == "SAMP_E_NULL"
    assert child_seed(1, 2) != child_seed(1, 3) and "dist" in Chain().describe()


def test_settings():
    chain = Chain(N, repetition_penalty=1.25, frequency_penalty=0.5, presence_penalty=0.25, typical_p=0.5,
                  top_k_ties=True, order=["top_k", "temperature"], seed=None)
    assert [chain.get(n) for n in ("penalty_repeat", "penalty_freq", "presence_penalty", "typ_p", "top_k_ties", "order")
            ] == ["1.25", "0.5", "0.25", "0.5", "1", "top_k;temperature"]
    assert chain.settings["typical_p"] == 0.5 and chain.n_vocab == N
    for name in sampling.aliases:
        assert sampling.takes(name)
    update = Chain(N, seed=1, temperature=0.5)
    first = update.sample(ROW)
    update.update(temperature=0)
    assert update.get("temp") == "0" and update.prev() == [first] and update.sample(ROW) == max(
        range(N), key=lambda i: ROW[i])
    fails(lambda: update.update(top_p=2), "top_p")
    assert update.get("top_p") == "0.95"
    update.update(temp=None)
    assert update.get("temp") == "0.8"
    biased = Chain(N, logit_bias={3: 1e30, 4: -math.inf}, temp=1)
    assert biased.sample(ROW) == 3
    error = fails(lambda: Chain(N, temperature=-1), "temp: ")
    assert error.status == -2 and error.field == "temp" and error.name == "SAMP_E_RANGE"
    fails(lambda: Chain(N, order="a\0b"), "order")
    fails(lambda: Chain(N, logit_bias={N: 1.0}), "logit_bias")
    vllm = Chain.from_request("vllm", {"temperature": 0.5, "top_k": 7, "seed": 3, "n": 2}, N)
    assert vllm.seed == 3 and "top-k(k=7" in vllm.describe() and vllm.with_prompt in (True, False)
    assert Chain.from_request("transformers", '{"do_sample": true}', N, seed=11).seed == 11
    error = fails(lambda: Chain.from_request("openai", {"temperature": 3}, N), "temperature")
    assert error.field == "temperature"
    assert fails(lambda: Chain.from_request("vllm", {"no_such": 3}, N), "no_such").field == "no_such"
    Chain.from_request("vllm", {"no_such": 3}, N, handled=["no_such"])
    fails(lambda: Chain.from_request("vllm", {"thinking_token_budget": 9}, N), "thinking_budget")
    Chain.from_request("vllm", {"thinking_token_budget": 9}, N, handled=["thinking_token_budget"])
    Chain.from_request("vllm", {"thinking_token_budget": -1}, N)
    fails(lambda: Chain.from_request("transformers", {"guidance_scale": 1.5}, N), "guidance_scale")
    Chain.from_request("transformers", {"guidance_scale": 1.5}, N, handled=["guidance_scale"])
    fails(lambda: Chain.from_request("vllm", "{", N), "")
    fails(lambda: Chain.from_request("bing", {}, N), "peer")
    fails(lambda: vllm.update(temp=1), "from_request")


def test_threads():
    """Chains in threads of their own give what they give alone."""
    want, got = same_everywhere(), [None] * 4
    vocab = Vocab(LETTERS, eos=END)
    grammar = Grammar.from_regex("[a-z ]*")

    def run(i):
        for _ in range(20):
            got[i] = same_everywhere()
            chain = Chain(vocab, grammar, seed=i)
            assert all(32 + chain.sample([0.0] * 96) in b"abcdefghijklmnopqrstuvwxyz \x7f" for _ in range(10))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [want] * 4


def live():
    """How many blocks of memory the library has."""
    of = ctypes.CDLL(os.environ["SAMPLING_LIBRARY"]).counted_live
    of.restype = ctypes.c_long
    return of()


def cyclic(*objects):
    """Lost at once, in a cycle that only the collector finds."""
    class Request:
        pass

    request = Request()
    request.objects, request.itself = list(objects), request


def test_cycles():
    """What is borrowed outlives the borrower, in whatever order the collector goes through a cycle."""
    class Ban(Constraint):
        def __init__(self, vocab):
            made = Constraint.banned_strings(vocab, ["b"])
            self.__dict__, made.__dict__ = made.__dict__, {}

    for order in itertools.permutations((Vocab, Grammar, Matcher, Chain, Ban)):
        made = {cls: cls.__new__(cls) for cls in order}  # in the order in which the collector comes by
        vocab, grammar, matcher, chain, ban = (made[cls] for cls in (Vocab, Grammar, Matcher, Chain, Ban))
        vocab.__init__(LETTERS, eos=END)
        grammar.__init__("[ab]*", "regex")
        matcher.__init__(vocab, grammar)
        ban.__init__(vocab)
        chain.__init__(vocab, matcher, seed=1, constraints=[ban])
        assert chain.sample([0.0] * 96) in letters("a") + [END]
        cyclic(*made.values(), chain.clone(), Constraint.schedule(ban, stop=9),
               Matcher(vocab, grammar, trigger_words=["a"]))
        del made, vocab, grammar, matcher, chain, ban
        gc.collect()


def test_last_words():
    """__del__ may use an object that nobody else has; one that the collector has found, in a cycle, is closed, also
    when it comes back to life."""
    said, back = [], []

    class Last(Chain):
        def __del__(self):
            try:
                said.append(self.sample([0.0, 9.0]))
            except SamplingError as error:
                said.append(str(error))
            back.append(self)

    last = Last(2, temp=0)
    del last
    assert said.pop() == 1 and back.pop().sample([9.0, 0.0]) == 0
    cyclic(Last(2, temp=0))
    gc.collect()
    assert said == ["s: the Last is closed"]
    for of in back.pop(), None:
        if of:
            fails(lambda: of.sample([0.0, 1.0]), "closed")
            fails(of.reset, "closed")
            cyclic(of)
        del of
        gc.collect()


def test_closed():
    """In any order, twice; and who borrows goes on."""
    def make():
        vocab, grammar = Vocab(LETTERS, eos=END), Grammar.from_regex("[ab]*")
        matcher = Matcher(vocab, grammar)
        thinking = Constraint.thinking([([1], [2])], 5, vocab=vocab)
        return [vocab, grammar, matcher, thinking, Chain(vocab, matcher, constraints=[thinking], seed=1)]

    for order in itertools.permutations(range(5)):
        made = make()
        for i in order:
            made[i].close()
            made[i].close()
        for of in made[2:]:
            fails(of.save, "closed")
        fails(lambda: Matcher(made[0], Grammar.from_regex("a")), "vocab: the Vocab is closed")
        fails(lambda: Matcher(Vocab([b"a"]), made[1]), "grammar: the Grammar is closed")
        fails(lambda: Chain(made[0]), "vocab: the Vocab is closed")
        fails(lambda: Chain(constraints=[made[3]]), "constraints: the Constraint is closed")
        fails(lambda: Chain(Vocab([b"a"]), made[2]), "grammar: the Matcher is closed")
        fails(lambda: Constraint.schedule(made[3]), "what: the Constraint is closed")
    vocab, grammar, matcher, thinking, chain = make()
    for of in vocab, grammar, matcher, thinking:
        of.close()
    assert chain.sample([0.0] * 96) in letters("ab") + [END] and chain.clone().thinking_now() == "not"
    fails(lambda: Sampler().accept(1), "closed")  # nor is what was never made an object of C's
    fails(Chain.__new__(Chain).save, "closed")
    with Vocab([b"a"]) as vocab, Grammar.from_regex("a") as grammar:
        assert Matcher(vocab, grammar).allows(0)


def test_index():
    """A Vocab's index is made once, also by many threads at once."""
    vocab, grammar = Vocab([b"%d" % i for i in range(20000)]), Grammar.from_regex("[0-9]*")
    before, start = live(), threading.Barrier(8)

    def run():
        start.wait()
        vocab._index()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    many = live()
    assert Matcher(vocab, grammar).allows(0)
    alone = Vocab([b"%d" % i for i in range(20000)])
    both = live()
    alone._index()
    assert many - before == live() - both, f"{many - before} blocks, where one index has {live() - both}"


def test_strides():
    """Arrays whose elements are not whole elements apart, are in pieces, backwards, elsewhere, or hidden."""
    if numpy is None:
        return
    want = Chain(N, seed=5, temperature=1.2).sample(ROW)
    for kind, other in itertools.product(("f4", "f8", "f2"), ("u1", "?", "i4", "f8")):
        record = numpy.zeros((2, N), dtype=[("b", other), ("a", kind), ("c", other)])
        record["a"], record["b"], record["c"] = ROW, 1, 1
        exact = Chain(N, seed=5, temperature=1.2).sample(record["a"][0].copy())
        assert Chain(N, seed=5, temperature=1.2).sample(record["a"][0]) == exact, (kind, other)
        assert sample_batch([Chain(N, seed=5, temperature=1.2)], record["a"][:1]) == [exact], (kind, other)
        assert Chain(N, seed=5, temperature=1.2).verify(record["a"], [exact])[0] == exact, (kind, other)
    row = numpy.array(ROW, dtype="f4")
    for view in row[::-1][::-1], numpy.stack([row, row], 1)[:,
                                                            0], numpy.stack([row,
                                                                             row])[::-1][0], numpy.broadcast_to(row,
                                                                                                                (2,
                                                                                                                 N))[1]:
        assert Chain(N, seed=5, temperature=1.2).sample(view) == want
    assert Chain(N, seed=5, temperature=1.2).sample(row[::-1]) == Chain(N, seed=5, temperature=1.2).sample(ROW[::-1])
    overlapping = numpy.lib.stride_tricks.as_strided(row, (2, N - 1), (4, 4))
    assert sample_batch([Chain(seed=1, temp=0)] + [Chain(seed=1, temp=0)], overlapping) == [
        Chain(temp=0).sample(ROW[:-1]), Chain(temp=0).sample(ROW[1:])]
    # masks, whose words may be negative int32
    words = numpy.array([-1 << 30 | 1 << 3, 0], dtype="i4")
    for other in "u1", "i4", "f8", "?":
        for kind in "i4", "u4":
            record = numpy.zeros(2, dtype=[("b", other), ("a", kind)])
            record["a"], record["b"] = words.astype(kind), 1
            chain = Chain(N, seed=1, temperature=5.0, top_k=0, top_p=1, min_p=0)
            assert {chain.sample(ROW, mask=record["a"]) for _ in range(100)} == {3, 30, 31}, (kind, other)
            tokens = numpy.zeros(3, dtype=[("b", other), ("a", kind)])
            tokens["a"], tokens["b"] = [1, 2, 3], 7
            chain.accept(tokens["a"])
            assert chain.prev(3) == [1, 2, 3]
            assert Watermark(5).detect(tokens["a"]) == Watermark(5).detect([1, 2, 3])
    # what C is to write is refused there, and its neighbours stay
    vocab = Vocab(LETTERS, eos=END)
    matcher = Matcher(vocab, Grammar.from_regex("[a-z]*"))
    for dtype in [("a", "u4"), ("b", "u1")], [("b", "u1"), ("a", "u4")], [("a", "u4"), ("b", "u4")]:
        record = numpy.zeros(3, dtype=dtype)
        record["b"] = 7
        fails(lambda: matcher.mask(record["a"]), "out")
        assert (record["b"] == 7).all() and not record["a"].any()
    frozen = numpy.zeros(3, "u4")
    frozen.flags.writeable = False
    fails(lambda: matcher.mask(frozen), "out")
    fails(lambda: matcher.mask(numpy.zeros(6, "u4")[::2]), "out")
    fails(lambda: matcher.mask(numpy.zeros(3, "u4")[::-1]), "out")
    fails(lambda: matcher.mask(numpy.zeros(13, "u1")[1:].view("u4")), "out")
    assert (matcher.mask(numpy.zeros((1, 3), "i4")).view("u4") == list(matcher.mask())).all()
    hidden = numpy.ma.array(row, mask=row == max(ROW))
    fails(lambda: Chain(N).sample(hidden), ".filled(")
    assert Chain(N, temp=0).sample(hidden.filled(-math.inf)) != Chain(N, temp=0).sample(row)


def test_half():
    """verify takes 16 bits for what they are."""
    bits = [[half(1 - x) for x in row] for row in rows(2)]
    exact = [[unpack(x, "float16") for x in row] for row in bits]
    flat = memoryview(array.array("H", sum(bits, []))).cast("B").cast("H", (2, N))
    first = Chain(N, temp=0).sample(exact[0])
    assert Chain(N, temp=0).verify(flat, [first], dtype="float16") == Chain(N, temp=0).verify(exact, [first])


def test_kept():
    """What a chain borrows by its constraints stays, whatever they come from."""
    def make(constraints):
        vocab = Vocab(LETTERS, eos=END)
        return Chain(96, constraints=constraints(lambda: Constraint.banned_strings(vocab, ["aa"])), top_k=1)

    a = letters("a")[0]
    likes_a = [9.0 if i == a else 0.0 for i in range(96)]
    for constraints in (lambda ban: (ban() for _ in range(2)), lambda ban: iter([ban()]), lambda ban: {ban()},
                        lambda ban: map(
            lambda _: ban(), range(2))):
        chain = make(constraints)
        gc.collect()
        junk = [Vocab(LETTERS[::-1], eos=0) for _ in range(20)]  # where the vocabulary has been
        assert [said(chain, 1, likes_a) == [a] for _ in range(6)] == [True, False] * 3 and junk, constraints
        chain.update(top_k=2)
        assert chain.clone().sample(likes_a) == a


def test_settings_kept():
    """Settings that are given by a generator, or a list that its owner changes, are there for update() too."""
    breakers = ["x"]
    chain = Chain(Vocab(LETTERS), logit_bias=((i, -math.inf) for i in range(90)), dry_multiplier=1.0,
                  dry_breakers=breakers)
    breakers.append("\0")
    chain.update(temp=5)
    assert all(chain.sample([9.0] * 90 + [0.0] * 6) >= 90 for _ in range(20)) and chain.get("temp") == "5"
    assert chain.settings["dry_breakers"] == ["x"] and len(chain.settings["logit_bias"]) == 90


def test_meanwhile():
    """Another thread closes what is at work."""
    row, said = array.array("f", range(200000)), []
    for _ in range(10):
        chain = Chain(temp=9)

        def run():
            while True:
                try:
                    chain.sample(row)
                    sample_batch([chain], memoryview(row).cast("B").cast("f", (1, len(row))))
                except SamplingError as error:
                    said.append(str(error))
                    return

        thread = threading.Thread(target=run)
        thread.start()
        while not chain.position:
            pass
        chain.close()
        thread.join()
    assert len(said) == 10 and all("closed" in text or "NULL" in text for text in said), said


def test_byte_0():
    """No text is cut at a byte 0."""
    vocab, grammar = Vocab(LETTERS, eos=END), Grammar.from_regex("a")
    for what in (
            lambda: Constraint.banned_strings(vocab, ["a\0b"]), lambda: Constraint.banned_strings(vocab, [b"a\0"]),
            lambda: Constraint.banned_pattern(vocab, "a\0"), lambda: Matcher(vocab, grammar, trigger_words=["a\0b"]),
            lambda: Matcher(vocab, grammar, trigger_patterns=["a\0b"]),
            lambda: Chain.from_request("vllm", '{"n": 1}\0 rubbish'),
            lambda: Chain.from_request("vllm", {}, handled=["n\0x"]), lambda: Grammar('root ::= "a"', root="root\0x"),
            lambda: Grammar.from_json_schema("{}\0 rubbish"), lambda: Grammar.from_json_schema({}, "compact\0x"),
            lambda: Grammar.from_string('root ::= "a"\0'), lambda: Chain(**{"top_k\0x": 1}),
            lambda: Chain(top_k="1\0junk"),
            lambda: Chain(order="top_k\0x"), lambda: Chain(order=["top_k", "temperature\0"]),
            lambda: Chain(vocab, dry_breakers=["a\0"]),
            lambda: Chain(logit_bias="1+1\0"), lambda: Chain().update(top_p="0.5\0junk"),
            lambda: Chain().get("top_k\0x"),
            lambda: sampling.takes("top_k\0x"), lambda: Watermark(5, scope="always\0"),
            lambda: Watermark(5, **{"depth\0": 1})):
        assert fails(what, "a byte 0").status == -10
    assert Vocab([b"\0", "a\0b"]) and not Matcher(Vocab([b"\0", b"a"]),
                                                  Grammar.from_regex("a")).allows(0)  # tokens may have it


def test_numbers():
    """Numbers neither wrap nor are cut; what Python takes for whole numbers is taken."""
    chain = Chain(N, seed=1)
    for bad in 2**32 + 5, 3.9, 2**64 + 5, -2**32 + 5, math.nan, True, "5", 5.0:
        assert fails(lambda: chain.accept(bad), "token: ").field == "token"
        assert fails(lambda: chain.accept([bad]), "token: ").field == "token"
    for what in (lambda: chain.rollback(2**32), lambda: chain.set_rollback(2**32 + 1),
                 lambda: setattr(chain, "position", 2**64),
                 lambda: chain.prev(-1), lambda: chain.prev(2.5), lambda: child_seed(2**64, 1),
                 lambda: child_seed(1, -1),
                 lambda: Constraint.thinking([([0], [1])], 2**32 + 1), lambda: Constraint.no_repeat_ngram(2**32 + 2),
                 lambda: Chain(logit_bias={2**32 + 1: 1.0}, vocab=5), lambda: Chain(logit_bias={1.5: 1.0}, vocab=5),
                 lambda: Constraint.loop_watch(Loop(2**32 + 4)), lambda: Constraint.eog_bias([1], 1e300),
                 lambda: Watermark(5).find([1], 2**64 + 5), lambda: sample_batch([chain], [ROW], n_threads=2**32 + 1),
                 lambda: chain.sample(ROW, logprobs=2.5), lambda: chain.load(2**40), lambda: Vocab([1, 2]),
                 lambda: Vocab([b"a"], eos=2**32),
                 lambda: Grammar(5), lambda: Chain(True), lambda: Chain(2**32 + 3), lambda: Chain(top_k=10**5000)):
        fails(what, ": ")
    assert chain.prev() == [] and chain.position == 0
    many = [5]
    if numpy is not None:
        many += [numpy.int64(5), numpy.uint8(5), numpy.array(5), numpy.int32(5)]
        chain.accept(numpy.array([5], dtype="i8"))
        chain.accept([numpy.int64(5)])
        assert Chain(numpy.int64(N), top_k=numpy.int32(1), temp=numpy.float32(0.5)).n_vocab == N
        assert Constraint.suppressed_tokens(numpy.array([1, 2], dtype="u8")) and Constraint.eog_bias([1],
                                                                                                     numpy.float32(1))
    for token in many:
        chain.accept(token)
    assert chain.prev() == [5] * len(chain.prev()) and chain.prev(2**64 - 1) == chain.prev()


def test_buffers():
    """What C reads or writes is neither resized nor freed meanwhile; odd formats are refused, or copied right."""
    bits, matcher = array.array("I", [0] * 3), Matcher(Vocab(LETTERS, eos=END), Grammar.from_regex("a"))
    at = sampling._Buffer(bits)
    try:
        bits.append(1)
        raise AssertionError("it was resized")
    except BufferError:
        del at
    bits.append(1)
    matcher.mask(bits)
    for of in ((ctypes.c_float.__ctype_be__ * N)(*ROW), (ctypes.c_double * N)(*ROW), (ctypes.c_float * N)(*ROW),
               (ctypes.c_long * N)(*map(int, ROW)), memoryview(ROW)[::-1][::-1]):
        assert Chain(N, temp=0).sample(of) in (Chain(N, temp=0).sample(ROW),
                                               Chain(N, temp=0).sample(list(map(int, ROW))))
    # an array's address from somebody else's word is not taken
    class Liar:
        __array_interface__ = {"data": (64, True), "typestr": "<f4", "strides": None, "shape": (N,), "version": 3}

    fails(lambda: Chain(N).sample(Liar()), "logits")
    # torch's lazily negated tensors have other numbers in memory
    class Negative(Tensor):
        def is_neg(self):
            return True

        def resolve_neg(self):
            return Tensor(array.array("f", [-x for x in self.of]))

    Tensor.resolve_conj = lambda self: self
    assert Chain(N, temp=0).sample(Negative(array.array("f", [-x for x in ROW]))) == Chain(N, temp=0).sample(ROW)
    if numpy is not None:  # elements that are there once, and seem to be many
        for shape in (2**40,), (2**40, N), (1, 2**50):
            many = numpy.broadcast_to(numpy.float32(0), shape)
            for what in (lambda: Chain().sample(many), lambda: sample_batch([Chain()], many),
                         lambda: Chain().verify(many, []),
                         lambda: Chain(N).sample(ROW, mask=many.view("u4")),
                         lambda: Chain().accept(many.view("i4")[:0]) or
                         Watermark(5).detect(many.view("i4"))):
                fails(what, "")
    # whoever else uses Python's C functions sets their types
    ctypes.pythonapi.PyObject_GetBuffer.argtypes, old = [ctypes.c_int], ctypes.pythonapi.PyObject_GetBuffer.argtypes
    assert Chain(N, temp=0).sample(ROW) == Chain(N, temp=0).sample(list(ROW))
    ctypes.pythonapi.PyObject_GetBuffer.argtypes = old


def test_copies():
    """Copies are safe; nothing is pickled but errors."""
    vocab, grammar, mark = Vocab(LETTERS, eos=END), Grammar.from_regex("[ab]*"), Watermark(987654321)
    for of in vocab, grammar, mark:
        assert copy.copy(of) is of and copy.deepcopy(of) is of
    chain = Chain(vocab, grammar, seed=1)
    for of in copy.copy(chain), copy.deepcopy(chain), copy.deepcopy({"a": [chain]})["a"][0]:
        assert of.save() == chain.save()
        of.close()
    for of in vocab, grammar, mark, chain, Matcher(vocab, grammar), Constraint.loop_watch():
        fails(lambda: pickle.dumps(of), "can't be pickled")
    error = fails(lambda: Chain(top_p=2), "top_p")
    again = pickle.loads(pickle.dumps(error))
    assert (again.status, again.field, str(again)) == (error.status, error.field, str(error))
    error = fails(lambda: sample_batch([Chain(N)], [[math.nan] * N]), "row 0", BatchError)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.tokens == [None] and again.errors[0].status == -3

    class Named(Chain):
        def __init__(self, name, *args, **more):
            super().__init__(*args, **more)
            self.tag = name

    named = Named("a", N, seed=1)
    assert type(named.clone()) is Named and named.clone().tag == "a" and named.sample(ROW) == Chain(N,
                                                                                                    seed=1).sample(ROW)


def python(text, **environment):
    """A Python of its own: what it prints."""
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(sampling.__file__)), **environment}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, cwd="/")
    return done.stdout + done.stderr


def test_end():
    """At the end of the interpreter, and in a forked child, nothing goes wrong."""
    begin = "import sampling, os, sys; from sampling import *\n" \
            "v = Vocab(['a', 'b', None], eos=2); g = Grammar.from_regex('[ab]*'); m = Matcher(v, g); c = Chain(v, m)\n"
    cycle = "class R: pass\nr = R(); r.r, r.all = r, (c, m, g, v)\nsys.modules['kept'] = r; print('ok')"
    assert python(begin + cycle) == "ok\n"
    assert python(begin + "class D:\n    def __del__(self, c=c): print(c.sample([0.0] * 3) >= 0)\nd = D()") == "True\n"
    last = "import atexit; atexit.register(lambda: print(c.sample([0.0] * 3) >= 0)); del v, g, m"
    assert python(begin + last) == "True\n"
    fork = "import os, threading\n" \
           "big = Vocab(['%d' % i for i in range(200000)]); t = threading.Thread(target=big._index); t.start()\n" \
           "child = os.fork()\n" \
           "if not child:\n    Matcher(big, g); c.sample([0.0] * 3); print('child', flush=True); os._exit(0)\n" \
           "os.waitpid(child, 0); t.join(); print('parent', Matcher(big, g).allows(1))"
    assert python(begin + fork) == "child\nparent False\n"


def test_library():
    """A library that is missing, broken or another is a SamplingError that says what to do; where it is looked for."""
    load = "try:\n    import sampling\n    print(sampling._path)\nexcept ValueError as error:\n    " \
           "print(type(error).__mro__[1].__name__, isinstance(error, ImportError), error)"
    for library in "/nowhere/libsampling.so", os.path.abspath(__file__):
        said = python(load, SAMPLING_LIBRARY=library)
        assert said.startswith("SamplingError True SAMPLING_LIBRARY: ") and library in said, said
        assert "make lib" in said and "make install" in said, said
    said = python(load, SAMPLING_LIBRARY="libm.so.6")
    assert said.startswith("SamplingError True") and "libm.so.6 has no samp_version" in said, said
    with tempfile.TemporaryDirectory() as folder:  # where it is looked for, the nearest first
        at = os.path.join(folder, "src", "bindings")
        os.makedirs(at)
        shutil.copy(sampling.__file__, at)
        environment = dict(PYTHONPATH=at, SAMPLING_LIBRARY="", LD_LIBRARY_PATH=os.path.join(folder, "system"))
        said = python(load, **environment)
        places = [os.path.join(folder, to, "libsampling.so") for to in ("src/bindings", "build", "system")]
        assert os.path.exists("/usr/local/lib/libsampling.so") or all(place in said for place in places[:2]), said
        for place in places[::-1]:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.environ["SAMPLING_LIBRARY"], place)
            said = python(load, **environment)
            assert said == ("libsampling.so" if "system" in place else place) + "\n", (place, said)


def test_stub():
    """sampling.pyi has the names, parameters and defaults that sampling.py has."""
    with open(os.path.join(os.path.dirname(sampling.__file__), "sampling.pyi"), encoding="utf-8") as file:
        stub = ast.parse(file.read())

    def parameters(function):
        a = function.args
        names = [p.arg for p in a.posonlyargs + a.args]
        optional = names[len(names) - len(a.defaults):] if a.defaults else []
        return (names, set(optional) | {p.arg for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None},
                [p.arg for p in a.kwonlyargs], a.vararg and a.vararg.arg, a.kwarg and a.kwarg.arg)

    def real(function):
        ps = inspect.signature(function).parameters.values()
        kinds = {kind: [p.name for p in ps if p.kind == kind] for kind in inspect._ParameterKind}
        positional = kinds[inspect.Parameter.POSITIONAL_ONLY] + kinds[inspect.Parameter.POSITIONAL_OR_KEYWORD]
        return (positional, {p.name for p in ps if p.default is not p.empty},
                kinds[inspect.Parameter.KEYWORD_ONLY], (kinds[inspect.Parameter.VAR_POSITIONAL] or [None])[0],
                (kinds[inspect.Parameter.VAR_KEYWORD] or [None])[0])

    def compare(nodes, of, where):
        told = set()
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                told.add(node.name)
                function = inspect.getattr_static(of, node.name)
                if isinstance(function, property):
                    continue
                function = getattr(function, "__func__", function)
                if any("overload" in ast.unparse(d) for d in node.decorator_list):
                    assert set(parameters(node)[0]) <= set(real(function)[0]), f"{where}{node.name}"
                else:
                    want, is_ = parameters(node), real(function)
                    assert want == is_, f"{where}{node.name}: {want} in the stub, {is_} in truth"
            elif isinstance(node, ast.ClassDef):
                told.add(node.name)
                compare(node.body, getattr(of, node.name), f"{node.name}.")
            elif isinstance(node, ast.AnnAssign):
                told.add(node.target.id)
            elif isinstance(node, ast.Assign):
                told.update(target.id for target in node.targets)
        if inspect.isclass(of):
            for name, value in vars(of).items():
                public = not name.startswith("_") or name in ("__init__", "__len__", "__enter__", "__exit__")
                assert not public or name in told or issubclass(of, tuple), f"{where}{name} is not in the stub"

    compare(stub.body, sampling, "")
    names = {n.name for n in stub.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))} | {
        n.target.id for n in stub.body if isinstance(n, ast.AnnAssign)}
    assert set(sampling.__all__) <= names, set(sampling.__all__) - names


def test_why():
    """An error of a row, or of settings, says what C can say of it."""
    bad = array.array("f", ROW)
    bad[7] = math.nan
    chains = [Chain(N), Chain(N)]
    for what in (lambda: chains[0].sample(bad), lambda: chains[0].sample(list(bad)), lambda: chains[0].verify([bad], []),
                 lambda: chains[0].sample(array.array("d", bad)), lambda: chains[0].sample(bad, logprobs=1),
                 lambda: sample_batch(chains[:1], [bad])):
        error = fails(what, "logit 7 is NaN")
        assert error.name == "SAMP_E_NAN" and error.field == "logits"
    fails(lambda: chains[0].sample([-math.inf] * N), "all 40 tokens are masked")
    fails(lambda: chains[0].sample([math.inf] * N), "logit 0 is +infinity")
    error = fails(lambda: sample_batch(chains, [bad, [math.inf] * N]), "row 0: logit 7 is NaN", BatchError)
    assert str(error.errors[1]) == "logit 0 is +infinity"
    nothing = Chain(N, constraints=[Constraint.suppressed_tokens(range(N))])
    assert fails(lambda: nothing.sample(ROW), "no token is left").name == "SAMP_E_EMPTY"  # the row itself is good
    error = fails(lambda: Chain(N, logit_bias={50: 1.0}), "token 50")
    assert error.field == "logit_bias" and "[0, 39]" in str(error)
    fails(lambda: Chain(N).accept(-1), "token: -1 is not in [0, 2147483647]")


WORDS = ["a", "b", "ab", "\u00e9", "\u20ac", "\U0001f600", " ", "\n"]


def twin(pieces, tokens, stops, end, least=0, shows=False):
    """The whole text, and which stop ends it where, in one look at all bytes: what Text does, told otherwise."""
    data, owner = b"", []
    for i, token in enumerate(tokens):
        if token == end and i >= least:
            break
        data, owner = data + pieces[token], owner + [i] * len(pieces[token])
    found = [(at + len(stop), at, i) for i, stop in enumerate(stops) for at in range(len(data) - len(stop) + 1)
             if data.startswith(stop, at) and owner[at + len(stop) - 1] >= least]
    if not found:
        return data, None
    till, at, which = min(found)
    token = owner[at]
    return data[:till if shows else at], (which, (token, at - owner.index(token)))


def test_texts():
    """The stream shows what a look at the whole text shows, however it is cut, and never too much or too late."""
    chance = random.Random(5)
    for case in range(1500):
        whole = "".join(chance.choices(WORDS[:chance.randint(2, 8)], k=chance.randint(1, 30))).encode()
        if case % 3 == 0:  # broken characters
            whole = bytes(chance.choice(whole + b"\xff\xe2") for _ in whole)
        cuts = sorted(chance.sample(range(1, len(whole)), min(len(whole) - 1, chance.randint(0, 20)))) + [len(whole)]
        pieces = [whole[a:b] for a, b in zip([0] + cuts, cuts)] + [b""]
        tokens, end = [*range(len(pieces) - 1)], len(pieces) - 1
        if case % 2:
            tokens.append(end)
        stops = []
        for _ in range(chance.randint(0, 4)):
            at = chance.randrange(len(whole))
            stop = whole[at:at + chance.randint(1, 9)]
            stops.append(bytes(stop) if chance.random() < 0.7 else stop + b"b")
        least, shows, longest = chance.choice((0, 0, 3)), chance.random() < 0.2, max(map(len, stops), default=1)
        vocab = Vocab(pieces, eos=end)
        want, stopped = twin(pieces, tokens, stops, end, least, shows)
        for raw in False, True:
            text = Text(vocab, stops, min_tokens=least, include_stop=shows, raw_bytes=raw)
            said, i, n_back = [], 0, 3
            while i < len(tokens) and text.state == "goes_on":
                if n_back and i and chance.random() < 0.2:  # back, or on with a copy
                    k, n_back = chance.randint(0, i), n_back - 1
                    text.rollback(k)
                    i, said = i - k, said[:i - k]
                    text = text.clone()
                    continue
                said.append(text.push(tokens[i]))
                i += 1
                if raw and text.state == "goes_on" and (i <= least or tokens[i - 1] != end):
                    come, shown = b"".join(pieces[token] for token in tokens[:i]), b"".join(said)
                    assert want.startswith(shown) and len(come) - len(shown) <= longest - 1 + 3, (case, come, shown)
            got = (b"" if raw else "").join(said + [text.flush()])
            assert got == (want if raw else want.decode(errors="replace")), (case, pieces, stops, got, want)
            if stopped:
                assert (text.state, text.stop, text.stop_at) == ("stopped", *stopped), (case, text.stop_at, stopped)
            else:
                assert text.state == "ended" and text.stop is None
                assert text.stop_at == ((i - 1, 0) if i and tokens[i - 1] == end and i > least else None)
    # a flush is taken back by rollback(0), a stop is not; stop tokens; patterns; the first blank
    vocab = Vocab(LETTERS, eos=END)

    def said(text, what):
        return [text.push(token) for token in letters(what)]

    text = Text(vocab, ["stop"])
    assert said(text, "a st") == ["a", " ", "", ""] and text.flush() == "st" and text.state == "ended"
    assert text.push(letters("a")[0]) == "" and text.state == "ended"
    text.rollback(0)
    assert text.state == "goes_on" and said(text, "op") == ["", ""] and text.state == "stopped"
    text.rollback(0)
    assert text.state == "stopped" and text.push(END) == "" and text.state == "stopped"
    text.rollback()
    assert text.state == "goes_on" and text.push(letters("a")[0]) == "stoa"
    text.reset()
    assert text.state == "goes_on" and said(text, "stop")[-1] == "" and (text.stop, text.stop_at) == (0, (0, 0))
    text = Text(vocab, stop_tokens=letters("x"), strip_space=True)
    text.add_pattern("[0-9]+!", 8)
    assert said(text, " a1x") == ["", "a", "", "1"] and text.state == "ended" and text.stop_at == (3, 0)
    text.reset()
    assert said(text, "a12!") == ["a", "", "", ""] and (text.state, text.stop, text.stop_at) == ("stopped", 0, (1, 0))
    fails(lambda: text.add_pattern("a", 3), "pattern")  # the text has tokens
    for pattern, status in ("a*", -2), ("(", -10), ("a$", -9), ("a\0", -10):
        error = fails(lambda: Text(vocab).add_pattern(pattern, 9), "pattern: ")
        assert (error.field, error.status) == ("pattern", status)
    fails(lambda: Text(vocab).push(96), "token: 96 is not in the vocabulary")
    fails(lambda: Text(vocab, [""]), "stops")
    fails(lambda: Text(vocab, "stop"), "stops: 'stop' is no list")
    text.close()
    for use in (lambda: text.push(1), text.flush, lambda: text.stop, lambda: text.stop_at, text.clone, text.reset,
                text.rollback, lambda: text.add_pattern("a", 1)):
        assert fails(use, "the Text is closed").name == "SAMP_E_NULL"


def test_requests():
    """A request's stops, least number of tokens and masked ends; fields of others."""
    vocab = Vocab(LETTERS, eos=END)
    chain = Chain.from_request("vllm", {"stop": ["no", "xy"], "include_stop_str_in_output": True, "temperature": 0}, vocab)
    text = chain.text()
    assert [text.push(token) for token in letters("axy")] == ["a", "x", "y"] and text.stop == 1
    assert chain.clone().text().push(END) == "" and Chain(vocab).text().push(letters("a")[0]) == "a"
    assert Chain.from_request("sglang", {"stop_regex": ["[xy]+!"]}, 96).text(vocab).push(letters("x")[0]) == ""
    fails(lambda: Chain(96).text(), "vocab")
    fails(lambda: chain.text(5), "vocab")
    likes_end = [9.0 if i == END else 0.0 for i in range(96)]
    least = {"min_tokens": 3, "temperature": 0}
    assert fails(lambda: Chain.from_request("vllm", least, vocab), "n_prompt").field == "min_tokens"
    for n, chain in ((2, Chain.from_request("vllm", least, vocab, n_prompt=2)),
                     (0, Chain.from_request("vllm", {**least, "presence_penalty": 0.1}, vocab))):
        assert chain.with_prompt == (n > 0)  # penalties that look at what is generated alone
        chain.accept(letters("ab")[:n])
        assert [chain.sample(likes_end) == END for _ in range(4)] == [False] * 3 + [True]
    never = Chain.from_request("llama_server", {"ignore_eos": True, "temperature": 0}, vocab)
    assert END not in said(never, 5, likes_end) and never.text().push(END) == ""
    for request, peer, field in (({"min_tokens": 3}, "vllm", "min_tokens"),
                                 ({"ignore_eos": True}, "llama_server", "ignore_eos")):
        for unknown in None, 96, Vocab(LETTERS):
            error = fails(lambda: Chain.from_request(peer, request, unknown, n_prompt=0), f"{field}: ")
            assert error.name == "SAMP_E_UNSUPPORTED" and error.field == field
        Chain.from_request(peer, request, handled=[field])
    many = {"proxy": 1, "options": {"mood": 2, "\u20ac": [], "top_k": 3}}
    chain = Chain.from_request("ollama", many, 96, lenient=True)
    assert chain.left_out == ["proxy", "options.mood", "options.\u20ac"] and "top-k(k=3" in chain.describe()
    short = {chr(97 + i % 26) + "z" * (i // 26): 0 for i in range(500)}
    assert len(Chain.from_request("ollama", {"options": short}, lenient=True).left_out) == 500
    assert Chain.from_request("ollama", {}, lenient=True).left_out == [] and list(Chain().left_out) == []
    fails(lambda: Chain.from_request("ollama", many), "proxy")
    fails(lambda: Chain.from_request("ollama", {"no": 1, "options": {"top_k": "x"}}, lenient=True), "top_k")


def test_ngrams():
    """A draft is what a search through the whole text finds."""
    chance = random.Random(3)
    for _ in range(100):
        n_min, text, most = chance.randint(1, 3), [], chance.randint(1, 8)
        n_max = n_min + chance.randint(0, 3)
        ngram = Ngram(n_min, n_max, 1000)
        for _ in range(60):
            if text and chance.random() < 0.1:
                n = chance.randint(0, len(text))
                ngram.rollback(n)
                text = text[:len(text) - n]
            new = chance.choices(range(3), k=chance.randint(1, 3))
            ngram.accept(new if len(new) > 1 else new[0])
            text, want = text + new, []
            for k in range(n_max, n_min - 1, -1):
                ends = [e for e in range(k, len(text)) if text[e - k:e] == text[-k:]]
                if ends:
                    e = max([e for e in ends if len(text) - e >= most] or [ends[0]])
                    want = text[e:e + most]
                    break
            assert ngram.draft(most) == want, (text, n_min, n_max, most)
    assert ngram.draft(0) == [] and len(ngram.draft(2**64 - 1)) <= len(text)
    if numpy is not None:
        ngram.accept(numpy.int64(1))
        ngram.accept(numpy.array([2, 1]))
    ngram.reset()
    assert ngram.draft(5) == []
    for what, field in ((lambda: Ngram(0), "n_min"), (lambda: Ngram(6), "n_max"), (lambda: Ngram(2, 65), "n_max"),
                        (lambda: Ngram(2, 5, 4), "max_tokens"), (lambda: Ngram(2, 5, 2**26 + 1), "max_tokens"),
                        (lambda: ngram.rollback(1), "n"), (lambda: ngram.accept(-1), "token")):
        error = fails(what, f"{field}: ")
        assert error.name == "SAMP_E_RANGE" and error.field == field
    fails(lambda: copy.copy(ngram), "can't be copied")
    ngram.close()
    for use in (lambda: ngram.accept(1), lambda: ngram.accept([]), lambda: ngram.draft(1), ngram.reset, ngram.rollback):
        fails(use, "the Ngram is closed")


BEHIND = {None: [.40, .30, .20, .10], 0: [.10, .30, .20, .40], 1: [.25, .15, .45, .15], 2: [.20, .15, .05, .60],
          3: [.25, .25, .25, .25]}


def searched(beams, chains=None, stop=99):
    tokens = [None]
    while tokens and stop:
        logits = [[math.log(p) for p in BEHIND[token]] for token in tokens]
        tokens, stop = [token for _, token in beams.step(logits, chains)], stop - 1
    return beams


def test_beams():
    """transformers' results on the vectors of test_search.c; chains follow their beams; a state goes on."""
    for values, texts in (({}, ["123", "0123"]), ({"early_stopping": True}, ["123", "03"]),
                          ({"length_penalty": 0}, ["03", "123"])):
        beams = searched(Beams(2, 5, ends=[3], **values))
        assert ["".join(map(str, text)) for text, _ in beams.found] == texts
    half, whole = searched(Beams(2, 5, ends=[3]), stop=2), Beams(2, 5, ends=[3])
    whole.load(half.save())
    assert whole.found == half.found and whole.save() == half.save()
    chains = [Chain(4, penalty_repeat=1.0, penalty_present=9.0, penalty_last_n=8, top_k=0, top_p=1, min_p=0, temp=1) for _ in range(2)]
    text, score = searched(Beams(2, 3, length_penalty=0), chains).found[0]
    assert len(set(text)) == 3 and score < 0  # no token twice
    both = searched(Beams(2, 2, sampled=True, seed=5)).found
    assert len(both) == 2 and both[0] != both[1]
    for what, field in ((lambda: Beams(4, 5, n_groups=3), "n_groups"), (lambda: Beams(4, 5, ends=[-1]), "ends")):
        assert fails(what, field).field == field
    fails(lambda: beams.step([0.0] * 4, chains[:1]), "chains: 1, not 2")
    fails(lambda: copy.copy(beams), "can't be copied")
    beams.close()
    for use in (lambda: beams.step([0.0] * 4), lambda: beams.found, beams.save):
        fails(use, "the Beams is closed")


def test_unmask():
    logits = [[1.0, 2.0, 3.0], [9.0, 0.0, 0.0], [0.0, 0.0, 0.5]]
    chains = [Chain(3, temp=0) for _ in logits]
    assert unmask(chains, logits) == [None, 0, None]
    assert unmask(chains, logits, "entropy", 2) == [2, 0, None]
    assert unmask(chains, logits, "threshold", 0, threshold=0.6) == [2, 0, None]
    assert unmask(chains, logits, "independent", 0, threshold=1) == [2, 0, 2]
    assert len({str(unmask(chains, logits, seed=i, temp=0.5)) for i in range(40)}) == 3
    assert [unmask_count("even", left, step, 4) for step, left in enumerate((10, 7, 4, 2))] == [3, 3, 2, 2]
    fails(lambda: unmask(chains, logits[:2]), "logits")
    fails(lambda: unmask(chains, logits, n=0), "n, threshold or temp")


def test_guide():
    other = rows(1, 7)[0]
    soft = [[x - math.log(sum(map(math.exp, row))) for x in row] for row in (ROW, other)]
    got = guide(ROW, other, 1.5)
    assert got.typecode == "f" and all(abs(g - (u + 1.5 * (c - u))) < 1e-5 for g, c, u in zip(got, *soft))
    out = array.array("f", ROW)
    assert guide(out, other, 1.5, out) is out and out == got  # in place
    both = memoryview(array.array("f", list(ROW) + other))
    assert guide(list(ROW), array.array("d", other), 1.5, both[N:]) is not None and both[N:] == got
    fails(lambda: guide(ROW, other[1:], 1.5), "one length")
    fails(lambda: guide(both[:N], other, 1.5, both[1:N + 1]), "out")  # it overlaps
    for out in array.array("d", ROW), ROW[1:], bytes(4 * N), both[::2]:
        assert fails(lambda: guide(ROW, other, 1.5, out), "out").field == "out"
    bad = list(ROW)
    bad[3] = math.nan
    for what, text in ((lambda: guide(ROW, bad, 1), "logit 3 is NaN"), (lambda: guide([], [], 1), "no token is left"),
                       (lambda: guide(ROW, [-math.inf] * N, 1), "all 40 tokens are masked")):
        assert fails(what, text).field in ("uncond", "cond")
    fails(lambda: guide(ROW, other, math.nan), "scale")
    if numpy is not None:
        to = numpy.zeros(N, "f4")
        assert guide(numpy.array(ROW), numpy.array(other), numpy.float32(1.5), to) is to and list(to) == list(got)


def gguf(**settings):
    """A GGUF file without tensors."""
    def text(of):
        return struct.pack("<Q", len(of)) + of

    data = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(settings))
    for name, value in settings.items():
        data += text(b"tokenizer.ggml." + name.encode())
        if isinstance(value, int):
            data += struct.pack("<II", 4, value)
        elif isinstance(value, bytes):
            data += struct.pack("<I", 8) + text(value)
        else:
            words = isinstance(value[0], bytes)
            data += struct.pack("<IIQ", 9, 8 if words else 5, len(value)) + b"".join(
                text(of) if words else struct.pack("<i", of) for of in value)
    return data


def test_vocabularies():
    """Vocabularies of models' own files."""
    tokenizer = json.dumps({
        "model": {"type": "BPE", "vocab": {"a": 0, "\u0120b": 1, "\u00c3\u00a9": 2}, "merges": []},
        "decoder": {"type": "ByteLevel"}, "added_tokens": [
            {"id": 3, "content": "<|endoftext|>", "special": True}, {"id": 4, "content": "<|im_end|>", "special": True}]})
    for text in tokenizer, tokenizer.encode(), bytearray(tokenizer.encode()):
        vocab = Vocab.from_tokenizer_json(text)
        assert (len(vocab), vocab.eos, vocab.eot, sorted(vocab.eog)) == (5, 3, 4, [3, 4])
        assert "".join(map(Text(vocab).push, (0, 1, 2))) == "a b\u00e9" and Chain(vocab, Grammar.from_regex("a")).sample(
            [0.0, 9.0, 9.0, 0.0, 0.0]) == 0
    error = fails(lambda: Vocab.from_tokenizer_json('{"model": {"type": "WordPiece", "vocab": {}}}'), "WordPiece")
    assert error.name == "SAMP_E_UNSUPPORTED" and error.field == "vocab"
    fails(lambda: Vocab.from_tokenizer_json("{"), "vocab: line 1, column ")
    file = gguf(model=b"llama", tokens=[b"\xe2\x96\x81a", b"<0x0A>", b"</s>", b"b"], token_type=[1, 6, 3, 1],
                eos_token_id=2)
    for of in file, bytearray(file), memoryview(file + bytes(9)):
        vocab = Vocab.from_gguf(of)
        assert (len(vocab), vocab.eos, vocab.eot, vocab.eog) == (4, 2, None, (2,))
        assert "".join(map(Text(vocab, strip_space=True).push, (0, 1, 3))) == "a\nb"
    with tempfile.TemporaryFile() as of:  # a mapped file, which is let go of, also where it is refused
        of.write(file + bytes(4096))
        of.flush()
        for change in (False, True):
            with mmap.mmap(of.fileno(), 0) as mapped:
                mapped[:4] = b"GGUG" if change else b"GGUF"
                if change:
                    fails(lambda: Vocab.from_gguf(mapped), "vocab: ")
                else:
                    assert len(Vocab.from_gguf(mapped)) == 4
    for bad in b"", file[:20], b"GGUF":
        fails(lambda: Vocab.from_gguf(bad), "vocab")
    assert Vocab([b"a", None, None], eos=1, eot=2).eot == 2 and Vocab([b"a"]).eos is None


def test_texts_kept():
    """What a text borrows stays; copies of it, of a chain that made it; in whatever order the collector comes by."""
    for order in itertools.permutations((Vocab, Chain, Text, Ngram)):
        made = {cls: cls.__new__(cls) for cls in order}
        vocab, chain, text, ngram = (made[cls] for cls in (Vocab, Chain, Text, Ngram))
        vocab.__init__(LETTERS, eos=END)
        chain.__init__(vocab)
        text.__init__(vocab, ["b"])
        ngram.__init__()
        cyclic(*made.values(), text.clone(), chain.text())
        del made, vocab, chain, ngram
        alone = copy.deepcopy(text)
        del text
        gc.collect()
        junk = [Vocab(LETTERS[::-1], eos=0) for _ in range(20)]  # where the vocabulary has been
        assert [alone.push(token) for token in letters("aab")] == ["a", "a", ""] and alone.state == "stopped" and junk


def test_memory():
    """All is freed once, whatever goes wrong on the way."""
    gc.collect()
    assert live() == 0, f"{live()} blocks are left"
    keep = Chain(Vocab(LETTERS, eos=END), Grammar.from_regex("[ab]*"), seed=1)
    gc.collect()
    assert live() > 0 and keep.sample([0.0] * 96) in letters("ab") + [END]  # what it borrows is still there
    copied = keep.clone()
    del keep
    gc.collect()
    assert copied.sample([0.0] * 96) in letters("ab") + [END]
    copied.close()
    del copied
    gc.collect()
    assert live() == 0
    for _ in range(50):
        for bad in (lambda: Chain(N, top_p=2), lambda: Grammar.from_regex("("), lambda: Vocab([b"a"], eos=3),
                    lambda: Chain(LETTERS, Grammar.from_regex("a"), top_k="x")):
            fails(bad, "")
    gc.collect()
    assert live() == 0


def main():
    tests = [test for name, test in globals().items() if name.startswith("test_") and name not in sys.argv[1:]]
    for test in tests:
        try:
            test()
        except BaseException:
            print(f"test_sampling.py: {test.__name__} fails", file=sys.stderr)
            raise
    print(f"{len(tests)} tests")


if __name__ == "__main__":
    main()
