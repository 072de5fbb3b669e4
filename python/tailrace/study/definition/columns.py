"""The columns of a study's two tables, in their order: name, words, unit, kind, what is better.

Factors come after the identity of a run, the numbers that a command printed after what is measured.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tailrace.verdict.efficiencies import POP_FACTORS, TAILRACE_FACTORS


class RunStatus(StrEnum):
    """How a run ended. `WRONG`: it ended, but did not write or print what it should. `SIMULATED`:
    nothing was run. `UNAVAILABLE`: nor can it be simulated."""

    DONE = "done"
    FAILED = "failed"
    TIMEOUT = "timeout"
    WRONG = "wrong"
    SIMULATED = "simulated"
    UNAVAILABLE = "unavailable"


# Of these nothing was run.
NOT_RUN = (RunStatus.SIMULATED, RunStatus.UNAVAILABLE)
# These have a run time.
ANSWERED = (RunStatus.DONE, RunStatus.SIMULATED)
RUN_TIME = "elapsed_s"
# The interval of a simulated run's.
SIMULATED_LOW, SIMULATED_HIGH = "simulated_low_s", "simulated_high_s"
# So many calls of a rank were taken as one in it.
SIMULATED_TOGETHER = "simulated_together"


class ColumnKind(StrEnum):
    """What a column is about; the order of the table of runs."""

    IDENTITY = "identity"
    ENDING = "ending"
    TIME = "time"
    AMOUNT = "amount"
    RATE = "rate"
    SHARE = "share"
    EFFICIENCY = "efficiency"
    CIRCUMSTANCE = "circumstance"


@dataclass(frozen=True)
class Column:
    """`reported`: reports speak of it. `scales`: a time that more ranks share, so that it shrinks
    with their number at best; other times are sums over ranks."""

    name: str
    words: str
    unit: str
    kind: ColumnKind
    reported: bool = True
    scales: bool = False

    @property
    def more_is_better(self) -> bool:
        return self.kind in (ColumnKind.RATE, ColumnKind.EFFICIENCY)


def _about(name: str, words: str, unit: str, kind: ColumnKind) -> Column:
    return Column(name, words, unit, kind, reported=False)


def _time(name: str, words: str, scales: bool = False) -> Column:
    return Column(name, words, "s", ColumnKind.TIME, scales=scales)


def _rate(name: str, words: str) -> Column:
    return Column(name, words, "MB/s", ColumnKind.RATE)


def _efficiencies() -> Iterator[Column]:
    for prefix, words, factors in (
        ("efficiency_", "", TAILRACE_FACTORS),
        ("pop_", "POP's ", POP_FACTORS),
    ):
        for factor in factors:
            name = factor.name if factor.name[1] == "/" else factor.name.lower()
            yield Column(f"{prefix}{factor.key}", words + name, "share", ColumnKind.EFFICIENCY)


COLUMNS = (
    _about("run", "number", "", ColumnKind.IDENTITY),
    _about("block", "repetition", "", ColumnKind.IDENTITY),
    _about("order", "place in time", "", ColumnKind.IDENTITY),
    _about("begun_unix_s", "begin", "s", ColumnKind.IDENTITY),
    _about("status", "status", "", ColumnKind.ENDING),
    _about("reason", "reason", "", ColumnKind.ENDING),
    _time(RUN_TIME, "elapsed time", scales=True),
    _time("user_s", "user time"),
    _time("system_s", "system time"),
    _time("user_per_rank_s", "user time of one rank", scales=True),
    _time("system_per_rank_s", "system time of one rank"),
    _time("output_s", "output time", scales=True),
    _time("input_s", "input time", scales=True),
    _rate("write_rate_mb_per_s", "write rate"),
    _rate("write_rate_whole_mb_per_s", "write rate with open, sync and close"),
    _rate("read_rate_mb_per_s", "read rate"),
    _rate("read_rate_whole_mb_per_s", "read rate with open and close"),
    _rate("posix_rate_mb_per_s", "rate of POSIX calls"),
    _rate("stdio_rate_mb_per_s", "rate of STDIO calls"),
    _time("create_s", "time to create"),
    _time("write_s", "time in writes", scales=True),
    _time("read_s", "time in reads", scales=True),
    _time("sync_s", "time in sync"),
    _time("open_s", "time to open"),
    _time("close_s", "time to close"),
    _time("compute_s", "time computing (all ranks)"),
    _time("communicate_s", "time communicating (all ranks)"),
    _time("shared_write_s", "time in shared writes (all ranks)"),
    _time("shared_read_s", "time in shared reads (all ranks)"),
    _time("read_and_write_s", "time in reads and writes (all ranks)"),
    Column("create_share", "share of creation", "share", ColumnKind.SHARE),
    Column("shared_write_share", "share of shared writes", "share", ColumnKind.SHARE),
    Column("shared_read_share", "share of shared reads", "share", ColumnKind.SHARE),
    Column("maximum_resident_bytes", "memory of the largest rank", "bytes", ColumnKind.AMOUNT),
    *_efficiencies(),
    # these say the same as a response does
    _about("launch_to_end_s", "launch to end", "s", ColumnKind.TIME),
    _about("bytes_written", "bytes written", "bytes", ColumnKind.AMOUNT),
    _about("bytes_read", "bytes read", "bytes", ColumnKind.AMOUNT),
    _about("verified", "verified", "", ColumnKind.CIRCUMSTANCE),
    _about("cache", "page cache", "", ColumnKind.CIRCUMSTANCE),
    _about("placement", "ranks on each node", "", ColumnKind.CIRCUMSTANCE),
    _about("load_average", "load average", "", ColumnKind.CIRCUMSTANCE),
    _about("program", "mark of the program", "", ColumnKind.CIRCUMSTANCE),
    _about("simulated_on", "model that it was simulated on", "", ColumnKind.CIRCUMSTANCE),
    _about(SIMULATED_LOW, "least elapsed time, simulated", "s", ColumnKind.CIRCUMSTANCE),
    _about(SIMULATED_HIGH, "most elapsed time, simulated", "s", ColumnKind.CIRCUMSTANCE),
    _about(SIMULATED_TOGETHER, "calls simulated as one", "", ColumnKind.CIRCUMSTANCE),
)
BY_NAME = {column.name: column for column in COLUMNS}


def names(*kinds: ColumnKind) -> tuple[str, ...]:
    """In their order."""
    return tuple(column.name for column in COLUMNS if column.kind in kinds)


IDENTITY, ENDING, CIRCUMSTANCES = (
    names(kind) for kind in (ColumnKind.IDENTITY, ColumnKind.ENDING, ColumnKind.CIRCUMSTANCE)
)
# What reading takes, or brings: a study of one of these is about where it reads.
READING = (
    *("input_s", "read_s", "shared_read_s", "shared_read_share"),
    *("read_rate_mb_per_s", "read_rate_whole_mb_per_s"),
)
# What a run gives a number for.
MEASURED = names(
    ColumnKind.TIME, ColumnKind.AMOUNT, ColumnKind.RATE, ColumnKind.SHARE, ColumnKind.EFFICIENCY
)

PHASE_COLUMNS = (
    *("run", "output", "direction", "step", "phase", "bytes"),
    *("minimum_s", "mean_s", "maximum_s", "slowest_rank"),
)
