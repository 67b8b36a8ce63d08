"""A release as a record of OpenDP's registry of deployments: known facts filled in, and a named gap for each other.

The fields follow `schemas/deployments-schema.yaml` of opendp/deployments-registry-data as of commit 057e5d81cf60, read
on 2026-11-28. A gap is a `null` with a comment that says who knows better; the registry's own schema refuses a record
that still has one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from dpviz.boundary import as_given, protect_module
from dpviz.errors import ParameterError, ReleaseFormat, unwritable
from dpviz.exact import text, up
from dpviz.model.measures import headline
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.loss import ZCDP

if TYPE_CHECKING:
    from dpviz.model.release import Release

GAPS: Final[Mapping[str, str]] = {
    "data_curators": "who publishes this, as a name and a kind: Government, Industry or Nonprofit",
    "intended_use": "what readers may use the numbers for",
    "data_product_region": "the region that the data describe, or whose law applies",
    "data_product_sector": "Technology, Healthcare, Education, Government, Energy or Finance",
    "publication_date": "the day of publication, as YYYY-MM-DD",
    "actors": "who can see the data, who sees this release, and why they are trusted or not",
    "preprocessing_and_hyperparameter_tuning": "what was done with the data before, and how bins, limits and prices "
    "were chosen; dpviz sees nothing outside its session",
    "justification": "why this unit, these parameters and this mechanism were chosen",
    "registry_authors": "who fills in this record",
}
"""The facts that a person knows, by the name of their field, and the question that the card asks for each."""

CURATORS: Final = ("Government", "Industry", "Nonprofit")
SECTORS: Final = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
BETA: Final = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Gap:
    """A fact that only a person knows: the name of its field."""

    name: str


def record(release: Release, drawn: str = "", facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the record of a release, with a `Gap` for each fact that is not known.

    Parameters
    ----------
    release : Release
        The release.
    drawn : str, optional
        The day when the answer was drawn, as YYYY-MM-DD; stands for the day of publication where that is not given.
    facts : dict, optional
        Facts that a person knows, by the names of `GAPS`.

    Returns
    -------
    dict
        Texts, numbers, lists and dicts, in the order of the schema.

    Raises
    ------
    ReleaseFormat
        If the release is a teaching draw.
    ParameterError
        If a fact has a name that is no gap, or a value that the schema does not allow.

    Examples
    --------
    >>> sorted(GAPS)[:3]
    ['actors', 'data_curators', 'data_product_region']
    """
    if release.teaching is not None:
        raise ReleaseFormat.of(
            f"a teaching draw with seed {release.teaching}",
            "the registry holds releases, and a teaching draw is not private",
            "make a release of a session, then release.registry()",
        )
    known = {"publication_date": drawn} if drawn else {}
    known |= {name: _fact(name, value) for name, value in (facts or {}).items()}

    def fact(name: str) -> Any:
        return known.get(name, Gap(name))

    terms, unit = release.terms, release.unit
    return {
        "url_slug": _slug(release),
        "deployment": {
            "basic": {
                "name": release.plain_title,
                "data_curators": fact("data_curators"),
                "description": _sentences(release.question.sentence(unit), f"{release.promise}."),
                "intended_use": fact("intended_use"),
                "data_product_type": "Summary statistics" if terms.question.aggregate.additive else "Synthetic data",
                "data_product_region": fact("data_product_region"),
                "data_product_sector": fact("data_product_sector"),
                "publication_date": fact("publication_date"),
            },
            "dp_variant": {
                "variant_name": _variant(release),
                "data_domain": _data_domain(release),
                "unprotected_quantities": _unprotected(release),
            },
            "privacy_loss": _privacy_loss(release),
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": "The person who runs the session can read the data and is trusted. Readers of the "
                "release are not trusted, whatever else they know and whatever they compute from it.",
                "actors": fact("actors"),
                "release_type": "One release",
                "release_type_details": _entry(release),
                "data_source_type": "Static",
                "data_source_type_details": "The rows were counted once, for this release. "
                "Rows that come later change nothing in it.",
                "access_type": "Interactive" if release.used else "Non-interactive",
                "access_type_details": _access(release),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": fact("preprocessing_and_hyperparameter_tuning"),
                "mechanisms": _mechanisms(release),
                "composition": _composition(release),
                "post_processing": _post_processing(release),
                "justification": fact("justification"),
                "utility": _utility(release),
            },
            "administrative": {"status": "Draft", "registry_authors": fact("registry_authors"), "tier": 3},
        },
    }


# ---------------------------------------------------------------- facts that a person gives


def _fact(name: str, value: Any) -> Any:
    if name not in GAPS:
        raise ParameterError.of(name, f"a card asks for {', '.join(GAPS)}", "give one of these by name")
    if name == "data_curators":
        return _curators(value)
    if name == "registry_authors" and isinstance(value, list | tuple) and value:
        return [_text(name, one) for one in value]
    found = _text(name, value)
    if name == "data_product_sector" and found not in SECTORS:
        raise ParameterError.of(found, f"the registry's sectors are {', '.join(SECTORS)}", "take one of them")
    if name == "publication_date" and not _is_day(found):
        raise ParameterError.of(found, "publication_date is a day as YYYY-MM-DD", "write year, month and day so")
    return [found] if name == "registry_authors" else found


def _curators(value: Any) -> list[dict[str, str]]:
    rule = f"data_curators are names with a kind each: {', '.join(CURATORS)}"
    step = 'write data_curators={"the name": "Nonprofit"}'
    if not isinstance(value, Mapping) or not value:
        raise ParameterError.of(as_given(value), rule, step)
    made = []
    for name, kind in value.items():
        if not isinstance(kind, str) or kind not in CURATORS:
            raise ParameterError.of(as_given(kind), rule, step)
        made.append({"data_curator_name": _text("data_curators", name), "data_curator_type": kind})
    return made


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or unwritable(value):
        raise ParameterError.of(as_given(value), f"{name} is text that can be written", f"leave {name} out as a gap")
    return str(value)


def _is_day(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


# ---------------------------------------------------------------- facts that a release knows


def _slug(release: Release) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", f"{release.dataset} {release.plain_title}".lower()).strip("_")
    entry = "" if release.number is None else f"_entry_{release.number}"
    return f"{words or 'release'}{entry}{'' if release.use is None else f'_{release.use}'}"


def _variant(release: Release) -> str:
    return "Approximate DP" if to_approx(release.guarantee.loss).delta else "Pure DP"


def _privacy_loss(release: Release) -> dict[str, Any]:
    unit, loss = release.unit, release.guarantee.loss
    level = f"Event-level: {unit.noun}, one row" if unit.is_row else f"User-level: {unit.noun}, the rows of one user"
    converted, noise = to_approx(loss), release.guarantee.zcdp_steps if release.guarantee.is_gaussian else None
    parameters = {"epsilon": converted.epsilon}
    if converted.delta:
        parameters["delta"] = converted.delta
    if isinstance(noise, ZCDP):
        parameters["rho"] = noise.rho
    charged = payable(converted)
    return {
        "privacy_unit": level,
        "privacy_unit_details": _sentences(
            f"Two data sets are neighbours where they differ by {unit.sentence}.",
            f"The unit is {unit.text}.",
            release.limits,
        ),
        **({} if unit.n is None else {"number_of_privacy_units": unit.n}),
        "privacy_parameters": {name: _Number(value) for name, value in parameters.items()},
        "privacy_parameters_details": _sentences(
            f"{release.promise}.",
            f"The session charged ε = {text(charged.epsilon)}, δ = {text(charged.delta)}, as exact numbers; "
            "the numbers above are rounded up.",
            f"By itself the noise is {noise.sentence}." if isinstance(noise, ZCDP) else "",
        ),
    }


def _data_domain(release: Release) -> str:
    columns = ", ".join(release.question.columns)
    return f"Tables with the columns that were asked: {columns}. The question: {release.question.text}."


def _unprotected(release: Release) -> str:
    size = "" if release.unit.n is None else f" The number of rows, {release.unit.n:,}, is declared as public."
    return (
        "No number in the release is without noise. The domain, filters, limits and price that were declared to the "
        f"session are public.{size}"
    )


def _entry(release: Release) -> str:
    if release.number is None:
        return "The release names no entry of a ledger."
    return (
        f"This is entry {release.number} of a ledger. Asked again, it gives the stored answer; other releases about "
        "the same data are other entries, whose prices add up."
    )


def _access(release: Release) -> str:
    if release.used:
        return f"An analyst asks a session of questions that was paid for as a whole; this answer used {release.used}."
    return "The answer is published as it is. Readers compute from it without another look at the data."


def _mechanisms(release: Release) -> str:
    terms = release.terms
    sampler = "exact sampling" if release.mode == "exact" else "the strict mode for a finite computer"
    return "\n".join(
        (
            f"- Mechanism: {terms.mechanism.text}, revision {terms.mechanism.revision}.",
            f"- Proof: {terms.price.rule}.",
            f"- Library: {_library()}.",
            f"- Randomness: {release.randomness}.",
            f"- Floating point: the noise comes from random bits by {sampler}, and the price is a rational number; "
            "no float stands between them.",
            "- Timing: the charge is written before any row is read. The time that the engine needs to count is not "
            "hidden.",
            "- Platform: errors and logs of dpviz carry no data; a release that fails after its charge stays charged.",
            "- Data security: dpviz keeps no row. Access to the data is that of the person who runs the session.",
        )
    )


def _library() -> str:
    try:
        return f"dpviz, which wrote this card as version {version('dpviz')}"
    except PackageNotFoundError:
        return "dpviz, from a source tree that is not installed"


def _composition(release: Release) -> str:
    return (
        f"This release: {release.guarantee.sentence}. A ledger charges each release of the same data to one budget, "
        "adds the prices up and refuses a release that the rest of the budget does not pay for."
    )


def _post_processing(release: Release) -> str:
    low, high = release.terms.clamp
    ends = {
        (True, True): "Released values are not clamped.",
        (False, True): f"Released values below {low} are raised to {low}, which biases small counts upwards.",
        (True, False): f"Released values above {high} are lowered to {high}.",
        (False, False): f"Released values are clamped to {low} to {high}.",
    }
    return f"{ends[low is None, high is None]} Charts, sums and intervals are computed from the released answer alone."


def _utility(release: Release) -> str:
    found = [(measure, measure.at(BETA)) for measure in headline(release.terms.measures)]
    said = [one.phrased(f"{one.sign}{text(value.value)}") for one, value in found if value is not None]
    stated = (
        f"Stated before the draw, each with a chance of at least {text(1 - BETA)}: {'; '.join(said)}." if said else ""
    )
    return _sentences(stated, *release.sureness(BETA)) or "No error is stated."


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


# ---------------------------------------------------------------- writing


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as the registry takes it: the least float that is not below it."""

    value: Fraction

    @property
    def text(self) -> str:
        """A text that every reader of YAML takes for a number, as `1.0e-06`."""
        shown = repr(up(self.value))
        return shown.replace("e", ".0e") if "e" in shown and "." not in shown else shown


def gaps(made: Any) -> list[str]:
    """Return the names of the gaps in a record, in its order.

    Parameters
    ----------
    made : dict
        The record.

    Returns
    -------
    list of str
        Names of `GAPS`.

    Raises
    ------
    UnknownArgument
        If the record is left out.

    Examples
    --------
    >>> gaps({"basic": {"name": "visits", "actors": Gap("actors")}})
    ['actors']
    """
    if isinstance(made, Gap):
        return [made.name]
    inner = made.values() if isinstance(made, dict) else made if isinstance(made, list) else ()
    return [name for one in inner for name in gaps(one)]


def plain(made: Any) -> Any:
    """Return a record as JSON has it: a gap is None, and numbers are floats.

    Parameters
    ----------
    made : dict
        The record.

    Returns
    -------
    dict
        The same record in plain values.

    Raises
    ------
    UnknownArgument
        If the record is left out.

    Examples
    --------
    >>> plain({"tier": 3, "actors": Gap("actors")})
    {'tier': 3, 'actors': None}
    """
    if isinstance(made, dict):
        return {name: plain(value) for name, value in made.items()}
    if isinstance(made, list):
        return [plain(value) for value in made]
    if isinstance(made, _Number):
        return float(made.text)
    return None if isinstance(made, Gap) else made


def yaml(made: Mapping[str, Any]) -> str:
    """Write a record as YAML.

    Parameters
    ----------
    made : dict
        The record.

    Returns
    -------
    str
        The text. Its first lines name the schema and the gaps.

    Raises
    ------
    UnknownArgument
        If the record is left out.

    Examples
    --------
    >>> print(yaml({"tier": 3, "basic": {"name": "visits", "actors": Gap("actors")}}), end="")
    # A record for the OpenDP deployments registry (`deployments-schema.yaml`), written by dpviz.
    # 1 gap, which a person fills in: actors
    tier: 3
    basic:
      name: "visits"
      actors: null  # who can see the data, who sees this release, and why they are trusted or not
    """
    names = gaps(dict(made))
    head = [
        "# A record for the OpenDP deployments registry (`deployments-schema.yaml`), written by dpviz.",
        f"# {len(names)} gap{'' if len(names) == 1 else 's'}, which a person fills in: {', '.join(names)}"
        if names
        else "# No gap is left.",
    ]
    return "\n".join([*head, *_lines(made, "")]) + "\n"


def _lines(made: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in made.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list):
            yield f"{indent}{name}:"
            for one in value:
                yield from _item(one, indent + "  ")
        elif isinstance(value, Gap):
            yield f"{indent}{name}: null  # {GAPS[value.name]}"
        elif isinstance(value, str) and "\n" in value and all(map(_is_plain, value.split("\n"))):
            yield f"{indent}{name}: |-"
            yield from (f"{indent}  {line}" for line in value.split("\n"))
        else:
            yield f"{indent}{name}: {_scalar(value)}"


def _item(value: Any, indent: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{indent}- {_scalar(value)}"
        return
    first, *rest = _lines(value, indent + "  ")
    yield f"{indent}- {first.removeprefix(indent + '  ')}"
    yield from rest


def _is_plain(line: str) -> bool:
    """Whether a line may stand in a block as it is."""
    return bool(line) and line.isprintable() and not line[0].isspace()


def _scalar(value: Any) -> str:
    if isinstance(value, _Number):
        return value.text
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(value: str) -> str:
    """A text in double quotes, with everything escaped that is not printable."""
    return '"' + "".join(_escaped(sign) for sign in value) + '"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    if sign.isprintable():
        return sign
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


protect_module(vars())
