"""What each factor means, in one sentence, for the terminal and the page; docs/report.md has the formulas."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Factor:
    """One line of an efficiency table: its key in the JSON, name, depth in the tree, formula and meaning."""

    key: str
    name: str
    depth: int
    formula: str
    meaning: str


TAILRACE_FACTORS = (
    Factor(
        "parallel",
        "Parallel efficiency",
        0,
        "avg U / T",
        "The share of the run that the ranks spend computing; the product of the five factors below.",
    ),
    Factor("load_balance", "Load balance", 1, "avg U / max U", "Low: some ranks have more to compute than others."),
    Factor(
        "serialization",
        "Serialization efficiency",
        1,
        "max U / T_ideal",
        "Low: ranks wait for each other's computation.",
    ),
    Factor(
        "io",
        "I/O efficiency",
        1,
        "T_ideal / T_net",
        "What the file calls leave of the run: I/O balance times I/O transfer.",
    ),
    Factor(
        "io_balance",
        "I/O balance efficiency",
        2,
        "T_even / T_net",
        "Low: few ranks do the I/O while the others wait (the serial master).",
    ),
    Factor(
        "io_transfer",
        "I/O transfer efficiency",
        2,
        "T_ideal / T_even",
        "Low: the file system is slow, or is asked in too many small requests.",
    ),
    Factor("transfer", "Transfer efficiency", 1, "T_net / T", "Low: the network, or the MPI library."),
)

POP_FACTORS = (
    Factor("parallel", "Parallel efficiency", 0, "avg U / T", "As in the other view."),
    Factor("load_balance", "Load balance", 1, "avg U / max U", "As in the other view."),
    Factor(
        "communication", "Communication efficiency", 1, "max U / T", "What waiting, I/O and transfers leave together."
    ),
    Factor(
        "serialization",
        "Serialization efficiency",
        2,
        "max U / T_net",
        "POP has no ideal for I/O: this is our serialization times our I/O efficiency.",
    ),
    Factor("transfer", "Transfer efficiency", 2, "T_net / T", "As in the other view."),
)

LOSSES = (
    ("useful", "useful", "computing, on average over the ranks (avg U)"),
    ("imbalance", "load imbalance", "waiting because some ranks compute more (max U − avg U)"),
    ("serialization", "serialization", "waiting for each other's computation (T_ideal − max U)"),
    ("io_balance", "I/O imbalance", "waiting for the few ranks that do the I/O (T_net − T_even)"),
    ("io_transfer", "I/O transfer", "the file calls themselves, spread evenly (T_even − T_ideal)"),
    ("transfer", "network", "transfers and the MPI library (T − T_net)"),
)

# POP takes 0.8 as acceptable (POP Centre of Excellence); between that and this a factor deserves a look.
ACCEPTABLE = 0.8
GOOD = 0.95


def grade(value: float | None) -> str:
    """ "good", "fair" or "poor", for colours that never stand alone."""
    if value is None:
        return "unknown"
    return "good" if value >= GOOD else "fair" if value >= ACCEPTABLE else "poor"
