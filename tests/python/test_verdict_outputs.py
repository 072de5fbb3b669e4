"""Equal outputs at equal distances: recognised where they are, and only there."""

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tests.python.columns import MILLISECOND, SECOND, Interval, Program, useful, write

MB = 1_000_000


def _said(sizes: list[int], computed_s: list[float]) -> list[Finding]:
    """Two ranks that compute so long before each output, which takes 0.4 s."""
    rank: list[Interval] = []
    for size, length in zip(sizes, computed_s, strict=True):
        rank += [useful(int(length * SECOND)), write(400 * MILLISECOND, size=size)]
    length = sum(interval.length_ns for interval in rank)
    whole = length - len(sizes) * 400 * MILLISECOND
    return judge(Evidence(Program([rank, rank], length, length, whole).columns())).findings


def _outputs(sizes: list[int], computed_s: list[float]) -> list[str]:
    return [f.finding for f in _said(sizes, computed_s) if f.code == "outputs"]


def test_equal_outputs_at_equal_distances():
    assert _outputs([19 * MB] * 8, [1.6] * 8) == [
        "8 outputs of 38.0 MB, one every 2.00 s; each costs 400 ms in file calls"
    ]


def test_small_writes_between_them_do_not_matter():
    sizes, computed = [19 * MB, 500] * 4, [1.0, 0.6] * 4
    assert _outputs(sizes, computed) == [
        "4 outputs of 38.0 MB, one every 2.40 s; each costs 400 ms in file calls"
    ]


def test_not_where_sizes_or_distances_differ():
    assert not _outputs([10 * MB, 19 * MB, 19 * MB, 19 * MB], [1.6] * 4)
    assert not _outputs([19 * MB] * 4, [1.6, 0.4, 1.6, 1.6])
    assert not _outputs([19 * MB] * 2, [1.6] * 2)
    assert not _outputs([1000] * 8, [1.6] * 8)
    assert not _outputs([19 * MB, 9 * MB, 19 * MB, 9 * MB, 19 * MB], [1.6] * 5)


def test_the_first_line_names_the_cause_and_not_the_outputs():
    found = _said([19 * MB] * 8, [1.6] * 8)
    assert {"outputs", "slow_file_system"} <= {finding.code for finding in found}


def test_of_stretches_joined_over_pauses_it_is_said_how_much_is_file_calls():
    """Four outputs of 580 ms, of which 180 are pauses shorter than 1 % of the run."""
    rank = [useful(1600 * MILLISECOND), write(580 * MILLISECOND, size=20 * MB)] * 4
    length = sum(interval.length_ns for interval in rank)
    columns = Program([rank], length, length, length - 1600 * MILLISECOND).columns()
    phases = columns["phases"]
    phases["busy_ns"] = [min(busy, 400 * MILLISECOND) for busy in phases["busy_ns"]]
    (found,) = [f for f in judge(Evidence(columns)).findings if f.code == "outputs"]
    alike = "4 outputs of 20.0 MB, one every 2.18 s"
    assert found.finding == f"{alike}; each costs 400 ms in file calls"
    assert found.evidence.endswith("; with the pauses between such calls it takes 580 ms")


def test_waits_for_a_processor_are_no_outputs_to_spare():
    """8 outputs of 400 ms, half of which each of the two ranks waits for a processor: every other
    one costs 0.8 s, where it would be 1.6 s."""
    row = [useful(1600 * MILLISECOND), write(400 * MILLISECOND, size=19 * MB)] * 8
    whole = 16 * SECOND
    for waited, spared in (
        ({}, "1.60 s"),
        ({"waited_ns": [(0, 1600 * MILLISECOND, 0)] * 2}, "800 ms"),
    ):
        if waited:
            waited |= {"any_waited_ns": (0, 1600 * MILLISECOND, 0)}
        run = Program([row, row], whole, whole, whole - 8 * 400 * MILLISECOND, **waited)
        (found,) = (f for f in judge(Evidence(run.columns())).findings if f.code == "outputs")
        assert found.gain == f"writing every other one would save at most {spared} in file calls"
