"""sampling.h from Python: chains, batches, masks, log-probabilities, grammars, constraints, watermarks, drafts, texts
and their stops, states. python.md has examples.

    chain = Chain(top_k=40, temperature=0.8)
    token = chain.sample(logits)            # an array of numpy's, of array's or a tensor of torch's is read where it is

The library is libsampling.so (make lib); python.md says where it is looked for. Only ctypes is needed. Whatever goes
wrong is a SamplingError, and never a token. One object is for one thread at a time; different ones may work at once, as
C runs without the interpreter's lock.
"""
import array
import collections
import ctypes
import json
import math
import operator
import os
import re
import struct
import sys
import threading
import types
import weakref
from ctypes import (POINTER, Structure, byref, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64,
                    c_size_t, c_ssize_t, c_uint, c_uint32, c_uint64, c_void_p)

__all__ = ["BatchError", "Beams", "Chain", "Constraint", "Grammar", "GrammarStats", "LibraryError", "Logprob", "LogprobSet",
           "Logprobs", "Loop", "Matcher", "Ngram", "Sampler", "SamplingError", "Text", "Vocab", "Watermark",
           "WatermarkResult", "WatermarkSpan", "aliases", "child_seed", "guide", "raw_logprobs", "sample_batch", "takes",
           "unmask", "unmask_count", "version"]

VERSION = 2, 0  # major and minor version that the declarations below are those of

# ---- errors ---------------------------------------------------------------------------------------------------------

_NAMES = dict(enumerate("OK E_NULL E_RANGE E_NAN E_EMPTY E_NOMEM E_WORKSPACE E_DTYPE E_DEVICE E_UNSUPPORTED E_FORMAT "
                        "E_FULL E_NAME E_ADDRESS".split()))
_NULL, _RANGE, _NAN, _EMPTY, _NOMEM, _DTYPE, _UNSUPPORTED, _FORMAT = -1, -2, -3, -4, -5, -7, -9, -10


class SamplingError(ValueError):
    """What went wrong: status (a samp_status, negative), name ("SAMP_E_RANGE"), field (which setting, or None)."""

    def __init__(self, status, field=None, text=None):
        self.status, self.field, self.name = status, field, "SAMP_" + _NAMES.get(-status, str(status))
        super().__init__(_error_text(status, field) if text is None else text)

    def __reduce__(self):  # errors travel between processes
        return type(self), (self.status, self.field, str(self))


class LibraryError(SamplingError, ImportError):
    """libsampling.so is missing, or is another version."""


class BatchError(SamplingError):
    """Some rows failed; the others have their tokens: tokens (None where there is none), errors ({row: what})."""

    def __init__(self, tokens, errors, logprobs=None):
        self.tokens, self.errors, self.logprobs = tokens, errors, logprobs
        row, first = next(iter(errors.items()))
        super().__init__(first.status, first.field, f"row {row}: {first}")

    def __reduce__(self):
        return type(self), (self.tokens, self.errors, self.logprobs)


def _error_text(status, field):
    field = field and field.encode(errors="replace").replace(b"\0", b"?")
    return _written(lambda *to: c.error_text(status, field, *to))


def _fail(status, field=None, names=()):
    """Raises what a negative status of C means: field: what C calls wrong; names: the numbers that C was given."""
    if status == _NOMEM:
        raise MemoryError("sampling: out of memory")
    if field is None and status in (_RANGE, _NAN) and 0 < len(names) < 4:
        field = " or ".join(names)
    raise SamplingError(status, field.decode(errors="replace") if isinstance(field, bytes) else field)


# ---- the library ----------------------------------------------------------------------------------------------------


def _no_library(why):
    return LibraryError(_UNSUPPORTED, "SAMPLING_LIBRARY", f"SAMPLING_LIBRARY: {why}")


def _load():
    """The library that SAMPLING_LIBRARY names, or the first that there is: beside this file, where make lib puts it,
    where the system looks, where make install puts it."""
    here, said, tried = os.path.dirname(os.path.abspath(__file__)), os.environ.get("SAMPLING_LIBRARY"), []
    build = [os.path.normpath(here + "/../../build")] if here.endswith("/src/bindings") else []
    for place in [said] if said else [folder + "/libsampling.so" if folder else "libsampling.so" for folder in (
            here, *build, "", "/usr/local/lib", sys.prefix + "/lib")]:
        try:
            if "/" in place and not os.path.exists(place):
                raise OSError("there is none")
            return place, ctypes.CDLL(place)
        except OSError as error:
            tried.append(f"{place} ({error})")
    raise _no_library('no libsampling.so can be loaded. Build it by "make lib", then put build/libsampling.so beside '
                      'sampling.py, or "make install", or name the file by the environment variable SAMPLING_LIBRARY. '
                      'Tried: ' + ", ".join(tried))


def _raw(name, result=None, *arguments):
    """C's samp_name itself, without checks."""
    try:
        function = getattr(_lib, "samp_" + name)
    except AttributeError:
        raise _no_library(f'{_path} has no samp_{name}: is it of "make lib", of this version?') from None
    function.restype, function.argtypes = result, arguments
    return function


_path, _lib = _load()
_version = _raw("version", c_int)()
if _version // 100 != VERSION[0] * 100 + VERSION[1]:
    raise _no_library(f"{_path} is version {_version}, sampling.py is for {VERSION[0]}.{VERSION[1]}")

# ---- who frees what -------------------------------------------------------------------------------------------------
# Objects of C are owned by holders. A holder keeps the holders of what its object borrows, and knows no object that a
# user has. The table _owned keeps what is borrowed too, until the borrower is freed: so the collector, which goes
# through a user's cycle in any order, finds no holder there that another one needs.

_FREE = {kind: _raw(free, None, c_void_p) for kind, free in (
    ("sampler", "free"), ("settings", "settings_free"), ("vocab", "vocab_free"), ("vocab_index", "vocab_index_free"),
    ("grammar", "grammar_free"), ("text_stream", "text_free"), ("ngram", "ngram_free"), ("beams", "beams_free"))}
_owned = {}  # a weak reference to each holder: what frees its object, where the pointer is, the holders it keeps


class _Held(c_void_p):
    """A pointer to an object of C. The object is freed when nothing refers to its holder any more."""
    kind, keeps, __hash__ = None, frozenset(), object.__hash__
    _held = property(lambda self: self)  # as users' objects have one

    @classmethod
    def of(cls, pointer, keeps):
        cell = c_void_p(pointer)
        self = cls.from_buffer(cell)  # the same pointer, which _release can reach
        self.keeps = keeps
        _owned[weakref.ref(self, _release)] = _FREE[cls.kind], cell, keeps
        return self


def _release(reference, owned=_owned):
    free, cell, _ = owned.pop(reference)
    pointer, cell.value = cell.value, None  # who has come back to life finds it closed
    free(pointer)


_HELD = {kind: type("_Held", (_Held,), {"kind": kind}) for kind in (*_FREE, "params")}  # one comparison tells the kind
_CLOSED = _Held()


class _Value:
    """What never changes, so that a copy is the same object."""

    def __copy__(self):
        return self

    def __deepcopy__(self, _):
        return self.__copy__()

    def __reduce_ex__(self, _):
        raise SamplingError(_UNSUPPORTED, None, f"a {type(self).__name__} can't be pickled")


class _Object(_Value):
    """What has an object of C."""
    _held = _CLOSED

    def close(self):
        """Let go of it now: it is freed when nothing else needs it. Else this is done when nothing refers to it."""
        self._held = _CLOSED

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- what C's arguments may be --------------------------------------------------------------------------------------

_BOOLS = {"bool", "bool_"}  # Python's, numpy's
_NEITHER = {"list", *_BOOLS}
_BAD = TypeError, ValueError, OverflowError, BufferError, AttributeError, RuntimeError


class _reading:
    """What goes wrong in a value that somebody passes is a SamplingError that names the argument."""

    def __init__(self, name, status=_RANGE):
        self.name, self.status = name, status

    def __enter__(self):
        pass

    def __exit__(self, _, error, __):
        if isinstance(error, _BAD) and not isinstance(error, SamplingError):
            raise SamplingError(self.status, self.name, f"{self.name}: {error}") from error


def _said(of, name=None):
    """A value, in short; but no key."""
    try:
        text = "it" if name in ("key", "keys") else repr(of)
    except Exception:  # an int of too many digits, or whatever its class does
        text = "a " + type(of).__name__
    return text if len(text) < 60 else text[:56] + " ..."


def _whole(of, name, low, high):
    """A whole number in [low, high]: an int, or what Python takes for one (numpy.int64), but no bool."""
    try:
        number = None if type(of).__name__ in _BOOLS else operator.index(of)
    except _BAD:
        number = None
    if number is None or not low <= number <= high:
        why = "no whole number" if number is None else f"not in [{low}, {high}]"
        raise SamplingError(_RANGE, name, f"{name}: {_said(of, name)} is {why}")
    return number


def _real(of, name, most=math.inf):
    """A number: an int, a float, or what Python takes for one; finite ones are most at most."""
    try:
        number = None if type(of).__name__ in _BOOLS else c_double(of).value
    except _BAD:
        number = None
    if number is None or most < abs(number) < math.inf:
        why = "no number" if number is None else "too large for a float"
        raise SamplingError(_RANGE, name, f"{name}: {_said(of)} is {why}")
    return number


def _flag(of, name):
    if type(of).__name__ not in _BOOLS:
        raise SamplingError(_RANGE, name, f"{name}: {_said(of)} is neither True nor False")
    return bool(of)


def _word(of, name, words):
    if not isinstance(of, str) or of not in words:
        raise SamplingError(_RANGE, name, f"{name}: {_said(of)} is none of {', '.join(words)}")
    return words[of]


def _piece(of, name):
    """Bytes, or a text's."""
    try:
        if isinstance(of, (str, bytes, bytearray, memoryview)):
            return str.encode(of) if isinstance(of, str) else bytes(of)
        why = f"{_said(of)} is no text"
    except _BAD as error:
        why = error
    raise SamplingError(_FORMAT, name, f"{name}: {why}")


def _text(of, name):
    """A text as C takes it, which ends with a byte 0."""
    if type(of) is str and of.isascii() and "\0" not in of:
        return of.encode()
    if of is None:
        raise SamplingError(_NULL, name, f"{name}: there is none")
    text = _piece(of, name)
    if b"\0" in text:
        raise SamplingError(_FORMAT, name, f"{name}: a byte 0 in {_said(of)}")
    return text


def _list(of, name):
    """The elements of a list, an array, a generator; but a text, or a dict, is no list."""
    if type(of) in (list, tuple):
        return of
    with _reading(name):
        if isinstance(of, (str, bytes, bytearray)) or hasattr(of, "keys") or not (
                hasattr(of, "__iter__") or hasattr(of, "__len__")):  # ctypes' pointers have only __getitem__, for ever
            raise TypeError(f"{_said(of, name)} is no list")
        return list(of)


def _is(of, classes, name):
    """An object that a user passes, if it is of such a class and not closed."""
    if not isinstance(of, classes):
        classes = classes if isinstance(classes, tuple) else (classes,)
        raise SamplingError(_NULL, name, f"{name}: {_said(of)} is no {' or '.join(of.__name__ for of in classes)}")
    if not getattr(of, "_held", True):
        raise SamplingError(_NULL, name, f"{name}: the {type(of).__name__} is closed")
    return of


def _holder(of, name, kind):
    """The holder of an object that C is to get."""
    held = getattr(of, "_held", None)
    if type(held) is not _HELD[kind] or not held:
        closed = isinstance(held, _Held) and not held
        why = f"the {type(of).__name__} is closed" if closed else f"{_said(of)} is no {kind}"
        raise SamplingError(_NULL, name, f"{name}: {why}")
    return held


class _Array:
    """Elements that C reads: address, and n elements; of: what must stay as long."""

    def __init__(self, of, n, keep=None):
        self.of, self.n, self.address, self.keep = of, n, ctypes.addressof(of), keep


class _Nothing:
    address, n = None, 0


def _texts(of, name):
    texts = [_text(text, name) for text in _list(of, name)]
    return _Array((c_char_p * (len(texts) + 1))(*texts, None), len(texts))


def _structs(of):
    """An array of these structs, or one of them."""
    def make(structs, _):
        structs = structs if isinstance(structs, list) else [structs]
        return _Array((of * max(len(structs), 1))(*structs), len(structs), structs)
    return make


def _bytes(of, name):
    with _reading(name):
        text = of if isinstance(of, bytes) else memoryview(of).tobytes()  # not bytes(of): a number is no text
        return _Array(ctypes.create_string_buffer(text, max(len(text), 1)), len(text))


# ---- arrays, where they are -----------------------------------------------------------------------------------------

_DTYPES = {"float32": 0, "float16": 1, "bfloat16": 2, "float64": 3}  # of logits
_LETTERS = {"?": "bool", **dict.fromkeys("efdg", "float"), **dict.fromkeys("bhilqn", "int"),
            **dict.fromkeys("BHILQN", "uint")}
_NATIVE = "@=<" if sys.byteorder == "little" else "@=>!"
_CODES = {"float16": "e", "float64": "d", "float32": "f", "int32": "i", "uint32": "I", "uint64": "Q"}
_MOST = {"int32": (-2**31, 2**31 - 1), "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1)}


class _PyBuffer(Structure):
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)),
                ("suboffsets", POINTER(c_ssize_t)), ("internal", c_void_p)]


# functions of one's own: those of ctypes.pythonapi are everybody's, and whoever comes last sets their types
_get_buffer = ctypes.PYFUNCTYPE(c_int, ctypes.py_object, c_void_p, c_int)(("PyObject_GetBuffer", ctypes.pythonapi))
_release_buffer = ctypes.PYFUNCTYPE(None, c_void_p)(("PyBuffer_Release", ctypes.pythonapi))
_FULL_RO = 0x11C


def _address(view):
    """Where a memoryview's elements are, which it does not tell; it keeps them there."""
    if view.c_contiguous and view.nbytes and not view.readonly:
        return ctypes.addressof(c_char.from_buffer(view))
    found = _PyBuffer()
    _get_buffer(view, byref(found), _FULL_RO)
    address = found.buf or 0
    _release_buffer(byref(found))
    return address


class _Buffer:
    """An object's memory, which can be neither resized nor freed meanwhile: address, dtype (a name), shape, strides (in
    bytes), n (how many elements)."""

    def __init__(self, of, writable=False):
        self.of = of
        if hasattr(of, "data_ptr"):  # torch
            self._tensor(of)
            return
        if hasattr(of, "filled"):
            raise SamplingError(_DTYPE, None, "a masked array: say what the hidden elements are, by .filled(number)")
        bfloat16 = False
        try:
            self.view = view = memoryview(of)
        except (BufferError, TypeError, ValueError):
            bfloat16 = str(getattr(of, "dtype", "")) == "bfloat16"  # ml_dtypes' arrays have no buffers
            if not bfloat16:
                raise
            self.view = view = memoryview(of.view("uint16"))
        if view.suboffsets or writable and view.readonly:
            raise BufferError("it can only be read" if writable else "it is in pieces")
        self.address = _address(view)
        form, self.size, self.shape, self.strides = view.format.lstrip(_NATIVE), view.itemsize, view.shape, view.strides
        self.dtype = "bfloat16" if bfloat16 else _LETTERS[form] + str(8 * self.size) if form in _LETTERS else form
        self.n = math.prod(self.shape)

    def _tensor(self, of):
        if of.device.type != "cpu":
            raise SamplingError(_DTYPE, None, f"a tensor on {of.device.type}: copy it with .cpu() first")
        if getattr(of, "is_neg", bool)() or getattr(of, "is_conj", bool)():  # its memory has other numbers
            self.of = of = of.resolve_neg().resolve_conj()
        self.address, self.size = of.data_ptr(), of.element_size()
        self.dtype = str(of.dtype).rpartition(".")[2]
        self.shape = tuple(of.shape)
        self.strides, self.n = tuple(step * self.size for step in of.stride()), math.prod(self.shape)
        if not self.address and self.n:
            raise SamplingError(_DTYPE, None, "a tensor without memory")

    def is_rows(self):
        """Are the elements of a row side by side, the rows whole elements apart, all aligned? C can read it then."""
        shape, strides, size = self.shape, self.strides, self.size
        if len(shape) not in (1, 2) or self.address % size or shape[-1] > 1 and strides[-1] != size:
            return False
        return len(shape) < 2 or shape[0] < 2 or strides[0] % size == 0 and strides[0] >= shape[1] * size

    def is_dense(self):
        return self.is_rows() and (len(self.shape) < 2 or self.shape[0] < 2 or
                                   self.strides[0] == self.shape[1] * self.size)


def _buffer(of, name):
    """The buffer of an object that has a readable one, of one or two dimensions; None: it is to be copied."""
    if isinstance(of, (list, tuple)):
        return None
    with _reading(name, _DTYPE):
        try:
            at = _Buffer(of)
        except (BufferError, TypeError, ValueError) as error:
            if isinstance(error, SamplingError):
                raise
            return None
        if len(at.shape) not in (1, 2):
            raise TypeError(f"it has {len(at.shape)} dimensions")
        if at.n > 2**30 and not at.is_rows():  # copies of what is there once
            raise TypeError(f"it has {at.n} elements")
        return at


class _Copied:
    """The same interface for values that had to be copied."""

    def __init__(self, values, shape, dtype="float32"):
        self.of = array.array(_CODES[dtype], values)
        self.some = self.of if len(self.of) else array.array("d", [0])  # never NULL
        self.address, self.dtype, self.shape, self.n = self.some.buffer_info()[0], dtype, shape, len(self.of)
        self.size = self.of.itemsize
        self.strides = (self.size * shape[1], self.size) if len(shape) > 1 else (self.size,)

    def is_rows(self):
        return True

    is_dense = is_rows


def _nested(of, name):
    """A list, or a list of lists, or whatever can be one: shape and values."""
    rows = _list(of.tolist() if hasattr(of, "tolist") else of, name)
    if not rows or not hasattr(rows[0], "__len__") and not hasattr(rows[0], "__iter__"):
        return (len(rows),), rows
    rows = [_list(row.tolist() if hasattr(row, "tolist") else row, name) for row in rows]
    if any(len(row) != len(rows[0]) for row in rows):
        raise SamplingError(_RANGE, name, f"{name}: rows of different lengths")
    return (len(rows), len(rows[0])), [value for row in rows for value in row]


def _floats(of, name, dtype=None):
    """Logits or probabilities: where they are if C can read them there, else a copy."""
    at = _buffer(of, name)
    if dtype is not None:
        dtype = str(dtype).rpartition(".")[2]
        if dtype not in _DTYPES:
            raise SamplingError(_DTYPE, "dtype", f"dtype: {dtype} is none of {', '.join(_DTYPES)}")
        if at is not None and at.dtype in ("uint16", "int16") and dtype in ("float16", "bfloat16"):
            at.dtype = dtype
        elif at is not None and at.dtype != dtype:
            raise SamplingError(_DTYPE, "dtype", f"dtype: the array's is {at.dtype}, not {dtype}")
    if at is not None:
        if at.dtype in ("uint16", "int16"):
            raise SamplingError(_DTYPE, "dtype", 'dtype: two bytes are "float16" or "bfloat16"? Say dtype=')
        if at.dtype in _DTYPES and at.is_rows():
            return at
        if at.dtype == "bfloat16":
            raise SamplingError(_DTYPE, name, f"{name}: bfloat16 whose elements are not side by side")
    return _copied(of, name)



def _copied(of, name):
    with _reading(name, _DTYPE):
        shape, values = _nested(of, name)
        if _bools(values[:1]):
            raise TypeError("True and False are no numbers")
        return _Copied(values, shape)


def _bools(values):
    return not _BOOLS.isdisjoint(of.__name__ for of in set(map(type, values)))


def _dense_f32(of, name, dtype=None):
    """The same, for functions that take float * alone."""
    at = _floats(of, name, dtype)
    if at.dtype == "float32" and at.is_dense():
        return at
    n, columns = at.shape if len(at.shape) > 1 else (1, at.shape[0])
    rows = b"".join(ctypes.string_at(at.address + r * at.strides[0], columns * at.size) for r in range(n))
    if at.dtype == "bfloat16":
        values = array.array("f", array.array("I", (bits << 16 for bits in array.array("H", rows))).tobytes())
    else:
        values = struct.unpack(f"{at.n}{_CODES[at.dtype]}", rows)
    return _Copied(values, at.shape)


def _integers(of, name, dtype="int32", dimensions=1):
    """Tokens, or other whole numbers."""
    at = _buffer(of, name)
    if at is None or at.dtype != dtype or not at.is_dense():
        shape, values = _nested(of, name)
        try:
            words = None if _bools(values) else array.array(_CODES[dtype], map(operator.index, values))
        except _BAD:
            words = None
        at = _Copied([_whole(of, name, *_MOST[dtype]) for of in values] if words is None else words, shape, dtype)
    if len(at.shape) != dimensions:
        raise SamplingError(_RANGE, name, f"{name}: {at.shape} has not {dimensions} dimensions")
    return at


def _integers_of(dtype):
    return lambda of, name: _integers(of, name, dtype)


def _bits(mask, rows, n_vocab):
    """A mask, as words of 32 bits; bools are packed: address and words from row to row."""
    words = (n_vocab + 31) // 32
    at = _buffer(mask, "mask")
    if at is None or at.dtype in ("bool8", "uint8", "int8", "bool"):
        with _reading("mask", _DTYPE):
            shape, values = _nested(mask, "mask")
            if not all(of.__name__ in _BOOLS or hasattr(of, "__index__") for of in set(map(type, values))):
                raise TypeError("it has neither words of 32 bits nor a bool for each token")
        if (shape if len(shape) > 1 else (1,) + shape) != (rows, n_vocab):
            raise SamplingError(_RANGE, "mask", f"mask: it is {shape}, not {(rows, n_vocab)}")
        packed = []
        for r in range(rows):
            row = values[r * n_vocab:(r + 1) * n_vocab]
            packed += [sum(1 << i for i, of in enumerate(row[w:w + 32]) if of) for w in range(0, n_vocab, 32)]
        at = _Copied(packed, (rows, words), "uint32")
    shape = at.shape if len(at.shape) > 1 else (1,) + at.shape
    if at.dtype not in ("uint32", "int32") or shape[0] != rows or shape[1] < words:
        raise SamplingError(_RANGE, "mask", f"mask: {at.dtype} {shape}, not uint32 {(rows, words)} or bool "
                                            f"{(rows, n_vocab)}")
    if not at.is_rows():
        at = _Copied([word & 0xFFFFFFFF for word in _nested(mask, "mask")[1]], shape, "uint32")
    return at, at.strides[0] // 4 if rows > 1 else words


# ---- calls of C that are checked ------------------------------------------------------------------------------------
# The section after this one says what C's functions take, in the words of functions.txt; _function makes c.NAME of each
# line, which checks arguments and raises errors. Lengths of arrays that are passed are no arguments in Python, nor is
# what only tells an error. Arrays that C writes are passed as they are.

c = types.ModuleType("c")
_WHOLE = {"i32": (c_int32, -2**31, 2**31 - 1), "i64": (c_int64, -2**63, 2**63 - 1), "u32": (c_uint32, 0, 2**32 - 1),
          "u64": (c_uint64, 0, 2**64 - 1), "size": (c_size_t, 0, 2 * sys.maxsize + 1),
          "int": (c_int, -2**31, 2**31 - 1), "unsigned": (c_uint, 0, 2**32 - 1)}
_WHOLE["token"], _WHOLE["status"] = _WHOLE["i32"], _WHOLE["int"]
_REAL = {"f32": (c_float, (2 - 2**-23) * 2.0**127), "f64": (c_double, math.inf)}
_CTYPES = {"text": c_char_p, "bool": c_bool, "void": None, "params": c_void_p, "texts": c_void_p, "c": c_void_p,
           **dict.fromkeys(_FREE, c_void_p), **{base: kind[0] for base, kind in {**_WHOLE, **_REAL}.items()}}
_ELEMENTS = {"token": "int32", "i32": "int32", "u32": "uint32", "u64": "uint64"}
_TOLD = {"status": c_int, "field": c_char_p, "text_error": lambda: c.text_error()}  # what only tells an error


class _Kind:
    """What an argument, a member or a result is."""
    FORM = re.compile(r"((?:(?:out|inout|const|kept|taken|new|lent|value) )*)(\w+)(?:\[([^]]*)\])?(\?)?(?: of (\w+))?")
    RANGE = re.compile(r" (-?\d+)?\.\.(\d+)?(?= |$)")

    def __init__(self, text):
        words, self.base, self.size, self.optional, self.whose = self.FORM.match(text).groups()
        self.text, self.words, self.array = text, set(words.split()), self.size is not None
        self.writes = bool(self.words & {"out", "inout"}) or self.base == "c"  # as C has it
        self.told = self.writes and not self.array and self.base in _TOLD
        find = vars(c).get if self.array or self.told else vars(c).__getitem__
        named = None if self.base in _CTYPES else find(self.base)
        self.struct, self.enum = (named, None) if isinstance(named, type) else (None, named)
        self.held = self.base in _FREE and not self.array
        self.number = (self.base in _WHOLE or self.base in _REAL) and not self.writes
        if self.base in _WHOLE:  # the type's range, and the table's where it says numbers
            self.low, self.high = _WHOLE[self.base][1:]
            low, high = self.RANGE.search(text).groups() if self.RANGE.search(text) else ("", "")
            self.low, self.high = max(self.low, int(low or self.low)), min(self.high, int(high or self.high))

    def ctype(self, member=False):
        if member and self.base in ("char", "token") and self.array and self.size.isdigit():
            return (c_char if self.base == "char" else c_int32) * int(self.size)
        if self.array or self.writes or self.struct and not member:
            return c_void_p
        return self.struct or (c_int if self.enum else _CTYPES[self.base])

    def converter(self):
        """What makes of a value what C takes, or a SamplingError; of arrays something with their address and n."""
        base = self.base
        if base == "texts" or self.array:
            make = (_texts if base == "texts" else _structs(self.struct) if self.struct else
                    _integers_of(_ELEMENTS[base]) if base in _ELEMENTS else _bytes)
            return lambda of, name: (of if isinstance(of, (_Array, _Buffer, _Copied)) else
                                     _Nothing if of is None and self.optional else make(of, name))
        if self.number:
            check, ends = (_whole, (self.low, self.high)) if base in _WHOLE else (_real, _REAL[base][1:])
            return lambda of, name: check(of, name, *ends)
        if self.enum:
            return lambda of, name: _word(of, name, self.enum)
        make = {"text": _text, "bool": _flag}.get(
            base, (lambda of, name: _holder(of, name, base)) if self.held else (lambda of, name: of))
        return (lambda of, name: None if of is None else make(of, name)) if self.optional else make


class _Struct(Structure):
    """A struct of C."""
    kinds, keeps = {}, frozenset()

    @classmethod
    def of(cls, **members):
        """One of checked values, which keeps what they point to."""
        self = cls()
        self.keeps, self.values = set(), []
        for name, value in members.items():
            name = name.rstrip("_")
            kind, value = cls.kinds[name], cls.kinds[name].converter()(value, name)
            self.values.append(value)
            if kind.array and kind.size in cls.kinds:
                setattr(self, kind.size, value.n)
            if isinstance(value, _Held):
                self.keeps.add(value)
            setattr(self, name, value.address if kind.array else value.value if isinstance(value, _Held) else value)
        return self


def _struct(name, /, **kinds):
    kinds = {member.rstrip("_"): _Kind(kind) for member, kind in kinds.items()}  # from_, as "from" is a word of Python
    fields = [(member, kind.ctype(True)) for member, kind in kinds.items()]
    setattr(c, name, type(name, (_Struct,), {"_fields_": fields, "kinds": kinds}))


def _enum(name, /, *words):
    setattr(c, name, {word: value for value, word in enumerate(words)})


def _function(name, result, /, **kinds):
    result, kinds = _Kind(result), {a: _Kind(kind) for a, kind in kinds.items()}
    lengths = {kind.size: a for a, kind in kinds.items() if kind.size in kinds and not kind.writes}
    told = {kind.base: a for a, kind in kinds.items() if kind.told}
    given = [a for a, kind in kinds.items() if not kind.told and a not in lengths]
    raw = _raw(name, result.ctype(True), *[kind.ctype() for kind in kinds.values()])
    if all(kind.held or kind.base in ("i32", "token") and kind.number and not kind.array for kind in kinds.values()):
        raw.argtypes = None  # pointers and ints go as they are, which is faster
    scope = {"raw": raw, "byref": byref, "fail": _fail, "located": _located, "made": _made, "lent": _lent, "whole": _whole,
             **{f"Held_{kind}": held for kind, held in _HELD.items()},
             **{f"new_{kind}": _TOLD[kind] for kind in told}, **{f"_{a}": kinds[a].converter() for a in given}}
    body, passed, borrowed = [f"{a} = new_{kind}()" for kind, a in told.items()], [], []
    for a, kind in kinds.items():
        if kind.told:
            passed.append(f"byref({a})")
        elif a in lengths:
            passed.append(f"{lengths[a]}.n")
        elif kind.writes or kind.struct and not kind.array:
            passed.append(f"byref({a}) if {a} else None" if kind.struct and not kind.array else a)
        else:
            passed.append(f"{a}.address" if kind.array else a)
            checked = f"_{a}({a}, {a!r})"
            if kind.held and not kind.optional:  # what is right needs no call
                body += [f"try: held = {a}._held", "except AttributeError: held = None",
                         f"{a} = held if type(held) is Held_{kind.base} and held else {checked}"]
            elif kind.base in _WHOLE and not kind.array:
                body.append(f"if type({a}) is not int or not {kind.low} <= {a} <= {kind.high}: "
                            f"{a} = whole({a}, {a!r}, {kind.low}, {kind.high})")
            else:
                body.append(f"{a} = {checked}")
        if "kept" in kind.words and kind.held:
            borrowed.append(f"{{{a}}}")
        elif kind.words & {"kept", "taken"} or a == result.whose or kind.struct and not kind.writes and not kind.array:
            borrowed.append(f"{a}.keeps")
    body.append(f"result = raw({', '.join(passed)})")
    body += [f"{a}.value = None" for a in given if "taken" in kinds[a].words]  # C has it, even if the call has failed
    names = tuple(a for a in given if kinds[a].number)
    if "new" in result.words:
        body.append(f"return made(result, {result.base!r}, set().union({', '.join(borrowed)}), {told.get('status')}, "
                    f"{told.get('text_error')}, {names})")
    elif "lent" in result.words:
        body.append(f"return lent(result, {result.base!r}, {result.whose}, {names})")
    else:
        if result.base in ("status", "int", "i32", "i64", "token"):
            least = -1 if result.text.endswith(" -1..") else 0
            field = f"{told['field']}.value" if "field" in told else "name" if "name" in given else None
            if "text_error" in told:  # of a text that is read without an object made
                what = next(a for a in given if kinds[a].base == "text" and kinds[a].optional)
                body.append(f"if result < {least}: located({told['text_error']}, {what!r}, {tuple(given)})")
            body.append(f"if result < {least}: fail(result, {field}, {names})")
        if any(kind.words & {"kept", "taken"} for kind in kinds.values()):
            body += [f"{given[0]}.keeps.update({of})" for of in borrowed]
        body.append("return result.decode()" if result.base == "text" else "return result")
    exec(f"def {name}({', '.join(given)}):\n    " + "\n    ".join(body), scope)
    scope[name].raw, scope[name].kinds = raw, kinds
    setattr(c, name, scope[name])


def _located(error, what, names=()):
    """Raises what a text_error says, if it does; where in the text `what`, or which argument is wrong."""
    if error.status in (0, _NOMEM):
        return
    text = error.message.decode(errors="replace")
    field = text.partition(":")[0]
    if field in names:
        raise SamplingError(error.status, field, text)
    raise SamplingError(error.status, what, f"{what}: line {error.line}, column {error.column}: {text}")


def _made(pointer, kind, keeps, status, error, names):
    """The holder of a new object, if C has made one and it carries no error."""
    held = _HELD[kind].of(pointer, keeps) if pointer else None
    if error is not None:
        _located(error, "pattern" if pointer or kind == "sampler" else kind)
    if held is None:
        _fail(status.value if status else _NOMEM, None, names)
    if kind == "sampler":
        field = c_char_p()
        code = _status(held, byref(field))
        if code < 0:
            _fail(code, field.value, names)
    return held


def _lent(pointer, kind, owner, names):
    """A holder that frees nothing, and keeps its object's owner."""
    if not pointer:
        _fail(_RANGE, None, names)
    held = _HELD[kind](pointer)
    held.keeps, held.owner = owner.keeps, owner
    return held


_status = _raw("status", c_int, c_void_p, c_void_p)


def _written(write):
    """The text that a function like snprintf writes."""
    text = ctypes.create_string_buffer(400)
    size = write(text, len(text)) + 1
    if size > len(text):
        text = ctypes.create_string_buffer(size)
        write(text, size)
    return text.value.decode()


# ---- C's side: made from functions.txt by "make bindings" ----
_enum("dtype", "f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
_enum("verify_method", "exact", "ratio")
_struct("logprob", token="token", rank="i32 1..", logprob="f32")
_struct("logprob_set", top_logprobs="out logprob[n_top]?", n_top="i32 0..1024", n_top_found="i32", chosen="logprob",
        cumulative_logprob="f64", ids="token[n_ids]? 0..n_vocab-1", n_ids="i32 0..1024",
        id_logprobs="out f32[n_ids]?", entropy="f32")
_struct("support", tokens="out token[capacity]?", logprobs="out f32[capacity]?", capacity="size 0..", n="size",
        mass="f64")
_struct("logprobs", raw="logprob_set", processed="logprob_set", support="out support[1]?")
_struct("score_result", raw="f32", processed="f32", rank="i32 1..", removed_by="text?")
_struct("explained", name="text", n_left="size", mass="f64", p="f32")
_struct("logits", data="byte[rows x stride elements]", dtype="dtype", n_rows="size 0..", n_vocab="size 1..4194304",
        stride="size n_vocab.. elements", row_index="i32[n_rows]? 0..", mask="u32[n_rows x mask_stride]?",
        mask_stride="size (n_vocab+31)/32.. words", logprobs="out logprobs[n_rows]?", n_threads="i32 0..",
        n_vocab_of="size[n_rows]? 1..n_vocab")
_struct("draft", n="size 0..", tokens="token[n] 0..n_vocab-1", probs="f32[n x n_vocab or n x n_top]? 0..1",
        ids="token[n x n_top]? 0..n_vocab-1", n_top="size 1..n_vocab", logprobs="out logprobs[n+1]?")
_function("sample", "token", s="sampler", logits="f32[n_vocab]", n_vocab="size 1..4194304")
_function("sample_batch", "status", rows="sampler[logits.n_rows]", logits="logits", out="out token[logits.n_rows]")
_function("score", "status", chain="sampler", logits="f32[n_vocab]", n_vocab="size 1..4194304",
          token="token 0..n_vocab-1", out="out score_result")
_function("explain", "i32", chain="sampler", logits="f32[n_vocab]", n_vocab="size 1..4194304",
          token="token 0..n_vocab-1", out="out explained[n_max]?", n_max="size 0..")
_function("raw_logprobs", "status", logits="logits")
_function("replay_check", "i64", chain="sampler", logits="logits", tokens="token[logits.n_rows]")
_function("verify", "i32", s="sampler", logits="f32[draft.n+1 x n_vocab]", n_vocab="size 1..4194304", draft="draft",
          method="verify_method", out="out token[draft.n+1]")
_function("guide", "status", cond="f32[n]", uncond="f32[n]", n="size 1..4194304", scale="f32", out="out f32[n]")
_function("error_text", "int", status="int", field="text?", buf="out char[size]?", size="size")
_function("params_error_text", "int", params="params", buf="out char[size]?", size="size")
_function("logits_error_text", "int", logits="logits", row="size 0..logits.n_rows-1", buf="out char[size]?",
          size="size")
_function("check_params", "status", params="params", field="out field?")
_function("chain_from_params", "new sampler of params", params="params", status="out status?")
_function("chain_update", "status", chain="sampler", params="kept params")
_function("settings_init", "new settings")
_function("settings_params", "lent params of settings", settings="const settings")
_function("settings_set", "status", settings="settings", name="text", value="text?", field="out field?")
_function("settings_get", "status", settings="const settings", name="text", buf="out char[size]?", size="size")
_function("settings_takes", "status", name="text", buf="out char[size]?", size="size")
_function("settings_use_vocab", "status", settings="settings", vocab="kept const vocab?")
_function("vocab_init", "new vocab", bytes="char[sum of n_bytes]", n_bytes="u32[n_vocab]", n_vocab="i32 1..4194304",
          eog="token[n_eog]? 0..n_vocab-1", n_eog="size", eos="token -1..n_vocab-1", eot="token -1..n_vocab-1",
          status="out status?")
_function("chain_add", "status", chain="sampler", s="taken sampler")
_function("chain_insert", "status", chain="sampler", i="i32 0..chain_n", s="taken sampler")
_function("chain_get", "lent sampler of chain", chain="const sampler", i="i32 0..chain_n-1")
_function("chain_n", "i32", chain="const sampler")
_function("chain_remove", "new sampler of chain", chain="sampler", i="i32 0..chain_n-1")
_function("get_seed", "u64", s="const sampler")
_function("child_seed", "u64", seed="u64", i="u64")
_function("get_position", "u64", s="const sampler")
_function("set_position", "status", s="sampler", position="u64")
_function("prev", "size", chain="const sampler", out="out token[n]", n="size")
_function("rollback", "status", s="sampler", n="i32 0.. tokens")
_function("set_rollback", "status", s="sampler", depth="i32 0.. tokens")
_function("state_size", "size", s="const sampler")
_function("state_save", "status", s="const sampler", bytes="out byte[size]", size="size")
_function("state_load", "status", s="sampler", bytes="byte[size]", size="size")
_function("describe", "status", s="const sampler", buf="out char[size]?", size="size")
_function("accept", "status", s="sampler", token="token 0..")
_function("name", "text of s", s="const sampler")
_function("reset", "void", s="sampler")
_function("clone", "new sampler of s", s="const sampler")
_function("init_replay", "new sampler", tokens="token[n]? 0..4194303", n="size 0..4194304")
_enum("grammar_kind", "gbnf", "json_schema", "regex", "structural_tag")
_struct("text_error", status="int", line="size 1..", column="size 1.. bytes", message="char[160]")
_struct("grammar_usage", n_states="size", n_entries="size", n_masks="size", n_hits="size", n_renewals="size",
        n_bytes="size", max_bytes="size")
_function("grammar_init", "new grammar", kind="grammar_kind", text="text", root="text?", error="out text_error?")
_function("builtin_tag", "i64", model="text", tools="text?", options="text?", text="out char[size]?", size="size",
          error="out text_error?")
_function("vocab_index_init", "new vocab_index", vocab="kept const vocab", status="out status?")
_function("init_grammar", "new sampler", index="kept const vocab_index", grammar="kept const grammar")
_function("init_grammar_lazy", "new sampler", index="kept const vocab_index", grammar="kept const grammar",
          words="texts[n_words]", n_words="size", tokens="token[n_tokens] 0..n_vocab-1", n_tokens="size")
_function("init_grammar_lazy_patterns", "new sampler", index="kept const vocab_index", grammar="kept const grammar",
          patterns="texts[n_patterns]", n_patterns="size", tokens="token[n_tokens] 0..n_vocab-1", n_tokens="size")
_function("grammar_is_awaiting", "status", s="const sampler")
_function("set_grammar_limits", "status", s="sampler", max_bytes="size", max_steps="i64 0..")
_function("grammar_stats", "status", s="const sampler", usage="out grammar_usage")
_function("grammar_mask", "status", s="sampler", bits="out u32[(n_vocab+31)/32]")
_function("grammar_prepare", "status", s="sampler", budget="i64 0.. steps")
_function("grammar_warm", "i64", index="const vocab_index", grammar="const grammar", budget="i64 1.. steps")
_function("grammar_is_complete", "status", s="const sampler")
_function("grammar_forced", "i64", s="sampler", bytes="out char[size]?", size="size")
_function("grammar_draft", "i64", grammar="sampler", tokens="out token[n_max]", n_max="size")
_function("grammar_certain", "i64", grammar="sampler", tokens="out token[n_max]", n_max="size")
_enum("ramp", "none", "linear", "exponential")
_enum("unit", "tokens", "lines")
_enum("area", "anywhere", "inside", "outside")
_struct("sequence", tokens="token[n] 0..", n="size 1..1024", bias="f32 -inf..")
_struct("loop", min_period="i32 1..65536 tokens", max_period="i32 min_period..65536 tokens", copies="i32 2..65536",
        last_n="i32 ..4194304 tokens", every="i32 1.. tokens")
_struct("thinking", start="token[n_start] 0..", n_start="size 1..1024", end="token[n_end] 0..", n_end="size 1..1024",
        force="token[n_force]? 0..", n_force="size 1..1024")
_struct("thinking_plan", total="i32 0.. tokens", soft="i32 0.. tokens", soft_ratio="f32 0..1", grace="i32 0.. tokens",
        note="token[n_note]? 0..", n_note="size 0..1024", ends="sequence[n_ends]?", n_ends="size 0..1024",
        ramp="ramp", bias="f32 0..", loop="loop[1]?", loop_from="i32 0.. tokens")
_struct("schedule", count="unit", from_="i32 0..", to="i32 0..", begin="i32 0.. tokens", where="area",
        spans="thinking[n_spans]?", n_spans="size 0..1024", inside="i32 0..n_spans", until="token[n_until]? 0..",
        n_until="size", vocab="kept const vocab?", loop="loop[1]?")
_function("init_sequence_bias", "new sampler", sequences="sequence[n]", n="size 0..65536")
_function("init_banned_sequences", "new sampler", sequences="sequence[n]", n="size 0..65536", flags="unsigned 0..1")
_function("init_banned_strings", "new sampler", vocab="kept const vocab", strings="texts[n]", n="size 0..65536",
          flags="unsigned 0..3")
_function("init_banned_pattern", "new sampler", vocab="kept const vocab", pattern="text", flags="unsigned 0..3",
          error="out text_error?")
_function("rewind_length", "i32", s="const sampler")
_function("init_suppressed_tokens", "new sampler", tokens="token[n] 0..", n="size 0..4194304")
_function("init_begin_suppressed_tokens", "new sampler", tokens="token[n] 0..", n="size 0..4194304",
          begin="i32 0.. tokens")
_function("init_min_tokens", "new sampler", tokens="token[n] 0..", n="size 0..4194304", n_min="i32 0..",
          begin="i32 0.. tokens")
_function("init_allowed_tokens", "new sampler", tokens="token[n] 0..", n="size 0..4194304")
_function("init_forced_prefix", "new sampler", tokens="token[n] 0..", n="size 0..4194304", begin="i32 0.. tokens")
_function("init_eog_bias", "new sampler", tokens="token[n] 0..", n="size 0..4194304", bias="f32 -inf..")
_function("init_length_penalty", "new sampler", tokens="token[n] 0..", n="size 0..4194304", start="i32 0.. tokens",
          factor="f32 (0..", begin="i32 0.. tokens")
_function("init_top_p_decay", "new sampler", p="f32 (0..1]", decay="f32 (0..1]", lowest="f32 (0..p]",
          resets="token[n] 0..", n="size 0..4194304", min_keep="size tokens")
_function("init_timestamps_except", "new sampler", first="i32 0..4194303", no_timestamps="i32 -1..4194303",
          max_initial="i32 -1..", exempt="token[n] 0..", n="size 0..4194304")
_function("init_no_repeat_ngram_except", "new sampler", n="i32 0..last_n tokens", last_n="i32 n..4194304 tokens",
          exempt="token[n_exempt] 0..", n_exempt="size 0..4194304")
_function("init_loop_breaker", "new sampler", min_period="i32 1..max_period tokens",
          max_period="i32 min_period..65536 tokens", copies="i32 2..last_n/min_period", last_n="i32 ..4194304 tokens",
          every="i32 1.. tokens", penalty="f32 0..inf")
_function("init_loop_breaker_cusum", "new sampler", n="i32 1..last_n tokens", last_n="i32 n..4194304 tokens",
          loss="f32 0..", alarm="f32 (0..", penalty="f32 0..inf")
_function("init_loop_watch", "new sampler", loop="loop")
_function("loop_length", "i32", s="const sampler")
_function("thinking_left", "i32 -1..", s="const sampler")
_function("init_thinking", "new sampler", vocab="kept const vocab?", spans="thinking[n_spans]",
          n_spans="size 0..1024", budget="i32 tokens", open="i32 -1..n_spans-1", plan="thinking_plan?")
_function("thinking_end", "status", s="sampler")
_function("thinking_now", "i32", s="const sampler")
_function("thinking_used", "i32", s="const sampler")
_function("init_schedule", "new sampler of member", when="schedule", member="taken sampler")
_function("schedule_holds", "i32", s="const sampler")
_enum("watermark_kind", "gumbel", "gumbel_dual", "sbw_selfhash", "sbw_lefthash", "synthid")
_enum("watermark_scope", "once_in_text", "once_in_all", "always")
_struct("watermark", kind="watermark_kind", key="u64", context_width="i32 1..64 tokens", scope="watermark_scope",
        history="i32 1..4194304 tokens", alpha="f64 0..1", depth="i32 1..32", gamma="f64 (0..1)", delta="f32 0..",
        seed="u64")
_struct("watermark_result", score="f64", p_value="f64", n_scored="size", ln_p="f64")
_struct("watermark_span", begin="size", end="size", result="watermark_result", p_value="f64", ln_p="f64")
_function("default_watermark", "watermark", kind="watermark_kind")
_function("watermark_set", "status", mark="inout watermark", name="text", value="text")
_function("init_watermark", "new sampler", mark="watermark")
_function("init_watermark_draft", "new sampler", mark="watermark")
_function("watermark_detect_keys", "status", mark="watermark", keys="u64[n_keys]", n_keys="size", text="token[n] 0..",
          n="size 0..1073741824", out="out watermark_result[n_keys]")
_function("watermark_find", "status", mark="watermark", text="token[n] 0..", n="size 0..1073741824",
          window="size 1.. tokens", out="out watermark_span")
_enum("peer", "openai", "vllm", "transformers", "llama_server", "ollama", "anthropic", "sglang")
_struct("request", error="text_error", field="char[64]", seeded="bool", with_prompt="bool",
        thinking_budget="i32 -1.. tokens", min_tokens="i32 0.. tokens", mask_ends="bool", guidance_scale="f32",
        n="i32 1..", n_beams="i32 0..4096", n_groups="i32 1..4096", early_stopping="i32 0..2", length_penalty="f32",
        diversity_penalty="f32 0..", logprobs="bool", prompt_logprobs="bool", n_top="i32 -1..",
        n_prompt_top="i32 -1..", support="bool", entropy="bool", n_logprob_ids="i32 0..128", logprob_ids="token[128]")
_function("settings_from", "status", settings="settings", peer="peer", json="text", handled="texts[]?",
          request="out request?")
_function("settings_from_lenient", "status", settings="settings", peer="peer", json="text", handled="texts[]?",
          request="out request?", left_out="out char[size]?", size="size")
_struct("text_options", stop_tokens="token[n_stop_tokens]? 0..", n_stop_tokens="size 0..4194304",
        min_tokens="i32 0.. tokens", include_stop="bool", raw_bytes="bool", strip_space="bool")
_function("text_init", "new text_stream", vocab="kept const vocab", stops="texts[n_stops]", n_stops="size 0..65536",
          options="text_options?", status="out status?")
_function("text_from_settings", "new text_stream", settings="const settings", vocab="kept const vocab",
          status="out status?")
_function("text_add_pattern", "status", text="text_stream", pattern="text", max_bytes="size 1..4096")
_function("text_push", "status", text="text_stream", token="token 0..n_vocab-1", out="c", n="out size")
_function("text_flush", "status", text="text_stream", out="c", n="out size")
_function("text_stop", "i32 -1..", text="const text_stream")
_function("text_stop_at", "status", text="const text_stream", token="out i32?", byte="out size?")
_function("text_rollback", "status", text="text_stream", n="i32 0.. tokens")
_function("text_clone", "new text_stream of text", text="const text_stream")
_function("text_reset", "void", text="text_stream")
_function("verify_block", "i32", s="sampler", logits="f32[draft.n+1 x n_vocab]", n_vocab="size 1..4194304",
          draft="draft", out="out token[draft.n+1]")
_function("ngram_init", "new ngram", n_min="i32 1..64 tokens", n_max="i32 n_min..64 tokens",
          max_tokens="size n_max..67108864")
_function("ngram_reset", "void", ngram="ngram?")
_function("ngram_accept", "status", ngram="ngram", token="token 0..")
_function("ngram_rollback", "status", ngram="ngram", n="i32 0.. tokens")
_function("ngram_draft", "i64", ngram="const ngram", out="out token[n_max]?", n_max="size")
_enum("early_stopping", "heuristic", "always", "exact")
_enum("unmask_rule", "confidence", "margin", "entropy", "threshold", "entropy_bound", "random", "raw_confidence",
      "independent")
_enum("unmask_schedule", "even", "linear")
_struct("beam_params", n_beams="i32 1..4096", n_groups="i32 0..n_beams", max_tokens="i32 1..1048576",
        length_penalty="f32", diversity_penalty="f32 0..", early_stopping="early_stopping", ends="token[n_ends]? 0..",
        n_ends="i32 0..4096", seed="u64", sampled="bool")
_struct("unmask_params", rule="unmask_rule", n="i32 0..", threshold="f32 0..", seed="u64", temp="f32 0..")
_function("beams_check_params", "status", params="beam_params", field="out field?")
_function("beams_init", "new beams", params="beam_params", status="out status?")
_function("beams_step", "i32", beams="beams", rows="sampler[beams.n_beams]?", logits="logits",
          tokens="out token[beams.n_beams]", parents="out i32[beams.n_beams]")
_function("beams_n_found", "i32", beams="const beams?")
_function("beams_found", "status", beams="const beams", i="i32 0..n_found-1", tokens="c", n="out size?",
          score="out f64?")
_function("beams_state_size", "size", beams="const beams?")
_function("beams_state_save", "status", beams="const beams", bytes="out byte[size]", size="size")
_function("beams_state_load", "status", beams="beams", bytes="byte[size]", size="size")
_function("unmask", "i32", params="unmask_params", rows="sampler[logits.n_rows]", logits="logits",
          tokens="out token[logits.n_rows]")
_function("unmask_count", "i32", schedule="unmask_schedule", n_masked="i32 0..", step="i32 0..n_steps-1",
          n_steps="i32 1..")
_function("vocab_from_tokenizer_json", "new vocab", text="char[n]", n="size 0..67108864", error="out text_error?")
_function("vocab_from_gguf", "new vocab", file="byte[n]", n="size", error="out text_error?")
# ---- end of C's side ----


# ---- vocabularies and grammars --------------------------------------------------------------------------------------

_once = threading.RLock()  # indexes of vocabularies are made one at a time; a fork waits for one that is being made
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_once.acquire, after_in_parent=_once.release, after_in_child=_once.release)


class _VocabData(Structure):
    """The struct samp_vocab, which tells its ends."""
    _fields_ = [("n_vocab", c_int32), ("token_bytes", c_void_p), ("tokenize", c_void_p), ("user", c_void_p),
                ("eog", POINTER(c_int32)), ("n_eog", c_size_t), ("eos", c_int32), ("eot", c_int32)]


class Vocab(_Object):
    """The tokens' bytes, for texts, grammars, dry and infill: Vocab([b"a", b"bc", None], eos=2), or of a model's file.

    tokens: bytes or str each, None for control tokens. eos, eot: the tokens that end a text and a turn; eog: all that
    end a generation (else eos and eot)."""
    eos = eot = _trie = None
    eog, _n = (), 0

    def __init__(self, tokens, *, eos=None, eot=None, eog=None):
        pieces = [b"" if of is None else _piece(of, "tokens") for of in _list(tokens, "tokens")]
        eos, eot = (-1 if of is None else _whole(of, name, -1, len(pieces) - 1)
                    for of, name in ((eos, "eos"), (eot, "eot")))
        ends = _integers([of for of in (eos, eot) if of >= 0] if eog is None else eog, "eog")
        lengths = _Copied(map(len, pieces), (len(pieces),), "uint32")
        self._take(c.vocab_init(b"".join(pieces), lengths, ends, eos, eot))

    def _take(self, held):
        of, self._held = _VocabData.from_address(held.value), held
        self._n, self.eog = of.n_vocab, tuple(of.eog[:of.n_eog])
        self.eos, self.eot = (token if token >= 0 else None for token in (of.eos, of.eot))
        return self

    @classmethod
    def from_tokenizer_json(cls, text):
        """The vocabulary of a tokenizer.json as Hugging Face has it, a text or bytes. Ends are found by their names."""
        return _of_file(text, "text", lambda of: cls.__new__(cls)._take(c.vocab_from_tokenizer_json(of)))

    @classmethod
    def from_gguf(cls, file):
        """The vocabulary of a model's GGUF file: its bytes, or the first of them; an mmap is read where it is."""
        return _of_file(file, "file", lambda of: cls.__new__(cls)._take(c.vocab_from_gguf(of)))

    def __len__(self):
        return self._n

    def _index(self):
        """What grammars need of it, made once."""
        if self._trie is None:
            with _once:
                if self._trie is None:
                    self._trie = c.vocab_index_init(self)
        return self._trie

    def close(self):
        super().close()
        self._trie = None


def _of_file(of, name, make):
    """What is made of a file's bytes, which are let go of even if that fails."""
    views = []
    try:
        with _reading(name):
            views.append(memoryview(str.encode(of) if isinstance(of, str) else of))
            views.append(views[0].cast("B"))
            at = _Buffer(views[1])
            views.append(at.view)
        return make(at)
    finally:
        for view in views:
            view.release()


class Grammar(_Object):
    """What a text may be: Grammar.from_string(gbnf), .from_json_schema(schema), .from_regex(pattern),
    .from_structural_tag(tag)."""

    KINDS = c.grammar_kind

    def __init__(self, text, kind="gbnf", root=None):
        self._held = c.grammar_init(kind, text, None if root == "" else root)

    @classmethod
    def from_string(cls, gbnf, root=None):
        """llama.cpp's GBNF; root: the rule to begin with."""
        return cls(gbnf, "gbnf", root)

    @classmethod
    def from_json_schema(cls, schema, style=None):
        """A schema as text, dict or bool; style: "ordered", "compact", "spaced", with blanks between."""
        return cls(_json(schema, "schema"), "json_schema", style)

    @classmethod
    def from_regex(cls, pattern):
        """The whole text matches it (ECMA-262's)."""
        return cls(pattern, "regex")

    @classmethod
    def from_structural_tag(cls, tag, style=None):
        """Calls of tools in free text: a structural tag as text or dict, as XGrammar and vLLM's response_format have
        it; style: of the schemas in it."""
        return cls(_json(tag, "tag"), "structural_tag", style)

    @classmethod
    def from_tools(cls, model, tools=None, options=None, style=None):
        """Calls of a request's tools as a model writes them ("llama", "qwen_3", "deepseek_v3_1", "harmony" and so on);
        options: "required", "one", "thinking", with blanks between; style: of the tools' schemas."""
        tools = None if tools is None else _json(tools, "tools")
        return cls(_written(lambda *to: c.builtin_tag(model, tools, options, *to)), "structural_tag", style)

    def warm(self, vocab, budget):
        """Work masks out ahead, `budget` steps of some ten nanoseconds. How many it took; 0: there is nothing to do."""
        return c.grammar_warm(_is(vocab, Vocab, "vocab")._index(), self, budget)


def _json(of, name):
    with _reading(name, _FORMAT):
        return of if isinstance(of, (str, bytes)) else json.dumps(of)


# ---- samplers -------------------------------------------------------------------------------------------------------

Logprob = collections.namedtuple("Logprob", "token rank logprob")
LogprobSet = collections.namedtuple("LogprobSet", "chosen top entropy given", defaults=(0.0, ()))
Support = collections.namedtuple("Support", "n mass tokens logprobs")  # tokens None: there are more than asked for
Logprobs = collections.namedtuple("Logprobs", "raw processed support", defaults=(None,))
Score = collections.namedtuple("Score", "raw processed rank removed_by")
Explained = collections.namedtuple("Explained", "name n_left mass p")
GrammarStats = collections.namedtuple("GrammarStats", [name for name, _ in c.grammar_usage._fields_])

# what vLLM, transformers and llama-cpp-python call the settings; and the samplers' names, for a first value
aliases = {"temperature": "temp", "typical": "typ_p", "xtc": "xtc_probability", "dry": "dry_multiplier",
           "penalties": "penalty_last_n",
           "repetition_penalty": "penalty_repeat", "repeat_penalty": "penalty_repeat",
           "frequency_penalty": "penalty_freq", "presence_penalty": "penalty_present",
           "repeat_last_n": "penalty_last_n", "typical_p": "typ_p",
           "mirostat_mode": "mirostat", "tfs": "tfs_z", "dynatemp_exp": "dynatemp_exponent",
           "smoothing": "smoothing_factor"}


def _setting(name):
    """A setting's own name."""
    return aliases.get(name, name) if isinstance(name, str) else name


def _pairs(of, name):
    """A dict's items, or a list of pairs."""
    with _reading(name):
        return [(key, value) for key, value in (of.items() if hasattr(of, "items") else _list(of, name))]


def _values(name, value):
    """A setting's value as the texts that samp_settings_set takes, one after the other."""
    if name == "logit_bias" and not isinstance(value, str):
        return [f"{_whole(token, name, *_MOST['int32'])}{_real(bias, name):+}" for token, bias in _pairs(value, name)]
    if name == "order" and isinstance(value, (list, tuple)):
        return [b";".join(_text(of, name) for of in value)]
    if name in ("order", "dry_breakers") or isinstance(value, (str, bytes)):
        return [_text(of, name) for of in (value if isinstance(value, (list, tuple)) else (value,))]
    if type(value).__name__ in _BOOLS:
        return [str(int(value))]
    try:
        if type(value) in (int, float):
            return [str(value)]
        if hasattr(value, "__index__") or hasattr(value, "__float__"):
            return [_text(str(value), name)]
        why = f"{_said(value)} is neither a number nor a text"
    except _BAD as error:
        why = error
    raise SamplingError(_RANGE, name, f"{name}: {why}")


def _own(values):
    """Settings that nobody else changes, or uses up."""
    own = {}
    for name, value in values.items():
        if type(value) not in (int, float, str):
            with _reading(name):
                if hasattr(value, "items"):
                    value = dict(value.items())
                value = list(value) if isinstance(value, list) or hasattr(value, "__next__") else value
        own[name] = value
    return own


def _settings(values, vocab):
    """The samp_settings of some values, for as long as a call needs it."""
    settings = c.settings_init()
    if isinstance(vocab, Vocab):
        c.settings_use_vocab(settings, vocab)
    elif vocab is not None:
        c.settings_set(settings, "n_vocab", str(vocab))
    for name, value in values.items():
        if value is not None:
            name = _setting(name)
            for text in _values(name, value):
                c.settings_set(settings, name, text)
    params = c.settings_params(settings)
    try:
        c.check_params(params)
    except SamplingError as error:
        why = _written(lambda *to: c.params_error_text(params, *to))
        raise SamplingError(error.status, error.field, why) from None
    return settings


_sample = c.sample.raw


def _accepting(checked):
    """The method accept of what takes tokens by this function of C's."""
    raw = checked.raw

    def accept(self, token):
        """Tell of a token that was not sampled here, or of several: a prompt's."""
        try:  # the usual case, with the least work
            one = token if type(token) is int else -1 if type(token).__name__ in _NEITHER else operator.index(token)
            if 0 <= one < 2**31 and raw(self._held, one) >= 0:
                return
        except _BAD:
            pass
        if not hasattr(token, "__iter__") or isinstance(token, (str, bytes, bytearray, dict)) or (
                getattr(token, "shape", None) == ()):
            checked(self, token)
            return
        with _reading("token"):
            tokens = iter(token)
        held = _is(self, _Object, "self")._held
        for one in tokens:
            if type(one) is not int or not 0 <= one < 2**31 or raw(held, one) < 0:
                checked(held, one)

    return accept


class Sampler(_Object):
    """What chains, matchers and constraints have in common."""

    accept = _accepting(c.accept)

    def reset(self):
        """As new: for another text."""
        c.reset(self)

    def rollback(self, n=1):
        """Take back the last n tokens, as if they had never been drawn."""
        c.rollback(self, n)

    def set_rollback(self, depth):
        """How many tokens can be taken back from now on (64 unless told)."""
        c.set_rollback(self, depth)

    def clone(self):
        """A copy that goes on as this one would."""
        held, other = c.clone(self), object.__new__(type(self))
        other.__dict__.update(self.__dict__, _held=held)
        return other

    def __copy__(self):
        return self.clone()

    def save(self):
        """What it has become, as bytes: the same on every machine. load() goes on, in one with the same settings."""
        size = c.state_size(self)
        state = ctypes.create_string_buffer(max(size, 1))
        c.state_save(self, state, size)
        return state.raw[:size]

    def load(self, state):
        c.state_load(self, state)

    @property
    def position(self):
        """The number of the next draw."""
        return c.get_position(self)

    @position.setter
    def position(self, position):
        c.set_position(self, position)

    @property
    def seed(self):
        return c.get_seed(self)

    def describe(self):
        """The samplers and their values, as text."""
        return _written(lambda *to: c.describe(self, *to))

    def rewind_length(self):
        """How many of the last tokens rollback() should take back, as what is banned has come to stand in them."""
        return c.rewind_length(self)

    def loop_length(self):
        """The period of the loop that the text is in, as the first loop breaker or watch finds it; 0: in none."""
        return c.loop_length(self)

    def thinking_left(self):
        """How many tokens the open span of thinking may still have; None: none is open."""
        left = c.thinking_left(self)
        return left if left >= 0 else None

    def thinking_now(self):
        """Its stage: "not", "open", "soft", "note", "grace" or "ends"."""
        return _STAGES[c.thinking_now(self)]

    def thinking_used(self):
        """How many tokens have been thought."""
        return c.thinking_used(self)

    def thinking_end(self):
        """End the open span now: its end is forced."""
        c.thinking_end(self)

    def schedule_holds(self):
        """Is it the time of the first schedule?"""
        return bool(c.schedule_holds(self))


class Matcher(Sampler):
    """A grammar at work on one text: which tokens may come next. Chain(grammar=...) puts a copy of it first.

    trigger_words, trigger_patterns, trigger_tokens: it waits for one of them, and allows all until then. Words and
    patterns exclude each other."""
    _n = 0

    def __init__(self, vocab, grammar, *, trigger_words=None, trigger_patterns=None, trigger_tokens=None):
        self._n, index = len(_is(vocab, Vocab, "vocab")), vocab._index()
        _is(grammar, Grammar, "grammar")
        if trigger_words is not None and trigger_patterns is not None:
            raise SamplingError(_RANGE, "trigger_patterns", "trigger_patterns: there are trigger_words already")
        tokens = _integers(() if trigger_tokens is None else trigger_tokens, "trigger_tokens")
        if trigger_patterns is not None:
            patterns = _texts(trigger_patterns, "trigger_patterns")
            self._held = c.init_grammar_lazy_patterns(index, grammar, patterns, tokens)
        elif trigger_words is not None or trigger_tokens is not None:
            words = _texts(() if trigger_words is None else trigger_words, "trigger_words")
            self._held = c.init_grammar_lazy(index, grammar, words, tokens)
        else:
            self._held = c.init_grammar(index, grammar)

    def mask(self, out=None):
        """The tokens that may follow, as words of 32 bits (bit i % 32 of word i // 32 is token i): an array.array, or
        written to out, an array of uint32 or int32."""
        words = (self._n + 31) // 32
        if out is None:
            bits = array.array("I", bytes(4 * words))
            c.grammar_mask(self, bits.buffer_info()[0])
            return bits
        with _reading("out"):
            at = _Buffer(out, writable=True)
        if at.dtype not in ("uint32", "int32") or at.n < words or not at.is_dense():
            raise SamplingError(_RANGE, "out", f"out: {at.dtype} {at.shape}, not uint32 {(words,)} side by side")
        c.grammar_mask(self, at.address)
        return out

    def allows(self, token):
        """May this token come next?"""
        token = _whole(token, "token", *_MOST["int32"])
        return 0 <= token < self._n and bool(self.mask()[token // 32] >> token % 32 & 1)

    def is_complete(self):
        """Is the text one of the grammar's as it stands?"""
        return bool(c.grammar_is_complete(self))

    def is_awaiting(self):
        """Does it wait for its trigger?"""
        return bool(c.grammar_is_awaiting(self))

    def forced(self):
        """The bytes that must follow, whatever comes: to be tokenised and accepted without a model."""
        text = ctypes.create_string_buffer(_FORCED)
        n = c.grammar_forced(self, text, _FORCED)
        return text.raw[:n]

    def draft(self, n=64):
        """What must follow as tokens, n at most: a draft for Chain.verify."""
        return _filled(lambda *to: c.grammar_draft(self, *to), n, _FORCED)

    def certain(self, n=64):
        """Those at its front that nothing else could be: they need no step of the model."""
        return _filled(lambda *to: c.grammar_certain(self, *to), n, _FORCED)

    def prepare(self, budget):
        """Do a part of the next mask's work ahead, `budget` steps of some ten nanoseconds. Is the mask there?"""
        return bool(c.grammar_prepare(self, budget))

    def stats(self):
        """What all samplers of this grammar have learnt together, and its memory."""
        usage = c.grammar_usage()
        c.grammar_stats(self, usage)
        return GrammarStats(*[getattr(usage, name) for name in GrammarStats._fields])

    def set_limits(self, max_bytes, max_steps):
        """How much the grammar may hold for all its samplers, and how many steps a call on this one may take."""
        c.set_grammar_limits(self, max_bytes, max_steps)


_FORCED = 4096  # how many bytes a grammar forces at most, and so tokens


def _filled(write, n, most):
    """The tokens that C writes, n at most; it has no more than `most`."""
    n = min(_whole(n, "n", 0, 2**64 - 1), most)
    out = (c_int32 * max(n, 1))()
    return out[:write(out, n)]


# ---- constraints ----------------------------------------------------------------------------------------------------

Loop = collections.namedtuple("Loop", "min_period max_period copies last_n every", defaults=(4, 128, 3, 512, 16))
Loop.__doc__ = "What a loop is: a piece of so many tokens, so often, in the last last_n; looked for behind every `every`."

_STAGES = "not", "open", "soft", "note", "grace", "ends"


def _sequences(pairs, name):
    """Sequences of tokens, with their biases."""
    return [c.sequence.of(tokens=_integers(tokens, name), bias=bias) for tokens, bias in pairs]


def _unbiased(of, name):
    return _sequences([(tokens, -math.inf) for tokens in _list(of, name)], name)


def _spans(of):
    """Spans of thinking, each (start, end) or (start, end, force)."""
    spans = [[_integers(tokens, "spans") for tokens in _list(span, "spans")] for span in _list(of, "spans")]
    if any(len(span) not in (2, 3) for span in spans):
        raise SamplingError(_RANGE, "spans", "spans: each is (start, end) or (start, end, force)")
    return [c.thinking.of(**dict(zip(("start", "end", "force"), span))) for span in spans]


def _loop(of):
    """A Loop, as C's struct."""
    numbers = _list(of, "loop")
    if len(numbers) != len(Loop._fields):
        raise SamplingError(_RANGE, "loop", f"loop: {_said(of)} is no Loop")
    return c.loop.of(**dict(zip(Loop._fields, numbers)))


def _maybe(make, of):
    return None if of is None else make(of)


class Constraint(Sampler):
    """What masks, forces or weighs tokens by what has come before: for Chain(constraints=[...]), which takes copies.

    Constraint.thinking(...), .schedule(...), .banned_pattern(...) and so on, named as samp_init_... is. Tokens are lists
    of numbers. begin: the position of the first token to be generated, if the prompt is accepted too."""

    @classmethod
    def _of(cls, held):
        self = cls.__new__(cls)
        self._held = held
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
        plan = c.thinking_plan.of(total=total, soft=soft, soft_ratio=soft_ratio, grace=grace, note=note,
                                  ends=_unbiased(ends, "ends"), ramp="none" if ramp is None else ramp,
                                  bias=bias, loop=_maybe(_loop, loop), loop_from=loop_from)
        if not plan.n_note:
            plan.note = None
        return cls._of(c.init_thinking(vocab, _spans(spans), budget, -1 if inside is None else inside, plan))

    @classmethod
    def schedule(cls, what, *, count="tokens", start=0, stop=0, begin=0, where="anywhere", spans=(), inside=None,
                 until=(), vocab=None, loop=None):
        """`what` at work at times only: a Constraint (a copy), or a dict of settings, such as {"temperature": 1.5}.

        count: "tokens" or "lines" c, from the beginning or the last border of a span; start <= c < stop (0: for ever).
        where: "anywhere", "inside" or "outside" of spans. until: over once one of these tokens has come. loop: c is 0
        behind a Loop that was found, too."""
        member = c.clone(_is(what, Constraint, "what")) if isinstance(what, Sampler) else _steps(what, vocab)
        inside = 0 if inside is None else _whole(inside, "inside", -1, 2**31 - 2) + 1
        when = c.schedule.of(count=count, from_=start, to=stop, begin=begin, where=where, spans=_spans(spans),
                             inside=inside, until=until, vocab=vocab, loop=_maybe(_loop, loop))
        return cls._of(c.init_schedule(when, member))

    @classmethod
    def loop_watch(cls, loop=Loop()):
        """Finds loops and changes nothing: loop_length() tells."""
        return cls._of(c.init_loop_watch(_loop(loop)))

    @classmethod
    def loop_breaker(cls, loop=Loop(), penalty=math.inf):
        """In a loop, penalty less for the token that goes on with it."""
        of = _loop(loop)
        return cls._of(c.init_loop_breaker(*[getattr(of, name) for name in Loop._fields], penalty))

    @classmethod
    def loop_breaker_cusum(cls, n=6, last_n=4096, loss=0.25, alarm=15.0, penalty=math.inf):
        """The same for loops without a fixed period."""
        return cls._of(c.init_loop_breaker_cusum(n, last_n, loss, alarm, penalty))

    @classmethod
    def banned_pattern(cls, vocab, pattern, *, rewind=False, any_case=False):
        """No text that a regular expression matches. rewind: only seen when it is there; see rewind_length()."""
        return cls._of(c.init_banned_pattern(vocab, pattern, _ban(rewind, any_case)))

    @classmethod
    def banned_strings(cls, vocab, strings, *, rewind=False, any_case=False):
        """None of these strings, whatever tokens spell it."""
        return cls._of(c.init_banned_strings(vocab, strings, _ban(rewind, any_case)))

    @classmethod
    def banned_sequences(cls, sequences, *, rewind=False):
        """None of these sequences of tokens."""
        return cls._of(c.init_banned_sequences(_unbiased(sequences, "sequences"), _ban(rewind, False)))

    @classmethod
    def sequence_bias(cls, biases):
        """{(token, ...): bias} for the token that would complete a sequence."""
        return cls._of(c.init_sequence_bias(_sequences(_pairs(biases, "biases"), "biases")))

    @classmethod
    def suppressed_tokens(cls, tokens):
        """Never these tokens."""
        return cls._of(c.init_suppressed_tokens(tokens))

    @classmethod
    def begin_suppressed_tokens(cls, tokens, begin=0):
        """Not these at the position begin."""
        return cls._of(c.init_begin_suppressed_tokens(tokens, begin))

    @classmethod
    def min_tokens(cls, tokens, n_min, begin=0):
        """Not these, usually vocab.eog, before n_min tokens."""
        return cls._of(c.init_min_tokens(tokens, n_min, begin))

    @classmethod
    def allowed_tokens(cls, tokens):
        """Only these tokens."""
        return cls._of(c.init_allowed_tokens(tokens))

    @classmethod
    def forced_prefix(cls, tokens, begin=0):
        """These tokens first, one after the other."""
        return cls._of(c.init_forced_prefix(tokens, begin))

    @classmethod
    def eog_bias(cls, tokens, bias):
        """A bias on these, usually vocab.eog."""
        return cls._of(c.init_eog_bias(tokens, bias))

    @classmethod
    def length_penalty(cls, tokens, start, factor, begin=0):
        """These, usually vocab.eog, are more likely the longer the text is beyond start tokens."""
        return cls._of(c.init_length_penalty(tokens, start, factor, begin))

    @classmethod
    def top_p_decay(cls, p, decay, lowest, resets=(), min_keep=0):
        """top_p whose p falls along a sentence."""
        return cls._of(c.init_top_p_decay(p, decay, lowest, resets, min_keep))

    @classmethod
    def no_repeat_ngram(cls, n, last_n=4096, exempt=()):
        """No n tokens that stand in the last last_n already; the tokens exempt are never masked."""
        return cls._of(c.init_no_repeat_ngram_except(n, last_n, exempt))

    @classmethod
    def timestamps(cls, first, no_timestamps=None, max_initial=None, exempt=()):
        """Whisper's rules for time stamps: the tokens from first on, in pairs, none before an earlier one, the first of a
        text at most max_initial behind first. no_timestamps: the token that is masked. exempt: tokens that may follow a
        single time stamp behind text, such as the end."""
        return cls._of(c.init_timestamps_except(first, -1 if no_timestamps is None else no_timestamps,
                                                -1 if max_initial is None else max_initial, exempt))


def _ban(rewind, any_case):
    return _flag(rewind, "rewind") | _flag(any_case, "any_case") << 1


def _steps(values, vocab):
    """A chain of what settings say, without what draws; the usual numbers of the others are off."""
    if not hasattr(values, "items"):
        raise SamplingError(_RANGE, "what", f"what: {_said(values)} is neither a Constraint nor a dict")
    values = {_setting(name): value for name, value in values.items()}
    for name in values:
        if name in ("mirostat", "adaptive_target", "seed", "rng"):
            raise SamplingError(_UNSUPPORTED, name, f"{name}: what draws does so at all times")
    settings = _settings({"temp": 1, "top_k": 0, "top_p": 1, "min_p": 0, **values}, vocab)
    chain = c.chain_from_params(c.settings_params(settings))
    c.chain_remove(chain, c.chain_n(chain) - 1)
    return chain


# ---- watermarks -----------------------------------------------------------------------------------------------------

WatermarkResult = collections.namedtuple("WatermarkResult", "score p_value n_scored ln_p")
WatermarkSpan = collections.namedtuple("WatermarkSpan", "begin end result p_value ln_p")


class Watermark(_Value):
    """The mark of a secret key, for Chain(watermark=...), and its detector.

    kind: "gumbel", "gumbel_dual", "synthid" (these draw in place of the chain's last sampler), "sbw_selfhash",
    "sbw_lefthash" (a bias). seed: of draws without a mark; None: the chain's. numbers: context_width, scope, history,
    alpha, depth, gamma, delta. The key is written nowhere."""

    def __init__(self, key, kind="gumbel", *, seed=None, **numbers):
        self._mark, self._seeded, self._drafts = c.default_watermark(kind), seed is not None, False
        self._mark.key = _whole(key, "key", 0, 2**64 - 1)
        self._mark.seed = 0 if seed is None else _whole(seed, "seed", 0, 2**64 - 1)
        for name, value in numbers.items():
            if type(value).__name__ in _BOOLS:
                raise SamplingError(_RANGE, name, f"{name}: {value} is no number")
            for text in _values(name, float(format(value, ".15g")) if isinstance(value, float) else value):
                c.watermark_set(self._mark, name, text)
        self._sampler(0)

    def for_draft(self):
        """The mark for the small model that drafts ("gumbel_dual")."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _drafts=True)
        other._sampler(0)
        return other

    def _sampler(self, seed):
        mark = c.watermark.from_buffer_copy(self._mark)
        if not self._seeded:
            mark.seed = seed
        return c.init_watermark_draft(mark) if self._drafts else c.init_watermark(mark)

    def _selects(self):
        return self._mark.kind not in (c.watermark_kind["sbw_selfhash"], c.watermark_kind["sbw_lefthash"])

    def detect(self, text):
        """Does this text, the tokens as they were generated without the prompt, carry the mark? A WatermarkResult."""
        return self.detect_keys([self._mark.key], text)[0]

    def detect_keys(self, keys, text):
        """The same for each of these keys in place of its own."""
        keys = _integers(keys, "keys", "uint64")
        out = (c.watermark_result * max(keys.n, 1))()
        c.watermark_detect_keys(self._mark, keys, text, out)
        return [_result(of) for of in out[:keys.n]]

    def find(self, text, window=200):
        """The piece of `window` tokens that is most likely marked: a WatermarkSpan."""
        out = c.watermark_span()
        c.watermark_find(self._mark, text, window, out)
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
    _vocab = _settings = _request = None
    _marks, _replays, left_out = False, False, ()

    def __init__(self, vocab=None, grammar=None, *, constraints=(), watermark=None, **settings):
        self._vocab, self._settings = _vocabulary(vocab), _own(settings)
        self._build(grammar, _settings(self._settings, self._vocab), constraints, watermark)

    def _build(self, grammar, settings, constraints, watermark):
        constraints = [_is(of, (Constraint, Matcher), "constraints") for of in _list(constraints, "constraints")]
        if isinstance(grammar, Grammar):
            if not isinstance(self._vocab, Vocab):
                raise SamplingError(_NULL, "vocab", "vocab: a grammar needs a Vocab, to know the tokens' bytes")
            constraints.insert(0, Matcher(self._vocab, grammar))
        elif grammar is not None:
            constraints.insert(0, _is(grammar, Matcher, "grammar"))
        self._held = chain = c.chain_from_params(c.settings_params(settings))
        for i, of in enumerate(constraints):
            c.chain_insert(chain, i, c.clone(of))
        if watermark is not None:
            self._add_mark(_is(watermark, Watermark, "watermark"), len(constraints))

    def _add_mark(self, watermark, place):
        self._marks, mark = watermark._selects(), watermark._sampler(c.get_seed(self))
        if not self._marks:
            c.chain_insert(self, place, mark)
            return
        self._must_draw()
        c.chain_remove(self, c.chain_n(self) - 1)
        c.chain_add(self, mark)

    def _must_draw(self):
        if c.name(c.chain_get(self, c.chain_n(self) - 1)) != "dist":
            raise SamplingError(_UNSUPPORTED, "watermark", "watermark: this kind needs a draw: temperature above 0, no "
                                                           "mirostat, no adaptive_target")

    @classmethod
    def from_request(cls, peer, request, vocab=None, grammar=None, *, handled=(), lenient=False, seed=None,
                     thinking=None, n_prompt=None, constraints=(), watermark=None):
        """What a request to another program asks for, by its names, defaults and ranges.

        peer: "openai", "vllm", "transformers", "llama_server", "ollama", "anthropic", "sglang". request: a dict, or JSON.
        handled: fields that you see to. lenient: fields that the program does not have are left out; .left_out has
        their names. seed: if the request has none. thinking: what makes a Constraint of a number of tokens to think, if
        the request says one: lambda budget: Constraint.thinking(spans, budget). .with_prompt tells whether the prompt is
        to be accepted too; n_prompt: its length, which a least number of tokens needs. .text() has the request's
        stops."""
        self = cls.__new__(cls)
        self._vocab = _vocabulary(vocab)
        settings, told = _settings({"seed": seed}, self._vocab), c.request()
        json_, n_prompt = _text(_json(request, "request"), "request"), _maybe(
            lambda n: _whole(n, "n_prompt", 0, 2**31 - 1), n_prompt)
        try:
            if _flag(lenient, "lenient"):
                names = ctypes.create_string_buffer(8 * len(json_) + 64)  # "options." before each of many short ones
                c.settings_from_lenient(settings, peer, json_, handled, told, names, len(names))
                self.left_out = names.value.decode(errors="replace").split(";") if names.value else []
            else:
                c.settings_from(settings, peer, json_, handled, told)
        except SamplingError as error:
            if told.error.status == 0:
                raise
            field = told.field.decode(errors="replace") or None
            message = told.error.message.decode(errors="replace") or _error_text(error.status, None)
            raise SamplingError(error.status, field, f"{field}: {message}" if field else message) from None
        if told.guidance_scale != 1:
            raise SamplingError(_UNSUPPORTED, "guidance_scale",
                                "guidance_scale: guide the logits yourself, and say it in handled")
        if told.n_beams:
            raise SamplingError(_UNSUPPORTED, "beams", "beams: make Beams yourself, and say the field in handled")
        if told.thinking_budget >= 0:
            if thinking is None:
                raise SamplingError(_UNSUPPORTED, "thinking_budget",
                                    "thinking_budget: say thinking=, or see to it yourself, by handled")
            if not callable(thinking):
                raise SamplingError(_RANGE, "thinking", f"thinking: {_said(thinking)} makes no Constraint")
            constraints = [thinking(told.thinking_budget), *_list(constraints, "constraints")]
        if told.min_tokens > 0:
            if n_prompt is None and told.with_prompt:
                raise SamplingError(_UNSUPPORTED, "min_tokens",
                                    "min_tokens: say n_prompt=, how many tokens of the prompt the chain accepts")
            least = Constraint.min_tokens(self._ends("min_tokens"), told.min_tokens, told.with_prompt and n_prompt or 0)
            constraints = [least, *_list(constraints, "constraints")]
        if told.mask_ends:
            never = Constraint.suppressed_tokens(self._ends("ignore_eos"))
            constraints = [never, *_list(constraints, "constraints")]
        self._request = settings
        self._build(grammar, settings, constraints, watermark)
        self.with_prompt = told.with_prompt
        return self

    def _ends(self, field):
        if not isinstance(self._vocab, Vocab) or not self._vocab.eog:
            raise SamplingError(_UNSUPPORTED, field, f"{field}: this needs a Vocab that knows the end tokens")
        return self._vocab.eog

    def text(self, vocab=None):
        """A Text that ends where the chain's request says; without a request only end tokens end it. vocab: if the
        chain has none."""
        settings = _is(self, Chain, "self")._request
        return Text._of(c.text_from_settings(c.settings_init() if settings is None else settings,
                                             self._vocab if vocab is None else vocab))

    @property
    def n_vocab(self):
        return len(self._vocab) if isinstance(self._vocab, Vocab) else self._vocab

    def _fits(self, n):
        vocab = self._vocab
        if n < len(vocab) if isinstance(vocab, Vocab) else vocab is not None and n != vocab:
            raise SamplingError(_RANGE, "logits", f"logits: there are {n}, not {self.n_vocab}")

    def sample(self, logits, mask=None, logprobs=None, dtype=None, *, ids=None, support=None):
        """The next token, which the chain has then accepted.

        logits: [n_vocab] numbers; float32, float16, bfloat16 and float64 are read where they are. mask: words of 32
        bits, or a bool for each token. logprobs: the n most likely tokens too; ids: given tokens' log-probabilities;
        support: the tokens that could be drawn, if they are at most so many; then (token, Logprobs).
        dtype: of an array of 16-bit integers, "float16" or "bfloat16"."""
        if mask is logprobs is dtype is ids is support is None and type(logits) is not list and (
                not hasattr(logits, "filled")):  # the usual case, with the least work
            try:
                view = memoryview(logits)
            except _BAD:
                view = None
            if view is not None and view.format == "f" and view.ndim == 1 and view.c_contiguous:
                address, n = _address(view), view.shape[0]
                if n != self._vocab:
                    self._fits(n)
                token = _sample(self._held, address, n) if address % 4 == 0 else -1
                if token >= 0:
                    return token
        at, held = _floats(logits, "logits", dtype), _holder(self, "s", "sampler")
        if len(at.shape) != 1:
            raise SamplingError(_RANGE, "logits", f"logits: {at.shape} is no row; sample_batch takes many")
        self._fits(at.shape[0])
        if mask is logprobs is ids is support is None and at.dtype == "float32":
            token = _sample(held, at.address, at.n)
            if token >= 0:
                return token
            if token not in (_NAN, _EMPTY):
                _fail(token)
        try:
            tokens = _batch([self], at, mask, logprobs, None, 1, ids, support)
        except BatchError as error:
            raise error.errors[0] from None
        return tokens[0] if logprobs is ids is support is None else (tokens[0][0], tokens[1][0])

    def score(self, logits, token):
        """What the chain would give a token now: its log-probabilities, its rank, what removes it (or None)."""
        row, out = self._row(logits), c.score_result()
        c.score(self, row, _whole(token, "token", 0, row.n - 1), out)
        return Score(out.raw, out.processed, out.rank, out.removed_by and out.removed_by.decode())

    def explain(self, logits, token):
        """What each sampler that is on leaves: how many tokens, their share of the model's distribution, this token's
        probability among them."""
        row = self._row(logits)
        out = (c.explained * 256)()  # a chain that works on rows has no more
        n = c.explain(self, row, _whole(token, "token", 0, row.n - 1), out, 256)
        return [Explained(one.name.decode(), one.n_left, one.mass, one.p) for one in out[:n]]

    def _row(self, logits):
        row = _dense_f32(logits, "logits")
        if len(row.shape) != 1:
            raise SamplingError(_RANGE, "logits", f"logits: {row.shape}, not [n_vocab]")
        self._fits(row.n)
        return row

    def verify(self, logits, draft, probs=None, ids=None, method="exact", dtype=None, *, logprobs=None,
               logprob_ids=None, support=None):
        """How much of a draft is right? The tokens that are accepted, and one token more.

        logits: [n + 1, n_vocab] what the model says behind 0 .. n tokens of the draft. draft: [n] tokens.
        method: "exact": the tokens that there would be without a draft. "ratio" and "block": their distribution, and
        more of the draft is accepted; probs: what it was drawn from, [n, n_vocab], or [n, n_top] with ids [n, n_top].
        logprobs, logprob_ids, support: as sample()'s logprobs, ids, support; then (tokens, [Logprobs])."""
        at, tokens = _dense_f32(logits, "logits", dtype), _integers(draft, "draft")
        n = tokens.n
        if len(at.shape) != 2 or at.shape[0] != n + 1:
            raise SamplingError(_RANGE, "logits", f"logits: {at.shape}, not {(n + 1, self.n_vocab)}: a row more than "
                                                  f"the draft has tokens")
        self._fits(at.shape[1])
        _word(method, "method", {**c.verify_method, "block": None})
        q = None if probs is None else _dense_f32(probs, "probs")
        which = None if ids is None else _integers(ids, "ids", dimensions=2 if n else None)
        if q is not None and q.shape != ((n, at.shape[1]) if which is None else which.shape) and n > 0:
            raise SamplingError(_RANGE, "probs", f"probs: {q.shape} does not fit")
        if which is not None and (q is None or which.shape[0] != n) and n > 0:
            raise SamplingError(_RANGE, "ids", "ids: they do not fit probs and the draft")
        c_draft = c.draft(n, tokens.address, q and q.address, which and which.address, which.shape[-1] if which else 0)
        silent = logprobs is logprob_ids is support is None
        told = None if silent else _Told(n + 1, at.shape[1], logprobs, logprob_ids, support, "logprob_ids")
        c_draft.logprobs = told and told.address
        out = (c_int32 * (n + 1))(*[-1] * (n + 1))
        rows = c.logits(at.address, 0, n + 1, at.shape[1], at.shape[1])
        try:
            if method == "block":
                accepted = c.verify_block(self, at, at.shape[1], c_draft, out)
            else:
                accepted = c.verify(self, at, at.shape[1], c_draft, method, out)
        except SamplingError as error:
            raise _refused(error, rows, 0) from None
        right = accepted + (out[accepted] >= 0)
        told = told and [told.row(r) for r in range(right)]
        if right == accepted:
            raise BatchError(out[:accepted], {accepted: _refused(SamplingError(out[accepted]), rows, accepted)}, told)
        return out[:right] if told is None else (out[:right], told)

    def replay(self, tokens):
        """A copy of the chain that gives these tokens instead of drawing, the first one at the position 0: so their
        Logprobs are told as if the chain had drawn them. A token that the chain removes comes all the same."""
        other = self.clone()
        other._marks = other._replays = True
        last = c.init_replay(_integers(tokens, "tokens"))
        c.chain_remove(other, c.chain_n(other) - 1)
        c.chain_add(other, last)
        return other

    def replay_check(self, logits, tokens, mask=None, dtype=None):
        """Where is a text not what this chain draws? The first row of logits [n_rows, n_vocab] from which it draws another
        token than the row's of tokens [n_rows], or None. The chain moves as if it had drawn the rows up to that one."""
        at, tokens = _table(_floats(logits, "logits", dtype)), _integers(tokens, "tokens")
        rows, n_vocab = at.shape
        if tokens.n != rows or any(not 0 <= token < n_vocab for token in tokens.of):
            raise SamplingError(_RANGE, "tokens", f"tokens: not {rows} numbers in [0, {n_vocab})")
        self._fits(n_vocab)
        of = _rows(at, rows, mask)
        try:
            first = c.replay_check(self, of, tokens)
        except SamplingError as error:
            raise _first(error, of) from None
        return first if first < rows else None

    def update(self, **settings):
        """Other values for these settings, between two tokens; what the chain has seen stays. None: the default."""
        if self._settings is None:
            raise SamplingError(_UNSUPPORTED, None, "a chain of from_request has no settings by name")
        new = set(map(_setting, settings))
        values = {name: value for name, value in self._settings.items() if _setting(name) not in new}
        values.update(_own(settings))
        of = _settings(values, self._vocab)
        if self._marks and not self._replays:
            Chain(self._vocab, **values)._must_draw()
        c.chain_update(self, c.settings_params(of))
        if self._marks:  # the new draw, in front of the mark or the replay
            c.chain_remove(self, c.chain_n(self) - 2)
        self._settings = values

    @property
    def settings(self):
        """What was set by name."""
        return dict(self._settings or {})

    def get(self, name):
        """A setting's value, as text."""
        settings = _settings(self._settings or {}, self._vocab)
        return _written(lambda *to: c.settings_get(settings, _setting(name), *to))

    def prev(self, n=64):
        """The last accepted tokens, n at most, the oldest first."""
        return _filled(lambda *to: c.prev(self, *to), n, 2**20)


def _vocabulary(of):
    """A number of tokens, a Vocab, or one of a list."""
    if of is None or isinstance(of, Vocab):
        return of if of is None else _is(of, Vocab, "vocab")
    if hasattr(of, "__iter__") and not isinstance(of, (str, bytes, bytearray)):
        return Vocab(of)
    return _whole(of, "vocab", *_MOST["int32"])


def _first(error, logits):
    """The error of the first row that has one."""
    for r in range(logits.n_rows):
        of = _refused(error, logits, r)
        if of is not error:
            return SamplingError(error.status, "logits", f"row {r}: {of}")
    return error


def _refused(error, logits, row, name="logits"):
    """The error of a row, which says why no token can be drawn from it: "logit 17 is NaN"."""
    if error.status in (_NAN, _EMPTY):
        why = _written(lambda *to: c.logits_error_text(logits, row, *to))
        if why != "ok":
            return SamplingError(error.status, name, why)
    return error


class _Told:
    """What C tells of the tokens of some rows, and the memory for it."""

    def __init__(self, rows, n_vocab, logprobs, ids=None, support=None, name="ids"):
        n = _whole(0 if logprobs is None else logprobs, "logprobs", 0, 1024)
        asked = _list(() if ids is None else ids, name)
        self.asked = (c_int32 * (len(asked) + 1))(*[_whole(i, name, 0, n_vocab - 1) for i in asked])
        self.n_ids = len(asked)
        most = min(_whole(0 if support is None else support, "support", 0, 2**22), n_vocab)
        self.given = [(c_float * (self.n_ids + 1))() for _ in range(2 * rows)]
        self.kept = [((c_int32 * (most + 1))(), (c_float * (most + 1))())
                     for _ in range(rows if support is not None else 0)]
        self.supports = [c.support(*map(ctypes.addressof, arrays), most) for arrays in self.kept]
        self.sets, self.top = (c.logprobs * rows)(), [(c.logprob * (n + 1))() for _ in range(2 * rows)]
        for r, of in enumerate(part for row in self.sets for part in (row.raw, row.processed)):
            of.n_top, of.top_logprobs = n, ctypes.addressof(self.top[r]) if n else None
            of.n_ids = self.n_ids
            if self.n_ids:
                of.ids, of.id_logprobs = ctypes.addressof(self.asked), ctypes.addressof(self.given[r])
        for of, one in zip(self.sets, self.supports):
            of.support = ctypes.addressof(one)
        self.address = ctypes.addressof(self.sets)

    def set_of(self, r, k):
        """Row r's raw set (k 0), or processed (1)."""
        of, top = getattr(self.sets[r], ("raw", "processed")[k]), self.top[2 * r + k]
        return LogprobSet(Logprob(of.chosen.token, of.chosen.rank, of.chosen.logprob),
                          [Logprob(one.token, one.rank, one.logprob) for one in top[:of.n_top_found]], of.entropy,
                          self.given[2 * r + k][:self.n_ids])

    def row(self, r):
        of = self.supports[r] if self.supports else None
        arrays = self.kept[r] if of and of.n <= of.capacity else None
        return Logprobs(self.set_of(r, 0), self.set_of(r, 1), of and Support(
            of.n, of.mass, *(arrays[k][:of.n] if arrays else None for k in (0, 1))))


def _rows(at, rows, mask, index=None):
    """Rows as C takes them."""
    n_vocab = at.shape[-1]
    stride = at.strides[0] // at.size if len(at.shape) == 2 and at.shape[0] > 1 else 0
    logits = c.logits(at.address, _DTYPES[at.dtype], rows, n_vocab, stride, index and index.address)
    if mask is not None:
        bits, logits.mask_stride = _bits(mask, rows, n_vocab)
        logits.mask, logits.bits = bits.address, bits
    return logits


def _table(at):
    if len(at.shape) != 2:
        raise SamplingError(_RANGE, "logits", f"logits: {at.shape}, not [n_rows, n_vocab]")
    return at


def _batch(chains, at, mask, logprobs, index, n_threads, ids=None, support=None):
    rows = len(chains)
    logits, told = _rows(at, rows, mask, index), None
    logits.n_threads = n_threads
    if not logprobs is ids is support is None:
        told = _Told(rows, at.shape[-1], logprobs, ids, support)
        logits.logprobs = told.address
    held = [chain._held for chain in chains]  # until C is done
    out = (c_int32 * rows)()
    c.sample_batch(_Array((c_void_p * rows)(*[of.value for of in held]), rows), logits, out)
    tokens = out[:]
    told = told and [told.row(r) if token >= 0 else None for r, token in enumerate(tokens)]
    if min(tokens) < 0:
        raise BatchError([t if t >= 0 else None for t in tokens],
                         {r: _refused(SamplingError(t), logits, r) for r, t in enumerate(tokens) if t < 0}, told)
    return (tokens, told) if told else tokens


def sample_batch(chains, logits, mask=None, logprobs=None, row_index=None, n_threads=0, dtype=None, *, ids=None,
                 support=None):
    """A token for each chain: chain r reads row r of logits [n_rows, n_vocab], or row row_index[r].

    The token is the same as sample()'s for the row. mask: [n_rows, words], as sample()'s. logprobs, ids, support: as
    sample()'s; then (tokens, [Logprobs]). n_threads: where the library is compiled with OpenMP; 0: its choice.
    A row that fails leaves its chain as it was; when all others have their tokens, it is a BatchError, which has them.
    """
    chains, at = [_is(chain, Chain, "chains") for chain in _list(chains, "chains")], _floats(logits, "logits", dtype)
    rows, n_threads = len(chains), _whole(n_threads, "n_threads", 0, 2**31 - 1)
    if not rows:
        return [] if logprobs is ids is support is None else ([], [])
    _table(at)
    index = None if row_index is None else _integers(row_index, "row_index")
    if index is None and at.shape[0] != rows:
        raise SamplingError(_RANGE, "logits", f"logits: there are {at.shape[0]} rows, not {rows}")
    if index is not None and (index.n != rows or any(not 0 <= i < at.shape[0] for i in index.of)):
        raise SamplingError(_RANGE, "row_index", f"row_index: not {rows} numbers in [0, {at.shape[0]})")
    for chain in chains:
        chain._fits(at.shape[1])
    return _batch(chains, at, mask, logprobs, index, n_threads, ids, support)


def raw_logprobs(logits, tokens=None, logprobs=0, mask=None, dtype=None, *, ids=None):
    """The log-probabilities of rows [n_rows, n_vocab] without chains, of a prompt for example: a LogprobSet for each.

    tokens: [n_rows] the token that .chosen tells of, -1: none. logprobs, ids, mask: as sample_batch's."""
    at, chosen = _table(_floats(logits, "logits", dtype)), None if tokens is None else _integers(tokens, "tokens")
    rows, n_vocab = at.shape
    if chosen is not None and (chosen.n != rows or any(not -1 <= token < n_vocab for token in chosen.of)):
        raise SamplingError(_RANGE, "tokens", f"tokens: not {rows} numbers in [-1, {n_vocab})")
    of, told = _rows(at, rows, mask), _Told(rows, n_vocab, logprobs, ids)
    of.logprobs = told.address
    for r in range(rows):
        told.sets[r].raw.chosen.token = -1 if chosen is None else chosen.of[r]
    try:
        c.raw_logprobs(of)
    except SamplingError as error:
        raise _first(error, of) from None
    return [told.set_of(r, 0) for r in range(rows)]


def guide(cond, uncond, scale, out=None):
    """Classifier-free guidance: a row of float32 made of one with the prompt and one without it, in a new array or in
    out, which may be one of both. scale 1 gives cond's log-probabilities; 1.5 is usual."""
    rows = [(_dense_f32(of, name), name) for of, name in ((cond, "cond"), (uncond, "uncond"))]
    (a, _), (b, _) = rows
    scale = _real(scale, "scale", _REAL["f32"][1])
    if len(a.shape) != 1 or a.shape != b.shape:
        raise SamplingError(_RANGE, "uncond", f"uncond: {b.shape} and cond: {a.shape} are not two rows of one length")
    if not a.n:
        raise SamplingError(_EMPTY, "cond")
    if not math.isfinite(scale):
        raise SamplingError(_RANGE, "scale", f"scale: {scale} is not finite")
    if out is None:
        out = array.array("f", bytes(4 * a.n))
    with _reading("out"):
        to = _Buffer(out, writable=True)
    if to.dtype != "float32" or to.shape != a.shape or not to.is_dense() or any(
            0 < abs(to.address - of.address) < 4 * a.n for of, _ in rows):
        raise SamplingError(_RANGE, "out", f"out: {to.dtype} {to.shape}, not float32 {a.shape} side by side, which is "
                                           "one of both rows or apart from them")
    try:
        c.guide(a, b, scale, to.address)
    except SamplingError as error:
        for at, name in rows:
            error = _refused(error, c.logits(at.address, 0, 1, at.n, at.n), 0, name)
        raise error from None
    return out


# ---- texts and drafts from them -------------------------------------------------------------------------------------


class Text(_Object):
    """Tokens become the text that may be shown: whole characters, and nothing that may be the beginning of a stop.

    stops: strings that end the text. stop_tokens: so do these tokens, and vocab.eog. min_tokens: so many tokens come
    before any end. include_stop: the stop is shown too. raw_bytes: push() returns bytes, broken characters as they are;
    else a str. strip_space: the text's first blank is not part of it. Chain.text() makes one of a request's stops."""
    _state, _raw = 0, False

    def __init__(self, vocab, stops=(), *, stop_tokens=(), min_tokens=0, include_stop=False, raw_bytes=False,
                 strip_space=False):
        options = c.text_options.of(stop_tokens=stop_tokens, min_tokens=min_tokens, include_stop=include_stop,
                                    raw_bytes=raw_bytes, strip_space=strip_space)
        try:
            self._take(c.text_init(vocab, stops, options))
        except SamplingError as error:
            raise error if error.field else SamplingError(error.status, "stops or stop_tokens") from None
        self._raw = options.raw_bytes

    def _take(self, held):
        self._held, self._found = held, (c_size_t * 2)()  # where C's text is, and how long
        self._at = ctypes.addressof(self._found)
        return self

    @classmethod
    def _of(cls, held):
        return cls.__new__(cls)._take(held)

    def add_pattern(self, pattern, max_bytes):
        """A regular expression as a stop, whose matches have max_bytes bytes at most."""
        held, text = _holder(self, "text", "text_stream"), _text(pattern, "pattern")
        status = _add_pattern(held, text, _whole(max_bytes, "max_bytes", 1, 4096))
        if status < 0:
            _fail(status, "pattern")

    def push(self, token):
        """What to show now that this token has come; .state tells whether the text goes on."""
        at = self._at
        state = _push(self._held, token, at, at + _SIZE) if type(token) is int and 0 <= token < 2**31 else -1
        if state < 0:
            held, token = _holder(self, "text", "text_stream"), _whole(token, "token", 0, 2**31 - 1)
            state = _push(held, token, at, at + _SIZE)
            if state == _RANGE:
                raise SamplingError(_RANGE, "token", f"token: {token} is not in the vocabulary")
            if state < 0:
                _fail(state)
        self._state = self._state or state
        return self._shown()

    def _shown(self):
        shown = ctypes.string_at(*self._found) if self._found[1] else b""
        return shown if self._raw else shown.decode()

    def flush(self):
        """What was held back, as no token follows: the text ends."""
        c.text_flush(self, self._at, self._at + _SIZE)
        self._state = self._state or _FLUSHED
        return self._shown()

    @property
    def state(self):
        """What the last token did: "goes_on", "stopped" (by a stop), "ended" (by a token, or flush())."""
        return ("goes_on", "stopped", "ended", "ended")[self._state]

    @property
    def stop(self):
        """The number of the stop that has ended the text: of stops, and behind them of the patterns; else None."""
        stop = c.text_stop(self)
        return stop if stop >= 0 else None

    @property
    def stop_at(self):
        """Where the stop begins, or which token ends the text: (which token of the text, which byte of it), or None."""
        token, byte = c_int32(), c_size_t()
        try:
            c.text_stop_at(self, byref(token), byref(byte))
        except SamplingError as error:
            if error.status != _EMPTY:
                raise
            return None
        return token.value, byte.value

    def rollback(self, n=1):
        """Take back the last n tokens; what was shown for them is yours to take back. 0: take back flush()."""
        c.text_rollback(self, n)
        if n or self._state == _FLUSHED:
            self._state = 0

    def clone(self):
        """A copy that goes on as this one would."""
        held, other = c.text_clone(self), object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other._take(held)

    def __copy__(self):
        return self.clone()

    def reset(self):
        """As new, with the same stops."""
        c.text_reset(self)
        self._state = 0


_push, _add_pattern, _SIZE, _FLUSHED = c.text_push.raw, c.text_add_pattern.raw, ctypes.sizeof(c_size_t), 3


class Ngram(_Object):
    """A text that proposes how it goes on: with what followed its last tokens, n_max to n_min of them, earlier in the
    last max_tokens tokens. It accepts what the chain accepts, and Chain.verify() judges its drafts."""

    def __init__(self, n_min=2, n_max=5, max_tokens=8192):
        n_min = _whole(n_min, "n_min", 1, 64)
        n_max = _whole(n_max, "n_max", n_min, 64)
        self._most = _whole(max_tokens, "max_tokens", n_max, 2**26)
        self._held = c.ngram_init(n_min, n_max, self._most)

    accept = _accepting(c.ngram_accept)

    def rollback(self, n=1):
        """Take back the last n tokens."""
        c.ngram_rollback(self, n)

    def draft(self, n):
        """n tokens at most that may follow: a draft for Chain.verify."""
        return _filled(lambda *to: c.ngram_draft(self, *to), n, self._most)

    def reset(self):
        """Forget all tokens."""
        c.ngram_reset(self)

    def __copy__(self):
        raise SamplingError(_UNSUPPORTED, None, f"a {type(self).__name__} can't be copied")


# ---- beams, and texts to fill in ------------------------------------------------------------------------------------

_EARLY = {False: "heuristic", True: "always", "never": "exact"}


class Beams(_Object):
    """Beam search: the n_beams best continuations of a text, with transformers' names and rules. ends: the tokens that
    end a text. sampled: the texts are drawn without replacement, by seed."""

    def __init__(self, n_beams, max_tokens, *, ends=(), length_penalty=1.0, early_stopping=False, n_groups=1,
                 diversity_penalty=0.0, sampled=False, seed=0):
        if not isinstance(early_stopping, (bool, str)) or early_stopping not in _EARLY:
            raise SamplingError(_RANGE, "early_stopping", f"early_stopping: {_said(early_stopping)} is none of False, "
                                                          "True, 'never'")
        params = c.beam_params.of(n_beams=n_beams, n_groups=n_groups, max_tokens=max_tokens, seed=seed,
                                  length_penalty=length_penalty, diversity_penalty=diversity_penalty, ends=ends,
                                  early_stopping=_EARLY[early_stopping], sampled=sampled)
        c.beams_check_params(params)
        self._n, self._held = params.n_beams, c.beams_init(params)

    def step(self, logits, chains=None, dtype=None):
        """The next beams: [(parent, token)], best first; empty: the search is done.

        logits: a row for each live beam, the first time one. chains: as many as n_beams, made alike (samp_clone), which
        change the rows and follow their beams."""
        at = _floats(logits, "logits", dtype)
        rows = [_is(of, Chain, "chains") for of in ([] if chains is None else _list(chains, "chains"))]
        if len(at.shape) not in (1, 2) or not at.n:
            raise SamplingError(_RANGE, "logits", f"logits: {at.shape}, neither [n_vocab] nor [n_rows, n_vocab]")
        if chains is not None and len(rows) != self._n:
            raise SamplingError(_RANGE, "chains", f"chains: {len(rows)}, not {self._n}")
        for chain in rows:
            chain._fits(at.shape[-1])
        n = at.shape[0] if len(at.shape) == 2 else 1
        stride = at.strides[0] // at.size if n > 1 else 0
        held = [of._held for of in rows]  # until C is done
        handles = _Array((c_void_p * len(held))(*[of.value for of in held]), len(held)) if held else None
        tokens, parents = (c_int32 * self._n)(), (c_int32 * self._n)()
        n = c.beams_step(self, handles, c.logits(at.address, _DTYPES[at.dtype], n, at.shape[-1], stride), tokens, parents)
        return list(zip(parents[:n], tokens[:n]))

    @property
    def found(self):
        """The texts found so far, best first: [(tokens, score)]; score is log-probability / length ** length_penalty."""
        texts, at, score = [], (c_size_t * 2)(), c_double()
        for i in range(c.beams_n_found(self)):
            c.beams_found(self, i, ctypes.addressof(at), ctypes.addressof(at) + _SIZE, byref(score))
            texts.append(((c_int32 * at[1]).from_address(at[0])[:], score.value))
        return texts

    def save(self):
        """The search as bytes, for load() of one with the same values; chains have states of their own."""
        state = ctypes.create_string_buffer(c.beams_state_size(self))
        c.beams_state_save(self, state, len(state))
        return state.raw

    def load(self, state):
        c.beams_state_load(self, state)

    def __copy__(self):
        raise SamplingError(_UNSUPPORTED, None, "a Beams can't be copied: save() and load()")


def unmask(chains, logits, rule="confidence", n=1, *, threshold=0.0, seed=0, temp=0.0, dtype=None):
    """A step of a diffusion model: a token for each masked position that is filled, None for the others.

    chains and logits [n_positions, n_vocab]: one for each masked position. rule: "confidence", "margin", "entropy",
    "raw_confidence", "random": n positions; "threshold", "entropy_bound": up to threshold; "independent": each with the
    probability threshold; of these three n 0 is no limit. temp: the first four draw the positions (Dream's alg_temp)."""
    at, rows = _floats(logits, "logits", dtype), [_is(of, Chain, "chains") for of in _list(chains, "chains")]
    if len(at.shape) != 2 or at.shape[0] != len(rows) or not at.n:
        raise SamplingError(_RANGE, "logits", f"logits: {at.shape}, not {len(rows)} rows")
    for chain in rows:
        chain._fits(at.shape[1])
    for name, value in ("threshold", threshold), ("temp", temp):
        if not math.isfinite(_real(value, name)):
            raise SamplingError(_RANGE, name, f"{name}: {value} is not finite")
    params = c.unmask_params.of(rule=rule, n=n, threshold=threshold, seed=seed, temp=temp)
    held, out = [of._held for of in rows], (c_int32 * len(rows))()
    stride = at.strides[0] // at.size if len(rows) > 1 else 0
    c_logits = c.logits(at.address, _DTYPES[at.dtype], len(rows), at.shape[1], stride)
    try:
        c.unmask(params, _Array((c_void_p * len(held))(*[of.value for of in held]), len(held)), c_logits, out)
    except SamplingError as error:
        if error.status == _RANGE and not error.field:
            raise SamplingError(_RANGE, "n, threshold or temp") from None
        raise
    return [token if token >= 0 else None for token in out]


def unmask_count(schedule, n_masked, step, n_steps):
    """How many positions step 0 .. n_steps - 1 fills: "even" (LLaDA) or "linear" (Dream)."""
    return c.unmask_count(schedule, n_masked, step, n_steps)


# ---- the rest -------------------------------------------------------------------------------------------------------


def child_seed(seed, i):
    """The seed of sample i of several from one request."""
    return c.child_seed(seed, i)


def takes(name):
    """Which values a setting takes, for a user to read: "a number in (0, 1]"."""
    return _written(lambda *to: c.settings_takes(_setting(name), *to))


def version():
    """The library's, as 10000 major + 100 minor + patch."""
    return _version
