"""What is said of I/O and MPI beside the main threads' calls: programs built by arithmetic."""

from typing import Any

import numpy as np
import pytest

from tailrace.verdict.as_json import report
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge
from tests.python.columns import MILLISECOND, SECOND, Program, asleep_for, mpi, useful, write

MB = 1_000_000
FINE = "I/O does not hold this run back (1.0 % of the run time); nothing else does either."
# "Nothing else" is not said where something follows.
FINE_BUT = "I/O does not hold this run back (1.0 % of the run time)."


def _quiet(ranks: int = 2, size: int = 1000, **more: Any) -> Program:
    """Ranks that compute, and write 1000 bytes each in one call."""
    each = [useful(990 * MILLISECOND), write(10 * MILLISECOND, size=size)]
    return Program([each] * ranks, SECOND, SECOND, 990 * MILLISECOND, **more)


def _judged(program: Program) -> Verdict:
    return judge(Evidence(program.columns()))


def test_processes_that_were_started_are_counted_and_nothing_is_fine_then():
    assert _judged(_quiet()).headline == FINE
    verdict = _judged(_quiet(meta={"unseen": "processes=20"}))
    assert verdict.headline == (
        "I/O takes 1.0 % of this run as far as it was recorded. "
        "But ranks started 20 other processes, which were not recorded."
    )
    found = {finding.code: finding for finding in verdict.findings}
    assert "io_fine" not in found
    assert "--processes all" in found["not_recorded"].advice


def test_what_is_not_recorded_hides_no_loss_that_is():
    """Rank 0 computes for a second, the other for 0.5 s. Where it is not known whether that is
    waiting for the process that they started, nothing is said of it."""
    rows = [[useful(time * MILLISECOND), mpi((1000 - time) * MILLISECOND)] for time in (999, 500)]
    ran = {"ran_ns": f"{999 * MILLISECOND},{500 * MILLISECOND}", "usage": f"0 0 {MB} 0 0"}

    def said(**meta: str) -> str:
        run = Program(rows, *[999 * MILLISECOND] * 3, waited_ns=[(0, 0, 0)] * 2)
        run.meta = {"unseen": "processes=1"} | meta
        return _judged(run).headline

    uneven = "; rank 0 computes 1.33 times as long as the ranks on average"
    assert f"I/O takes 0 % of this run as far as it was recorded{uneven}." in said(**ran)
    assert "computes" not in said() and "computes" not in said(**(ran | {"ran_ns": ""}))


def test_processes_that_could_not_load_capture_are_named_where_all_are_recorded():
    assert _judged(_quiet(ranks=1, meta={"unseen": "out_of_reach"})).headline == (
        "I/O takes 1.0 % of this run as far as it was recorded. But what the program started as "
        "another user, or below another root, was not recorded."
    )


def test_processes_that_did_nothing_are_kept_quiet():
    helper = {"unseen": "processes=1", "usage": f"0 0 0 0 {2 * MILLISECOND}"}
    quiet = {"meta": helper | {"ran_ns": str(990 * MILLISECOND)}, "waited_ns": [(0, 0, 0)]}
    assert _judged(_quiet(ranks=1, **quiet)).headline == FINE
    for change in (
        {"unseen": "processes=2 left"},
        {"usage": f"0 0 0 0 {80 * MILLISECOND}"},
        {"usage": "0 0 0 0 0"},
        {"usage": f"{MB} 0 {MB} 0 {2 * MILLISECOND}"},
        {"ran_ns": str(900 * MILLISECOND)},
    ):
        said = _judged(_quiet(ranks=1, **(quiet | {"meta": quiet["meta"] | change}))).headline
        assert "not recorded" in said, change


def test_what_ran_before_the_recorded_program_is_named():
    """A shell's last command takes its place: only that is recorded."""
    meta = {"earlier": f"{3 * SECOND} 0", "program": "/usr/bin/samtools"}
    verdict = _judged(_quiet(ranks=1, meta=meta))
    assert verdict.headline == (
        "Only samtools, the last program of the command, was recorded, not what ran for 3.00 s "
        "before it. I/O takes 1.0 % of this run as far as it was recorded."
    )
    assert "--processes all" in verdict.findings[0].advice
    for earlier, said in (
        (f"{MILLISECOND} {MB}", False),
        (f"{100 * MILLISECOND} 0", False),
        (f"{100 * MILLISECOND} {MB}", True),
    ):
        headline = _judged(_quiet(ranks=1, meta=meta | {"earlier": earlier})).headline
        assert ("the last program" in headline) == said, earlier


def test_what_processes_wrote_comes_first_where_it_is_most():
    # The ranks wrote 2 kB by calls; 40 MB were written in all, 39.5 MB of it by what they started.
    usage = f"{40 * MB} 0 {39.5 * MB:.0f} 0 0"
    verdict = _judged(_quiet(meta={"unseen": "processes=4", "usage": usage}))
    assert verdict.headline == (
        "Ranks started 4 other processes, which were not recorded and wrote 39.5 MB. "
        "I/O takes 1.0 % of this run as far as it was recorded."
    )
    (numbers,) = [report(_quiet(meta={"unseen": "processes=4", "usage": usage}).columns())]
    assert numbers["unrecorded"]["processes_bytes_written"] == 39.5 * MB


def test_a_program_that_is_paged_in_used_no_other_way():
    meta = {"unseen": "processes=1", "usage": f"0 {4 * MB} 0 0 0"}
    verdict = _judged(_quiet(meta=meta))
    assert verdict.headline.startswith("I/O takes 1.0 % of this run as far as it was recorded. But")


def test_a_main_thread_that_sleeps_beside_processes_may_wait_for_them():
    verdict = _judged(_quiet(ranks=1, **asleep_for(0.9, ranks=1, unseen="processes=3")))
    assert verdict.headline == (
        "I/O takes 1.0 % of this run as far as it was recorded. But the program started 3 other "
        "processes, which were not recorded, while the main thread sleeps 90.0 % of the run."
    )


def test_recorded_writes_are_not_taken_for_those_of_another_way():
    # 30 MB were written for each rank, all of it recorded: nothing is left for the mapping.
    meta = {"unseen": "mmap=1", "mapped_file": "/data/mesh.bin", "usage": f"{60 * MB} 0 0 0 0"}
    verdict = _judged(_quiet(size=30 * MB, meta=meta))
    assert verdict.headline == (
        "I/O takes 1.0 % of this run as far as it was recorded. But the program uses a mapping of "
        "mesh.bin, whose reads and writes Tailrace does not see."
    )
    more = meta | {"usage": f"{160 * MB + 2 * 4096} 0 0 0 0"}  # a page for each write
    # Nothing can be stored there: pages are larger, as LMDB's, which maps its file only to read.
    assert _judged(_quiet(size=30 * MB, meta=more)).headline == verdict.headline
    more |= {"mapped_writable": "/data/mesh.bin"}
    assert _judged(_quiet(size=30 * MB, meta=more)).headline.startswith(
        "100 MB were written through a mapping of mesh.bin, which Tailrace does not time. "
    )


def test_page_faults_of_who_maps_files_are_counted():
    mapped = {"unseen": "mmap=1", "mapped_file": "/data/mesh.bin", "usage": "0 0 0 0 0"}

    def facts(meta: dict[str, str]) -> str:
        findings = _judged(_quiet(meta=meta)).findings
        return next((f.evidence for f in findings if f.code == "not_recorded"), "")

    quick = facts(mapped | {"faults": "40000 0"})
    assert "the ranks had 40,000 page faults, all served by memory, which count as comp" in quick
    slow = facts(mapped | {"faults": "40000 300"})
    assert "40,300 page faults, 300 of them for what was not in memory, which count" in slow
    # As many as any program has; and of one that maps nothing, whose own memory they are.
    for few in (
        mapped | {"faults": "4000 0"},
        mapped,
        {"unseen": "processes=1"} | {"faults": "40000 0"},
    ):
        assert "page faults" not in facts(few)


def test_pages_of_programs_may_be_among_what_is_read_through_a_mapping():
    meta = {"unseen": "mmap=1", "mapped_file": "/data/mesh.bin", "usage": f"0 {64 * MB} 0 0 0"}
    assert _judged(_quiet(meta=meta)).headline.startswith(
        "Up to 64.0 MB were read through a mapping of mesh.bin, which Tailrace does not time. "
    )


def test_reads_from_storage_through_io_uring_are_named():
    meta = {"unseen": "io_uring", "usage": f"0 {64 * MB} 0 0 0"}
    assert _judged(_quiet(meta=meta)).headline.startswith(
        "64.0 MB were read through io_uring, which Tailrace does not time. "
    )


def test_records_that_were_brought_to_storage_meanwhile_are_not_unseen_writes():
    """In a run of 1 s the kernel may count one piece of 2 MiB of capture's records twice. One more
    is taken off for the write of 1000 bytes, so that of 4 MiB nothing is left, and of 5 3 MiB."""
    for mebibytes, said in ((3.9, False), (5, True)):
        usage = f"{1000 + int(mebibytes * (1 << 20))} 0 0 0 0"
        headline = _judged(_quiet(ranks=1, meta={"usage": usage, "mpi": ""})).headline
        assert ("3.15 MB were written by no call that Tailrace sees" in headline) == said
        assert ("no call" in headline) == said


def test_no_amount_is_said_where_the_window_is_another_than_the_kernels():
    columns = _quiet(meta={"unseen": "io_uring", "usage": f"{64 * MB} 0 0 0 0"}).columns()
    functions = columns["functions"]
    for key, value in (("name", "MPI_Pcontrol"), ("layer", "mpi"), ("calls", 1)):
        functions[key] = [*functions[key], value]
    for key in set(functions) - {"name", "layer", "calls"}:
        functions[key] = [*functions[key], 0]
    assert "64.0 MB" not in judge(Evidence(columns)).headline


def test_file_calls_before_and_after_the_run_are_told():
    def said(outside_ms: int, **meta: str) -> str:
        meta = {"usage": "0 0 0 0 0"} | meta
        outside = [outside_ms * MILLISECOND, 0]
        return _judged(_quiet(meta=meta, outside_io_ns=outside)).headline

    words = "of rank 0's file calls before MPI_Init and after MPI_Finalize are in no number here"
    assert f"200 ms {words}" in said(200) and "does not hold" not in said(200)
    # Nothing went by capture: what is said holds for the whole of the run.
    assert said(200).startswith("I/O takes 1.0 % of this run between MPI_Init and MPI_Finalize.")
    assert "as far as it was recorded" in said(200, unseen="processes=4")
    assert said(2000).startswith(f"2.00 s {words}. ")  # longer than the run
    assert said(90) == FINE  # of 1 s
    assert "MPI_Init" not in said(2000, mpi="")  # its run is all of the program


def test_a_main_thread_that_sleeps_is_no_computation():
    verdict = _judged(_quiet(ranks=1, **asleep_for(0.5, ranks=1)))
    assert verdict.headline == (
        "I/O does not hold this run back (1.0 % of the run time); the main thread sleeps 50.0 % of "
        "the run outside MPI and file calls."
    )
    assert _judged(_quiet(**asleep_for(0.03))).headline == FINE  # below 5 %


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"others_ran_ns": f"{2 * SECOND}"}, ", and other threads run for 2.00 s in all"),
        ({"usage": f"0 0 0 0 {SECOND}"}, ", and processes that it started run for 1.00 s in all"),
        # It sleeps for 0.5 s; they run for 0.6 s, 0.49 s of it perhaps beside it: for a tenth.
        ({"others_ran_ns": f"{600 * MILLISECOND}"}, ", and other threads run for 600 ms in all"),
        ({"others_ran_ns": f"{580 * MILLISECOND}"}, ""),
        ({"others_ran_ns": f"{300 * MILLISECOND}"}, ""),
    ],
)
def test_who_sleeps_may_wait_for_threads_and_processes_that_compute(meta: dict, said: str):
    """As bwa, 7z and make -j do."""
    verdict = _judged(_quiet(ranks=1, **asleep_for(0.5, ranks=1, **meta)))
    (found,) = [finding for finding in verdict.findings if finding.code == "sleep"]
    asleep = "the main thread sleeps 50.0 % of the run outside MPI and file calls"
    assert found.finding == f"{asleep}{said}"
    assert ("perf record" in found.advice) == bool(said)


@pytest.mark.parametrize(
    ("who", "said"),
    [
        ("processes", "; other processes of the program spend 10.0 ms in file calls in all"),
        ("threads", "; other threads spend 10.0 ms in file calls in all"),
        ("", ""),
    ],
)
def test_beside_sleep_it_stands_what_others_do_to_files_at_most(who: str, said: str):
    """As the workers of joblib and scikit-learn: too little for a finding of its own."""
    others = {f"bytes_by_other_{who}": [MB]} if who else {}
    spent = [10 * MILLISECOND if who else 0]
    verdict = _judged(_quiet(1, overlapped_io_ns=spent, others=others, **asleep_for(0.5, ranks=1)))
    (found,) = [finding for finding in verdict.findings if finding.code == "sleep"]
    assert found.evidence.endswith(f"what a thread waits for there{said}")


def test_who_removes_files_and_moves_no_byte_may_be_a_process():
    """As rm in a script, of which all processes are recorded."""
    spent = {"overlapped_io_ns": [300 * MILLISECOND]}
    for which, who in (("all", "Other processes or threads of the program"), ("", "Other threads")):
        told = asleep_for(0.9, 1, processes=which)
        headline = _judged(_quiet(ranks=1, size=0, **spent, **told)).headline
        assert headline.startswith(f"{who} spend 300 ms in file calls")


def test_a_rank_that_sleeps_while_another_polls_does_not_compute():
    """Rank 0 sleeps 0.95 of its 0.98 s outside calls, rank 1 polls in MPI meanwhile: 0.49 s is what
    an average of the two would save."""

    def said(ran_ms: int) -> Verdict:
        rows = [[useful(980 * MILLISECOND), mpi(20 * MILLISECOND)], [mpi(SECOND)]]
        ran = {"usage": "0 0 0 0 0", "ran_ns": f"{ran_ms * MILLISECOND},{SECOND}"}
        known = {"meta": ran, "waited_ns": [(0, 0, 0)] * 2}
        return _judged(Program(rows, SECOND, SECOND, 980 * MILLISECOND, **known))

    asleep = said(ran_ms=30)
    (found,) = [finding for finding in asleep.findings if finding.code == "load_imbalance"]
    assert found.finding == (
        "rank 0 is outside MPI and file calls 2.00 times as long as the ranks on average, and "
        "its main thread sleeps for at least 96.9 % of that"
    )
    assert found.gain_s == pytest.approx(0.49)
    assert asleep.headline.startswith("Uneven time outside MPI and file calls takes 49.0 %")
    assert "comput" not in f"{asleep.headline} {found}"
    assert "decomposition" not in found.advice
    # It runs 0.93 s of them, and after that it sleeps: it computes all the same.
    texts = [finding.finding for finding in said(ran_ms=930).findings]
    assert "rank 0 computes 2.00 times as long as the ranks on average" in texts


def test_sleep_that_makes_a_rank_longer_is_no_computation():
    """Both compute 0.4 s of 0.7 s; rank 0 sleeps 0.3 s while rank 1 polls."""

    def said(ran_ms: int) -> str:
        rows = [
            [useful(700 * MILLISECOND), mpi(10 * MILLISECOND)],
            [useful(400 * MILLISECOND), mpi(310 * MILLISECOND)],
        ]
        ran = {"usage": "0 0 0 0 0", "ran_ns": f"{ran_ms * MILLISECOND},{710 * MILLISECOND}"}
        known = {"meta": ran, "waited_ns": [(0, 0, 0)] * 2}
        end = 710 * MILLISECOND
        found = _judged(Program(rows, end, end, 700 * MILLISECOND, **known)).findings
        return next(finding.finding for finding in found if finding.code == "load_imbalance")

    assert said(ran_ms=410) == (
        "rank 0 is outside MPI and file calls 1.27 times as long as the ranks on average, and its "
        "main thread sleeps for at least 41.4 % of that"
    )
    # It sleeps 0.1 s, and runs 0.2 s longer than rank 1 all the same.
    assert said(ran_ms=610).startswith("rank 0 computes 1.27 times as long")


def test_ranks_that_sleep_in_turn_do_not_wait_for_computation():
    """Each is asleep for 0.5 s while the other polls: T_ideal = 1 s, max U = 0.5 s."""
    half = 500 * MILLISECOND
    rows = [[useful(half), mpi(half)], [mpi(half), useful(half)]]

    def said(ran_ns: int) -> str:
        meta = {"usage": "0 0 0 0 0", "ran_ns": f"{ran_ns},{ran_ns}"}
        program = Program(rows, *[SECOND] * 3, meta=meta, waited_ns=[(0, 0, 0)] * 2)
        (found,) = [f for f in _judged(program).findings if f.code == "serialization"]
        return f"{found.finding}; {found.evidence}; {found.gain}"

    assert said(0).startswith("ranks wait for each other's time outside MPI and file calls; ")
    assert "comput" not in said(0)
    assert said(half).startswith("ranks wait for each other's computation; ")


def test_sleep_is_a_least_where_the_thread_may_have_run_inside_mpi():
    """It sleeps 0.5 s, computes 0.2 s, and then polls in MPI for 0.3 s: of the 0.5 s for which it
    ran nobody knows what was where."""
    each = [useful(700 * MILLISECOND), mpi(300 * MILLISECOND)]
    ran = {"usage": "0 0 0 0 0", "ran_ns": ",".join([str(500 * MILLISECOND)] * 2)}
    known = {"meta": ran, "waited_ns": [(0, 0, 0)] * 2}
    verdict = _judged(Program([each] * 2, SECOND, SECOND, SECOND, **known))
    (found,) = [finding for finding in verdict.findings if finding.code == "sleep"]
    assert found.finding == (
        "the ranks' main threads sleep at least 20.0 % of the run outside MPI and file calls"
    )


def test_threads_that_call_mpi_veil_the_efficiencies():
    others = {
        "other_threads_in_mpi": [4, 4],
        "overlapped_mpi_calls": [8000, 8000],
        "overlapped_mpi_ns": [3600 * MILLISECOND] * 2,  # 0.9 s a thread
    }
    verdict = _judged(_quiet(others=others, **asleep_for(0.98)))
    assert verdict.headline == (
        "8 other threads spend 90.0 % of the run in MPI on average, in 16,000 calls, which no "
        "efficiency shows, while the ranks' main threads sleep 98.0 % of the run. I/O takes 1.0 % "
        "of this run as far as the ranks' main threads show."
    )
    assert "io_fine" not in [finding.code for finding in verdict.findings]
    few = others | {"overlapped_mpi_ns": [40 * MILLISECOND] * 2}  # 10 ms a thread
    assert _judged(_quiet(others=few)).headline == FINE
    (rank, _) = report(_quiet(others=others, **asleep_for(0.98)).columns())["per_rank"]
    assert (rank["overlapped_mpi_s"], rank["overlapped_mpi_calls"]) == (3.6, 8000)
    assert rank["slept_s"] == pytest.approx(0.98)


def _pool(io_ms: int, saved_ms: int = 0) -> Program:
    """Rank 0 waits in a lock for a thread of its own, which polls for the answers of rank 1, which
    writes 8 bytes at a time: nothing in the trace says that rank 0 waits for these writes."""
    writes = write(io_ms * MILLISECOND, b"/run/notes.dat", 8 * 300_000, calls=300_000)
    worker = [useful(500 * MILLISECOND), writes, mpi((500 - io_ms) * MILLISECOND)]
    talk = {"other_threads_in_mpi": [1, 0], "overlapped_mpi_calls": [900, 0]}
    talk["overlapped_mpi_ns"] = [800 * MILLISECOND, 0]
    ideal = SECOND - saved_ms * MILLISECOND
    return Program([[useful(SECOND)], worker], SECOND, ideal, ideal, others=talk)


def test_the_file_calls_of_a_pool_s_workers_are_named_though_nobody_is_seen_to_wait_for_them():
    """300 ms of rank 1's second, of which an ideal file system saves nothing as far as the trace
    tells. 40 ms are not worth a word, and what does save time is a finding of its own."""
    verdict = _judged(_pool(300))
    assert verdict.headline.startswith(
        "Another thread spends 80.0 % of the run in MPI, in 900 calls, which no efficiency shows, "
        "and file calls take 30.0 % of rank 1's time (300,000 small writes of 8 B on average take "
        "100 % of the I/O time). I/O takes 0 % of this run as far as"
    ), verdict.headline
    (found,) = [finding for finding in verdict.findings if finding.code == "other_threads"]
    assert found.advice.startswith("gather in memory")
    assert "; compare with a run in which one thread" in found.advice
    for other in (_pool(40), _pool(300, saved_ms=200)):
        assert "of rank 1's time" not in _judged(other).headline, _judged(other).headline


def test_io_of_other_threads_is_named_and_hides_nothing_where_the_main_thread_works():
    others = {"bytes_by_other_threads": [20 * MB]}
    moved = {"overlapped_io_ns": [300 * MILLISECOND], "others": others, "size": 30 * MB}
    verdict = _judged(_quiet(ranks=1, **moved))
    assert verdict.headline == (
        f"{FINE_BUT} But other threads move 20.0 MB of 30.0 MB and spend 300 ms in file calls "
        "beside the main thread."
    )
    whole = _judged(_quiet(ranks=1, **(moved | {"size": 20 * MB})))
    assert "other threads move all 20.0 MB and spend 300 ms in file calls" in whole.headline
    asleep = _judged(_quiet(ranks=1, **moved, **asleep_for(0.9, ranks=1)))
    assert asleep.headline == (
        "Other threads move 20.0 MB of 30.0 MB and spend 300 ms in file calls, while the main "
        "thread sleeps 90.0 % of the run. I/O takes 1.0 % of this run as far as the main thread "
        "shows."
    )
    # However many sentences could end with the sleep, the first line says it once.
    started = asleep_for(0.9, ranks=1, unseen="processes=20")
    both = _judged(_quiet(ranks=1, **moved, **started)).headline
    assert both.count("the main thread sleeps 90.0 % of the run") == 1
    assert both.endswith("But the program started 20 other processes, which were not recorded.")
    # Of small writes it is said what takes the time; of large ones there is no more to say.
    small = _quiet(ranks=1, **moved, **asleep_for(0.9, ranks=1)).columns()
    for table in ("files", "file_rank"):
        small[table] |= {"writes": np.array([30_000]), "writes_small": np.array([30_000])}
        small[table]["writes_small_ns"] = small[table]["write_ns"]
    verdict = judge(Evidence(small))
    assert (
        "in file calls (30,000 small writes of 1.00 kB on average take 100 % of the I/O time), "
        "while the main thread sleeps"
    ) in verdict.headline
    # What to do about them comes before what to do about the wait, which is all there is else.
    wait = "if the main thread waits for it: give it other work meanwhile"

    def advised(verdict: Verdict) -> str:
        return next(found.advice for found in verdict.findings if found.code == "overlapped_io")

    assert advised(verdict).startswith("whole slabs per call (nc_put_vara")
    assert advised(verdict).endswith(f"; {wait}") and advised(asleep) == wait
    # The tables are about all threads: they do not say why the main thread's I/O takes 10 %.
    slow = [useful(900 * MILLISECOND), write(100 * MILLISECOND, size=30 * MB)]
    mixed = Program(
        [slow],
        SECOND,
        SECOND,
        900 * MILLISECOND,
        overlapped_io_ns=[300 * MILLISECOND],
        others=others,
    )
    assert _judged(mixed).headline.startswith("I/O takes 10.0 % of this run. But other threads")
    # Of fewer bytes, as of thousands of small files, their time is what counts.
    few = moved | {"others": {"bytes_by_other_threads": [10 * MB]}}
    assert _judged(_quiet(ranks=1, **few)).headline == (
        f"{FINE_BUT} But other threads spend 300 ms in file calls beside the main thread."
    )
    busier = [useful(900 * MILLISECOND), write(100 * MILLISECOND, size=30 * MB)]
    for overlapped_ms, said in ((99, False), (101, True)):
        program = Program(
            [busier],
            SECOND,
            SECOND,
            900 * MILLISECOND,
            overlapped_io_ns=[overlapped_ms * MILLISECOND],
            others=few["others"],
        )
        assert ("other threads spend" in _judged(program).headline) == said


def test_a_main_thread_that_nobody_knows_to_have_slept_is_not_said_to_be_fine():
    """Of a program that was killed, the kernel's counts of its end are not recorded."""
    left = {"meta": {"tailrace": "0.1.0"}, "waited_ns": [(0, 0, 0)]}
    unknown = FINE.replace("nothing else does either", "whether anything else does cannot be told")
    assert _judged(_quiet(ranks=1, **left)).headline == unknown
    others = {"bytes_by_other_processes": [30 * MB]}
    moved = {"overlapped_io_ns": [300 * MILLISECOND], "others": others}
    said = _judged(_quiet(ranks=1, size=30 * MB, **(moved | left))).headline
    assert said.startswith("Other processes of the program move all 30.0 MB and spend 300 ms")
    assert "; how long the main thread waited for that is not known. I/O takes 1.0 %" in said
    assert "does not hold" not in said
    known = {"meta": left["meta"] | {"usage": "0 0 0 0 0", "ran_ns": str(990 * MILLISECOND)}}
    assert _judged(_quiet(ranks=1, **(left | known))).headline == FINE


def test_what_mpi_pcontrol_chose_is_said():
    whole = {"chosen_of_ns": str(3 * SECOND)}
    (said,) = [f for f in _judged(_quiet(meta=whole)).findings if f.code == "part_of_run"]
    assert said.finding.startswith("this report is about 1.00 s of the 3.00 s between MPI_Init")
    assert "part_of_run" not in [finding.code for finding in _judged(_quiet()).findings]
    short = Program([[useful(MILLISECOND)]], *[MILLISECOND] * 3, meta=whole)
    headline = _judged(short).headline
    assert headline == "This run is too short to judge: 1.00 ms that MPI_Pcontrol chose."


def test_who_sleeps_beside_a_mapped_file_alone_waits_for_its_pages():
    """64 MB are read by no call, and the main thread sleeps for 0.5 s; with a process beside it, or
    where nothing was read, nobody knows what it waits for."""

    def advised(usage: str, unseen: str = "mmap=1") -> str:
        meta = {"unseen": unseen, "mapped_file": "/data/mesh.bin", "usage": usage}
        findings = _judged(_quiet(ranks=1, **asleep_for(0.5, 1, **meta))).findings
        return next(finding.advice for finding in findings if finding.code == "sleep")

    read = f"0 {64 * MB} 0 0 0"
    assert advised(read).startswith("most likely it waits for pages of the mapped file")
    for others in (advised(read, "mmap=1 processes=1"), advised("0 0 0 0 0")):
        assert others.startswith("look for what it waits for")
