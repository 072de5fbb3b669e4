"""What is said of MPI-IO's calls that fail: runs built by arithmetic."""

import errno

import numpy as np
import pytest

from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.headline import Verdict, judge

from .columns import MILLISECOND, SECOND, Interval, Program, open_close, useful, write

PATH = b"/run/out.dat"
MPI_ERR_AMODE = 4097


def judged(*calls: Interval, ranks: int = 2, **meta: str) -> Verdict:
    """Ranks that compute, and make these calls of 5 ms each."""
    rest = SECOND - sum(call.length_ns for call in calls)
    times = (SECOND, SECOND, rest)
    return judge(Evidence(Program([[useful(rest), *calls]] * ranks, *times, meta=meta).columns()))


def opened(*failed: int, path: bytes = PATH) -> Interval:
    call = open_close(5 * MILLISECOND, path)
    return Interval(**(vars(call) | {"failed_mpiio": ("opens", *failed)}))


def written(*failed: int, size: int = 4096) -> Interval:
    return write(5 * MILLISECOND, PATH, size, failed_mpiio=("writes", *failed))


def found(verdict: Verdict, kind: Kind) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.code is kind]


@pytest.mark.parametrize(
    ("ranks", "whose"), [(1, ""), (4, " on all 4 ranks")], ids=["one rank", "four ranks"]
)
def test_a_file_that_could_not_be_opened_is_named(ranks: int, whose: str):
    verdict = judged(opened(1, errno.ENOENT), ranks=ranks)
    assert verdict.headline.endswith(
        f" But MPI_File_open of out.dat{whose} failed (No such file or directory)."
    )
    (finding,) = found(verdict, Kind.FAILED_MPIIO)
    assert finding.file == "/run/out.dat"
    assert "MPI_File_set_errhandler" in finding.advice


def test_a_file_that_was_used_all_the_same_is_not():
    """It was asked for, was not there, and was then made."""
    verdict = judged(opened(1, errno.ENOENT), write(5 * MILLISECOND, PATH, 4096))
    assert not found(verdict, Kind.FAILED_MPIIO) and "failed" not in verdict.headline


def test_writes_that_fail_in_mpiio_alone_are_counted():
    verdict = judged(written(20, MPI_ERR_AMODE))
    assert "40 MPI-IO writes to out.dat failed (MPI_ERR_AMODE: the file is" in verdict.headline
    # an error of which MPI does not say more
    assert "40 MPI-IO writes to out.dat failed." in judged(written(20, 4096)).headline


def test_files_with_errors_of_their_own_are_counted_together():
    calls = [opened(1, errno.ENOENT), opened(1, errno.EACCES, path=b"/run/other.dat")]
    headline = judged(*calls).headline
    assert headline.endswith(" But MPI_File_open of 2 files on both ranks failed.")


def test_writes_that_failed_are_in_no_average():
    """500 writes of 2 MB take 0.9 s, and as many fail in 0.1 s; or ten of them do."""

    def evidence_where(failed: int) -> str:
        row = [useful(SECOND), write(SECOND, PATH, 1000 * 10**6, 1000)]
        columns = Program([row], *[2 * SECOND] * 2, SECOND).columns()
        for table in ("files", "file_rank"):
            columns[table]["failed_writes"] = np.array([failed])
            columns[table]["failed_ns"] = np.array([failed * 200_000])
        (finding,) = found(judge(Evidence(columns)), Kind.SLOW_FILE_SYSTEM)
        return finding.evidence

    few = "1,000 writes of 1.00 MB on average, 1.00 ms each, 1.00 GB/s;"
    assert evidence_where(10).startswith(few)
    many = "500 writes of 2.00 MB on average, 1.80 ms each, 1.00 GB/s; 500 more failed;"
    assert evidence_where(500).startswith(many)


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [
        (b"<stdout: device>", errno.EINVAL, ""),
        (b"<stdout: device>", errno.EIO, "failed (Input/output error)"),
        (b"/run/out.dat", errno.EINVAL, "failed (Invalid argument)"),
    ],
)
def test_what_cannot_be_synchronised_loses_nothing(path: bytes, error: int, said: str):
    """The only fsync fails. A terminal has none, which is no loss; another error there is, and so
    may be any on a file."""
    row = [useful(SECOND), Interval("io", MILLISECOND, "fsync", path)]
    end = SECOND + MILLISECOND
    columns = Program([row], end, end, SECOND).columns()
    columns["files"] |= {"failed_others": np.array([1]), "failed_error": np.array([error])}
    columns["files"]["place"] = ["file_system" if path.startswith(b"/run") else "device"]
    headline = judge(Evidence(columns)).headline
    assert said in headline and bool(said) == ("failed" in headline)


@pytest.mark.parametrize(
    ("made", "what"),
    [
        ([], "close"),
        (["MPI_File_preallocate"], "close or preallocate"),
        (["MPI_File_sync", "MPI_File_set_size"], "close, synchronise or set the size of"),
    ],
)
def test_only_calls_that_the_program_makes_can_have_failed(made: list[str], what: str):
    """20 of each rank's failed that neither open nor move; these are counted together."""
    failed = write(5 * MILLISECOND, PATH, 4096, failed_mpiio=("others", 20, 4096))
    names = ["MPI_File_close", *made]
    calls = [Interval("mpi", MILLISECOND, name, layer="mpiio") for name in names]
    assert f"40 MPI-IO calls to {what} out.dat failed." in judged(failed, *calls).headline


@pytest.mark.parametrize(
    ("calls", "closes", "failed_closes", "what"),
    [
        (20, 20, 0, "preallocate"),
        (20, 19, 0, "close or preallocate"),  # one stayed open
        (20, 20, 1, "close or preallocate"),  # the server told of an error
        (10, 20, 0, "close or preallocate"),  # more failed than were made of the others
    ],
)
def test_files_that_are_closed_below_did_not_fail_to_be(
    calls: int, closes: int, failed_closes: int, what: str
):
    """Of each rank 20 calls failed that neither open nor move, as MPI_File_preallocate without the
    right to read does; each opens the file 20 times."""
    failed = write(5 * MILLISECOND, PATH, 4096, failed_mpiio=("others", 20, errno.EACCES))
    of_mpiio = [
        Interval("mpi", MILLISECOND, name, calls=times, layer="mpiio")
        for name, times in (("MPI_File_close", 20), ("MPI_File_preallocate", calls))
    ]
    rest = SECOND - 5 * MILLISECOND - 2 * MILLISECOND
    row = [useful(rest), failed, *of_mpiio]
    columns = Program([row] * 2, SECOND, SECOND, rest).columns()
    numbers = {"opens": 40, "closes": 2 * closes, "failed_others": failed_closes}
    columns["files"] |= {name: np.array([number]) for name, number in numbers.items()}
    headline = judge(Evidence(columns)).headline
    assert f"40 MPI-IO calls to {what} out.dat failed (Permission denied)." in headline
