"""sampling.h from Python: chains, batches, masks, log-probabilities, grammars, constraints, watermarks, drafts, states.
python.md has examples.

    chain = Chain(top_k=40, temperature=0.8)
    token = chain.sample(logits)            # an array of numpy's, of array's or a tensor of torch's is read where it is

The library is libsampling.so (make lib) beside this file, else one that is installed (make install), or what
SAMPLING_LIBRARY names. Only ctypes is needed. Whatever goes wrong is a SamplingError, and never a token. One object is
for one thread at a time; different ones may work at once, as C runs without the interpreter's lock.
"""
import array
import collections
import ctypes
import json
import math
import os
import sys
from ctypes import (POINTER, Structure, byref, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t,
                    c_ssize_t, c_uint32, c_uint64, c_void_p)

__all__ = ["BatchError", "Chain", "Constraint", "Grammar", "GrammarStats", "Logprob", "LogprobSet", "Logprobs", "Loop",
           "Matcher", "Sampler", "SamplingError", "Vocab", "Watermark", "WatermarkResult", "WatermarkSpan", "aliases",
           "child_seed", "sample_batch", "takes", "version"]

VERSION = 1, 0  # major and minor version that the structures below are those of

# ---- C's side -------------------------------------------------------------------------------------------------------


class _Logprob(Structure):
    _fields_ = [("token", c_int32), ("rank", c_int32), ("logprob", c_float)]


class _LogprobSet(Structure):
    _fields_ = [("top_logprobs", POINTER(_Logprob)), ("n_top", c_int32), ("n_top_found", c_int32),
                ("chosen", _Logprob), ("cumulative_logprob", c_double)]


class _Logprobs(Structure):
    _fields_ = [("raw", _LogprobSet), ("processed", _LogprobSet)]


class _Logits(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int), ("n_rows", c_size_t), ("n_vocab", c_size_t),
                ("stride", c_size_t), ("row_index", c_void_p), ("mask", c_void_p), ("mask_stride", c_size_t),
                ("logprobs", POINTER(_Logprobs)), ("n_threads", c_int32)]


class _Draft(Structure):
    _fields_ = [("n", c_size_t), ("tokens", c_void_p), ("probs", c_void_p), ("ids", c_void_p), ("n_top", c_size_t)]


class _TextError(Structure):
    _fields_ = [("status", c_int), ("line", c_size_t), ("column", c_size_t), ("message", c_char * 160)]


class _Request(Structure):
    _fields_ = [("error", _TextError), ("field", c_char * 64), ("seeded", ctypes.c_bool),
                ("with_prompt", ctypes.c_bool), ("thinking_budget", ctypes.c_int32)]


class _Usage(Structure):
    _fields_ = [(name, c_size_t) for name in ("n_states", "n_entries", "n_masks", "n_hits", "n_renewals", "n_bytes",
                                              "max_bytes")]


class _Sequence(Structure):
    _fields_ = [("tokens", c_void_p), ("n", c_size_t), ("bias", c_float)]


class _Loop(Structure):
    _fields_ = [(name, c_int32) for name in ("min_period", "max_period", "copies", "last_n", "every")]


class _Thinking(Structure):
    _fields_ = [("start", c_void_p), ("n_start", c_size_t), ("end", c_void_p), ("n_end", c_size_t),
                ("force", c_void_p), ("n_force", c_size_t)]


class _Plan(Structure):
    _fields_ = [("total", c_int32), ("soft", c_int32), ("soft_ratio", c_float), ("grace", c_int32),
                ("note", c_void_p), ("n_note", c_size_t), ("ends", POINTER(_Sequence)), ("n_ends", c_size_t),
                ("ramp", c_int), ("bias", c_float), ("loop", POINTER(_Loop)), ("loop_from", c_int32)]


class _Schedule(Structure):
    _fields_ = [("count", c_int), ("start", c_int32), ("stop", c_int32), ("begin", c_int32), ("where", c_int),
                ("spans", POINTER(_Thinking)), ("n_spans", c_size_t), ("inside", c_int32), ("until", c_void_p),
                ("n_until", c_size_t), ("vocab", c_void_p), ("loop", POINTER(_Loop))]


class _Mark(Structure):
    _fields_ = [("kind", c_int), ("key", c_uint64), ("context_width", c_int32), ("scope", c_int), ("history", c_int32),
                ("alpha", c_double), ("depth", c_int32), ("gamma", c_double), ("delta", c_float), ("seed", c_uint64)]


class _MarkResult(Structure):
    _fields_ = [("score", c_double), ("p_value", c_double), ("n_scored", c_size_t), ("ln_p", c_double)]


class _MarkSpan(Structure):
    _fields_ = [("begin", c_size_t), ("end", c_size_t), ("result", _MarkResult), ("p_value", c_double),
                ("ln_p", c_double)]


_beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libsampling.so")
_lib = ctypes.CDLL(os.environ.get("SAMPLING_LIBRARY", _beside if os.path.exists(_beside) else "libsampling.so"))


def _declare(name, result, *arguments):
    function = getattr(_lib, "samp_" + name)
    function.restype, function.argtypes = result, arguments
    return function


_version = _declare("version", c_int)
if _version() // 100 != VERSION[0] * 100 + VERSION[1]:
    raise ImportError(f"libsampling is version {_version()}, sampling.py is for {VERSION[0]}.{VERSION[1]}")

_P, _S = c_void_p, POINTER(c_int)  # an object, a status that is written
_error_text_ = _declare("error_text", c_int, c_int, c_char_p, c_char_p, c_size_t)
_child_seed = _declare("child_seed", c_uint64, c_uint64, c_uint64)
_settings_new = _declare("settings_new", _P)
_settings_free = _declare("settings_free", None, _P)
_settings_set = _declare("settings_set", c_int, _P, c_char_p, c_char_p, POINTER(c_char_p))
_settings_get = _declare("settings_get", c_int, _P, c_char_p, c_char_p, c_size_t)
_settings_takes = _declare("settings_takes", c_int, c_char_p, c_char_p, c_size_t)
_settings_use_vocab = _declare("settings_use_vocab", c_int, _P, _P)
_settings_params = _declare("settings_params", _P, _P)
_settings_from = _declare("settings_from", c_int, _P, c_int, c_char_p, POINTER(c_char_p), POINTER(_Request))
_check_params = _declare("check_params", c_int, _P, POINTER(c_char_p))
_chain_from_params = _declare("chain_from_params", _P, _P, _S)
_chain_update = _declare("chain_update", c_int, _P, _P)
_chain_get = _declare("chain_get", _P, _P, c_int32)
_chain_insert = _declare("chain_insert", c_int, _P, c_int32, _P)
_vocab_init = _declare("vocab_init", _P, c_char_p, _P, c_int32, _P, c_size_t, c_int32, c_int32, _S)
_vocab_free = _declare("vocab_free", None, _P)
_index_init = _declare("vocab_index_init", _P, _P, _S)
_index_free = _declare("vocab_index_free", None, _P)
_grammar_init = _declare("grammar_init", _P, c_int, c_char_p, c_char_p, POINTER(_TextError))
_grammar_free = _declare("grammar_free", None, _P)
_init_grammar = _declare("init_grammar", _P, _P, _P)
_init_lazy = _declare("init_grammar_lazy", _P, _P, _P, POINTER(c_char_p), c_size_t, _P, c_size_t)
_init_lazy_patterns = _declare("init_grammar_lazy_patterns", _P, _P, _P, POINTER(c_char_p), c_size_t, _P, c_size_t)
_grammar_mask = _declare("grammar_mask", c_int, _P, _P)
_grammar_is_complete = _declare("grammar_is_complete", c_int, _P)
_grammar_is_awaiting = _declare("grammar_is_awaiting", c_int, _P)
_grammar_forced = _declare("grammar_forced", c_int64, _P, c_char_p, c_size_t)
_grammar_draft = _declare("grammar_draft", c_int64, _P, _P, c_size_t)
_grammar_certain = _declare("grammar_certain", c_int64, _P, _P, c_size_t)
_grammar_prepare = _declare("grammar_prepare", c_int, _P, c_int64)
_grammar_stats = _declare("grammar_stats", c_int, _P, POINTER(_Usage))
_grammar_limits = _declare("set_grammar_limits", c_int, _P, c_size_t, c_int64)
_init_banned_sequences = _declare("init_banned_sequences", _P, POINTER(_Sequence), c_size_t, ctypes.c_uint)
_init_sequence_bias = _declare("init_sequence_bias", _P, POINTER(_Sequence), c_size_t)
_init_banned_strings = _declare("init_banned_strings", _P, _P, POINTER(c_char_p), c_size_t, ctypes.c_uint)
_init_banned_pattern = _declare("init_banned_pattern", _P, _P, c_char_p, ctypes.c_uint, POINTER(_TextError))
_init_suppressed = _declare("init_suppressed_tokens", _P, _P, c_size_t)
_init_begin_suppressed = _declare("init_begin_suppressed_tokens", _P, _P, c_size_t, c_int32)
_init_min_tokens = _declare("init_min_tokens", _P, _P, c_size_t, c_int32, c_int32)
_init_allowed = _declare("init_allowed_tokens", _P, _P, c_size_t)
_init_forced = _declare("init_forced_prefix", _P, _P, c_size_t, c_int32)
_init_eog_bias = _declare("init_eog_bias", _P, _P, c_size_t, c_float)
_init_length = _declare("init_length_penalty", _P, _P, c_size_t, c_int32, c_float, c_int32)
_init_top_p_decay = _declare("init_top_p_decay", _P, c_float, c_float, c_float, _P, c_size_t, c_size_t)
_init_ngram = _declare("init_no_repeat_ngram", _P, c_int32, c_int32)
_init_breaker = _declare("init_loop_breaker", _P, c_int32, c_int32, c_int32, c_int32, c_int32, c_float)
_init_cusum = _declare("init_loop_breaker_cusum", _P, c_int32, c_int32, c_float, c_float, c_float)
_init_loop_watch = _declare("init_loop_watch", _P, POINTER(_Loop))
_init_thinking = _declare("init_thinking", _P, _P, POINTER(_Thinking), c_size_t, c_int32, c_int32, POINTER(_Plan))
_init_schedule = _declare("init_schedule", _P, POINTER(_Schedule), _P)
_init_watermark = _declare("init_watermark", _P, POINTER(_Mark))
_init_watermark_draft = _declare("init_watermark_draft", _P, POINTER(_Mark))
_rewind_length = _declare("rewind_length", c_int32, _P)
_loop_length = _declare("loop_length", c_int32, _P)
_thinking_left = _declare("thinking_left", c_int32, _P)
_thinking_now = _declare("thinking_now", c_int32, _P)
_thinking_used = _declare("thinking_used", c_int32, _P)
_thinking_end = _declare("thinking_end", c_int, _P)
_schedule_holds = _declare("schedule_holds", c_int32, _P)
_default_watermark = _declare("default_watermark", _Mark, c_int)
_watermark_set = _declare("watermark_set", c_int, POINTER(_Mark), c_char_p, c_char_p)
_watermark_keys = _declare("watermark_detect_keys", c_int, POINTER(_Mark), POINTER(c_uint64), c_size_t, _P, c_size_t,
                           POINTER(_MarkResult))
_watermark_find = _declare("watermark_find", c_int, POINTER(_Mark), _P, c_size_t, c_size_t, POINTER(_MarkSpan))
_name = _declare("name", c_char_p, _P)
_chain_n = _declare("chain_n", c_int32, _P)
_chain_remove = _declare("chain_remove", _P, _P, c_int32)
_chain_add = _declare("chain_add", c_int, _P, _P)
_sample = _declare("sample", c_int32, _P, _P, c_size_t)
_sample_batch = _declare("sample_batch", c_int, POINTER(_P), POINTER(_Logits), _P)
_verify = _declare("verify", c_int32, _P, _P, c_size_t, POINTER(_Draft), c_int, _P)
_verify_block = _declare("verify_block", c_int32, _P, _P, c_size_t, POINTER(_Draft), _P)
_accept = _declare("accept", c_int, _P, c_int32)
_rollback = _declare("rollback", c_int, _P, c_int32)
_set_rollback = _declare("set_rollback", c_int, _P, c_int32)
_reset = _declare("reset", None, _P)
_clone = _declare("clone", _P, _P)
_free = _declare("free", None, _P)
_status = _declare("status", c_int, _P, POINTER(c_char_p))
_state_size = _declare("state_size", c_size_t, _P)
_state_save = _declare("state_save", c_int, _P, _P, c_size_t)
_state_load = _declare("state_load", c_int, _P, c_char_p, c_size_t)
_get_position = _declare("get_position", c_uint64, _P)
_set_position = _declare("set_position", c_int, _P, c_uint64)
_get_seed = _declare("get_seed", c_uint64, _P)
_prev = _declare("prev", c_size_t, _P, _P, c_size_t)
_describe = _declare("describe", c_int, _P, c_char_p, c_size_t)

# ---- errors ---------------------------------------------------------------------------------------------------------

_NAMES = dict(enumerate("OK E_NULL E_RANGE E_NAN E_EMPTY E_NOMEM E_WORKSPACE E_DTYPE E_DEVICE E_UNSUPPORTED E_FORMAT "
                        "E_FULL E_NAME E_ADDRESS".split()))
_NULL, _RANGE, _NOMEM, _DTYPE, _UNSUPPORTED = -1, -2, -5, -7, -9


class SamplingError(ValueError):
    """What went wrong: status (a samp_status, negative), name ("SAMP_E_RANGE"), field (which setting, or None)."""

    def __init__(self, status, field=None, text=None):
        self.status, self.field, self.name = status, field, "SAMP_" + _NAMES.get(-status, str(status))
        super().__init__(_error_text(status, field) if text is None else text)


class BatchError(SamplingError):
    """Some rows failed; the others have their tokens: tokens (None where there is none), errors ({row: what})."""

    def __init__(self, tokens, errors, logprobs=None):
        self.tokens, self.errors, self.logprobs = tokens, errors, logprobs
        row, first = next(iter(errors.items()))
        super().__init__(first.status, first.field, f"row {row}: {first}")


def _error_text(status, field):
    text, field = ctypes.create_string_buffer(400), field.encode() if field else None
    size = _error_text_(status, field, text, len(text)) + 1
    if size > len(text):
        text = ctypes.create_string_buffer(size)
        _error_text_(status, field, text, size)
    return text.value.decode()


def _check(status, field=None):
    if status < 0:
        if status == _NOMEM:
            raise MemoryError("sampling: out of memory")
        field = field.value if isinstance(field, c_char_p) else field
        raise SamplingError(status, field.decode() if isinstance(field, bytes) else field)
    return status


def _made(handle, status=None):
    if not handle:
        _check(status.value if status else _NOMEM)
        raise MemoryError("sampling: out of memory")
    return handle


# ---- arrays, where they are -----------------------------------------------------------------------------------------

_DTYPES = {"float32": 0, "float16": 1, "bfloat16": 2, "float64": 3}
_FORMATS = {"f": "float32", "e": "float16", "d": "float64", "i": "int32", "I": "uint32", "l": "int64", "L": "uint64",
            "h": "int16", "H": "uint16", "?": "bool", "B": "uint8", "b": "int8", "q": "int64", "Q": "uint64"}
_F32 = "<f4" if sys.byteorder == "little" else ">f4"
_SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}


class _PyBuffer(Structure):
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)),
                ("suboffsets", POINTER(c_ssize_t)), ("internal", c_void_p)]


_get_buffer, _release_buffer = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
_get_buffer.argtypes, _get_buffer.restype = [ctypes.py_object, POINTER(_PyBuffer), c_int], c_int
_release_buffer.argtypes, _release_buffer.restype = [POINTER(_PyBuffer)], None
_RECORDS_RO, _WRITABLE = 0x1C, 0x1


class _Buffer:
    """An object's memory: address, dtype (a name), shape, strides (in elements)."""

    def __init__(self, of, writable=False):
        self.of, self.view = of, None
        if hasattr(of, "data_ptr"):  # torch
            if of.device.type != "cpu":
                raise SamplingError(_DTYPE, None, f"a tensor on {of.device.type}: copy it with .cpu() first")
            self.address, self.dtype = of.data_ptr(), str(of.dtype).rpartition(".")[2]
            self.shape, self.strides = tuple(of.shape), tuple(of.stride())
            return
        bfloat16 = str(getattr(of, "dtype", "")) == "bfloat16"
        if bfloat16:  # ml_dtypes' arrays have no buffers
            self.of = of = of.view("uint16")
        view = _PyBuffer()
        _get_buffer(of, byref(view), _RECORDS_RO | (_WRITABLE if writable else 0))
        self.view = view
        form = (view.format or b"B").decode()
        dtype = _FORMATS.get(form.lstrip("@=<" if sys.byteorder == "little" else "@=>!"), form)
        if dtype in ("int64", "uint64") and view.itemsize == 4:
            dtype = dtype.replace("64", "32")
        self.address, self.dtype = view.buf or 0, "bfloat16" if bfloat16 else dtype
        self.shape = tuple(view.shape[:view.ndim]) if view.ndim else ()
        if view.strides:
            self.strides = tuple(s // max(view.itemsize, 1) for s in view.strides[:view.ndim])
        else:  # ctypes' arrays
            self.strides = tuple(_product(self.shape[i + 1:]) for i in range(view.ndim))

    def __del__(self):
        if self.view is not None:
            _release_buffer(byref(self.view))

    def is_dense(self):
        step = 1
        for n, stride in zip(self.shape[::-1], self.strides[::-1]):
            if n > 1 and stride != step:
                return False
            step *= n
        return True


def _buffer(of):
    if isinstance(of, (list, tuple)):
        return None
    try:
        return _Buffer(of)
    except (BufferError, TypeError):
        return None


class _Copied:
    """The same interface for values that had to be copied."""

    def __init__(self, values, shape, dtype="float32"):
        self.of = array.array({"float32": "f", "int32": "i", "uint32": "I"}[dtype], values)
        self.some = self.of if len(self.of) else array.array("d", [0])  # never NULL
        self.address, self.dtype, self.shape = self.some.buffer_info()[0], dtype, shape
        self.strides = tuple(_product(shape[i + 1:]) for i in range(len(shape)))

    def is_dense(self):
        return True


def _product(numbers):
    product = 1
    for n in numbers:
        product *= n
    return product


def _nested(of):
    """Lists in lists, or whatever can be one: shape and values."""
    if hasattr(of, "tolist"):
        of = of.tolist()
    of = list(of)
    if not of or not hasattr(of[0], "__len__") and not hasattr(of[0], "__iter__"):
        return (len(of),), of
    parts = [_nested(part) for part in of]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise SamplingError(_RANGE, None, "rows of different lengths")
    return (len(of),) + parts[0][0], [value for _, values in parts for value in values]


def _copied(of, ctype):
    shape, values = _nested(of)
    return _Copied(values, shape, ctype)


def _floats(of, dtype=None):
    """Logits or probabilities: where they are if C can read them there, else a copy."""
    at = _buffer(of)
    if at is None:
        return _copied(of, "float32")
    if dtype is not None:
        dtype = str(dtype).rpartition(".")[2]
        if dtype not in _DTYPES:
            raise SamplingError(_DTYPE, "dtype", f"dtype: {dtype} is none of {', '.join(_DTYPES)}")
        if at.dtype in ("uint16", "int16") and _SIZES[dtype] == 2:
            at.dtype = dtype
        elif at.dtype != dtype:
            raise SamplingError(_DTYPE, "dtype", f"dtype: the array's is {at.dtype}, not {dtype}")
    if at.dtype in ("uint16", "int16"):
        raise SamplingError(_DTYPE, "dtype", 'dtype: two bytes are "float16" or "bfloat16"? Say dtype=')
    if at.dtype in _DTYPES and at.shape and at.address % _SIZES[at.dtype] == 0:
        wide = len(at.shape) < 2 or at.shape[0] <= 1 or at.strides[0] >= at.shape[-1]
        if wide and (at.shape[-1] <= 1 or at.strides[-1] == 1):
            return at
    if at.dtype == "bfloat16":
        raise SamplingError(_DTYPE, None, "bfloat16 whose elements are not side by side")
    return _copied(of, "float32")


def _dense_f32(of, dtype=None):
    """The same, for functions that take float * alone."""
    at = _floats(of, dtype)
    if at.dtype == "float32" and at.is_dense():
        return at
    if at.dtype != "bfloat16":
        return _copied(of, "float32")
    bits = (ctypes.c_uint16 * (_product(at.shape))).from_address(at.address) if at.is_dense() else None
    if bits is None:
        raise SamplingError(_DTYPE, None, "bfloat16 whose rows are not side by side")
    words = array.array("I", (b << 16 for b in bits))
    return _Copied(array.array("f", words.tobytes()), at.shape)


def _integers(of, what):
    """Tokens, as int32."""
    at = _buffer(of)
    if at is not None and at.dtype == "int32" and at.is_dense():
        return at
    shape, values = _nested(of)
    if any(not -2**31 <= v < 2**31 for v in values):
        raise SamplingError(_RANGE, what)
    return _Copied([int(v) for v in values], shape, "int32")


def _bits(mask, rows, n_vocab):
    """A mask, as words of 32 bits; bools are packed: address and words from row to row."""
    words = (n_vocab + 31) // 32
    at = _buffer(mask)
    if at is None or at.dtype == "bool" or at.dtype in ("uint8", "int8"):
        shape, values = _nested(mask)
        shape = shape if len(shape) > 1 else (1,) + shape
        if shape != (rows, n_vocab):
            raise SamplingError(_RANGE, "mask", f"mask: it is {shape}, not {(rows, n_vocab)}")
        packed = []
        for r in range(rows):
            row = values[r * n_vocab:(r + 1) * n_vocab]
            packed += [sum(1 << i for i, v in enumerate(row[w:w + 32]) if v) for w in range(0, n_vocab, 32)]
        at = _Copied(packed, (rows, words), "uint32")
    shape = at.shape if len(at.shape) > 1 else (1,) + at.shape
    strides = at.strides if len(at.strides) > 1 else (shape[-1],) + at.strides
    if at.dtype not in ("uint32", "int32") or len(shape) != 2 or shape[0] != rows or shape[1] < words:
        raise SamplingError(_RANGE, "mask", f"mask: {at.dtype} {shape}, not uint32 {(rows, words)} or bool "
                                            f"{(rows, n_vocab)}")
    if (words > 1 and strides[1] != 1) or (rows > 1 and strides[0] < words):
        at = _copied(mask, "uint32")
        strides = at.strides
    return at, max(strides[0], words)


def _strings(texts):
    texts = [t.encode() if isinstance(t, str) else bytes(t) for t in texts]
    return (c_char_p * max(len(texts), 1))(*texts), len(texts)


# ---- vocabularies and grammars --------------------------------------------------------------------------------------


class Vocab:
    """The tokens' bytes, for dry, infill and grammars: Vocab([b"a", b"bc", None], eos=2).

    tokens: bytes or str each, None for control tokens. eos, eot: the tokens that end a text and a turn; eog: all that
    end a generation (else eos and eot). Freed when nothing needs it any more."""

    def __init__(self, tokens, *, eos=None, eot=None, eog=None):
        self._handle = self._trie = None
        tokens = [b"" if t is None else t.encode() if isinstance(t, str) else bytes(t) for t in tokens]
        if eog is None:
            eog = [t for t in (eos, eot) if t is not None]
        lengths, ends, status = array.array("I", map(len, tokens)), _integers(eog, "eog"), c_int()
        self.eog = tuple(ends.of)
        self._handle = _vocab_init(b"".join(tokens), lengths.buffer_info()[0], len(tokens), ends.address,
                                   len(ends.of), -1 if eos is None else eos, -1 if eot is None else eot, byref(status))
        self._n = len(tokens)
        _made(self._handle, status)

    def __len__(self):
        return self._n

    def _index(self):
        if not self._trie:
            status = c_int()
            self._trie = _made(_index_init(self._handle, byref(status)), status)
        return self._trie

    def __del__(self):
        if self._trie:
            _index_free(self._trie)
        if self._handle:
            _vocab_free(self._handle)


class Grammar:
    """What a text may be: Grammar.from_string(gbnf), .from_json_schema(schema), .from_regex(pattern),
    .from_structural_tag(tag)."""

    KINDS = {"gbnf": 0, "json_schema": 1, "regex": 2, "structural_tag": 3}

    def __init__(self, text, kind="gbnf", root=None):
        self._handle, error = None, _TextError()
        if kind not in self.KINDS:
            raise SamplingError(_RANGE, "kind", f"kind: {kind!r} is none of {', '.join(self.KINDS)}")
        text = text.encode() if isinstance(text, str) else bytes(text)
        if b"\0" in text:
            raise SamplingError(-10, "grammar", "grammar: byte 0")
        self._handle = _grammar_init(self.KINDS[kind], text, root.encode() if root else None, byref(error))
        if not self._handle:
            if error.status == _NOMEM:
                raise MemoryError("sampling: out of memory")
            raise SamplingError(error.status, "grammar", f"grammar: line {error.line}, column {error.column}: "
                                                         f"{error.message.decode(errors='replace')}")

    @classmethod
    def from_string(cls, gbnf, root=None):
        """llama.cpp's GBNF; root: the rule to begin with."""
        return cls(gbnf, "gbnf", root)

    @classmethod
    def from_json_schema(cls, schema, style=None):
        """A schema as text, dict or bool; style: "ordered", "compact", "spaced", with blanks between."""
        return cls(schema if isinstance(schema, (str, bytes)) else json.dumps(schema), "json_schema", style)

    @classmethod
    def from_regex(cls, pattern):
        """The whole text matches it (ECMA-262's)."""
        return cls(pattern, "regex")

    @classmethod
    def from_structural_tag(cls, tag, style=None):
        """Calls of tools in free text: a structural tag as text or dict, as XGrammar and vLLM's response_format have it;
        style: of the schemas in it."""
        return cls(tag if isinstance(tag, (str, bytes)) else json.dumps(tag), "structural_tag", style)

    def __del__(self):
        if self._handle:
            _grammar_free(self._handle)


# ---- samplers -------------------------------------------------------------------------------------------------------

Logprob = collections.namedtuple("Logprob", "token rank logprob")
LogprobSet = collections.namedtuple("LogprobSet", "chosen top")
Logprobs = collections.namedtuple("Logprobs", "raw processed")
GrammarStats = collections.namedtuple("GrammarStats", [name for name, _ in _Usage._fields_])

# what vLLM, transformers and llama-cpp-python call the settings; and the samplers' names, for a first value
aliases = {"temperature": "temp", "typical": "typ_p", "xtc": "xtc_probability", "dry": "dry_multiplier",
           "penalties": "penalty_last_n",
           "repetition_penalty": "penalty_repeat", "repeat_penalty": "penalty_repeat",
           "frequency_penalty": "penalty_freq", "presence_penalty": "penalty_present",
           "repeat_last_n": "penalty_last_n", "typical_p": "typ_p",
           "mirostat_mode": "mirostat", "tfs": "tfs_z", "dynatemp_exp": "dynatemp_exponent",
           "smoothing": "smoothing_factor"}


def _texts(name, value):
    """A setting's value as the texts that samp_settings_set takes, one after the other."""
    if name == "logit_bias" and not isinstance(value, str):
        pairs = value.items() if hasattr(value, "items") else value
        return [f"{int(token)}{float(bias):+}" for token, bias in pairs]
    if name == "order" and isinstance(value, (list, tuple)):
        return [";".join(value)]
    if isinstance(value, (list, tuple)):
        return [str(v) for v in value]
    return [str(int(value)) if isinstance(value, bool) else str(value)]


class _Settings:
    """A samp_settings for as long as a call needs it."""

    def __init__(self, values, vocab):
        self.handle, field = _made(_settings_new()), c_char_p()
        if isinstance(vocab, Vocab):
            _check(_settings_use_vocab(self.handle, vocab._handle))
        elif vocab is not None:
            self.set("n_vocab", str(int(vocab)))
        for name, value in values.items():
            name = aliases.get(name, name)
            if value is None:
                continue
            for text in _texts(name, value):
                self.set(name, text)
        _check(_check_params(self.params(), byref(field)), field)

    def set(self, name, text):
        field = c_char_p()
        if "\0" in text:
            raise SamplingError(-10, name)
        _check(_settings_set(self.handle, name.encode(), text.encode(), byref(field)), field)

    def params(self):
        return _settings_params(self.handle)

    def __del__(self):
        if hasattr(self, "handle"):
            _settings_free(self.handle)


class Sampler:
    """What chains and matchers have in common."""

    def __init__(self, handle, keep):
        self._handle, self._keep = handle, keep  # keep: what C borrows

    def accept(self, token):
        """Tell of a token that was not sampled here, or of several: a prompt's."""
        for one in (token if hasattr(token, "__iter__") else (token,)):
            _check(_accept(self._handle, int(one)))

    def reset(self):
        """As new: for another text."""
        _reset(self._handle)

    def rollback(self, n=1):
        """Take back the last n tokens, as if they had never been drawn."""
        _check(_rollback(self._handle, n))

    def set_rollback(self, depth):
        """How many tokens can be taken back from now on (64 unless told)."""
        _check(_set_rollback(self._handle, depth))

    def clone(self):
        """A copy that goes on as this one would."""
        _check(_status(self._handle, None))
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _handle=None)
        other._handle = _made(_clone(self._handle))
        return other

    __copy__ = clone

    def __deepcopy__(self, _):
        return self.clone()

    def save(self):
        """What it has become, as bytes: the same on every machine. load() goes on, in one with the same settings."""
        size = _state_size(self._handle)
        state = ctypes.create_string_buffer(max(size, 1))
        _check(_state_save(self._handle, state, size))
        return state.raw[:size]

    def load(self, state):
        state = bytes(state)
        _check(_state_load(self._handle, state, len(state)))

    @property
    def position(self):
        """The number of the next draw."""
        return _get_position(self._handle)

    @position.setter
    def position(self, position):
        if not 0 <= position < 2**64:
            raise SamplingError(_RANGE, "position")
        _check(_set_position(self._handle, position))

    @property
    def seed(self):
        return _get_seed(self._handle)

    def describe(self):
        """The samplers and their values, as text."""
        size = _check(_describe(self._handle, None, 0)) + 1
        text = ctypes.create_string_buffer(size)
        _describe(self._handle, text, size)
        return text.value.decode()

    def rewind_length(self):
        """How many of the last tokens rollback() should take back, as what is banned has come to stand in them."""
        return _check(_rewind_length(self._handle))

    def loop_length(self):
        """The period of the loop that the text is in, as the first loop breaker or watch finds it; 0: in none."""
        return _check(_loop_length(self._handle))

    def thinking_left(self):
        """How many tokens the open span of thinking may still have; None: none is open."""
        left = _thinking_left(self._handle)
        return None if left == -1 and _thinking_now(self._handle) == 0 else _check(left)

    def thinking_now(self):
        """Its stage: "not", "open", "soft", "note", "grace" or "ends"."""
        return _STAGES[_check(_thinking_now(self._handle))]

    def thinking_used(self):
        """How many tokens have been thought."""
        return _check(_thinking_used(self._handle))

    def thinking_end(self):
        """End the open span now: its end is forced."""
        _check(_thinking_end(self._handle))

    def schedule_holds(self):
        """Is it the time of the first schedule?"""
        return bool(_check(_schedule_holds(self._handle)))

    def close(self):
        """Free it now. Else it is freed when nothing refers to it."""
        handle, self._handle, self._keep = self._handle, None, None
        _free(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()


class Matcher(Sampler):
    """A grammar at work on one text: which tokens may come next. Chain(grammar=...) puts a copy of it first.

    trigger_words, trigger_patterns, trigger_tokens: it waits for one of them, and allows all until then. Words and
    patterns exclude each other."""

    def __init__(self, vocab, grammar, *, trigger_words=None, trigger_patterns=None, trigger_tokens=None):
        super().__init__(None, (vocab, grammar))
        self._n, field = len(vocab), c_char_p()
        if trigger_words is not None and trigger_patterns is not None:
            raise SamplingError(_RANGE, "trigger_patterns", "trigger_patterns: there are trigger_words already")
        if trigger_words is None and trigger_patterns is None and trigger_tokens is None:
            handle = _init_grammar(vocab._index(), grammar._handle)
        else:
            make = _init_lazy if trigger_patterns is None else _init_lazy_patterns
            texts, n = _strings(trigger_words or trigger_patterns or ())
            tokens = _integers(trigger_tokens or (), "trigger_tokens")
            handle = make(vocab._index(), grammar._handle, texts, n, tokens.address, len(tokens.of))
        self._handle = _made(handle)
        _check(_status(handle, byref(field)), field)

    def mask(self, out=None):
        """The tokens that may follow, as words of 32 bits (bit i % 32 of word i // 32 is token i): an array.array, or
        written to out, an array of uint32 or int32."""
        words = (self._n + 31) // 32
        bits = array.array("I", bytes(4 * words)) if out is None else out
        at = _Buffer(bits, writable=True)
        if at.dtype not in ("uint32", "int32") or _product(at.shape) < words or not at.is_dense():
            raise SamplingError(_RANGE, "out", f"out: {at.dtype} {at.shape}, not uint32 {(words,)}")
        _check(_grammar_mask(self._handle, at.address))
        return bits

    def allows(self, token):
        """May this token come next?"""
        return 0 <= token < self._n and bool(self.mask()[token // 32] >> token % 32 & 1)

    def is_complete(self):
        """Is the text one of the grammar's as it stands?"""
        return bool(_check(_grammar_is_complete(self._handle)))

    def is_awaiting(self):
        """Does it wait for its trigger?"""
        return bool(_check(_grammar_is_awaiting(self._handle)))

    def forced(self):
        """The bytes that must follow, whatever comes: to be tokenised and accepted without a model."""
        bytes_ = ctypes.create_string_buffer(4096)
        n = _check(_grammar_forced(self._handle, bytes_, 4096))
        return bytes_.raw[:min(n, 4096)]

    def draft(self, n=64):
        """What must follow as tokens, n at most: a draft for Chain.verify."""
        return self._tokens(_grammar_draft, n)

    def certain(self, n=64):
        """Those at its front that nothing else could be: they need no step of the model."""
        return self._tokens(_grammar_certain, n)

    def _tokens(self, of, n):
        out = array.array("i", bytes(4 * max(n, 1)))
        return out[:_check(of(self._handle, out.buffer_info()[0], n))].tolist()

    def prepare(self, budget):
        """Do a part of the next mask's work ahead, `budget` steps of some ten nanoseconds. Is the mask there?"""
        return bool(_check(_grammar_prepare(self._handle, budget)))

    def stats(self):
        """What all samplers of this grammar have learnt together, and its memory."""
        usage = _Usage()
        _check(_grammar_stats(self._handle, byref(usage)))
        return GrammarStats(*[getattr(usage, name) for name in GrammarStats._fields])

    def set_limits(self, max_bytes, max_steps):
        """How much the grammar may hold for all its samplers, and how many steps a call on this one may take."""
        _check(_grammar_limits(self._handle, max_bytes, max_steps))


# ---- constraints ----------------------------------------------------------------------------------------------------

Loop = collections.namedtuple("Loop", "min_period max_period copies last_n every", defaults=(4, 128, 3, 512, 16))
Loop.__doc__ = "What a loop is: a piece of so many tokens, so often, in the last last_n; looked for behind every `every`."

_STAGES = "not", "open", "soft", "note", "grace", "ends"
_RAMPS = {None: 0, "linear": 1, "exponential": 2}
_UNITS = {"tokens": 0, "lines": 1}
_AREAS = {"anywhere": 0, "inside": 1, "outside": 2}


def _word(words, word, name):
    if word not in words:
        raise SamplingError(_RANGE, name, f"{name}: {word!r} is none of {', '.join(map(str, words))}")
    return words[word]


def _list(tokens, name):
    """Tokens, as what C takes: kept, address, number."""
    at = _integers(tokens, name)
    return at, at.address, len(at.of)


def _sequences(of, name, biases=None):
    """Sequences, and what keeps them."""
    lists = [_list(tokens, name) for tokens in of]
    biases = [-math.inf] * len(lists) if biases is None else biases
    return (_Sequence * max(len(lists), 1))(*[(at, n, bias) for (_, at, n), bias in zip(lists, biases)]), lists


def _spans(of):
    """Spans of thinking, each (start, end) or (start, end, force), and what keeps them."""
    kept, spans = [], (_Thinking * max(len(of), 1))()
    for span, to in zip(of, spans):
        lists = [_list(tokens, "spans") for tokens in span]
        if len(lists) not in (2, 3):
            raise SamplingError(_RANGE, "spans", "spans: each is (start, end) or (start, end, force)")
        kept.append(lists)
        (_, to.start, to.n_start), (_, to.end, to.n_end) = lists[:2]
        if len(lists) == 3:
            _, to.force, to.n_force = lists[2]
    return spans, kept


def _loop(of):
    return None if of is None else ctypes.pointer(_Loop(*of))


class Constraint(Sampler):
    """What masks, forces or weighs tokens by what has come before: for Chain(constraints=[...]), which takes copies.

    Constraint.thinking(...), .schedule(...), .banned_pattern(...) and so on, named as samp_init_... is. Tokens are lists
    of numbers. begin: the position of the first token to be generated, if the prompt is accepted too."""

    @classmethod
    def _of(cls, handle, *keep):
        self, field = cls(_made(handle), keep), c_char_p()
        _check(_status(handle, byref(field)), field)
        return self

    @classmethod
    def _listed(cls, make, tokens, *more, name="tokens"):
        kept, at, n = _list(tokens, name)
        self = cls._of(make(at, n, *more))
        del kept  # C has copied it
        return self

    @classmethod
    def thinking(cls, spans, budget, *, vocab=None, inside=None, total=0, soft=0, soft_ratio=0.0, grace=0, note=(),
                 ends=(), ramp=None, bias=0.0, loop=None, loop_from=0):
        """At most `budget` tokens of thinking, and how it comes to its end.

        spans: what begins and ends thinking, each (start, end) or (start, end, force), lists of tokens. vocab: tells
        where lines end. inside: the number of the span in which the text begins. total: of all spans together. soft,
        soft_ratio: from so many tokens, or that share, on the note is said behind a line's end, and a bias grows on
        the end (ramp "linear" or "exponential", to bias). grace: tokens more for the last line. ends: sequences that
        end any span. loop: a Loop that ends it, from loop_from tokens on."""
        (c_spans, kept), (c_ends, kept_ends) = _spans(spans), _sequences(ends, "ends")
        at = _list(note, "note")
        plan = _Plan(total, soft, soft_ratio, grace, at[1] if at[2] else None, at[2], c_ends, len(kept_ends),
                     _word(_RAMPS, ramp, "ramp"), bias, _loop(loop), loop_from)
        return cls._of(_init_thinking(vocab and vocab._handle, c_spans, len(kept), budget,
                                      -1 if inside is None else inside, byref(plan)), vocab)

    @classmethod
    def schedule(cls, what, *, count="tokens", start=0, stop=0, begin=0, where="anywhere", spans=(), inside=None,
                 until=(), vocab=None, loop=None):
        """`what` at work at times only: a Constraint (a copy), or a dict of settings, such as {"temperature": 1.5}.

        count: "tokens" or "lines" c, from the beginning or the last border of a span; start <= c < stop (0: for ever).
        where: "anywhere", "inside" or "outside" of spans. until: over once one of these tokens has come. loop: c is 0
        behind a Loop that was found, too."""
        member = what.clone() if isinstance(what, Constraint) else _steps(what, vocab)
        (c_spans, kept), at = _spans(spans), _list(until, "until")
        when = _Schedule(_word(_UNITS, count, "count"), start, stop, begin, _word(_AREAS, where, "where"), c_spans,
                         len(kept), 0 if inside is None else inside + 1, at[1], at[2], vocab and vocab._handle,
                         _loop(loop))
        keep, handle = member._keep, member._handle
        member._handle = None
        return cls._of(_init_schedule(byref(when), handle), vocab, keep)

    @classmethod
    def loop_watch(cls, loop=Loop()):
        """Finds loops and changes nothing: loop_length() tells."""
        return cls._of(_init_loop_watch(_loop(loop)))

    @classmethod
    def loop_breaker(cls, loop=Loop(), penalty=math.inf):
        """In a loop, penalty less for the token that goes on with it."""
        return cls._of(_init_breaker(*loop, penalty))

    @classmethod
    def loop_breaker_cusum(cls, n=6, last_n=4096, loss=0.25, alarm=15.0, penalty=math.inf):
        """The same for loops without a fixed period."""
        return cls._of(_init_cusum(n, last_n, loss, alarm, penalty))

    @classmethod
    def banned_pattern(cls, vocab, pattern, *, rewind=False, any_case=False):
        """No text that a regular expression matches. rewind: only seen when it is there; see rewind_length()."""
        error, text = _TextError(), pattern.encode() if isinstance(pattern, str) else bytes(pattern)
        if b"\0" in text:
            raise SamplingError(-10, "pattern", "pattern: byte 0")
        handle = _init_banned_pattern(vocab._handle, text, _flags(rewind, any_case), byref(error))
        if error.status:
            if handle:
                _free(handle)
            raise SamplingError(error.status, "pattern", f"pattern: line {error.line}, column {error.column}: "
                                                         f"{error.message.decode(errors='replace')}")
        return cls._of(handle, vocab)

    @classmethod
    def banned_strings(cls, vocab, strings, *, rewind=False, any_case=False):
        """None of these strings, whatever tokens spell it."""
        texts, n = _strings(strings)
        return cls._of(_init_banned_strings(vocab._handle, texts, n, _flags(rewind, any_case)), vocab)

    @classmethod
    def banned_sequences(cls, sequences, *, rewind=False):
        """None of these sequences of tokens."""
        of, kept = _sequences(sequences, "sequences")
        return cls._of(_init_banned_sequences(of, len(kept), _flags(rewind, False)))

    @classmethod
    def sequence_bias(cls, biases):
        """{(token, ...): bias} for the token that would complete a sequence."""
        pairs = list(biases.items() if hasattr(biases, "items") else biases)
        of, kept = _sequences([tokens for tokens, _ in pairs], "sequences", [bias for _, bias in pairs])
        return cls._of(_init_sequence_bias(of, len(kept)))

    @classmethod
    def suppressed_tokens(cls, tokens):
        """Never these tokens."""
        return cls._listed(_init_suppressed, tokens)

    @classmethod
    def begin_suppressed_tokens(cls, tokens, begin=0):
        """Not these at the position begin."""
        return cls._listed(_init_begin_suppressed, tokens, begin)

    @classmethod
    def min_tokens(cls, tokens, n_min, begin=0):
        """Not these, usually vocab.eog, before n_min tokens."""
        return cls._listed(_init_min_tokens, tokens, n_min, begin)

    @classmethod
    def allowed_tokens(cls, tokens):
        """Only these tokens."""
        return cls._listed(_init_allowed, tokens)

    @classmethod
    def forced_prefix(cls, tokens, begin=0):
        """These tokens first, one after the other."""
        return cls._listed(_init_forced, tokens, begin)

    @classmethod
    def eog_bias(cls, tokens, bias):
        """A bias on these, usually vocab.eog."""
        return cls._listed(_init_eog_bias, tokens, bias)

    @classmethod
    def length_penalty(cls, tokens, start, factor, begin=0):
        """These, usually vocab.eog, are more likely the longer the text is beyond start tokens."""
        return cls._listed(_init_length, tokens, start, factor, begin)

    @classmethod
    def top_p_decay(cls, p, decay, lowest, resets=(), min_keep=0):
        """top_p whose p falls along a sentence."""
        kept, at, n = _list(resets, "resets")
        self = cls._of(_init_top_p_decay(p, decay, lowest, at, n, min_keep))
        del kept
        return self

    @classmethod
    def no_repeat_ngram(cls, n, last_n=4096):
        """No n tokens that stand in the last last_n already."""
        return cls._of(_init_ngram(n, last_n))


def _flags(rewind, any_case):
    return bool(rewind) | bool(any_case) << 1


def _steps(values, vocab):
    """A chain of what settings say, without what draws; the usual numbers of the others are off."""
    for name in values:
        if aliases.get(name, name) in ("mirostat", "adaptive_target", "seed", "rng"):
            raise SamplingError(_UNSUPPORTED, name, f"{name}: what draws does so at all times")
    off = {"temp": 1, "top_k": 0, "top_p": 1, "min_p": 0}
    off.update({aliases.get(name, name): value for name, value in values.items()})
    chain = Chain(vocab, **off)
    _free(_chain_remove(chain._handle, _chain_n(chain._handle) - 1))
    return chain


# ---- watermarks -----------------------------------------------------------------------------------------------------

WatermarkResult = collections.namedtuple("WatermarkResult", "score p_value n_scored ln_p")
WatermarkSpan = collections.namedtuple("WatermarkSpan", "begin end result p_value ln_p")

_MARKS = {"gumbel": 0, "gumbel_dual": 1, "sbw_selfhash": 2, "sbw_lefthash": 3, "synthid": 4}


class Watermark:
    """The mark of a secret key, for Chain(watermark=...), and its detector.

    kind: "gumbel", "gumbel_dual", "synthid" (these draw in place of the chain's last sampler), "sbw_selfhash",
    "sbw_lefthash" (a bias). seed: of draws without a mark; None: the chain's. numbers: context_width, scope, history,
    alpha, depth, gamma, delta. The key is written nowhere."""

    def __init__(self, key, kind="gumbel", *, seed=None, **numbers):
        self._mark, self._seeded, self._drafts = _default_watermark(_word(_MARKS, kind, "kind")), seed is not None, False
        for name, value in {"key": key, "seed": 0 if seed is None else seed, **numbers}.items():
            text = value if isinstance(value, str) else format(value, ".15g") if isinstance(value, float) else str(value)
            status = _watermark_set(byref(self._mark), name.encode(), text.encode())
            if status < 0:
                raise SamplingError(status, name)
        _free(self._sampler(0))

    def for_draft(self):
        """The mark for the small model that drafts ("gumbel_dual")."""
        other = object.__new__(Watermark)
        other.__dict__.update(self.__dict__, _drafts=True)
        _free(other._sampler(0))
        return other

    def _sampler(self, seed):
        mark, field = _Mark.from_buffer_copy(self._mark), c_char_p()
        if not self._seeded:
            mark.seed = seed
        handle = _made((_init_watermark_draft if self._drafts else _init_watermark)(byref(mark)))
        try:
            _check(_status(handle, byref(field)), field)
        except SamplingError:
            _free(handle)
            raise
        return handle

    def _selects(self):
        return self._mark.kind not in (2, 3)

    def detect(self, text):
        """Does this text, the tokens as they were generated without the prompt, carry the mark? A WatermarkResult."""
        return self.detect_keys([self._mark.key], text)[0]

    def detect_keys(self, keys, text):
        """The same for each of these keys in place of its own."""
        for key in keys:
            if not 0 <= key < 2**64:
                raise SamplingError(_RANGE, "keys")
        kept, at, n = _list(text, "text")
        out = (_MarkResult * max(len(keys), 1))()
        _check(_watermark_keys(byref(self._mark), (c_uint64 * max(len(keys), 1))(*keys), len(keys), at, n, out))
        del kept
        return [_result(of) for of in out[:len(keys)]]

    def find(self, text, window=200):
        """The piece of `window` tokens that is most likely marked: a WatermarkSpan."""
        kept, at, n = _list(text, "text")
        out = _MarkSpan()
        _check(_watermark_find(byref(self._mark), at, n, window, byref(out)))
        del kept
        return WatermarkSpan(out.begin, out.end, _result(out.result), out.p_value, out.ln_p)


def _result(of):
    return WatermarkResult(of.score, of.p_value, of.n_scored, of.ln_p)


# ---- chains ---------------------------------------------------------------------------------------------------------


class Chain(Sampler):
    """A chain of samplers: Chain(top_k=40, temperature=0.8, dry_breakers=["\\n"], logit_bias={7: -100}, ...).

    vocab: how many tokens there are, or a Vocab (dry and grammars need one), or a list for one. A row may be longer
    than a Vocab, as models pad. grammar: a Grammar or Matcher, which masks the row first.
    settings: samp_params' members (takes(name) tells what one takes), or names of vLLM, transformers, llama-cpp-python
    (aliases). None is the default. A request as a whole, with its program's defaults: from_request.
    constraints: copies of these stand behind the grammar. watermark: a Watermark, which draws in place of the last
    sampler, or stands behind the constraints."""

    def __init__(self, vocab=None, grammar=None, *, constraints=(), watermark=None, **settings):
        super().__init__(None, None)
        if vocab is not None and not isinstance(vocab, (int, Vocab)):
            vocab = Vocab(vocab)
        self._build(vocab, grammar, settings, _Settings(settings, vocab), constraints, watermark)

    def _build(self, vocab, grammar, values, settings, constraints=(), watermark=None):
        status = c_int()
        self._vocab, self._values, self._keep = vocab, values, (vocab, grammar)
        self._marks = watermark is not None and watermark._selects()
        self._handle = _made(_chain_from_params(settings.params(), byref(status)), status)
        _check(status.value)
        for i, constraint in enumerate(constraints):
            copied = constraint.clone()
            handle, copied._handle = copied._handle, None
            _check(_chain_insert(self._handle, i, handle))
        if watermark is not None:
            self._add_mark(watermark, len(constraints))
        if grammar is not None:
            if isinstance(grammar, Grammar):
                if not isinstance(vocab, Vocab):
                    raise SamplingError(_NULL, "vocab", "vocab: a grammar needs a Vocab, to know the tokens' bytes")
                grammar = Matcher(vocab, grammar)
            else:
                grammar = grammar.clone()
            self._keep = (vocab, grammar._keep)
            first, grammar._handle = grammar._handle, None
            _check(_chain_insert(self._handle, 0, first))
        self._keep += tuple(constraint._keep for constraint in constraints)

    def _add_mark(self, watermark, place):
        mark = watermark._sampler(_get_seed(self._handle))
        if not watermark._selects():
            _check(_chain_insert(self._handle, place, mark))
            return
        try:
            self._must_draw()
        except SamplingError:
            _free(mark)
            raise
        _free(_chain_remove(self._handle, _chain_n(self._handle) - 1))
        _check(_chain_add(self._handle, mark))

    def _must_draw(self):
        if _name(_chain_get(self._handle, _chain_n(self._handle) - 1)) != b"dist":
            raise SamplingError(_UNSUPPORTED, "watermark", "watermark: this kind needs a draw: temperature above 0, no "
                                                           "mirostat, no adaptive_target")

    @classmethod
    def from_request(cls, peer, request, vocab=None, grammar=None, *, handled=(), seed=None, thinking=None,
                     constraints=(), watermark=None):
        """What a request to another program asks for, by its names, defaults and ranges.

        peer: "openai", "vllm", "transformers", "llama_server", "ollama", "anthropic", "sglang". request: a dict, or JSON.
        handled: fields that you see to. seed: if the request has none. thinking: what makes a Constraint of a number of
        tokens to think, if the request says one: lambda budget: Constraint.thinking(spans, budget). .with_prompt tells
        whether the prompt is to be accepted too."""
        if peer not in _PEERS:
            raise SamplingError(_RANGE, "peer", f"peer: {peer!r} is none of {', '.join(_PEERS)}")
        if vocab is not None and not isinstance(vocab, (int, Vocab)):
            vocab = Vocab(vocab)
        self = cls.__new__(cls)
        Sampler.__init__(self, None, None)
        settings, told = _Settings({} if seed is None else {"seed": seed}, vocab), _Request()
        names = (c_char_p * (len(handled) + 1))(*[name.encode() for name in handled], None)
        text = request if isinstance(request, str) else json.dumps(request)
        status = _settings_from(settings.handle, _PEERS[peer], text.encode(), names, byref(told))
        if status < 0:
            field = told.field.decode() or None
            message = told.error.message.decode(errors="replace") or _error_text(status, None)
            raise SamplingError(status, field, f"{field}: {message}" if field else message)
        if told.thinking_budget >= 0:
            if thinking is None:
                raise SamplingError(_UNSUPPORTED, "thinking_budget",
                                    "thinking_budget: say thinking=, or see to it yourself, by handled")
            constraints = [thinking(told.thinking_budget), *constraints]
        self._build(vocab, grammar, None, settings, constraints, watermark)
        self.with_prompt = told.with_prompt
        return self

    @property
    def n_vocab(self):
        return len(self._vocab) if isinstance(self._vocab, Vocab) else self._vocab

    def _fits(self, n):
        vocab = self._vocab
        if n < len(vocab) if isinstance(vocab, Vocab) else vocab is not None and n != vocab:
            raise SamplingError(_RANGE, "logits", f"logits: there are {n}, not {self.n_vocab}")

    def sample(self, logits, mask=None, logprobs=None, dtype=None):
        """The next token, which the chain has then accepted.

        logits: [n_vocab] numbers; float32, float16, bfloat16 and float64 are read where they are. mask: words of 32
        bits, or a bool for each token. logprobs: the n most likely tokens too; then (token, Logprobs).
        dtype: of an array of 16-bit integers, "float16" or "bfloat16"."""
        numpys = getattr(logits, "__array_interface__", None)
        if numpys and mask is None and logprobs is None and dtype is None:  # the usual case, with the least work
            (address, _), shape = numpys["data"], numpys["shape"]
            if numpys["typestr"] == _F32 and numpys["strides"] is None and len(shape) == 1 and address % 4 == 0:
                self._fits(shape[0])
                token = _sample(self._handle, address, shape[0])
                return token if token >= 0 else _check(token)
        at = _floats(logits, dtype)
        if len(at.shape) != 1:
            raise SamplingError(_RANGE, "logits", f"logits: {at.shape} is no row; sample_batch takes many")
        self._fits(at.shape[0])
        if mask is None and logprobs is None and at.dtype == "float32":
            token = _sample(self._handle, at.address, at.shape[0])
            return token if token >= 0 else _check(token)
        try:
            tokens = _batch([self], at, 1, mask, logprobs, None, 1)
        except BatchError as error:
            raise error.errors[0] from None
        return tokens[0] if logprobs is None else (tokens[0][0], tokens[1][0])

    def verify(self, logits, draft, probs=None, ids=None, method="exact", dtype=None):
        """How much of a draft is right? The tokens that are accepted, and one token more.

        logits: [n + 1, n_vocab] what the model says behind 0 .. n tokens of the draft. draft: [n] tokens.
        method: "exact": the tokens that there would be without a draft. "ratio" and "block": their distribution, and
        more of the draft is accepted; probs: what it was drawn from, [n, n_vocab], or [n, n_top] with ids [n, n_top]."""
        at, tokens = _dense_f32(logits, dtype), _integers(draft, "draft")
        n = len(tokens.of) if hasattr(tokens.of, "__len__") else tokens.shape[0]
        if len(at.shape) != 2 or at.shape[0] != n + 1:
            raise SamplingError(_RANGE, "logits", f"logits: {at.shape}, not {(n + 1, self.n_vocab)}: a row more than "
                                                  f"the draft has tokens")
        self._fits(at.shape[1])
        if method not in ("exact", "ratio", "block"):
            raise SamplingError(_RANGE, "method", f"method: {method!r} is none of exact, ratio, block")
        q, which = None if probs is None else _dense_f32(probs), None if ids is None else _integers(ids, "ids")
        if q is not None and q.shape != ((n, at.shape[1]) if which is None else which.shape) and n > 0:
            raise SamplingError(_RANGE, "probs", f"probs: {q.shape} does not fit")
        if which is not None and (q is None or len(which.shape) != 2 or which.shape[0] != n) and n > 0:
            raise SamplingError(_RANGE, "ids", "ids: they do not fit probs and the draft")
        c_draft = _Draft(n, tokens.address, q and q.address, which and which.address,
                         which.shape[-1] if which is not None else 0)
        out = array.array("i", [-1]) * (n + 1)
        arguments = self._handle, at.address, at.shape[1], byref(c_draft)
        if method == "block":
            accepted = _verify_block(*arguments, out.buffer_info()[0])
        else:
            accepted = _verify(*arguments, method == "ratio", out.buffer_info()[0])
        _check(accepted)
        if out[accepted] < 0:
            raise BatchError(out[:accepted].tolist(), {accepted: SamplingError(out[accepted])})
        return out[:accepted + 1].tolist()

    def update(self, **settings):
        """Other values for these settings, between two tokens; what the chain has seen stays. None: the default."""
        if self._values is None:
            raise SamplingError(_UNSUPPORTED, None, "a chain of from_request has no settings by name")
        new = {aliases.get(name, name) for name in settings}
        values = {name: value for name, value in self._values.items() if aliases.get(name, name) not in new}
        values.update(settings)
        of = _Settings(values, self._vocab)
        if self._marks:
            Chain(self._vocab, **values)._must_draw()
        _check(_chain_update(self._handle, of.params()))
        if self._marks:  # the new draw, in front of the mark
            _free(_chain_remove(self._handle, _chain_n(self._handle) - 2))
        self._values = values

    @property
    def settings(self):
        """What was set by name."""
        return dict(self._values or {})

    def get(self, name):
        """A setting's value, as text."""
        text, of = ctypes.create_string_buffer(400), _Settings(self._values or {}, self._vocab)
        _check(_settings_get(of.handle, aliases.get(name, name).encode(), text, len(text)), name)
        return text.value.decode()

    def prev(self, n=64):
        """The last accepted tokens, n at most, the oldest first."""
        out = array.array("i", bytes(4 * n))
        return out[:_prev(self._handle, out.buffer_info()[0], n)].tolist()


_PEERS = {"openai": 0, "vllm": 1, "transformers": 2, "llama_server": 3, "ollama": 4, "anthropic": 5,
          "sglang": 6}


def _read(of):
    top = of.top_logprobs
    return LogprobSet(Logprob(of.chosen.token, of.chosen.rank, of.chosen.logprob),
                      [Logprob(top[i].token, top[i].rank, top[i].logprob) for i in range(of.n_top_found)])


def _batch(chains, at, rows, mask, logprobs, index, n_threads):
    two = len(at.shape) == 2
    n_vocab = at.shape[-1]
    logits = _Logits(at.address, _DTYPES[at.dtype], rows, n_vocab, at.strides[0] if two and at.shape[0] > 1 else 0)
    logits.n_threads = n_threads
    if mask is not None:
        bits, logits.mask_stride = _bits(mask, rows, n_vocab)
        logits.mask = bits.address
    if index is not None:
        logits.row_index = index.address
    if logprobs is not None:
        if not 0 <= logprobs <= 1024:
            raise SamplingError(_RANGE, "logprobs", f"logprobs: {logprobs} is not in [0, 1024]")
        sets, top = (_Logprobs * rows)(), (_Logprob * (2 * rows * logprobs + 1))()
        for r in range(rows):
            for k, of in enumerate((sets[r].raw, sets[r].processed)):
                of.n_top = logprobs
                if logprobs:
                    of.top_logprobs = ctypes.cast(byref(top, (2 * r + k) * logprobs * ctypes.sizeof(_Logprob)),
                                                  POINTER(_Logprob))
        logits.logprobs = sets
    handles = (c_void_p * max(rows, 1))(*[chain._handle for chain in chains])
    out = (c_int32 * max(rows, 1))()
    _check(_sample_batch(handles, byref(logits), out))
    tokens = out[:rows]
    told = None if logprobs is None else [
        Logprobs(_read(sets[r].raw), _read(sets[r].processed)) if tokens[r] >= 0 else None for r in range(rows)]
    if any(token < 0 for token in tokens):
        raise BatchError([t if t >= 0 else None for t in tokens],
                         {r: SamplingError(t) for r, t in enumerate(tokens) if t < 0}, told)
    return tokens if logprobs is None else (tokens, told)


def sample_batch(chains, logits, mask=None, logprobs=None, row_index=None, n_threads=0, dtype=None):
    """A token for each chain: chain r reads row r of logits [n_rows, n_vocab], or row row_index[r].

    The token is the same as sample()'s for the row. mask: [n_rows, words], as sample()'s. logprobs: n; then (tokens,
    [Logprobs]). n_threads: where the library is compiled with OpenMP; 0: its choice.
    A row that fails leaves its chain as it was; when all others have their tokens, it is a BatchError, which has them.
    """
    chains, at = list(chains), _floats(logits, dtype)
    rows = len(chains)
    if not rows:
        return [] if logprobs is None else ([], [])
    if len(at.shape) != 2:
        raise SamplingError(_RANGE, "logits", f"logits: {at.shape}, not [n_rows, n_vocab]")
    index = None if row_index is None else _integers(row_index, "row_index")
    if index is None and at.shape[0] != rows:
        raise SamplingError(_RANGE, "logits", f"logits: there are {at.shape[0]} rows, not {rows}")
    if index is not None and (index.shape != (rows,) or any(not 0 <= i < at.shape[0] for i in index.of)):
        raise SamplingError(_RANGE, "row_index", f"row_index: not {rows} numbers in [0, {at.shape[0]})")
    for chain in chains:
        chain._fits(at.shape[1])
    return _batch(chains, at, rows, mask, logprobs, index, n_threads)


# ---- the rest -------------------------------------------------------------------------------------------------------


def child_seed(seed, i):
    """The seed of sample i of several from one request."""
    return _child_seed(seed, i)


def takes(name):
    """Which values a setting takes, for a user to read: "a number in (0, 1]"."""
    text, name = ctypes.create_string_buffer(400), aliases.get(name, name)
    _check(_settings_takes(name.encode(), text, len(text)), name)
    return text.value.decode()


def version():
    """The library's, as 10000 major + 100 minor + patch."""
    return _version()
