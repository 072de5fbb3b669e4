"""What a command loads before it answers: nobody waits for what is not needed yet."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.text import Text

import tailrace
from tailrace import blas, engine, page, store, terminal
from tailrace.capture import libraries
from tailrace.capture import run as verb
from tailrace.errors import TailraceError

from ..processes import LONGEST_WAIT_S, said_on_a_terminal

pytest.importorskip("tailrace._engine", reason="the compiled engine is not built")

WRITE = ["dd", "if=/dev/zero", "of=zeros", "bs=4096", "count=10", "status=none"]


IMPORTS = [sys.executable, "-X", "importtime", "-m", "tailrace"]


def loaded(words: list[str], directory: Path) -> set[str]:
    """The modules that Python imports for a command."""
    done = subprocess.run(
        [*IMPORTS, *words], capture_output=True, text=True, cwd=directory, timeout=LONGEST_WAIT_S
    )
    assert done.returncode == 0, done.stderr
    return _modules(done.stderr)


def loaded_on_a_terminal(words: list[str], directory: Path) -> set[str]:
    """The same where somebody watches."""
    return _modules(said_on_a_terminal([*IMPORTS, *words], cwd=directory))


def _modules(said: str) -> set[str]:
    return set(re.findall(r"^import time:.*\| +(\S+)$", said, re.MULTILINE))


@pytest.fixture
def trace(tmp_path) -> Path:
    loaded(["run", "--no-report", "-o", "run", "--", *WRITE], tmp_path)
    return next((tmp_path / "run").glob("*.tailrace"))


def test_a_run_without_a_report_loads_nothing_heavy(tmp_path):
    modules = loaded(["run", "--no-report", "-o", "run", "--", *WRITE], tmp_path)
    assert "tailrace.store" in modules
    assert (tmp_path / "run" / "dd.tailrace").is_file()
    assert not modules & {"numpy", "rich", "minijinja", "tailrace.verdict"}


def test_a_verdict_needs_nothing_that_draws_tables(tmp_path):
    modules = loaded(["run", "-o", "run", "--", *WRITE], tmp_path)
    assert "numpy" in modules and (tmp_path / "run" / "report.html").is_file()
    assert not modules & {"rich", "dataclasses", "tailrace.page.several"}


def test_the_report_of_one_run_loads_nothing_of_several(trace, tmp_path):
    modules = loaded(["report", str(trace)], tmp_path)
    assert "rich" in modules
    assert not modules & {
        "tailrace.page",
        "tailrace.verdict.several",
        "tailrace.verdict.comparison",
    }


def test_nobody_waits_for_what_draws_a_bar_that_is_not_needed(tmp_path):
    modules = loaded_on_a_terminal(["run", "-o", "run", "--", *WRITE], tmp_path)
    assert "numpy" in modules and (tmp_path / "run" / "report.html").is_file()
    assert "rich" not in modules


def test_a_bar_comes_where_something_takes_long(monkeypatch):
    shown = []

    @contextlib.contextmanager
    def bar(_label: str) -> Iterator[Callable[[float], None]]:
        yield shown.append

    monkeypatch.setattr(terminal, "_is_watched", lambda: True)
    monkeypatch.setattr(terminal, "progress_bar", bar)
    with terminal.late_bar("reading") as progress:
        progress(0.25)
        assert not shown
        monkeypatch.setattr(terminal, "PATIENCE_S", 0.0)
        progress(0.5)
        progress(0.75)
    assert shown == [0.5, 0.75]


def test_of_the_other_verbs_nothing_is_loaded(tmp_path):
    modules = loaded(["run", "--help"], tmp_path)
    assert "tailrace.usage" in modules
    assert not modules & {"tailrace.bench.options", "tailrace.extras"}  # of bench and of study


def test_numpy_comes_without_threads():
    """OpenBLAS's, one for each core; a program that is started afterwards gets its own."""
    code = (
        "import os; from tailrace.blas import load_numpy; load_numpy(); "
        "print(len(os.listdir('/proc/self/task')), 'OPENBLAS_NUM_THREADS' in os.environ)"
    )
    clean = {key: value for key, value in os.environ.items() if key != blas.THREADS}
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=clean
    )
    assert answer.stdout.split() == ["1", "False"]


def test_a_trace_is_verified_without_numpy(trace):
    """And in full: one wrong byte anywhere is found, as it is by reading the trace."""
    engine.verify(trace)
    content = trace.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 20)):
        trace.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with pytest.raises(TailraceError) as verified:
            engine.verify(trace)
        with pytest.raises(TailraceError) as read:
            engine.analyze(trace)
        assert str(verified.value) == str(read.value)


def test_what_cannot_be_read_back_keeps_its_streams(tmp_path, monkeypatch):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "host.1.0.stream").write_bytes(b"events")

    def damaged(_trace: Path) -> None:
        raise TailraceError("the trace is damaged")

    monkeypatch.setattr(store, "verify", damaged)
    monkeypatch.setattr(store, "pack", lambda _, to: [{"path": to, "meta": {}, "ranks": 1}])
    with pytest.raises(TailraceError, match="is damaged"):
        store.pack_verified(raw, tmp_path / "model.tailrace")
    assert (raw / "host.1.0.stream").is_file()


def test_the_verdict_stands_before_the_page_is_made(trace, tmp_path, monkeypatch, capfd):
    def broken(*_arguments: object, **_options: object) -> str:
        raise TailraceError("no page today")

    monkeypatch.setattr(page, "render", broken)
    monkeypatch.chdir(tmp_path)
    verb._report(trace, trace.parent, {})
    said = capfd.readouterr().err
    assert tailrace.open(trace).headline in said and "trace: run/dd.tailrace" in said
    assert "the page could not be made: no page today" in said


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"FORCE_COLOR": "1"},
        {"FORCE_COLOR": "1", "NO_COLOR": "1"},
        {"FORCE_COLOR": ""},
        {"FORCE_COLOR": "1", "TERM": "dumb"},
        {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "0"},
        {"TTY_COMPATIBLE": "1", "TERM": "unknown"},
        {"TTY_COMPATIBLE": "1", "TERM": "xterm-256color"},
    ],
)
def test_the_verdict_looks_as_in_reports_without_what_draws_them(variables, monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    lines = [("I/O takes half of the run", "bold"), (" 50.0 %  [b] writes", ""), ("→ more", "dim")]
    ours, drawn = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", ours)
    terminal.tell_styled(lines)
    monkeypatch.setattr(sys, "stderr", drawn)
    out = terminal.console(stderr=True)
    for text, style in lines:
        out.print(Text(text, style=style), soft_wrap=True)
    assert ours.getvalue() == drawn.getvalue()


def test_nobody_waits_for_garbage_that_the_system_takes_back_anyway(tmp_path):
    code = (
        "import atexit, gc, sys; from tailrace.cli import main; sys.argv = ['tailrace', '--help'];"
        "atexit.register(lambda: print(len(gc.get_objects()), gc.get_freeze_count())); main()"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    looked_at, left = map(int, answer.stdout.splitlines()[-1].split())
    assert looked_at < left / 10


def test_no_import_waits_for_a_search_for_garbage(tmp_path):
    """From click's on: the library leaves the threshold of a user's program alone. Of modules that
    are kept compiled, as pip keeps them: to compile them makes garbage."""
    code = (
        "import gc, tailrace; searches = [];"
        "gc.callbacks.append(lambda phase, _: searches.append(phase));"
        "import tailrace.cli; print(len(searches))"
    )
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = str(tmp_path)
    command = [sys.executable, "-c", code]
    for _ in range(2):  # they are compiled the first time
        answer = subprocess.run(command, capture_output=True, text=True, env=kept)
    assert int(answer.stdout) == 0


def test_a_library_that_was_just_checked_is_not_read_again(tmp_path, monkeypatch):
    """Unless it has changed since: damage is found in it at any time."""
    reads = []
    monkeypatch.setattr(
        libraries, "_sum", lambda content: str(len(reads.append(content) or content))
    )
    library = tmp_path / "library.so"
    library.write_bytes(b"whole")
    library.with_suffix(libraries.SUM).write_text("5")
    library.chmod(0o700)
    assert libraries.is_built(library) and libraries.is_built(library)
    assert reads == [b"whole"]
    library.write_bytes(b"damaged")
    assert not libraries.is_built(library)


def test_numpy_is_loaded_while_the_trace_is_packed():
    code = (
        "import os, sys, time; from tailrace import blas\n"
        "with blas.loading_numpy():\n"
        "    inside = 'OPENBLAS_NUM_THREADS' in os.environ\n"
        "print(inside, 'OPENBLAS_NUM_THREADS' in os.environ, 'numpy' in sys.modules)"
    )
    clean = {key: value for key, value in os.environ.items() if key != blas.THREADS}
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=clean
    )
    assert answer.stdout.split() == ["True", "False", "True"]


@pytest.mark.parametrize("status", [0, 3, 255])
def test_a_run_ends_with_what_it_printed(tmp_path, status):
    """The process ends at once; what is buffered is written before."""
    code = (
        "import sys; from tailrace import cli, usage; print('buffered', end='');"
        f"cli.cli = lambda **_: (_ for _ in ()).throw(usage.Done({status})); cli.main()"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout, answer.stderr) == (status, "buffered", "")
