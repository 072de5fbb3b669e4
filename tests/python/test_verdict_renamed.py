"""Files that had two names one after the other count once. Runs built by arithmetic."""

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, read, useful, write

FILES = 100


def called(function: str, length_ns: int, path: bytes) -> Interval:
    return Interval("io", length_ns, function, path)


def ran(renamed: int = FILES, written: bool = False) -> Finding:
    """100 files of 900 B are opened, written and closed as tmp.7, so many of them renamed to out.7,
    and all of these opened and read, or `written` again: 1 ms a call on names."""
    calls, renames = [], {}
    for i in range(FILES):
        old, other = b"/run/tmp.%d" % i, b"/run/out.%d" % i
        calls += [called("open", MILLISECOND, old), write(1000, old, 900)]
        if i < renamed:
            calls += [called("rename", MILLISECOND, old)]
            renames[other] = old
        again = write if written else read
        calls += [called("open", MILLISECOND, other), again(1000, other, 900)]
    end = SECOND + sum(call.length_ns for call in calls)
    columns = Program([[useful(SECOND), *calls]], end, end, SECOND, renames=renames).columns()
    return next(f for f in judge(Evidence(columns)).findings if f.code == "many_files")


def test_a_renamed_file_counts_once():
    assert ran().finding.startswith("100 files of 900 B on average: their opens")


def test_names_that_no_rename_explains_are_files_of_their_own():
    assert ran(renamed=0).finding.startswith("200 files of 900 B on average")
    # 99 more names of files that were there
    assert ran(renamed=1).finding.startswith("199 files of 900 B on average")


def test_a_name_that_is_written_again_is_a_file_of_its_own():
    assert ran(written=True).finding.startswith("200 files of 900 B on average")
