#!/usr/bin/env python3
"""reference.py - watermarks computed a second time, from the formulas alone: whole numbers of any length, no numpy.

Reads what tests/watermark/walk.c prints: texts, and for each token what the library has made of a row of logits; says
where it computes something else, and exits with 1 then. `make test-watermark` runs both.

    T kind key width scope history alpha depth gamma delta prompt ...
    D marked which token logit ...        a draw: by a mark or not, with key A (0) or B (1), logits before
    L marked logit ... / logit ...        logits before, and behind the sampler; then the token accepted
    R n_scored score ln_p                 what the detector says of the text
"""
import hashlib
import math
import struct
import sys
from fractions import Fraction

M32, M64 = 2**32 - 1, 2**64 - 1
GUMBEL, DUAL, SELFHASH, LEFTHASH, SYNTHID = range(5)


def philox(counter, key):
    a, b, c, d = counter
    k0, k1 = key
    for turn in range(10):
        if turn:
            k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
        x, y = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (y >> 32) ^ b ^ k0, y & M32, (x >> 32) ^ d ^ k1, x & M32
    return a, b, c, d


def fold(key, context):
    state = (0x574D4358, len(context), 0, 0)
    for at in range(0, len(context), 4):
        four = [context[at + i] & M32 if at + i < len(context) else M32 - i for i in range(4)]
        state = philox([s ^ f for s, f in zip(state, four)], ((key & M32) ^ at, key >> 32))
    return state


def word(key, context, token):
    s = fold(key, context)
    out = philox((token >> 2, s[0], s[1], s[2]), ((key & M32) ^ s[3], (key >> 32) ^ 0x574D544B))
    return out[token & 3]


def uniform(bits):
    return struct.unpack("f", struct.pack("f", ((bits >> 8) + 1) / (2**24 + 1)))[0]


def derive(key, name):
    return int.from_bytes(hashlib.sha256(name + key.to_bytes(8, "big")).digest()[:8], "big")


def signed(x, bits):
    x &= 2**bits - 1
    return x - 2**bits if x >> (bits - 1) else x


def jenkins(x):
    i = signed(x + 1, 32)
    i = signed(i - (i << 6), 32)
    i ^= i >> 17
    i = signed(i - (i << 9), 32)
    i = signed(i ^ (i << 4), 32)
    i = signed(i - (i << 3), 32)
    i = signed(i ^ (i << 10), 32)
    return i ^ (i >> 15)


def green(mark, context, token):
    """Is it, and its seed."""
    if mark.kind == LEFTHASH:
        seed = mark.key * sum(context) & M64
    else:
        h = jenkins(token)
        seed = min([signed(mark.key * h * h, 64)] + [signed(mark.key * jenkins(c) * h, 64) for c in context[1:]]) & M64
    out = philox((token >> 2, 0, 0, 0), (seed & M32, seed >> 32))
    return (out[token & 3] & 0x7FFFFFFF) < int(mark.gamma * 0x7FFFFFFF), seed


def ln_gamma_tail(shape, x):
    """ln Q(shape, x), by the ascending or the descending series of textbooks, each term a product."""
    if x <= 0:
        return 0.0
    front = shape * math.log(x) - x - math.lgamma(shape)
    if x < shape + 1:
        total, term, k = 1 / shape, 1 / shape, shape
        while term > total * 1e-17:
            k += 1
            term *= x / k
            total += term
        return math.log1p(-min(total * math.exp(front), 1 - 1e-16))
    # modified Lentz
    f, c, d = 1e-300, 1e-300, 0.0
    a, b, i = 1.0, x + 1 - shape, 0
    while True:
        d = 1 / (b + a * d)
        c = b + a / c
        f *= c * d
        if i and abs(c * d - 1) < 1e-16 or i > 100000:
            return front + math.log(f)
        i += 1
        a, b = -i * (i - shape), b + 2


def ln_binomial_tail(n, k, p):
    """Exact, in fractions of whole numbers."""
    top, bottom = p.numerator, p.denominator
    total = sum(math.comb(n, i) * top**i * (bottom - top) ** (n - i) for i in range(k, n + 1))
    whole = bottom**n
    shift = max(0, whole.bit_length() - total.bit_length())
    return math.log((total << shift) / whole) - shift * math.log(2)


class Mark:
    def __init__(self, w):
        self.kind, self.key, self.width, self.scope, self.history = (int(x) for x in w[:5])
        self.alpha, self.depth, self.gamma, self.delta = float(w[5]), int(w[6]), float(w[7]), float(w[8])
        self.prompt = [int(x) for x in w[9:]]
        self.text = []
        self.keys = [derive(self.key, b"key_a"), derive(self.key, b"key_b")] if self.kind == DUAL else [self.key] * 2

    def context(self, tokens, at):
        return ([-1] * self.width + tokens[:at])[-self.width :]

    def marked(self):
        if self.scope == 2:
            return True
        if self.scope == 1 and len(self.text) < self.width:
            return False
        all_of = (self.prompt if self.scope == 1 else []) + self.text
        here = self.context(all_of, len(all_of))
        return all(self.context(all_of, at) != here for at in range(max(0, len(all_of) - self.history), len(all_of)))

    def winner(self, logits, key):
        context, best = self.context(self.text, len(self.text)), None
        most = max(logits)
        for token, l in enumerate(logits):
            w = round(2**40 * math.exp(l - most)) if l != -math.inf else 0
            if not w:
                continue
            time = -math.log(uniform(word(key, context, token))) / w
            if best is None or (time, -l, token) < best:
                best = (time, -l, token)
        return best[2]

    def changed(self, logits):
        context = self.context(self.text, len(self.text))
        if self.kind != SYNTHID:
            return [l + self.delta * green(self, context, t)[0] for t, l in enumerate(logits)]
        most = max(logits)
        p = [math.exp(l - most) for l in logits]
        total = sum(p)
        p = [x / total for x in p]
        words = [word(self.key, context, t) for t in range(len(p))]
        for layer in range(self.depth):
            m = sum(x for x, bits in zip(p, words) if bits >> layer & 1)
            p = [x * (1 + (bits >> layer & 1) - m) for x, bits in zip(p, words)]
        return p

    def detect(self):
        seen, pairs, scores, greens = set(), set(), [], 0
        for at, token in enumerate(self.text):
            context = tuple(self.context(self.text, at))
            if context in seen:
                continue
            seen.add(context)
            if self.kind == SYNTHID:
                scores.append(bin(word(self.key, context, token) & (2**self.depth - 1)).count("1"))
            elif self.kind in (SELFHASH, LEFTHASH):
                is_green, seed = green(self, context, token)
                if seed and (seed, token) not in pairs:
                    pairs.add((seed, token))
                    scores.append(int(is_green))
            else:
                a, b = (-math.log1p(-uniform(word(k, context, token))) for k in self.keys)
                scores.append((1 - self.alpha) * a + self.alpha * b if self.kind == DUAL else a)
        n, total = len(scores), math.fsum(scores)
        if not n:
            return 0, 0.0, 0.0
        if self.kind == SYNTHID:
            return n, total / (n * self.depth), ln_binomial_tail(n * self.depth, int(total), Fraction(1, 2))
        if self.kind in (SELFHASH, LEFTHASH):
            return n, total, ln_binomial_tail(n, int(total), Fraction(int(self.gamma * 0x7FFFFFFF), 2**31))
        v = (1 - self.alpha) ** 2 + self.alpha**2 if self.kind == DUAL else 1
        return n, total, ln_gamma_tail(n / v, total / v)


def near(a, b, by):
    return a == b or abs(a - b) <= by * max(1.0, abs(a), abs(b))


def check(lines):
    mark, draws, texts, wrong = None, [0] * 5, [0] * 5, 0
    for number, line in enumerate(lines, 1):
        w = line.split()
        bad = None
        if w[0] == "T":
            mark = Mark(w[1:])
        elif w[0] == "D":
            logits = [float(x) for x in w[4:]]
            is_marked, which, token = w[1] == "1", int(w[2]), int(w[3])
            if is_marked != mark.marked():
                bad = "repeated or not"
            elif is_marked and mark.winner(logits, mark.keys[which]) != token:
                bad = "another token: %d" % mark.winner(logits, mark.keys[which])
            mark.text.append(token)
            draws[mark.kind] += 1
        elif w[0] == "L":
            middle = w.index("/")
            before, after = [float(x) for x in w[2:middle]], [float(x) for x in w[middle + 1 : -1]]
            if (w[1] == "1") != mark.marked():
                bad = "repeated or not"
            elif w[1] == "0":
                bad = None if before == after else "changed"
            elif mark.kind == SYNTHID: # p, not logits: a constant is nobody's business
                most = max(after)
                e = [math.exp(l - most) for l in after]
                if not all(near(x / sum(e), p, 2e-6) for x, p in zip(e, mark.changed(before))):
                    bad = "another distribution"
            elif not all(near(x, y, 1e-6) for x, y in zip(after, mark.changed(before))):
                bad = "other logits"
            mark.text.append(int(w[-1]))
            draws[mark.kind] += 1
        elif w[0] == "R":
            n, score, ln_p = mark.detect()
            if n != int(w[1]) or not near(score, float(w[2]), 1e-9) or not near(ln_p, float(w[3]), 1e-8):
                bad = "detects %d %.12g %.12g" % (n, score, ln_p)
            texts[mark.kind] += 1
        if bad:
            wrong += 1
            if wrong < 10:
                print("line %d, kind %d: %s; it says: %s" % (number, mark.kind, bad, line.strip()[:120]))
    names = ("gumbel", "dual", "selfhash", "lefthash", "synthid")
    print("watermarks: " + ", ".join("%s %d draws, %d texts" % t for t in zip(names, draws, texts)) + "; %d differ" % wrong)
    return wrong == 0 and min(draws) > 0 and min(texts) > 0


if __name__ == "__main__":
    # what vLLM's own tests have recorded of its function (tests/watermarking, "raw word compatibility vector")
    known = [[word(42, c, t) for t in (7, 8)] for c in ((1, 2, 3, 4), (4, 5, 6, 7))]
    assert known == [[425429266, 2706218805], [2494036831, 3424185538]], known
    sys.exit(0 if check(sys.stdin) else 1)
