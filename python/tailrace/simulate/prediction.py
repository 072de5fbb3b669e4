"""What a simulated run takes, how sure that is, and what of it is left to gain."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from tailrace import engine
from tailrace.errors import TailraceError
from tailrace.gathering import EDGES, Edge
from tailrace.predict.model import Model
from tailrace.predict.whatif import cores, is_warm, left_to_gain
from tailrace.units import to_seconds
from tailrace.usage import Cache


@dataclass(frozen=True)
class Network:
    """What a message takes, and a byte of it."""

    latency_ns: Mapping[Edge, float]
    byte_ns: Mapping[Edge, float]
    eager_limit_bytes: int

    def parameters(self, edge: Edge) -> dict[str, float]:
        return {
            "latency": self.latency_ns[edge],
            "byte": self.byte_ns[edge],
            "eager_limit_bytes": self.eager_limit_bytes,
        }


class Simulated(NamedTuple):
    predicted_s: float
    interval_s: tuple[float, float]
    efficiency: dict[str, float]
    next: str
    # So many calls of a rank were taken as one.
    together: int
    # So many model steps, with their output, took what those before them took.
    repeated: int


def simulate(
    workload: dict[str, Any], model: Model, network: Network, cache: Cache | None
) -> Simulated:
    """`workload` is what `description.described` makes. `cache`: None leaves open what clients know
    of the input."""

    def run(edge: Edge, messages: bool = True) -> dict[str, Any]:
        taken = network.parameters(edge)
        if not messages:
            taken |= {"latency": 0.0, "byte": 0.0}
        warm = is_warm(cache, edge)
        found = engine.simulate(workload, model.parameters(edge), warm=warm, **taken)
        if found is None:
            raise TailraceError(
                f"{workload['ranks']} ranks cannot be laid out so that each has a cell",
                "use fewer ranks, other tiles or a larger grid",
            )
        return found

    with ThreadPoolExecutor(cores()) as pool:  # the engine simulates without Python's lock
        alone = pool.submit(run, "value", False)
        value, *edges = pool.map(run, ("value", *EDGES))
        without_messages = alone.result()["runtime_ns"]
    predicted = to_seconds(value["runtime_ns"])
    bounds = [to_seconds(found["runtime_ns"]) for found in edges]
    efficiency = _efficiency(workload, value, without_messages)
    return Simulated(
        predicted,
        (min(predicted, *bounds), max(predicted, *bounds)),
        efficiency,
        left_to_gain(efficiency),
        value["together"],
        value["repeated"],
    )


def _efficiency(
    workload: dict[str, Any], found: dict[str, Any], without_messages: int
) -> dict[str, float]:
    """As of a measured run (docs/reference/report.md). All ranks compute in each step until the
    slowest is done, so none waits for another by turns."""
    computed = workload["steps"] * workload["step_ns"]
    runtime = max(found["runtime_ns"], 1)
    balance = found["balance"] if computed else 1.0
    return {
        "parallel": balance * computed / runtime,
        "load_balance": balance,
        "serialization": 1.0,
        "io": computed / without_messages if without_messages else 1.0,
        "transfer": without_messages / runtime,
    }
