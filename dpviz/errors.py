"""One family of errors. Each names the value, the rule and the next step, and carries no data.

A message is built from public things only (parameters, schema, declared sizes), so it may be shown, logged and
kept. The parts are attributes, so that a widget can lay them out without parsing a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from dpviz.kinds import PATHS, is_ours, name_of
from dpviz.traces import Rendered


class DpvizError(Rendered, Exception):
    """The base of every refusal: plain texts that carry no data. Nothing was changed.

    Parameters
    ----------
    message : str
        The whole sentence.
    value : str
        The value that was refused, shortened.
    rule : str
        The rule that it breaks.
    next_step : str
        A way on.

    Raises
    ------
    TypeError
        If a part is given that errors do not have.
    """

    def __init__(self, message: str, *, value: str = "", rule: str = "", next_step: str = "") -> None:
        super().__init__(printable(message))
        self.value = value
        self.rule = rule
        self.next_step = next_step

    @classmethod
    def of(cls, value: object, rule: str, next_step: str) -> DpvizError:
        """Make the usual sentence: `rule, got value; next_step`.

        Parameters
        ----------
        value : object
            The value that is refused; shown shortened.
        rule : str
            The rule that it breaks.
        next_step : str
            A way on.

        Returns
        -------
        DpvizError
            The error, to be raised.

        Raises
        ------
        TypeError
            If a part is missing.
        """
        shown = short(value)
        message = f"{rule}, got {shown}; {next_step}"
        return cls(message, value=shown, rule=rule, next_step=next_step)


class ParameterError(DpvizError, ValueError):
    """A public parameter is outside its range."""


class UnknownArgument(ParameterError, TypeError):
    """A call was given an argument that it does not take, or not one that it needs."""


class MissingName(DpvizError, AttributeError):
    """Something was asked for a name that it does not have."""


class ExactnessError(ParameterError):
    """A number could not be read exactly."""


class DomainError(ParameterError):
    """A declared domain is empty, reversed, overlapping, or taken from the data."""


class NoSuchBin(DomainError, IndexError):
    """A bin is named by a place that its domain does not have."""


class UnitError(ParameterError):
    """A privacy unit is incomplete, or two units cannot be combined."""


class SchemaError(ParameterError):
    """A column that the question needs is missing or is declared with another type."""


class ConversionError(UnitError):
    """A price cannot be converted between neighbouring relations."""


class BudgetExceeded(DpvizError):
    """The price does not fit into what is left. Nothing was charged.

    `part` is the part that does not fit ("epsilon" or "delta"; under the zCDP filter "rho", "delta" or "shift"; of a
    sub-session "symbols" or "questions"), `left` what is left of it, as exact text.
    """

    part: str = ""
    left: str = ""


class ReleaseCancelled(DpvizError):
    """A release was cancelled after its charge: the charge stays, no answer was shown."""


class ReleaseLost(DpvizError):
    """The draw for this key was charged and then lost; draw again only with `retry=True`, paid."""


class ReleaseFailed(DpvizError):
    """The engine failed after the charge. The charge stays; the cause is withheld, for it may hold data."""


class EngineGone(DpvizError):
    """The engine that holds the data does not answer, or its file is not the one that was opened.

    A probe of the engine reads no row, so this says nothing of the data. Raised before a charge, nothing was charged.
    """


class SessionBusy(DpvizError):
    """Another release of this session is running."""


class LedgerError(DpvizError):
    """The ledger cannot be used as it is."""


class LedgerAway(LedgerError):
    """The ledger's server does not answer. `starting` where it is there and not ready yet."""

    starting: bool = False


class LedgerCorrupt(LedgerError):
    """The ledger's hash chain, or the file itself, is broken."""


class LedgerReadOnly(LedgerError):
    """The ledger cannot be written."""


class LedgerFull(LedgerError):
    """There is no room to write the charge."""


class LedgerFormat(LedgerError):
    """The ledger was written by a newer dpviz, or is no ledger."""


class CharterMismatch(LedgerError):
    """The ledger belongs to another dataset, schema, unit or budget.

    `theirs` and `yours` are the two charters, part by part, as public texts.
    """

    theirs: Mapping[str, str] = MappingProxyType({})
    yours: Mapping[str, str] = MappingProxyType({})


class ReleaseFormat(DpvizError):
    """A saved release is truncated, altered or of a newer format."""

    @classmethod
    def damaged(cls, rule: str, value: object = "something else") -> ReleaseFormat:
        """Make the error for stored bytes that dpviz does not write.

        Parameters
        ----------
        rule : str
            The rule that the bytes break.
        value : object, default "something else"
            The value found there, if it may be shown.

        Returns
        -------
        ReleaseFormat
            The error, which says where to find the bytes whole.

        Raises
        ------
        TypeError
            If the rule is missing.
        """
        damaged = cls.of(value, rule, "copy the file again, or read the release from the session that made it")
        assert isinstance(damaged, ReleaseFormat)
        return damaged


class Forbidden(DpvizError):
    """A message from the page, an input to a chart, or an act of a caller, is not one of the few that are allowed."""

    @classmethod
    def sent(cls, rule: str, value: object) -> Forbidden:
        """Make the error for a message that no page of ours sends.

        Parameters
        ----------
        rule : str
            The rule that the message breaks.
        value : object
            The value found there, if it may be shown.

        Returns
        -------
        Forbidden
            The error: a program of another version sent the message, or somebody else did.

        Raises
        ------
        TypeError
            If the rule is missing.
        """
        forbidden = cls.of(value, rule, "reload the page, and run the cell that shows this again")
        assert isinstance(forbidden, Forbidden)
        return forbidden


class ReleaseInterrupted(Rendered, KeyboardInterrupt):
    """Ctrl-C during something that is paid for. It is no `Exception`, so it stops a loop.

    Parameters
    ----------
    message : str
        The whole sentence; it says what stays charged.
    value : str
        The work that was interrupted.
    rule : str
        The rule that holds for charges.
    next_step : str
        A way on.
    number : int, optional
        The ledger entry that was charged, as far as it is known.
    use : int, optional
        The use of that entry, where the entry is a sub-session.
    """

    def __init__(
        self,
        message: str,
        *,
        value: str = "",
        rule: str = "",
        next_step: str = "",
        number: int | None = None,
        use: int | None = None,
    ) -> None:
        super().__init__(message)
        self.value = value
        self.rule = rule
        self.next_step = next_step
        self.number = number
        self.use = use


TYPED: Final = (str, int, bool, float, complex, range, type, type(None), Decimal, Fraction, *PATHS)
"""The types that a person types. Of anything else, a subclass of these too, a message names the type only: it may be
data."""


def short(value: object, limit: int = 80) -> str:
    """`value` as one short line. For public values only; of a column or a list that came by mistake, its type."""
    kind = type(value)
    public = any(kind is known for known in TYPED) or is_ours(kind) or name_of(kind) in ("mpz", "mpq")
    try:
        text = value if type(value) is str else repr(value) if public else name_of(kind)
    except ValueError:  # an integer with more digits than Python writes
        text = "a number that is too long to show"
    text = printable(" ".join(text.split()))
    if not text:
        return "an empty text"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def printable(text: str) -> str:
    """A text with each half of a surrogate pair as it is typed: no stream takes it otherwise."""
    return text.encode("utf-8", "backslashreplace").decode()


def unwritable(text: str) -> bool:
    """Whether a text cannot be written to a file: it holds half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
