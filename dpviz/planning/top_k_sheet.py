"""The top-k sheet: the threshold, who is listed, what kbar buys, how long a list is and what it costs.

With public rankings (one for each limit on the bins of one unit) everything is computed from their true counts. Without
them, after a release from private data, only what holds for all counts is there: distances above the count that is
read and never shown, and prices. Source: Durfee, Rogers 2019, Algorithms 1, 4, 6 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import numpy as np

from dpviz.boundary import one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import log_up, positive, probability, rational, text, whole
from dpviz.laws.list_variants import fixed_inclusion, kbar_chances, laplace_inclusion
from dpviz.laws.race import Race, kbar_trade_off
from dpviz.mechanisms.ranked import MOST_ROWS
from dpviz.model.laws.ranking import behind
from dpviz.model.public import BADGE, PublicTop
from dpviz.noise.simulated import Noise, shares
from dpviz.planning.draws import ALPHABET
from dpviz.planning.fans import Fanned, Spot
from dpviz.planning.grid import COARSE, power_text, ticks
from dpviz.privacy.composition import compose_range_bounded
from dpviz.privacy.grid import LARGEST_EPSILON
from dpviz.privacy.loss import ApproxDP, PureDP
from dpviz.privacy.range_bounded import Accounting, total
from dpviz.privacy.threshold import fixed_total, laplace_offset
from dpviz.privacy.unit import Unit, plural

VERSION = 1
K = tuple(int(value) for value in ticks(Fraction(1), Fraction(100), COARSE) if value.denominator == 1)
KBAR = tuple(int(value) for value in ticks(Fraction(1), Fraction(5000), COARSE) if value.denominator == 1)
EPSILONS = ticks(Fraction(1, 200), Fraction(2), COARSE)
DELTAS = tuple(Fraction(1, 10**places) for places in range(12, 1, -1))
LARGEST_K, LARGEST_KBAR = 200, 10_000
"""Laws of true counts are computed up to here; what holds for all counts, up to the most rows that are read."""

SHOWN = 24
"""The most items that are drawn with their chances."""

SURE = 0.99
"""Items that are more likely to be listed are drawn only where there is room for them."""

RUNS = 1000
"""Lists that are simulated for a point."""

DRAWN, PLACES = 40, 5
"""Of the simulated lists so many are shown, each with its first places."""

OTHER, ENDED = "*", "."
"""Besides a letter of ALPHABET for each of the first ranks: one for any later item, one for an empty place."""

REMEMBERED = 2_000
"""The most curves that are kept between one sheet and the next."""

EVEN = Fraction(1, 2)
LEVELS = (Fraction(1, 20), EVEN, Fraction(19, 20))
"""How often an item at the three heights of the anatomy beats the bottom symbol."""

TENTH = Fraction(1, 10)
NO_LIMIT = "none"

METHODS: Final = {
    "gumbel": ("Gumbel noise, with ⊥", "item by item, by the exponential mechanism against ⊥ (Algorithm 1)"),
    "laplace": ("Laplace noise, with ⊥", "noise on each count and on the threshold (Algorithm 4)"),
    "fixed": (
        "fixed threshold, a set",
        "a coin toss for each item above the count at rank k + 1, without order (Algorithm 8)",
    ),
    "full": (
        "all items known, no ⊥",
        "item by item, by the exponential mechanism over a public list of all items (Corollary 4.1)",
    ),
}
"""The ways to make a list: label, and what is done."""

ACCOUNTED: Final[dict[Accounting, str]] = {
    "safe": "safe, default",
    "paper": "paper, unproved",
    "zcdp": "zCDP",
}


@dataclass(frozen=True)
class Released:
    """A list that was released, as a page may see it."""

    title: str
    items: tuple[str, ...]
    values: tuple[int, ...] | None
    ended: bool
    k: int
    epsilon: Fraction
    delta: Fraction
    guarantee: str
    teaching: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "items": list(self.items),
            "values": None if self.values is None else [str(value) for value in self.values],
            "ended": self.ended,
            "k": str(self.k),
            "paid": {"epsilon": text(self.epsilon), "delta": text(self.delta)},
            "guarantee": self.guarantee,
            "teaching": None if self.teaching is None else str(self.teaching),
        }


@dataclass(frozen=True)
class TopKSheet(Fanned):
    """A list of the top k at one point, with a fan for each slider.

    tables       public rankings by the limit on the bins of one unit (None: no limit); empty after a private release
    unit         who is protected; its max_bins gives way to that of the point
    epsilon      of one answer, under add-or-remove
    delta        of one question, for the bottom symbol
    delta_prime  what composition adds; with 0 the steps add up
    method       one of METHODS: how the list of "Who gets on the list" is made
    """

    tables: Mapping[int | None, PublicTop]
    unit: Unit
    k: int = 10
    kbar: int = 50
    epsilon: Fraction = Fraction(1, 20)
    delta: Fraction = Fraction(1, 10**8)
    max_bins: int | None = 5
    method: str = "gumbel"
    delta_prime: Fraction = Fraction(5, 10**7)
    column: str = "item"
    released: Released | None = None
    also: tuple[int, ...] = ()
    """Values of kbar at which curves are computed besides the usual ones: those of the sheet that a fan belongs to."""
    known: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False, compare=False)
    """Curves that were computed before, for this sheet and those moved from it."""

    def __post_init__(self) -> None:
        k = whole(self.k, "k", most=self.most[0])
        kbar = whole(self.kbar, "kbar", most=self.most[1])
        epsilon = positive(self.epsilon, "epsilon")
        if kbar < k:
            raise ParameterError.of(kbar, f"kbar must be at least k = {k}", f"give kbar={k} or more")
        if epsilon > LARGEST_EPSILON:
            raise ParameterError.of(
                text(epsilon),
                f"the epsilon of one answer must be at most {LARGEST_EPSILON:,}",
                "take a smaller epsilon",
            )
        if self.max_bins not in self.limits:
            listed = ", ".join(limit_text(limit) for limit in self.limits)
            raise ParameterError.of(
                limit_text(self.max_bins), f"max_bins must be one of {listed}", "choose one of these"
            )
        one_word(self.method, "method", METHODS)
        said = {
            "k": k,
            "kbar": kbar,
            "epsilon": epsilon,
            "delta": probability(self.delta, "delta", zero=False),
            "delta_prime": probability(self.delta_prime, "delta_prime"),
        }
        for name, value in said.items():
            object.__setattr__(self, name, value)

    @property
    def limits(self) -> list[int | None]:
        """The limits on the bins of one unit that can be looked at, None (no limit) last."""
        limits = list(self.tables) or [self.unit.max_bins]
        return sorted(limits, key=lambda limit: (limit is None, limit or 0))

    @property
    def most(self) -> tuple[int, int]:
        """The largest k and kbar that can be looked at."""
        return (LARGEST_K, LARGEST_KBAR) if self.tables else (MOST_ROWS, MOST_ROWS)

    @property
    def axes(self) -> list[str]:
        return ["k", "kbar", "epsilon", "delta", "max_bins", *(["method"] if self.tables else [])]

    def moved(self, place: Mapping[str, str]) -> TopKSheet:
        """The sheet through the point that a page names. A kbar below k is moved to k."""
        if set(place) != set(self.axes):
            raise ParameterError.of(
                ", ".join(sorted(place)) or "nothing",
                f"a place has {', '.join(self.axes)}",
                "give each of them, and nothing else",
            )
        k = whole(place["k"], "k", most=self.most[0])
        return replace(
            self,
            also=(),
            k=k,
            kbar=max(k, whole(place["kbar"], "kbar", most=self.most[1])),
            epsilon=rational(place["epsilon"], "epsilon"),
            delta=rational(place["delta"], "delta"),
            max_bins=None if place["max_bins"] == NO_LIMIT else whole(place["max_bins"], "max_bins"),
            method=place.get("method", self.method),
        )

    # ------------------------------------------------------------ what the page gets

    def head(self) -> dict[str, Any]:
        noun, items = self.unit.noun, plural(self.column)
        words = {
            "k": ("Ask for k", "items at most, in order"),
            "kbar": ("Rows read, k̄", "and one more, for ⊥"),
            "epsilon": ("ε per answer", "" if self._swapped == 1 else "a replacement pays twice"),
            "delta": ("δ per question", ""),
            "max_bins": (f"{items.capitalize()} per {noun}", self._limits_hint),
            "method": ("How the list is made", ""),
        }
        return {
            "version": VERSION,
            "subject": {
                "item": self.column,
                "items": items,
                "noun": noun,
                "nouns": self.unit.nouns,
                "sentence": self._sentence,
                "protects": f"For {self.unit.sentence}",
                "delta_prime": text(self.delta_prime),
            },
            "badge": next(iter(self.tables.values())).badge if self.tables else "",
            "runs": str(RUNS),
            "kbar": [str(kbar) for kbar in self.kbars],
            "tables": {
                limit_text(limit): {"labels": list(table.labels), "counts": [str(count) for count in table.counts]}
                for limit, table in self.tables.items()
            },
            "released": None if self.released is None else self.released.to_json(),
            "axes": [
                {"name": name, "label": words[name][0], "hint": words[name][1], "grid": grid, "values": values}
                for name, (grid, values) in self._grids().items()
            ],
        }

    def here(self) -> Spot:
        return Spot((*self._at.values(), *self.kbars), self.point)

    def fans(self) -> dict[str, list[Spot]]:
        """Points whose curves have this sheet's values of kbar."""
        grids, kbars = self._grids(), tuple(self.kbars)
        return {
            name: [
                Spot((*{**self._at, name: value}.values(), *kbars), partial(self._point_beside, name, value))
                for value in grid
            ]
            for name, (grid, _values) in grids.items()
        }

    def _point_beside(self, axis: str, value: str) -> dict[str, Any]:
        return self._beside(axis, value).point()

    def _beside(self, axis: str, value: str) -> TopKSheet:
        """The sheet through a point of a fan, with this sheet's values of kbar."""
        return replace(self.moved({**self._at, axis: value}), also=tuple(self.kbars))

    def point(self) -> dict[str, Any]:
        """Everything at one place. Heights and prices are texts, rounded up; chances are floats, for the picture."""
        low, middle, high = (self._above(level) for level in LEVELS)
        per_bin = self.unit.max_per_bin
        return {
            "at": self._at,
            "above": text(middle),
            "low": text(low),
            "high": text(high),
            "gap": f"{self._gap} + {'' if per_bin == 1 else f'{per_bin} '}ln({self._m(self.kbar)}/δ)/ε",
            "alpha": str(behind(self.k, self.kbar, self._rate, LEVELS[0])),
            "prices": [
                {"name": name, "label": label, **_price(self._total(name))} for name, label in ACCOUNTED.items()
            ],
            "method": {"name": self.method, "about": METHODS[self.method][1], **self._method_price()},
            "distance": [
                {"name": self._limit_words(limit), "above": [text(self._distance(kbar, limit)) for kbar in self.kbars]}
                for limit in self._compared
            ],
            "open": self._open() if self.tables else None,
        }

    @property
    def _at(self) -> dict[str, str]:
        at = {
            "k": str(self.k),
            "kbar": str(self.kbar),
            "epsilon": text(self.epsilon),
            "delta": text(self.delta),
            "max_bins": limit_text(self.max_bins),
        }
        return {**at, "method": self.method} if self.tables else at

    def _grids(self) -> dict[str, tuple[list[str], list[str]]]:
        """Per slider: the texts a point is named by, and what they say."""
        ks = [str(k) for k in sorted({*K, self.k})]
        kbars = [str(kbar) for kbar in self.kbars if kbar >= self.k]
        epsilons = [text(value) for value in sorted({*EPSILONS, self.epsilon})]
        deltas = sorted({*DELTAS, self.delta})
        limits = [limit_text(limit) for limit in self.limits]
        grids = {
            "k": (ks, ks),
            "kbar": (kbars, kbars),
            "epsilon": (epsilons, epsilons),
            "delta": ([text(value) for value in deltas], [power_text(value) for value in deltas]),
            "max_bins": (limits, ["no limit" if limit == NO_LIMIT else limit for limit in limits]),
        }
        if self.tables:
            grids["method"] = (list(METHODS), [label for label, _about in METHODS.values()])
        return grids

    @property
    def _sentence(self) -> str:
        return (
            f"Which {plural(self.column)} have the most {self.unit.nouns}? One {self.unit.noun} changes every count by "
            f"at most {self.unit.max_per_bin}. To be listed, an item must beat the bottom symbol ⊥ (“no more”); once ⊥ "
            "is drawn, the list ends."
        )

    @property
    def _limits_hint(self) -> str:
        if not self.tables:
            return "fixed by the session"
        if len({table.counts for table in self.tables.values()}) == 1:
            return "the counts are the same for each"
        return "a fixed rule says which are kept"

    def _limit_words(self, limit: int | None) -> str:
        return "no limit" if limit is None else f"at most {limit}"

    # ------------------------------------------------------------ what holds for all counts

    @property
    def _swapped(self) -> int:
        return 2 if self.unit.relation == "replace-one" else 1

    @property
    def _gap(self) -> int:
        """The sensitivity of one count to one unit."""
        return self._swapped * self.unit.max_per_bin

    @property
    def _rate(self) -> Fraction:
        return self.epsilon / self.unit.max_per_bin

    def _m(self, kbar: int, limit: int | str | None = "own") -> int:
        touched = self.max_bins if isinstance(limit, str) else limit
        return kbar if touched is None else min(self._swapped * touched, kbar)

    def _above(self, level: Fraction) -> Fraction:
        """Find how far above the next count an item beats the bottom symbol with this chance, rounded up to a tenth."""
        return self._height(self._m(self.kbar), level)

    def _distance(self, kbar: int, limit: int | None) -> Fraction:
        return self._height(self._m(kbar, limit), EVEN)

    def _height(self, m: int, level: Fraction) -> Fraction:
        return height(m / self.delta * level / (1 - level), self._gap, self._rate)

    def _total(self, accounting: Accounting) -> ApproxDP:
        return total(self.epsilon, self.delta, self.k, 1, self.delta_prime, accounting, relation_factor=self._swapped)

    def _method_price(self) -> dict[str, Any]:
        """The price of the list of the chosen method, or why it is not there."""
        refused = self._refused
        if refused:
            return {"price": None, "refused": refused}
        price: ApproxDP | PureDP
        if self.method == "gumbel":
            price = self._total("safe")
        elif self.method == "laplace":
            assert self.max_bins is not None
            price = ApproxDP(self.max_bins * self.epsilon, self.delta)
        elif self.method == "fixed":
            price = fixed_total(self.epsilon, self.delta, self.k, self.delta_prime)
        else:
            price = compose_range_bounded({self._swapped * self.epsilon: self.k}, self.delta_prime)
        return {"price": _price(price), "refused": ""}

    @property
    def _refused(self) -> str:
        if self.method in ("laplace", "fixed") and self._swapped == 2:
            return "it is proved for adding or removing a unit, and would pay for two under replacement"
        if self.method == "laplace" and (self.max_bins is None or self.max_bins > self.kbar):
            return f"it needs a unit to touch no more bins than k̄ = {self.kbar}"
        if self.method == "fixed" and self.delta >= EVEN:
            return "it needs a δ below 1/2"
        if self.method == "fixed" and self.k * self.delta + self.delta_prime >= 1:
            return f"it pays δ for each item, and that of {self.k} items reaches 1"
        if self.tables and self.method == "laplace" and self._laplace is None:
            return "its exact law takes too long for so many counts; choose a smaller k or a larger ε"
        return ""

    # ------------------------------------------------------------ what public counts add

    @property
    def _compared(self) -> list[int | None]:
        """The limits whose curves stand side by side: the one of the point, and none."""
        return [self.max_bins] if self.max_bins is None or None not in self.limits else [self.max_bins, None]

    @cached_property
    def kbars(self) -> list[int]:
        """The values of kbar: up to where all items of a public ranking are read, and the point's own."""
        items = max((len(table.counts) for table in self.tables.values()), default=KBAR[-1])
        last = next((kbar for kbar in KBAR if kbar >= max(100, 1.2 * items)), KBAR[-1])
        return sorted({*(kbar for kbar in KBAR if kbar <= last), self.k, self.kbar, *K, *self.also})

    def _counts(self, limit: int | None) -> tuple[int, ...]:
        return self.tables[limit].counts

    def _next(self, kbar: int, limit: int | None) -> int:
        counts = self._counts(limit)
        return counts[kbar] if kbar < len(counts) else 0

    def _open(self) -> dict[str, Any]:
        counts = np.array(self._counts(self.max_bins), dtype=np.int64)
        next_count = self._next(self.kbar, self.max_bins)
        race = Race(counts[: self.kbar], float(self._rate), self.k, next_count + float(self._above(EVEN)))
        lengths = race.lengths()
        trade = [self._curve(limit) for limit in self._compared]
        own = trade[0]["threshold"][self._first :]
        chance, simulated, draws = self._listed(race, len(counts))
        first = _undecided(chance)
        return {
            "next": str(next_count),
            "first": str(first),
            "chance": [_told(value) for value in chance[first : first + SHOWN]],
            "simulated": [round(float(value), 4) for value in simulated[first : first + SHOWN]],
            "draws": draws,
            "lengths": [_told(value) for value in lengths],
            "items": _rounded(float(lengths @ np.arange(self.k + 1))),
            "charge": _rounded(float(lengths @ np.minimum(np.arange(self.k + 1) + 1, self.k))),
            "trade": trade,
            "pick": self._pick(),
            "least": str(self.kbars[self._first + min(range(len(own)), key=lambda i: Fraction(own[i]))]),
        }

    @property
    def _first(self) -> int:
        """Where kbar reaches k."""
        return self.kbars.index(self.k)

    def _curve(self, limit: int | None) -> dict[str, Any]:
        key = ("curve", limit, self.k, self.epsilon, self.delta, tuple(self.kbars))
        if key not in self.known:
            if len(self.known) >= REMEMBERED:
                self.known.clear()
            first, kbars = self._first, self.kbars
            heights = [self._next(kbar, limit) + self._distance(kbar, limit) for kbar in kbars]
            bottoms = [float(value) for value in heights[first:]]
            counts = np.array(self._counts(limit), dtype=np.int64)
            items, _ = kbar_trade_off(counts, float(self._rate), self.k, bottoms, kbars[first:])
            self.known[key] = {
                "name": self._limit_words(limit),
                "threshold": [text(value) for value in heights],
                "items": ["0"] * first + [_rounded(float(value)) for value in items],
            }
        found: dict[str, Any] = self.known[key]
        return found

    def _pick(self) -> dict[str, str] | None:
        """Where a private choice of kbar falls 90 times in 100, out of all rows of the ranking."""
        offered = range(self.k, max(self.k, len(self._counts(self.max_bins))) + 1)
        chances = kbar_chances(
            [self._next(kbar, self.max_bins) for kbar in offered],
            [self._m(kbar) for kbar in offered],
            float(self._rate),
        )
        reached = np.cumsum(chances)
        low, middle, high = (int(offered[int(np.searchsorted(reached, level))]) for level in (0.05, 0.5, 0.95))
        return {"low": str(low), "middle": str(middle), "high": str(high)}

    @cached_property
    def _laplace(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """The chances of the list by Laplace noise; equal noisy counts are ordered by label."""
        assert self.max_bins is not None
        table = self.tables[self.max_bins]
        labels = np.argsort(np.argsort(np.array(table.labels[: self.kbar])))
        return laplace_inclusion(
            table.counts[: self.kbar], labels.tolist(), float(self._rate), self.k, self._laplace_threshold
        )

    @property
    def _laplace_threshold(self) -> int:
        assert self.max_bins is not None
        offset = laplace_offset(self.max_bins, self.epsilon, self.delta, per_bin=self.unit.max_per_bin)
        return self._next(self.kbar, self.max_bins) + self._gap + offset

    def _listed(self, race: Race, items: int) -> tuple[Any, Any, str]:
        """The chances of all items to be listed by the method, calculated and simulated, and the first simulated lists
        as `first_places` writes them; a set has none, for it has no order."""
        rate, noise = float(self._rate), noise_of_pictures()
        if self._refused:
            return np.zeros(items), np.zeros(items), ""
        if self.method == "fixed":
            next_count = self._next(self.k, self.max_bins)
            exact = fixed_inclusion(
                self._counts(self.max_bins)[: self.k], next_count, rate, float(self.delta), self.unit.max_per_bin
            )
            tossed = np.exp(-noise.exponential(len(exact))[0])
            return _padded(exact, items), _padded((tossed < exact[:, None]).mean(axis=1), items), ""
        if self.method == "laplace":
            assert self._laplace is not None
            drawn = race.counts[:, None] + noise.laplace(race.size + 1, rate)[1:]
            bottom = self._laplace_threshold + noise.laplace(1, rate)[0]
            places = first_places(drawn, self.k, bottom, self.tables[self.max_bins].labels)
            return _padded(self._laplace, items), _padded(shares(drawn, self.k, bottom), items), places
        counts = race.counts
        if self.method == "full":
            counts = np.array(self._counts(self.max_bins), dtype=np.int64)
            race = Race(counts, rate, self.k, None)
        gumbel = noise.gumbel(len(counts) + 1)
        bottom = None if race.bottom is None else rate * race.bottom + gumbel[0]
        scores = rate * counts[:, None] + gumbel[1:]
        places = first_places(scores, self.k, bottom, self.tables[self.max_bins].labels)
        return _padded(race.inclusion(), items), _padded(shares(scores, self.k, bottom), items), places


@lru_cache(maxsize=1)
def noise_of_pictures() -> Noise:
    """The noise of every simulated list."""
    return Noise(RUNS)


def first_places(scores: Any, k: int, bottom: Any, labels: Sequence[str]) -> str:
    """The first places of the first simulated lists, a letter each, list after list: the rank of the item by its true
    count. Equal scores are ordered by label.

    >>> first_places(np.array([[3.0, 1.0, 0.0], [2.0, 5.0, 0.0]]), 2, np.array([1.5, 0.5, 0.5]), ["a", "b"])
    '0110..'
    """
    by_label = np.argsort(np.argsort(np.array(labels[: len(scores)])))
    places = min(k, PLACES, len(scores))
    written = []
    for run in range(min(DRAWN, scores.shape[1])):
        order = np.lexsort((by_label, -scores[:, run]))[:places].tolist()
        least = -np.inf if bottom is None else bottom[run]
        for item in order:
            letter = ALPHABET[item] if item < len(ALPHABET) else OTHER
            written.append(letter if scores[item, run] > least else ENDED)
    return "".join(written)


@lru_cache(maxsize=20_000)
def height(odds: Fraction, gap: int, rate: Fraction) -> Fraction:
    """gap + ln(odds) / rate, rounded up to a tenth."""
    return gap + log_up(odds, rate * TENTH) / rate


def limit_text(limit: int | None) -> str:
    return NO_LIMIT if limit is None else str(limit)


def _price(price: ApproxDP | PureDP) -> dict[str, str]:
    return {"epsilon": text(price.epsilon), "delta": text(price.delta)}


def _padded(values: Any, items: int) -> Any:
    """The values of the first items, and 0 for those that cannot be listed."""
    return np.append(values, np.zeros(items - len(values)))


def _undecided(chance: Any) -> int:
    """Where to begin, so that the items which may or may not be listed are among those shown: a few before them."""
    sure = int(np.argmax(chance < SURE)) if (chance < SURE).any() else len(chance)
    return max(0, min(sure - SHOWN // 4, len(chance) - SHOWN))


def _told(chance: float) -> float:
    return float(f"{min(1.0, max(0.0, float(chance))):.4g}")


def _rounded(value: float) -> str:
    return text(Fraction(round(100 * value), 100))


# ---------------------------------------------------------------- made-up data

FAMILIES: Final = ("flat", "power", "step")
MADE_UP = 1000
LIMITS: Final[tuple[int | None, ...]] = (1, 2, 5, 10, 20, None)


def made_up(family: str) -> PublicTop:
    """A thousand made-up counts: all the same, falling as rank ** -1.1, or twelve large ones and a low rest."""
    one_word(family, "a made-up family", FAMILIES, f'write "{FAMILIES[0]}"')
    ranks = range(1, MADE_UP + 1)
    counts = {
        "flat": (300,) * MADE_UP,
        "power": tuple(max(1, round(10_000 * rank**-1.1)) for rank in ranks),
        "step": tuple(900 - 10 * rank if rank <= 12 else max(1, 240 - rank // 5) for rank in ranks),
    }[family]
    return PublicTop(
        tuple(f"item {rank}" for rank in ranks), counts, "item", "users", BADGE.replace("public", "made-up")
    )


protect_module(vars())
