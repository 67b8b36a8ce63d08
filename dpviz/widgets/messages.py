"""The few things a page may say, checked before anything is done about them. See widgets/PROTOCOL.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from dpviz.errors import BudgetExceeded, DomainError, DpvizError, Forbidden, ParameterError, short
from dpviz.kinds import name_of
from dpviz.model.domain import Domain
from dpviz.model.question import Question

VERSION = 1
LONGEST = 4_000
MOST_ITEMS = 20_000
MOST_POINTS = 50
"""How many points of an answer a page reads at a time."""
MOST_COLUMNS = 50
MOST_TEXT = 1_000_000
"""How many characters the labels or edges of one declaration have together, at most."""

T = TypeVar("T")

Asks: TypeAlias = dict[str, dict[str, type | tuple[type, ...]]]
"""The asks, and the arguments of each with their types."""

_PLAN: dict[str, type | tuple[type, ...]] = {"question": dict, "mechanism": str, "parameters": dict}
ASKS: Asks = {
    "plan": _PLAN,
    "after": _PLAN,
    "limit": _PLAN,
    "advice": {**_PLAN, "goal": str, "rows": bool},
    "release": {**_PLAN, "price": dict, "key": (str, type(None))},
    "cancel": {"token": str},
    "status": {},
    "show": {"number": str},
    "read": {"number": str, "points": list, "beta": str, "reader": str},
    "table": {"number": str, "start": str},
    "quantiles": {"number": str, "beta": str},
    "draw": {"number": str, "count": str},
    "ask": {
        "number": str,
        "beside": str,
        "what": str,
        "by": str,
        "first": list,
        "second": list,
        "picked": str,
        "beta": str,
    },
}
LESSONS: Asks = {
    "lesson": {**_PLAN, "times": str, "beta": str},
    "misses": {"beta": str},
    "forget": {},
}
"""The further asks of the page of a teaching session: draws with their true counts, which are public."""
_WAY: dict[str, type | tuple[type, ...]] = {"way": str}
_LIMIT: dict[str, type | tuple[type, ...]] = {"max_bins": str}
MAY: Asks = {
    "plan": {"among": str, **_WAY, **_LIMIT},
    "after": {**_WAY, **_LIMIT},
    "limit": _LIMIT,
    "advice": {**_WAY, **_LIMIT},
    "release": {**_WAY, **_LIMIT},
    "lesson": {**_WAY, **_LIMIT},
}
"""The optional parts of an ask: of how many look-ups a plan tells the error; of a question that is asked by parts in
which way its price is shared out; and in how many bins one unit counts, where that is not the unit's limit."""

CHOICES: dict[str, tuple[str, ...]] = {
    "what": ("stretch", "pair"),
    "by": ("rows", "labels"),
    "picked": ("before", "after"),
}
"""The allowed words where an argument is one of a few."""
EXPLORERS: Asks = {"status": {}, "move": {"place": dict}}
"""The asks of the page of an explorer: an explorer has no session."""
RANGES: Asks = {**EXPLORERS, "read": {"points": list}}
"""The further asks of the page of a range explorer: ranges, of which reading is free."""
_SUB_SESSION: dict[str, type | tuple[type, ...]] = {"question": str, "k": str, "kbar": str}
SUB_SESSIONS: Asks = {
    "plan": _SUB_SESSION,
    "release": {**_SUB_SESSION, "most": str, "left": str, "key": (str, type(None))},
    "cancel": {"token": str},
    "status": {},
    "show": {"number": str},
}
"""The asks of the page of a sub-session's view: its questions are named, never declared."""

DECLARATIONS: dict[str, dict[str, type]] = {
    "integers": {"low": str, "high": str, "underflow": bool, "overflow": bool, "missing": bool},
    "intervals": {"edges": list, "underflow": bool, "overflow": bool, "missing": bool},
    "times": {"start": str, "end": str, "by": str, "underflow": bool, "overflow": bool, "missing": bool},
    "categories": {"labels": list, "other": bool, "missing": bool},
    "keys": {},
}
RECORDS: dict[str, type] = {"columns": list, "otherwise": dict}
"""A declaration of records: one of each column, and what stands for cells outside their bins."""
PRODUCT: dict[str, type | tuple[type, ...]] = {"kind": str, "of": dict, "factors": list}
"""A question in the bins of several columns: which question it is otherwise, and the bins of each column."""
EACH: dict[str, type | tuple[type, ...]] = {"kind": str, "of": dict, "by": dict, "most": str}
"""A question that is asked by parts: which question, the bins that are the parts, and in how many of them one unit
counts at most, empty for all."""
MOST_FACTORS = 5
"""The most columns that a page asks by together."""


@dataclass(frozen=True, slots=True)
class Message:
    """One ask that passed every check of form."""

    id: str
    ask: str
    args: dict[str, Any]


def parse(content: object, asks: Asks = ASKS) -> Message:
    """The message, or Forbidden. Only plain texts, booleans, lists of texts and flat mappings get through."""
    if not isinstance(content, dict) or content.get("v") != VERSION or id_of(content) is None:
        raise Forbidden.sent(f"a message must be of version {VERSION} and carry an id", "another message")
    if set(content) - {"v", "id", "ask", "args"}:
        raise Forbidden.sent("a message has v, id, ask and args, and nothing else", "other parts")
    ask, args = content.get("ask"), content.get("args", {})
    if not isinstance(ask, str) or ask not in asks:
        raise Forbidden.sent(f"the page may ask for {', '.join(asks)}", ask)
    _shape(ask, args, {**asks[ask], **_said_besides(ask, args)})
    if "place" in args:
        _texts("place", args["place"])
    if "parameters" in args:
        _texts("parameters", args["parameters"])
        if "epsilon" not in args["parameters"]:
            raise Forbidden.sent("parameters must name epsilon", "others alone")
    if isinstance(args.get("question"), dict):
        _question(args["question"])
    if "price" in args:
        _texts("price", args["price"])
        _shape("price", args["price"], {"epsilon": str, "delta": str})
    if "points" in args:
        _points(args["points"])
    if ask == "ask":
        _choices(args)
        for part in ("first", "second"):
            _point(args[part])
    return Message(str(content["id"]), ask, args)


def _said_besides(ask: str, args: object) -> dict[str, type | tuple[type, ...]]:
    return {name: kind for name, kind in MAY.get(ask, {}).items() if isinstance(args, dict) and name in args}


def id_of(content: object) -> str | None:
    """The id of a message, where it has a usable one."""
    name = content.get("id") if isinstance(content, dict) else None
    return name if isinstance(name, str) and 0 < len(name) <= 64 else None


def _shape(name: str, args: object, wanted: dict[str, type | tuple[type, ...]]) -> None:
    if not isinstance(args, dict) or set(args) != set(wanted):
        raise Forbidden.sent(f"{name} takes exactly {', '.join(wanted) or 'nothing'}", "other parts")
    for part, kind in wanted.items():
        if not isinstance(args[part], kind):
            raise Forbidden.sent(f"{name}: {part} has the wrong type", name_of(type(args[part])))
        _short_enough(part, args[part])


def _short_enough(name: str, value: object) -> None:
    if isinstance(value, str) and len(value) > LONGEST:
        raise Forbidden.sent(f"{name} is longer than {LONGEST:,} characters", f"{len(value):,}")


def _texts(name: str, values: dict[Any, Any]) -> None:
    if len(values) > 50:
        raise Forbidden.sent(f"{name} has too many parts", f"{len(values):,}")
    for part, value in values.items():
        if not isinstance(part, str) or not isinstance(value, str):
            raise Forbidden.sent(f"{name} must be texts", "something else")
        _short_enough(short(part), value)


def _points(points: list[Any]) -> None:
    """A few points, each of one text for each column."""
    if not 1 <= len(points) <= MOST_POINTS:
        raise Forbidden.sent(f"a page reads from 1 to {MOST_POINTS:,} points at a time", f"{len(points):,}")
    for point in points:
        _point(point)


def _point(point: object) -> None:
    if not isinstance(point, list) or not 1 <= len(point) <= MOST_COLUMNS:
        raise Forbidden.sent(f"a point is a list of 1 to {MOST_COLUMNS} texts", name_of(type(point)))
    for value in point:
        if not isinstance(value, str):
            raise Forbidden.sent("a point is made of texts", name_of(type(value)))
        _short_enough("a point", value)


def _choices(args: dict[str, Any]) -> None:
    for name, words in CHOICES.items():
        if args[name] not in words:
            raise Forbidden.sent(f"{name} is one of {', '.join(words)}", args[name])


def _question(said: dict[Any, Any]) -> None:
    if set(said) == {"id"}:
        _shape("question", said, {"id": str})
        return
    if said.get("kind") == "each":
        _each(said)
    elif said.get("kind") == "product":
        _product(said)
    elif said.get("kind") == "records":
        _records(said)
    else:
        _declared(said)


def _each(said: dict[Any, Any]) -> None:
    """A question by parts, which are bins that are named or declared."""
    _shape("question", said, EACH)
    if said["of"].get("kind") in ("each", "records"):
        raise Forbidden.sent("parts are asked for counts or sums", said["of"]["kind"])
    _question(said["of"])
    _bins(said["by"])


def _product(said: dict[Any, Any]) -> None:
    """A question in the bins of a few columns, each of them named or declared."""
    _shape("question", said, PRODUCT)
    _shape("of", said["of"], {"id": str})
    factors = said["factors"]
    if not 1 <= len(factors) <= MOST_FACTORS:
        raise Forbidden.sent(f"a page asks by 1 to {MOST_FACTORS} columns together", f"{len(factors):,} columns")
    if (total := sum(map(_bins, factors))) > MOST_TEXT:
        raise Forbidden.sent(f"the columns of a question have more than {MOST_TEXT:,} characters in all", f"{total:,}")


def _bins(said: object) -> int:
    """The bins of one column, by their id or declared: how many characters they are declared with."""
    if not isinstance(said, dict):
        raise Forbidden.sent("the bins of a column are an id, or a declaration", name_of(type(said)))
    if set(said) == {"id"}:
        _shape("bins", said, {"id": str})
        return 0
    return _declared(said)


def _records(said: dict[Any, Any]) -> None:
    """Records of a few columns, each with bins that are declared."""
    _shape("question", said, {"kind": str, **RECORDS})
    columns = said["columns"]
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise Forbidden.sent(f"a record has from 1 to {MOST_COLUMNS} columns", f"{len(columns):,} columns")
    for column in columns:
        if not isinstance(column, dict) or column.get("kind") == "keys":
            raise Forbidden.sent("each column of a record is a declaration of its bins", "something else")
    _texts("otherwise", said["otherwise"])
    if (total := sum(map(_declared, columns))) > MOST_TEXT:
        raise Forbidden.sent(f"the columns of a record have more than {MOST_TEXT:,} characters together", f"{total:,}")


def _declared(said: dict[Any, Any]) -> int:
    """The bins of one column: how many characters they are declared with, where those are listed."""
    kind = said.get("kind")
    if not isinstance(kind, str) or kind not in DECLARATIONS:
        known = ", ".join([*DECLARATIONS, "records", "product", "each"])
        raise Forbidden.sent(f"a question is an id, or a declaration of {known}", kind)
    _shape("question", said, {"kind": str, "column": str, **DECLARATIONS[kind]})
    total = 0
    for part in ("edges", "labels"):
        values = said.get(part, [])
        if len(values) > MOST_ITEMS or not all(isinstance(value, str) for value in values):
            raise Forbidden.sent(f"{part} must be at most {MOST_ITEMS:,} texts", f"{len(values):,} parts")
        for value in values:
            _short_enough(part, value)
        total += sum(map(len, values))
        if total > MOST_TEXT:
            raise Forbidden.sent(f"{part} have more than {MOST_TEXT:,} characters together", f"{total:,}")
    return total


def count(said: str, name: str) -> int:
    """A whole number from 1 on, as a page writes it."""
    if not said.isascii() or not said.isdigit() or len(said) > 9 or said != str(int(said)) or said == "0":
        raise ParameterError.of(short(said), f"{name} must be a whole number from 1 on", "type digits alone")
    return int(said)


def declared(said: dict[str, Any]) -> Question:
    """The question of a declaration that passed `parse`. Raises DomainError for what is no bins."""
    if said["kind"] != "records":
        return Question.of(column_bins(said))
    columns = [column_bins(column) for column in said["columns"]]
    for name, domain in zip([column["column"] for column in said["columns"]], columns, strict=True):
        if name in said["otherwise"]:
            _of(f"{short(name, 40)}, any other cell", partial(domain.index, said["otherwise"][name]))
    return Question.records(columns, otherwise=said["otherwise"])


def column_bins(said: dict[str, Any]) -> Domain:
    """The bins of one column. Raises DomainError for what is no bins."""
    return _of(short(said["column"], 40), partial(Domain.from_json, said))


def _of(field: str, made: Callable[[], T]) -> T:
    """The value that is made of a field. A refusal says of which: several are on the page, and it tells each where it
    stands."""
    try:
        return made()
    except ParameterError as error:
        refused = DomainError(f"{field}: {error}", value=error.value, rule=error.rule, next_step=error.next_step)
    raise refused


def reply(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"v": VERSION, "re": name, "ok": True, "body": body}


def refusal(name: str, error: DpvizError) -> dict[str, Any]:
    return {"v": VERSION, "re": name, "ok": False, "error": error_json(error)}


def error_json(error: DpvizError) -> dict[str, Any]:
    """An error of ours for the page: its parts, and a value that would mend it where there is one."""
    fix = {error.part: error.left} if isinstance(error, BudgetExceeded) and error.left not in ("", "0") else {}
    return {
        "kind": type(error).__name__,
        "message": str(error),
        "value": error.value,
        "rule": error.rule,
        "next_step": error.next_step,
        "fix": fix,
    }
