"""Files that Python looks for when it imports, and the same files as a program's data. Every run is
built by arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .columns import MILLISECOND, SECOND, read, write
from .test_verdict_why import MB, call, first

PYTHON = "/usr/bin/python3.11"


def test_importing_is_told_from_opening_files():
    """10 ms in a file of the program's, and all else in looking for modules."""
    modules = [
        replace(call(function, SECOND, 500), path=path)
        for function, path in (
            ("stat", b"/usr/lib/python3.11/json/__pycache__/decoder.cpython-311.pyc"),
            ("open", b"/home/me/venv/lib64/site-packages/numpy/_core.py"),
            ("stat", b"/home/me/model/steps.py"),
        )
    ]
    found = first(*modules, call("open", SECOND // 100, 1), program=PYTHON)
    assert (
        found.finding == "6,000 opens and look-ups for Python's modules take 99.7 % of the I/O time"
    )
    assert "import fewer modules" in found.advice
    own = first(*modules, call("open", 4 * SECOND, 10_000), program=PYTHON)
    assert "Python" not in own.finding
    assert "Python" not in first(*modules, program="/usr/bin/tar").finding


def test_one_slow_look_up_does_not_hide_imports():
    """As of joblib's workers: 36,000 look-ups of modules take 9 s, and others beside them 11 s; but
    where one file has more of that time than they have, or files have more of the calls, it is
    these. What says where a virtual environment is from is Python's, too."""
    modules = call("stat", 9 * SECOND, 9000, b"/usr/lib/python3.11/json/decoder.py")
    slow = [call("open", 5500 * MILLISECOND, 1, name) for name in (b"/run/a", b"/run/b")]
    found = first(modules, *slow, program=PYTHON)
    said = "36,000 opens and look-ups for Python's modules take 45.0 % of the I/O time"
    assert found.finding == said
    one = call("open", 11 * SECOND, 1, b"/run/a")
    many = [call("stat", 5500 * MILLISECOND, 2000, name) for name in (b"/run/a", b"/run/b")]
    for others in ([one], many):
        assert "Python's" not in first(modules, *others, program=PYTHON).finding
    environment = call("stat", 11 * SECOND, 1, b"/home/me/venv/pyvenv.cfg")
    assert "take 100 %" in first(modules, environment, program=PYTHON).finding


def test_modules_that_are_installed_are_not_imported():
    """pip writes 120 sources and their compiled forms; its own imports take a tenth of that."""
    folder = b"/run/site-packages/new"
    names = [b"%s/%d.py" % (folder, i) for i in range(120)]
    names += [b"%s/__pycache__/%d.cpython-311.pyc" % (folder, i) for i in range(120)]
    opens = [call("open", 10 * MILLISECOND, 1, name) for name in names]
    written = [write(MILLISECOND // 10, name, 3000, 1) for name in names[:120]]
    own = call("open", 240 * MILLISECOND, 500, b"/usr/lib/python3.11/json/decoder.py")
    found = first(own, *opens, *written, program=PYTHON)
    assert "Python" not in found.finding and "import" not in found.advice
    assert "import fewer modules" in first(own, *opens, program=PYTHON).advice


def test_reading_modules_is_told_from_reading_files():
    module = b"/home/me/venv/lib/python3.11/site-packages/numpy/_core.py"
    reads = (read(SECOND, module, 3 * MB, 200), read(SECOND // 10, b"/run/in", 9 * MB, 90))
    found = first(*reads, program=PYTHON)
    assert found.finding == "800 reads of Python's modules take 90.9 % of the I/O time"
    assert "import fewer modules" in found.advice
    assert "Python" not in first(*reads, program="/usr/bin/tar").finding
    few = (read(SECOND, module), read(3 * SECOND, b"/run/in"))
    assert "Python" not in first(*few, program=PYTHON).finding


@pytest.mark.parametrize(
    ("words", "imports"),
    [
        ("python3 -m compileall -q src", False),
        ("python3 -m zipapp src", False),
        ("python3 -m model compileall", True),
        ("python3 model.py -m compileall", True),
    ],
)
def test_who_compiles_modules_does_not_import_them(words: str, imports: bool):
    """Sources are read and compiled forms made: of these there could not be fewer."""
    names = [b"/run/src/%d.py" % i for i in range(300)]
    opens = [call("open", 10 * MILLISECOND, 1, name) for name in names]
    found = first(*opens, program=PYTHON, command=words.replace(" ", "\x1f"))
    assert ("import fewer modules" in found.advice) == imports
