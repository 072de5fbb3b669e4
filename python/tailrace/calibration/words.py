"""What is said of several ranks, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.calibration.several import Several
from tailrace.predict.model import Model
from tailrace.units import byte_count, count, percent, seconds


def told(several: Several) -> str:
    """Where the figures come from."""
    nodes = count(several.nodes, "node")
    return f"then {several.ranks} ranks on {nodes}, {count(several.rounds, 'round')}"


def of_several(model: Model, several: dict[str, Any]) -> Iterator[str]:
    """What the model holds beside one client's figures, and how true it is."""
    yield from _of_messages(model, several)
    found = []
    if model.client:
        found.append(f"a node's link moves {byte_count(model.client.bytes_per_s.value)}/s")
    if model.locks:
        found.append(f"locks are handed over in {seconds(model.locks.hand_over_s.value)}")
    if model.metadata:
        found.append(f"servers take {model.metadata.per_second.value:.0f} calls on names a second")
    if found:
        yield "; ".join(found)
    if errors := several["files"]:
        yield f"of {count(errors['runs'], 'program')} of several nodes {_half(errors)}"


def _of_messages(model: Model, several: dict[str, Any]) -> Iterator[str]:
    network, errors = model.network, several["messages"]
    if network is None or errors is None:
        return
    inside = network.latency_s is None
    latency, rate = network.latency(inside), network.rate(inside, 1)
    if latency is not None and rate is not None:
        where = "inside a node" if inside else "between nodes"
        yield (
            f"a message {where} takes {seconds(latency.value)} and moves"
            f" {byte_count(rate.value)}/s; of {count(errors['runs'], 'message')} {_half(errors)}"
        )


def _half(errors: dict[str, float]) -> str:
    median, worst = percent(errors["median_error"]), percent(errors["worst_error"])
    return f"that were held out, half are predicted to {median}, the worst to {worst}"
