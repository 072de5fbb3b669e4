"""Stores of zarr: their chunks and their metadata. Runs built by arithmetic."""

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Program, useful, write
from .test_verdict_why import call, first


def test_chunks_of_zarr_are_advised_to_be_larger():
    chunks = [call("open", 10 * MILLISECOND, 1, b"/run/t.zarr/c/0/%d" % i) for i in range(200)]
    chunks += [write(MILLISECOND, piece.path, 225, 1) for piece in chunks]
    assert first(*chunks).advice.startswith("choose larger chunks, or put many into one file")


def test_metadata_of_zarr_that_each_append_writes_again_are_told_from_its_chunks():
    """Each of 50 appends writes two files of metadata, under other names, and two chunks."""

    def found(metadata_ns: int, arrays: int = 2) -> Finding:
        files = []
        for i in range(100):
            of_array = b"/run/t.zarr/%d/" % (i % arrays)
            files.append((of_array + b"zarr.%032x.partial" % i, 700, metadata_ns))
            files.append((of_array + b"c/0.%032x.partial" % i, 30_000, 5 * MILLISECOND))
        calls = [call("open", time_ns, 1, path) for path, _, time_ns in files]
        calls += [write(1000, path, size, 1) for path, size, _ in files]
        whole = SECOND + sum(piece.length_ns for piece in calls)
        columns = Program([[useful(SECOND), *calls]], whole, whole, SECOND).columns()
        return judge(Evidence(columns)).findings[0]

    metadata = found(10 * MILLISECOND)
    assert metadata.code == "many_files"
    assert metadata.finding == (
        "2 files of zarr's metadata are written 100 times: their opens, renames and the like take "
        "66.7 % of the I/O time"
    )
    assert metadata.evidence.startswith(
        "100 opens of 10.0 ms each; its chunks' names take 33.3 % of the I/O time"
    )
    assert "append more at once" in metadata.advice
    chunks = found(MILLISECOND)
    assert chunks.finding.startswith("100 files of 30.0 kB on average: their opens, closes")
    assert chunks.advice.startswith("choose larger chunks")
    once = found(10 * MILLISECOND, arrays=100)  # of each array, one file
    assert once.advice.startswith("choose larger chunks")


def test_a_store_of_metadata_alone_is_of_as_many_files():
    groups = [
        call("open", 10 * MILLISECOND, 1, b"/run/t.zarr/%d/zarr.json" % i) for i in range(200)
    ]
    groups += [write(MILLISECOND, piece.path, 225, 1) for piece in groups]
    whole = SECOND + sum(piece.length_ns for piece in groups)
    program = Program([[useful(SECOND), *groups]], whole, whole, SECOND)
    found = judge(Evidence(program.columns())).findings[0]
    assert found.finding.startswith("200 files of 225 B on average")
