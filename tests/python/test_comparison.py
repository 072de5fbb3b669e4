"""Two runs beside each other: what made the difference, what became worse meanwhile, and what may
be chance. Runs built by arithmetic."""

from tailrace.verdict.comparison import sentence

from .columns import SECOND, Interval, Program, mpi, useful, write
from .test_verdict_why import MB

LABELS = ("before", "after")
DATA = b"/run/out"


def run(computed_s: float, *calls: Interval, arguments: str = "", waited_s: float = 0) -> dict:
    """Two ranks that compute, make these calls, and are in MPI for a while."""
    row = [useful(int(computed_s * SECOND)), *calls]
    row += [mpi(int(waited_s * SECOND))] if waited_s else []
    in_files = sum(call.length_ns for call in calls)
    ideal = int(computed_s * SECOND)
    meta = {"command": f"mpiexec -n 2 ./model {arguments}"}
    times = (ideal + in_files, ideal + in_files, ideal)
    return Program([row, row], *times, meta=meta).columns()


def written(length_s: float, calls: int = 100) -> Interval:
    return write(int(length_s * SECOND), DATA, 100 * MB, calls)


def synchronised(length_s: float, calls: int) -> Interval:
    return Interval("io", int(length_s * SECOND), "fsync", DATA, 0, calls)


def said(first: dict, second: dict) -> str:
    return sentence(first, second, LABELS)


def test_what_is_no_longer_called_is_named():
    before = run(4, written(0.2), synchronised(3, 96))
    assert said(before, run(4, written(0.2))) == (
        "after takes 4.20 s, 41.7 % less than before (7.20 s), mostly because time lost to I/O"
        " transfer goes from 3.20 s to 200 ms (192 fsyncs of 31.2 ms each in before, none in"
        " after)."
    )
    back = said(run(4, written(0.2)), before)
    assert "(192 fsyncs of 31.2 ms each in after, none in before)" in back


def test_what_became_worse_meanwhile_is_said():
    before, after = run(4, written(3, 100_000)), run(5, written(0.5))
    text = said(before, after)
    assert text.startswith("after takes 5.50 s, 21.4 % less than before (7.00 s), mostly because")
    assert text.endswith(", although useful time goes from 4.00 s to 5.00 s.")
    assert "although" not in said(before, run(4.1, written(0.5)))


def test_runs_that_take_the_same_may_have_gained_and_lost():
    text = said(run(4, written(3, 100_000)), run(6.5, written(0.5)))
    assert text == (
        "before and after take the same time within 2 %: 7.00 s and 7.00 s; but from before to"
        " after time lost to I/O transfer goes from 3.00 s to 500 ms, and useful time goes from"
        " 4.00 s to 6.50 s."
    )
    assert said(run(4, written(3)), run(4.1, written(2.9))).endswith("7.00 s and 7.00 s.")


def test_a_second_part_of_the_difference_is_named_too():
    text = said(run(4, waited_s=2), run(3, waited_s=1))
    assert "useful time goes from 4.00 s to 3.00 s and time lost to the network goes" in text


def test_how_much_less_is_moved_is_said_whatever_the_time_is_lost_to():
    """Ranks that share cores wait for each other's copies: that is the wait for processors."""
    before, after = run(4, write(SECOND, DATA, 671 * MB, 100)), run(3, written(1))
    assert said(before, after).endswith("; before writes 1.34 GB, after 200 MB.")
    slower = run(6, write(SECOND, DATA, 671 * MB, 100))
    assert said(run(4, written(1)), slower).endswith("; before writes 200 MB, after 1.34 GB.")
    alike = run(4, write(SECOND, DATA, 671 * MB, 100)), run(4, written(1))
    assert said(*alike).endswith("5.00 s and 5.00 s; before writes 1.34 GB, after 200 MB.")
    assert "writes" not in said(run(4, written(1)), run(6, write(SECOND, DATA, 110 * MB, 100)))


def test_what_does_the_same_may_differ_by_chance():
    chance = "two single runs may differ so much by chance."
    assert said(run(4, written(1)), run(4.3, written(1))).endswith(chance)
    assert "chance" not in said(run(4, written(1)), run(4.3, written(1, 200)))  # it does not
    large = said(run(4, written(1)), run(4, written(3)))
    assert large.endswith("only more runs of each show how much of it is chance.")
    changed = said(run(4, written(1), arguments="a"), run(4, written(3), arguments="b"))
    assert "chance" not in changed
    elsewhere = (run(4, written(s), arguments=to) for s, to in ((1, "/fast"), (3, "/slow")))
    assert "chance" not in said(*elsewhere)
