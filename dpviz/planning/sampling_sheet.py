"""The sampling sheet: when one private record needs fewer people than learning the distribution. Sees no data.

A point holds, for one place of the sliders, how many records each way needs for every distance alpha, and what one
draw from two labels is off for every bias. Values that no slider changes stand beside the points: a bit without noise
(A_clip), the trap of subsampling, the chance that too few records come, the counts of a fixed and of a Poisson number
of records, and labels drawn by bits step by step (`label_walk.py`). Laws are exact in floating point, sizes are proved
bounds; what is simulated says so.

Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021; `laws/sampling_curves.py` says what is derived here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import down, figures_up, log_up, positive, rational, text, whole
from dpviz.laws import bounded
from dpviz.laws import sampling_curves as curves
from dpviz.laws.product import theory_n
from dpviz.planning.bin_counts import bin_counts
from dpviz.planning.fans import Fanned, Spot, key_of
from dpviz.planning.grid import ticks
from dpviz.planning.label_walk import CROWDS, walks
from dpviz.planning.projections import projections
from dpviz.privacy.amplification import amplified
from dpviz.privacy.loss import PureDP
from dpviz.privacy.renyi import rho_for

VERSION = 1
DELTA = Fraction(1, 10**6)
"""Products of bits are drawn under (epsilon, delta) by zCDP, with this delta."""

FAMILIES: Final = {
    "categories": "categories: one of k labels",
    "bounded": "d bits, each bias from 1/3 to 2/3",
    "product": "d bits, any biases",
}
POINTS: Final = ("1", "1.5", "2", "3", "5", "7")
SIZES = (2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 300, 500, 700, 1000, 3000, 10_000, 30_000, 100_000)
EPSILONS = ticks(Fraction(1, 100), Fraction(3), POINTS)
ALPHAS = ticks(Fraction(1, 1000), Fraction(3, 10))
PEOPLE = (5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500)
LP_PEOPLE = 120
"""The best sampler is computed for so many records at most."""

BIASES = tuple(
    sorted({
        *(Fraction(i, 40) for i in range(41)),
        *(abs(end - Fraction(away, 200)) for end in (0, 1) for away in (1, 2, 3, 6, 8)),
        Fraction(1, 3), Fraction(2, 3),
    })
)  # fmt: skip
SHARES = (*(Fraction(i, 100) for i in (1, 2, 3, 5, 7)), *(Fraction(i, 20) for i in range(2, 21)))
SEEDS, LAST_SEED = 4, 10**6
"""A sheet carries the draws of so many seeds."""

MOST_DRAWS = 100
DRAWS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 70, MOST_DRAWS)
BITS = tuple(sorted({*PEOPLE, 1, 2, 3, 4, 6, 16, 24, 40, 64, 100, 150, 250, 400}))
"""The sizes at which a bit without noise is looked at."""

PRICED = tuple(range(1, PEOPLE[-1] + 1))
ROOM = tuple(range(1, 101))
STEP, FINE = Fraction(1, 10**6), Fraction(1, 10**9)
FIRST: Final = ("1/10", "1/100", "1/1000")


@dataclass(frozen=True)
class SamplingSheet(Fanned):
    """The records that drawing and learning need at one place of all sliders.

    family   "categories", "bounded" or "product"
    size     k labels, or d bits: 2 to 100,000
    epsilon  of the draw under replace-one, 1/100 to 3
    n        records, where one draw from two labels is looked at: 5 to 500
    alpha    how far a draw may be off, in total variation, 1/1000 to 3/10
    p        the share of the first label, or the bias of a bit
    m        how many records are drawn, 1 to 100
    q        the share of the records that a subsample looks at, above 0 to 1
    crowd    people on average, where a label is drawn by bits: 400 to 5,000
    seed     of the made-up people and of the noise that is shown

    >>> point = SamplingSheet().point()
    >>> [round(row["values"][17]) for row in point["learn"] if row["values"][17] is not None]
    [800, 1900, 3307, 4]
    """

    family: str = "categories"
    size: int = 20
    epsilon: Fraction = Fraction(1)
    n: int = 50
    alpha: Fraction = Fraction(1, 20)
    p: Fraction = Fraction(2, 5)
    m: int = 10
    q: Fraction = Fraction(1, 4)
    crowd: int = 2000
    seed: int = 1

    def __post_init__(self) -> None:
        one_word(self.family, "family", FAMILIES)
        for name, low, high in LIMITS:
            value = rational(getattr(self, name), name) if name == "p" else positive(getattr(self, name), name)
            if not low <= value <= high:
                raise ParameterError.of(
                    text(value), f"{name} must be from {text(low)} to {text(high)} here", "take one in between"
                )
            object.__setattr__(self, name, value)
        object.__setattr__(self, "size", whole(self.size, "size", least=SIZES[0], most=SIZES[-1]))
        object.__setattr__(self, "n", whole(self.n, "n", least=PEOPLE[0], most=PEOPLE[-1]))
        object.__setattr__(self, "m", whole(self.m, "m", most=MOST_DRAWS))
        object.__setattr__(self, "crowd", whole(self.crowd, "crowd", least=CROWDS[0], most=CROWDS[-1]))
        object.__setattr__(self, "seed", whole(self.seed, "seed", most=LAST_SEED))

    def moved(self, place: Mapping[str, str]) -> SamplingSheet:
        """The sheet through the point that a page names."""
        if set(place) != set(AXES):
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                f"a place has {', '.join(AXES)}",
                "give each of them, and nothing else",
            )
        values: dict[str, Any] = {name: rational(place[name], name) for name, _low, _high in LIMITS}
        values |= {name: whole(place[name], name) for name in ("size", "n", "m", "crowd", "seed")}
        return replace(self, family=place["family"], **values)

    @property
    def at(self) -> dict[str, str]:
        """Where all sliders stand."""
        return {name: value if isinstance(value := getattr(self, name), str) else text(value) for name in AXES}

    @property
    def alphas(self) -> tuple[Fraction, ...]:
        """The distances of all curves, the chosen one among them."""
        return tuple(sorted({*ALPHAS, self.alpha}))

    @property
    def biases(self) -> tuple[Fraction, ...]:
        """The biases of all curves, the chosen one among them."""
        return tuple(sorted({*BIASES, self.p}))

    # ------------------------------------------------------------ one point

    def point(self) -> dict[str, Any]:
        """Sizes by alpha and errors by bias at this place."""
        return {
            "at": self.at,
            "learn": self._sizes(),
            "crossing": self._crossing(),
            "hard": self._errors(),
            "draws": self._draws(),
            "amplified": _amplified(self.epsilon, self.shares),
            "projections": projections(self.n, self.epsilon, self.seeds),
        }

    @property
    def shares(self) -> tuple[Fraction, ...]:
        return tuple(sorted({*SHARES, self.q}))

    @property
    def crowds(self) -> tuple[int, ...]:
        return tuple(sorted({*CROWDS, self.crowd}))

    @property
    def seeds(self) -> tuple[int, ...]:
        first = min(self.seed, LAST_SEED - SEEDS + 1)
        return tuple(range(first, first + SEEDS))

    @property
    def draws(self) -> tuple[int, ...]:
        return tuple(sorted({*DRAWS, self.m}))

    def _sizes(self) -> list[dict[str, Any]]:
        """How many records each way needs, by alpha: whole numbers, rounded up; None where nothing is proved."""
        return [
            _way(name, label, series, how, [_records(of(alpha), name == "floor") for alpha in self.alphas])
            for name, label, series, how, of in _ways(self.family, self.size, self.epsilon)
        ]

    def _crossing(self) -> float | None:
        """The alpha at which drawing privately and learning without privacy need equally many records."""
        by_name = {name: of for name, _label, _series, _how, of in _ways(self.family, self.size, self.epsilon)}
        draw, learn = by_name["sharper" if "sharper" in by_name else "draw"], by_name["learn"]

        def cheaper(alpha: float) -> bool:
            return (draw(Fraction(alpha)) or 0) < (learn(Fraction(alpha)) or 0)

        low, high = 1e-6, 0.999
        if not cheaper(low) or cheaper(high):
            return None
        for _ in range(60):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if cheaper(middle) else (low, middle)
        return _four(low)

    def _errors(self) -> list[dict[str, Any]]:
        return [
            _way(name, label, series, "exact", values)
            for name, label, series, values in _hard(self.n, self.epsilon, self.biases)
        ]

    def _draws(self) -> list[dict[str, Any]]:
        """The price of m records together; None where there are fewer records than draws."""
        epsilon, one = self.epsilon, _price(self.n)
        ways: list[tuple[str, str, str, Callable[[int], Fraction | None]]] = [
            ("category", "categories: one price", "3", lambda m: epsilon),
            ("response", "one record, coin-flipped: m prices", "4", lambda m: m * epsilon),
            ("clip", "a bit without noise: m prices", "1", lambda m: m * one),
            ("chunks", "bits from m parts of the records", "5", lambda m: _price(self.n // m) if m <= self.n else None),
        ]

        def priced(of: Callable[[int], Fraction | None]) -> list[float | None]:
            return [None if (value := of(m)) is None else _above(value) for m in self.draws]

        return [_way(name, label, series, "exact", priced(of)) for name, label, series, of in ways]

    # ------------------------------------------------------------ the sheet

    @property
    def _grids(self) -> dict[str, list[Any]]:
        grids: dict[str, list[Any]] = {**{name: list(values) for name, (_label, _hint, values) in AXES.items()}}
        grids |= {"alpha": list(self.alphas), "p": list(self.biases), "q": list(self.shares), "m": list(range(1, 101))}
        grids |= {"crowd": list(self.crowds), "seed": list(self.seeds)}
        own = {name: getattr(self, name) for name in AXES}
        return {name: grid if own[name] in grid else sorted([*grid, own[name]]) for name, grid in grids.items()}

    def head(self) -> dict[str, Any]:
        axes, grids = [], self._grids
        for name, (label, hint, _values) in AXES.items():
            grid = grids[name]
            spelled = [value if isinstance(value, str) else text(value) for value in grid]
            values = [FAMILIES[value] for value in grid] if name == "family" else spelled
            axes.append({"name": name, "label": label, "hint": hint, "grid": spelled, "values": values})
        return {
            "version": VERSION,
            "delta": text(DELTA),
            "axes": axes,
            "alphas": [float(alpha) for alpha in self.alphas],
            "biases": [float(p) for p in self.biases],
            "draws": list(self.draws),
            "shares": [float(q) for q in self.shares],
            **_fixed(self.biases, self.shares, tuple(sorted({*BITS, self.n}))),
            "walk": None,
        }

    def tail(self) -> dict[str, Any]:
        return {"walk": walks(self.crowds, self.seeds)}

    def here(self) -> Spot:
        return Spot(key_of(self), self.point)

    def fans(self) -> dict[str, list[Spot]]:
        grids = self._grids
        return {name: [replace(self, **{name: value}).here() for value in grids[name]] for name in FANS}


def _way(name: str, label: str, series: str, how: str, values: Sequence[float | None] | None) -> dict[str, Any]:
    """One curve: its name, colour and sign, what is known of it, and its values."""
    return {"name": name, "label": label, "series": series, "how": how, "values": values}


Size: TypeAlias = float | Fraction | None
"""The numbers of records: exact where they are a quotient."""


def _ways(family: str, size: int, epsilon: Fraction) -> list[tuple[str, str, str, str, Callable[[Fraction], Size]]]:
    """Name, label, series, what is known, and the records for a distance, of each way of a family."""
    loss = float(epsilon)
    if family == "categories":
        privately = curves.categories_learned_privately
        return [
            ("draw", "draw one, private", "3", "bound", lambda a: curves.categories_drawn(size, a, epsilon)),
            ("learn", "learn, not private", "6", "bound", lambda a: curves.categories_learned(size, a)),
            ("private", "learn, private", "2", "bound", lambda a: privately(size, float(a), loss)),
            ("floor", "no draw with fewer", "5", "bound", lambda a: curves.categories_floor(size, float(a), loss)),
        ]
    rho = _rho(epsilon)
    learn = ("learn", "learn, not private", "6", "bound", lambda a: curves.bits_learned(size, a))
    private = ("private", "learn, private", "2", "shape", lambda a: size / (a * epsilon) + size / a**2)
    if family == "bounded":
        proved, sharper, root = curves.bounded_drawn, curves.bounded_drawn_sharper, math.sqrt(size)
        return [
            ("draw", "draw, as proved", "4", "bound", lambda a: proved(size, float(a), down(rho))),
            ("sharper", "draw one, private", "3", "bound", lambda a: sharper(size, float(a), down(rho))),
            learn,
            private,
            ("floor", "least for a draw", "5", "shape", lambda a: root / loss),
        ]
    return [
        ("draw", "draw one, private", "3", "bound", lambda a: theory_n(size, a, rho)),
        learn,
        private,
        ("floor", "least for a draw", "5", "shape", lambda a: size / (a * epsilon)),
    ]


@lru_cache(maxsize=64)
def _rho(epsilon: Fraction) -> Fraction:
    return rho_for(epsilon, DELTA)


@lru_cache(maxsize=256)
def _hard(n: int, epsilon: Fraction, biases: tuple[Fraction, ...]) -> list[tuple[str, str, str, list[float] | None]]:
    chances = np.array([float(p) for p in biases])
    best = None if n > LP_PEOPLE else curves.sampling_errors(curves.best_pair(n, epsilon), chances)
    drawn, response = (
        curves.sampling_errors(law, chances) for law in (curves.pair_law(n, epsilon), curves.response_pair(n, epsilon))
    )
    told = [
        ("draw", "draw one (Algorithm 3)", "3", drawn),
        (
            "response",
            "one record, coin-flipped",
            "4",
            response,
        ),
        ("best", "the best draw there is", "5", best),
        ("learn", "learn, not private", "6", curves.learning_errors(n, chances)),
    ]
    return [
        (name, label, series, None if values is None else [_four(value) for value in values.tolist()])
        for name, label, series, values in told
    ]


@lru_cache(maxsize=64)
def _amplified(epsilon: Fraction, shares: tuple[Fraction, ...]) -> list[float]:
    """The price of a sampler of this epsilon on a part of fixed size, in random order, by the share of that part."""
    loss = PureDP(epsilon)
    return [_above(amplified(loss, q, "fixed", "replace-one", FINE).epsilon) for q in shares]


@lru_cache(maxsize=512)
def _price(n: int) -> Fraction:
    """Of one bit from n records, rounded up: the exact one."""
    return bounded.epsilon(n, STEP)


@lru_cache(maxsize=256)
def _clipped(n: int, biases: tuple[Fraction, ...]) -> Any:
    """The error of a clipped bit, for n records and each bias."""
    return curves.sampling_errors(curves.clipped_pair(n), np.array([float(p) for p in biases]))


@lru_cache(maxsize=1)
def _firsts() -> list[tuple[str, int]]:
    """For some distances, the least n at which a clipped bit of bias 1/3 is no further off."""

    def at_a_third(n: int) -> float:
        return float(curves.sampling_errors(curves.clipped_pair(n), np.array([1 / 3]))[0])

    return [(alpha, curves.first_size(float(Fraction(alpha)), at_a_third)) for alpha in FIRST]


@lru_cache(maxsize=4)
def _fixed(biases: tuple[Fraction, ...], shares: tuple[Fraction, ...], bits: tuple[int, ...]) -> dict[str, Any]:
    """The values that no slider changes."""
    errors = [_clipped(n, biases) for n in bits]
    return {
        "bits": list(bits),
        "clip": {
            "prices": [text(log_up(bounded.ratio(n), STEP)) for n in PRICED],
            "paper": [text(bounded.paper_epsilon(n)) for n in PRICED],
            "errors": [[_four(float(row[i])) for row in errors] for i in range(len(biases))],
            "bound": [_above(bounded.error_bound(n) * (1 + OFF)) for n in bits],
            "first": [
                {"alpha": alpha, "exact": str(n), "paper": str(bounded.paper_records(Fraction(alpha)))}
                for alpha, n in _firsts()
            ],
        },
        "trap": [_trap(q) for q in shares],
        "few": {
            "exact": [_four(curves.too_few(n)) for n in ROOM],
            "bound": [_above(math.exp(-n / 6) * (1 + OFF)) for n in ROOM],
        },
        "counts": bin_counts(),
    }


def _trap(q: Fraction) -> dict[str, Any]:
    """One record, kept with chance q and told by a coin that keeps it 3 times in 4; 0 is said where it was not kept.

    The chance of a 1 is q/4 where the record is 0 and 3q/4 where it is 1, a ratio of 3; the formula says 1 + 2q.
    """
    low, high = q / 4, 3 * q / 4
    return {"q": text(q), "chances": [text(low), text(high)], "ratio": text(high / low), "claimed": text(1 + 2 * q)}


def _records(value: Size, floor: bool) -> float | None:
    """A whole number of records, rounded up; where it comes from floats, what they may be off costs a record, or, of a
    floor, is not claimed."""
    if value is None:
        return None
    exact = isinstance(value, int | Fraction)
    return float(math.ceil(value if exact else value * (1 - OFF if floor else 1 + OFF)))


OFF = 1e-12
"""Curves in floats are off by less than this share of themselves."""


def _four(value: float) -> float:
    """In five figures, for pictures."""
    return float(f"{value:.5g}")


def _above(value: float | Fraction) -> float:
    """The same of a bound or a price: never below it."""
    return figures_up(value, 5)


LIMITS: Final = (
    ("epsilon", EPSILONS[0], EPSILONS[-1]),
    ("alpha", ALPHAS[0], ALPHAS[-1]),
    ("p", Fraction(0), Fraction(1)),
    ("q", Fraction(1, 1000), Fraction(1)),
)
AXES: Final[dict[str, tuple[str, str, tuple[Any, ...]]]] = {
    "family": ("Family of distributions", "", tuple(FAMILIES)),
    "size": ("Labels k, or bits d", "public, not read from the data", SIZES),
    "epsilon": ("Privacy loss ε", "of one draw; replace one record", EPSILONS),
    "n": ("Records, n", "public under replace-one", PEOPLE),
    "alpha": ("Wanted distance, α", "total variation, on average", ALPHAS),
    "p": ("True share, p", "of the first label, or of ones", BIASES),
    "m": ("Records drawn, m", "", DRAWS),
    "q": ("Share looked at, q", "of all records", SHARES),
    "crowd": ("People on average", "a Poisson number comes", CROWDS),
    "seed": ("Seed", "of made-up people and noise", ()),
}
"""The sliders: label, hint, values."""

FANS: Final = ("family", "size", "epsilon", "n")
"""These change the curves; the others are looked up along them."""


protect_module(vars())
