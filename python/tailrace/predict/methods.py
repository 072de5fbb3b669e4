"""Output by another method: the same data of the same ranks, as the engine rebuilds it from a
trace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tailrace import engine
from tailrace.errors import TailraceError
from tailrace.gathering import Edge
from tailrace.predict.model import Model
from tailrace.predict.network import BYTE_NS, LATENCY_NS
from tailrace.predict.polling import UNKNOWN, Polling
from tailrace.units import byte_count, chosen_bytes, seconds, to_seconds

Method = Literal["serial", "collective", "independent", "aggregated", "file-per-rank"]
METHODS: tuple[Method, ...] = get_args(Method)
# In these, some ranks write for the others.
WITH_AGGREGATORS: tuple[Method, ...] = ("collective", "aggregated")
# Where it is not known which bytes of a file are a rank's, they lie in pieces of so many: rows of a
# tile have about as many. None: in one.
PIECE_BYTES: dict[Edge, int | None] = {"low": None, "value": 1024, "high": 128}
# What netCDF-4 keeps of a variable in chunks that one rank writes, until the file is closed: its
# default from 4.8 on; before, and from 4.10 on.
KEPT_BYTES: dict[Edge, int] = {"low": 4 << 20, "value": 16 << 20, "high": 64 << 20}
# No more are tried.
MOST_PIECES = 300_000
# Pieces with which each rank's part is one, and with which all lie between each other's.
IN_ONE, APART = 2**63 - 1, 1


class Moving(NamedTuple):
    """Which files are written by it, and how ranks lie on nodes; None: all, and as they were."""

    directory: Path | None = None
    ranks_per_node: int | None = None


@dataclass(frozen=True)
class Told:
    """What the trace tells of the data, in bytes."""

    # Written by the method.
    changed: int
    # … of them: it is not known where in the file they lie.
    unplaced: int
    # … of these: each rank writes its pieces of an output by one call of MPI-IO.
    by_one_call: int
    # Several ranks wrote them, but cannot be told to do it together.
    apart: int
    # netCDF-4 keeps them until it closes the file, or synchronises it.
    kept: int
    # What a message is taken to take, nanoseconds; whether the run's own tell it.
    latency_ns: dict[Edge, float]
    is_measured: bool
    # What the recorded outputs take less, rebuilt as they were made; s.
    missed_s: float = 0.0


@dataclass(frozen=True)
class Way:
    """How data are to reach the files."""

    method: Method
    # None: one rank of each node writes.
    aggregators: int | None = None
    # None: where data lie is not known where the trace does not tell it.
    piece: int | None = None
    # By independent output each piece is written by a call of its own, where the trace tells none.
    by_calls: bool = False

    @property
    def words(self) -> str:
        ranks = f" with {self.aggregators} aggregators" if self.aggregators else ""
        return f"{self.method} output{ranks}"

    def assumes(self, told: Told | None) -> list[str]:
        found = [
            "each rank's data are those that it wrote, or sent to the rank that wrote them; what is"
            " read stays as it was, and so do the calls that a library makes beside writing data",
        ]
        if told:
            found.append(_of_messages(told))
        if told and told.missed_s:
            found.append(_of_rebuilding(told.missed_s))
        if self.method in WITH_AGGREGATORS and self.aggregators is None:
            found.append("one rank on each node writes: --aggregators says how many do")
        if self.method == "collective":
            found.append("MPI-IO writes what ROMIO in Open MPI 4.1 does, up to 16 MiB at a time")
        if told and told.unplaced and self.piece is None:
            found.append(
                "which bytes of a file are a rank's is not in the trace: they are taken to lie in"
                " pieces of 1 KiB, at best in one, at worst in pieces of 128 bytes: --piece says it"
            )
            if self.method == "collective":
                found.append(
                    "where a rank's part is one piece, MPI-IO leaves each to write its own; either"
                    " may be the slower"
                )
        if told and told.by_one_call:
            found.append(
                "each rank writes the pieces of an output by one call of MPI-IO, at worst each by"
                " a call of its own"
            )
        if told and told.kept:
            found.append(
                f"netCDF-4 keeps {byte_count(told.kept)} of these until one rank closes the file:"
                f" of a variable in chunks at most {chosen_bytes(KEPT_BYTES['value'])}, between"
                f" {chosen_bytes(KEPT_BYTES['low'])} and {chosen_bytes(KEPT_BYTES['high'])}, by its"
                " version"
            )
        if told and told.apart:
            found.append(
                f"{chosen_bytes(told.apart)} that several ranks write, but not as often as each"
                " other, stay as they are"
            )
        return found

    def layouts(self, told: Told | None) -> dict[Edge, Way]:
        """Where data may lie other than at the edges of what is open: of a collective write it is
        not known whether those who write for others are faster than each for itself, and of
        independent writes how many calls make them."""
        if told and told.by_one_call:
            return {"high": replace(self, by_calls=True)}
        if self.method != "collective" or self.piece is not None or not (told and told.unplaced):
            return {}
        return {"low": replace(self, piece=APART), "high": replace(self, piece=IN_ONE)}

    @property
    def arguments(self) -> dict[str, Any]:
        named = {"aggregators": self.aggregators, "piece_bytes": self.piece}
        return {"method": self.method} | {k: v for k, v in named.items() if v is not None}


def _of_messages(told: Told) -> str:
    value, low, high = (to_seconds(round(told.latency_ns[edge])) for edge in LATENCY_NS)
    as_half = (
        ", as half the waits of the run do beyond what they are for" if told.is_measured else ""
    )
    return (
        f"a message of an output takes {seconds(value)}{as_half}, between {seconds(low)} and"
        f" {seconds(high)}, and moves 5 GB/s, between 1 and 20"
    )


def _of_rebuilding(missed_s: float) -> str:
    than = "less" if missed_s > 0 else "more"
    return (
        f"made as they were, by the same messages and calls, the run's own outputs take"
        f" {seconds(abs(missed_s))} {than} than recorded: by another method the run may take as"
        " much more or less"
    )


def _latency_ns(transfers_ns: tuple[int, int, int] | None) -> dict[Edge, float]:
    """The run's own, no less wide than what networks take."""
    if transfers_ns is None:
        return LATENCY_NS
    low, value, high = transfers_ns
    return {
        "value": value,
        "low": min(low, LATENCY_NS["low"]),
        "high": max(high, LATENCY_NS["high"]),
    }


class NothingError(TailraceError):
    """The trace has nothing that a method could change."""


class Outputs:
    """The outputs of a trace whose steps are known with them."""

    def __init__(
        self,
        steps: Any,
        name: str,
        eager_limit_bytes: int | None,
        polling: Polling = UNKNOWN,
    ) -> None:
        self._steps = steps
        self._name = name
        self._polling = polling
        limit = engine.eager_limit_bytes() if eager_limit_bytes is None else eager_limit_bytes
        self._eager_limit_bytes = limit
        transfers_ns = steps.transfers_ns()
        self._is_measured = transfers_ns is not None
        self._latency_ns = _latency_ns(transfers_ns)
        self._known: dict[tuple[Way, Moving, Edge], tuple[Any, Told]] = {}
        self._made: dict[Moving, Any] = {}
        self._beyond: dict[tuple[Model, Edge, bool, Edge], Any] = {}

    def by(self, way: Way, moving: Moving, edge: Edge = "value") -> tuple[Any, Told]:
        """The steps of the run with its outputs made that way. Raises NothingError."""
        key = (way, moving, edge)
        if key not in self._known:  # found twice by two threads it is the same
            self._known[key] = self._rebuilt(way, moving, edge)
        return self._known[key]

    def as_made(self, moving: Moving) -> Any:
        """The steps of the run with its outputs made as they were, but for those that each rank
        wrote for itself; None where that cannot be."""
        if moving not in self._made:  # found twice by two threads it is the same
            found = self._steps.by_method(
                None,
                latency=self._latency_ns["value"],
                byte=BYTE_NS["value"],
                eager_limit_bytes=self._eager_limit_bytes,
                piece_bytes=APART,
                directory=moving.directory,
                ranks_per_node=moving.ranks_per_node,
            )
            self._made[moving] = found and found[0]
        return self._made[moving]

    def beyond(self, target: Model, edge: Edge, warm: bool, off: Edge) -> Any:
        """What the run's calls took beyond what a model says of the place where they were made.
        What took longer while its rank would have waited anyway costs nothing at best."""
        key = (target, edge, warm, off)
        if key not in self._beyond:  # found twice by two threads it is the same
            parameters, own = self._polling.parameters(target, edge, off), target.directory
            self._beyond[key] = self._steps.beyond(parameters, own, warm=warm, waits=edge != "low")
        return self._beyond[key]

    def _rebuilt(self, way: Way, moving: Moving, edge: Edge) -> tuple[Any, Told]:
        piece = way.piece or PIECE_BYTES[edge]
        if piece is not None and way.piece is None:
            _, told = self.by(way, moving, "low")
            piece = max(piece, told.unplaced // MOST_PIECES)
        found = self._steps.by_method(
            way.method,
            aggregators=way.aggregators,
            latency=self._latency_ns[edge],
            byte=BYTE_NS[edge],
            eager_limit_bytes=self._eager_limit_bytes,
            piece_bytes=piece,
            by_calls=way.by_calls,
            kept_bytes=KEPT_BYTES[edge],
            directory=moving.directory,
            ranks_per_node=moving.ranks_per_node,
        )
        if found is None:
            raise NothingError(
                f"the ranks of {self._name} do not take part in its outputs in one order, so"
                f" {way.words} cannot be made of them",
                "record the program with that method, or ask `tailrace simulate`",
            )
        steps, told = found
        if told["bytes"] == 0:
            raise NothingError(
                f"nothing that {self._name} writes is known to come from several ranks, so another"
                " method would change nothing",
                "`tailrace report` lists what each rank writes",
            )
        return steps, Told(
            changed=told["bytes"],
            unplaced=told["unplaced_bytes"],
            by_one_call=told["by_one_call_bytes"],
            apart=told["apart_bytes"],
            kept=told["kept_bytes"],
            latency_ns=self._latency_ns,
            is_measured=self._is_measured,
        )
