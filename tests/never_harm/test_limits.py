"""Programs at the edge of their means: bad pointers, small stacks, calls and counters that the
program itself has forbidden. Each ends as it ends without capture."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Bytes of stack that capture may take below a call.
STACK_BYTES = 1024
WRITES = 400_000

# What limits.c returns, so that the bare program is known to have done it.
MODES = {
    "pointers": 0, "alternate": 42, "filter": 5, "filter-call": 5, "strict": 6, "counter": 4,
    "refused": 3, "become": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def limits(tmp_path_factory):
    binary = tmp_path_factory.mktemp("limits") / "limits"
    subprocess.run(["cc", "-O1", "-o", binary, HERE / "limits.c", "-lpthread"], check=True)
    return binary


@pytest.fixture
def ran(limits, tailrace, tmp_path):
    """The bare and the captured program's result, and the trace."""

    def run(mode):
        results = []
        for name, before in (
            ("bare", []),
            ("captured", [*tailrace, "run", "--no-report", "-o", "t", "--"]),
        ):
            (tmp_path / name).mkdir()
            command = [*before, limits, mode]
            results.append(
                subprocess.run(command, cwd=tmp_path / name, capture_output=True, text=True)
            )
        return (*results, tmp_path / "captured" / "t")

    return run


@pytest.mark.parametrize("mode", MODES)
def test_it_ends_as_without_capture(ran, mode):
    bare, captured, _ = ran(mode)
    if bare.returncode != MODES[mode]:
        pytest.skip(f"this machine does not let a program do that: {bare.returncode}")
    assert (captured.returncode, captured.stdout) == (bare.returncode, bare.stdout)
    assert "recording stops" not in captured.stderr


def test_a_call_that_takes_a_path_needs_little_stack(ran):
    bare, captured, _ = ran("stack")
    assert bare.returncode == captured.returncode == 0
    lines = zip(bare.stdout.splitlines(), captured.stdout.splitlines(), strict=True)
    for without, within in lines:
        name, *before = without.split()
        same, *after = within.split()
        more = [int(x) - int(y) for x, y in zip(after, before, strict=True)]
        assert name == same and max(more) <= STACK_BYTES, (name, more)


@pytest.mark.parametrize("mode", ["filter", "filter-call"])
def test_what_fits_is_recorded_behind_a_filter(ran, mode):
    import tailrace as library

    _, _, folder = ran(mode)
    (trace,) = folder.glob("*.tailrace")
    calls = library.open(trace).functions.set_index("name")["calls"]["pwrite"]
    assert WRITES < calls <= 2 * WRITES


def test_a_restriction_that_is_refused_ends_no_recording(ran):
    import tailrace as library

    _, _, folder = ran("refused")
    (trace,) = folder.glob("*.tailrace")
    assert library.open(trace).functions.set_index("name")["calls"]["pwrite"] == WRITES
