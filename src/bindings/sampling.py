"""sampling.h from Python: ctypes, and no struct written down again. A page to copy and change.

    chain = Chain(n_vocab, top_k=40, temp=0.8)
    token = chain.sample(logits)            # a numpy array of float32 is read where it is; any list will do

The library is libsampling.so (make lib) beside this file, else one that is installed (make install), or what
SAMPLING_LIBRARY names. Run as a program it prints what tokens.c prints.
"""
import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int32, c_size_t, c_void_p

try:
    import numpy
except ImportError:
    numpy = None

beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libsampling.so")
lib = ctypes.CDLL(os.environ.get("SAMPLING_LIBRARY", beside if os.path.exists(beside) else "libsampling.so"))
token_bytes_t = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_int32, POINTER(c_size_t))


def declare(name, result, *arguments):
    function = getattr(lib, name)
    function.restype, function.argtypes = result, arguments
    return function


version = declare("samp_version", c_int)
strerror = declare("samp_strerror", c_char_p, c_int)
settings_new = declare("samp_settings_new", c_void_p)
settings_free = declare("samp_settings_free", None, c_void_p)
settings_set = declare("samp_settings_set", c_int, c_void_p, c_char_p, c_char_p, POINTER(c_char_p))
settings_get = declare("samp_settings_get", c_int, c_void_p, c_char_p, c_char_p, c_size_t)
settings_takes = declare("samp_settings_takes", c_int, c_char_p, c_char_p, c_size_t)
settings_set_vocab = declare("samp_settings_set_vocab", c_int, c_void_p, c_int32, token_bytes_t, c_void_p)
settings_params = declare("samp_settings_params", c_void_p, c_void_p)
check_params = declare("samp_check_params", c_int, c_void_p, POINTER(c_char_p))
chain_from_params = declare("samp_chain_from_params", c_void_p, c_void_p, POINTER(c_int))
sample = declare("samp_sample", c_int32, c_void_p, c_void_p, c_size_t)
accept = declare("samp_accept", c_int, c_void_p, c_int32)
reset = declare("samp_reset", None, c_void_p)
free = declare("samp_free", None, c_void_p)


class Error(ValueError):
    pass


def check(status, field):
    if status < 0:
        raise Error(f"{field.value.decode()}: {strerror(status).decode()}")


class Chain:
    """A chain of samplers: Chain(n_vocab, top_k=40, temp=0.8, dry_breakers=["\\n"], ...); a list sets one by one."""

    def __init__(self, n_vocab, pieces=None, **settings):
        self.handle, self.n_vocab, field, status = None, n_vocab, c_char_p(), c_int()
        self.settings = settings_new()
        try:
            self.set("n_vocab", n_vocab)
            if pieces:
                self.use(pieces)
            for name, values in settings.items():
                for value in values if isinstance(values, list) else [values]:
                    self.set(name, value)
            check(check_params(settings_params(self.settings), byref(field)), field)
            self.handle = chain_from_params(settings_params(self.settings), byref(status))
            if not self.handle:
                raise MemoryError
        except BaseException:
            self.close()
            raise

    def use(self, pieces):
        """The bytes of each token, for dry."""
        buffers = [ctypes.create_string_buffer(piece, len(piece)) for piece in pieces]

        def token_bytes(_, token, n_bytes):
            n_bytes[0] = len(buffers[token])
            return ctypes.addressof(buffers[token])

        self.callback = token_bytes_t(token_bytes)  # must stay as long as the chain
        settings_set_vocab(self.settings, len(pieces), self.callback, None)

    def set(self, name, value):
        field = c_char_p()
        check(settings_set(self.settings, name.encode(), str(value).encode(), byref(field)), field)

    def get(self, name):
        text = ctypes.create_string_buffer(64)
        settings_get(self.settings, name.encode(), text, len(text))
        return text.value.decode()

    def sample(self, logits):
        """The next token, which the chain has then accepted."""
        if len(logits) != self.n_vocab:
            raise Error(f"{len(logits)} logits, not {self.n_vocab}")
        if numpy is not None:
            row = numpy.ascontiguousarray(logits, dtype=numpy.float32)
            token = sample(self.handle, row.ctypes.data, self.n_vocab)
        else:
            token = sample(self.handle, (c_float * self.n_vocab)(*logits), self.n_vocab)
        if token < 0:
            raise Error(strerror(token).decode())
        return token

    def accept(self, token):
        """Tell the samplers of a token that was not sampled here: a prompt's."""
        status = accept(self.handle, token)
        if status < 0:
            raise Error(strerror(status).decode())

    def reset(self):
        reset(self.handle)

    def close(self):
        free(self.handle)
        settings_free(self.settings)
        self.handle = self.settings = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def takes(name):
    text = ctypes.create_string_buffer(400)
    settings_takes(name.encode(), text, len(text))
    return text.value.decode()


def main():
    n_vocab = 12
    rows = [[(i * 7919 + step * 10007) % 1000 / 400 for i in range(n_vocab)] for step in range(60)]
    settings = dict(seed=2**64 - 1, top_k=100, top_p=0.9, temperature=1.1, penalty_repeat=1.2, dry_multiplier=0.8,
                    dry_breakers=["b", "\n"], logit_bias="7+2.5,9-inf",
                    order="penalties;dry;temperature;top_n_sigma;top_k;typ_p;top_p;min_p;xtc")
    with Chain(n_vocab, [b"abcd"[i % 4:i % 4 + 1] for i in range(n_vocab)], **settings) as chain:
        tokens = [chain.sample(row) for row in rows]
        for token in tokens:
            print(token)
        temp = chain.get("temp")
        if numpy is not None:  # f32, f64 and strided rows are the same
            arrays = numpy.array(rows), numpy.array(rows, dtype=numpy.float32), numpy.array(rows).T.copy().T
            for array in arrays:
                chain.reset()
                assert [chain.sample(row) for row in array] == tokens
    for bad in {"temp": "0,8"}, {"top_k": 2**31}, {"no_such": 1}, {"top_p": 1.5}:
        try:
            Chain(n_vocab, **bad)
            print(bad, "is accepted")
        except Error as error:
            print(error)
    print(f"{temp}, {takes('top_p')}")


if __name__ == "__main__":
    main()
