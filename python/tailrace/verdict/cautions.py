"""What the first line has to add, lest it be believed too much: what was not recorded, and a run
that did not come to its end."""

from tailrace.names import printable
from tailrace.units import count
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import Evidence, Finding, Kind

# Ranks are named up to so many.
NAMED_RANKS = 4


def mpi_not_recorded(evidence: Evidence) -> Finding | None:
    """Several ranks of a program that never called MPI_Init as far as capture saw: all else is then
    in doubt."""
    columns = evidence.columns
    if columns["format"] != "tailrace" or int(columns["ranks"]) < 2 or columns["meta"].get("mpi"):
        return None
    return Finding(
        Kind.MPI_NOT_RECORDED,
        "no MPI call was recorded: time that ranks waited for each other counts as computation",
        f"{count(int(columns['ranks']), 'rank')}, none of which was seen to initialise MPI",
        1.0,
    )


def not_recorded(evidence: Evidence) -> Finding | None:
    """I/O off the path that capture sees: other processes, io_uring, mapped files."""
    sentences = printable(evidence.columns["meta"].get("not_recorded", ""))
    if not sentences:
        return None
    hint = advice(Kind.NOT_RECORDED) if "process" in sentences else ""
    return Finding(
        Kind.NOT_RECORDED,
        sentences.replace("; ", ", and "),
        "what is not recorded is in no number of this report",
        0.0,
        advice=hint,
    )


def missing_ranks(evidence: Evidence) -> Finding | None:
    """Ranks of which no stream was found: on a node that capture did not reach, say."""
    missing = evidence.times.missing
    if not missing:
        return None
    numbers = ", ".join(map(str, missing[:NAMED_RANKS]))
    more = "" if len(missing) <= NAMED_RANKS else f" and {len(missing) - NAMED_RANKS} more"
    ranks = "rank" if len(missing) == 1 else "ranks"
    return Finding(
        Kind.MISSING_RANKS,
        f"nothing was found of {ranks} {numbers}{more}, left out of every average",
        f"{count(len(missing), 'rank')} of {evidence.ranks} left no events",
        len(missing) / evidence.ranks,
        ranks=missing,
    )


def stopped_early(evidence: Evidence) -> Finding | None:
    signal = printable(evidence.columns["meta"].get("ended_by", ""))
    if not signal:
        return None
    return Finding(
        Kind.STOPPED_EARLY,
        f"the run was stopped early by {signal}",
        "the report is about what came before",
        0.0,
    )


CAUTIONS = (mpi_not_recorded, missing_ranks, not_recorded, stopped_early)
