"""Reading releases back: from a file, from the ledger."""

from __future__ import annotations

from typing import Any

from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.mechanisms import mechanism
from dpviz.mechanisms.pay_what_you_get import Asking
from dpviz.model.answer import SparseTable, Table, answer_from_json
from dpviz.model.domain import Domain
from dpviz.model.question import Question
from dpviz.model.release import SESSION, Release, checked
from dpviz.model.statistic import Kind
from dpviz.privacy.unit import Unit


def from_bytes(content: bytes) -> Release:
    """The release in these bytes, which a ledger of this session stored. Others are read by `dpviz.session.loading`."""
    body = checked(content)
    try:
        return _from_json(body)
    except ReleaseFormat:
        raise
    except (DpvizError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError):
        raise ReleaseFormat("a saved release must hold a question, unit, mechanism and answer that agree") from None


def _from_json(body: dict[str, Any]) -> Release:
    question, unit = Question.from_json(body["question"]), Unit(**body["unit"])
    name, parameters = body["mechanism"]["name"], body["mechanism"]["parameters"]
    asked = name == Asking.name  # one question of a sub-session: no mechanism that can be released by itself
    made = Asking.from_parameters(parameters) if asked else mechanism(name, parameters)
    answer = answer_from_json(body["answer"])
    bound = made.bind(question, unit)
    if isinstance(answer, Table) and (bound.needs is Kind.SPARSE or len(answer.values) != question.bins):
        raise ReleaseFormat.of(f"{len(answer.values)} values", f"this question has {question.domain.size_text}")
    if isinstance(answer, SparseTable) and (bound.needs is Kind.DENSE or not _named(answer, question.domain)):
        raise ReleaseFormat.of(f"{len(answer.labels)} labels", f"this question has {question.domain.size_text}")
    gives = getattr(bound, "gives", None)
    if gives is not None and not gives(answer):
        raise ReleaseFormat.of(answer.kind, "this mechanism, bound to this question, gives another answer")
    texts = [body[name] for name in ("randomness", "dataset", "key")]
    numbers = [body["number"], body.get("use"), body["teaching"]]
    whole = all(value is None or (isinstance(value, int) and not isinstance(value, bool)) for value in numbers)
    if (body.get("use") is not None) != asked:
        raise ReleaseFormat.of(body.get("use"), "an answer of a sub-session, and no other, says which question it was")
    if body["mode"] not in bound.modes() or not whole or not all(isinstance(said, str) for said in texts):
        raise ReleaseFormat("a saved release must say how it was drawn, in texts and whole numbers")
    return Release(
        bound=bound,
        answer=answer,
        mode=body["mode"],
        randomness=body["randomness"],
        dataset=body["dataset"],
        number=body["number"],
        use=body.get("use"),
        key=body["key"],
        teaching=body["teaching"],
        origin=SESSION,
    )


def _named(answer: SparseTable, domain: Domain) -> bool:
    """Whether the labels are what the domain has: keys where none are declared, else numbers of its bins."""
    if not domain.declared:
        return all(isinstance(label, str) for label in answer.labels)
    return all(isinstance(label, int) and 0 <= label < domain.size for label in answer.labels)
