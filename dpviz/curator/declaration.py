"""The declaration of a data set: one TOML file says where the data are, who is protected, and who may ask for how much.

`Declaration.read` checks every field before anything is opened. The data and the ledger are opened by `source` and
`session`; places that may hold a password are hidden, and `env:NAME` takes one from the environment.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from dpviz.boundary import Hidden, protect_module
from dpviz.curator.approvals import DecidingSession
from dpviz.curator.caps import PERIODS, Cap, Caps, Period
from dpviz.curator.fields import Fields, checked_text, read_toml
from dpviz.curator.opening import DeclaredPlace, SourceFields, opened
from dpviz.curator.tokens import digest_of
from dpviz.errors import ParameterError, SchemaError
from dpviz.exact import positive, probability, text
from dpviz.mechanisms import OPENINGS, REGISTRY
from dpviz.model.domain import WRITTEN, Domain
from dpviz.model.question import Question
from dpviz.model.source import Source
from dpviz.model.statistic import StatisticKind
from dpviz.names import as_name, meant
from dpviz.privacy.unit import Unit
from dpviz.session.accountant import Budget
from dpviz.session.callers import SCOPES, Caller, Scope
from dpviz.session.session import Session

NO_LIMIT: Final = "no limit"
"""The word for a limit of None, which TOML cannot write."""

FIELDS: Final = (
    "dataset", "source", "ledger", "unit", "budget", "columns", "caps", "analysts", "listen", "approval", "tick",
    "queue",
)  # fmt: skip
UNIT: Final = (
    "of", "relation", "noun", "max_bins", "max_per_bin", "n", "max_records", "most_bins", "most_per_bin",
    "most_records",
)  # fmt: skip
BUDGET: Final = ("epsilon", "delta", "filter", "conversion", "reserve")
COLUMN: Final = ("kind", "format", "bins")
KINDS: Final = ("number", "text", "date", "clock")
CAP: Final = ("epsilon", "delta", "per")
ANALYST: Final = ("name", "login", "hub", "tokens", "project", "scopes")
LISTEN: Final = ("socket", "group", "mode", "host", "port", "certificate", "key", "hub")
RULE: Final = ("above_epsilon", "above_delta", "mechanisms", "columns")
QUEUE: Final = ("waiting", "each")

HASH: Final = re.compile(r"[0-9a-f]{64}\Z")
"""A SHA-256 digest, in small letters."""
MODE: Final = re.compile(r"0?[0-7]{3}\Z")
LONGEST_SOCKET: Final = 107
"""The most bytes of a socket's path on Linux; a few less elsewhere, where the system says so."""
LONGEST_TICK: Final = 3600
"""Of a tick, in seconds."""


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """One column as the owner declares it.

    kind    how its values are read; empty where the stored type says so
    format  the format of dates in texts
    bins    public bins that analysts may start from; None where none are declared
    """

    name: str
    kind: str = ""
    format: str = ""
    bins: Domain | None = None

    @property
    def schema(self) -> str | tuple[str, str]:
        """The kind as a source takes it."""
        return ("date", self.format) if self.format else self.kind


@dataclass(frozen=True, slots=True)
class Analyst:
    """A person who may ask.

    login    the name of a user of this machine, or a user number; None for nobody
    hub      the name of a user of JupyterHub; empty for nobody
    tokens   SHA-256 digests of tokens, never tokens
    project  whose cap the charges count against as well; empty for none
    """

    name: str
    login: str | int | None = None
    hub: str = ""
    tokens: tuple[str, ...] = field(default=(), repr=False)
    project: str = ""
    scopes: frozenset[Scope] = frozenset({"plan", "release"})

    @property
    def uid(self) -> int | None:
        """The user number on this machine; None where there is no such user."""
        if not isinstance(self.login, str):
            return self.login
        try:
            import pwd

            return pwd.getpwnam(self.login).pw_uid
        except (ImportError, KeyError):
            return None

    def caller(self, proof: str) -> Caller:
        """The authenticated sender that this person is."""
        return Caller(self.name, self.project, self.scopes, proof)


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Releases that wait for a decision: those that meet every condition that is given here.

    above_epsilon, above_delta  for a price above this one
    mechanisms                  for one of these mechanisms
    columns                     for a question that names one of these columns, in its bins, its filter or its sum
    """

    above_epsilon: Fraction | None = None
    above_delta: Fraction | None = None
    mechanisms: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()

    def covers(self, epsilon: Fraction, delta: Fraction, mechanism: str, columns: Collection[str]) -> bool:
        """Whether a release waits: its price, its mechanism by name, and the columns that its question names."""
        return (
            (self.above_epsilon is None or epsilon > self.above_epsilon)
            and (self.above_delta is None or delta > self.above_delta)
            and (not self.mechanisms or mechanism in self.mechanisms)
            and (not self.columns or not self.columns.isdisjoint(columns))
        )

    def covers_opening(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether a sub-session waits, whose questions may name any column and mechanism: so its price decides."""
        return self.covers(epsilon, delta, min(self.mechanisms, default=""), self.columns)


@dataclass(frozen=True, slots=True)
class Listening:
    """The places where the service listens.

    socket       the path of a Unix socket
    group        whose members may connect to it; empty for that of the process
    mode         the permissions of the socket
    host, port   an address for HTTPS, or for HTTP where it is of this machine alone
    certificate  the file of the certificate, and `key` that of its key
    hub          whether tokens of JupyterHub are accepted
    """

    socket: Path | None = None
    group: str = ""
    mode: int = 0o660
    host: str = ""
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    hub: bool = False


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """The most requests that wait: of all callers together, and of each."""

    waiting: int = 64
    each: int = 4


@dataclass(frozen=True)
class Declaration:
    """A data set that a curator keeps, as its owner declares it in one file. `read` makes it.

    path         the file
    dataset      the name of the data set in the ledger
    columns      the declared columns, by name: those of which the stored type does not say enough, or with bins
    caps         limits of analysts and projects inside the budget
    approvals    a release that one of these rules covers waits for a decision
    tick         the seconds between two moments at which answers leave
    """

    path: Path
    dataset: str
    unit: Unit
    budget: Budget
    columns: Mapping[str, DeclaredColumn]
    caps: Caps
    analysts: tuple[Analyst, ...]
    listening: Listening
    approvals: tuple[ApprovalRule, ...]
    tick: Fraction
    queue: QueueLimits
    data: SourceFields = field(repr=False)
    ledger: DeclaredPlace = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Declaration:
        """Read and check a declaration. Nothing that it names is opened.

        Parameters
        ----------
        path : str or Path
            The TOML file. Paths in it are relative to its folder.

        Returns
        -------
        Declaration
            The declared data set.

        Raises
        ------
        ParameterError
            If the file cannot be read, a field is unknown or missing, or a value breaks a rule.
        SchemaError
            If a column is declared in a way that none can be read.
        """
        fields = Fields(read_toml(path), "", FIELDS)
        folder = Path(path).absolute().parent
        budget = _budget(fields)
        analysts = _analysts(fields)
        columns = {name: _column(fields, name) for name in fields.table("columns", None).names}
        return cls(
            path=Path(path),
            dataset=fields.text("dataset", '"visits"'),
            unit=_unit(fields),
            budget=budget,
            columns=columns,
            caps=_all_caps(fields, analysts, budget),
            analysts=analysts,
            listening=_listening(fields, folder),
            approvals=tuple(_rule(one) for one in fields.tables("approval", RULE)),
            tick=_tick(fields),
            queue=_queue(fields),
            data=SourceFields.read(fields, folder),
            ledger=DeclaredPlace.of(fields, "ledger", folder, '"visits.ledger"'),
        )

    @property
    def schema(self) -> dict[str, str | tuple[str, str]]:
        """The declared kinds, as a source takes them."""
        return {name: column.schema for name, column in self.columns.items() if column.kind}

    @property
    def bins(self) -> dict[str, Domain]:
        """The declared bins, by column."""
        return {name: column.bins for name, column in self.columns.items() if column.bins is not None}

    # ------------------------------------------------------------ what it opens

    def source(self) -> Source:
        """Open the data and hold the declared columns and bins against them. No row is counted.

        Returns
        -------
        Source
            The data behind a narrow interface.

        Raises
        ------
        ParameterError
            If the data cannot be opened.
        SchemaError
            If they have no such column, or one of another kind.
        """
        source = opened(self.data, self.dataset, self.schema)
        known = [column.name for column in source.columns]
        for name in self.columns:
            if name not in known:
                rule = "a declaration declares columns that the data have"
                raise SchemaError.of(as_name(name), rule, meant(name, known, "name one of the data's columns"))
        for name, bins in self.bins.items():
            where = Fields({}, f"columns.{name}.bins", ())
            where.made(source.check, Question.of(bins), self.unit, StatisticKind.SPARSE)
        return source

    def session(self, existing: bool | None = None) -> Session:
        """Open the data and the ledger as one session.

        Parameters
        ----------
        existing : bool, optional
            As for `dv.Session`: True refuses to start a new ledger.

        Returns
        -------
        Session
            A session of the owner.

        Raises
        ------
        ParameterError
            If the data cannot be opened.
        SchemaError
            If they are not as declared.
        UnitError
            If the unit names no column.
        LedgerError
            If the ledger cannot be opened, or belongs to another declaration.
        """
        ledger: Any = Hidden(self.ledger.take())
        kind = DecidingSession if self.approvals else Session
        return kind(self.source(), self.unit, self.budget, ledger, existing=existing)

    # ------------------------------------------------------------ who asks

    def analyst(self, name: str) -> Analyst:
        """Return the analyst of a name.

        Parameters
        ----------
        name : str
            The name, as it stands in the declaration.

        Returns
        -------
        Analyst
            The analyst.

        Raises
        ------
        ParameterError
            If the declaration names no such analyst.
        """
        for one in self.analysts:
            if one.name == name:
                return one
        known = [one.name for one in self.analysts]
        raise ParameterError.of(
            as_name(name), "an analyst must stand in the declaration", meant(name, known, "add them under [[analysts]]")
        )

    @cached_property
    def uids(self) -> dict[int, Analyst]:
        """The analysts by user number, as the machine knows them now.

        Raises ParameterError where two of them are one user.
        """
        found: dict[int, Analyst] = {}
        for one in self.analysts:
            uid = one.uid
            if uid is not None and found.setdefault(uid, one) is not one:
                both = f"{as_name(found[uid].name)} and {as_name(one.name)}"
                raise ParameterError.of(both, "a user of this machine is one analyst", "give each a login of its own")
        return found

    def caller_of_uid(self, uid: int) -> Caller | None:
        """Return the caller who is a user of this machine.

        Parameters
        ----------
        uid : int
            The user number that the system vouches for.

        Returns
        -------
        Caller or None
            None where no analyst is this user.
        """
        found = self.uids.get(uid)
        return None if found is None else found.caller(f"user {uid} of this machine")

    def caller_of_token(self, token: object) -> Caller | None:
        """Return the caller who holds a token.

        Parameters
        ----------
        token : str
            The token.

        Returns
        -------
        Caller or None
            None where no analyst has this token.

        Notes
        -----
        Every declared digest is compared, each in constant time.
        """
        if not isinstance(token, str):
            return None
        given, found = digest_of(token), None
        for one in self.analysts:
            for known in one.tokens:
                if hmac.compare_digest(given, known):
                    found = one
        return None if found is None else found.caller("a token")

    def caller_of_hub(self, name: str) -> Caller | None:
        """Return the caller who is a user of JupyterHub.

        Parameters
        ----------
        name : str
            The name that the hub vouches for.

        Returns
        -------
        Caller or None
            None where no analyst is this user.
        """
        for one in self.analysts:
            if one.hub and one.hub == name:
                return one.caller("JupyterHub")
        return None


# ---------------------------------------------------------------- the tables of the file


def _unit(fields: Fields) -> Unit:
    given = fields.table("unit", UNIT)
    given.needed("of", '"row"')  # who is protected is said, and never assumed
    values = given.values()
    for name in ("max_bins", "max_records"):
        if values.get(name) == NO_LIMIT:
            values[name] = None
    return given.made(Unit, **values)


def _budget(fields: Fields) -> Budget:
    given = fields.table("budget", BUDGET)
    given.needed("epsilon", '"2"')
    values = given.values()
    for name, example in (("epsilon", "2"), ("delta", "0.000001"), ("reserve", "1/2")):
        if name in given:
            values[name] = given.exact(name, example)
    return given.made(Budget, **values)


def _column(fields: Fields, name: str) -> DeclaredColumn:
    given = fields.table("columns", None).table(name, COLUMN)
    kind = given.word("kind", ("", *KINDS), "")
    format = given.text("format", '"%d/%m/%Y"', "")
    if format and kind != "date":
        rule = f"{given.at('format')} is that of dates in texts"
        raise SchemaError.of(as_name(format), rule, 'write kind = "date", or leave it out')
    bins = None
    if "bins" in given:
        table = given.table("bins", None)
        values = table.values()
        kinds = [known for known in WRITTEN if known != "product"]
        if values.get("kind") not in kinds:
            shown, step = values.get("kind", "nothing"), f'write kind = "{kinds[0]}"'
            rule = f"{table.at('kind')} must be one of {', '.join(kinds)}"
            raise ParameterError.of(as_name(shown), rule, meant(shown, kinds, step))
        if "column" in values:
            raise ParameterError.of("column", f"{table.where} is of its own column", "leave it out")
        bins = table.made(Domain.from_json, {**values, "column": name})
    return DeclaredColumn(name, kind, format, bins)


def _all_caps(fields: Fields, analysts: tuple[Analyst, ...], budget: Budget) -> Caps:
    given = fields.table("caps", ("each", "analysts", "projects"))
    names, projects = [one.name for one in analysts], {one.project for one in analysts if one.project}
    caps = Caps(
        _caps(given, "each", budget),
        _caps_by(given, "analysts", names, budget),
        _caps_by(given, "projects", projects, budget),
    )
    given.made(caps.check_fits, budget)
    return caps


def _caps(fields: Fields, name: str, budget: Budget) -> tuple[Cap, ...]:
    return tuple(_cap(one, budget) for one in fields.tables(name, CAP))


def _cap(given: Fields, budget: Budget) -> Cap:
    """One cap. Its delta is that of the budget where it names none: then it limits epsilon alone."""
    epsilon = positive(given.exact("epsilon", "1/2"), given.at("epsilon"))
    delta = probability(given.exact("delta", "0.000001", budget.delta), given.at("delta"))
    return Cap(epsilon, delta, cast(Period, given.word("per", PERIODS, "")))


def _caps_by(fields: Fields, name: str, known: Collection[str], budget: Budget) -> dict[str, tuple[Cap, ...]]:
    """Caps by the names of analysts or of projects that there are: a mistyped one would limit nobody."""
    table = fields.table(name, None)
    for one in table.names:
        if one not in known:
            rule = f"{table.where} has caps of {name} that the declaration names"
            raise ParameterError.of(as_name(one), rule, meant(one, known, "name one of those under analysts"))
    return {one: _caps(table, one, budget) for one in table.names}


def _analysts(fields: Fields) -> tuple[Analyst, ...]:
    found = tuple(_analyst(one) for one in fields.tables("analysts", ANALYST))
    for part, told in (("name", "a name"), ("login", "a login"), ("hub", "a user of JupyterHub")):
        seen: set[object] = set()
        for one in found:
            value = getattr(one, part)
            if value in seen:
                rule = f"each analyst has {told} of their own"
                raise ParameterError.of(f"{as_name(str(value))} twice", rule, "leave one of them out")
            seen |= {value} - {None, ""}
    tokens = [token for one in found for token in one.tokens]
    if len(set(tokens)) < len(tokens):
        raise ParameterError.of(
            "a token twice", "each token is of one analyst", "make another: dpviz curator token FILE NAME"
        )
    return found


def _analyst(given: Fields) -> Analyst:
    name = given.text("name", '"ada"')
    login = given.needed("login", '"ada"') if "login" in given else None
    if isinstance(login, int) and not isinstance(login, bool):
        given.count("login", 0, 0, 2**32 - 2)
    elif login is not None:
        login = checked_text(login, given.at("login"), 'login = "ada", or a user number')
    tokens = given.texts("tokens", '"…"', secret=True)
    for place, token in enumerate(tokens, 1):
        if not HASH.match(token):
            rule = f"{given.at('tokens')}, item {place} must be the SHA-256 digest of a token, in small letters"
            raise ParameterError.of("another text", rule, "paste the line that dpviz curator token FILE NAME prints")
    scopes = given.texts("scopes", '"release"') if "scopes" in given else ("plan", "release")
    for scope in scopes:
        if scope not in SCOPES:
            rule = f"{given.at('scopes')} are some of {', '.join(SCOPES)}"
            raise ParameterError.of(as_name(scope), rule, meant(scope, SCOPES, 'write scopes = ["plan", "release"]'))
    hub, project = given.text("hub", '"ada"', ""), given.text("project", '"flu"', "")
    return Analyst(name, login, hub, tokens, project, frozenset(cast("tuple[Scope, ...]", scopes)))


def _listening(fields: Fields, folder: Path) -> Listening:
    given = fields.table("listen", LISTEN)
    socket = folder / given.text("socket", '"visits.sock"', most=300) if "socket" in given else None
    host = given.text("host", '"127.0.0.1"', "")
    port = given.count("port", 0, 1, 65_535) if "port" in given else 0
    if socket is None and not host:
        raise ParameterError.of(
            "nothing", "listen needs a socket or a host with a port", 'write listen.socket = "visits.sock"'
        )
    if socket is not None and len(bytes(socket)) > LONGEST_SOCKET:
        rule = f"the whole path of a socket has at most {LONGEST_SOCKET} bytes"
        raise ParameterError.of(as_name(socket.name), rule, "choose a shorter folder, such as /run/dpviz")
    if bool(host) != bool(port):
        raise ParameterError.of("one of them", "listen.host and listen.port belong together", "give both or none")
    for name in ("group", "mode"):
        if name in given and socket is None:
            raise ParameterError.of(name, f"listen.{name} is that of a socket", "give listen.socket, or leave it out")
    mode = given.text("mode", '"0660"', "0660")
    if not MODE.match(mode):
        raise ParameterError.of(
            mode, "listen.mode is a text of three octal digits", "write it as chmod takes it, in quotes"
        )
    paths = [folder / given.text(name, '"file.pem"', most=300) if name in given else None
             for name in ("certificate", "key")]  # fmt: skip
    if (paths[0] is None) != (paths[1] is None):
        raise ParameterError.of("one of them", "listen.certificate and listen.key belong together", "give both or none")
    if host and paths[0] is None and not _loopback(host):
        rule = "tokens leave this machine encrypted alone"
        raise ParameterError.of(as_name(host), rule, 'give listen.certificate and listen.key, or host = "127.0.0.1"')
    if given.flag("hub") and not host:
        raise ParameterError.of("hub", "JupyterHub reaches a service over HTTP", "give listen.host and listen.port")
    group = given.text("group", '"analysts"', "")
    return Listening(socket, group, int(mode, 8), host, port, paths[0], paths[1], given.flag("hub"))


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _rule(given: Fields) -> ApprovalRule:
    if not given.names:
        rule = f"{given.where} must have a condition"
        raise ParameterError.of("none", rule, 'write above_epsilon = "0" to decide on every release')
    known, mechanisms = [*REGISTRY, *OPENINGS], given.texts("mechanisms", '"Dense"')
    for name in mechanisms:
        if name not in known:
            rule = f"{given.at('mechanisms')} are names of mechanisms"
            raise ParameterError.of(as_name(name), rule, meant(name, known, f"they are {', '.join(known)}"))
    epsilon = given.exact("above_epsilon", "1/2") if "above_epsilon" in given else None
    if epsilon is not None and epsilon < 0:
        raise ParameterError.of(
            text(epsilon), f"{given.at('above_epsilon')} must be 0 or more", 'write above_epsilon = "0"'
        )
    delta = given.exact("above_delta", "0.000001") if "above_delta" in given else None
    if delta is not None:
        probability(delta, given.at("above_delta"))
    return ApprovalRule(epsilon, delta, frozenset(mechanisms), frozenset(given.texts("columns", '"diagnosis"')))


def _tick(fields: Fields) -> Fraction:
    tick = positive(fields.exact("tick", "0.5", Fraction(1, 2)), "tick")
    if tick > LONGEST_TICK:
        raise ParameterError.of(text(tick), f"tick is at most {LONGEST_TICK:,} seconds", 'write tick = "0.5"')
    return tick


def _queue(fields: Fields) -> QueueLimits:
    given = fields.table("queue", QUEUE)
    usual = QueueLimits()
    most = 10_000
    return QueueLimits(given.count("waiting", usual.waiting, 1, most), given.count("each", usual.each, 1, most))


protect_module(vars())
