"""What an engine must count, row by row and in plain Python: slow, and written from the rules alone.

A number is the decimal it prints as. Bins of numbers are found by comparing fractions, categories by comparing texts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from hashlib import md5
from typing import Any

import numpy as np
import pandas as pd

from dpviz.model.domain import CategoryDomain, Domain, IntegerDomain, KeyDomain, ProductDomain, TimeDomain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Column
from dpviz.privacy.unit import Unit

Row = dict[str, Any]
MISSING, ODD = "missing", "odd"


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """The rows with the values that the columns hold, each in its own type."""
    columns = [list(frame[name].array) for name in frame.columns]
    return [dict(zip(frame.columns, values, strict=True)) for values in zip(*columns, strict=True)]


class Moment(int):
    """A date or a time without a zone, in microseconds since 1970 began."""


def months(moment: int) -> int:
    """Whole months since the year 0 began, by the civil calendar."""
    day = moment // (86_400 * 10**6) + 719_468
    era, of_era = divmod(day, 146_097)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    march = (5 * of_year + 2) // 153
    return (year + 400 * era) * 12 + march + 2


def stretch(domain: TimeDomain, value: Moment) -> int:
    """The bin of a time that lies between the ends of the domain, from 0."""
    if domain.by in ("month", "quarter", "year"):
        return (months(value) - months(domain.start)) // {"month": 1, "quarter": 3, "year": 12}[domain.by]
    return (value - domain.start) // ({"hour": 1, "day": 24, "week": 168}[domain.by] * 3_600 * 10**6)


def is_missing(value: Any) -> bool:
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, float | np.floating | Decimal) and value != value


class Large(Fraction):
    """A number from 2^53 on that is written with a point or an exponent: nobody says that it is whole."""


def in_text(value: str) -> Fraction | float | str:
    """The number in a text: all digits of a plain whole number, else the decimal that its float prints as."""
    plain = value.strip(" \t").lower()
    if len(value) > 100 or "_" in plain or not plain.isascii() or plain != "".join(plain.split()):
        return ODD
    bare = plain[1:] if plain[:1] in "+-" else plain
    if bare.isdigit() and len(bare) <= 38:
        return Fraction(int(plain))
    if bare in ("inf", "infinity"):
        return float(plain)
    if not bare[:1].isdigit() and bare[:1] != ".":
        return ODD
    try:
        near = float(plain)
    except ValueError:
        return ODD
    if abs(near) == math.inf:
        return near
    return Large(repr(near)) if abs(near) >= 2**53 else Fraction(repr(near))


def number(value: Any) -> Fraction | float | str:
    """A value of a number column."""
    if is_missing(value):
        return MISSING
    if isinstance(value, float | np.floating | Decimal) and abs(value) == math.inf:
        return float(value)
    if isinstance(value, str):
        return in_text(value)
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating | Decimal):
        return Fraction(Decimal(str(value)))
    return ODD


def written(value: Any, kind: str) -> str | None:
    """The text that a value is matched by as a category; None where it has none. Missing is for the caller."""
    if kind == "text":
        if isinstance(value, str):
            return value
        if isinstance(value, bool | np.bool_):
            return str(value)
    exact = number(value)
    if not isinstance(exact, Fraction) or isinstance(exact, Large):
        return None
    if exact.denominator == 1:
        return str(int(exact))
    places = next((places for places in range(1, 31) if (exact * 10**places).denominator == 1), None)
    if places is None:
        return f"{exact.numerator}/{exact.denominator}"
    digits = str(abs(int(exact * 10**places))).rjust(places + 1, "0")
    return f"{'-' * (exact < 0)}{digits[:-places]}.{digits[-places:]}"


def one_bin(domain: Domain, value: Any, kind: str) -> str | int | None:
    """A bin by its label, `other` and the like included; None where the value has no bin."""
    if is_missing(value):
        return MISSING
    if isinstance(domain, CategoryDomain):
        name = written(value, kind)
        return f"={name}" if name in domain.values else "other"
    if isinstance(domain, TimeDomain):
        assert isinstance(value, Moment)
        return "under" if value < domain.start else "over" if value >= domain.end else stretch(domain, value)
    exact = number(value)
    if exact == ODD:
        return ODD
    whole = isinstance(domain, IntegerDomain)
    if whole and isinstance(exact, Fraction) and exact.denominator != 1:
        return None
    ends = (domain.low, domain.high) if whole else (domain.edges[0], domain.edges[-1])
    if exact < ends[0]:
        return "under"
    if exact > ends[1]:
        return "over"
    if whole:
        return None if isinstance(exact, Large) else int(exact) - domain.low
    return max(place for place, edge in enumerate(domain.edges[:-1]) if edge <= exact)


def position(domain: Domain, found: str | int | None) -> int | None:
    """The position in a one-column domain of a bin that is named as `one_bin` names them, or None."""
    if isinstance(domain, CategoryDomain):
        bins = [*(f"={name}" for name in domain.values), *["other"] * domain.other, *[MISSING] * domain.missing]
        return bins.index(found) if found in bins else None
    if isinstance(domain, TimeDomain):
        inner = stretch(domain, Moment(domain.end - 1)) + 1
    else:
        inner = domain.high - domain.low + 1 if isinstance(domain, IntegerDomain) else len(domain.edges) - 1
    after = domain.underflow + inner
    beside = {
        "under": 0 if domain.underflow else None,
        "over": after if domain.overflow else None,
        MISSING: after + domain.overflow if domain.missing else None,
        ODD: after + domain.overflow + domain.missing if domain.malformed else None,
    }
    return found + domain.underflow if isinstance(found, int) else beside.get(found)


def place(domain: Domain, row: Row, kinds: dict[str, str]) -> int | str | None:
    """The position of a row's bin, or the key itself where no bins are declared; None where it has none."""
    if isinstance(domain, ProductDomain):
        bin, bins, keys = 0, 1, []
        for factor in domain.factors:
            digit = place(factor, row, kinds)
            if digit is None:
                return None
            if isinstance(digit, str):
                keys.append(digit)
            else:
                bin, bins = bin * factor.size + digit, bins * factor.size
        if not keys:
            return bin
        if len(keys) > 1:
            keys = [re.sub("[~|]", lambda sign: {"~": "~0", "|": "~1"}[sign[0]], key) for key in keys]
        declared = len(keys) < len(domain.factors)
        return (str(bin).rjust(len(str(bins - 1)), "0") if declared else "") + "|".join(keys)
    column = domain.columns[0]
    value, kind = row[column], kinds[column]
    if isinstance(domain, KeyDomain):
        key = None if is_missing(value) else written(value, kind)
        return None if key is None or re.search("[\ud800-\udfff]", key) else key
    return position(domain, one_bin(domain, value, kind))


def passes(question: Question, row: Row, kinds: dict[str, str]) -> bool:
    for column, condition in question.where.items():
        value = row[column]
        if is_missing(value):
            return False
        if isinstance(condition, Between):
            exact = Fraction(value) if condition.times else number(value)
            if exact == ODD or (condition.low is not None and exact < condition.low):
                return False
            if condition.high is not None and exact > condition.high:
                return False
        elif written(value, kinds[column]) not in condition:
            return False
    return True


def user_of(row: Row, column: str, kinds: dict[str, str]) -> str | None:
    """The text that tells users apart, or None where a row belongs to nobody: no file holds half a surrogate pair."""
    user = None if is_missing(row[column]) else written(row[column], kinds[column])
    return None if user is None or re.search("[\ud800-\udfff]", user) else user


def counted(rows: list[Row], question: Question, unit: Unit, kinds: dict[str, str]) -> Iterator[tuple[str, int | str]]:
    """Each row that counts: its user (empty for a row unit) and its bin."""
    kept = parts_kept(rows, question, unit, kinds)
    for row in rows:
        where = place(question.domain, row, kinds) if passes(question, row, kinds) else None
        user = "" if unit.is_row else user_of(row, unit.of, kinds)
        if where is None or user is None:
            continue
        if question.part is None or (place(question.by.domain, row, kinds) == question.part and kept(user)):
            yield user, where


def parts_kept(rows: list[Row], question: Question, unit: Unit, kinds: dict[str, str]) -> Callable[[str], bool]:
    """Whether a user counts in the part that is asked: of all parts that any of its rows is in, filtered out or not,
    this is among the first `max_parts` by the MD5 of the partition, the MD5 of the user, and the part."""
    if question.by is None or question.by.max_parts is None or unit.is_row:
        return lambda user: True
    touched: dict[str, set[int]] = {}
    for row in rows:
        user, part = user_of(row, unit.of, kinds), place(question.by.domain, row, kinds)
        if user is not None and isinstance(part, int):
            touched.setdefault(user, set()).add(part)
    first = {
        user: sorted(parts, key=lambda part: (hexed(f"{question.parts_salt}{hexed(user)}{part}"), part))
        for user, parts in touched.items()
    }
    return lambda user: question.part in first.get(user, [])[: question.by.max_parts]


def rank(question: Question, user: str, place: int | str) -> tuple[str, int | str]:
    """Smaller is kept first: the MD5 of the question, the MD5 of the user, and the bin; then the bin."""
    return hexed(f"{question.id}{hexed(user)}{place}"), place


def hexed(text: str) -> str:
    return md5(text.encode("utf-8", "surrogatepass")).hexdigest()


def sparse(rows: list[Row], columns: tuple[Column, ...], question: Question, unit: Unit) -> list[tuple[int | str, int]]:
    """The bins that are not empty, ascending, each with its count."""
    kinds = {column.name: column.kind for column in columns}
    pairs = Counter(counted(rows, question, unit, kinds))
    counts: Counter[int | str] = Counter()
    for user in {user for user, _ in pairs}:
        touched = sorted((bin for name, bin in pairs if name == user), key=lambda bin: rank(question, user, bin))
        rows = [bin for bin in touched for _ in range(pairs[user, bin])]
        if not unit.is_row:
            rows = [bin for bin in touched[: unit.max_bins] for _ in range(min(pairs[user, bin], unit.max_per_bin))]
        for bin in rows if unit.max_records is None else rows[: unit.max_records]:
            counts[bin] += 1
    return sorted(counts.items())


def count(rows: list[Row], columns: tuple[Column, ...], question: Question, unit: Unit) -> list[int]:
    """The counts of all bins."""
    found = dict(sparse(rows, columns, question, unit))
    return [found.get(bin, 0) for bin in range(question.bins)]


def top(
    rows: list[Row], columns: tuple[Column, ...], question: Question, unit: Unit, most: int
) -> tuple[list[int | str], list[int], int]:
    """The labels and counts of the `most` largest counts, and the count after them or 0."""
    found = sorted(sparse(rows, columns, question, unit), key=lambda pair: (-pair[1], pair[0]))
    kept, after = found[:most], found[most:]
    return [label for label, _ in kept], [count for _, count in kept], after[0][1] if after else 0
