"""The cache of compiled capture libraries: the user's alone, and what is damaged is made again."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace import cache
from tailrace.capture import libraries
from tailrace.errors import TailraceError


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAILRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def target(root: Path) -> Path:
    return root / "objects" / "0123.so"


def build(content: str) -> Callable[[Path], None]:
    return lambda output: output.write_text(content) and None


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_user_may_write_there_whatever_the_umask(root, target):
    before = os.umask(0)
    try:
        libraries._built(target, build("library"), "capture", lambda _: None)
    finally:
        os.umask(before)
    assert [mode(path) for path in (root, root / "objects", target)] == [0o700] * 3


@pytest.mark.parametrize("which", [".", "objects", "objects/0123.so"])
def test_what_others_can_write_to_is_refused(root, target, which):
    libraries._built(target, build("library"), "capture", lambda _: None)
    (root / which).chmod(0o777)
    with pytest.raises(TailraceError, match="can be written by other users") as error:
        libraries._built(target, build("library"), "capture", lambda _: None)
    assert "TAILRACE_CACHE" in error.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_what_belongs_to_another_user_is_refused(root):
    cache.folder("objects")
    os.chown(root, 65534, 65534)
    with pytest.raises(TailraceError, match="belongs to another user"):
        cache.folder("objects")


@pytest.mark.parametrize("damage", [b"", b"librar", b"Library"])
def test_a_damaged_library_is_compiled_again(target, damage):
    libraries._built(target, build("library"), "capture", lambda _: None)
    target.write_bytes(damage)
    said: list[str] = []
    libraries._built(target, build("library"), "capture", said.append)
    assert target.read_text() == "library"
    assert said == ["capture is damaged in the cache and is compiled again"]


def test_a_link_that_a_cleaner_took_is_made_again(target):
    library = libraries._built(target, build("library"), "capture", lambda _: None)
    link = libraries._set_of({libraries.CORE: library}) / libraries.CORE
    link.unlink()
    assert libraries._set_of({libraries.CORE: library}) == link.parent
    assert link.read_text() == "library"


def test_a_library_that_is_there_is_not_compiled_again(target):
    libraries._built(target, build("library"), "capture", lambda _: None)
    libraries._built(target, build("another"), "capture", pytest.fail)
    assert target.read_text() == "library"


def test_an_answer_is_remembered_until_the_file_changes(tmp_path):
    file = tmp_path / "mpicc"
    file.write_text("one")
    assert cache.remembered("sonames", file, lambda: "libmpi.so.12") == "libmpi.so.12"
    assert cache.remembered("sonames", file, pytest.fail) == "libmpi.so.12"
    file.write_text("other")
    assert cache.remembered("sonames", file, lambda: "libmpi.so.40") == "libmpi.so.40"
    assert len(list(cache.folder("sonames").iterdir())) == 1  # a program rebuilt daily leaves one


def test_an_answer_is_remembered_for_all_its_files_and_what_it_is_about(tmp_path):
    files = [tmp_path / name for name in ("a", "b")]
    for file in files:
        file.write_text("one")
    assert cache.remembered("flags", files, lambda: "first\nsecond", "x") == "first\nsecond"
    assert cache.remembered("flags", files, pytest.fail, "x") == "first\nsecond"
    assert cache.remembered("flags", files, lambda: "another", "y") == "another"
    files[1].write_text("three")
    assert cache.remembered("flags", files, lambda: "again", "y") == "again"


def test_a_user_without_a_home_is_told_to_name_a_place(monkeypatch):
    for name in ("TAILRACE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(TailraceError, match="no home directory"):
        cache.root()
