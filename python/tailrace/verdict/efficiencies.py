"""The efficiencies, by arithmetic on integers of nanoseconds. Nothing here reads a file or prints.

With P ranks, run time T, useful time U_p of rank p, and the replays' ideal run times T_net, T_even
and T_ideal (docs/reference/report.md says what each removes):

    parallel = load balance × serialization × I/O balance × I/O transfer × transfer = avg U / T

The official values (POP Centre of Excellence, "Standard Metrics for Pure MPI Applications") have no
ideal for I/O: their serialization is max U / T_net, which is ours times the I/O efficiency.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class Times(NamedTuple):
    """Run times of one trace, in nanoseconds; per-rank arrays have P entries."""

    runtime_ns: int
    ideal_network_ns: int
    ideal_network_even_io_ns: int
    ideal_ns: int
    useful_ns: np.ndarray
    io_ns: np.ndarray
    mpi_ns: np.ndarray
    # Ranks of which nothing was found: they count in no average.
    missing: tuple[int, ...] = ()

    def mean_ns(self, times_ns: np.ndarray) -> Fraction:
        """Over the ranks that were found."""
        found = np.delete(times_ns, self.missing)
        return Fraction(int(found.sum()), max(len(found), 1))

    @property
    def ranks(self) -> int:
        return len(self.useful_ns)

    @property
    def useful_total_ns(self) -> int:
        return int(self.useful_ns.sum())

    @property
    def useful_mean_ns(self) -> Fraction:
        return self.mean_ns(self.useful_ns)

    @property
    def useful_max_ns(self) -> int:
        return int(self.useful_ns.max(initial=0))


# What the formulas are made of.
QUANTITIES: dict[str, Callable[[Times], int | Fraction]] = {
    "avg U": lambda times: times.useful_mean_ns,
    "max U": lambda times: times.useful_max_ns,
    "T": lambda times: times.runtime_ns,
    "T_net": lambda times: times.ideal_network_ns,
    "T_even": lambda times: times.ideal_network_even_io_ns,
    "T_ideal": lambda times: times.ideal_ns,
}


class Factor(NamedTuple):
    """One line of an efficiency table, a share of one: its key in the JSON, name, depth in the
    tree, the two QUANTITIES that it is the ratio of, and its meaning in one sentence."""

    key: str
    name: str
    depth: int
    part: str
    whole: str
    meaning: str

    @property
    def formula(self) -> str:
        return f"{self.part} / {self.whole}"

    def of(self, quantities: Mapping[str, int | Fraction]) -> float | None:
        return ratio(quantities[self.part], quantities[self.whole])


TAILRACE_FACTORS = (
    Factor(
        "parallel",
        "Parallel efficiency",
        0,
        "avg U",
        "T",
        "Share of the run that the ranks spend computing; the product of the five factors below.",
    ),
    Factor(
        "load_balance",
        "Load balance",
        1,
        "avg U",
        "max U",
        "Low: some ranks have more to compute than others.",
    ),
    Factor(
        "serialization",
        "Serialization efficiency",
        1,
        "max U",
        "T_ideal",
        "Low: ranks wait for each other's computation.",
    ),
    Factor(
        "io",
        "I/O efficiency",
        1,
        "T_ideal",
        "T_net",
        "Run time with an ideal network and file system, over that with an ideal network alone.",
    ),
    Factor(
        "io_balance",
        "I/O balance efficiency",
        2,
        "T_even",
        "T_net",
        "Low: few ranks do the I/O while the others wait (the serial master).",
    ),
    Factor(
        "io_transfer",
        "I/O transfer efficiency",
        2,
        "T_ideal",
        "T_even",
        "Low: the file system is slow, or receives too many small requests.",
    ),
    Factor(
        "transfer", "Transfer efficiency", 1, "T_net", "T", "Low: the network, or the MPI library."
    ),
)

# A factor of its own only where waits for a processor are taken out of the others.
AVAILABILITY = Factor(
    "processors",
    "Processor availability",
    1,
    "(T − waits)",
    "T",
    "Low: ranks are ready to run and have no processor.",
)
FACTORS_WITHOUT_WAITS = (*TAILRACE_FACTORS, AVAILABILITY)

POP_FACTORS = (
    Factor("parallel", "Parallel efficiency", 0, "avg U", "T", "As in the other view."),
    Factor("load_balance", "Load balance", 1, "avg U", "max U", "As in the other view."),
    Factor(
        "communication",
        "Communication efficiency",
        1,
        "max U",
        "T",
        "Combined effect of waiting, I/O and transfers.",
    ),
    Factor(
        "serialization",
        "Serialization efficiency",
        2,
        "max U",
        "T_net",
        "POP has no ideal for I/O: this is Tailrace's serialization times its I/O efficiency.",
    ),
    Factor("transfer", "Transfer efficiency", 2, "T_net", "T", "As in the other view."),
)


class Efficiencies(NamedTuple):
    """Factors between 0 and 1; None where a factor is not defined (a run of no length)."""

    parallel: float | None
    load_balance: float | None
    serialization: float | None
    io: float | None
    io_balance: float | None
    io_transfer: float | None
    transfer: float | None


class PopEfficiencies(NamedTuple):
    """The official factors, comparable with every tool that follows POP."""

    parallel: float | None
    load_balance: float | None
    communication: float | None
    serialization: float | None
    transfer: float | None


class Losses(NamedTuple):
    """Where the run time goes, in nanoseconds: these and the mean useful time (less its waits for
    a processor, where those are taken out) add up to the run time, exactly."""

    imbalance_ns: Fraction
    serialization_ns: int
    io_balance_ns: int
    io_transfer_ns: int
    transfer_ns: int
    # What the others and the useful time hold of waits for a processor, where it is taken out.
    processors_ns: int | Fraction = 0

    @property
    def io_ns(self) -> int:
        return self.io_transfer_ns + self.io_balance_ns


# What each loss is called, and what ranks do in that time; in the order in which they are shown.
LOSSES = {
    "imbalance": (
        "load imbalance",
        "waiting because some ranks compute more (max U − avg U)",
    ),
    "serialization": (
        "serialization",
        "waiting for each other's computation (T_ideal − max U)",
    ),
    "io_balance": (
        "I/O imbalance",
        "waiting for the few ranks that do the I/O (T_net − T_even)",
    ),
    "io_transfer": (
        "I/O transfer",
        "the file calls themselves, spread evenly (T_even − T_ideal)",
    ),
    "transfer": ("network", "transfers and the MPI library (T − T_net)"),
    "processors": ("processors", "ready to run, but without a processor (part of none above)"),
}


def by_key(lost: Losses) -> dict[str, int | Fraction]:
    """Nanoseconds of each loss."""
    return {key: getattr(lost, f"{key}_ns") for key in LOSSES}


def times_of(columns: dict[str, Any]) -> Times:
    """The times in what the engine's `analyze` returns."""
    useful_ns, io_ns, mpi_ns = (
        np.asarray(columns["rank"][key], dtype=np.int64) for key in ("useful_ns", "io_ns", "mpi_ns")
    )
    return Times(
        runtime_ns=int(columns["runtime_ns"]),
        ideal_network_ns=int(columns["ideal_network_ns"]),
        ideal_network_even_io_ns=int(columns["ideal_network_even_io_ns"]),
        ideal_ns=int(columns["ideal_ns"]),
        useful_ns=useful_ns,
        io_ns=io_ns,
        mpi_ns=mpi_ns,
        missing=_missing(columns["rank"]),
    )


def _missing(rank: dict[str, Any]) -> tuple[int, ...]:
    """What left an event was on some host."""
    unseen = zip(rank["host"], rank["events"], strict=True)
    return tuple(p for p, (host, events) in enumerate(unseen) if not host and not int(events))


def ratio(part: int | Fraction, whole: int | Fraction) -> float | None:
    """part / whole; nothing of nothing is all of it (no time was lost), something of nothing is
    undefined."""
    if whole == 0:
        return 1.0 if part == 0 else None
    return float(Fraction(part) / Fraction(whole))


def efficiencies(times: Times) -> Efficiencies:
    """Five factors whose product is avg U / T, and I/O efficiency = I/O balance × I/O transfer
    (docs/reference/report.md)."""
    quantities = _quantities(times)
    return Efficiencies(**{factor.key: factor.of(quantities) for factor in TAILRACE_FACTORS})


def pop_efficiencies(times: Times) -> PopEfficiencies:
    """POP's own: communication = max U / T = serialization × transfer."""
    quantities = _quantities(times)
    return PopEfficiencies(**{factor.key: factor.of(quantities) for factor in POP_FACTORS})


def _quantities(times: Times) -> dict[str, int | Fraction]:
    return {name: value(times) for name, value in QUANTITIES.items()}


def factors_of_losses(runtime_ns: int, lost: Losses) -> dict[str, float | None]:
    """The five factors and their products by the losses alone, and the availability of processors,
    which is one where no wait was taken out. Together they are the share of the run in which a
    rank computes on average and has a processor."""
    available: int | Fraction = runtime_ns - lost.processors_ns
    quantities: dict[str, int | Fraction] = {"T": available}
    for name, loss in (
        ("T_net", lost.transfer_ns),
        ("T_even", lost.io_balance_ns),
        ("T_ideal", lost.io_transfer_ns),
        ("max U", lost.serialization_ns),
        ("avg U", lost.imbalance_ns),
    ):
        quantities[name] = next(reversed(quantities.values())) - loss
    factors = {factor.key: factor.of(quantities) for factor in TAILRACE_FACTORS}
    whole = quantities | {"T": runtime_ns}
    return factors | {
        "parallel": TAILRACE_FACTORS[0].of(whole),
        "processors": ratio(available, runtime_ns),
    }


def losses(times: Times) -> Losses:
    """The same factors as differences: T = avg U + these five."""
    return Losses(
        imbalance_ns=times.useful_max_ns - times.useful_mean_ns,
        serialization_ns=times.ideal_ns - times.useful_max_ns,
        io_transfer_ns=times.ideal_network_even_io_ns - times.ideal_ns,
        io_balance_ns=times.ideal_network_ns - times.ideal_network_even_io_ns,
        transfer_ns=times.runtime_ns - times.ideal_network_ns,
    )


def as_numbers(record: Any) -> dict[str, float | None]:
    """A record of factors as a dict, in the order of definition."""
    factors = record._asdict().items()
    return {key: None if value is None else float(value) for key, value in factors}
