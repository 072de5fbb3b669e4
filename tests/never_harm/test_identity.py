"""Programs that become another user start others without a word from the loader."""

from __future__ import annotations

import os
import shutil
import subprocess

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
