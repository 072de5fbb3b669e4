"""What the report in the terminal says of how ranks spend their time: runs built by arithmetic."""

from tailrace.report.text import summary
from tailrace.verdict.as_json import report

from .columns import SECOND, Interval, Program, mpi, useful, write


def said(*row: Interval, ranks: int = 2, **more: object) -> str:
    run_ns = sum(interval.length_ns for interval in row)
    program = Program([list(row)] * ranks, run_ns, run_ns, run_ns, **more)
    return str(summary(report(program.columns()), "model.tailrace"))


def test_what_is_no_time_at_all_is_left_out():
    whole = "model.tailrace: 2 ranks, run time 1.00 s; on average a rank spends 1.00 s in files"
    assert said(write(SECOND)) == whole
    both = said(useful(SECOND), write(SECOND), mpi(2 * SECOND))
    assert both.endswith(
        "1.00 s outside MPI and file calls (useful), 1.00 s in files and 2.00 s in MPI"
    )
    alone = said(useful(SECOND), write(2 * SECOND), ranks=1, meta={"mpi": ""})
    assert alone.endswith(
        ": run time 3.00 s: 1.00 s outside file calls (useful) and 2.00 s in files"
    )


def test_what_was_waiting_for_a_processor_is_said_beside_it():
    waited = [(SECOND // 2, 0, SECOND)] * 2
    assert said(useful(SECOND), mpi(2 * SECOND), waited_ns=waited).endswith(
        "1.00 s outside MPI and file calls (useful) and 2.00 s in MPI, "
        "1.50 s of all that waiting for a processor"
    )
    few = [(SECOND // 1000, 0, 0)] * 2
    assert "waiting" not in said(useful(SECOND), mpi(2 * SECOND), waited_ns=few)
