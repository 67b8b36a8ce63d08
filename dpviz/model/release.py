"""A release: what was paid for, and everything public that is needed to read it rightly."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpviz import files
from dpviz.errors import DomainError, ReleaseFormat
from dpviz.exact import Number, probability, text
from dpviz.hidden import guard, kind_of, publicly, singly
from dpviz.model.answer import Answer, Chosen, Ranked, SparseTable, Table
from dpviz.model.domain import category_text, one_of
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.mechanism import Bound, Mode, places, title
from dpviz.model.question import Question, canonical
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "dpviz.release"
VERSION = 1
NOTHING = "No item stood out enough"
SESSION, TEACHING, UNCHECKED = "session", "teaching", "unchecked"
"""Where a release may come from, besides a ledger that is named."""


@dataclass(frozen=True, eq=False)
class Release:
    """A public answer with its question, guarantee and error. Holds no private value.

    number      the ledger entry that paid for it; None in teaching
    use         which use of that entry it is, where the entry is a sub-session, whose guarantee this then shows
    teaching    the seed of a teaching draw, which is not private and must not be called a release
    randomness  the kind of random bits ("operating system")
    origin      how it is known that its ledger made it: "session", where it came from the session's own ledger;
                "ledger visits.ledger", where `dv.load(..., ledger=...)` found it there; "teaching"; else "unchecked"
    """

    bound: Bound
    answer: Answer
    mode: Mode
    randomness: str
    dataset: str = ""
    number: int | None = None
    use: int | None = None
    key: str = ""
    teaching: int | None = None
    extra: dict[str, Any] = field(default_factory=dict, repr=False)
    origin: str = UNCHECKED

    @property
    def question(self) -> Question:
        return self.bound.question

    @property
    def unit(self) -> Unit:
        return self.bound.unit

    @property
    def guarantee(self) -> Guarantee:
        return self.bound.price

    @property
    def error(self) -> ErrorModel:
        return self.bound.error

    # ------------------------------------------------------------ reading

    @property
    def title(self) -> str:
        """`Visits, person-years in each bin, released with ε = 0.1`."""
        verb = "drawn with" if self.teaching is not None else "released for" if self.used else "released with"
        return f"{self.plain_title}, {verb} {self.price_text}"

    @property
    def plain_title(self) -> str:
        """What the answer is about, without its price."""
        return title(self.bound)

    @property
    def places(self) -> int | None:
        """How many items could come, for a list or a set; None for an answer with values per bin."""
        return places(self.bound) if isinstance(self.answer, Ranked | Chosen) else None

    @property
    def sentence(self) -> str:
        """What a list or a set says as a whole, with what "no more" means; nothing for other answers."""
        answer, most = self.answer, self.places or 0
        if isinstance(answer, Chosen):
            came = len(answer.items)
            return f"{_items(came)} stood out enough; their order says nothing." if came else f"{NOTHING}."
        if not isinstance(answer, Ranked):
            return ""
        came = len(answer.items)
        if not answer.ended:
            said = f"All {came:,} came." if came == most else f"{_items(came)} came."
        elif not came:
            said = f"Only ⊥ (no more): {NOTHING[:1].lower()}{NOTHING[1:]}."
        else:
            said = f"No more: ⊥. The list ended after {came:,} of {most:,}, because no further item stood out enough."
        chosen = "" if answer.kbar is None else f" Out of the {answer.kbar:,} largest: so many were chosen privately."
        return said + chosen

    @property
    def used(self) -> str:
        """`9 of 50 symbols and 1 of 20 questions of entry 3`: what an answer of a sub-session used; else nothing."""
        paid: Callable[[Answer, int | None], str] | None = getattr(self.bound, "paid", None)
        return "" if paid is None else paid(self.answer, self.number)

    @property
    def promise(self) -> str:
        """What the release protects, in words; an answer of a sub-session is protected with all its others."""
        together = f", for all answers of entry {self.number} together" if self.used else ""
        return f"{self.guarantee.sentence}{together}"

    @property
    def price_text(self) -> str:
        """`ε = 0.1`, as paid; of a sub-session's answer, the part of what was paid when that was opened."""
        if self.used:
            return self.used
        return ", ".join(part.replace(" ", " = ", 1) for part in self.guarantee.loss.short.split(", "))

    @property
    def shown(self) -> NDArray[np.int64]:
        """The released values as an array: of every bin, or of the bins that are shown."""
        answer = self.answer
        if isinstance(answer, Ranked) and answer.values is not None:
            return np.array(answer.values, dtype=np.int64)
        if isinstance(answer, Ranked | Chosen):
            raise ReleaseFormat.of(answer.kind, "this answer names items and has no values", "read release.items")
        if not isinstance(answer, Table | SparseTable):
            raise ReleaseFormat.of(answer.kind, "this answer has no row per bin", "ask for single bins: release[label]")
        return answer.values

    @property
    def values(self) -> list[int]:
        """The released values, in the order of `labels`."""
        values: list[int] = self.shown.tolist()
        return values

    @property
    def labels(self) -> list[str]:
        """The labels of the rows: of every bin, of the bins that are shown, or of the items in the order they came."""
        domain = self.question.domain
        if isinstance(self.answer, SparseTable | Ranked | Chosen):
            named = self.answer.labels if isinstance(self.answer, SparseTable) else self.answer.items
            return [label if isinstance(label, str) else domain.label(label) for label in named]
        self.shown  # noqa: B018 - an answer without rows is refused before its labels are listed
        return domain.labels

    @property
    def valued(self) -> bool:
        """Whether the answer has released values, one for each label."""
        return isinstance(self.answer, Table | SparseTable) or getattr(self.answer, "values", None) is not None

    @property
    def items(self) -> list[str]:
        """The labels that came: in the order they were drawn, or ascending where the answer is a set."""
        if not isinstance(self.answer, Ranked | Chosen):
            raise ReleaseFormat.of(self.answer.kind, "this answer is no list of items", "read release.labels")
        return self.labels

    @property
    def ended(self) -> bool:
        """Whether ⊥ came: no further item stood out enough, and the list ended there."""
        if not isinstance(self.answer, Ranked):
            raise ReleaseFormat.of(self.answer.kind, "only a ranked answer can end early", "read release.labels")
        return self.answer.ended

    @publicly
    def __getitem__(self, label: object) -> int:
        """The released value of one bin, free. What is not shown reads 0."""
        return int(self._values([label])[0])

    @publicly
    def many(self, labels: Sequence[object]) -> NDArray[np.int64]:
        """The released values of many bins at once, free."""
        if not isinstance(labels, list | tuple | range):
            raise DomainError.of(kind_of(labels), "labels are given in a list", "write release.many([1, 2])")
        for place, label in enumerate(labels, 1):
            one_of(label, self._looked_up, f"label {place}")
        return self._values(labels)

    def _looked_up(self, label: object, name: str) -> object:
        domain = self.question.domain
        return domain.index(label) if domain.declared else category_text(label, name)

    def _values(self, labels: Sequence[object]) -> NDArray[np.int64]:
        domain, answer = self.question.domain, self.answer
        if isinstance(answer, Ranked | Chosen):
            told = "read release.items" if getattr(answer, "values", None) is None else "read release.to_frame()"
            raise ReleaseFormat.of(answer.kind, "an item that is not listed has no value, so none is looked up", told)
        if isinstance(answer, SparseTable):
            known = dict(zip(answer.labels, answer.values.tolist(), strict=True))
            wanted = [domain.index(label) if domain.declared else category_text(label) for label in labels]
            return np.array([known.get(label, 0) for label in wanted], dtype=np.int64)
        indices = [domain.index(label) for label in labels]
        if isinstance(answer, Table):
            return answer.values[indices]
        look_up: Callable[[Sequence[int]], NDArray[np.int64]] | None = getattr(answer, "many", None)
        if look_up is None:
            raise ReleaseFormat.of(answer.kind, "this answer does not answer single bins")
        return look_up(indices)

    @singly
    def bars(self, beta: Number = "0.05") -> tuple[ErrorValue, ErrorValue | None]:
        """Half-widths that fail at most `beta` of the time: of one bin, and of all bins at once.

        The second is None where nothing public bounds how many bins are occupied.
        """
        level = probability(beta, "beta", zero=False)
        one, every = self.error.shown(level) or self.error.one_bin(level), self.error.all_bins(level)
        if one is None or (self.places is not None and not self.valued):
            raise ReleaseFormat.of(self.answer.kind, "this answer has no error bar per bin")
        return one, every

    def intervals(self, bar: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lows and highs of value ± bar as whole counts, cut at the public limits that the truth respects as well."""
        reach = int(bar // 1)
        least, most = self.bound.clamp
        low, high = self.shown - reach, self.shown + reach
        return (low if least is None else np.maximum(low, least)), (high if most is None else np.minimum(high, most))

    def interval(self, value: int, bar: Fraction) -> tuple[int, int]:
        """The same for one value."""
        reach = int(bar // 1)
        least, most = self.bound.clamp
        low, high = value - reach, value + reach
        return (low if least is None else max(low, least)), (high if most is None else min(high, most))

    @singly
    def to_frame(self, beta: Number = "0.05") -> pd.DataFrame:
        """One row per bin, per bin that is shown, or per item that came.

        Columns: bin, value, low and high (this bin alone), low_all and high_all (all bins at once; left out where no
        bar holds for all of them). A list has rank and item instead of bin, a set item alone; both have a value and
        its intervals only where the mechanism releases them.

        Each interval contains the true count with probability at least 1 - beta: `low..high` for one bin picked
        before looking, `low_all..high_all` for all bins together.
        """
        import pandas as pd

        columns: dict[str, Any] = {"item" if self.places is not None else "bin": self.labels}
        if isinstance(self.answer, Ranked):
            columns = {"rank": range(1, len(self.labels) + 1), **columns}
        if self.places is not None and not self.valued:
            return pd.DataFrame(columns)
        columns["value"] = self.shown
        for bar, ending in zip(self.bars(beta), ("", "_all"), strict=True):
            if bar is None:
                continue
            columns[f"low{ending}"], columns[f"high{ending}"] = self.intervals(bar.value)
        return pd.DataFrame(columns)

    @singly
    def to_csv(self, path: str | Path | None = None, beta: Number = "0.05") -> str | None:
        """The frame of `to_frame` as CSV, preceded by comment lines that state the guarantee."""
        note = "not a release: seeded teaching draw" if self.teaching is not None else self.promise
        content = f"# {note}\n"
        if self.places is not None:
            content += f"# {self.sentence}\n"
        if self.valued:
            content += f"# intervals fail at most {text(probability(beta, 'beta', zero=False))} of the time\n"
        content += self.to_frame(beta).to_csv(index=False)
        if path is None:
            return content
        files.write(path, content.encode("utf-8", "backslashreplace"), "a CSV file", "visits.csv")
        return None

    @publicly
    def chart(self, **options: Any) -> Any:
        """An Altair chart of this release; see `dpviz.charts.histogram`. Charts lie above: found by name, on use."""
        return pkgutil.resolve_name("dpviz.charts:of_release")(self, **options)

    # ------------------------------------------------------------ storing

    def to_json(self) -> dict[str, Any]:
        mechanism = self.bound.mechanism
        return {
            "format": FORMAT,
            "version": VERSION,
            "dataset": self.dataset,
            "number": self.number,
            **({} if self.use is None else {"use": self.use}),
            "key": self.key,
            "question": self.question.to_json(),
            "unit": self.unit.to_json(),
            "mechanism": {"name": mechanism.name, "parameters": mechanism.parameters()},
            "mode": self.mode,
            "guarantee": {
                "text": self.guarantee.sentence,
                "loss": self.guarantee.loss.short,
                "rule": self.guarantee.rule,
                "exact": self.guarantee.exact,
            },
            "randomness": self.randomness,
            "teaching": self.teaching,
            "answer": self.answer.to_json(),
        }

    def to_bytes(self) -> bytes:
        """The saved form: canonical JSON and its SHA-256, so that damage is noticed (it is no signature)."""
        body = self.to_json()
        return canonical({"release": body, "sha256": sha256(canonical(body)).hexdigest()})

    @singly
    def save(self, path: str | Path) -> Path:
        """Write the release to a file that `dv.load` reads. It holds public things only."""
        return files.write(path, self.to_bytes(), "a release", "visits.json")

    def _repr_html_(self) -> str:
        """A short table for a notebook, escaped; found by name, as for `chart`."""
        shown: str = pkgutil.resolve_name("dpviz.charts:table_of_release")(self)
        return shown

    def __repr__(self) -> str:
        head = f"Draw (not private · teaching, seed {self.teaching})" if self.teaching is not None else "Release"
        paid = "" if self.number is None else f", number {self.number}"
        paid += "" if self.use is None else f", question {self.use}"
        paid += {SESSION: "", TEACHING: "", UNCHECKED: ", origin unchecked"}.get(self.origin, f", {self.origin}")
        return f"<{head}{paid}: {self.question.text}; {self.promise}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())


def _items(number: int) -> str:
    return f"{number:,} item" if number == 1 else f"{number:,} items"


def checked(content: bytes) -> dict[str, Any]:
    """The JSON of a saved release, or ReleaseFormat where it is truncated, altered or of a newer format."""
    try:
        outer = json.loads(content)
        body = outer["release"]
        digest = outer["sha256"]
        version = body["version"]
        known = body["format"] == FORMAT and isinstance(version, int)
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise ReleaseFormat("a saved release must be a dpviz.release file; this one is truncated or something else")
    if version > VERSION:
        raise ReleaseFormat.of(version, f"this dpviz reads release format {VERSION}", "update dpviz")
    if sha256(canonical(body)).hexdigest() != digest:
        raise ReleaseFormat("a saved release must match its checksum; this one was altered or damaged")
    assert isinstance(body, dict)
    return body


guard(vars())
