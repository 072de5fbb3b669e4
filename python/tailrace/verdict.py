"""The verdict: findings by share of the run time, and one sentence for the first line of every report."""

from typing import Any

from tailrace.evidence import Evidence, Finding
from tailrace.io_findings import IO_CAUSES, IO_DETAILS, io_is_fine
from tailrace.run_findings import FINDINGS, NOTABLE_LOSS, exchange_share, mpi_not_recorded
from tailrace.units import percent


def findings(columns: dict[str, Any]) -> list[Finding]:
    """All that hold for this trace, the largest share of the run time first; at most one of each code."""
    evidence = Evidence(columns)
    found = [f for check in (*IO_CAUSES, *IO_DETAILS, io_is_fine, *FINDINGS) if (f := check(evidence))]
    by_code = {f.code: f for f in sorted(found, key=lambda f: f.share_of_runtime)}
    return sorted(by_code.values(), key=lambda f: -f.share_of_runtime)


def headline(columns: dict[str, Any]) -> str:
    """Whether I/O holds this run back, how much and why; if it does not, what does."""
    evidence = Evidence(columns)
    if not evidence.times.runtime_ns:
        return "Nothing was recorded: the trace has no run time."
    doubt = mpi_not_recorded(evidence)
    return _verdict(evidence) + (f" But {doubt.finding}." if doubt else "")


def _verdict(evidence: Evidence) -> str:
    exchange = exchange_share(evidence)
    if io_is_fine(evidence) and exchange < NOTABLE_LOSS:
        return _other_headline(evidence)
    more = f" and the exchange inside MPI-IO up to {percent(exchange)} more" if exchange >= NOTABLE_LOSS else ""
    causes = [f for check in IO_CAUSES if (f := check(evidence))]
    why = max(causes, key=lambda f: f.share_of_runtime).finding if causes else "spread over many file calls"
    return f"I/O takes {percent(evidence.io_share)} of this run{more}: {why}."


def _other_headline(evidence: Evidence) -> str:
    saved = f"I/O does not hold this run back ({percent(evidence.io_share)} of the run time)"
    others = [f for check in FINDINGS[:3] if (f := check(evidence))]
    if not others:
        return f"{saved}; nothing else does either."
    return f"{saved}; {max(others, key=lambda f: f.share_of_runtime).finding}."
