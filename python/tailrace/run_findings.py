"""Findings beside I/O: computation, network, and whether the trace itself can be believed."""

from tailrace.evidence import Evidence, Finding
from tailrace.units import NANOSECONDS_PER_SECOND, count, nanoseconds, percent

# POP takes 0.8 for the product of the factors as acceptable; one factor below 0.95 is worth a word.
NOTABLE_LOSS = 0.05
# Capture that costs more than two runs differ by may change what it measures.
NOTABLE_OVERHEAD = 0.02


def _seconds(time_ns: float) -> float:
    return float(time_ns) / NANOSECONDS_PER_SECOND


def imbalance(evidence: Evidence) -> Finding | None:
    """Load balance: avg U / max U."""
    loss = float(evidence.losses.imbalance_ns)
    if evidence.share(loss) < NOTABLE_LOSS:
        return None
    useful = evidence.times.useful_ns
    rank = int(useful.argmax())
    return Finding(
        "load_imbalance",
        f"rank {rank} computes {useful[rank] / useful.mean():.2f} times as long as the ranks on average",
        f"useful time: {nanoseconds(useful[rank])} on rank {rank}, {nanoseconds(int(useful.mean()))} on average, "
        f"{nanoseconds(useful.min())} on rank {int(useful.argmin())}",
        evidence.share(loss),
        f"an even computation would save {nanoseconds(int(loss))}",
        _seconds(loss),
    )


def serialization(evidence: Evidence) -> Finding | None:
    """Serialization: max U / T_ideal."""
    loss = evidence.losses.serialization_ns
    if evidence.share(loss) < NOTABLE_LOSS:
        return None
    return Finding(
        "serialization",
        "ranks wait for each other's computation",
        f"even with an ideal network and file system the run takes {nanoseconds(evidence.times.ideal_ns)}, "
        f"though no rank computes longer than {nanoseconds(evidence.times.useful_max_ns)}",
        evidence.share(loss),
        f"without the dependences between ranks the run would be {nanoseconds(loss)} shorter",
        _seconds(loss),
    )


def exchange_share(evidence: Evidence) -> float:
    """At most this share of the run is lost to transfers inside MPI-IO.

    It is what an ideal network would save, as far as the ranks' mean time between the layers can account for it.
    Waiting there for late ranks is serialization, no transfer.
    """
    between_ns = int(evidence.columns["layers"]["between_ns"]) / max(evidence.ranks, 1)
    return evidence.share(min(between_ns, float(evidence.losses.transfer_ns)))


def network(evidence: Evidence) -> Finding | None:
    """Transfer: T_net / T."""
    loss = evidence.losses.transfer_ns
    if evidence.share(loss) < NOTABLE_LOSS:
        return None
    part = exchange_share(evidence) / evidence.share(loss)
    within = f", up to {percent(part)} of that inside MPI-IO calls" if part >= NOTABLE_LOSS else ""
    return Finding(
        "network",
        f"transfers and the MPI library take {percent(evidence.share(loss))} of the run{within}",
        f"run time {nanoseconds(evidence.times.runtime_ns)}, on an ideal network "
        f"{nanoseconds(evidence.times.ideal_network_ns)}",
        evidence.share(loss),
        f"an ideal network would save {nanoseconds(loss)}",
        _seconds(loss),
    )


def overhead_share(evidence: Evidence) -> float:
    """Capture's cost on the rank with most events: events × calibrated cost of one, as a share of the run time."""
    most = max(map(int, evidence.columns["rank"]["events"]), default=0)
    return evidence.share(most * float(evidence.columns["capture"]["cost_ns_per_event"] or 0))


def capture_overhead(evidence: Evidence) -> Finding | None:
    share = overhead_share(evidence)
    if share < NOTABLE_OVERHEAD:
        return None
    return Finding(
        "capture_overhead",
        f"capture itself takes {percent(share)} of the run",
        f"{count(max(map(int, evidence.columns['rank']['events'])), 'event')} on one rank at "
        f"{float(evidence.columns['capture']['cost_ns_per_event']):.0f} ns each",
        share,
    )


def incomplete_trace(evidence: Evidence) -> Finding | None:
    capture = evidence.columns["capture"]
    lost = int(capture["events_lost"])
    if capture["complete"] and not lost:
        return None
    what = f"{count(lost, 'call')} could not be recorded" if lost else "some ranks ended without closing their trace"
    share = lost / max(lost + int(capture["events"]), 1)
    return Finding("incomplete_trace", f"the trace is not complete: {what}", "; ".join(capture["notes"]) or what, share)


def mpi_not_recorded(evidence: Evidence) -> Finding | None:
    """Several ranks of a program that never called MPI_Init as far as capture saw: all else is then in doubt."""
    columns = evidence.columns
    if columns["format"] != "tailrace" or int(columns["ranks"]) < 2 or columns["meta"].get("mpi"):
        return None
    return Finding(
        "mpi_not_recorded",
        "no MPI call was recorded: what the ranks waited for each other counts as computation",
        f"{count(int(columns['ranks']), 'rank')}, and none was seen to initialise MPI",
        1.0,
    )


FINDINGS = (imbalance, serialization, network, capture_overhead, incomplete_trace, mpi_not_recorded)
