"""GeoSample and FastSample: noise for one clamped count from one bounded uniform integer.

Both are pure functions of the true count c in 0..n and of a uniform integer u in 1..d, with integer arithmetic only.
The ratio of the noise is q/p for any whole numbers p > q >= 1; one step of c changes the law by a factor of at most
p/q. Source: Balcer, Vadhan 2018, Algorithms 4.8 and 4.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import gmpy2
import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import Decay, integer, log_bounds
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import two_sided_geometric
from dpviz.noise.table import Law, Sampler, SamplingTable, Tick, integers, pieces
from dpviz.noise.uniform import uniform

SamplerKind = Literal["geosample", "fastsample"]
Mode = Literal["strict", "exact"]


def paper_base(e: int) -> tuple[int, int]:
    """The paper's (p, q) for epsilon = 1/e: q = 2**k and p = q + 1 with k = ceil(log2(2e)).

    >>> paper_base(10)
    (33, 32)
    """
    q = 1 << (2 * integer(e, "e") - 1).bit_length()
    return q + 1, q


@lru_cache(maxsize=1024)
def truncation(n: int, g: int, p: int, q: int, rule: Literal["paper", "tight"] = "paper", e: int | None = None) -> int:
    """The reach of FastSample's noise, for counts in 0..n and a chance of 1/g of a uniform value.

    "paper" is the printed length, for epsilon = 1/e. "tight" is the least t >= 1 with
    2 p q**(t+1) (g-1) (n+1) <= (p-q) p**(t+1), which suffices for any base.

    >>> truncation(1000, 40_000_000, 33, 32, e=10), truncation(1000, 40_000_000, 33, 32, rule="tight")
    (1889, 929)
    """
    _check_base(n, p, q)
    _check_gamma(g)
    if rule == "tight":
        return max(1, _least_truncation(n, g, p, q))
    if rule != "paper":
        raise ParameterError.of(rule, 'rule must be "paper" or "tight"', 'write rule="tight"')
    e = integer(e if e is not None else 0, "e")
    length = (8 * (n + 1) * (g - 1) * e - 1).bit_length()
    t = -(-9 * e * length // 2) - 1
    _check_truncation(n, g, p, q, t)
    return t


def _least_truncation(n: int, g: int, p: int, q: int) -> int:
    target, ratio = Fraction(2 * p * (g - 1) * (n + 1), p - q), Fraction(p, q)
    (target_low, target_high), (ratio_low, ratio_high) = log_bounds(target), log_bounds(ratio)
    # t + 1 is at least ln(target) / ln(p/q), which is enclosed; powers decide between the two ends.
    low, high = math.ceil(target_low / ratio_high), math.ceil(target_high / ratio_low)
    while low < high and ratio**low < target:
        low += 1
    return low - 1


def _check_base(n: int, p: int, q: int) -> None:
    integer(n, "n")
    integer(q, "q")
    integer(p, "p", least=q + 1)


def _check_gamma(g: int) -> None:
    integer(g, "1/gamma", least=2)


def _check_truncation(n: int, g: int, p: int, q: int, t: int) -> None:
    least = _least_truncation(n, g, p, q)
    if t < least:
        raise ParameterError.of(
            t,
            f"t must be at least {least} here, or one step of a count shows by more than p/q",
            f"give t={least} or more",
        )


# ---------------------------------------------------------------- the pure functions


@lru_cache(maxsize=64)
def geosample_size(n: int, p: int, q: int) -> int:
    """d: GeoSample needs a uniform integer in 1..d."""
    _check_base(n, p, q)
    return int(gmpy2.mpz(p + q) * gmpy2.mpz(p) ** (n - 1))


@lru_cache(maxsize=64)
def fastsample_size(n: int, p: int, q: int, g: int, t: int) -> int:
    """d: FastSample needs a uniform integer in 1..d."""
    _check_base(n, p, q)
    _check_gamma(g)
    integer(t, "t")
    return int((n + 1) * g * (p + q) * gmpy2.mpz(p) ** t)


def geosample(c: int, u: int, *, n: int, p: int, q: int) -> int:
    """The count c plus two-sided geometric noise of ratio q/p, clamped to 0..n.

    The least z in 0..n with F(z) >= u, where F(z)/d is the law's cumulative distribution.

    >>> [geosample(1, u, n=2, p=2, q=1) for u in range(1, geosample_size(2, 2, 1) + 1)]
    [0, 0, 1, 1, 2, 2]
    """
    size = geosample_size(n, p, q)
    integer(c, "c", least=0, most=n)
    integer(u, "u", most=size)
    d, big_p, big_q = gmpy2.mpz(size), gmpy2.mpz(p), gmpy2.mpz(q)

    def cumulative(z: int) -> Any:
        if z >= n:
            return d
        if z < c:
            # Pr[c + Z <= z] = a^(c-z) / (1 + a) with a = q/p, times d = (p + q) p^(n-1).
            return big_q ** (c - z) * big_p ** (n - (c - z))
        # The mirror image: Pr[c + Z > z] = a^(z-c+1) / (1 + a).
        return d - big_q ** (z - c + 1) * big_p ** (n - 1 - (z - c))

    return _least(cumulative, u, n, _guess(c, u, size, n, p, q))


def fastsample(c: int, u: int, *, n: int, p: int, q: int, g: int, t: int) -> int:
    """With chance 1 - 1/g, c plus two-sided geometric noise of ratio q/p that is 0 where it would exceed t in size,
    clamped to 0..n; with chance 1/g uniform on 0..n.

    >>> [fastsample(0, u, n=1, p=2, q=1, g=2, t=1) for u in range(1, fastsample_size(1, 2, 1, 2, 1) + 1)].count(1)
    8
    """
    size = fastsample_size(n, p, q, g, t)
    integer(c, "c", least=0, most=n)
    integer(u, "u", most=size)
    big_p, big_q = gmpy2.mpz(p), gmpy2.mpz(q)
    inner, beyond = (p + q) * big_p**t, big_q ** (t + 1)

    def truncated(z: int) -> Any:
        if z < max(0, c - t):
            return gmpy2.mpz(0)
        if z >= min(c + t, n):
            return inner
        if z < c:
            # As in GeoSample; the probability of noise beyond t is moved to 0.
            return big_q ** (c - z) * big_p ** (t + 1 - (c - z)) - beyond
        return inner - big_q ** (z - c + 1) * big_p ** (t - (z - c)) + beyond

    def cumulative(z: int) -> Any:
        # Algorithm 4.11, a mixture over d = g (n + 1) inner: 1/g of a uniform value on 0..n, the rest of truncated
        # noise.
        return (z + 1) * inner + (g - 1) * (n + 1) * truncated(z)

    return _bisect(cumulative, u, n)


def _guess(c: int, u: int, d: int, n: int, p: int, q: int) -> int:
    """Where u falls, from logarithms in floating point: a place to start from, never an answer."""
    rate = math.log1p((p - q) / q)
    centre = math.log(p) - math.log(p + q)
    if 2 * u <= d:
        return c - int((_ln(d) - _ln(u) + centre) / rate)
    return c - 1 + math.ceil((_ln(d) - _ln(d - u) + centre) / rate) if u < d else n


def _ln(x: int) -> float:
    excess = max(0, x.bit_length() - 64)
    return math.log(x >> excess) + excess * math.log(2)


def _least(cumulative: Callable[[int], Any], u: int, n: int, guess: int) -> int:
    """The least z in 0..n with cumulative(z) >= u, sought from a guess that is almost always right."""
    z = max(0, min(n, guess))
    while z < n and cumulative(z) < u:
        z += 1
    while z > 0 and cumulative(z - 1) >= u:
        z -= 1
    return z


def _bisect(cumulative: Callable[[int], Any], u: int, n: int) -> int:
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if cumulative(middle) >= u:
            high = middle
        else:
            low = middle + 1
    return low


# ---------------------------------------------------------------- many counts


@dataclass(frozen=True)
class _Coin(Law):
    """1 with probability 1/g, else 0."""

    g: int

    first = 0
    last = 1

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        low = (self.g - 1 << fraction_bits) // self.g
        return low, low + 1

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        return 0, [self.cdf(0, fraction_bits)[0]], 1


@dataclass(frozen=True)
class FiniteSampler:
    """GeoSample or FastSample on many counts, each with randomness of its own.

    mode="strict" puts one uniform integer per count through the pure function: the paper, literally. mode="exact"
    draws the same law with random bits revealed only as far as they are needed.
    """

    n: int
    p: int
    q: int
    kind: SamplerKind = "geosample"
    g: int | None = None
    t: int | None = None

    def __post_init__(self) -> None:
        _check_base(self.n, self.p, self.q)
        if self.kind not in ("geosample", "fastsample"):
            raise ParameterError.of(self.kind, 'kind must be "geosample" or "fastsample"', 'write kind="geosample"')
        if self.kind == "fastsample":
            _check_gamma(self._g)
            _check_truncation(self.n, self._g, self.p, self.q, self._t)
        self._noise  # noqa: B018 - a ratio too close to 1 is refused here, not in the middle of a release

    @property
    def size(self) -> int:
        """d, the range of the uniform integer that one count takes."""
        if self.kind == "geosample":
            return geosample_size(self.n, self.p, self.q)
        return fastsample_size(self.n, self.p, self.q, self._g, self._t)

    def add(
        self, counts: NDArray[np.int64], bits: Bits, tick: Tick | None = None, *, mode: Mode = "strict"
    ) -> NDArray[np.int64]:
        """Noisy counts in 0..n. Counts outside 0..n are moved to the nearer end first, in silence."""
        if mode not in ("strict", "exact"):
            raise ParameterError.of(mode, 'mode must be "strict" or "exact"', 'write mode="exact"')
        counts = np.clip(integers(counts), 0, self.n)
        if mode == "strict":
            return self._add_strictly(counts, bits, tick)
        if self.kind == "geosample":
            return self._noise.add(counts, 0, self.n, bits, tick)
        return self._add_mixture(counts, bits, tick)

    def _add_strictly(self, counts: NDArray[np.int64], bits: Bits, tick: Tick | None) -> NDArray[np.int64]:
        size = self.size
        out = np.empty_like(counts)
        for piece in pieces(counts.size, tick, 256):
            for place in range(piece.start, piece.stop):
                out.flat[place] = self._one(int(counts.flat[place]), uniform(size, bits))
        return out

    def _one(self, c: int, u: int) -> int:
        if self.kind == "geosample":
            return geosample(c, u, n=self.n, p=self.p, q=self.q)
        return fastsample(c, u, n=self.n, p=self.p, q=self.q, g=self._g, t=self._t)

    def _add_mixture(self, counts: NDArray[np.int64], bits: Bits, tick: Tick | None) -> NDArray[np.int64]:
        """FastSample as a mixture: noise that is 0 beyond t, and one coin per count for the uniform value."""
        out = np.empty_like(counts)
        flat_in, flat_out = counts.reshape(-1), out.reshape(-1)
        coin = _coin(self._g)
        for piece in pieces(counts.size, tick):
            noise = self._noise.draw(piece.stop - piece.start, bits)
            noise[np.abs(noise) > self._t] = 0
            noisy = np.clip(flat_in[piece] + noise, 0, self.n)
            for place in np.flatnonzero(coin.draw(noisy.size, bits)):
                noisy[place] = bits.below(self.n + 1)
            flat_out[piece] = noisy
        return out

    @property
    def _noise(self) -> Sampler:
        return two_sided_geometric(Decay.rational(Fraction(self.q, self.p)))

    @property
    def _g(self) -> int:
        return integer(self.g if self.g is not None else 0, "1/gamma", least=2)

    @property
    def _t(self) -> int:
        return integer(self.t if self.t is not None else 0, "t")


@lru_cache(maxsize=32)
def _coin(g: int) -> Sampler:
    return Sampler([SamplingTable(_Coin(g))])
