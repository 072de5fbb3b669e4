"""How far a study is, on stderr: a bar with the remaining time in a terminal, elsewhere a line now
and then."""

import time
from collections.abc import Mapping
from statistics import fmean

from rich.progress import BarColumn, Progress, TextColumn

from tailrace.names import printable
from tailrace.study.definition.columns import ANSWERED, RunStatus
from tailrace.study.definition.placeholders import as_text
from tailrace.study.running.results import Result
from tailrace.terminal import console, tell
from tailrace.units import count, seconds

# Where stderr is no terminal, a line as often as this.
LINE_EVERY_S = 15.0


class Remaining:
    """How long the runs that are still to come will take: as long as those of the same combination
    did, and where there is none yet, as those of all others.
    """

    def __init__(self) -> None:
        self._spent_s: dict[int, list[float]] = {}

    def add(self, combination: int, spent_s: float) -> None:
        self._spent_s.setdefault(combination, []).append(spent_s)

    def of(self, combinations: list[int]) -> float | None:
        """In seconds; None before the first run."""
        means = {combination: fmean(times) for combination, times in self._spent_s.items()}
        if not means:
            return None
        average = fmean(means.values())
        return sum(means.get(combination, average) for combination in combinations)


class Display:
    """Shows what runs and what is left. `total`: runs that are certain to be made, those of earlier
    starts included."""

    def __init__(self, name: str) -> None:
        out = console(stderr=True)
        self._terminal = out.is_terminal
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[what]}"),
            console=out,
            transient=True,
            disable=not self._terminal,
        )
        self._task = self._bar.add_task(name, total=None, what="")
        self._told = 0.0

    def __enter__(self) -> "Display":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begins(
        self, done: int, total: int, levels: Mapping[str, object], left_s: float | None
    ) -> None:
        """Without levels: where others make the runs."""
        if self._terminal:
            what = "; ".join(
                filter(None, [f"{done} of {total} runs{_left(left_s)}", _named(levels)])
            )
            self._bar.update(self._task, total=total, completed=done, what=what)

    def ended(
        self,
        done: int,
        total: int,
        levels: Mapping[str, object],
        result: Result,
        left_s: float | None,
    ) -> None:
        """Failures are always told; successes where there is no bar, and not more often than every
        LINE_EVERY_S."""
        good = result.status in (*ANSWERED, RunStatus.UNAVAILABLE)
        if (
            good
            and (self._terminal or time.monotonic() - self._told < LINE_EVERY_S)
            and done != total
        ):
            return
        self._told = time.monotonic()
        elapsed = result.numbers.get("elapsed_s")
        how = result.status if good or not result.reason else f"{result.status}: {result.reason}"
        took = f" in {seconds(elapsed)}" if elapsed is not None else ""
        tell(f"{done} of {count(total, 'run')}{_left(left_s)}; {_named(levels)}: {how}{took}")


def _named(levels: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {printable(as_text(level))}" for name, level in levels.items())


def _left(left_s: float | None) -> str:
    return "" if left_s is None else f", about {duration(left_s)} left"


def duration(value_s: float) -> str:
    """`40 s`, `17 min`, `2 h 5 min`."""
    if value_s < 90:
        return f"{value_s:.0f} s"
    minutes = round(value_s / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
