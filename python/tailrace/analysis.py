"""The efficiencies, by arithmetic on integers of nanoseconds. Nothing here reads a file or prints.

With P ranks, run time T, useful time U_p of rank p, and the replays' ideal run times T_net, T_even and T_ideal
(docs/report.md says what each removes):

    parallel = load balance × serialization × I/O balance × I/O transfer × transfer = avg U / T

The official values (POP Centre of Excellence, "Standard Metrics for Pure MPI Applications") have no ideal for I/O:
their serialization is max U / T_net, which is ours times the I/O efficiency.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Times:
    """Run times of one trace, in nanoseconds; per-rank arrays have P entries."""

    runtime_ns: int
    ideal_network_ns: int
    ideal_network_even_io_ns: int
    ideal_ns: int
    useful_ns: np.ndarray
    io_ns: np.ndarray
    mpi_ns: np.ndarray

    @property
    def ranks(self) -> int:
        return len(self.useful_ns)

    @property
    def useful_total_ns(self) -> int:
        return int(self.useful_ns.sum())

    @property
    def useful_mean_ns(self) -> Fraction:
        return Fraction(self.useful_total_ns, max(self.ranks, 1))

    @property
    def useful_max_ns(self) -> int:
        return int(self.useful_ns.max(initial=0))


@dataclass(frozen=True)
class Efficiencies:
    """Factors between 0 and 1; None where a factor is not defined (a run of no length)."""

    parallel: float | None
    load_balance: float | None
    serialization: float | None
    io: float | None
    io_balance: float | None
    io_transfer: float | None
    transfer: float | None


@dataclass(frozen=True)
class PopEfficiencies:
    """The official factors, comparable with every tool that follows POP."""

    parallel: float | None
    load_balance: float | None
    communication: float | None
    serialization: float | None
    transfer: float | None


@dataclass(frozen=True)
class Losses:
    """Where the run time goes, in nanoseconds: these and the mean useful time add up to the run time, exactly."""

    imbalance_ns: Fraction
    serialization_ns: int
    io_transfer_ns: int
    io_balance_ns: int
    transfer_ns: int

    @property
    def io_ns(self) -> int:
        return self.io_transfer_ns + self.io_balance_ns


def times_of(columns: dict[str, Any]) -> Times:
    """The times in what the engine's `analyze` returns."""
    rank = columns["rank"]
    return Times(
        *(int(columns[key]) for key in ("runtime_ns", "ideal_network_ns", "ideal_network_even_io_ns", "ideal_ns")),
        *(np.asarray(rank[key], dtype=np.int64) for key in ("useful_ns", "io_ns", "mpi_ns")),
    )


def ratio(part: int | Fraction, whole: int | Fraction) -> float | None:
    """part / whole; nothing of nothing is all of it (no time was lost), something of nothing is undefined."""
    if whole == 0:
        return 1.0 if part == 0 else None
    return float(Fraction(part) / Fraction(whole))


def efficiencies(times: Times) -> Efficiencies:
    """DESIGN's table: five factors whose product is avg U / T, and I/O efficiency = I/O balance × I/O transfer."""
    return Efficiencies(
        parallel=ratio(times.useful_mean_ns, times.runtime_ns),
        load_balance=ratio(times.useful_mean_ns, times.useful_max_ns),
        serialization=ratio(times.useful_max_ns, times.ideal_ns),
        io=ratio(times.ideal_ns, times.ideal_network_ns),
        io_balance=ratio(times.ideal_network_even_io_ns, times.ideal_network_ns),
        io_transfer=ratio(times.ideal_ns, times.ideal_network_even_io_ns),
        transfer=ratio(times.ideal_network_ns, times.runtime_ns),
    )


def pop_efficiencies(times: Times) -> PopEfficiencies:
    """POP's own: communication = max U / T = serialization × transfer."""
    return PopEfficiencies(
        parallel=ratio(times.useful_mean_ns, times.runtime_ns),
        load_balance=ratio(times.useful_mean_ns, times.useful_max_ns),
        communication=ratio(times.useful_max_ns, times.runtime_ns),
        serialization=ratio(times.useful_max_ns, times.ideal_network_ns),
        transfer=ratio(times.ideal_network_ns, times.runtime_ns),
    )


def losses(times: Times) -> Losses:
    """The same factors as differences: T = avg U + these five."""
    return Losses(
        imbalance_ns=times.useful_max_ns - times.useful_mean_ns,
        serialization_ns=times.ideal_ns - times.useful_max_ns,
        io_transfer_ns=times.ideal_network_even_io_ns - times.ideal_ns,
        io_balance_ns=times.ideal_network_ns - times.ideal_network_even_io_ns,
        transfer_ns=times.runtime_ns - times.ideal_network_ns,
    )


def conservation_errors(times: Times) -> list[str]:
    """What contradicts the definitions: time not conserved, or ideal run times out of order. Empty when all is well."""
    lost = times.useful_ns + times.io_ns + times.mpi_ns - times.runtime_ns
    problems = [
        f"rank {rank}: useful + mpi + io differs from the run time by {int(lost[rank])} ns"
        for rank in np.flatnonzero(lost)[:3]
    ]
    order = (times.ideal_ns, times.ideal_network_even_io_ns, times.ideal_network_ns, times.runtime_ns)
    if list(order) != sorted(order):
        problems.append("ideal ≤ even I/O ≤ ideal network ≤ run time does not hold: {}, {}, {}, {} ns".format(*order))
    return problems


def as_numbers(record: Any) -> dict[str, float | None]:
    """A dataclass of factors as a dict, in the order of definition."""
    return {key: None if value is None else float(value) for key, value in asdict(record).items()}
