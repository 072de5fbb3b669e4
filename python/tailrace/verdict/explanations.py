"""Words around the efficiencies, for the terminal and the page: what is lost where, which values
are good, and what a scaling table is measured against."""

from typing import Any

from tailrace.units import count, seconds
from tailrace.verdict.efficiencies import LOSSES
from tailrace.verdict.scaling import seems_weak

# The parts of the run time in the order in which they are shown: key, name, meaning.
PARTS = (
    ("useful", "useful", "computing, on average over the ranks (avg U)"),
    *((key, *words) for key, words in LOSSES.items()),
)

# POP takes 0.8 as acceptable (POP Centre of Excellence); between that and this a factor deserves a
# look.
ACCEPTABLE = 0.8
GOOD = 0.95


def grade(value: float | None) -> str:
    """ "good", "fair" or "poor", for colours that never stand alone."""
    if value is None:
        return "unknown"
    return "good" if value >= GOOD else "fair" if value >= ACCEPTABLE else "poor"


SCALABILITY_NAMES = {
    "computation": "Computation scalability",
    "instruction": "Instruction scalability",
    "ipc": "IPC scalability",
    "frequency": "Frequency scalability",
}


def scaling_words(scaling: dict[str, Any]) -> str:
    """What the table is measured against, and what could not be measured."""
    kinds = {
        "strong": "Strong scaling (the ranks share one problem)",
        "weak": "Weak scaling (the problem grows with the ranks; speedup is scaled)",
        "none": "The same number of ranks in all runs",
    }
    kind = kinds[scaling["kind"]]
    if seems_weak(scaling):
        kind = (
            "Weak scaling, as it seems (all ranks together compute longer where they are more, and "
            "too little is written to tell why; `--scaling strong` takes the problem for the same; "
            "speedup is scaled)"
        )
    reference = f"the reference is the run on {count(scaling['reference_ranks'], 'rank')}"
    text = f"{kind}; {reference}, {seconds(scaling['reference_runtime_s'])}."
    if not scaling["counters"]:
        text += (
            " Hardware counters were not available: instruction, IPC and frequency "
            "scalability are not known."
        )
    return text
