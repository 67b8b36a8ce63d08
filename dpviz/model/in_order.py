"""A question to the order of paid bins, before it is answered: of which answers it can be asked, and at which level."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from dpviz.boundary import as_given, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Number, probability
from dpviz.model.asking import Subject, among_of
from dpviz.model.between import between
from dpviz.model.linear import Query


class InOrder:
    """One way of asking: at a level, among so many, by a reader. Refused where bins have no order, where their values
    are no counts, and where a limit may leave rows out.

    noun  what is asked for, with its article
    """

    noun: ClassVar[str]

    def __init__(self, subject: Subject, beta: Number, among: Any, reader: Any) -> None:
        self.subject, self.beta = subject, probability(beta, "beta", zero=False)
        self.among = among_of(among)
        if not isinstance(reader, str):
            rule = "reader must be the name of an estimator"
            raise ParameterError.of(as_given(reader), rule, "leave reader out for the first one")
        self.reader = reader
        if self.among == "all":
            rule = f"nobody counts all questions such as {self.noun} that could be asked"
            raise ParameterError.of('"all"', rule, "give among= the number of questions")
        reading = subject.reading
        self.bins = subject.answer.ordered_bins(reading)
        if not reading.question.aggregate.counts:
            rule = f"{self.noun} is one of counts, and this answer has {reading.question.aggregate.noun}"
            raise ParameterError.of(reading.question.aggregate.noun, rule, "ask a question that counts")
        self.check_limits()

    def check_limits(self) -> None:
        """Refuse an answer of which limits may leave rows out."""
        limited = self.subject.reading.limited
        if limited.cuts:
            rule = f"nothing bounds {self.noun} where limits may leave rows out: {limited.limit}"
            step = 'declare a fact that holds, as in dv.Unit("user", max_bins=2, most_bins=2), or raise the limits'
            raise ParameterError.of("an answer that limits cut", rule, step)

    @property
    def level(self) -> Fraction:
        """How often one statement may fail."""
        return self.beta / (self.among if isinstance(self.among, int) else 1)

    def up_to(self, place: int) -> Query:
        """The count of the bins up to this place."""
        return Query.of((self.bins[: place + 1], 1))

    def beyond(self, place: int) -> Query:
        """The count of the bins after this place."""
        return Query.of((self.bins[place + 1 :], 1))

    @property
    def every(self) -> Query:
        """The count of all bins."""
        return Query.of((self.bins, 1))

    @property
    def may_be_empty(self) -> bool:
        """Whether the count of all may be 0."""
        below = self.subject.error(self.every, self.reader).ends(self.level)[0]
        return below is None or between(self.subject.value(self.every, self.reader)).low - below.value <= 0

    @property
    def declared(self) -> tuple[str, ...]:
        """The facts that it rests on that nothing is left out, and the remarks of what is asked."""
        declared = self.subject.reading.limited.declared
        return (*([declared] if declared else []), *self.subject.remarks)


protect_module(vars())
