"""Changes to a run, and what each would give.

A change keeps what it does not touch as measured: so no change gives back the measured run time to
the nanosecond. What a change assumes stands beside it; its interval holds what the assumption
leaves open and, where calls take what a model says, what is independent of that and of each other:
what the model was off by on programs that were held out, what rebuilding outputs misses, and how
much one run differs from the next. Of these the root of the sum of their squares counts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from tailrace import engine
from tailrace.errors import TailraceError
from tailrace.gathering import COPY_NS_A_BYTE, EDGES, Edge, gathered
from tailrace.names import printable
from tailrace.predict.change import Change, Described, Known
from tailrace.predict.displaced import Displaced, displaced
from tailrace.predict.methods import Moving, NothingError, Outputs, Way
from tailrace.predict.model import AS_IT_SAYS, Model, faster
from tailrace.predict.polling import UNKNOWN, Polling, polling
from tailrace.predict.spread import model_of_files, own, share
from tailrace.predict.waits import Waits, waits
from tailrace.units import count, to_seconds
from tailrace.usage import Cache
from tailrace.verdict.file_calls import files_in_memory, holds_file_calls

# Without a change a run that is taken again should take what it took; it may miss that by so much.
IDENTICAL = 0.01
# A run that becomes longer or shorter by no more is as long as it was.
NOTABLE = 0.01
# Of the run: less than that nobody sees in it.
SEEN = 0.001


@dataclass(frozen=True)
class Prediction:
    """`edges_s`: between what assumptions leave the run time open, and the numbers of a model.
    `by_numbers`: these alone, which were measured, and are independent of what follows. `off_s`: by
    how much less and more the run may take for what a model leaves out and rebuilding misses.
    `differ`: by what share the changed run and the recorded one differ from the next."""

    change: Described
    predicted_s: float
    edges_s: tuple[float, float]
    efficiency: dict[str, float]
    next: str
    by_numbers: bool = False
    off_s: tuple[float, float] = (0.0, 0.0)
    differ: tuple[float, float] = (0.0, 0.0)

    @property
    def interval_s(self) -> tuple[float, float]:
        low, high = self._between(0.0)
        return max(low, 0.0), high

    def change_interval_s(self, measured_s: float) -> tuple[float, float]:
        """How much longer the run becomes, at least and at most: the run that was recorded differs
        from the next one as well."""
        low, high = self._between(self.differ[1] * measured_s)
        return low - measured_s, high - measured_s

    def _between(self, recorded_s: float) -> tuple[float, float]:
        """`recorded_s`: by how much the recorded run differs."""
        (low, high), (less_s, more_s), (changed, _) = self.edges_s, self.off_s, self.differ
        less = (less_s, changed * low, recorded_s)
        more = (more_s, changed * high, recorded_s)
        if not self.by_numbers:
            return low - math.hypot(*less), high + math.hypot(*more)
        value = self.predicted_s
        return value - math.hypot(value - low, *less), value + math.hypot(high - value, *more)

    def moves(self, measured_s: float) -> bool:
        """Whether anything becomes of the change: a run without files cannot overlap them."""
        return any(moment != measured_s for moment in (self.predicted_s, *self.interval_s))

    def is_open(self, measured_s: float) -> bool:
        """Whether the run may as well become notably longer as notably shorter."""
        low, high = self.change_interval_s(measured_s)
        return low < -NOTABLE * measured_s and high > NOTABLE * measured_s

    def as_json(self, measured_s: float) -> dict[str, Any]:
        return {
            "change": self.change.words,
            "arguments": self.change.arguments,
            "assumes": self.change.assumes,
            "predicted_s": self.predicted_s,
            "interval_s": list(self.interval_s),
            "change_interval_s": list(self.change_interval_s(measured_s)),
            "open": self.is_open(measured_s),
            "efficiency": self.efficiency,
            "next": self.next,
        }


# What is left to gain, by efficiency: each is a share of what those before it leave of the run.
NEXT = {
    "transfer": "time in MPI",
    "io": "time in files",
    "serialization": "ranks wait for each other",
    "load_balance": "ranks compute unequally",
}
# Of the run: what takes no more is not worth naming.
LITTLE = 0.05
COMPUTATION = "computation"


class Run:
    """A trace that can be changed. `path` is a file that holds one."""

    @classmethod
    def of(
        cls,
        path: Path,
        columns: dict[str, Any],
        models: Sequence[Model],
        outputs: bool,
        eager_limit_bytes: int | None = None,
    ) -> Run:
        """With all that the columns of the trace say of it."""
        return cls(
            path,
            eager_limit_bytes,
            outputs,
            waits(columns),
            holds_file_calls(columns),
            files_in_memory(columns),
            models,
            polling(columns),
        )

    def __init__(
        self,
        path: Path,
        eager_limit_bytes: int | None = None,
        outputs: bool = False,
        waited: Waits | None = None,
        knows_files: bool = True,
        in_memory: Sequence[Path] = (),
        models: Sequence[Model] = (),
        polling: Polling = UNKNOWN,
    ) -> None:
        """`outputs`: changes may name another method. `waited`: what ranks waited for a processor,
        which nothing here is known to make less. `knows_files`: whether the trace would tell what
        the program does with files. `in_memory`: those of its files that are memory. `models`: one
        may be of the file system that the run used, which says by how much it differs from the
        next. `polling`: how ranks wait for each other."""
        self.waits = waited
        self._waited = waited.by_state if waited and waited.notable else {}
        self._most_waited_s = waited.most_s if waited else {}
        self._name = printable(path.name)
        self._knows_files = knows_files
        self._in_memory = in_memory
        self._models = models
        self._displaced: dict[Change, Displaced | None] = {}
        self._works_s: dict[Change, float] = {}
        self._ideals_ns: dict[tuple[float, float, Way | None, Moving | None], int] = {}
        self._missed_ns: dict[Change, int] = {}
        self._steps = engine.steps(path, eager_limit_bytes, outputs)
        self._polling = polling
        self._outputs = Outputs(self._steps, self._name, eager_limit_bytes, polling)
        self.measured_s = to_seconds(self._steps.runtime_ns)
        again = self._replay(Change())
        self.again_s = to_seconds(again["runtime_ns"])
        self._differs = self._recorded_differs(models, again)

    @property
    def is_identical(self) -> bool:
        """Whether it takes what it took, where nothing changes: predictions are no better."""
        return abs(self.again_s - self.measured_s) <= IDENTICAL * self.measured_s

    def has_files_in(self, directory: Path) -> bool:
        return bool(self._steps.files_below(directory))

    def moves_nothing(self, directory: Path | None) -> bool:
        """Whether there are files there, or anywhere, and all of them are memory."""
        memory = self._memory_in(directory)
        return bool(memory) and self._steps.files_below(directory or Path("/")) == len(memory)

    def _memory_in(self, directory: Path | None) -> list[Path]:
        return [path for path in self._in_memory if path.is_relative_to(directory or "/")]

    def predict(self, change: Change) -> Prediction:
        """What the run would take. Raises TailraceError for a change that it cannot have."""
        if change.way is not None:
            self._check(change.way)
            _, told = self._outputs.by(change.way, change.moving)
            change = replace(change, told=replace(told, missed_s=self._missed_s(change)))
        change = replace(change, known=self._known(change))
        replayed = self._replay(change)
        at_edges = [(change, edge) for edge in EDGES]
        for edge, way in (change.way.layouts(change.told) if change.way else {}).items():
            at_edges.append((replace(change, way=way), edge))
        edges = [to_seconds(self._replay(*each)["runtime_ns"]) for each in at_edges]
        predicted = to_seconds(replayed["runtime_ns"])
        efficiency = self._efficiency(change, replayed)
        here = share(_in_files(efficiency), change.run_to_run)
        return Prediction(
            change,
            predicted,
            (min(predicted, *edges), max(predicted, *edges)),
            efficiency,
            left_to_gain(efficiency),
            change.is_told_by_numbers,
            self._off_s(change, predicted, self._beside_s(change, predicted, efficiency)),
            (here, self._differs) if change.is_modelled else (0.0, 0.0),
        )

    def _recorded_differs(self, models: Sequence[Model], again: dict[str, Any]) -> float:
        """By what share the recorded run differs from the next."""
        known = own(models, self.has_files_in)
        if known is None:
            return share(0.0, None)
        by_runs = share(_in_files(self._efficiency(Change(), again)), known.of_files)
        return math.hypot(by_runs, self._by_numbers(known.model, known.directory))

    def _by_numbers(self, model: Model, directory: Path) -> float:
        """By what share the run changes with the numbers of the model of its own file system, which
        differ from round to round: calls of its kinds may have been as quick or slow."""
        same = Change(target=model.by_chance, directory=directory, cache="cold")
        low, value, high = (
            self._replay(same, edge, off="value")["runtime_ns"] for edge in ("low", "value", "high")
        )
        return float(max(high - value, value - low) / max(value, 1))

    def _beside_s(
        self, change: Change, predicted_s: float, efficiency: dict[str, float]
    ) -> tuple[float, float]:
        """By how much less and more the run takes for what ranks wait for a processor outside of
        file calls: where these are of another file system or method, whoever had the processor may
        not want it, as its client and servers, or still do."""
        if not change.is_modelled:
            return 0.0, 0.0
        without_mpi, left = efficiency["transfer"], self._left(change)
        rest = {"useful": without_mpi * efficiency["io"], "mpi": 1 - without_mpi}
        waited_s = {state: self._most_waited_s.get(state, 0.0) for state in rest}
        less_s = sum(min(left * waited_s[state], rest[state] * predicted_s) for state in rest)
        return less_s, (1 - left) * sum(waited_s.values())

    def _left(self, change: Change) -> float:
        found = self._displaced_by(change)
        return found.left if found is not None else 1.0

    def _displaced_by(self, change: Change) -> Displaced | None:
        """None where it cannot be told how long ranks wait for client and servers: models do not
        say what these take, or of where the run has its files there is none; or ranks have no
        processor each, and wait for one another."""
        if change not in self._displaced:  # found twice by two threads it is the same
            self._displaced[change] = self._found_displaced(change)
        return self._displaced[change]

    def _found_displaced(self, change: Change) -> Displaced | None:
        mine = model_of_files(self._models, self.has_files_in)
        waits = self._waits_alone()
        if change.target is None or change.stage is not None or mine is None or waits is None:
            return None
        model, directory = mine
        all_move = change.directory is None or directory.is_relative_to(change.directory)
        if not all_move or model.processors is None or change.target.processors is None:
            return None
        was_s = self._worked_s(Change(target=model, directory=directory, cache=change.cache))
        is_s = self._worked_s(replace(change, directory=directory))
        return displaced(waits.all_s, was_s, is_s)

    def _waits_alone(self) -> Waits | None:
        """What ranks waited that had a processor each, if anybody could see it in the run time."""
        outside_s = sum(self._most_waited_s.get(state, 0.0) for state in ("useful", "mpi"))
        seen = outside_s > SEEN * self.measured_s
        return self.waits if self.waits and self.waits.alone and seen else None

    def _worked_s(self, change: Change) -> float:
        """What client and servers take of processors."""
        if change not in self._works_s:  # found twice by two threads it is the same
            replayed = self._replay(change, left=1.0)
            self._works_s[change] = to_seconds(replayed["worked_ns"])
        return self._works_s[change]

    def _off_s(
        self, change: Change, predicted_s: float, beside_s: tuple[float, float]
    ) -> tuple[float, float]:
        """By how much less and more the run takes if the models leave out as much as they did of
        programs that were held out, and rebuilding as much as of the method of the run. That all of
        those took less, say, does not tell to which side another program is off."""
        missed_s = change.told.missed_s if change.told else 0.0
        found = [predicted_s]
        if any(model.held_out.measured_over_predicted != AS_IT_SAYS for model in change.models):
            replayed = [self._replay(change, off=edge) for edge in EDGES]
            found += [to_seconds(each["runtime_ns"]) for each in replayed]
        times = max(max(found) / predicted_s, predicted_s / min(found)) if min(found) > 0 else 1.0
        less_s, more_s = predicted_s * (1 - 1 / times), predicted_s * (times - 1)
        less = math.hypot(less_s, missed_s, beside_s[0])
        return less, math.hypot(more_s, missed_s, beside_s[1])

    def _check(self, way: Way) -> None:
        ranks = self._steps.ranks
        if way.aggregators is not None and way.aggregators > ranks:
            raise TailraceError(
                f"{self._name} has {count(ranks, 'rank')}, so {way.aggregators:,} cannot write for"
                " the others",
                f"--aggregators takes 1 to {ranks}",
            )

    def _known(self, change: Change) -> Known:
        merges = change.merge is not None
        return Known(
            self._waited,
            self._knows_files,
            self._steps.reads(change.directory) if change.target is not None else True,
            self._steps.tells_writes() if merges else True,
            is_own=self._is_own(change),
            in_memory=change.target is not None and bool(self._memory_in(change.directory)),
            displaced=self._displaced_by(change),
        )

    def _missed_s(self, change: Change) -> float:
        """What the outputs of the run take longer as recorded than rebuilt as they were made, with
        nothing else changed but the target: the one method of which it is known what rebuilding
        misses."""
        kept = replace(change, way=None, told=None)
        steps = self._outputs.as_made(change.moving)
        if steps is None:
            return 0.0
        if kept not in self._missed_ns:  # found twice by two threads it is the same
            recorded, rebuilt = (self._replay(kept, steps=each) for each in (None, steps))
            self._missed_ns[kept] = recorded["runtime_ns"] - rebuilt["runtime_ns"]
        return to_seconds(self._missed_ns[kept])

    def _is_own(self, change: Change) -> bool:
        if change.way is None or change.target is None or change.target.directory is None:
            return False
        elsewhere = (change.stripes, change.ranks_per_node, change.stage)
        where = Path(change.target.directory)
        return all(each is None for each in elsewhere) and self.has_files_in(where)

    def ranked(self, changes: Iterable[Change]) -> list[Prediction]:
        """The predictions, the largest gain first."""
        with ThreadPoolExecutor(cores()) as pool:  # the engine replays without Python's lock
            return sorted(pool.map(self.predict, changes), key=lambda found: found.predicted_s)

    def possible(self, changes: Iterable[Change]) -> list[Change]:
        """But those to a method that would change nothing; of a run with its outputs."""
        changes = list(changes)
        with ThreadPoolExecutor(cores()) as pool:
            return [
                change
                for change, can in zip(changes, pool.map(self._is_possible, changes), strict=True)
                if can
            ]

    def _is_possible(self, change: Change) -> bool:
        try:
            return change.way is None or bool(self._outputs.by(change.way, change.moving))
        except NothingError:
            return False

    def _replay(
        self,
        change: Change,
        edge: Edge = "value",
        network: bool = True,
        files: bool = True,
        steps: Any = None,
        off: Edge = "value",
        left: float | None = None,
    ) -> dict[str, Any]:
        """`edge` "low": what the change leaves open is as fast as may be, "high": as slow. Without
        `network` MPI takes no time, without `files` no call in them does. `steps`: in place of the
        run's. `off`: as `edge`, what models leave out. `left`: of what ranks waited for a
        processor, if not by what client and servers take of these."""
        slow = edge == "high"
        left = self._left(change) if left is None else left
        io = self._share(change.io, "io", edge) if files else 0.0
        mpi = self._share(change.network, "mpi", edge, left) if network else 0.0
        # a call that waits for nobody may have nothing to do with the network
        others = self._share(1.0, "mpi", edge, left)
        taken: dict[str, Any] = {
            "useful": self._share(change.compute, "useful", edge, left),
            "network": mpi,
            "mpi": others if slow and network else mpi,
            "bytes": io,
            # a faster file system may open and close no faster
            "others": max(io, 1.0) if slow and files else io,
        }
        if change.target is not None and files:
            target = change.target
            if change.stripes is not None:
                target = target.striped(change.stripes)
            taken["model"] = faster(self._polling.parameters(target, edge, off), change.io)
            taken["warm"] = is_warm(change.cache, edge)
            taken["ranks_per_node"] = change.ranks_per_node
            if change.known.is_own:
                # client and servers, for which these calls waited, had no more processors either
                beyond = self._outputs.beyond(target, edge, taken["warm"], off)
                taken["beyond"] = (beyond, io * (1.0 if slow else left))
        if change.stage is not None and files:
            staged = self._polling.parameters(change.stage, edge, off)
            taken["staged"] = faster(staged, change.io)
        taken["directory"] = change.directory
        if change.merge is not None and files:
            taken["merged"] = gathered(self._steps, change.merge, edge)
        # where ranks waited for a processor, none may be free for the thread that writes
        if change.overlap and files and not (slow and self._waited):
            taken["overlapped"] = COPY_NS_A_BYTE[edge]
        steps = steps or self._steps
        if change.way is not None:
            steps, _ = self._outputs.by(change.way, change.moving, edge)
        replayed: dict[str, Any] = steps.replay(**taken)
        return replayed

    def _share(self, factor: float, state: str, edge: Edge, left: float = 1.0) -> float:
        """What is left of the time in a state that becomes so many times as fast, and of what ranks
        waited for a processor there."""
        waited = 0.0 if edge == "low" else self._waited.get(state, 0.0)
        gone = (1 - left) * self.waits.by_state.get(state, 0.0) if self.waits else 0.0
        return max(waited + (1 - waited) / factor - gone, 0.0)

    def _efficiency(self, change: Change, replayed: dict[str, Any]) -> dict[str, float]:
        """As of a measured run (docs/reference/report.md), with even I/O left out."""
        useful = replayed["useful_ns"]
        runtime = max(replayed["runtime_ns"], 1)
        # where calls come in another order then, that may take longer: not for want of a network
        network = min(self._replay(change, network=False)["runtime_ns"], runtime)
        ideal = self._ideal_ns(change)
        most = max(useful, default=0)
        return {
            "parallel": fmean(useful) / runtime,
            "load_balance": fmean(useful) / most if most else 1.0,
            "serialization": most / ideal if ideal else 1.0,
            "io": ideal / network if network else 1.0,
            "transfer": network / runtime,
        }

    def _ideal_ns(self, change: Change) -> int:
        """Without network and files, where only these changes matter."""
        left = self._left(change)
        key = (change.compute, left, change.way, change.moving if change.way else None)
        if key not in self._ideals_ns:  # found twice by two threads it is the same
            replayed = self._replay(change, network=False, files=False)
            self._ideals_ns[key] = int(replayed["runtime_ns"])
        return self._ideals_ns[key]


def _in_files(efficiency: dict[str, float]) -> float:
    """Of a run, the share that its ranks would save without any time in files."""
    return efficiency["transfer"] * (1 - efficiency["io"])


def is_warm(cache: Cache | None, edge: Edge) -> bool:
    """Whether clients know the files when the run begins; where nobody said so, at best."""
    return cache == "warm" or (cache is None and edge == "low")


def cores() -> int:
    return len(os.sched_getaffinity(0))


def left_to_gain(efficiency: dict[str, float]) -> str:
    """What the run loses most time by. Not the lowest efficiency: without computing that of files
    is 0, however little time they take."""
    lost, rest = {}, 1.0
    for name in NEXT:
        lost[name] = rest * (1 - efficiency[name])
        rest *= efficiency[name]
    most = max(lost, key=lambda name: lost[name])
    return COMPUTATION if lost[most] <= LITTLE else NEXT[most]
