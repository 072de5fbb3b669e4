"""Ranks that sleep outside MPI and file calls while another is in file calls: they may wait for it,
as who asks for a message again and again with a pause in between does, or who looks at memory that
ranks share. No call tells whether they do.

| sentence                                  | said when                                           |
|-------------------------------------------|-----------------------------------------------------|
| rank s sleeps x % of the run outside MPI  | s sleeps that long, and r is that long in file calls|
| and file calls, and rank r spends y % of  | that are no waits for a processor, both NOTABLE_LOSS|
| it in file calls (why): whether s waits   | of the run at least and KNOWN times what I/O takes  |
| for that is not known                     | of it as measured; why, if the main thread makes    |
|                                           | nearly all of r's                                   |
| …, between n calls of MPI_Test            | that is called MANY times, the most of its like     |
"""

from tailrace.units import percent
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.off_path import slept_ns
from tailrace.verdict.whose_calls import why_of_rank

# Where what is known of I/O is nearly all that there can be, there is no doubt.
KNOWN = 2.0
# Who asks so often waits by asking.
MANY = 20
ASKS = frozenset(
    f"MPI_{name}"
    for name in (
        "Test",
        "Testall",
        "Testany",
        "Testsome",
        "Request_get_status",
        "Iprobe",
        "Improbe",
    )
)


def sleeps_beside_files(evidence: Evidence) -> Finding | None:
    slept, times = slept_ns(evidence), evidence.times
    if slept is None or evidence.ranks < 2:
        return None
    spent_ns = times.io_ns - evidence.waited_by_rank_ns("io")
    writer = int(spent_ns.argmax())
    others = slept.copy()
    others[writer] = 0
    sleeper = int(others.argmax())
    share, asleep = (evidence.share(float(ns)) for ns in (spent_ns[writer], others[sleeper]))
    if max(NOTABLE_LOSS, KNOWN * evidence.io_share) > min(share, asleep):
        return None
    what, advised = why_of_rank(evidence, writer)
    asks = _asks(evidence)
    why = f" ({what})" if what else ""
    about_it = f"; if it waits for these calls: {advised}" if advised else ""
    return Finding(
        Kind.SLEEPS_BESIDE_FILES,
        f"rank {sleeper} sleeps {percent(asleep)} of the run outside MPI and file calls{asks}, and "
        f"rank {writer} spends {percent(share)} of it in file calls{why}: whether rank "
        f"{sleeper} waits for that is not known",
        "a wait outside MPI counts as useful, and an ideal file system seems to save nothing of it",
        min(share, asleep),
        advice=f"{advice(Kind.SLEEPS_BESIDE_FILES, 'asks' if asks else '')}{about_it}",
        ranks=(sleeper, writer),
    )


def _asks(evidence: Evidence) -> str:
    """`, between 118 calls of MPI_Test`: of the function that is called most."""
    table = evidence.columns["functions"]
    rows = zip(table["name"], table["calls"], strict=True)
    calls = {str(name): int(number) for name, number in rows if str(name) in ASKS}
    most = max(calls, key=lambda name: calls[name], default="")
    return f", between {calls[most]:,} calls of {most}" if most and calls[most] >= MANY else ""
