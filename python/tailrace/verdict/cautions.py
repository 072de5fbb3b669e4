"""What the first line has to add, lest it be believed too much: what was not recorded, and a run
that did not come to its end."""

from tailrace.names import base_name, printable
from tailrace.units import byte_count, count, nanoseconds, percent
from tailrace.verdict.advice import advice
from tailrace.verdict.ends import NAMED_RANKS, failed, many_are_lost, stopped_early
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.failures import failed_mpiio, failed_writes
from tailrace.verdict.made_before import made_before
from tailrace.verdict.off_path import (
    NOTABLE_BYTES,
    NOTABLE_SLEEP,
    became,
    became_meanwhile,
    by_other_ways,
    by_processes,
    earlier_ns,
    longest_outside,
    moved_by_main,
    moved_by_others,
    of_others_mostly,
    only_mapped,
    overlapped_io_ns,
    page_faults,
    sleep_is_unknown,
    slept_share,
    slept_text,
    started,
    started_for_nothing,
    starts_out_of_reach,
    talk_of,
    unrecorded_bytes,
    ways,
    who_else,
)
from tailrace.verdict.sleepers import sleeps_beside_files
from tailrace.verdict.slow_file import tells_a_rate
from tailrace.verdict.streams import slept_in_streams
from tailrace.verdict.whose_calls import are_of_others, why_of_rank
from tailrace.verdict.why import NOTABLE_SHARE, what_takes_longest

# A share of the run that other threads spend in MPI, or in file calls, and is worth a word.
NOTABLE_TALK = 0.02
# Who moves such a share of the bytes does most of the I/O.
MOST_BYTES = 0.5


def mpi_not_recorded(evidence: Evidence) -> Finding | None:
    """Several ranks of a program that never called MPI_Init as far as capture saw: all else is then
    in doubt. Or the run ended while they were in there."""
    columns = evidence.columns
    if columns["format"] != "tailrace" or int(columns["ranks"]) < 2 or columns["meta"].get("mpi"):
        return None
    said = "no MPI call was recorded: time that ranks waited for each other counts as computation"
    in_it = any(" was in MPI_Init" in note for note in columns["capture"]["notes"])
    if in_it or any(str(name).startswith("MPI_Init") for name in columns["functions"]["name"]):
        said = "the run ended while MPI was being initialised: the report is about what came before"
    facts = f"{count(int(columns['ranks']), 'rank')}, none of which was seen to initialise MPI"
    return Finding(Kind.MPI_NOT_RECORDED, said, facts, 1.0)


def calls_lost(evidence: Evidence) -> Finding | None:
    """For want of room, or because they never returned: nothing is known of them."""
    capture = evidence.columns["capture"]
    lost = int(capture["events_lost"])
    if not lost:
        return None
    room = any("space" in note for note in capture["notes"])
    of = f"{lost:,} of {count(lost + int(capture['events']), 'call')}"
    return Finding(
        Kind.INCOMPLETE_TRACE,
        f"the trace is not complete: {of} could not be recorded",
        "; ".join(capture["notes"]) or "what these did is in no number of this report",
        evidence.lost_share,
        advice=advice(Kind.INCOMPLETE_TRACE, "room" if room else ""),
    )


def not_recorded(evidence: Evidence) -> Finding | None:
    """I/O off the path that capture sees: other processes, io_uring, mapped files; or off the part
    of the run that the numbers are about."""
    outside, sentences = _outside(evidence), _unseen(evidence)
    if outside:
        sentences.insert(0, outside)
    if not sentences:
        return None
    amounts = (by_processes(evidence), by_other_ways(evidence))
    facts = "what is not recorded is in no number of this report"
    if is_all_seen(evidence):
        facts = "these calls were recorded; the run is what lies between MPI_Init and MPI_Finalize"
    if faults := page_faults(evidence):
        facts += f"; {faults}"
    if any(amount.bytes for amount in amounts):
        facts += "; bytes that were not recorded are the kernel's count of them less what was"
    return Finding(
        Kind.NOT_RECORDED,
        ", and ".join(sentences) + meanwhile(evidence),
        facts,
        0.0,
        advice=advice(Kind.NOT_RECORDED) if _was_another(evidence) else "",
    )


def _was_another(evidence: Evidence) -> bool:
    """Whether recording all processes would tell more."""
    others = (started(evidence), earlier_ns(evidence), became(evidence), became_meanwhile(evidence))
    return any(others)


def _unseen(evidence: Evidence) -> list[str]:
    checks = (_earlier, _became, _meanwhile, _processes, _out_of_reach, _ways)
    return [text for check in checks if (text := check(evidence))]


def is_all_seen(evidence: Evidence) -> bool:
    """Nothing went by capture, and nothing was lost."""
    return not _unseen(evidence) and not evidence.lost_share


def _mostly(evidence: Evidence) -> bool:
    """Whether most bytes, or most of the command, are among what was not recorded."""
    last = became(evidence)
    after_ns = last.time_ns if last else 0
    elsewhere_ns = max(earlier_ns(evidence), after_ns, longest_outside(evidence)[1])
    if elsewhere_ns > evidence.times.runtime_ns:
        return True
    recorded = moved_by_main(evidence) + moved_by_others(evidence)
    return unrecorded_bytes(evidence) > recorded


def _earlier(evidence: Evidence) -> str:
    """`only samtools, the last program of the command, was recorded, not what ran for 1.20 s
    before it`."""
    before_ns = earlier_ns(evidence)
    if not before_ns:
        return ""
    name = base_name(evidence.columns["meta"].get("program", ""))
    text = f"only {name}, the last program of the command, was recorded"
    return f"{text}, not what ran for {nanoseconds(before_ns)} before it"


def _became(evidence: Evidence) -> str:
    """`the program became sh, which was not recorded: 1.86 s after it are in no number here`."""
    if (last := became(evidence)) is None:
        return ""
    who = "the program" if evidence.ranks == 1 else count(last.ranks, "rank")
    text = f"{who} became {last.name}, which was not recorded"
    known = last.time_ns >= 0
    return f"{text}: {nanoseconds(last.time_ns)} after it are in no number here" if known else text


def _meanwhile(evidence: Evidence) -> str:
    """`the program was bash for 1.20 s, which was not recorded`; that is part of the run."""
    if (other := became_meanwhile(evidence)) is None:
        return ""
    time = nanoseconds(other.time_ns)
    return f"the program was {other.name} for {time}, which was not recorded and counts as useful"


def _outside(evidence: Evidence) -> str:
    """`1.20 s of rank 0's file calls before MPI_Init and after MPI_Finalize are in no number`."""
    rank, spent_ns = longest_outside(evidence)
    if not spent_ns:
        return ""
    who = f"rank {rank}'s" if evidence.ranks > 1 else "the program's"
    text = f"{nanoseconds(spent_ns)} of {who} file calls before MPI_Init and after MPI_Finalize"
    return f"{text} are in no number here"


def _processes(evidence: Evidence) -> str:
    number = started(evidence)
    if not number or started_for_nothing(evidence):
        return ""
    who = "the program" if evidence.ranks == 1 else "ranks"
    many = number > 1
    others = f"{number:,} other processes" if many else "another process"
    text = f"{who} started {others}, which {'were' if many else 'was'} not recorded"
    did = by_processes(evidence).verbs()
    return f"{text} and {did}" if did else text


def _out_of_reach(evidence: Evidence) -> str:
    """Where every process was to be recorded; else they are counted among the others."""
    if not starts_out_of_reach(evidence):
        return ""
    return "what the program started as another user, or below another root, was not recorded"


def _ways(evidence: Evidence) -> str:
    """`67.1 MB were written through io_uring, which Tailrace does not time`; where nothing says
    how, `at least 65.0 MB were written by no call that Tailrace sees`."""
    used, amount = ways(evidence), by_other_ways(evidence)
    # The kernel counts the pages of programs and libraries with those of mapped files.
    did = amount.passive("up to " if only_mapped(evidence) else "")
    if not used:
        return f"at least {did} by no call that Tailrace sees" if did else ""
    through = " and ".join(used)
    if did:
        return f"{did} through {through}, which Tailrace does not time"
    return f"the program uses {through}, whose reads and writes Tailrace does not see"


def meanwhile(evidence: Evidence) -> str:
    """How long the main threads did nothing that was recorded, where that is notable; or what they
    waited for, where it was a pipe: a sentence's last words."""
    if (share := slept_share(evidence)) < NOTABLE_SLEEP:
        return ""
    if (waited := slept_in_streams(evidence, share)) is not None:
        return f", while {waited.finding}"
    verb = "sleeps" if evidence.ranks == 1 else "sleep"
    return f", while {_main_threads(evidence)} {verb} {slept_text(evidence)}"


def _main_threads(evidence: Evidence) -> str:
    return "the main thread" if evidence.ranks == 1 else "the ranks' main threads"


def other_threads(evidence: Evidence) -> Finding | None:
    """Threads that call MPI beside the main one: what they do is in no account of the rank."""
    talk = talk_of(evidence)
    share = evidence.share(talk.time_ns / max(talk.threads, 1))
    if share < NOTABLE_TALK:
        return None
    who = "another thread" if talk.threads == 1 else f"{talk.threads:,} other threads"
    verb = "spends" if talk.threads == 1 else "spend"
    mean = "" if talk.threads == 1 else " on average"
    text = f"{who} {verb} {percent(share)} of the run in MPI{mean}, in {count(talk.calls, 'call')}"
    facts = f"the times and efficiencies are those of {_main_threads(evidence)} alone"
    files, about_them = _files_meanwhile(evidence)
    return Finding(
        Kind.OTHER_THREADS,
        f"{text}, which no efficiency shows{files}{meanwhile(evidence)}",
        f"{facts}; the table of functions has the calls of all threads",
        share,
        advice=f"{about_them}{advice(Kind.OTHER_THREADS)}",
    )


def _files_meanwhile(evidence: Evidence) -> tuple[str, str]:
    """Where an ideal file system seems to save nothing, since nobody knows that a thread waits for
    those of other ranks: what file calls take of the rank with most of them, and why, as of the
    workers of a pool; and what is advised."""
    spent_ns = evidence.times.io_ns - evidence.waited_by_rank_ns("io")
    rank = int(spent_ns.argmax())
    share = evidence.share(float(spent_ns[rank]))
    holds_back = evidence.is_notable(evidence.io_share, NOTABLE_SHARE)
    if share < NOTABLE_LOSS or holds_back or of_others_mostly(evidence):
        return "", ""
    what, advised = why_of_rank(evidence, rank)
    why, about_it = (f" ({what})", f"{advised}; ") if what else ("", "")
    return f", and file calls take {percent(share)} of rank {rank}'s time{why}", about_it


def io_of_others(evidence: Evidence) -> Finding | None:
    """Most bytes are moved by other threads, or by other processes that were recorded; or most time
    in file calls is theirs, as of threads that make thousands of small files."""
    by_others = moved_by_others(evidence)
    whole = by_others + moved_by_main(evidence)
    share = evidence.share(overlapped_io_ns(evidence) / max(evidence.ranks, 1))
    most_bytes = by_others >= max(MOST_BYTES * whole, NOTABLE_BYTES)
    if share < NOTABLE_TALK or not (most_bytes or of_others_mostly(evidence)):
        return None
    amount = f"{byte_count(by_others)} of {byte_count(whole)}"
    if byte_count(by_others) == byte_count(whole):
        amount = f"all {byte_count(whole)}"
    move = f"move {amount} and " if most_bytes else ""
    time = nanoseconds(overlapped_io_ns(evidence))
    waited, beside = meanwhile(evidence), " beside the main thread"
    if sleep_is_unknown(evidence):
        waited = f"; how long {_main_threads(evidence)} waited for that is not known"
    facts = "file calls beside the main thread count as overlapped, and are in no efficiency"
    cause, advised = "", advice(Kind.OVERLAPPED_IO)
    what, about_it = what_takes_longest(evidence) if of_others_mostly(evidence) else ("", "")
    if what:
        if waited and not tells_a_rate(what) and are_of_others(evidence):
            cause, advised = f" ({what})", f"{about_it}; {advised}"
        facts = f"{what}, all threads taken together; {facts}"
    return Finding(
        Kind.OVERLAPPED_IO,
        f"{who_else(evidence)} {move}spend {time} in file calls{cause}{waited or beside}",
        facts,
        min(share, 1.0),
        advice=advised if waited else "",
    )


def missing_ranks(evidence: Evidence) -> Finding | None:
    """Ranks of which no stream was found: on a node that capture did not reach, say."""
    missing = evidence.times.missing
    if not missing:
        return None
    numbers = ", ".join(map(str, missing[:NAMED_RANKS]))
    more = "" if len(missing) <= NAMED_RANKS else f" and {len(missing) - NAMED_RANKS} more"
    ranks = "rank" if len(missing) == 1 else "ranks"
    nodes = printable(evidence.columns["meta"].get("nodes_awaited", "").replace(",", ", "))
    held = f"; {nodes} still held what was recorded there" if nodes else ""
    return Finding(
        Kind.MISSING_RANKS,
        f"nothing was found of {ranks} {numbers}{more}, left out of every average",
        f"{count(len(missing), 'rank')} of {evidence.ranks} left no events{held}",
        len(missing) / evidence.ranks,
        ranks=missing,
    )


def veils(evidence: Evidence, caution: Finding) -> bool:
    """Whether with it nobody can say that nothing holds the run back."""
    if caution.code is Kind.OVERLAPPED_IO:
        return slept_share(evidence) >= NOTABLE_SLEEP or sleep_is_unknown(evidence)
    if caution.code is Kind.INCOMPLETE_TRACE:
        return many_are_lost(evidence)
    return caution.code in (Kind.NOT_RECORDED, Kind.OTHER_THREADS, Kind.SLEEPS_BESIDE_FILES)


def goes_first(evidence: Evidence, caution: Finding) -> bool:
    """Whether it is said before all else: it is about most of what the program does."""
    if caution.code is Kind.NOT_RECORDED:
        return _mostly(evidence)
    if caution.code is Kind.OVERLAPPED_IO and caution.share_of_runtime < NOTABLE_LOSS:
        return False  # if the main threads wait for that, then no longer
    return veils(evidence, caution)


CAUTIONS = (
    calls_lost,
    mpi_not_recorded,
    missing_ranks,
    other_threads,
    io_of_others,
    not_recorded,
    sleeps_beside_files,
    made_before,
    failed_writes,
    failed_mpiio,
    stopped_early,
    failed,
)
