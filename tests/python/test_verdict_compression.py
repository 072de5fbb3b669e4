"""What zlib takes to compress HDF5's chunks: runs built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Program, mpi, useful, write

PATH = b"/run/field.h5"


def ran(*compressed: str, useful_s: int = 9, **meta: str) -> dict:
    """Ranks that compute for so long and then write for 10 ms; of each what its process said."""
    rows = [[useful(useful_s * SECOND), write(10 * MILLISECOND, PATH, 27_000_000, 3)]]
    end = useful_s * SECOND + 10 * MILLISECOND
    meta |= {"compressed": ",".join(compressed)}
    return Program(rows * len(compressed), end, end, useful_s * SECOND, meta=meta).columns()


def found(columns: dict) -> Finding | None:
    findings = judge(Evidence(columns)).findings
    return next((finding for finding in findings if finding.code == "compression"), None)


def test_its_share_is_said():
    """3 s of 9.01 s."""
    columns = ran("3000000000 3 96000000 27000000")
    assert "compressing by zlib takes 33.3 % of the run" in judge(Evidence(columns)).headline
    finding = found(columns)
    assert finding.evidence == (
        "3.00 s in 3 calls of compress2, as HDF5's deflate filter makes for each chunk: 96.0 MB "
        "became 27.0 MB; it counts as computation"
    )
    assert finding.gain_s == pytest.approx(3)
    assert "every rank" not in finding.advice and not finding.ranks


def test_of_several_ranks_the_mean_and_the_longest_are_said():
    """3 s and 1 s of 9.01 s, on 2 of 4 ranks: 2 s are 22.2 %."""
    columns = ran("3000000000 3 96 27", "1000000000 1 32 9", "", "")
    finding = found(columns)
    assert finding.finding == (
        "compressing by zlib takes 22.2 % of the run on 2 of 4 ranks, on rank 0 33.3 %"
    )
    assert finding.gain_s == pytest.approx(3)
    assert finding.ranks == (0, 1)
    assert "let every rank write, and compress, a part" in finding.advice


@pytest.mark.parametrize(
    ("compressed", "meta"),
    [
        (("400000000 3 96 27",), {}),  # 4.4 %
        (("",), {}),
        (("3000000000 3 96 27", ""), {"chosen_of_ns": "20000000000"}),  # of the whole run
    ],
)
def test_little_and_what_is_not_of_this_part_is_not_said(compressed, meta):
    assert found(ran(*compressed, **meta)) is None


def test_who_compresses_alone_does_not_compute_longer():
    """Rank 0 compresses for 3 s of its 9 s, the others compute for 6 s and wait: without that all
    compute as long."""
    rows = [[useful(9 * SECOND), write(10 * MILLISECOND, PATH, 27_000_000, 3)]]
    rows += [[useful(6 * SECOND), mpi(3 * SECOND + 10 * MILLISECOND)]] * 3
    end = 9 * SECOND + 10 * MILLISECOND
    told = {"compressed": "3000000000 3 96000000 27000000,,,"}
    for meta, uneven in (({}, True), (told, False)):
        columns = Program(rows, end, end, 9 * SECOND, meta=meta).columns()
        codes = {finding.code for finding in judge(Evidence(columns)).findings}
        assert ("load_imbalance" in codes) == uneven
        assert ("compression" in codes) != uneven


def test_it_is_said_beside_a_process_that_was_not_recorded():
    """h5py starts one where it is imported; 3 s of 9.01 s are known all the same."""
    told = {"not_recorded": "rank 0 started another process, which was not recorded"}
    columns = ran("3000000000 3 96000000 27000000", unseen="processes=1", **told)
    columns["files"]["bytes_written"] = [27_000]
    assert "compressing by zlib takes 33.3 % of the run" in judge(Evidence(columns)).headline
