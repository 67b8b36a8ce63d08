"""The trade-off sheet: what sparse releases of one budget err, store and read. Public numbers only; sees no data.

Every point holds, for each mechanism, its error against the true value of an entry (on average, 95 times in 100, and of
all look-ups together) and its space and reads. A fan through the current point for each slider makes the page redraw by
itself. Laws are exact for up to 16 bits a key and simulated beyond; what is only bounded says so.

Source: Aumüller, Lebeda, Pagh 2022 (Algorithms 1, 4 to 9 and 11), Balcer and Vadhan 2019 for Stability and Compact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Final, TypeAlias, cast

import numpy as np

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, exp_bounds, positive, rational, text, whole
from dpviz.laws.alp import FEW, Flips, bits_for, quantile_bound
from dpviz.laws.alp_errors import Laws, errors, laws_of_few
from dpviz.laws.geometric import TwoSidedGeometric, error_quantile, simultaneous_quantile
from dpviz.laws.log_encoding import FINE
from dpviz.laws.max_projection import BucketError
from dpviz.laws.threshold import Sizes, Thresholded, approximate_threshold, pure_threshold, tight_threshold
from dpviz.mechanisms import mechanism
from dpviz.mechanisms.count_noise import MOST_COUNT
from dpviz.model.answers.log_sketch import LogPlan
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorValue
from dpviz.model.laws.log_sketch import LogSketchLaw
from dpviz.model.mechanism import Bound
from dpviz.model.question import Question
from dpviz.noise.flips import chance_for
from dpviz.planning.fans import Fanned, Spot
from dpviz.planning.grid import ticks
from dpviz.planning.walks import RUNS, simulated_laws
from dpviz.privacy.unit import Unit

VERSION = 1
PSI = Fraction(1, 20)
"""An error bar may fail so often."""

VALUE_BITS = 20
"""A stored count takes so many bits: counts below a million."""

FAR_BELOW = 256
"""Of values of both signs so many bits below 0 are simulated at most."""

STEPS = 36
"""The true values are shown in so many steps."""

POINTS: Final = ("1", "1.5", "2", "3", "5", "7")
EPSILONS = ticks(Fraction(1, 10), Fraction(10), POINTS)
KEYS = (100, 1_000, 10_000, 10**6, 2**24, 2**32, 2**40, 2**48, 2**56, 2**64)
LOADS = tuple(map(Fraction, ("3", "4", "5", "6", "8", "10", "12", "16.384", "20", "30", "40", "60", "80", "100")))
ALPHAS = tuple(Fraction(256, ones) - 2 for ones in (102, 96, 88, 80, 72, 64, 58, 52, 46, 40, 36, 32, 28, 24, 22))
SPLITS = tuple(map(Fraction, ("1/4", "1/3", "1/2", "2/3", "1", "3/2", "2", "3", "4")))
DELTAS = tuple(Fraction(1, 10**places) for places in (10, 9, 8, 7, 6, 5, 4))
LOOK_UPS = tuple(10**places for places in range(7))

THRESHOLDS: Final = {
    "pure": "pure: costs no δ",
    "approximate": "with δ: lower",
}
RELATIONS: Final[dict[str, tuple[str, int]]] = {
    "add": ("one record, in or out", 1),
    "replace": ("replace one record", 2),
    "user-4": ("a user with four keys", 4),
    "user-16": ("a user with sixteen keys", 16),
}
"""Who is protected: in words, and how many entries may move by one."""

CALLED: Final = {
    "both": "Threshold + ALP",
    "stability": "Stability (δ)",
    "alp": "ALP alone",
    "threshold": "Threshold",
    "max": "Threshold + max",
    "dense": "Dense",
    "compact": "Compact",
    "log": "ALP of logarithms",
    "signed": "ALP, both signs",
}
"""The methods that are compared, in the order of their colours and signs, and their names."""

MOVED_BY: Final = {
    "both": "ε d s/k α split",
    "stability": "ε δ d",
    "alp": "ε d s/k α split",
    "threshold": "ε d",
    "max": "ε d s/k split",
    "dense": "ε d",
    "compact": "ε d",
    "log": "ε s/k α",
    "signed": "ε d s/k α split",
}
"""The sliders that move each of them, where thresholds are pure."""

SHOWN_ABOVE: Final = ("both", "threshold", "max")
CAPPED_AT: Final = ("alp", "signed")
"""These rest on a threshold: where it costs a δ, that one moves them, and d only how long a key is."""

TOLD: Final = ("both", "threshold")
"""These are told in the sentence about the probe."""

TRACED: Final = "both"
"""For this one the picture of space shows what s/k does."""

ACCOUNTING: Final = {"exact": "exact, for counts", "paper": "the paper's ε"}

Numbers: TypeAlias = Sequence[float] | None


@dataclass(frozen=True)
class TradeoffSheet(Fanned):
    """The error, storage and reading time of sparse releases at one place of all sliders.

    epsilon     of the whole release, in the relation that is chosen
    delta       for what needs one
    threshold   "pure" (Algorithm 6) or "approximate" (Algorithm 9)
    split       epsilon of ALP over epsilon of the threshold, where both are used
    alpha       ALP's flip setting: a bit is flipped with chance 1 / (alpha + 2), rounded up to 16 binary places
    load        s / k: bits of a column for each non-zero entry
    d           how many keys there may be
    k           how many non-zero entries are declared; where there are fewer keys, as many as these
    look_ups    how many keys are read together, for an error bar around all of them
    relation    "add", "replace", "user-4" or "user-16"
    accounting  of ALP: "exact" for whole counts, as ALP itself is charged for counts, or "paper" for any real vector
    n           the public number of rows, which Compact needs: it stores n + 1 elements; and the largest value that is
                told apart where ALP's bits stand for logarithms

    >>> point = TradeoffSheet(d=1000).point()
    >>> [row["name"] for row in point["rows"]]
    ['both', 'stability', 'threshold', 'alp', 'max', 'dense', 'compact', 'log', 'signed']
    """

    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    threshold: str = "pure"
    split: Fraction = Fraction(1)
    alpha: Fraction = Fraction(38, 13)
    load: Fraction = Fraction("16.384")
    d: int = 2**32
    k: int = 1000
    look_ups: int = 1000
    relation: str = "add"
    accounting: str = "exact"
    n: int = 10_000

    def __post_init__(self) -> None:
        for name, low, high in LIMITS:
            value = positive(getattr(self, name), name)
            if not low <= value <= high:
                raise ParameterError.of(
                    text(value), f"{name} must be from {text(low)} to {text(high)} here", "take one in between"
                )
            object.__setattr__(self, name, value)
        object.__setattr__(self, "d", whole(self.d, "d", least=2, most=2**64))
        object.__setattr__(self, "k", whole(self.k, "k", most=10**9))
        object.__setattr__(self, "n", whole(self.n, "n", most=MOST_COUNT))
        object.__setattr__(self, "look_ups", whole(self.look_ups, "look_ups", most=10**9))
        for name, known in CHOICES.items():
            one_word(getattr(self, name), name, known)

    def moved(self, place: Mapping[str, str]) -> TradeoffSheet:
        """The sheet through the point that a page names."""
        if set(place) != set(self.at):
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                f"a place has {', '.join(self.at)}",
                "give each of them, and nothing else",
            )
        values: dict[str, Any] = {name: rational(place[name], name) for name, _low, _high in LIMITS}
        values |= {name: whole(place[name], name) for name in ("d", "look_ups")}
        values |= {name: place[name] for name in CHOICES}
        return replace(self, **values)

    @property
    def at(self) -> dict[str, str]:
        """Where all sliders stand."""
        return {
            **{name: text(getattr(self, name)) for name, _low, _high in LIMITS},
            **{name: str(getattr(self, name)) for name in ("d", "look_ups", *CHOICES)},
        }

    # ------------------------------------------------------------ what follows from the sliders

    @cached_property
    def moves(self) -> int:
        """How many entries one protected unit may move by one."""
        return RELATIONS[self.relation][1]

    @cached_property
    def each(self) -> Fraction:
        """The epsilon of one entry that moves by one."""
        return self.epsilon / self.moves

    @cached_property
    def failing(self) -> Fraction:
        """The delta of one entry: replacing one record moves two, and only the one that appears may fail."""
        return self.delta / (self.moves if self.relation.startswith("user") else 1)

    @cached_property
    def first(self) -> Fraction:
        """The epsilon of the threshold where something else is released, too."""
        return self.each / (1 + self.split)

    @cached_property
    def flips(self) -> Flips:
        ones, places = chance_for(self.alpha.numerator, self.alpha.denominator)
        return Flips(Fraction(ones, 2**places), 1 / self.load)

    def _threshold(self, epsilon: Fraction) -> Thresholded:
        decay = Decay.exp(epsilon)
        pure = self.threshold == "pure"
        return Thresholded(
            decay, pure_threshold(decay, self.d) if pure else approximate_threshold(epsilon, self.failing)
        )

    def _bits(self, epsilon: Fraction) -> Fraction:
        """How many of ALP's bits one count is worth at this price of one count."""
        if self.accounting == "paper":
            return epsilon / self.flips.alpha
        return bits_for(self.flips.alpha, exp_bounds(epsilon, 64)[0])

    # ------------------------------------------------------------ one point

    def point(self) -> dict[str, Any]:
        """All mechanisms at this place, against true values up to three times the threshold."""
        return _point(self)

    def _computed(self) -> dict[str, Any]:
        alone, before = self._threshold(self.each), self._threshold(self.first)
        top = max(3 * alone.threshold, -(-6 * before.threshold // 5))
        near = {round(law.threshold * share / 20) for law in (alone, before) for share in (17, 18, 19, 20, 21, 22)}
        xs = sorted({*(round(i * top / STEPS) for i in range(STEPS + 1)), *near})
        entry = max(1, math.ceil(math.log2(self.d))) + VALUE_BITS
        stability = Thresholded(Decay.exp(self.each), tight_threshold(Decay.exp(self.each), self.failing))
        needs = self.threshold == "approximate"
        both = _Alp.of(before.threshold, self._bits(self.each - self.first), self.flips)
        single = _Alp.of(before.threshold, self._bits(self.each), self.flips)
        rows = [
            self._row("both", needs, entry + float(self.load * both.m), both.read, self._after(before, both, xs)),
            self._row("stability", True, entry, _entry(entry), self._shown(stability, xs)),
            self._row("threshold", needs, entry, _entry(entry), self._shown(alone, xs)),
            self._row(
                "alp", False, float(self.load * single.m), single.read, self._alone(single, xs), before.threshold
            ),
            self._projected(needs, entry, before, xs),
            self._row("dense", False, self.d * VALUE_BITS / min(self.k, self.d), _entry(VALUE_BITS), self._dense(xs)),
            *self._compact(xs),
            *self._logarithms(xs),
            self._signed(single.m, before.threshold, xs),
        ]
        return {
            "at": self.at,
            "xs": xs,
            "thresholds": {"alone": alone.threshold, "before": before.threshold, "stability": stability.threshold},
            "flip": text(self.flips.p),
            "rows": rows,
        }

    def _row(
        self, name: str, needs_delta: bool, bits: float, read: str, curves: dict[str, Any], cap: int | None = None
    ) -> dict[str, Any]:
        """One mechanism. Values above `cap`, where there is one, are cut off there."""
        said = {"name": name, "label": CALLED[name], "series": str(list(CALLED).index(name) + 1), "read": read}
        moved_by = MOVED_BY[name]
        if self.threshold == "approximate" and name in (*SHOWN_ABOVE, *CAPPED_AT):
            moved_by = moved_by.replace(" d", " δ d" if name in SHOWN_ABOVE else " δ")
        said |= {"moved_by": moved_by}
        limit = None if cap is None else str(cap)
        return {**said, "needs_delta": needs_delta, "bits": _told(bits), "cap": limit, **curves}

    @property
    def _far(self) -> float:
        """The chance with which each of all look-ups may fail: a union bound, since keys that share bits are not
        independent."""
        return float(PSI / self.look_ups)

    def _shown(self, law: Thresholded, xs: Sequence[int]) -> dict[str, Any]:
        """Values below the threshold read 0."""
        return _curves(
            ("exact", [law.mean_error(x, Sizes.always(x)) for x in xs]),
            ("exact", [law.quantile(x, Sizes.always(x), float(PSI)) for x in xs]),
            ("bound", [law.quantile(x, Sizes.always(x), self._far) for x in xs]),
        )

    def _after(self, law: Thresholded, alp: _Alp, xs: Sequence[int]) -> dict[str, Any]:
        """Values below the threshold are read from ALP."""
        sizes = [alp.errors(x) for x in xs]
        many = [
            law.quantile(x, size, self._far)
            if alp.exact
            else law.quantile(x, Sizes.always(alp.bound(x, self._far / 2)), self._far / 2)
            for x, size in zip(xs, sizes, strict=True)
        ]
        found = zip(xs, sizes, strict=True)
        means, ones = zip(*((law.mean_error(x, s), law.quantile(x, s, float(PSI))) for x, s in found), strict=True)
        hidden = [1 - law.chance_shown(x) for x in xs]
        return _curves((alp.how, means), (alp.how, ones), ("bound", many), alp.off(sizes, hidden))

    def _alone(self, alp: _Alp, xs: Sequence[int]) -> dict[str, Any]:
        sizes = [alp.errors(x) for x in xs]
        many = [
            size.quantile(self._far) if alp.exact else alp.bound(x, self._far)
            for x, size in zip(xs, sizes, strict=True)
        ]
        means, ones = [size.mean for size in sizes], [size.quantile(float(PSI)) for size in sizes]
        return _curves((alp.how, means), (alp.how, ones), ("bound", many), alp.off(sizes, [1.0] * len(xs)))

    def _projected(self, needs: bool, entry: int, before: Thresholded, xs: Sequence[int]) -> dict[str, Any]:
        """Max projection of what the threshold does not show, clamped there."""
        t = before.threshold
        law = BucketError(Decay.exp(self.each - self.first), 1 / self.load, t / self.load)
        mean = Sizes.always(float(law.mean_bound()))

        def reach(beta: Fraction) -> Numbers:
            found = law.quantile_bound(beta / 2)
            if found is None:
                return None
            hidden = [
                Sizes.always(found + max(0, x - t)) for x in xs
            ]  # what is cut off is missing only where it is hidden
            return [before.quantile(x, size, float(beta / 2)) for x, size in zip(xs, hidden, strict=True)]

        word = max(1, math.ceil(math.log2(t + 1)))
        means = [before.mean_error(x, mean) + (1 - before.chance_shown(x)) * max(0, x - t) for x in xs]
        curves = _curves(("bound", means), ("bound", reach(PSI)), ("bound", reach(PSI / self.look_ups)))
        return self._row("max", needs, entry + float(self.load) * word, f"1 bucket, {word} bits", curves)

    def _dense(self, xs: Sequence[int]) -> dict[str, Any]:
        """Noise on every one of d counts; the errors of different keys are independent."""
        decay = Decay.exp(self.each)
        mean = float(TwoSidedGeometric(decay).expected_size(64)[1])
        one, many = error_quantile(decay, PSI), simultaneous_quantile(decay, PSI, min(self.look_ups, self.d))
        flat = [("exact", [float(value)] * len(xs)) for value in (mean, one, many)]
        return _curves(flat[0], flat[1], flat[2])

    def _compact(self, xs: Sequence[int]) -> list[dict[str, Any]]:
        """A polynomial of degree n over a field, drawn with Compact's own noise. None where it would be too large."""
        which = self.epsilon, self.d, self.relation, self.n
        bound = _compact_of(*which)
        if bound is None:
            return []
        curves = _compact_curves(which, tuple(xs), self.look_ups)
        bits = bound.space.bits / min(self.k, self.d)
        return [self._row("compact", False, bits, f"all {self.n + 1:,} elements", curves, self.n)]

    def _logarithms(self, xs: Sequence[int]) -> list[dict[str, Any]]:
        """ALP of logarithms, of values up to n: its bits, and what they stand for, are those of the mechanism. None
        where so many bits do not fit."""
        given = (self.epsilon, self.d, min(self.k, self.d), self.relation, self.n, self.load, self.alpha)
        plan = _log_plan(*given, self.accounting)
        if plan is None:
            return []
        rungs, m = plan.rungs, plan.columns
        alp = _Alp(m, Fraction(1), self.flips)  # asked in bits
        table = np.array(rungs.table, dtype=np.float64) / float(1 << FINE)
        sizes, many = [], []
        for x in xs:
            bits = rungs.bits(x)
            low = min(math.floor(bits), m - 1)
            share = float(bits - low)
            (below, of_below), (above, of_above) = (alp.laws[low], alp.laws[low + 1])
            values = np.interp(np.concatenate((below, above)), np.arange(m + 1), table)
            chances = np.concatenate(((1 - share) * of_below, share * of_above))
            sizes.append(Sizes.of(values[chances > 0] - x, chances[chances > 0]))
            reach = Fraction(1 + quantile_bound(self.flips, Fraction(self._far)))
            ends = rungs.steps(bits - reach), rungs.steps(bits + reach)
            many.append(sizes[-1].quantile(self._far) if alp.exact else float(max(abs(end - x) for end in ends)))
        means, ones = [size.mean for size in sizes], [size.quantile(float(PSI)) for size in sizes]
        curves = _curves((alp.how, means), (alp.how, ones), ("bound", many), alp.off(sizes, [1.0] * len(xs)))
        return [self._row("log", False, float(self.load * m), alp.read, curves, self.n)]

    def _signed(self, m: int, cap: int, xs: Sequence[int]) -> dict[str, Any]:
        """ALP of values of both signs, up to the same size: one number of twice as many bits, from all zeros at -cap to
        all ones. Others may clear what a key set. Parts far below 0 are left out: nothing is read there."""
        below_0, bits = min(m, FAR_BELOW), self._bits(self.each)
        laws = simulated_laws(below_0 + m, self.flips, cleared=below_0)
        sizes, many = [], []
        reach, last = float((1 + quantile_bound(self.flips, Fraction(self._far))) / bits), float(m / bits)
        for x in xs:
            y = min(float(x * bits), float(m))
            low = min(int(y + 1e-9), m - 1)
            share = max(0.0, y - low)
            (below, of_below), (above, of_above) = laws[below_0 + low], laws[below_0 + low + 1]
            values = (np.concatenate((below, above)) - below_0) / float(bits)
            chances = np.concatenate(((1 - share) * of_below, share * of_above))
            sizes.append(Sizes.of(values[chances > 0] - x, chances[chances > 0]))
            many.append(min(x + last, reach + max(0.0, x - last)))
        means, ones = [size.mean for size in sizes], [size.quantile(float(PSI)) for size in sizes]
        off = _Alp(2 * m, bits, self.flips).off(sizes, [1.0] * len(xs))
        curves = _curves(("simulated", means), ("simulated", ones), ("bound", many), off)
        return self._row("signed", False, float(self.load * 2 * m), f"{2 * m:,} bits", curves, cap)

    # ------------------------------------------------------------ the sheet

    def head(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "k": str(self.k),
            "n": str(self.n),
            "value_bits": str(VALUE_BITS),
            "psi": text(PSI),
            "runs": str(RUNS),
            "told": list(TOLD),
            "traced": TRACED,
            "start": str(2 * self._threshold(self.each).threshold // 3),
            "axes": [self._axis(name) for name in AXES],
        }

    def here(self) -> Spot:
        return Spot((*self.at.values(), self.k, self.n), self.point)

    def fans(self) -> dict[str, list[Spot]]:
        at = self.at
        return {
            name: [
                Spot((*{**at, name: value}.values(), self.k, self.n), partial(self._point_on, name, value))
                for value in self._axis(name)["grid"]
            ]
            for name in AXES
        }

    def _point_on(self, name: str, value: str) -> dict[str, Any]:
        return self._on(name, value).point()

    def _on(self, name: str, value: str) -> TradeoffSheet:
        return self if self.at[name] == value else self.moved({**self.at, name: value})

    def _axis(self, name: str) -> dict[str, Any]:
        label, hint, grid, word = AXES[name]
        if name in CHOICES:
            values = list(grid)
            return {
                "name": name,
                "label": label,
                "hint": hint,
                "grid": values,
                "values": [word(value) for value in values],
            }
        numbers = sorted({*grid, getattr(self, name)})
        return {
            "name": name,
            "label": label,
            "hint": hint,
            "grid": [text(Fraction(number)) for number in numbers],
            "values": [word(number) for number in numbers],
        }


@lru_cache(maxsize=256)
def _point(sheet: TradeoffSheet) -> dict[str, Any]:
    return sheet._computed()


def _bound(name: str, given: dict[str, str], d: int, relation: str, n: int) -> Bound | None:
    """A mechanism for counts of d keys and who is protected; None where it would be too large."""
    units = {
        "add": Unit(),
        "replace": Unit(relation="replace-one", n=n),
        "user-4": Unit("user", max_bins=4),
        "user-16": Unit("user", max_bins=16),
    }
    question = Question.of(Domain.integers(0, d - 1, column="key"))
    try:
        return mechanism(name, given).bind(question, units[relation])
    except ParameterError:
        return None


@lru_cache(maxsize=256)
def _compact_of(epsilon: Fraction, d: int, relation: str, n: int) -> Bound | None:
    """Compact for this price; None where a price is so small that its answer would be too large."""
    return _bound("Compact", {"epsilon": text(epsilon), "cap": str(n)}, d, relation, n)


@lru_cache(maxsize=256)
def _log_plan(
    epsilon: Fraction, d: int, k: int, relation: str, n: int, load: Fraction, alpha: Fraction, accounting: str
) -> LogPlan | None:
    """The bits of ALP of logarithms for values up to n at this price, and what they stand for."""
    given = {"epsilon": epsilon, "keys": Fraction(k), "cap": Fraction(n), "room": load, "alpha": alpha}
    charged = {"exact": "count-exact", "paper": "l1-real"}[accounting]
    said = {name: text(value) for name, value in given.items()} | {"accounting": charged, "encoding": "log"}
    bound = _bound("ALP", said, d, relation, n)
    return None if bound is None else cast(LogSketchLaw, bound.law).plan


@lru_cache(maxsize=256)
def _compact_curves(which: tuple[Fraction, int, str, int], xs: tuple[int, ...], look_ups: int) -> dict[str, Any]:
    """The errors of Compact by true value, from its own law. Values above n are cut there."""
    bound, n = _compact_of(*which), which[-1]
    assert bound is not None
    error = bound.error

    def size(value: ErrorValue | None, x: int) -> float:
        assert value is not None
        return float(value.value) + max(0, x - n)

    kept = [(x, min(x, n)) for x in xs]
    return _curves(
        ("exact", [size(error.expected(count), x) for x, count in kept]),
        ("exact", [size(error.one_bin(PSI, count=count), x) for x, count in kept]),
        ("bound", [size(error.one_bin(PSI / look_ups, count=count), x) for x, count in kept]),
    )


@dataclass(frozen=True)
class _Alp:
    """ALP of so many bits, one count being worth `bits` of them."""

    m: int
    bits: Fraction
    flips: Flips

    @classmethod
    def of(cls, cap: int, bits: Fraction, flips: Flips) -> _Alp:
        return cls(max(1, math.ceil(cap * bits)), bits, flips)

    @property
    def exact(self) -> bool:
        return self.m <= FEW

    @property
    def read(self) -> str:
        return f"{self.m:,} bit{'s' if self.m > 1 else ''}"

    @property
    def how(self) -> str:
        return "exact" if self.exact else "simulated"

    @cached_property
    def laws(self) -> Laws:
        return laws_of_few(self.m, self.flips) if self.exact else simulated_laws(self.m, self.flips)

    def errors(self, value: int) -> Sizes:
        return errors(self.laws, value, float(self.bits))

    def off(self, sizes: Sequence[Sizes], weights: Sequence[float]) -> float:
        """The error of a simulated mean: 1.96 standard errors, at worst over the values."""
        if self.exact:
            return 0.0
        spreads = [
            weight * math.sqrt(max(0.0, float(size.values**2 @ size.chances) - size.mean**2))
            for size, weight in zip(sizes, weights, strict=True)
        ]
        return float(1.96 * max(spreads) / math.sqrt(RUNS))

    def bound(self, value: int, beta: float) -> float:
        """Lemma 4.15, and no estimate leaves 0 to m bits: exceeded with chance at most beta."""
        reach, last = (1 + quantile_bound(self.flips, Fraction(beta))) / float(self.bits), float(self.m / self.bits)
        return min(max(value, last - value), reach + max(0.0, value - last))


def _curves(
    mean: tuple[str, Sequence[float]], one: tuple[str, Numbers], many: tuple[str, Numbers], off: float = 0.0
) -> dict[str, Any]:
    """The error by true value: on average, 95 times in 100, and of all look-ups; and how each is known."""
    named = {"mean": mean, "one": one, "all": many}
    return {
        "errors": {
            name: {"how": how, "values": None if values is None else [_told(value) for value in values]}
            for name, (how, values) in named.items()
        },
        "off": _told(off),
    }


def _entry(bits: int) -> str:
    return f"1 entry, {bits} bits"


def _told(value: float) -> float:
    """A number for a picture, in four digits."""
    return float(f"{value:.4g}")


def _power(number: Fraction | int) -> str:
    """2³² for a large power of two, 10⁶ for one of ten, else the number."""
    value = int(number)
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    if value >= 2**20 and value & (value - 1) == 0:
        return f"2{str(value.bit_length() - 1).translate(raised)}"
    zeros = len(str(value)) - 1
    return f"10{str(zeros).translate(raised)}" if zeros > 4 and value == 10**zeros else f"{value:,}"


def _tiny(number: Fraction) -> str:
    zeros = len(str(number.denominator)) - 1
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return f"10⁻{str(zeros).translate(raised)}" if number == Fraction(1, 10**zeros) else text(number)


def _short(number: Fraction) -> str:
    return f"{float(number):.3g}"


CHOICES: Final[dict[str, Mapping[str, object]]] = {
    "threshold": THRESHOLDS,
    "relation": RELATIONS,
    "accounting": ACCOUNTING,
}
LIMITS: Final = (
    ("epsilon", Fraction(1, 100), Fraction(20)),
    ("delta", Fraction(1, 10**15), Fraction(1, 10)),
    ("split", Fraction(1, 4), Fraction(4)),
    ("alpha", Fraction(1, 2), Fraction(10)),
    ("load", Fraction(3), Fraction(100)),
)
AXES: Final[dict[str, tuple[str, str, Sequence[Any], Callable[[Any], str]]]] = {
    "epsilon": ("Privacy loss ε", "of the whole release", EPSILONS, text),
    "d": ("Keys, d", "how many are possible; public", KEYS, _power),
    "load": ("Room per entry, s/k", "bits of a column for each non-zero", LOADS, _short),
    "alpha": ("Flip setting α", "flips have chance 1/(α+2)", ALPHAS, _short),
    "split": ("Split ε₂/ε₁", "ALP's part over the threshold's", SPLITS, text),
    "threshold": ("Threshold", "", tuple(THRESHOLDS), THRESHOLDS.__getitem__),
    "delta": ("δ", "for what needs one", DELTAS, _tiny),
    "look_ups": ("Look-ups, Q", "for error bars around all of them", LOOK_UPS, _power),
    "relation": ("Protects", "", tuple(RELATIONS), lambda name: RELATIONS[name][0]),
    "accounting": ("ALP is charged", "", tuple(ACCOUNTING), ACCOUNTING.__getitem__),
}
"""The sliders and choices: label, hint, values, and how a value is written."""


protect_module(vars())
