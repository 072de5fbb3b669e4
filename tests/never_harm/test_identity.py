"""Programs that become another user, or have another root directory, start others without a word
from the loader."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

WORDS = 'echo "${LD_PRELOAD-none}"; head -c 0 /etc/passwd; cat /etc/hostname'


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(not shutil.which("runuser"), reason="there is no runuser")
@pytest.mark.parametrize("own", ["", pytest.param("libm.so.6", marks=pytest.mark.whole)])
def test_who_cannot_read_the_library_is_not_told_to_load_it(tailrace, tmp_path, own):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    tmp_path.chmod(0o755)
    variables = os.environ | {"XDG_CACHE_HOME": str(cache)} | ({"LD_PRELOAD": own} if own else {})
    command = ["runuser", "-u", "nobody", "--", "sh", "-c", WORDS]
    bare = subprocess.run(command, cwd="/", env=variables, capture_output=True, text=True)
    capture = [*tailrace, "run", "--no-report", "-o", str(tmp_path / "t"), "--"]
    under = subprocess.run(
        [*capture, *command], cwd="/", env=variables, capture_output=True, text=True
    )
    assert (under.returncode, under.stdout) == (bare.returncode, bare.stdout)
    assert "ld.so" not in under.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(not shutil.which("runuser"), reason="there is no runuser")
def test_what_another_user_did_is_missed_where_every_process_is_recorded(tailrace, tmp_path):
    words = "runuser -u nobody -- cat /etc/hostname >/dev/null; cat /etc/hostname >/dev/null"
    run = [*tailrace, "run", "--processes", "all", "-o", str(tmp_path / "t"), "--"]
    variables = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [*run, "sh", "-c", f"{words}; exit 0"],
        cwd="/",
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "recording stops" not in done.stderr
    assert "what the program started as another user" in done.stderr


def root_with(folder: Path, program: str) -> Path:
    """A directory with the program and the libraries that it needs."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
    words = [word for word in done.stdout.split() if word.startswith("/")]
    for path in (program, *words):
        (folder / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path[1:])
    return folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have another root directory")
def test_what_is_not_in_the_new_root_is_not_to_be_loaded_there(tailrace, tmp_path):
    root = root_with(tmp_path / "root", "/bin/echo")
    command = ["chroot", str(root), "/bin/echo", "hello"]
    run = [*tailrace, "run", "--no-report", "-o", str(tmp_path / "t"), "--", *command]
    done = subprocess.run(run, cwd="/", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "ld.so" not in done.stderr
    assert "nothing was recorded: chroot starts the program among other files" in done.stderr
