"""Why a run did not come to its end, each with its sentence."""

from tailrace.bench.execute import Ending, Stopped
from tailrace.errors import TailraceError
from tailrace.names import printable

SAID_AT_MOST = 600


class FailedRunError(TailraceError):
    """The run did not do what was asked of it; what it wrote does not count."""


class LateRunError(FailedRunError):
    """The run was not over at its time limit."""


class InterruptedRunError(FailedRunError):
    """We were asked to stop."""


def check_stopped(ending: Ending, program: str, time_limit_s: float) -> None:
    """Raises where we ended the run."""
    if ending.stopped is Stopped.INTERRUPTED:
        raise InterruptedRunError("the run was interrupted, and all its processes were ended")
    if ending.stopped is Stopped.TIME_LIMIT:
        raise LateRunError(
            f"{program} was not over after {time_limit_s:g} s, and all its processes were ended",
            "give more time with --time-limit, or choose a smaller --size",
        )


def check_kernel(ending: Ending, program: str) -> None:
    """Raises where a kernel failed, with its own sentence where it said one."""
    end = ending.records.end
    if end is not None and end["status"] != 0:
        hints = [line for line in ending.output.splitlines() if line.startswith("hint: ")]
        raise FailedRunError(
            f"{program}: {printable(str(end.get('error', ''))).rstrip('.')}",
            printable(hints[0].removeprefix("hint: ")) if hints else "",
        )
    if ending.status != 0 or end is None:
        status = ending.status
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        lines = [line.strip() for line in ending.output.splitlines() if line.strip().strip("-=*")]
        said = printable(" ".join(lines))[:SAID_AT_MOST] or "it said nothing"
        raise FailedRunError(f"{program} {how}: {said}")
