"""Files that had two names one after the other count once. Runs built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, read, useful, write

FILES = 100


def called(function: str, length_ns: int, path: bytes) -> Interval:
    return Interval("io", length_ns, function, path)


def ran(rename: str, new: str, renamed: int = FILES, ending: bytes = b"tmp") -> Finding:
    """100 files of 900 B are opened, written and closed as part.7.tmp, so many of them renamed, and
    all of these names with `new` in place of it are opened and read: 1 ms a call on names."""
    calls = []
    for i in range(FILES):
        old, other = b"/run/part.%d.%s" % (i, ending), (b"/run/" + new.encode()) % i
        calls += [called("open", MILLISECOND, old), write(1000, old, 900)]
        calls += [called(rename, MILLISECOND, old)] * (i < renamed)
        calls += [called("open", MILLISECOND, other), read(1000, other, 900)]
    end = SECOND + sum(call.length_ns for call in calls)
    columns = Program([[useful(SECOND), *calls]], end, end, SECOND).columns()
    return next(f for f in judge(Evidence(columns)).findings if f.code == "many_files")


@pytest.mark.parametrize(
    ("rename", "new"),
    [
        ("rename", "part.%d"),
        ("renameat", "part.%d"),
        ("renameat2", "part.%d"),
        ("rename", "part.%d.csv"),  # .tmp is no ending that stays
    ],
)
def test_a_renamed_file_counts_once(rename: str, new: str):
    found = ran(rename, new)
    assert found.finding.startswith("100 files of 900 B on average: their opens")


@pytest.mark.parametrize(
    ("rename", "new", "renamed"),
    [
        ("rename", "other.%d", FILES),  # it may have become any other
        ("chmod", "part.%d", FILES),  # nothing was renamed
        ("rename", "part.%d", 1),  # the others were there before
    ],
)
def test_names_that_no_rename_explains_are_files_of_their_own(rename, new, renamed):
    expected = 2 * FILES - (renamed == 1)
    assert ran(rename, new, renamed).finding.startswith(f"{expected} files of 900 B on average")


def test_a_file_of_another_kind_beside_it_is_another_file():
    """part.7.dat is renamed, to be kept, and part.7.csv is read."""
    found = ran("rename", "part.%d.csv", ending=b"dat")
    assert found.finding.startswith(f"{2 * FILES} files of 900 B on average")
