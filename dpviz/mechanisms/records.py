"""The refusals of samplers of records, from public things alone: the number of records that a price rests on."""

from __future__ import annotations

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.model.laws.records import public_records
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit


def number_of_records(who: str, question: Question, unit: Unit) -> int:
    """The public number of records, for a price that rests on it. Raises ParameterError where it is private."""
    found = public_records(question, unit)
    if found is None:
        step = "leave the filter out, and name the row as the unit" if question.where else "name the row as the unit"
        raise ParameterError.of(
            question.where_text or unit.text,
            f"{who} rests on the number of records, which is public for all rows of the table alone, and where a row "
            "is replaced",
            step,
        )
    return found


def check_rows(who: str, unit: Unit) -> None:
    """Refuse, for a sampler that takes each row for one record, a unit that may have several."""
    if not unit.is_row:
        raise ParameterError.of(
            unit.text,
            f"{who} takes each row for one record, and a user may have several",
            "name the row as the unit, or use SampleCategory or RandomisedRecord, which count users with one record",
        )


protect_module(vars())
