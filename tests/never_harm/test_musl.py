"""Programs of another C library, into which capture is preloaded as into all others: they run as
without it, and it is said why nothing of them is recorded."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MUSL = shutil.which("musl-gcc")
pytestmark = pytest.mark.skipif(MUSL is None, reason="there is no musl-gcc")

# Files by calls and by streams, in a thread too, and a child process.
PROGRAM = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *print(void *unused)
{
    FILE *file = fopen("printed", "w");
    for (int i = 0; i < 10000; i++)
        fprintf(file, "%d\\n", i);
    fclose(file);
    return unused;
}
int main(void)
{
    pthread_t thread;
    char text[9] = "";
    int file = open("written", O_CREAT | O_RDWR | O_TRUNC, 0600);
    for (int i = 0; i < 100; i++)
        write(file, "abcdefgh", 8);
    pread(file, text, 8, 8);
    close(file);
    pthread_create(&thread, NULL, print, NULL);
    pthread_join(thread, NULL);
    if (!fork())
        _exit(0);
    wait(NULL);
    printf("%s\\n", text);
    return 5;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("musl")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run([MUSL, "-O1", "-o", "program", "program.c"], cwd=folder, check=True)
    return folder / "program"


def test_it_runs_and_is_told_apart(program: Path, tailrace: list[str], tmp_path: Path) -> None:
    run = [*tailrace, "run", "-o", "trace", "--", program]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (5, "abcdefgh\n"), done.stderr
    assert "program runs with the C library musl, and capture watches glibc" in done.stderr
    assert (tmp_path / "written").read_bytes() == b"abcdefgh" * 100
    assert (tmp_path / "printed").read_text().split() == list(map(str, range(10000)))


def test_what_is_recorded_may_start_it(program: Path, tailrace: list[str], tmp_path: Path) -> None:
    shell = f"{program}; echo status $?"
    run = [*tailrace, "run", "--processes", "all", "-o", "trace", "--", "sh", "-c", shell]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("abcdefgh\nstatus 5\n")
