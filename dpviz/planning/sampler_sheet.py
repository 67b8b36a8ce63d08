"""The sampler sheet: GeoSample, its truncation Z' and FastSample side by side, from public parameters alone.

It redraws Figure 2 of Balcer, Vadhan 2018, and shows what each sampler pays and how long its random integer is. A
truncation shorter than the proved one may be looked at: the sheet then says by how much its exact ratio breaks the
promise. Nothing here can draw a number or reach a ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import gmpy2

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, log_up, rational, text, up, whole
from dpviz.mechanisms.count_noise import tight_base
from dpviz.noise.finite import fastsample_size, geosample_size, paper_base, truncation
from dpviz.planning.fans import Fanned, Spot, key_of

VERSION = 1
N = tuple(range(5, 61))
E = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
G = (2, 5, 10, 100, 1000, 10**4, 10**6, 10**9)
T = (*range(1, 41), 50, 60, 80, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000)
SIZES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
"""The counts' limits n at which the lengths of the random integers are compared."""
STAIRCASE = 60
"""The staircase of what is paid goes from epsilon = 1 down to 1/STAIRCASE."""


@dataclass(frozen=True)
class SamplerSheet(Fanned):
    """Samplers for one count c in 0..n at the paper's epsilon = 1/e, with gamma = 1/g.

    t  "paper" or "tight" for a proved truncation, or a whole number, which may break the promise

    >>> point = SamplerSheet(n=30, c=10, e=2, g=100, t="2").point()
    >>> point["promise"]["ratio"], point["fastsample"]["ratio"], point["fastsample"]["holds"]
    ('1.25', '219.24', False)
    """

    n: int = 60
    c: int = 40
    e: int = 1
    g: int = 100
    t: str = "tight"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole(self.n, "n", least=N[0], most=N[-1]))
        object.__setattr__(self, "c", whole(self.c, "c", least=0, most=self.n))
        object.__setattr__(self, "e", whole(self.e, "1/epsilon", most=E[-1]))
        object.__setattr__(self, "g", whole(self.g, "1/gamma", least=2, most=G[-1]))
        if self.t not in ("paper", "tight"):
            object.__setattr__(self, "t", str(whole(self.t, "t", most=T[-1])))

    @classmethod
    def at(cls, place: Mapping[str, str]) -> SamplerSheet:
        """The sheet through the point that a page names, with texts as on its axes. A count above n is moved to n."""
        if set(place) != {"n", "c", "epsilon", "gamma", "t"}:
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                "a place has n, c, epsilon, gamma and t",
                "give each of them, and nothing else",
            )
        n = whole(place["n"], "n", least=N[0], most=N[-1])
        c = min(n, whole(place["c"], "c", least=0, most=N[-1]))
        e, g = _inverse(place["epsilon"], "epsilon"), _inverse(place["gamma"], "gamma")
        return cls(n, c, e, g, place["t"])

    def moved(self, place: Mapping[str, str]) -> SamplerSheet:
        """The sheet through another point."""
        return SamplerSheet.at(place)

    @property
    def base(self) -> tuple[int, int]:
        """The paper's p and q."""
        return paper_base(self.e)

    @property
    def truncation(self) -> int:
        """The t in force."""
        return _named(self.n, self.e, self.g)[self.t] if self.t in ("paper", "tight") else int(self.t)

    def head(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "axes": [
                {"name": name, "label": label, "hint": hint, "grid": grid, "values": values}
                for name, label, hint, grid, values in self._axes()
            ],
            "staircase": staircase(),
        }

    def here(self) -> Spot:
        return Spot(key_of(self), self.point)

    def fans(self) -> dict[str, list[Spot]]:
        return {
            name: [self._moved(name, value).here() for value in grid]
            for name, _label, _hint, grid, _values in self._axes()
        }

    def point(self) -> dict[str, Any]:
        """Laws, exact ratios, lengths and prices at one place. Chances are floats, for the picture."""
        (p, q), n, t = self.base, self.n, self.truncation
        promise, named = Fraction(p, q), _named(n, self.e, self.g)
        laws = {
            "geosample": (geosample_profile(n, p, q), geosample_size(n, p, q)),
            "truncated": (truncated_profile(n, p, q, t), None),
            "fastsample": (fastsample_profile(n, p, q, self.g, t), fastsample_size(n, p, q, self.g, t)),
        }
        return {
            "at": {
                "n": str(n),
                "c": str(self.c),
                "epsilon": text(Fraction(1, self.e)),
                "gamma": text(Fraction(1, self.g)),
                "t": self.t,
            },
            "t": {"value": str(t), "paper": str(named["paper"]), "tight": str(named["tight"])},
            "promise": {"ratio": text(promise), "epsilon": _paid(p, q), "exact": f"2 ln({p}/{q})"},
            **{
                name: {
                    "pmf": law.picture(self.c),
                    "ratio": _shown(law.worst_ratio()),
                    "holds": law.keeps(promise),
                    "bits": "" if size is None else str(size.bit_length()),
                }
                for name, (law, size) in laws.items()
            },
            "sizes": _sizes(self.e, self.g),
        }

    def _axes(self) -> list[tuple[str, str, str, list[str], list[str]]]:
        """Per slider: name, label, hint, the texts a point is named by, and what they say."""
        named = _named(self.n, self.e, self.g)
        reach = max(named["paper"], self.truncation)
        places = sorted(
            [(value, 0, str(value)) for value in {*T, self.truncation} if value <= min(T[-1], reach)]
            + [(value, 1, name) for name, value in named.items()]
        )
        counts = [str(c) for c in range(self.n + 1)]
        epsilons = [text(Fraction(1, e)) for e in sorted({*E, self.e}, reverse=True)]
        gammas = [text(Fraction(1, g)) for g in sorted({*G, self.g}, reverse=True)]
        return [
            ("n", "Limit n of a count", "counts lie from 0 to n", [str(n) for n in N], [str(n) for n in N]),
            ("c", "True count c", "", counts, counts),
            ("epsilon", "ε, one over a whole number", "as in the paper, for replacing one row", epsilons, epsilons),
            ("gamma", "γ", "chance of a uniform value", gammas, gammas),
            (
                "t",
                "Truncation t",
                "how far FastSample's noise reaches",
                [name for _value, _order, name in places],
                [str(value) if not order else f"{value:,}, {name}" for value, order, name in places],
            ),
        ]

    def _moved(self, axis: str, value: str) -> SamplerSheet:
        if axis == "n":
            return replace(self, n=int(value), c=min(self.c, int(value)))
        if axis == "c":
            return replace(self, c=int(value))
        if axis == "t":
            return replace(self, t=value)
        inverse = int(1 / Fraction(value))
        return replace(self, e=inverse) if axis == "epsilon" else replace(self, g=inverse)


@dataclass(frozen=True)
class Profile:
    """A law on 0..n in whole weights, whose chances depend on the distance of value and count inside 0..n and mirror
    each other at its ends.

    inside  the weight of a value other than 0 and n, by its distance from the count
    end     the weight of the value 0, by the count; of n, by what is missing to n
    total   what the weights of one count add up to
    """

    inside: tuple[Any, ...]
    end: tuple[Any, ...]
    total: Any

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The weights of one value under two neighbouring counts, the larger first: every pair, up to mirroring."""
        return [(max(pair), min(pair)) for pair in (*pairwise(self.inside), *pairwise(self.end))]

    def keeps(self, promise: Fraction) -> bool:
        """Whether neighbouring counts give every value chances within this ratio: decided on whole numbers."""
        return all(one * promise.denominator <= other * promise.numerator for one, other in self.pairs)

    def worst_ratio(self, step: Fraction = Fraction(1, 10**6)) -> Fraction | None:
        """The largest ratio between such chances, rounded up to a multiple of `step`; None where it has no bound."""
        if any(one and not other for one, other in self.pairs):
            return None
        steps = int(1 / step)
        return max(Fraction(int(-(-one * steps // other)), steps) for one, other in self.pairs if one)

    def picture(self, count: int) -> list[float]:
        """The chances of 0..n under this count, as floats."""
        inside, end = self._floats
        n = len(self.end) - 1
        return [end[count], *(inside[abs(value - count)] for value in range(1, n)), end[n - count]]

    @cached_property
    def _floats(self) -> tuple[list[float], list[float]]:
        spare = max(0, self.total.bit_length() - 400)  # what is lost is far below what a picture can show
        total = self.total >> spare
        return [_float(weight >> spare, total) for weight in self.inside], [
            _float(weight >> spare, total) for weight in self.end
        ]


@lru_cache(maxsize=1024)
def geosample_profile(n: int, p: int, q: int) -> Profile:
    """Two-sided geometric noise of ratio q/p, clamped to 0..n."""
    powers = _falling(p, q, n)
    return Profile(
        tuple((p - q) * power // p for power in powers[:-1]), tuple(powers), (p + q) * gmpy2.mpz(p) ** (n - 1)
    )


@lru_cache(maxsize=1024)
def truncated_profile(n: int, p: int, q: int, t: int) -> Profile:
    """The same noise with what lies beyond t moved to the centre, clamped to 0..n."""
    powers, beyond, total = _falling(p, q, t), gmpy2.mpz(q) ** (t + 1), (p + q) * gmpy2.mpz(p) ** t
    centre = (p - q) * powers[0] + 2 * beyond
    inside = [centre, *((p - q) * power for power in powers[1:n])]
    end = [total - q * powers[0] + beyond, *(p * power - beyond for power in powers[1 : n + 1])]
    return Profile(_padded(inside, n), _padded(end, n + 1), total)


@lru_cache(maxsize=1024)
def fastsample_profile(n: int, p: int, q: int, g: int, t: int) -> Profile:
    """The truncated law, and with chance 1/g a uniform value."""
    cut = truncated_profile(n, p, q, t)
    noisy = (g - 1) * (n + 1)
    return Profile(
        tuple(noisy * weight + cut.total for weight in cut.inside),
        tuple(noisy * weight + cut.total for weight in cut.end),
        g * (n + 1) * cut.total,
    )


def _falling(p: int, q: int, last: int) -> list[Any]:
    """q**k p**(last - k) for k from 0 to last, at most as far as a count reaches."""
    power, powers = gmpy2.mpz(p) ** last, []
    for _ in range(min(last, N[-1]) + 1):
        powers.append(power)
        power = power // p * q
    return powers


def _padded(weights: list[Any], length: int) -> tuple[Any, ...]:
    return (*weights[:length], *([gmpy2.mpz(0)] * (length - len(weights))))


@lru_cache(maxsize=1)
def staircase() -> dict[str, list[Any]]:
    """The price at epsilon = 1/e, for the paper's base and for the tight one: floats for the picture, rounded up."""
    steps = range(STAIRCASE, 0, -1)
    tight = [tight_base(Fraction(1, 2 * e)) for e in steps]
    return {
        "epsilon": [round(1 / e, 6) for e in steps],
        "paper": [up(log_up(Fraction(*paper_base(e)), _STEP, 2)) for e in steps],
        "tight": [up(log_up(Fraction(p, q), _STEP, 2)) for p, q in tight],
    }


_STEP = Fraction(1, 10**6)


@lru_cache(maxsize=4096)
def _named(n: int, e: int, g: int) -> dict[str, int]:
    """The two proved truncations."""
    p, q = paper_base(e)
    return {"tight": truncation(n, g, p, q, rule="tight"), "paper": truncation(n, g, p, q, rule="paper", e=e)}


@lru_cache(maxsize=256)
def _sizes(e: int, g: int) -> dict[str, Any]:
    """Bits of each sampler's random integer against n, at the tight truncation, and the first listed n above it."""
    p, q = paper_base(e)
    cuts = [_named(n, e, g)["tight"] for n in SIZES]
    return {
        "n": [str(n) for n in SIZES],
        "geosample": [str(geosample_size(n, p, q).bit_length()) for n in SIZES],
        "fastsample": [str(fastsample_size(n, p, q, g, t).bit_length()) for n, t in zip(SIZES, cuts, strict=True)],
        "crossover": str(_crossover(e, g)),
    }


def _crossover(e: int, g: int) -> int:
    """The least n that exceeds its own tight truncation: t grows with ln(n), so from there on it stays below."""
    low, high = 0, 1
    while high <= _named(high, e, g)["tight"]:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle > _named(middle, e, g)["tight"] else (middle, high)
    return high


def _paid(p: int, q: int) -> str:
    return text(log_up(Fraction(p, q), _STEP, 2))


def _shown(ratio: Fraction | None) -> str:
    """A ratio as it stands on the screen, rounded up; empty where it has no bound."""
    return "" if ratio is None else text(ceil_to(ratio, Fraction(1, 100) if ratio > 2 else _STEP))


def _float(weight: Any, total: Any) -> float:
    return float(f"{float(weight / total):.4g}")


def _inverse(value: str, name: str) -> int:
    number = rational(value, name)
    if number <= 0 or number.numerator != 1:
        raise ParameterError.of(text(number), f"{name} must be one over a whole number", "write it like 1/10")
    return number.denominator


protect_module(vars())
