"""Runs are called by what tells them apart."""

from __future__ import annotations

import pytest

from tailrace.errors import TailraceError
from tailrace.labels import labels_of


def run(ranks: int, command: str) -> dict:
    return {"ranks": ranks, "meta": {"command": command}}


SERIAL = "mpiexec -n 4 solver --method serial --file /scratch/a/history.nc"
COLLECTIVE = (
    "mpiexec -n 4 solver --method collective --hint cb_nodes=4 --file /scratch/b/history.nc"
)


@pytest.mark.parametrize(
    "commands, paths, expected",
    [
        ([(2, "solver"), (4, "solver")], ["a/t", "b/t"], ["2 ranks", "4 ranks"]),
        (
            [(4, SERIAL), (4, COLLECTIVE)],
            ["a/t", "b/t"],
            ["serial", "collective --hint cb_nodes=4"],
        ),
        (
            [(4, SERIAL), (4, f"{COLLECTIVE} --hint romio_cb_write=enable")],
            ["a/t", "b/t"],
            ["serial", "collective"],  # the first words suffice where all are too many
        ),
        ([(4, "solver --method=a"), (4, "solver --method=b")], ["t", "u"], ["a", "b"]),
        ([(4, "solver"), (4, "solver")], ["serial-4/s.t", "other-4/s.t"], ["serial-4", "other-4"]),
        ([(4, "solver"), (4, "solver")], ["s.t", "s.t"], ["run (1)", "run (2)"]),
        (
            [(4, "mpiexec -n 4 s a"), (4, "mpiexec -n 4 s b"), (8, "mpiexec -n 8 s a")],
            ["1", "2", "3"],
            ["a, 4 ranks", "b, 4 ranks", "a, 8 ranks"],
        ),
        ([(1, "sh -c 'x")] * 2, ["a", "b"], ["a", "b"]),  # an open quote: no shell's words
    ],
)
def test_labels_say_what_differs(commands, paths, expected):
    assert labels_of([run(*command) for command in commands], paths) == expected


def test_words_of_a_trace_are_kept_apart_as_it_keeps_them():
    runs = [run(2, f"solver\x1f--title\x1f{title}") for title in ("first try", "second try")]
    assert labels_of(runs, ["a", "b"]) == ["first try", "second try"]


def test_given_labels_are_taken_and_counted():
    runs = [run(2, "a"), run(2, "b")]
    assert labels_of(runs, ["a", "b"], ["old", "new\x1b"]) == ["old", "new\\x1b"]
    with pytest.raises(TailraceError, match="1 label for 2 runs"):
        labels_of(runs, ["a", "b"], ["old"])
