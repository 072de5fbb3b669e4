"""What every model of a file system promises, whatever its figures, and whether one keeps it.

from tailrace.predict.conformance import broken_promises
from tailrace.predict.model import named
assert broken_promises(named("scratch.toml")) == []
"""

from __future__ import annotations

from collections.abc import Iterator

from tailrace import engine
from tailrace.gathering import Edge
from tailrace.predict.model import NANOSECONDS_PER_SECOND, Model
from tailrace.predict.patterns import FIRST_FILE, Call, Clients, one_file, own_files

EVERY_EDGE: tuple[Edge, ...] = ("low", "value", "high")
SIZES = (1, 4096, 47_008, 1 << 20, 1 << 24)
PIECES = 20
# The engine counts in whole nanoseconds.
ROUNDING_NS = 1


def broken_promises(model: Model) -> list[str]:
    """A sentence for each promise that the model breaks."""
    return [sentence for edge in EVERY_EDGE for sentence in _broken(model, edge)]


def _broken(model: Model, edge: Edge) -> Iterator[str]:
    yield from _more_bytes_take_no_less(model, edge)
    yield from _cold_is_no_faster(model, edge)
    yield from _clients_are_no_faster_than_servers(model, edge)
    yield from _is_deterministic(model, edge)
    if edge != "value":
        yield from _edges_are_in_order(model, edge)


def _last(model: Model, edge: Edge, clients: Clients, calls: list[list[Call]]) -> int:
    return max(engine.model_ends(model.parameters(edge), clients.node_of, calls))


def _more_bytes_take_no_less(model: Model, edge: Edge) -> Iterator[str]:
    alone = Clients(1, 1)
    for kind in ("write", "read"):
        times = [_last(model, edge, alone, own_files(1, size, PIECES, kind)) for size in SIZES]
        for before, after, size in zip(times, times[1:], SIZES[1:], strict=False):
            if after + ROUNDING_NS < before:
                yield f"{edge}: a {kind} of {size} bytes takes less than a smaller one"


def _cold_is_no_faster(model: Model, edge: Edge) -> Iterator[str]:
    parameters = model.parameters(edge)
    for size in SIZES:
        reads: list[list[Call]] = [[("read", FIRST_FILE, 0, size)]]
        cold = engine.model_ends(parameters, [0], reads)
        if cold < engine.model_ends(parameters, [0], reads, warm=True):
            yield f"{edge}: a read of {size} bytes that the client does not know is faster"


def _clients_are_no_faster_than_servers(model: Model, edge: Edge) -> Iterator[str]:
    """However many there are: what they write comes no faster than all servers take it."""
    parameters = model.parameters(edge)
    for nodes in (1, 4, 16, 64):
        clients, size = Clients(nodes, 2), 1 << 20
        servers = model.servers.count if model.servers else 1
        count = nodes if servers == "node" else servers
        bytes_written = len(clients.node_of) * PIECES * size
        least = bytes_written * parameters["write"] / count
        for name, calls in (
            ("files of their own", own_files(len(clients.node_of), size, PIECES)),
            ("one file", one_file(len(clients.node_of), size, PIECES)),
        ):
            if _last(model, edge, clients, calls) + ROUNDING_NS < least:
                rate = count / parameters["write"] * NANOSECONDS_PER_SECOND
                yield f"{edge}: {nodes} nodes write {name} faster than {rate:.3g} bytes a second"


def _is_deterministic(model: Model, edge: Edge) -> Iterator[str]:
    clients = Clients(4, 4)
    calls = one_file(len(clients.node_of), SIZES[2], PIECES)
    first, again = (
        engine.model_ends(model.parameters(edge), clients.node_of, calls) for _ in range(2)
    )
    if first != again:
        yield f"{edge}: the same calls take another time when they are made again"


def _edges_are_in_order(model: Model, edge: Edge) -> Iterator[str]:
    """Alone: where several wait for each other, a slower call can let others go first."""
    calls = own_files(1, SIZES[2], PIECES)
    value, other = (_last(model, at, Clients(1, 1), calls) for at in ("value", edge))
    if (other > value) if edge == "low" else (other < value):
        should = "faster" if edge == "low" else "slower"
        yield f"{edge}: one client is not {should} than at the value"
