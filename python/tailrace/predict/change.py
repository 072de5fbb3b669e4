"""Changes to a run, in words, and what each takes for granted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tailrace.gathering import GATHERED_BYTES
from tailrace.names import printable
from tailrace.predict.displaced import Displaced
from tailrace.predict.methods import METHODS, Moving, Told, Way
from tailrace.predict.model import Model
from tailrace.predict.spread import RUN_TO_RUN
from tailrace.units import chosen_bytes, count, percent
from tailrace.usage import Cache

WITHOUT_FILES = (
    "file calls are not in the trace: what the program does with files counts as computation, and"
    " no change of files or of a file system changes it"
)


class Known(NamedTuple):
    """What is known of the run that changes."""

    # Of the time in each state, the share in which ranks waited for a processor.
    waited: Mapping[str, float] = {}
    # Whether the trace tells what the program does with files.
    files: bool = True
    # Whether anything is read of the files that move.
    reads: bool = True
    # Whether writes are of sizes so different that what a write takes by itself can be told from
    # its bytes; None where nothing is written.
    tells_writes: bool | None = True
    # Whether files lie where the target was measured, and only the method changes.
    is_own: bool = False
    # Whether some of the files that would move are memory.
    in_memory: bool = False
    # What is left of waits for a processor that client and servers had, if that is told.
    displaced: Displaced | None = None


@dataclass(frozen=True)
class Change:
    """One change, or several together. Factors say how many times as fast; 1 is as measured."""

    compute: float = 1.0
    network: float = 1.0
    io: float = 1.0
    target: Model | None = None
    # Of the target: only files in it or below it move there; and what its clients know of them
    # when the run begins, if that is known.
    directory: Path | None = None
    cache: Cache | None = None
    # Over how many of the target's servers its files are striped, and ranks of a node.
    stripes: int | None = None
    ranks_per_node: int | None = None
    # Where what is written goes first.
    stage: Model | None = None
    # Bytes.
    merge: int | None = None
    overlap: bool = False
    # How outputs are made, and what is known of their data.
    way: Way | None = None
    told: Told | None = field(default=None, compare=False)
    known: Known = field(default=Known(), compare=False)

    @property
    def is_faster(self) -> bool:
        """Or slower: whether something takes its measured time divided by a factor."""
        return (self.compute, self.network, self.io) != (1, 1, 1)

    @property
    def is_modelled(self) -> bool:
        """Whether anything takes what a model says, instead of a part of what it took."""
        return any(each is not None for each in (self.target, self.stage, self.way))

    @property
    def holds_spread(self) -> bool:
        return self.is_modelled

    @property
    def words(self) -> str:
        parts = [] if self.way is None else [self.way.words]
        where = printable(str(self.directory))
        if self.target is not None:
            what = f"{where} " if self.directory is not None else ""
            parts.append(f"{what}on {self.target.name}")
        if self.cache is not None:
            parts.append(f"with a {self.cache} cache")
        if self.stripes is not None:
            parts.append(f"striped over {count(self.stripes, 'server')}")
        if self.ranks_per_node is not None:
            parts.append(f"with {count(self.ranks_per_node, 'rank')} on each node")
        if self.stage is not None:
            what = "" if self.target is not None or self.directory is None else f"{where} "
            parts.append(f"{what}staged on {self.stage.name}")
        for factor, what in (
            (self.io, "file system"),
            (self.network, "network"),
            (self.compute, "processors"),
        ):
            if factor != 1:
                parts.append(f"{what} {_times(factor)} as fast")
        if self.merge is not None:
            parts.append(f"writes gathered up to {chosen_bytes(self.merge)}")
        if self.overlap:
            parts.append("output beside computation")
        return ", ".join(parts) or "no change"

    @property
    def assumes(self) -> list[str]:
        """What the prediction takes for granted."""
        found = [] if self.known.files else [WITHOUT_FILES]
        found += self._assumed_of_places()
        if self.known.waited and self.is_faster:
            found.append(
                "what ranks waited for a processor stays as it was; at best it is divided by the"
                " factor too"
            )
        if self.way is not None:
            found += self.way.assumes(self.told)
        if self.io != 1:
            found.append(self._assumed_of_io())
        if self.network != 1:
            found.append("MPI takes what it took beyond waiting, divided by the factor")
        if self.compute != 1:
            found.append("time outside of MPI and files is divided by the factor")
        if self.merge is not None:
            found += self._assumed_of_merging()
        if self.overlap:
            found.append(
                "each rank has a thread that writes, memory for what it has not written, and"
                " computes no slower beside it"
            )
            if self.known.waited:
                found.append("at worst no processor is free for that thread, and nothing is saved")
        return found

    def _assumed_of_io(self) -> str:
        measured = "takes its measured time divided by the factor"
        if self.target is None:
            return f"every call in files {measured}"
        modelled = "what the model says of a call is divided by the factor"
        return modelled if self.directory is None else f"{modelled}; every other call {measured}"

    def _assumed_of_merging(self) -> list[str]:
        found = [
            "each rank gathers what it writes one behind the other into a file, until it does"
            " something else with the file, and no other rank reads it earlier"
        ]
        if self.target is None and self.known.tells_writes:
            found.append(
                "what a write takes by itself is told from writes of several sizes; at best"
                " many take as long as one, at worst nothing is saved"
            )
        elif self.target is None and self.known.tells_writes is not None:
            found.append(
                "all writes are of about one size, so what one takes by itself is not known: bytes"
                " are taken to go at 100 MB/s, or 1 GB/s where a write takes less than 10 µs; at"
                " best many take as long as one, at worst nothing is saved"
            )
        return found

    def _assumed_of_places(self) -> list[str]:
        """… where files and ranks lie elsewhere."""
        found = []
        if self.target is not None:
            moved = "every file" if self.directory is None else "every file there"
            found.append(f"every call in {moved} costs what the model says")
            if self.known.in_memory:
                found.append("files in /dev/shm are memory, not files, and do not move")
            if self._moves_alone:
                found.append("nothing else changes")
            if self.known.reads:
                found += assumed_of_cache(self.target, self.cache)
        if self.target is not None and self.known.is_own:
            found.append(
                f"{self.target.name} was measured where the run has its files: calls that stay and"
                " move no data take as much longer, or less long, than it says as they did"
            )
        if self.ranks_per_node is not None:
            found.append(
                "ranks share nodes in their order, and the target's caches, links and locks by"
                " node; messages take what they took"
            )
        if self.stage is not None:
            found.append(
                f"what is written goes to {self.stage.name} first, and a mover on each node, for"
                " which a processor is free, brings it to where it goes beside the run, which ends"
                " when all has arrived; no other node reads it earlier"
            )
        if self.is_modelled and self.known.waited:
            found.append(self._assumed_of_waits())
        if self.is_modelled:
            found.append(self._assumed_of_runs())
        return found

    def _assumed_of_waits(self) -> str:
        """… for a processor."""
        calls = "calls that cost what a model says wait for no processor; "
        if self.known.displaced is not None:
            return calls + self.known.displaced.words
        return calls + "what ranks waited for one elsewhere stays, and is gone at best"

    def _assumed_of_runs(self) -> str:
        if self.run_to_run is None:
            return f"one run differs from the next by up to {percent(RUN_TO_RUN)}"
        return (
            "one run differs from the next in files by up to"
            f" {percent(self.run_to_run)}, as programs did that were run twice to make the model,"
            f" and in all else by up to {percent(RUN_TO_RUN)} of the run"
        )

    @property
    def run_to_run(self) -> float | None:
        """By what share the time in files differs from one run to the next, if models say it."""
        found = [model.held_out.run_to_run for model in self.models]
        known = [share for share in found if share is not None]
        return max(known) if found and len(known) == len(found) else None

    @property
    def models(self) -> list[Model]:
        """Those that say what calls take."""
        return [model for model in (self.target, self.stage) if model is not None]

    @property
    def is_told_by_numbers(self) -> bool:
        """Whether nothing is open but the numbers of a model, each of which was measured."""
        if self.target is None or self.ranks_per_node is not None or not self._moves_alone:
            return False
        knows_cache = self.cache is not None or self.target.cache.rereads != "always"
        return knows_cache or not self.known.reads

    @property
    def _moves_alone(self) -> bool:
        others = (self.way, self.merge, self.stage)
        return not (self.is_faster or self.overlap or any(each is not None for each in others))

    @property
    def moving(self) -> Moving:
        return Moving(self.directory, self.ranks_per_node)

    @property
    def arguments(self) -> dict[str, Any]:
        named = {"compute": self.compute, "network": self.network, "io": self.io}
        chosen: dict[str, Any] = {name: factor for name, factor in named.items() if factor != 1}
        if self.target is not None:
            chosen["target"] = self.target.name
        if self.directory is not None:
            chosen["files"] = str(self.directory)
        if self.cache is not None:
            chosen["cache"] = self.cache
        if self.stripes is not None:
            chosen["stripes"] = self.stripes
        if self.ranks_per_node is not None:
            chosen["ranks_per_node"] = self.ranks_per_node
        if self.stage is not None:
            chosen["stage"] = self.stage.name
        if self.merge is not None:
            chosen["merge_bytes"] = self.merge
        if self.overlap:
            chosen["overlap"] = True
        return chosen if self.way is None else chosen | self.way.arguments


def assumed_of_cache(target: Model, cache: Cache | None) -> list[str]:
    """What is taken for granted of what clients know when the run begins. Those that keep nothing
    of a file that is closed know nothing, whatever anybody says."""
    keeps = target.cache.rereads == "always"
    if cache == "warm" and keeps:
        return ["the client has what is read, even where the program has it dropped from its cache"]
    if cache == "warm":
        return [
            f"what is read lies on the servers: by its model, {target.name} keeps nothing of a file"
            " that was closed"
        ]
    if cache is None and keeps:
        return ["what is read lies on the servers; at best the client has it already"]
    return []


class Described(Protocol):
    """What was changed, as answers say it."""

    @property
    def words(self) -> str: ...

    @property
    def assumes(self) -> list[str]: ...

    @property
    def arguments(self) -> dict[str, Any]: ...

    # Whether the interval holds how much one run differs from the next.
    @property
    def holds_spread(self) -> bool: ...


def _times(factor: float) -> str:
    return "twice" if factor == 2 else f"{factor:g} times"


def default_changes(models: Iterable[Model], moving: dict[str, Any] | None = None) -> list[Change]:
    """What one would ask first of any run. `moving`: `directory` and `cache` of all targets."""
    moved = [Change(target=model, **(moving or {})) for model in models]
    return [
        Change(io=2),
        Change(network=2),
        Change(compute=2),
        Change(merge=GATHERED_BYTES),
        Change(overlap=True),
        *moved,
        *(replace(change, overlap=True) for change in moved),
    ]


def by_methods(models: Iterable[Model], moving: dict[str, Any]) -> list[Change]:
    """Output by each method on each target."""
    moved = [Change(target=model, **moving) for model in models]
    return [replace(change, way=Way(method)) for change in moved for method in METHODS]
