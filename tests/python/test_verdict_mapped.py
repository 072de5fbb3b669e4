"""How many files are mapped, and how much was written through them, beside what calls wrote."""

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge
from tests.python.columns import MILLISECOND, SECOND, Program, useful, write

MB = 1_000_000


def test_pages_of_small_writes_that_follow_each_other_are_counted_once():
    """16 MB through a mapping beside 3,000 lines of 10 bytes in one file; or in 3,000 places, each
    of which may have cost a page."""
    mapped = {"unseen": "mmap=1", "mapped_file": "/data/m.bin", "mapped_writable": "/data/m.bin"}
    meta = mapped | {"usage": f"{16 * MB + 30_000} 0 0 0 0", "mpi": ""}

    def said(*steps: int) -> str:
        lines = write(10 * MILLISECOND, b"/run/log", 30_000, 3000, steps=steps)
        each = [useful(990 * MILLISECOND), lines]
        program = Program([each], SECOND, SECOND, 990 * MILLISECOND, meta=meta)
        return judge(Evidence(program.columns())).headline

    assert said(3000, 0, 0).startswith("16.0 MB were written through a mapping of m.bin, which")
    assert said(0, 3000, 0).startswith("At least 3.71 MB were written through a mapping of m.bin")


def test_more_files_may_be_mapped_than_the_engine_keeps_notes_of():
    """1,000 of a thread, of which a mapping that may be written makes two."""

    def said(number: int) -> str:
        meta = {"unseen": f"mmap={number}", "usage": "0 0 0 0 0"}
        each = [useful(990 * MILLISECOND), write(10 * MILLISECOND, b"/run/log", 30_000)]
        program = Program([each], SECOND, SECOND, 990 * MILLISECOND, meta=meta)
        return judge(Evidence(program.columns())).headline

    assert "the program uses 300 mapped files, whose" in said(300)
    assert "the program uses at least 499 mapped files, whose" in said(499)
    assert "the program uses at least 1,000 mapped files, whose" in said(1000)
