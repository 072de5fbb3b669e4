"""What lies on a critical path, in rows that are worth reading; paths built by arithmetic."""

from typing import Any

from tailrace.verdict.dependences import as_json, part_words, useful_words
from tailrace.verdict.places import Places

from .columns import SECOND, Program, useful


def parts(times_s: list[int]) -> list[dict[str, Any]]:
    """Rank 0 removes one directory after another, which takes so long each, and computes 1 s."""
    columns = Program([[useful(SECOND)], [useful(SECOND)]], *[SECOND] * 3).columns()
    number = len(times_s)
    columns["files"]["path"] = [b"/run/dir.%d" % k for k in range(number)]
    rows = {
        "rank": [0] * number + [1],
        "file": [*range(number), -1],
        "path": [-1] * (number + 1),
        "function": ["rmdir"] * number + [""],
        "state": ["io"] * number + ["useful"],
        "time_ns": [SECOND * time for time in times_s] + [SECOND],
    }
    runtime_ns = SECOND * (sum(times_s) + 1)
    path = rows | {"runtime_ns": runtime_ns, "start_ns": 0, "crossings": 1}
    waits: dict[str, Any] = {"time_ns": []}
    columns["dependences"] = {"paths": {"measured": path}, "waits": waits, "causes": waits}
    return list(as_json(columns, Places(columns))["critical_path"]["measured"]["parts"])


def test_many_files_of_which_none_stands_out_are_one_part():
    many, computing = parts([1] * 30)
    assert part_words(many) == "rank 0 in rmdir on 30 files"
    assert (many["time_s"], many["files"], many["file"]) == (30, 30, "")
    assert (part_words(computing), computing["files"]) == ("rank 1 computing", 0)


def test_few_files_and_one_that_takes_most_are_named():
    words = [part_words(part) for part in parts([3, 2])]
    assert words == ["rank 0 in rmdir on dir.0", "rank 0 in rmdir on dir.1", "rank 1 computing"]
    longest = parts([40, *[1] * 29])[0]
    assert (part_words(longest), longest["files"]) == ("rank 0 in rmdir on dir.0", 1)


def test_who_mostly_sleeps_outside_calls_is_not_said_to_compute():
    computing = parts([1])[1]
    for share, words in ((0.49, "computing"), (0.51, "outside MPI and file calls")):
        report = {"verdict": [{"code": "sleep", "share_of_runtime": share}]}
        assert part_words(computing, useful_words(report)) == f"rank 1 {words}"
