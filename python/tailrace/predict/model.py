"""A file system as a model of few numbers: a TOML file that a person can read and edit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.toml_file import Source

REFERENCE = "docs/reference/models.md says what a model holds"
NANOSECONDS_PER_SECOND = 1e9
Kind = Literal[
    "read", "write", "open", "close", "look_up", "synchronize", "lock", "truncate", "other"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_BYTES = 1 << 20
NAME = r"^[\w.+ -]{1,60}$"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Quantity(_Table):
    """A number with the interval that it lies in."""

    value: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    low: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    high: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, given: Any) -> Any:
        """A bare number is known exactly."""
        if isinstance(given, int | float) and not isinstance(given, bool):
            return {"value": given, "low": given, "high": given}
        return given

    @model_validator(mode="after")
    def _is_ordered(self) -> Quantity:
        if not self.low <= self.value <= self.high:
            raise ValueError("value should lie between low and high")
        return self


class Rate(Quantity):
    """Bytes a second."""

    low: Annotated[float, Field(gt=0, allow_inf_nan=False)]


NOTHING = Quantity(value=0, low=0, high=0)


class CallCosts(_Table):
    """What a call takes by itself, in seconds; of reads and writes beyond their bytes."""

    read: Quantity
    cached_read: Quantity
    write: Quantity
    scattered_write: Quantity = NOTHING
    sent_write: Quantity = NOTHING
    sent_scattered_write: Quantity = NOTHING
    arrival: Quantity = NOTHING
    open: Quantity
    close: Quantity
    look_up: Quantity
    synchronize: Quantity
    synchronize_clean: Quantity = NOTHING
    lock: Quantity
    truncate: Quantity
    other: Quantity


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
    drains: tuple[Kind, ...]
    end_drains: bool
    behind_writes: tuple[Kind, ...] = ()
    rereads: Literal["never", "while_open", "always"]


class Model(_Table):
    """A file system. `source`: where its figures come from."""

    version: Literal[1]
    name: Annotated[str, Field(pattern=NAME)]
    source: Annotated[str, Field(min_length=1, max_length=2000)]
    calls: CallCosts
    bytes_per_s: ByteRates
    cache: ClientCache

    def parameters(self, edge: Literal["value", "low", "high"] = "value") -> dict[str, Any]:
        """What the engine takes, in nanoseconds and bytes. `edge`: "low" has every number where
        calls take least, "high" where they take most."""
        opposite = {"value": "value", "low": "high", "high": "low"}[edge]

        def cost(quantity: Quantity) -> float:
            return float(getattr(quantity, edge)) * NANOSECONDS_PER_SECOND

        def per_byte(rate: Rate) -> float:
            return NANOSECONDS_PER_SECOND / float(getattr(rate, opposite))

        return {
            "calls": {kind: cost(getattr(self.calls, kind)) for kind in KINDS},
            "cached_read": cost(self.calls.cached_read),
            "scattered_write": cost(self.calls.scattered_write),
            "synchronize_clean": cost(self.calls.synchronize_clean),
            "sent_write": cost(self.calls.sent_write),
            "sent_scattered_write": cost(self.calls.sent_scattered_write),
            "arrival": cost(self.calls.arrival),
            "copy": per_byte(self.bytes_per_s.copy_in),
            "cached": per_byte(self.bytes_per_s.copy_out),
            "write": per_byte(self.bytes_per_s.write),
            "read": per_byte(self.bytes_per_s.read),
            "write_behind": float(getattr(self.cache.write_behind_bytes, opposite)),
            "room_by_file": self.cache.room == "file",
            "drains": list(self.cache.drains),
            "end_drains": self.cache.end_drains,
            "behind_writes": list(self.cache.behind_writes),
            "rereads": self.cache.rereads,
        }


def checked_name(name: str) -> str:
    """Raises TailraceError for what a model cannot be called."""
    if re.fullmatch(NAME, name) is None:
        raise TailraceError(
            f"a file system cannot be called '{printable(name)}'",
            "use up to 60 letters, digits, blanks and . _ + -",
        )
    return name


def load(path: Path) -> Model:
    """Reads and checks a model. Raises TailraceError with file, line and key."""
    try:
        too_large = path.stat().st_size > MOST_BYTES
    except OSError as error:
        raise TailraceError(
            f"{printable(str(path))} cannot be read: {error.strerror}",
            "tailrace calibrate DIRECTORY -o MODEL.toml makes a model",
        ) from None
    if too_large:
        raise TailraceError(f"{printable(str(path))} is too large to be a model", REFERENCE)
    source = Source(path, "a model", REFERENCE)
    return source.validated(Model, source.values)


def text(model: Model) -> str:
    """The model as TOML, each number with its meaning."""
    lines = [
        f"version = {model.version}",
        f'name = "{model.name}"',
        f"source = {_quoted(model.source)}",
        "",
        "# What a call takes by itself, s; of reads and writes beyond their bytes. sent: what a",
        "# write takes on its way; scattered: it does not begin where the last one ended.",
        "[calls]",
        *_quantities(model.calls),
        "",
        "# Bytes a second: into the client's cache and out of it, to the servers and from them.",
        "[bytes_per_s]",
        *_quantities(model.bytes_per_s),
        "",
        "# So many bytes may be on their way when a write returns; the room is the whole mount's,",
        "# or each file's. Which kinds of calls wait until what was written to their file has",
        "# arrived, whether reading its end does, and which wait behind all writes that are on",
        "# their way. Whether a client reads what it wrote or read from its cache.",
        "[cache]",
        f"write_behind_bytes = {_quantity(model.cache.write_behind_bytes)}",
        f'room = "{model.cache.room}"',
        f"drains = {_kinds(model.cache.drains)}",
        f"end_drains = {str(model.cache.end_drains).lower()}",
        f"behind_writes = {_kinds(model.cache.behind_writes)}",
        f'rereads = "{model.cache.rereads}"',
    ]
    written = "\n".join(lines) + "\n"
    tomllib.loads(written)  # what is written can be read
    return written


def _quantities(table: CallCosts | ByteRates) -> list[str]:
    return [f"{name} = {_quantity(quantity)}" for name, quantity in table]


def _quantity(quantity: Quantity) -> str:
    value, low, high = (f"{getattr(quantity, edge):.4g}" for edge in ("value", "low", "high"))
    return f"{{ value = {value}, low = {low}, high = {high} }}"


def _kinds(kinds: tuple[Kind, ...]) -> str:
    return f"[{', '.join(map(_quoted, kinds))}]"


def _quoted(words: str) -> str:
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
