"""What a study measures: the columns of its table of runs that a report speaks about, with their words and units."""

import re
from dataclasses import dataclass

import pandas as pd

from tailrace import units

_ROUND = re.compile(r"\.0+(?=\D|$)")
# A column is worth a chart where at least this share of the finished runs has a positive number in it.
FILLED_ENOUGH = 0.5
# What the table holds beside factors and responses: how a run was made, and what says the same as a response does.
BOOKKEEPING = frozenset(
    {
        *("run", "block", "order", "begun_unix_s", "status", "reason", "verified", "cache", "load_average"),
        *("bytes_written", "bytes_read", "launch_to_end_s"),
    }
)


@dataclass(frozen=True)
class Response:
    """A measured column. `more_is_better` of rates and efficiencies; times scale with 1 / ranks at best."""

    column: str
    words: str
    unit: str
    more_is_better: bool = False

    @property
    def is_share(self) -> bool:
        return self.unit == "share"

    @property
    def is_time(self) -> bool:
        return self.unit == "s"

    def text(self, value: float) -> str:
        """A value as people read it."""
        if self.unit == "s":
            return units.seconds(value)
        if self.unit == "share":
            return units.percent(value)
        if self.unit == "bytes":
            return units.byte_count(value)
        return f"{units.digits(value)} {self.unit}".strip()

    def tick(self, value: float) -> str:
        """The same on an axis, where values are round."""
        return _ROUND.sub("", self.text(value)) if value else "0"


def _efficiency(key: str, words: str) -> Response:
    return Response(key, words, "share", more_is_better=True)


KNOWN = (
    Response("elapsed_s", "elapsed time", "s"),
    Response("user_s", "user time", "s"),
    Response("system_s", "system time", "s"),
    Response("user_per_rank_s", "user time of one rank", "s"),
    Response("system_per_rank_s", "system time of one rank", "s"),
    Response("output_s", "output time", "s"),
    Response("input_s", "input time", "s"),
    Response("write_rate_mb_per_s", "write rate", "MB/s", more_is_better=True),
    Response("write_rate_whole_mb_per_s", "write rate with open, sync and close", "MB/s", more_is_better=True),
    Response("read_rate_mb_per_s", "read rate", "MB/s", more_is_better=True),
    Response("read_rate_whole_mb_per_s", "read rate with open and close", "MB/s", more_is_better=True),
    Response("posix_rate_mb_per_s", "rate of POSIX calls", "MB/s", more_is_better=True),
    Response("stdio_rate_mb_per_s", "rate of STDIO calls", "MB/s", more_is_better=True),
    Response("create_s", "time to create", "s"),
    Response("write_s", "time in writes", "s"),
    Response("read_s", "time in reads", "s"),
    Response("sync_s", "time in sync", "s"),
    Response("open_s", "time to open", "s"),
    Response("close_s", "time to close", "s"),
    Response("compute_s", "time computing, all ranks", "s"),
    Response("communicate_s", "time communicating, all ranks", "s"),
    Response("shared_write_s", "time in shared writes, all ranks", "s"),
    Response("shared_read_s", "time in shared reads, all ranks", "s"),
    Response("read_and_write_s", "time in reads and writes, all ranks", "s"),
    Response("shared_write_share", "share of shared writes", "share"),
    Response("shared_read_share", "share of shared reads", "share"),
    Response("maximum_resident_bytes", "memory of the largest rank", "bytes"),
    _efficiency("efficiency_parallel", "parallel efficiency"),
    _efficiency("efficiency_load_balance", "load balance"),
    _efficiency("efficiency_serialization", "serialization efficiency"),
    _efficiency("efficiency_io", "I/O efficiency"),
    _efficiency("efficiency_io_balance", "I/O balance efficiency"),
    _efficiency("efficiency_io_transfer", "I/O transfer efficiency"),
    _efficiency("efficiency_transfer", "transfer efficiency"),
    _efficiency("pop_parallel", "POP's parallel efficiency"),
    _efficiency("pop_load_balance", "POP's load balance"),
    _efficiency("pop_communication", "POP's communication efficiency"),
    _efficiency("pop_serialization", "POP's serialization efficiency"),
    _efficiency("pop_transfer", "POP's transfer efficiency"),
)
# Times that more ranks share, and so shrink with their number at best; others are sums over ranks.
SCALING = frozenset({"elapsed_s", "user_per_rank_s", "output_s", "input_s", "write_s", "read_s"})
_BY_COLUMN = {response.column: response for response in KNOWN}
_ENDINGS = (("_mb_per_s", "MB/s", True), ("_per_s", "1/s", True), ("_bytes", "bytes", False), ("_s", "s", False))


def response(column: str) -> Response:
    """That of a column; of a number that the user named, what its ending says of its unit."""
    if column in _BY_COLUMN:
        return _BY_COLUMN[column]
    for ending, unit, more in _ENDINGS:
        if column.endswith(ending):
            return Response(column, column.removesuffix(ending).replace("_", " "), unit, more)
    return Response(column, column.replace("_", " "), "")


def present(runs: pd.DataFrame, factors: list[str], main: str) -> list[Response]:
    """The responses that these finished runs have something to say of, the main one first."""
    known = [one.column for one in KNOWN]
    others = [name for name in runs.columns if name not in known and name not in BOOKKEEPING and name not in factors]
    columns = dict.fromkeys([main, *known, *others])
    return [response(name) for name in columns if name == main or _worth(runs, name)]


def _worth(runs: pd.DataFrame, name: str) -> bool:
    if name not in runs or not pd.api.types.is_numeric_dtype(runs[name]) or pd.api.types.is_bool_dtype(runs[name]):
        return False
    positive = runs[name].dropna()
    positive = positive[positive > 0]
    return len(positive) >= FILLED_ENOUGH * max(len(runs), 1) and positive.nunique() > 1
