"""What HDF5's filters take to compress its chunks: runs built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Program, mpi, read, useful, write

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


def test_reading_is_told_apart_from_writing():
    """Of 9.01 s zstd and zlib take 3 and 1 s to decompress what is read, and zlib 1 s to compress;
    compress2 is zlib's in writing alone."""
    told = "1000000000 3 27000000 96000000;3000000000 2 4000000 8000000 32015"
    columns = ran("1000000000 3 96000000 27000000", decompressed=told)
    both = {found.code: found for found in judge(Evidence(columns)).findings}
    assert both["compression"].finding == "compressing by zlib takes 11.1 % of the run"
    said = both["decompression"]
    assert said.finding == "decompressing by zstd and zlib takes 44.4 % of the run"
    assert said.evidence == (
        "3.00 s in 2 calls of HDF5's filter zstd, one for each chunk: 4.00 MB became 8.00 MB; "
        "1.00 s in 3 calls of HDF5's filter zlib, one for each chunk: 27.0 MB became 96.0 MB; it "
        "counts as computation"
    )
    assert "by a quicker filter" in said.advice and not said.functions
    unknown = ran("", decompressed="3000000000 2 4000000 8000000 300")
    words = "what HDF5's filter 300 does to what is read takes 33.3 % of the run"
    assert words in judge(Evidence(unknown)).headline


def again(reaches: int, compressed: int) -> Finding:
    """Two ranks read so many bytes of a file from its begin (-1: nobody knows where), and zlib
    takes 1 s of 9.01 s."""
    reach = (0, reaches) if reaches > 0 else (-1, -1)
    some = read(10 * MILLISECOND, PATH, 27_000_000, 3, reach=reach)
    end = 9 * SECOND + 10 * MILLISECOND
    meta = {"decompressed": ",".join([f"1000000000 3 {compressed} 96000000"] * 2)}
    columns = Program([[useful(9 * SECOND), some]] * 2, end, end, 9 * SECOND, meta=meta).columns()
    return next(f for f in judge(Evidence(columns)).findings if f.code == "decompression")


def test_chunks_that_are_decompressed_again_are_told_apart():
    """27 MB went into zlib on each rank, of a file of 2.7 MB; once is once, whoever else reads."""
    found = again(2_700_000, 27_000_000)
    assert "; that is 10 times what the files hold: chunks are decompressed again; " in (
        found.evidence
    )
    assert "those that it does not hold are decompressed anew" in found.advice
    for once in (again(27_000_000, 27_000_000), again(-1, 27_000_000)):
        assert "again" not in once.evidence and "quicker filter" in once.advice
        assert "anew" not in once.advice


def test_beside_file_calls_it_stands_alone():
    """7 s, of which zlib has 5, and 2 s of writing: of 9 s those are 55.6 and 22.2 %. It is no
    routine, of which all that it does could be said."""
    rows = [[useful(7 * SECOND), write(2 * SECOND, PATH, 27_000_000, 3)]]
    told = {"compressed": "5000000000 3 96000000 27000000"}
    columns = Program(rows, 9 * SECOND, 9 * SECOND, 7 * SECOND, meta=told).columns()
    assert judge(Evidence(columns)).headline.startswith(
        "Compressing by zlib takes 55.6 % of the run. I/O takes 22.2 % of this run"
    )


def test_other_filters_are_named():
    """Of 9.01 s zstd takes 3 s and zlib 1 s, which are 44.4 %; lzf's 0.1 s are too few a part of
    those 4.1 s to be named, or to be in what is said of the others."""
    told = "1000000000 3 96000000 27000000;3000000000 2 8000000 4000000 32015"
    finding = found(ran(told))
    assert finding.finding == "compressing by zstd and zlib takes 44.4 % of the run"
    assert finding.evidence == (
        "3.00 s in 2 calls of HDF5's filter zstd, one for each chunk: 8.00 MB became 4.00 MB; "
        "1.00 s in 3 calls of compress2, as HDF5's deflate filter makes for each chunk: 96.0 MB "
        "became 27.0 MB; it counts as computation"
    )
    assert found(ran(f"{told};100000000 1 8 8 32000")).finding == (
        "compressing by zstd and zlib takes 44.4 % of the run"
    )


def test_of_a_filter_that_nobody_knows_its_number_is_said():
    """3 s of 9.01 s: what it does may be no compressing."""
    finding = found(ran("3000000000 2 8 4 40000"))
    assert finding.finding == "what HDF5's filter 40000 does takes 33.3 % of the run"
    assert found(ran("3000000000 2 8 4 40000;3000000000 2 8 4 4")).finding == (
        "what HDF5's filters 40000 and szip do takes 66.6 % of the run"
    )


def test_what_does_not_compress_is_not_said_to():
    """Shuffling takes 1 s, zlib behind it 3 s, of 9.01 s; zlib's is told by two functions."""
    finding = found(ran("2000000000 2 8 4;1000000000 2 8 8 2;1000000000 1 8 4"))
    assert finding.finding == "what HDF5's filters zlib and shuffle do takes 44.4 % of the run"
    assert "3.00 s in 3 calls of compress2" in finding.evidence


def test_each_rank_may_have_filters_of_its_own():
    """3 s of zstd on rank 0 and 3 s of szip on rank 1, of 9.01 s."""
    finding = found(ran("3000000000 2 8 4 32015", "3000000000 2 8 4 4"))
    assert finding.finding == "compressing by zstd and szip takes 33.3 % of the run"


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
