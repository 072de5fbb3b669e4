"""A file system as a model of few numbers: a TOML file that a person can read and edit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tailrace.errors import TailraceError
from tailrace.gathering import Edge
from tailrace.names import printable
from tailrace.shipped import MODELS
from tailrace.toml_file import Source
from tailrace.units import count

REFERENCE = "docs/reference/models.md says what a model holds"
NANOSECONDS_PER_SECOND = 1e9
Kind = Literal[
    "read", "write", "open", "close", "look_up", "synchronize", "lock", "truncate", "other"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_PATH_BYTES = 4096
# Of any number; its inverse is the least rate: products of a few of these are still numbers.
MOST = 1e18
MOST_SERVERS = 100_000
# Lustre's bound.
MOST_STRIPES = 2000
MOST_STRIPE_BYTES = 1 << 40
NAME = r"^[\w.+ -]{1,60}$"
NAMES = "up to 60 letters, digits, blanks and . _ + -"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Number = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]


class Quantity(_Table):
    """A number with the interval that it lies in."""

    value: _Number
    low: _Number
    high: _Number

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, given: Any) -> Any:
        """A bare number is known exactly."""
        if isinstance(given, int | float) and not isinstance(given, bool):
            return {"value": given, "low": given, "high": given}
        if not isinstance(given, dict | Quantity):
            raise ValueError("should be a number, or { value = 1, low = 1, high = 1 }")
        return given

    @model_validator(mode="after")
    def _is_ordered(self) -> Quantity:
        if not self.low <= self.value <= self.high:
            raise ValueError("value should lie between low and high")
        return self


class Rate(Quantity):
    """Bytes a second."""

    low: Annotated[float, Field(ge=1 / MOST, le=MOST, allow_inf_nan=False)]


def _number_or_words(least: int, most: int, *words: str) -> BeforeValidator:
    def checked(given: Any) -> Any:
        is_number = isinstance(given, int) and not isinstance(given, bool)
        if given in words or (is_number and least <= given <= most):
            return given
        *others, last = [f"a whole number from {least} to {most}", *map(repr, words)]
        raise ValueError(f"should be {', '.join(others)} or {last}")

    return BeforeValidator(checked)


def _checked(name: str) -> str:
    if re.fullmatch(NAME, name) is None:
        raise ValueError(f"should be {NAMES}")
    return name


# Of a model's parameters: what a file system that is faster does in less time.
PER_CALL_OR_BYTE = (
    "create", "attributes", "cached_read", "scattered_write", "synchronize_clean", "sent_write",
    "sent_scattered_write", "shared_write", "shared_write_queued", "lock_after_write",
    "lock_after_write_unwaited", "arrival", "arrival_beside", "arrival_among", "copy", "cached",
    "write", "read", "metadata",
)  # fmt: skip
NOTHING = Quantity(value=0, low=0, high=0)
AS_IT_SAYS = Quantity(value=1, low=1, high=1)


def _absolute(path: str) -> str:
    if not path.startswith("/") or "\0" in path or len(path) > MOST_PATH_BYTES:
        raise ValueError("should be the absolute path of a directory")
    return path


class CallCosts(_Table):
    """What a call takes by itself, in seconds; of reads and writes beyond their bytes."""

    read: Quantity
    cached_read: Quantity
    write: Quantity
    scattered_write: Quantity = NOTHING
    sent_write: Quantity = NOTHING
    sent_scattered_write: Quantity = NOTHING
    shared_write: Quantity = NOTHING
    # … more for each of these that is on its way.
    shared_write_queued: Quantity = NOTHING
    arrival: Quantity = NOTHING
    # … while ranks keep all processors but the writer's; none: the same.
    arrival_beside: Quantity | None = None
    # … while writes of other ranks are to arrive; none: the same.
    arrival_among: Quantity | None = None
    open: Quantity
    # Of an open that makes the file; none: as of one that does not.
    create: Quantity | None = None
    close: Quantity
    look_up: Quantity
    synchronize: Quantity
    synchronize_clean: Quantity = NOTHING
    lock: Quantity
    lock_after_write: Quantity = NOTHING
    # … of a rank that waited for no other since it last did; none: the same.
    lock_after_write_unwaited: Quantity | None = None
    truncate: Quantity
    other: Quantity
    # Of those of the others that leave names as they are; none: as of these.
    attributes: Quantity | None = None


class ByteRates(_Table):
    """Bytes a second: into the client's cache, out of it, to the servers, from them."""

    copy_in: Rate
    copy_out: Rate
    write: Rate
    read: Rate


class ClientCache(_Table):
    """What the client keeps."""

    write_behind_bytes: Quantity
    room: Literal["mount", "file"] = "mount"
    sends: Literal["at_once", "when_waited_for"] = "at_once"
    drains: tuple[Kind, ...]
    end_drains: bool
    behind_writes: tuple[Kind, ...] = ()
    rereads: Literal["never", "while_open", "always"]
    whole_pages: bool = False


class Client(_Table):
    """Each node's link, in and out."""

    bytes_per_s: Rate


class Bucket(_Table):
    """What links make up for of the time that they stood idle, as token buckets do."""

    bytes: Quantity


class Servers(_Table):
    """A file lies on `stripe_count` of so many servers. The rates are then one server's. "node":
    each node is its own."""

    count: Annotated[int | str, _number_or_words(1, MOST_SERVERS, "node")]
    stripe_bytes: Annotated[int, Field(ge=1, le=MOST_STRIPE_BYTES)] = MOST_STRIPE_BYTES
    stripe_count: Annotated[int, Field(ge=1, le=MOST_STRIPES)] = 1

    @model_validator(mode="after")
    def _has_enough(self) -> Servers:
        if self.stripe_count > (self.count if isinstance(self.count, int) else 1):
            raise ValueError("stripe_count should be at most count")
        return self

    def parameters(self) -> dict[str, int]:
        return {
            "count": self.count if isinstance(self.count, int) else 0,
            "stripe_bytes": self.stripe_bytes,
            "stripe_count": self.stripe_count,
        }


class Locks(_Table):
    """What of a file a node holds at once, and what it takes to hand that to another node."""

    granularity_bytes: Annotated[
        int | str, _number_or_words(0, MOST_STRIPE_BYTES, "file", "object")
    ]
    hand_over_s: Quantity


class Metadata(_Table):
    """Calls on names that the service takes a second, those of all ranks together."""

    per_second: Rate


class Processors(_Table):
    """What client and servers take of the processors of the machine on which programs compute, in
    seconds: for a call, of reads and writes beyond their bytes, and for a byte."""

    write: Quantity
    scattered_write: Quantity = NOTHING
    read: Quantity
    # Of writes that lie between two of these, too.
    lock: Quantity
    call: Quantity
    written_byte: Quantity
    read_byte: Quantity

    def parameters(self) -> dict[str, float]:
        return {name: NANOSECONDS_PER_SECOND * quantity.value for name, quantity in self}


class Network(_Table):
    """Messages: between ranks of two nodes, `node_bytes_per_s` of all ranks of one together, and
    inside a node. A sender does not wait for the receiver of up to `eager_limit_bytes`."""

    latency_s: Quantity | None = None
    bytes_per_s: Rate | None = None
    node_bytes_per_s: Rate | None = None
    inside_latency_s: Quantity | None = None
    inside_bytes_per_s: Rate | None = None
    eager_limit_bytes: Annotated[int, Field(ge=0, le=MOST_STRIPE_BYTES)] | None = None

    @model_validator(mode="after")
    def _has_pairs(self) -> Network:
        if (self.latency_s is None) != (self.bytes_per_s is None):
            raise ValueError("latency_s and bytes_per_s should be given together")
        if (self.inside_latency_s is None) != (self.inside_bytes_per_s is None):
            raise ValueError("inside_latency_s and inside_bytes_per_s should be given together")
        if self.node_bytes_per_s is not None and self.bytes_per_s is None:
            raise ValueError("node_bytes_per_s should come with bytes_per_s")
        return self

    def latency(self, inside: bool) -> Quantity | None:
        """Of a message inside a node, or between two."""
        return self.inside_latency_s if inside else self.latency_s

    def rate(self, inside: bool, ranks_per_node: int) -> Rate | None:
        """Of one rank's messages: at best alone, at worst while all ranks of its node send."""
        if inside or self.bytes_per_s is None or self.node_bytes_per_s is None:
            return self.inside_bytes_per_s if inside else self.bytes_per_s
        shared = self.node_bytes_per_s.low / ranks_per_node
        alone = self.bytes_per_s
        return alone.model_copy(update={"low": min(alone.low, shared)})


class HeldOut(_Table):
    """What programs took that were no part of the measurement, over what the model says of them:
    what it leaves out."""

    measured_over_predicted: Quantity = AS_IT_SAYS
    # By what share a run of a program differs from the next, of nine in ten.
    run_to_run: _Number | None = None


class Model(_Table):
    """A file system. `source`: where its figures come from; `directory`: where it was measured."""

    version: Literal[1]
    name: Annotated[str, AfterValidator(_checked)]
    source: Annotated[str, Field(min_length=1, max_length=2000)]
    directory: Annotated[str, AfterValidator(_absolute)] | None = None
    calls: CallCosts
    bytes_per_s: ByteRates
    cache: ClientCache
    client: Client | None = None
    bucket: Bucket | None = None
    servers: Servers | None = None
    locks: Locks | None = None
    metadata: Metadata | None = None
    processors: Processors | None = None
    network: Network | None = None
    held_out: HeldOut = HeldOut()

    def striped(self, stripes: int) -> Model:
        """With files on so many servers. Raises TailraceError where it has not as many."""
        have = self.servers.count if self.servers is not None else 1
        if self.servers is None or have == "node":
            raise TailraceError(
                f"the model {self.name} says nothing of servers among which files are striped",
                f"give it a table [servers]: {REFERENCE}",
            )
        if not 1 <= stripes <= min(int(have), MOST_STRIPES):
            known = count(int(have), "server")
            raise TailraceError(
                f"{self.name} has {known}: files cannot be striped over {stripes}",
                f"--stripes takes 1 to {min(int(have), MOST_STRIPES)}",
            )
        servers = self.servers.model_copy(update={"stripe_count": stripes})
        return self.model_copy(update={"servers": servers})

    @property
    def by_chance(self) -> Model:
        """With those intervals alone that rounds differ by. What a lock takes after a write lies
        between what one process finds and several in step: a run has had one of these."""

        def known(taken: Quantity | None) -> Quantity | None:
            return taken and Quantity(value=taken.value, low=taken.value, high=taken.value)

        kinds = ("lock_after_write", "lock_after_write_unwaited")
        calls = self.calls.model_copy(update={k: known(getattr(self.calls, k)) for k in kinds})
        return self.model_copy(update={"calls": calls})

    def parameters(self, edge: Edge = "value", off: Edge | None = None) -> dict[str, Any]:
        """What the engine takes, in nanoseconds and bytes. `edge`: "low" has every number where
        calls take least, "high" where they take most. `off`: likewise what the model leaves out,
        if not as the numbers."""
        opposite = {"value": "value", "low": "high", "high": "low"}[edge]
        scale = NANOSECONDS_PER_SECOND * getattr(self.held_out.measured_over_predicted, off or edge)

        def cost(quantity: Quantity) -> float:
            return float(scale * getattr(quantity, edge))

        def per_byte(rate: Rate) -> float:
            """Or per call, of calls a second."""
            return float(scale / getattr(rate, opposite))

        return {
            "calls": {kind: cost(getattr(self.calls, kind)) for kind in KINDS},
            "create": cost(self.calls.create or self.calls.open),
            "attributes": cost(self.calls.attributes or self.calls.other),
            "cached_read": cost(self.calls.cached_read),
            "scattered_write": cost(self.calls.scattered_write),
            "synchronize_clean": cost(self.calls.synchronize_clean),
            "lock_after_write": cost(self.calls.lock_after_write),
            "lock_after_write_unwaited": cost(
                self.calls.lock_after_write_unwaited or self.calls.lock_after_write
            ),
            "sent_write": cost(self.calls.sent_write),
            "sent_scattered_write": cost(self.calls.sent_scattered_write),
            "shared_write": cost(self.calls.shared_write),
            "shared_write_queued": cost(self.calls.shared_write_queued),
            "arrival": cost(self.calls.arrival),
            "arrival_beside": cost(self.calls.arrival_beside or self.calls.arrival),
            "arrival_among": cost(self.calls.arrival_among or self.calls.arrival),
            "copy": per_byte(self.bytes_per_s.copy_in),
            "cached": per_byte(self.bytes_per_s.copy_out),
            "write": per_byte(self.bytes_per_s.write),
            "read": per_byte(self.bytes_per_s.read),
            "write_behind": float(getattr(self.cache.write_behind_bytes, opposite)),
            "room_by_file": self.cache.room == "file",
            "stays": self.cache.sends == "when_waited_for",
            "drains": list(self.cache.drains),
            "end_drains": self.cache.end_drains,
            "behind_writes": list(self.cache.behind_writes),
            "rereads": self.cache.rereads,
            "whole_pages": self.cache.whole_pages,
            "link": per_byte(self.client.bytes_per_s) if self.client else 0.0,
            "bucket": float(getattr(self.bucket.bytes, opposite)) if self.bucket else 0.0,
            "servers": self.servers and self.servers.parameters(),
            "locks": self.locks
            and {
                "granularity": self.locks.granularity_bytes or "file",
                "hand_over": cost(self.locks.hand_over_s),
            },
            "metadata": per_byte(self.metadata.per_second) if self.metadata else 0.0,
            "processors": self.processors and self.processors.parameters(),
        }


def faster(model: dict[str, Any], factor: float) -> dict[str, Any]:
    """Parameters of a file system that does everything in so many times less time."""
    calls = {kind: cost / factor for kind, cost in model["calls"].items()}
    locks = model["locks"]
    if locks is not None:
        locks = locks | {"hand_over": locks["hand_over"] / factor}
    quicker = {name: model[name] / factor for name in PER_CALL_OR_BYTE}
    return {**model, "calls": calls, "locks": locks, **quicker}


def checked_name(name: str) -> str:
    """Raises TailraceError for what a model cannot be called."""
    if re.fullmatch(NAME, name) is None:
        raise TailraceError(
            f"a file system cannot be called '{printable(name)}'",
            f"use {NAMES}",
        )
    return name


def named(word: str | Path) -> Model:
    """The model that the word means: the name of one that comes with Tailrace, or a path."""
    path = Path(word)
    is_path = path.suffix == ".toml" or path.is_file() or len(path.parts) > 1
    return load(path if is_path else MODELS.find(str(word)))


def load(path: Path) -> Model:
    """Reads and checks a model. Raises TailraceError with file, line and key."""
    try:
        path.stat()
    except OSError as error:
        raise TailraceError(
            f"{printable(str(path))} cannot be read: {error.strerror}",
            "tailrace calibrate DIRECTORY -o MODEL.toml makes a model",
        ) from None
    source = Source(path, "a model", REFERENCE)
    return source.validated(Model, source.values)
