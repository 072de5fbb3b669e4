"""The verdict: findings by share of the run time, and one sentence for the first line of every
report."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tailrace.units import nanoseconds, percent
from tailrace.verdict.between import between_calls
from tailrace.verdict.cautions import CAUTIONS, goes_first, is_all_seen, meanwhile, veils
from tailrace.verdict.compression import compression, decompression
from tailrace.verdict.efficiencies import losses
from tailrace.verdict.ends import many_are_lost, much_is_unknown
from tailrace.verdict.evidence import NOTABLE_LOSS, TOO_SHORT_NS, Evidence, Finding, Kind
from tailrace.verdict.gains import with_prediction
from tailrace.verdict.io_findings import IO_DETAILS, causes, io_is_fine
from tailrace.verdict.off_path import asleep, sleep_is_unknown, slept_ns, started
from tailrace.verdict.outputs import outputs
from tailrace.verdict.places import placed
from tailrace.verdict.routines import output_routines
from tailrace.verdict.run_findings import BOTTLENECKS, DOUBTS, PREPARES, exchange_share
from tailrace.verdict.slow_file import tells_a_rate
from tailrace.verdict.spawned import is_of_spawned
from tailrace.verdict.unfinished import unfinished, without_unfinished

# Of findings about files whose shares are so nearly equal, the first line names who before why.
EQUAL_SHARE = 0.9
# A rate alone is not a cause: a finding that is one goes before it.
NO_CAUSE_SHARE = 0.25
# What the calls are that take long.
REASONS = frozenset(
    {Kind.SYNC, Kind.LOCKS, Kind.REOPENED, Kind.MANY_FILES, Kind.LOOK_UPS, Kind.METADATA}
    | {Kind.SMALL_REQUESTS, Kind.SLOW_SMALL_REQUESTS, Kind.RANDOM_REQUESTS}
    | {Kind.REDUNDANT_READS, Kind.REDUNDANT_WRITES, Kind.AMPLIFICATION}
)
# What was measured inside HDF5, and holds whatever else is not known.
MEASURED_INSIDE = (Kind.COMPRESSION, Kind.DECOMPRESSION)
# Few ranks that read or write may do it badly, too.
ALONE = (Kind.SERIAL_READER, Kind.SERIAL_WRITER, Kind.FEW_RANKS)
# Of what the cause costs, waits for locks are worth a word beside it.
LOCKS_SHARE = 0.1
# A loss to the network is not another where so much of it is the exchange inside MPI-IO.
SAME_LOSS = 0.5

Check = Callable[[Evidence], Finding | None]


class Verdict(NamedTuple):
    """`headline`: whether I/O holds this run back, how much and why; if it does not, what does.
    `findings`: all that hold, the largest share of the run time first, and last what is no cause;
    at most one of a kind."""

    headline: str
    findings: list[Finding]


def judge(evidence: Evidence) -> Verdict:
    hangs = unfinished(evidence)
    if hangs is not None:
        return _judge_ended(without_unfinished(evidence), hangs)
    io = causes(evidence) if evidence.times.runtime_ns else []
    details, fine, bottlenecks, doubts, cautions, regular, routines = (
        _found(checks, evidence)
        for checks in (
            *(IO_DETAILS, (io_is_fine,), BOTTLENECKS, DOUBTS, CAUTIONS, (outputs,)),
            (output_routines, between_calls, compression, decompression),
        )
    )
    if evidence.times.runtime_ns < TOO_SHORT_NS:
        io, details, fine, bottlenecks, regular, routines = [], [], [], [], [], []
    veiled = [finding for finding in cautions if veils(evidence, finding)]
    by_kind = {
        finding.code: finding
        for finding in sorted(
            (*io, *details, *fine, *bottlenecks, *doubts, *cautions, *regular, *routines),
            key=_share,
        )
    }
    findings = sorted(by_kind.values(), key=lambda f: (f.code is Kind.OUTPUTS, -f.share_of_runtime))
    findings = [with_prediction(evidence, finding) for finding in placed(evidence, findings)]
    if not evidence.times.runtime_ns:
        return Verdict("Nothing was recorded: the trace has no run time.", findings)
    first = [finding for finding in cautions if goes_first(evidence, finding)]
    said = {finding.code for finding in (*first, *io)}
    later = [finding for finding in cautions if finding.code not in said]
    texts = _sleep_once(evidence, [*first, *later])
    before, behind = texts[: len(first)], texts[len(first) :]
    if veiled and fine:
        findings = [finding for finding in findings if finding.code is not Kind.IO_FINE]
        # h5py starts a process to know the machine; what was measured is so, whatever that does
        known = [*bottlenecks, *(f for f in routines if f.code in MEASURED_INSIDE)]
        headline = _as_far_as(evidence, veiled, _beside_veil(evidence, known, veiled))
    else:
        others = [f for f in bottlenecks if not (veiled and f.code is Kind.SLEEP)]
        notable = (f for f in routines if evidence.is_notable(_share(f), NOTABLE_LOSS))
        whole = max(notable, key=_share, default=None)
        if whole is not None:
            findings = [finding for finding in findings if finding.code is not Kind.IO_FINE]
        headline = _headline(
            evidence, [*io, *details], others, whole, fine=bool(fine), but=bool(behind)
        )
    if (shared := by_kind.get(Kind.PROCESSORS)) is not None:
        before.insert(0, shared.finding)
    but = [f"But {'; '.join(behind)}."] if behind else []
    return Verdict(" ".join([*map(_sentence, before), headline, *but]), findings)


def _judge_ended(evidence: Evidence, hangs: Finding) -> Verdict:
    """Of a run that was stopped in a file call: that comes first, then what is known of the file
    calls that ended. What ranks waited for each other, or did beside files, says little then: they
    may have waited for the one in that call, or it for them."""
    io = [*causes(evidence), *_found(IO_DETAILS, evidence)]
    cautions = _found(CAUTIONS, evidence)
    found = {f.code: f for f in sorted((*io, *_found(DOUBTS, evidence), *cautions), key=_share)}
    findings = placed(evidence, sorted(found.values(), key=_share, reverse=True))
    is_more = evidence.is_notable(evidence.io_share, NOTABLE_LOSS)
    others = f"the file calls that ended take {_of_run(evidence)}"
    rest = _with_io(evidence, io, [], None) if is_more else _sentence(others)
    but = [f"But {'; '.join(caution.finding for caution in cautions)}."] if cautions else []
    return Verdict(" ".join([_sentence(hangs.finding), rest, *but]), [hangs, *findings])


def _sleep_once(evidence: Evidence, cautions: list[Finding]) -> list[str]:
    """Several end with how long the main threads sleep: the first line says it with one of them."""
    slept, texts = meanwhile(evidence), [caution.finding for caution in cautions]
    ends = [slept and text.endswith(slept) for text in texts]
    return [
        text.removesuffix(slept) if end and any(ends[:i]) else text
        for i, (text, end) in enumerate(zip(texts, ends, strict=True))
    ]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _of_run(evidence: Evidence) -> str:
    share = evidence.io_share
    return f"{percent(share)} of this run{evidence.without_waits(share)}"


def _as_far_as(evidence: Evidence, veiled: list[Finding], more: str) -> str:
    """`more`: what takes longer, as far as the same can tell."""
    share = f"I/O takes {_of_run(evidence)}"
    codes = {finding.code for finding in veiled}
    if codes == {Kind.NOT_RECORDED} and is_all_seen(evidence):
        return f"{share} between MPI_Init and MPI_Finalize{more}."
    if codes & {Kind.NOT_RECORDED, Kind.INCOMPLETE_TRACE}:
        return f"{share} as far as it was recorded{more}."
    whose = "the main thread shows" if evidence.ranks == 1 else "the ranks' main threads show"
    return f"{share} as far as {whose}{more}."


def _beside_veil(evidence: Evidence, bottlenecks: list[Finding], veiled: list[Finding]) -> str:
    """The largest loss beside I/O that does not stand in one of those sentences. Where it is not
    known for how long ranks wait for processes that they started, it is not said who computes."""
    said = " ".join(finding.finding for finding in veiled)
    computing = {Kind.LOAD_IMBALANCE, Kind.SERIALIZATION} if started(evidence) else set()
    hidden = {Kind.SLEEP} | (computing if slept_ns(evidence) is None else set())
    if any(f.code is Kind.SLEEPS_BESIDE_FILES for f in veiled):
        hidden.add(Kind.LOAD_IMBALANCE)  # it is the one that may wait who is there longer
    others = (f for f in bottlenecks if f.code not in hidden and f.finding not in said)
    worst = max(others, key=_share, default=None)
    return f"; {worst.finding}" if worst is not None else ""


def _headline(
    evidence: Evidence,
    io: list[Finding],
    bottlenecks: list[Finding],
    whole: Finding | None,
    fine: bool,
    but: bool,
) -> str:
    """`whole`: what output costs beyond its calls, where that is much. `but`: a sentence follows
    that begins with "But"."""
    if evidence.times.runtime_ns < TOO_SHORT_NS:
        between = " between MPI_Init and MPI_Finalize" if evidence.mpi else ""
        between = " that MPI_Pcontrol chose" if evidence.chosen_of_ns else between
        length = nanoseconds(evidence.times.runtime_ns)
        return f"This run is too short to judge: {length}{between}."
    if fine:
        return _without_io(evidence, bottlenecks, whole, but)
    return _with_io(evidence, io, bottlenecks, whole)


def _found(checks: Iterable[Check], evidence: Evidence) -> list[Finding]:
    return [finding for check in checks if (finding := check(evidence)) is not None]


def _share(finding: Finding) -> float:
    return finding.share_of_runtime


def _with_io(
    evidence: Evidence, io: list[Finding], bottlenecks: list[Finding], whole: Finding | None
) -> str:
    """What I/O takes, and the largest finding about files; before it what takes more, where
    something does. What network and exchange share is named once."""
    exchange = exchange_share(evidence)
    cause = max(io, key=_share, default=None)
    if cause is not None:
        least = NO_CAUSE_SHARE if cause.code is Kind.SLOW_FILE_SYSTEM else EQUAL_SHARE
        causes = (finding for finding in io if finding.code is not Kind.SLOW_FILE_SYSTEM)
        enough = least * cause.share_of_runtime
        largest, cause = cause, next((f for f in causes if _share(f) >= enough), cause)
    share = max(evidence.io_share + exchange, _share(cause) if cause else 0.0)
    more = [
        finding
        for finding in bottlenecks
        if finding.share_of_runtime > share
        and not (finding.code is Kind.NETWORK and exchange >= SAME_LOSS * finding.share_of_runtime)
    ]
    if more:
        worst = max(more, key=_share)
        takes = f"{_what(evidence, worst)} {percent(worst.share_of_runtime)} of this run, I/O"
        text = f"{takes} {percent(evidence.io_share)}{evidence.without_waits(evidence.io_share)}"
    else:
        text = f"I/O takes {_of_run(evidence)}"
    if many_are_lost(evidence):
        text += " as far as it was recorded"
    around = cause is not None and cause.code is Kind.BETWEEN_LAYERS
    if around and exchange < NOTABLE_LOSS and cause:
        text += f", MPI-IO around its file calls {percent(cause.share_of_runtime)}"
    if exchange >= NOTABLE_LOSS:
        what = "the exchange inside MPI-IO" if evidence.ranks > 1 else "the rest of MPI-IO"
        text += f" and {what} up to {percent(exchange)} more"
    if cause is not None:
        text += f": {cause.finding}{_beside(evidence, io, cause)}{_more_time(largest, cause)}"
    elif evidence.away is not None:
        text += f", mostly on {evidence.path_of(evidence.away)}, which is not on a file system"
    if whole is None or _share(whole) <= share:
        return f"{text}."
    return _with_output(text, whole, max(map(_share, more), default=0.0))


def _with_output(text: str, whole: Finding, most: float) -> str:
    """What output costs beyond its calls: before all else where that is more than the largest other
    loss, and no routine's."""
    if whole.code is Kind.OUTPUT_ROUTINE:
        return f"{text}. With all that it does, {whole.finding}."
    if _share(whole) > most:  # which then is no part of any unevenness that is left
        text = f"Other u{text.removeprefix('U')}" if text.startswith("Uneven ") else text
        return f"{_sentence(whole.finding)} {text}."
    return f"{text}. Besides, {whole.finding}."


def _what(evidence: Evidence, finding: Finding) -> str:
    """The few words for a loss beside I/O; its own sentence stands among the findings."""
    if finding.code is Kind.NETWORK:
        alone = evidence.ranks == 1
        return "MPI calls take" if alone else "Transfers and the MPI library take"
    if finding.code is Kind.STREAMS:
        return "Reading from or writing to a pipe or a standard stream takes"
    if finding.code is Kind.ELSEWHERE:
        return "Using memory, devices or the kernel's files takes"
    if finding.code is Kind.SLEEP:
        return "Sleeping outside MPI and file calls takes"
    if is_of_spawned(finding):
        return "Waiting for ranks that are started meanwhile takes"
    other = "time outside MPI and file calls" if asleep(evidence) else "computation"
    if finding.code is Kind.LOAD_IMBALANCE:
        or_prepares = f", or {PREPARES[finding.kinds[0]][1]}," if finding.kinds else ""
        return f"Uneven {other}{or_prepares} takes"
    return f"Waiting for other ranks' {other} takes"


def _beside(evidence: Evidence, io: list[Finding], cause: Finding) -> str:
    """Ranks that do the same work, one slower or one after another, few that do it for all, and
    time inside MPI-IO do not say what the work is. What takes long while ranks wait for each
    other's locks is done one after another."""
    contended = evidence.ranks > 1 and evidence.use.waits_for_locks
    waits = [f for f in io if f.code is Kind.LOCKS and contended]
    if waits and cause.code in REASONS - {Kind.LOCKS}:
        enough = LOCKS_SHARE * cause.share_of_runtime
        return f"; and {waits[0].finding}" if _share(waits[0]) >= enough else ""
    why = [finding for finding in io if finding.code in REASONS and finding is not cause]
    if cause.code in ALONE:  # who synchronises is said to
        why = [f for f in why if f.code not in (Kind.SYNC, Kind.LOCKS)]
        why = [f for f in why if _share(f) >= NO_CAUSE_SHARE * _share(cause)]
    elif cause.code not in (Kind.STRAGGLER, Kind.TAKING_TURNS, Kind.BETWEEN_LAYERS):
        return ""
    return f"; and {max(why, key=_share).finding}" if why else ""


def _more_time(largest: Finding, cause: Finding) -> str:
    """Of another file, what takes longer than the cause does and is none itself."""
    other = cause.file and largest.file and largest.file != cause.file
    longer = _share(cause) < EQUAL_SHARE * _share(largest)
    told = other and longer and tells_a_rate(largest.finding)
    return f"; more time goes to {largest.finding}" if told else ""


def _nothing_else(evidence: Evidence, but: bool) -> str:
    """Where a killed rank or the wait for a processor may hide a loss, or nobody knows how long the
    main thread slept, that is not denied; nor where a sentence follows that begins with "But"."""
    if much_is_unknown(evidence) or sleep_is_unknown(evidence):
        return "; whether anything else does cannot be told"
    waited = evidence.processors is not None and evidence.processors.notable
    if waited and _may_hide(evidence):
        return "; whether anything else does cannot be told beside that wait"
    if but:
        return ""
    if waited:
        return "; nothing else does beside that wait"
    known = evidence.holds_file_calls
    return "; nothing else does either" if known else "; nothing else in it does"


def _may_hide(evidence: Evidence) -> bool:
    """Whether waits for a processor may hide a loss: one that was measured with them, or, where
    they are much of the run, one that is little beside them."""
    measured = losses(evidence.times)
    others = (measured.imbalance_ns, measured.serialization_ns, measured.transfer_ns)
    hidden = any(evidence.share(float(loss)) >= NOTABLE_LOSS for loss in others)
    return hidden or evidence.ran_share < 1


def _without_io(
    evidence: Evidence, bottlenecks: list[Finding], whole: Finding | None, but: bool
) -> str:
    if whole is not None:
        text = f"File calls take {_of_run(evidence)}, but {whole.finding}"
        more = [f for f in bottlenecks if f.share_of_runtime > whole.share_of_runtime]
        return f"{text}{f'; {max(more, key=_share).finding}' if more else ''}."
    worst = max(bottlenecks, key=_share, default=None)
    # Printing is I/O, too, and so is what is done to files in memory.
    kinds = {Kind.STREAMS: "I/O on files does", Kind.ELSEWHERE: "I/O on storage does"}
    which = kinds.get(worst.code, "I/O does") if worst is not None else "I/O does"
    share = percent(evidence.io_share)
    beside = evidence.without_waits(evidence.io_share, ", {}")
    saved = f"{which} not hold this run back ({share} of the run time{beside})"
    if not evidence.holds_file_calls:
        saved = "Whether I/O holds this run back is not in the trace, which holds no file call"
    if worst is None:
        return f"{saved}{_nothing_else(evidence, but)}."
    return f"{saved}{', but' if worst.code in kinds else ';'} {worst.finding}."
