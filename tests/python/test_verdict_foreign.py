"""What is said of traces of other tracers, which record file calls only where they are told to."""

from __future__ import annotations

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge

from .columns import SECOND, Program, mpi, useful, write


def verdict(program: Program, of: str) -> Verdict:
    return judge(Evidence({**program.columns(), "format": of}))


def balanced(*more) -> Program:
    return Program([[useful(10 * SECOND), *more]] * 4, 10 * SECOND, 10 * SECOND, 10 * SECOND)


def test_of_a_trace_without_file_calls_it_is_not_said_that_io_is_fine():
    judged = verdict(balanced(), "prv")
    assert judged.headline == (
        "Whether I/O holds this run back is not in the trace, which holds no file call; nothing "
        "else in it does."
    )
    (found,) = judged.findings
    assert found.code == "io_not_in_trace"
    assert "input-output enabled" in found.advice


def test_what_else_holds_the_run_back_is_said_beside_it():
    rows = [[useful(8 * SECOND)], *([[useful(SECOND), mpi(7 * SECOND)]] * 3)]
    judged = verdict(Program(rows, 8 * SECOND, 8 * SECOND, 8 * SECOND), "prv")
    assert judged.headline == (
        "Whether I/O holds this run back is not in the trace, which holds no file call; rank 0 "
        "computes 2.91 times as long as the ranks on average."
    )


@pytest.mark.parametrize(
    ("of", "calls"),
    [
        ("tailrace", ()),  # records every file call
        ("prv", (write(1, b"out", 8, 1),)),
    ],
)
def test_it_is_said_that_io_is_fine_where_file_calls_would_be_there(of: str, calls: tuple):
    judged = verdict(balanced(*calls), of)
    assert judged.headline.startswith("I/O does not hold this run back")
    assert [found.code for found in judged.findings] == ["io_fine"]
