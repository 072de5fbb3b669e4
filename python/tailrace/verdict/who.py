"""Who does the I/O: findings about the loss T_net − T_even, which vanishes where all ranks are in
their file calls at the same time.

Ranks are compared by calls, bytes and time of the kind of call that the slowest ranks' excess is
in. Each sentence, when it is said, and when it must not be (tests/python/test_verdict_who.py has
both for each):

| sentence                         | said when                          | not when                 |
|----------------------------------|------------------------------------|--------------------------|
| rank r writes F alone            | no other rank does this to F, and r| each rank does as much to|
|                                  | does 90 % of it over all files; or | a file of its own        |
|                                  | all do as much, but to other files |                          |
| rank r does x % of the writing   | as above, others do a little to F  |                          |
| rank r alone writes F for n      | the n ranks use F by collective    | others open F, but call  |
| ranks that call MPI-IO together  | calls, and n is twice the workers  | nothing collective       |
| only n of P ranks write F        | n ≤ P / 2 do 90 %, others nothing  | others do 10 % or more   |
| rank r writes x % of the bytes   | r moves 1.3 times the mean of those| r moves as much as the   |
| / makes x % of the calls         | that do any, and is the one with   | others that do any, but  |
|                                  | most time; writes, where it waits  | is slower                |
|                                  | to synchronise or close            |                          |
| ranks r and s write x % …        | s moves about as much as r, and is | s is as quick as those   |
|                                  | slower than those that move less   | that move less           |
| rank r takes x times as long for | calls and bytes are within 1.3 of  | r does more than others  |
| as many writes; n of P ranks take| the mean, time is 2 × the others'  | or all synchronise 1 file|
| ranks write F one after another  | the critical path leads over most  | ranks use F at the same  |
|                                  | of what several ranks do to F      | time, or one alone       |
| ranks do their I/O one after     | times are even, ranks overlap far  | calls are so short that  |
| another                          | less than chance lets them, and the| they rarely meet, or one |
|                                  | critical path leads over most of it| rank comes late from its |
|                                  |                                    | computation              |
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tailrace.units import count, digits, nanoseconds, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.advice_libraries import whose
from tailrace.verdict.cause import CAUSE_SHARE, OPENED_WITH, opened_by_some, opened_otherwise
from tailrace.verdict.culprits import (
    DOING_SHARE,
    Culprits,
    does_more_to_its_own,
    find_culprits,
    is_even,
    moved_by,
    of_all_files,
    others_do_nothing,
    who_does_more,
    with_files_of_its_own,
)
from tailrace.verdict.evidence import Evidence, Finding, Kind, RankUse
from tailrace.verdict.flushes import LIBRARIES, flushes
from tailrace.verdict.handed_out import handed_out
from tailrace.verdict.names_of_files import made_unevenly, slow_changes
from tailrace.verdict.requests import (
    KINDS,
    LARGE_SYNC_BYTES,
    MOVING_KINDS,
    VERBS,
    VERBS_OF_OTHERS,
    calls_of,
    is_copied,
    mpiio_ways,
    plural_of,
    sum_use,
    verbs_of,
)
from tailrace.verdict.shared_files import by_few, is_collective, who_call_mpiio
from tailrace.verdict.why import NOTABLE_SHARE

# Where others do more than the rest of it, if only in files of their own, it is not done alone.
ALONE_SHARE = 0.95
# When uneven times explain less than this share of what even I/O would save, time is lost because
# calls do not overlap, not because some rank takes longer.
UNEVEN_SHARE = 0.5
# A rank is a straggler when it takes so many times as long as the median of the others.
STRAGGLING = 2.0
COMPARABLE_CALLS = 20
# Of the overlap that chance would give, ranks that take turns reach at most this share; where
# chance gives less than so many ranks, no overlap proves nothing.
TURNS_OVERLAP = 0.25
CHANCE_OVERLAP = 1.15
# Where they take turns on one file, so much of what they do to it beyond the longest of them lies
# on the critical path: all of it where nobody comes late, nothing where all use it at once.
ON_PATH = 0.5


class Unevenness(NamedTuple):
    """Which ranks do the I/O: the finding's kind, its sentence, the facts behind it, the file (a
    row of "files"), the ranks and the kinds of call that it is about, and which advice, where that
    is not the one of the file's library."""

    code: Kind
    finding: str
    facts: str
    file: int | None = None
    ranks: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    advised: str = ""


def who_does_io(evidence: Evidence) -> Finding | None:
    """The loss to uneven I/O, where comparing the ranks tells what it comes from: not where it is
    not known of some what they did."""
    loss = evidence.losses.io_balance_ns
    notable = evidence.is_notable(evidence.share(loss), NOTABLE_SHARE)
    cause = _cause(evidence) if notable and not evidence.times.missing else None
    if cause is None:
        return None
    return Finding(
        cause.code,
        cause.finding,
        f"{cause.facts}; {evidence.at_a_time}",
        evidence.share(loss),
        f"spreading this I/O evenly over all ranks would save at most {nanoseconds(loss)}, if the "
        "file system serves many ranks as well as one",
        to_seconds(loss),
        advice(cause.code, _library(evidence, cause), evidence.mpi),
        evidence.path_of(cause.file),
        cause.ranks,
        kinds=cause.kinds,
    )


def _library(evidence: Evidence, cause: Unevenness) -> str:
    """Of the file; aggregators are chosen by the MPI library, whatever stands on top of it, and
    turns by the program."""
    if cause.code in (Kind.FEW_AGGREGATORS, Kind.TAKING_TURNS):
        return cause.advised
    return whose(cause.code, evidence.library_in(cause.file), cause.advised)


def _cause(evidence: Evidence) -> Unevenness | None:
    return _turns_on_file(evidence) or _comparing_ranks(evidence)


def _comparing_ranks(evidence: Evidence) -> Unevenness | None:
    io_ns = evidence.times.io_ns
    if float(io_ns.max() - io_ns.mean()) < UNEVEN_SHARE * evidence.losses.io_balance_ns:
        return _taking_turns(evidence)
    culprits = find_culprits(evidence)
    if culprits is None or _waits_for_a_lock(evidence, culprits):
        return None
    use = evidence.by_rank(culprits.kind)
    return (
        _few(evidence, culprits, use)
        or _uneven(evidence, use, culprits)
        or _taking_turns(evidence)
        or _alone_with_files(evidence, culprits)
        or _straggler(evidence, use, culprits)
    )


def _waits_for_a_lock(evidence: Evidence, culprits: Culprits) -> bool:
    """That is the time of who holds it, which no other rank can share: why.py says it."""
    return culprits.kind == "lock" and sum_use(evidence.file_rank, culprits.rows).waits_for_locks


def _few(evidence: Evidence, culprits: Culprits, use: RankUse) -> Unevenness | None:
    """At most half of the ranks do nearly all of the work."""
    order = np.argsort(-use.work, kind="stable")
    done = np.cumsum(use.work[order])
    if not done[-1]:
        return None
    workers = order[: int(np.searchsorted(done, DOING_SHARE * done[-1])) + 1]
    if len(workers) > evidence.ranks // 2 or not set(culprits.ranks) <= set(workers.tolist()):
        return None
    share = float(use.work[workers].sum() / done[-1])
    ranks = tuple(sorted(map(int, workers)))
    culprits = of_all_files(evidence, culprits, ranks)
    name = _named(evidence, culprits)
    alone = others_do_nothing(evidence, culprits, ranks)
    only = alone and share >= ALONE_SHARE
    code, together = _code(culprits, ranks), _taking_part(evidence, culprits, ranks)
    if alone and together:
        verb = VERBS[culprits.kind][len(ranks) > 1]
        number = f"rank {ranks[0]} alone" if len(ranks) == 1 else f"only {len(ranks)} ranks"
        code = Kind.FEW_AGGREGATORS
        finding = f"{number} {verb} {name} for {together} ranks that call MPI-IO together"
    else:
        text = _serial_text if len(ranks) == 1 else _few_text
        finding = text(evidence, culprits, ranks, name, "" if only else percent(share))
    facts = _facts(evidence, culprits)
    kinds, advised = _kinds(evidence, culprits), _advised_of_few(evidence, culprits, code, ranks)
    return Unevenness(code, finding, facts, culprits.file, ranks, kinds, advised)


def _alone_with_files(evidence: Evidence, culprits: Culprits) -> Unevenness | None:
    """What all ranks do alike to other files, as where each imports Python's modules, does not make
    their work equal where the time goes to files that only one of them uses so."""
    own = with_files_of_its_own(evidence, culprits)
    if own is None:
        return None
    text = _serial_text(evidence, own, own.ranks, _named(evidence, own), "")
    code = _code(own, own.ranks)
    kinds, advised = _kinds(evidence, own), _advised_of_few(evidence, own, code, own.ranks)
    return Unevenness(code, text, _facts(evidence, own), own.file, own.ranks, kinds, advised)


def _kinds(evidence: Evidence, culprits: Culprits) -> tuple[str, ...]:
    """The kinds of call that their sentence is about: who synchronises a file writes it."""
    writes = culprits.kind == "sync" and _act(evidence, culprits)[0] == VERBS["write"]
    return ("sync", "write") if writes else (culprits.kind,)


def _named(evidence: Evidence, culprits: Culprits) -> str:
    name = evidence.name_of(culprits.rows, culprits.file)
    makes = verbs_of(culprits.kind, evidence.columns["functions"]) == VERBS_OF_OTHERS["mkdir"]
    return name.replace("files", "directories") if makes and culprits.file is None else name


def _advised_of_few(
    evidence: Evidence, culprits: Culprits, code: Kind, ranks: Sequence[int]
) -> str:
    advised = _advised(evidence, culprits)
    if code is Kind.FEW_AGGREGATORS:
        advised = culprits.kind
    if code is Kind.FEW_RANKS and not advised and by_few(evidence, culprits.file, len(ranks)):
        advised = "opened by few"
    if code is Kind.SERIAL_METADATA:
        advised = _advised_of_names(evidence, culprits)
    if code is Kind.SERIAL_READER and not advised:
        advised = handed_out(evidence, ranks[0])
    if culprits.kind == "write" and not advised and (cause := flushes(evidence, "write")):
        advised = cause.advised if cause.advised in LIBRARIES else ""
    if culprits.file is None and not advised:
        advised = _library_of_all(evidence, culprits)
    return advised


def _advised_of_names(evidence: Evidence, culprits: Culprits) -> str:
    if culprits.kind == "other":
        enough_ns = CAUSE_SHARE * evidence.use.time_ns("other")
        return slow_changes(evidence.use, evidence.columns["functions"], enough_ns)
    return "names" if _are_other_files(evidence, culprits) else culprits.kind


def _are_other_files(evidence: Evidence, culprits: Culprits) -> bool:
    """Whether hardly any of the files is opened more than once: none could have been kept open."""
    opened = np.asarray(evidence.file_rank["opens"])[culprits.rows]
    once = opened.sum() < 2 * np.count_nonzero(opened)
    return culprits.kind in ("open", "close") and culprits.file is None and bool(once)


def _advised(evidence: Evidence, culprits: Culprits) -> str:
    """Where few bytes are synchronised, to spread them over ranks spares nothing; and who copies
    files, or calls collective functions, need not be told to call these."""
    collective = is_collective(evidence, culprits.file, culprits.kind)
    if collective and len(who_call_mpiio(evidence, culprits.file)) > len(culprits.ranks):
        return "collective"
    use = sum_use(evidence.file_rank, culprits.rows)
    if culprits.kind != "sync":
        written = use.bytes("write") if culprits.kind == "write" else 0
        return "copied" if is_copied(evidence.columns["functions"], written) else ""
    few = use.bytes("write") < LARGE_SYNC_BYTES * max(use.calls("sync"), 1)
    return "synchronising" if few or _others_write(evidence, culprits) else ""


def _library_of_all(evidence: Evidence, culprits: Culprits) -> str:
    """Through which all these files are used, as outputs in a file each are; else empty."""
    table, calls = evidence.file_rank, evidence.file_rank[KINDS[culprits.kind][0]]
    files = {int(table["file"][row]) for row in culprits.rows if calls[row]}
    first, *others = {evidence.library_in(file) for file in files} or {""}
    return "" if others else first


def _taking_part(evidence: Evidence, culprits: Culprits, ranks: Sequence[int]) -> int:
    """How many ranks call MPI-IO's collective functions on the file that only `ranks` read or
    write in the end: these are its aggregators. 0 where it is used in another way."""
    if culprits.file is None or culprits.kind not in MOVING_KINDS:
        return 0
    if not mpiio_ways(evidence.columns["functions"], culprits.kind)["collective"]:
        return 0
    together = len(who_call_mpiio(evidence, culprits.file))
    return together if together >= 2 * len(ranks) else 0


def _code(culprits: Culprits, ranks: Sequence[int]) -> Kind:
    if len(ranks) > 1:
        return Kind.FEW_RANKS
    serial = {"read": Kind.SERIAL_READER, "write": Kind.SERIAL_WRITER, "sync": Kind.SERIAL_WRITER}
    return serial.get(culprits.kind, Kind.SERIAL_METADATA)


def _act(evidence: Evidence, culprits: Culprits) -> tuple[tuple[str, str], str]:
    """The verbs for what the culprits do, and what most of that time is in: who synchronises a
    file writes it."""
    use = sum_use(evidence.file_rank, culprits.rows)
    if culprits.kind != "sync":
        return verbs_of(culprits.kind, evidence.columns["functions"]), ""
    calls = calls_of(use, "sync", evidence.columns["functions"])
    if not use.bytes("write") or _others_write(evidence, culprits):
        return VERBS["sync"], f", in {calls}"
    return VERBS["write"], f", mostly in {calls}"


def _others_write(evidence: Evidence, culprits: Culprits) -> bool:
    """To the file, or where none stands out more than a little to any."""
    table = evidence.file_rank
    rows = evidence.rows_of_file(range(len(table["rank"])), culprits.file)
    own = set(culprits.ranks)
    size = np.asarray(table["bytes_written"], dtype=np.int64)
    others = sum(int(size[row]) for row in rows if int(table["rank"][row]) not in own)
    little = (1 - ALONE_SHARE) * sum(int(size[row]) for row in rows)
    return others > (little if culprits.file is None else 0)


def _serial_text(
    evidence: Evidence, culprits: Culprits, ranks: Sequence[int], name: str, share: str
) -> str:
    """`share` of the work, where others do the rest."""
    (verb, _), mostly = _act(evidence, culprits)
    others = evidence.ranks - 1
    wait = "the other rank waits" if others == 1 else f"{others} ranks wait"
    if not share:
        return f"rank {ranks[0]} {verb} {name} alone while {wait}{mostly}"
    return f"rank {ranks[0]} does {share} of all {_noun(evidence, culprits)}, mainly on {name}"


def _few_text(
    evidence: Evidence, culprits: Culprits, ranks: Sequence[int], name: str, share: str
) -> str:
    (_, verb), _ = _act(evidence, culprits)
    few = f"{len(ranks)} of {evidence.ranks} ranks"
    if not share:
        return f"only {few} {verb} {name} while the others wait"
    return f"{few} do {share} of all {_noun(evidence, culprits)}, mainly on {name}"


def _noun(evidence: Evidence, culprits: Culprits) -> str:
    moving = {"read": "reading", "write": "writing", "sync": "synchronising"}
    return moving.get(culprits.kind) or _plural(evidence, culprits.kind)


def _facts(evidence: Evidence, culprits: Culprits) -> str:
    use = sum_use(evidence.file_rank, culprits.rows)
    by = count(len(culprits.ranks), "rank")
    if len(culprits.ranks) == 1:
        rank = culprits.ranks[0]
        part = percent(float(evidence.times.io_ns[rank] / evidence.times.io_ns.sum()))
        spent = nanoseconds(evidence.times.io_ns[rank])
        by = f"rank {rank}, which spends {spent} in file calls, {part} of all ranks' time there"
    return f"{evidence.described(use, culprits.kind)} by {by}"


def _uneven(evidence: Evidence, use: RankUse, culprits: Culprits) -> Unevenness | None:
    """The rank with most time does more than the others: in bytes, or in calls; with it others that
    do as much."""
    kind, moved = culprits.kind, moved_by(culprits.kind)
    size = evidence.by_rank(moved).bytes
    if ranks := who_does_more(use.time_ns, size):
        doing = of_all_files(evidence, culprits, ranks)
        own = len(ranks) == 1 and does_more_to_its_own(evidence, doing, ranks[0], size)
        name = evidence.name_of(doing.rows, doing.file)
        among = f", all of {name} among them," if own else ""
        text = _more_text(evidence, ranks, size, VERBS[moved], f"bytes{among}")
        advised = "collective" if _is_collective(evidence, doing) else ""
        advised = advised or ("read" if moved == "read" else "")
        code, kinds = Kind.UNEVEN_BYTES, tuple({kind: None, moved: None})
    elif ranks := who_does_more(use.time_ns, use.calls):
        doing = of_all_files(evidence, culprits, ranks)
        text = _more_text(evidence, ranks, use.calls, ("makes", "make"), _plural(evidence, kind))
        code, kinds, advised = Kind.UNEVEN_CALLS, (kind,), made_unevenly(evidence, kind)
    else:
        return None
    part = "an even part" if len(ranks) == 1 else f"an even part of {len(ranks)} ranks"
    facts = f"{part} is {percent(len(ranks) / evidence.ranks)}; {_spread(use.time_ns)}"
    return Unevenness(code, text, facts, doing.file, ranks, kinds, advised)


def _more_text(
    evidence: Evidence, ranks: Sequence[int], work: np.ndarray, verbs: tuple[str, str], noun: str
) -> str:
    """`ranks 2 and 3 write 88.9 % of the bytes and the others wait for them`."""
    single = len(ranks) == 1
    who = f"{'rank' if single else 'ranks'} {' and '.join(map(str, ranks))}"
    who = who if len(ranks) <= 2 else f"{len(ranks)} of {evidence.ranks} ranks"
    share = percent(float(work[list(ranks)].sum() / work.sum()))
    wait = "the other waits" if evidence.ranks - len(ranks) == 1 else "the others wait"
    waited = "it" if single else "them"
    return f"{who} {verbs[not single]} {share} of the {noun} and {wait} for {waited}"


def _is_collective(evidence: Evidence, culprits: Culprits) -> bool:
    """Whether all that they use so is written or read by collective calls of MPI-IO: also where
    they wait for that afterwards."""
    files = {int(evidence.file_rank["file"][row]) for row in culprits.rows}
    kind = moved_by(culprits.kind)
    return bool(files) and all(is_collective(evidence, file, kind) for file in files)


def _spread(time_ns: np.ndarray) -> str:
    low, high = (nanoseconds(limit) for limit in (time_ns.min(), time_ns.max()))
    return f"ranks spend {low} to {high} in these calls"


def _straggler(evidence: Evidence, use: RankUse, culprits: Culprits) -> Unevenness | None:
    """Equal work, but one rank takes longer for it. Not for a lock: that is others' time. Nor to
    synchronise one file: who comes first waits for what all have written. Nor for a few renames,
    removals and the like: equal numbers of these need not be equal calls."""
    few = culprits.kind == "other" and use.calls.mean() < COMPARABLE_CALLS
    alone = culprits.file is None or others_do_nothing(evidence, culprits, culprits.ranks[:1])
    if culprits.kind == "lock" or few or (culprits.kind == "sync" and not alone):
        return None
    ran_ns = np.clip(use.time_ns - evidence.waited_by_rank_ns("io"), 0, None)
    slowest = int(ran_ns.argmax())
    slow = np.flatnonzero(STRAGGLING * ran_ns >= ran_ns[slowest])
    others = float(np.median(np.delete(ran_ns, slow))) if len(slow) < evidence.ranks else 0.0
    equal = is_even(evidence.by_rank(moved_by(culprits.kind)).bytes) and is_even(use.calls)
    if not equal or not others or 2 * len(slow) > evidence.ranks:
        return None
    plural = _plural(evidence, culprits.kind)
    times = float(ran_ns[slow].mean()) / others
    rest = "the other" if evidence.ranks == 2 else "the others"
    many = f"{len(slow)} of {evidence.ranks} ranks take"
    who = f"rank {slowest} takes" if len(slow) == 1 else many
    how = opened_otherwise(evidence, culprits.kind, slow)
    text = f"{who} {digits(times)} times as long as {rest} for as many {plural}"
    text += f", with {OPENED_WITH[how]}" if how else ""
    some = opened_by_some(evidence, culprits.kind, slow)
    waiting = ", without waiting for a processor" if ran_ns.sum() < use.time_ns.sum() else ""
    facts = f"{use.calls[slowest]:,} {plural} on rank {slowest}; {_spread(ran_ns)}{waiting}"
    facts += f"; {some}" if some else ""
    advised = {"read": "reading", "write": "moving", "sync": "moving"}.get(culprits.kind, "")
    advised = "shared" if culprits.kind == "write" and not alone and not some else advised
    few = _few_slow_calls(evidence, culprits.kind, slowest) if len(slow) == 1 and not how else ""
    text, advised = text + few, how or ("few" if few else advised)
    ranks = tuple(map(int, slow))
    return Unevenness(Kind.STRAGGLER, text, facts, None, ranks, (culprits.kind,), advised)


def _few_slow_calls(evidence: Evidence, kind: str, rank: int) -> str:
    """`, most of it in 1 of them (in.dat)`, where most of the rank's time goes to one file, and few
    of its calls do: it is not slow at all of them. Else empty."""
    table = evidence.file_rank
    calls, times = (np.asarray(table[name]) for name in (KINDS[kind][0], f"{kind}_ns"))
    rows = np.flatnonzero((np.asarray(table["rank"]) == rank) & (calls > 0))
    row = int(rows[times[rows].argmax()])
    many = COMPARABLE_CALLS * calls[row] > calls[rows].sum()
    if many or 2 * times[row] < times[rows].sum():
        return ""
    return f", most of it in {calls[row]:,} of them ({evidence.name_of([], table['file'][row])})"


def _turns_on_file(evidence: Evidence) -> Unevenness | None:
    """Ranks wait for each other's calls on one file, whatever they do to others meanwhile. A
    critical path is in one place at a time, and each of its parts waited for the one before: so did
    what it leads over of several ranks' calls."""
    on_path = evidence.io_on_path_ns
    longest = np.asarray(evidence.files["slowest_rank_ns"])
    saved = on_path - longest
    if saved.max(initial=0) < max(UNEVEN_SHARE * evidence.losses.io_balance_ns, 1):
        return None
    file = int(saved.argmax())
    use = sum_use(evidence.files, [file])
    if saved[file] < ON_PATH * (use.time_ns() - longest[file]):
        return None
    calls = evidence.file_rank[KINDS[use.kind][0]]
    rows = [row for row in evidence.rows_of_file(range(len(calls)), file) if calls[row]]
    ranks = tuple(sorted(int(evidence.file_rank["rank"][row]) for row in rows))
    who = "ranks" if len(ranks) == evidence.ranks else f"{len(ranks)} of {evidence.ranks} ranks"
    text = f"{who} {VERBS[use.kind][1]} {evidence.name_of(rows, file)} one after another"
    part = percent(float(on_path[file] / use.time_ns()))
    facts = f"{evidence.described(use, use.kind)}; {part} of this time is on the critical path"
    advised = "collective" if is_collective(evidence, file, use.kind) else ""
    return Unevenness(Kind.TAKING_TURNS, text, facts, file, ranks, (use.kind,), advised)


def _taking_turns(evidence: Evidence) -> Unevenness | None:
    """Equal times, but ranks overlap far less than they would by chance; and those that do theirs
    later have waited for it, not for what others computed."""
    chance, measured = evidence.chance_concurrency, evidence.concurrency
    if chance < CHANCE_OVERLAP or measured - 1 > TURNS_OVERLAP * (chance - 1):
        return None
    longest, whole = int(evidence.times.io_ns.max()), int(evidence.times.io_ns.sum())
    on_path = int(evidence.io_on_path_ns.sum())
    if evidence.knows_path and on_path - longest < ON_PATH * (whole - longest):
        return None
    text = f"ranks do their I/O one after another: {measured:.1f} of {evidence.ranks} at a time"
    use = evidence.use
    facts = evidence.described(use, use.kind)
    facts = f"{facts}; left to chance, {chance:.1f} ranks would be in I/O at a time"
    return Unevenness(Kind.TAKING_TURNS, text, facts)


def _plural(evidence: Evidence, kind: str) -> str:
    return plural_of(kind, evidence.columns["functions"], evidence.use.calls(kind))
