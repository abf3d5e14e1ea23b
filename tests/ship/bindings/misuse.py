"""Every parameter of every function and method of sampling.py, found by introspection, gets everything that it must
refuse: each time a SamplingError that names it, never another exception, and the object is as it was. The kinds and
ranges of parameters are those of C's arguments of the same name in the calls that the method's source has; KINDS has
the others."""
import array
import ctypes
import decimal
import fractions
import inspect
import itertools
import math
import os
import re
import struct
import sys

import sampling
from sampling import (Beams, Chain, Constraint, Grammar, Loop, Matcher, Ngram, Sampler, SamplingError, Text, Vocab,
                      Watermark)

try:
    import numpy
except ImportError:
    numpy = None

VOCAB = Vocab([b"a", b"b", b"\n", None], eos=3)
GRAMMAR = Grammar.from_regex("[ab]*")
TOKENIZER = '{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "decoder": {"type": "ByteLevel"}}'
GGUF = b"GGUF" + struct.pack("<IQQQ20sIQ5sQ21sIIQQ1s", 3, 0, 2, 20, b"tokenizer.ggml.model", 8, 5, b"llama", 21,
                             b"tokenizer.ggml.tokens", 9, 8, 1, 1, b"a")
ROW, SPANS = [0.5, 1.0, 2.0, 0.0], [([0], [1])]
CLOSED = {cls: make() for cls, make in ((Vocab, lambda: Vocab([b"a"])), (Grammar, lambda: Grammar.from_regex("a")),
                                        (Chain, Chain), (Matcher, lambda: Matcher(VOCAB, GRAMMAR)),
                                        (Constraint, lambda: Constraint.loop_watch()))}
for closed in CLOSED.values():
    closed.close()


def chain(**settings):
    return Chain(VOCAB, seed=1, constraints=[Constraint.thinking(SPANS, 5), Constraint.loop_watch(),
                                             Constraint.schedule({"temperature": 2})], **settings)


def thinking():
    of = chain()
    of.accept(0)
    return of


# name: an object, if it is a method, and arguments that are accepted
CALLS = {
    "Vocab": lambda: (Vocab, dict(tokens=[b"a", "b", None], eos=2, eot=1, eog=[2])),
    "Vocab.from_tokenizer_json": lambda: (Vocab.from_tokenizer_json, dict(text=TOKENIZER)),
    "Vocab.from_gguf": lambda: (Vocab.from_gguf, dict(file=GGUF)),
    "Grammar": lambda: (Grammar, dict(text='r ::= "a"', kind="gbnf", root="r")),
    "Grammar.from_string": lambda: (Grammar.from_string, dict(gbnf='r ::= "a"', root="r")),
    "Grammar.from_json_schema": lambda: (Grammar.from_json_schema, dict(schema={"type": "null"}, style="compact")),
    "Grammar.from_regex": lambda: (Grammar.from_regex, dict(pattern="a")),
    "Grammar.from_structural_tag": lambda: (Grammar.from_structural_tag, dict(
        tag={"type": "structural_tag", "format": {"type": "any_text"}}, style="compact")),
    "Grammar.from_tools": lambda: (Grammar.from_tools, dict(
        model="llama", tools=[{"type": "function", "function": {"name": "f"}}], options="one", style="compact")),
    "Grammar.warm": lambda: (GRAMMAR.warm, dict(vocab=VOCAB, budget=9)),
    "Sampler.accept": lambda: (chain().accept, dict(token=1)),
    "Sampler.reset": lambda: (chain().reset, {}),
    "Sampler.rollback": lambda: (chain().rollback, dict(n=0)),
    "Sampler.set_rollback": lambda: (chain().set_rollback, dict(depth=3)),
    "Sampler.clone": lambda: (chain().clone, {}),
    "Sampler.save": lambda: (chain().save, {}),
    "Sampler.load": lambda: (chain().load, dict(state=chain().save())),
    "Sampler.position": lambda: (setter(chain(), "position"), dict(position=3)),
    "Sampler.describe": lambda: (chain().describe, {}),
    "Sampler.rewind_length": lambda: (chain().rewind_length, {}),
    "Sampler.loop_length": lambda: (chain().loop_length, {}),
    "Sampler.thinking_left": lambda: (chain().thinking_left, {}),
    "Sampler.thinking_now": lambda: (chain().thinking_now, {}),
    "Sampler.thinking_used": lambda: (chain().thinking_used, {}),
    "Sampler.thinking_end": lambda: (thinking().thinking_end, {}),
    "Sampler.schedule_holds": lambda: (chain().schedule_holds, {}),
    "Matcher": lambda: (Matcher, dict(vocab=VOCAB, grammar=GRAMMAR, trigger_words=["a"], trigger_tokens=[1])),
    "Matcher ": lambda: (Matcher, dict(vocab=VOCAB, grammar=GRAMMAR, trigger_patterns=["a"], trigger_tokens=[1])),
    "Matcher.mask": lambda: (matcher().mask, dict(out=array.array("I", [0]))),
    "Matcher.allows": lambda: (matcher().allows, dict(token=1)),
    "Matcher.is_complete": lambda: (matcher().is_complete, {}),
    "Matcher.is_awaiting": lambda: (matcher().is_awaiting, {}),
    "Matcher.forced": lambda: (matcher().forced, {}),
    "Matcher.draft": lambda: (matcher().draft, dict(n=3)),
    "Matcher.certain": lambda: (matcher().certain, dict(n=3)),
    "Matcher.prepare": lambda: (matcher().prepare, dict(budget=9)),
    "Matcher.stats": lambda: (matcher().stats, {}),
    "Matcher.set_limits": lambda: (matcher().set_limits, dict(max_bytes=1 << 20, max_steps=1 << 20)),
    "Constraint.thinking": lambda: (Constraint.thinking, dict(
        spans=SPANS, budget=5, vocab=VOCAB, inside=0, total=9, soft=2, grace=1, note=[2], ends=[[1]], ramp="linear",
        bias=1.0, loop=Loop(), loop_from=3)),
    "Constraint.thinking ": lambda: (Constraint.thinking, dict(spans=SPANS, budget=5, soft_ratio=0.5)),
    "Constraint.schedule": lambda: (Constraint.schedule, dict(
        what={"temperature": 1.5}, count="lines", start=1, stop=9, begin=1, where="inside", spans=SPANS, inside=0,
        until=[1], vocab=VOCAB, loop=Loop())),
    "Constraint.loop_watch": lambda: (Constraint.loop_watch, dict(loop=Loop())),
    "Constraint.loop_breaker": lambda: (Constraint.loop_breaker, dict(loop=Loop(), penalty=1.0)),
    "Constraint.loop_breaker_cusum": lambda: (Constraint.loop_breaker_cusum, dict(
        n=3, last_n=64, loss=0.25, alarm=3.0, penalty=1.0)),
    "Constraint.banned_pattern": lambda: (Constraint.banned_pattern, dict(
        vocab=VOCAB, pattern="ab", rewind=False, any_case=True)),
    "Constraint.banned_strings": lambda: (Constraint.banned_strings, dict(
        vocab=VOCAB, strings=["ab"], rewind=False, any_case=True)),
    "Constraint.banned_sequences": lambda: (Constraint.banned_sequences, dict(sequences=[[0, 1]], rewind=False)),
    "Constraint.sequence_bias": lambda: (Constraint.sequence_bias, dict(biases={(0, 1): 2.0})),
    "Constraint.suppressed_tokens": lambda: (Constraint.suppressed_tokens, dict(tokens=[1])),
    "Constraint.begin_suppressed_tokens": lambda: (Constraint.begin_suppressed_tokens, dict(tokens=[1], begin=1)),
    "Constraint.min_tokens": lambda: (Constraint.min_tokens, dict(tokens=[1], n_min=3, begin=1)),
    "Constraint.allowed_tokens": lambda: (Constraint.allowed_tokens, dict(tokens=[1])),
    "Constraint.forced_prefix": lambda: (Constraint.forced_prefix, dict(tokens=[1], begin=1)),
    "Constraint.eog_bias": lambda: (Constraint.eog_bias, dict(tokens=[1], bias=1.0)),
    "Constraint.length_penalty": lambda: (Constraint.length_penalty, dict(tokens=[1], start=3, factor=1.5, begin=1)),
    "Constraint.top_p_decay": lambda: (Constraint.top_p_decay,
                                       dict(p=0.9, decay=0.9, lowest=0.3, resets=[1], min_keep=1)),
    "Constraint.no_repeat_ngram": lambda: (Constraint.no_repeat_ngram, dict(n=3, last_n=64, exempt=[1])),
    "Constraint.timestamps": lambda: (Constraint.timestamps,
                                      dict(first=60, no_timestamps=50, max_initial=3, exempt=[1])),
    "Watermark": lambda: (Watermark, dict(key=5, kind="sbw_selfhash", seed=3, context_width=4, history=9, delta=2.0,
                                          gamma=0.5, scope="always")),
    "Watermark ": lambda: (Watermark, dict(key=5, kind="synthid", depth=9)),
    "Watermark  ": lambda: (Watermark, dict(key=5, kind="gumbel_dual", alpha=0.5)),
    "Watermark.for_draft": lambda: (Watermark(5, "gumbel_dual").for_draft, {}),
    "Watermark.detect": lambda: (Watermark(5).detect, dict(text=[1, 2, 3])),
    "Watermark.detect_keys": lambda: (Watermark(5).detect_keys, dict(keys=[1, 2], text=[1, 2, 3])),
    "Watermark.find": lambda: (Watermark(5).find, dict(text=[1, 2, 3], window=2)),
    "Chain": lambda: (Chain, dict(
        vocab=VOCAB, grammar=GRAMMAR, constraints=[Constraint.loop_watch()], watermark=Watermark(5), top_k=3, top_p=0.5,
        seed=3, dry_multiplier=1.0, dry_breakers=["a"], logit_bias={1: 2.0}, order=["top_k", "temperature"], temp=0.5)),
    "Chain ": lambda: (Chain, dict(vocab=4, n_ctx_train=9)),
    "Chain.from_request": lambda: (Chain.from_request, dict(
        peer="vllm", request={"thinking_token_budget": 3, "min_tokens": 2}, vocab=VOCAB, grammar=GRAMMAR, handled=["n"],
        lenient=True, seed=3, thinking=lambda n: Constraint.thinking(SPANS, n), n_prompt=3, constraints=[],
        watermark=Watermark(5))),
    "Chain.text": lambda: (Chain.from_request("vllm", {"stop": "a"}).text, dict(vocab=VOCAB)),
    "Chain.sample": lambda: (chain().sample,
                             dict(logits=ROW, mask=[True, True, False, True], logprobs=2, dtype="float32",
                                  ids=[1, 0], support=3)),
    "Chain.verify": lambda: (chain().verify, dict(
        logits=[ROW, ROW], draft=[1], probs=[[1.0]], ids=[[1]], method="ratio", dtype="float32",
        logprobs=1, logprob_ids=[1, 0], support=3)),
    "Chain.replay": lambda: (chain().replay, dict(tokens=[1, 0])),
    "Chain.replay_check": lambda: (chain().replay_check, dict(
        logits=[ROW, ROW], tokens=[1, 0], mask=[[True] * 4] * 2, dtype="float32")),
    "Chain.score": lambda: (chain().score, dict(logits=ROW, token=1)),
    "Chain.explain": lambda: (chain().explain, dict(logits=ROW, token=1)),
    "Chain.update": lambda: (chain().update, dict(top_k=3, top_p=0.5, seed=3, dry_breakers=["a"], logit_bias={1: 2.0},
                                                  order=["top_k"])),
    "Chain.get": lambda: (chain().get, dict(name="top_k")),
    "Chain.prev": lambda: (chain().prev, dict(n=3)),
    "sample_batch": lambda: (sampling.sample_batch, dict(
        chains=[chain(), chain()], logits=[ROW, ROW], mask=[[True] * 4] * 2, logprobs=1, row_index=[1, 0], n_threads=1,
        dtype="float32", ids=[1], support=0)),
    "guide": lambda: (sampling.guide, dict(cond=ROW, uncond=ROW, scale=1.5, out=array.array("f", ROW))),
    "Text": lambda: (Text, dict(vocab=VOCAB, stops=["ab"], stop_tokens=[1], min_tokens=1, include_stop=False,
                                raw_bytes=True, strip_space=True)),
    "Text.add_pattern": lambda: (text().add_pattern, dict(pattern="a+b", max_bytes=9)),
    "Text.push": lambda: (text().push, dict(token=1)),
    "Text.flush": lambda: (text().flush, {}),
    "Text.rollback": lambda: (text().rollback, dict(n=0)),
    "Text.clone": lambda: (text().clone, {}),
    "Text.reset": lambda: (text().reset, {}),
    "Ngram": lambda: (Ngram, dict(n_min=2, n_max=64, max_tokens=99)),
    "Ngram.accept": lambda: (Ngram().accept, dict(token=1)),
    "Ngram.rollback": lambda: (Ngram().rollback, dict(n=0)),
    "Ngram.draft": lambda: (Ngram().draft, dict(n=3)),
    "Ngram.reset": lambda: (Ngram().reset, {}),
    "Beams": lambda: (Beams, dict(n_beams=2, max_tokens=5, ends=[1], length_penalty=1.0, early_stopping="never",
                                  n_groups=2, diversity_penalty=0.5, sampled=False, seed=1)),
    "Beams.step": lambda: (Beams(2, 5).step, dict(logits=ROW, chains=[chain(), chain()], dtype="float32")),
    "Beams.save": lambda: (Beams(2, 5).save, {}),
    "Beams.load": lambda: (Beams(2, 5).load, dict(state=Beams(2, 5).save())),
    "unmask": lambda: (sampling.unmask, dict(chains=[chain(), chain()], logits=[ROW, ROW], rule="margin", n=1,
                                             threshold=0.5, seed=1, temp=0.5, dtype="float32")),
    "unmask_count": lambda: (sampling.unmask_count, dict(schedule="even", n_masked=5, step=0, n_steps=1)),
    "raw_logprobs": lambda: (sampling.raw_logprobs, dict(
        logits=[ROW, ROW], tokens=[3, -1], logprobs=1, mask=[[True] * 4] * 2, dtype="float32", ids=[1])),
    "child_seed": lambda: (sampling.child_seed, dict(seed=1, i=2)),
    "takes": lambda: (sampling.takes, dict(name="top_k")),
    "version": lambda: (sampling.version, {}),
}


def matcher():
    return Matcher(VOCAB, GRAMMAR)


def text():
    return Text(VOCAB, ["ab"])


def setter(of, name):
    def set_(**value):
        setattr(of, name, value[name])
    set_.__self__ = of
    return set_


# the kinds of parameters that no argument of C has the name of; "?": None is accepted
KINDS = {
    "tokens": "pieces", "eos": "token -1..2?", "eot": "token -1..2?", "eog": "token[n] 0..2?", "gbnf": "text",
    "pattern": "text",
    "schema": "json", "tag": "json", "request": "json", "style": "style?", "root": "style?", "state": "byte[size]",
    "trigger_words": "texts?", "trigger_patterns": "texts?", "trigger_tokens": "token[n]?", "out": "words?",
    "loop": "loop?", "spans": "spans", "rewind": "bool", "any_case": "bool", "sequences": "sequences",
    "biases": "biases",
    "what": "what", "start": "i32 0..", "stop": "i32 0..", "inside": "i32 -1..0?", "key": "u64", "ends": "sequences",
    "vocab": "vocabulary?", "grammar": "grammar?", "constraints": "constraints", "watermark": "watermark?",
    "handled": "texts?",
    "thinking": "thinking", "logits": "logits", "mask": "mask?", "logprobs": "i32 0..1024?",
    "support": "i32 0..4194304?", "dtype": "dtype?",
    "draft": "token[n] 0..3",
    "probs": "probs?", "ids": "ids?", "method": "method", "chains": "chains", "row_index": "i32[n] 0..1?",
    "seed": "setting u64 ?",
    "name": "name", "n": "size", "gamma": "setting f64 (0..1)", "delta": "setting f32 0..", "alpha": "setting f64 0..1",
    "depth": "setting i32 1..32",
    "history": "setting i32 1..4194304", "context_width": "setting i32 1..64", "scope": "setting",
    "top_k": "setting i32 ?", "top_p": "setting f32 (0..1]?",
    "temp": "setting f32 0..1048576?", "dry_multiplier": "setting f32 0..?", "n_ctx_train": "setting i32 0..4194304?",
    "order": "order?", "dry_breakers": "breakers?",
    "logit_bias": "logit_bias?", "position": "u64", "ramp": "ramp?", "keys": "u64[n]", "peer": "peer",
    "n_threads": "i32 0..", "n_prompt": "i32 0..?", "lenient": "bool", "text": "text",
}
SPECIAL = {("Vocab.from_tokenizer_json", "text"): "file text", ("Grammar.from_tools", "model"): "style",
           ("Grammar.from_tools", "tools"): "json?", ("Grammar.from_tools", "options"): "style?",
           ("Grammar.warm", "vocab"): "vocab", ("Grammar.warm", "budget"): "i64 1..", ("Vocab.from_gguf", "file"): "file",
           ("guide", "cond"): "guided", ("guide", "uncond"): "guided", ("guide", "scale"): "f32", ("guide", "out"): "floats?",
           ("Text", "stops"): "stops", ("Text.push", "token"): "token 0..3", ("Text.add_pattern", "pattern"): "text",
           ("Text.add_pattern", "max_bytes"): "size 1..4096", ("Ngram.accept", "token"): "accepted",
           ("Ngram", "n_min"): "i32 1..64", ("Ngram", "n_max"): "i32 2..64",
           ("Ngram", "max_tokens"): "size 64..67108864", ("Chain.text", "vocab"): "vocab?",
           ("Chain.sample", "ids"): "token[n] 0..3?", ("sample_batch", "ids"): "token[n] 0..3?",
           ("raw_logprobs", "ids"): "token[n] 0..3?", ("Chain.verify", "logprob_ids"): "token[n] 0..3?",
           ("raw_logprobs", "tokens"): "token[n] -1..3?",
           ("raw_logprobs", "logprobs"): "i32 0..1024?", ("Chain.replay", "tokens"): "token[n] 0..4194303",
           ("Chain.replay_check", "tokens"): "token[n] 0..3",
           ("Chain.score", "token"): "token 0..3", ("Chain.explain", "token"): "token 0..3",
           ("Beams", "early_stopping"): "early", ("Beams", "n_groups"): "i32 0..2", ("Beams.step", "logits"): "row",
           ("Beams.step", "chains"): "chains?", ("unmask", "threshold"): "f32", ("unmask", "temp"): "f32 0..", ("unmask", "seed"): "u64",
           ("unmask", "n"): "i32 1..", ("unmask_count", "step"): "i32 0..0",
           ("Vocab", "tokens"): "pieces", ("Matcher", "vocab"): "vocab", ("Matcher", "grammar"): "grammar",
           ("Sampler.rollback", "n"): "i32 0..", ("Sampler.set_rollback", "depth"): "i32 0..",
           ("Constraint.loop_watch", "loop"): "loop", ("Constraint.loop_breaker", "loop"): "loop",
           ("Watermark.detect", "text"): "token[n] 0..", ("Constraint.sequence_bias", "biases"): "biases",
           ("Watermark", "seed"): "u64?",
           ("Sampler.accept", "token"): "accepted", ("Matcher.allows", "token"): "token"}
# what C calls it
ALSO = {"gbnf": "text", "style": "root", "state": "bytes", "start": "from", "stop": "to", "inside": "open",
        "n_min": "n_min",
        "sequences": "tokens", "biases": "bias", "schema": "text", "tag": "text"}


def kind_of(name, function, parameter):
    """What the parameter is to C, as the source of its method calls it."""
    name = name.strip()
    if (name, parameter) in SPECIAL:
        return SPECIAL[name, parameter]
    source = inspect.getsource(function.__init__ if inspect.isclass(function) else function)
    default = inspect.signature(function).parameters.get(parameter)
    for call in re.findall(r"\bc\.(\w+)(?:\.of)?\(", source):
        kinds = getattr(getattr(sampling.c, call), "kinds", {})
        if parameter in kinds and not kinds[parameter].writes and not kinds[parameter].struct:
            text = kinds[parameter].text.replace("?", "", 1)
            return text + "?" * bool(kinds[parameter].optional or default is not None and default.default is None)
    return KINDS[parameter]


class Bad:
    """Its methods raise what they should not."""

    def __init__(self, error):
        self.error = error

    def __index__(self):
        raise self.error

    __float__ = __len__ = __iter__ = __index__


OTHER = ["x", b"x", 1j, object(), Ellipsis, len, Bad(ValueError("bad")), Bad(OverflowError("bad")),
         decimal.Decimal("0.5"),
         fractions.Fraction(1, 2), GRAMMAR, VOCAB, int]
FLOATS = [math.nan, math.inf, -math.inf]


def numbers(text):
    """Of a kind of C's numbers: too small, too large, and no such number."""
    base, _, limits = text.rstrip("?").partition(" ")
    real = base in sampling._REAL
    low, high = (-3.5e38, 3.5e38) if base == "f32" else (-math.inf, math.inf) if real else sampling._WHOLE[base][1:]
    form = re.match(r"(\(?)(-?[\d.]*?|-inf|)\.\.(-?\d+(?:\.\d+)?|inf)?([)\]]?)(?![\w_+-])", limits)
    least, most = (form[2], form[3]) if form else ("", "")
    if real:
        yield from (math.nan, 10**400)
        yield from [math.inf] * (most != "inf") + [-math.inf] * (least != "-inf" and not limits.startswith("-inf"))
        yield from [1e39, -1e39, 10**300] if base == "f32" else []
        yield from [float(least)] if form and form[1] else [float(least) - 0.5] if least not in ("", "-inf") else []
        yield from [float(most) + (0 if form[4] == ")" else 0.5)] if most not in ("", "inf", None) else []
        yield from [numpy.array([0.5, 0.5]), numpy.array(["a"]), numpy.bool_(True)] if numpy else []
        yield from (of for of in OTHER if not hasattr(of, "__float__") or isinstance(of, Bad))
    else:
        least, most = int(least) if least else low, int(most) if most else high
        for end in {low, least}:
            yield from (end - 1, end - 2**32, end - 2**64, -10**5000)
        for end in {high, most}:
            yield from (end + 1, high + 2 + end, 2**64 + end + 1, 10**5000)
        yield from (3.9, 3.0, 0.0)
        yield from FLOATS
        yield from [numpy.float64(3), numpy.array([1, 2]), numpy.array([1.5]), numpy.bool_(True),
                    numpy.uint64(2**64 - 1) if
                    high < 2**64 - 1 else 0.5, numpy.datetime64(3, "s")] if numpy else []
        yield from OTHER
    yield from (True, "1", b"1", [1], (1,), {}, {1: 2})


def elements(text):
    """Of an array of numbers."""
    base = text.partition("[")[0]
    for bad in numbers(base + text.partition("]")[2].rstrip("?")):
        yield [bad] if not (isinstance(bad, (list, tuple))) else [bad, [1, 2]]
    yield from ("1", b"1", bytearray(b"1"), [None], [[1, 2], [3, 4]], {1: 2}, {}.items, 1, 1.5, object(), iter, [[]],
                [[1], 2], ["1"],
                [b"1"], ctypes.pointer(ctypes.c_int(1)), ctypes.c_int(1), array.array("f", [1]), Bad(TypeError("bad")),
                range(2**70), (ctypes.POINTER(ctypes.c_int) * 2)())
    if numpy:
        yield from (numpy.array([1.5]), numpy.array([True]), numpy.array([[1], [2]]), numpy.array(1),
                    numpy.array(["1"]),
                    numpy.array([1 + 2j]), numpy.array([1], dtype="M8[s]"), numpy.array([None]),
                    numpy.zeros((1, 1, 1), "i4"),
                    numpy.zeros(2, dtype=[("a", "i4")]), numpy.ma.array([1, 2], mask=[True, False], dtype="i4"))


def rows(good):
    """Of rows of numbers."""
    recursive = []
    recursive.append(recursive)
    yield from ("abc", b"abcd", bytearray(4), 5, 1.5, {1: 2}, object(), iter, [None] * 4, ["1"] * 4, [True] * 4,
                [[[1.0] * 4]], recursive,
                [10**400] * 4, [1j] * 4, [[1.0], [1.0, 2.0]], [[1.0], 2.0], [1.0, [2.0]],
                ctypes.pointer(ctypes.c_float(1)),
                ctypes.c_float(1), (ctypes.POINTER(ctypes.c_float) * 4)(), [math.nan] * 4, [math.inf] * 4, [0.5] * 3,
                [0.5] * 5, [],
                array.array("f", [1, 2, 3]), memoryview(b"abcd").cast("c"), Bad(TypeError("bad")), range(2**70),
                Tensor(device="cuda"), Tensor(data_ptr=Bad(RuntimeError("bad")).__index__),
                Tensor(dtype="torch.complex64"), Tensor(data_ptr=lambda: 0),
                memoryview(bytes(64)).cast("f", (2, 2, 4)))
    if numpy:
        yield from (numpy.zeros((1, 1, 4), "f4"), numpy.array(1.0), numpy.zeros(4, "c8"), numpy.zeros(4, "U1"),
                    numpy.zeros(4, "M8[s]"),
                    numpy.zeros(4, [("a", "f4")]), numpy.array([None] * 4), numpy.full((2, 4), numpy.nan),
                    numpy.zeros(4, bool),
                    numpy.ma.array(numpy.zeros((2, 4), "f4"), mask=numpy.ones((2, 4))), numpy.zeros((2, 3), "f4"),
                    numpy.zeros((0, 0), "f4"),
                    numpy.zeros((2, 4), "S4"), numpy.zeros((2, 4), "V4"))


class Tensor:
    """A tensor that lacks something."""

    def __init__(self, device="cpu", dtype="torch.float32", data_ptr=None):
        self.device, self.dtype, self.shape = type("device", (), {"type": device}), dtype, (4,)
        self.data_ptr = data_ptr or (lambda: 64)

    def element_size(self):
        return 4

    def stride(self):
        return (1,)


def wrong(kind):
    """What is to be refused where this kind is wanted."""
    optional, kind = kind.endswith("?"), kind.rstrip("?")
    yield from [] if optional else [None]
    if re.match(r"(token|[iu]\d+|size|f\d+)\[", kind):
        yield from elements(kind)
    elif kind.partition(" ")[0] in {**sampling._WHOLE, **sampling._REAL}:
        yield from numbers(kind)
    elif kind == "accepted":  # a token, or many
        yield from (bad for bad in numbers("token 0..") if not isinstance(bad, (list, tuple))
                    and not hasattr(bad, "__len__"))
        yield from ("12", b"12", [3.9], [True], [[1]], [None], ["1"], {1: 2}, [2**31], [2**32 + 1], ([1],))
    elif kind.startswith("setting "):  # a number, or its text
        yield from (bad for bad in numbers(kind[8:]) if not isinstance(bad, (str, bytes)) and
                    type(bad).__name__ not in sampling._BOOLS)
        yield from ("x", "1\0", "1 ", b"\xff", "\ud800", "1e400")
    elif kind == "text" or kind == "name":
        yield from (5, 1.5, True, [], ["a"], object(), "a\0b", b"a\0b", "\ud800", {}, Bad(TypeError("bad")))
        yield from ["no_such", "", "top_k\0", b"top_k\0x"] if kind == "name" else []
    elif kind == "style":
        yield from (5, 1.5, True, ["a"], object(), "a\0b", "r\0", "compact\0", "\ud800", {}, "no_such", 0, False, [])
    elif kind == "json":
        yield from ("{", "{}\0", b"{}\0", b"\xff", {"a": object()}, {1j: 1}, object(), {"a": b"b"}, {"a": math.nan},
                    "\ud800", [object()],
                    set(), 5, math.nan)
        loop = {}
        loop["a"] = loop
        yield loop
    elif kind.startswith("file"):
        yield from (5, 1.5, True, [71], object(), {}, b"", b"GG", b"{", bytes(99), Bad(TypeError("bad")), [GGUF])
        yield from (memoryview(TOKENIZER.encode())[::2], "\ud800", GGUF) if kind == "file text" else (
            TOKENIZER, memoryview(GGUF)[::-1], array.array("d", [1]))
    elif kind == "stops":
        yield from ("ab", b"ab", 5, True, [5], [None], [""], ["a\0b"], ["\ud800"], object(), {"a": 1}, [["a"]],
                    ["a" * 65537], ["a"] * 65537, Bad(TypeError("bad")))
    elif kind == "guided":
        yield from rows(ROW)
        yield from ([ROW], [math.nan] + ROW[1:], [-math.inf] * 4)
    elif kind == "floats":
        yield from (5, "a", [0.5] * 4, bytes(16), array.array("f"), array.array("f", ROW * 2), array.array("d", ROW),
                    memoryview(bytes(16)).cast("f"), object(), (ctypes.c_float * 3)(), Bad(TypeError("bad")))
        if numpy:
            yield from (numpy.zeros((1, 4), "f4"), numpy.zeros(8, "f4")[::2], numpy.zeros(4, ">f4"),
                        numpy.zeros(4, "f8"), numpy.zeros(17, "u1")[1:].view("f4"))
    elif kind.startswith("texts"):
        yield from ("ab", b"ab", 5, 1.5, True, [5], [None], ["a\0b"], [b"a\0"], ["\ud800"], object(), {"a": 1}, [["a"]],
                    Bad(TypeError("bad")))
    elif kind in ("order", "breakers"):  # a text, or a list of texts
        yield from (5, 1.5, True, [5], [None], ["a\0b"], "a\0b", [b"a\0"], ["\ud800"], object(), {"a": 1}, [["a"]],
                    Bad(TypeError("bad")))
    elif kind == "pieces":
        yield from ("ab", b"ab", 5, 1.5, True, [5], [1.5], ["\ud800"], object(), {"a": 1}, [["a"]],
                    Bad(TypeError("bad")), [object()])
    elif kind == "byte[size]":
        yield from ("ab", 5, 2**40, True, 1.5, [1], object(), b"", b"junk" * 20, {}, Bad(TypeError("bad")))
    elif kind == "bool":
        yield from (0, 1, 2, "no", "", 1.0, math.nan, [], object(), Bad(TypeError("bad")), b"")
    elif kind in ("vocab", "const vocab", "kept const vocab", "vocabulary"):
        yield from (CLOSED[Vocab], GRAMMAR, matcher(), object(), 1.5, True, {"a": 1, "b": 2}, "ab", b"ab", -1, 2**31,
                    2**32 + 3)
        yield from [5, [b"a"]] if kind != "vocabulary" else [[1, 2]]
    elif kind == "grammar":
        yield from (CLOSED[Grammar], VOCAB, object(), 5, "a", b"a", CLOSED[Chain], chain(), [])
        yield from [CLOSED[Matcher]]
    elif kind == "constraints":
        yield from (CLOSED[Constraint], [CLOSED[Constraint]], [None], 5, "a", [VOCAB], object(), [object()], [chain()],
                    {})
    elif kind == "watermark":
        yield from (5, "a", object(), VOCAB, GRAMMAR, [], Watermark)
    elif kind == "chains":
        yield from (chain(), [None, None], [CLOSED[Chain], chain()], 5, "ab", [matcher(), matcher()], [chain()],
                    object(), [1, 2], {})
    elif kind == "what":
        yield from (5, "a", [], object(), CLOSED[Constraint], chain(), matcher(), {"top_p": 2}, {"no": 1}, {5: 1},
                    {"mirostat": 2},
                    {"temperature": "x"}, {"top_k": 2**32 + 1}, {"seed": 1})
    elif kind == "thinking":
        yield from (5, "a", object(), lambda n: None, lambda n: VOCAB, lambda n: CLOSED[Constraint])
    elif kind == "loop":
        good = list(Loop())
        yield from (5, "abcde", [], [1], object(), {}, b"abcde")
        for i, bad in itertools.product(range(5), (0, -1, 2**31, 2**32 + 4, 3.9, "4", None, True, math.nan, object())):
            yield good[:i] + [bad] + good[i + 1:]
    elif kind == "spans":
        yield from ("ab", 5, object(), {}, [5], [([0],)], [([0], [1], [1], [1])], [([0], [])], [([], [1])],
                    [([0], "1")], [None])
        yield from ([([0], bad)] for bad in elements("token[n] 0.."))
    elif kind == "sequences":
        yield from ("ab", 5, object(), {}, [5], ["ab"], [[]], [b"ab"], [None])
        yield from ([bad] for bad in elements("token[n] 0.."))
    elif kind in ("biases", "logit_bias"):
        yield from ("ab", 5, object(), [5], {0: None}, {(0, 1): "1"}, [(0,)], [(0, 1, 2)], {"1": 1.0}, {3.9: 1.0},
                    {2**32 + 1: 1.0}, {1: math.nan},
                    {True: 1.0}, {1: True}, {None: 1.0}, {1: math.inf}, {1: 10**400}, [None], {-1: 1.0})
        yield from [("ab"), {4: 1.0}, "1", "1+1\0"] if kind == "logit_bias" else [{(0, 2**31): 1.0}, {(): 1.0},
                                                                                  {(0,): 1e39}]
    elif kind == "words":
        yield from (5, "a", b"abcd", bytes(4), [0], object(), array.array("I"), array.array("d", [0]),
                    array.array("H", [0, 0]),
                    memoryview(bytes(4)).cast("I"), bytearray(4), ctypes.c_uint32(0),
                    ctypes.pointer(ctypes.c_uint32(0)))
        if numpy:
            frozen = numpy.zeros(1, "u4")
            frozen.flags.writeable = False
            yield from (frozen, numpy.zeros(1, ">u4"), numpy.zeros(1, "u8"), numpy.zeros(2, "u1,u4")["f1"],
                        numpy.zeros(1, "f4"), numpy.zeros(0, "u4"),
                        numpy.array(1, "u4"), numpy.zeros((1, 1, 1), "u4"),
                        numpy.ma.array([1], mask=[True], dtype="u4"))
    elif kind == "logits":
        yield from rows(ROW)
    elif kind == "row":  # of any length
        yield from (bad for bad in rows(ROW) if not (isinstance(bad, (list, array.array)) and len(bad) in (3, 5)))
    elif kind == "early":
        yield from (1, 0, 2, 0.0, "ever", "", object(), [], b"never", math.nan)
    elif kind == "mask":
        yield from ("abcd", b"abcd", 5, 1.5, object(), {}, [None] * 4, ["a"] * 4, [0.5] * 4, [True] * 3, [True] * 5,
                    array.array("d", [1] * 4), [[]],
                    [[True] * 4] * 3, array.array("I"), array.array("I", [0] * 2), Bad(TypeError("bad")),
                    ctypes.pointer(ctypes.c_uint32(0)))
    elif kind == "dtype":
        yield from ("int8", 5, object(), "half", "", [], True, b"float32", math.nan)
    elif kind in ("probs", "ids"):
        yield from ("abc", 5, object(), {}, [None], [["1"]], [[[1]]], [[1.0], [1.0]], [[2.0**40]], [[math.nan]], [[-1]],
                    1.5, [[]], [["a"]])
    elif kind == "setting":
        yield from (5, True, object(), "no", "a\0b", [], 1.5)
    else:  # a word
        yield from ("no_such", 5, b"exact", object(), [], True, "exact\0", ("gbnf",), Bad(TypeError("bad")))


def public():
    """Each function and each method of the module's own classes."""
    for name in sampling.__all__:
        of = getattr(sampling, name)
        if inspect.isfunction(of):
            yield name
        if inspect.isclass(of) and not issubclass(of, (tuple, Exception)):
            if "__init__" in vars(of):
                yield name
            for method, value in vars(of).items():
                if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, classmethod) or
                                                   isinstance(value, property) and value.fset) and method != "close":
                    yield f"{name}.{method}"


def state(of):
    return of.save() if isinstance(of, Sampler) and of._held is not sampling._CLOSED else None


def refused(name, make, parameter, bad, kind):
    """What is wrong about a call with a bad argument, or None."""
    function, arguments = make()
    of = getattr(function, "__self__", None)
    before, names = state(of), (parameter, ALSO.get(parameter, parameter))
    arguments[parameter] = bad
    try:
        result = function(**arguments)
    except SamplingError as error:
        number = kind.replace("setting ", "").partition(" ")[0] in {**sampling._WHOLE, **sampling._REAL}
        named = not number or any(one in str(error.field) for one in names)
        if not named or error.status >= 0 or not error.name.startswith("SAMP_E_"):
            return f"does not name it: {error.name} {error.field}, {error}"
        return "has changed the object" if state(of) != before else None
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return f"gives {sampling._said(result)}"


def main():
    missed = set(public()) - {name.strip() for name in CALLS}
    assert not missed, f"no call here has {missed}"
    n, wrongs = 0, []
    for name, make in CALLS.items():
        function, good = make()
        function(**good)  # is accepted
        for parameter in good:
            kind = kind_of(name, function, parameter)
            for bad in wrong(kind):
                what, n = refused(name, make, parameter, bad, kind), n + 1
                if what:
                    wrongs.append(f"{name.strip()}({parameter}={sampling._said(bad)}), {kind}: {what}")
    for name, make in CALLS.items():
        missed = set(inspect.signature(make()[0]).parameters) - {"settings", "numbers", "value"}
        missed -= set().union(*(other()[1] for at, other in CALLS.items() if at.strip() == name.strip()))
        assert not missed, f"no call of {name} here has {missed}"
    assert not wrongs, f"{len(wrongs)} of {n} are wrong:\n" + "\n".join(wrongs[:int(os.environ.get("SHOW", 20))])
    print(f"{len(CALLS)} calls refuse {n} arguments")


if __name__ == "__main__":
    main()
