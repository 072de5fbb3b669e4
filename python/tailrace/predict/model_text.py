"""A model of a file system as TOML that a person can read, each number with its meaning."""

from __future__ import annotations

import json
import tomllib

from tailrace.predict.model import (
    ByteRates,
    CallCosts,
    Kind,
    Model,
    Network,
    Processors,
    Quantity,
)


def text(model: Model) -> str:
    lines = [
        f"version = {model.version}",
        f'name = "{model.name}"',
        f"source = {_quoted(model.source)}",
        *([f"directory = {_quoted(model.directory)}"] if model.directory is not None else []),
        "",
        "# What a call takes by itself, s; of reads and writes beyond their bytes. sent: what a",
        "# write takes on its way; scattered: it does not begin where the last one ended; shared:",
        "# at least, in a file to which several ranks write; queued: more for each of these that",
        "# is on its way.",
        "[calls]",
        *_quantities(model.calls),
        "",
        "# Bytes a second: into the client's cache and out of it, to the servers and from them.",
        "[bytes_per_s]",
        *_quantities(model.bytes_per_s),
        "",
        "# So many bytes may be on their way when a write returns; the room is the whole mount's,",
        "# or each file's. They go at once, or when a call waits for them. Which kinds of calls",
        "# wait until what was written to their file has arrived, whether reading its end does,",
        "# and which wait behind all writes that are on their way. Whether a client reads what it",
        "# wrote or read from its cache; whole_pages: of what it wrote only the pages that a write",
        "# filled.",
        "[cache]",
        f"write_behind_bytes = {_quantity(model.cache.write_behind_bytes)}",
        f'room = "{model.cache.room}"',
        f'sends = "{model.cache.sends}"',
        f"drains = {_kinds(model.cache.drains)}",
        f"end_drains = {str(model.cache.end_drains).lower()}",
        f"behind_writes = {_kinds(model.cache.behind_writes)}",
        f'rereads = "{model.cache.rereads}"',
        f"whole_pages = {str(model.cache.whole_pages).lower()}",
        "",
        *_shared(model),
        "# What programs that were held out took, over what the model says of them: nine tenths of",
        "# their time lie between low and high. run_to_run: by what share of its time a run of one",
        "# differs from the next. Intervals are widened by both.",
        "[held_out]",
        f"measured_over_predicted = {_quantity(model.held_out.measured_over_predicted)}",
        *_run_to_run(model.held_out.run_to_run),
    ]
    written = "\n".join(lines) + "\n"
    tomllib.loads(written)  # what is written can be read
    return written


def _shared(model: Model) -> list[str]:
    """What nodes share, as far as the model says it."""
    lines = []
    if model.client:
        lines += ["# Bytes a second of each node's link, in and out.", "[client]"]
        lines += [f"bytes_per_s = {_quantity(model.client.bytes_per_s)}", ""]
    if model.bucket:
        lines += ["# So many bytes of what links stood idle they make up for, as token buckets do."]
        lines += ["[bucket]", f"bytes = {_quantity(model.bucket.bytes)}", ""]
    if model.servers:
        lines += ["# Each has the rates above, and a file lies on `stripe_count` of them."]
        lines += ["[servers]", *(f"{name} = {_value(given)}" for name, given in model.servers), ""]
    if model.locks:
        held = model.locks.granularity_bytes
        lines += ["# What a node holds of a file at once, and what handing it over takes, s."]
        lines += ["[locks]", f"granularity_bytes = {_value(held)}"]
        lines += [f"hand_over_s = {_quantity(model.locks.hand_over_s)}", ""]
    if model.metadata:
        lines += ["# Calls on names that the service takes, of all ranks together.", "[metadata]"]
        lines += [f"per_second = {_quantity(model.metadata.per_second)}", ""]
    if model.processors:
        lines += [
            "# What client and servers take of the machine's processors, s: by call and byte;"
        ]
        lines += ["# lock: with what a write between two of them takes more.", "[processors]"]
        lines += [*_quantities(model.processors), ""]
    return lines + (_network(model.network) if model.network else [])


def _network(network: Network) -> list[str]:
    lines = [
        "# Messages between ranks of two nodes, s and bytes a second; node: those of all ranks"
    ]
    lines += ["# of a node together; inside: between ranks of one node. Larger ones than the eager"]
    lines += ["# limit make their sender wait for the receiver.", "[network]"]
    for name, given in network:
        if given is not None:
            shown = str(given) if isinstance(given, int) else _quantity(given)
            lines.append(f"{name} = {shown}")
    return [*lines, ""]


def _run_to_run(share: float | None) -> list[str]:
    return [] if share is None else [f"run_to_run = {share:.3g}"]


def _quantities(table: CallCosts | ByteRates | Processors) -> list[str]:
    return [f"{name} = {_quantity(quantity)}" for name, quantity in table if quantity is not None]


def _quantity(quantity: Quantity) -> str:
    value, low, high = (f"{getattr(quantity, edge):.4g}" for edge in ("value", "low", "high"))
    return f"{{ value = {value}, low = {low}, high = {high} }}"


def _value(value: int | str) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)


def _kinds(kinds: tuple[Kind, ...]) -> str:
    return f"[{', '.join(map(_quoted, kinds))}]"


def _quoted(words: str) -> str:
    """As JSON has it, but for DEL, which TOML wants escaped as well."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")
