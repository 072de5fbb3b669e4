"""Programs run under valgrind as without capture: it has nothing to complain of."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import tailrace as library

SOURCE = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *folder)
{
    char name[64];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "%s.%d", (char *)folder, i % 3);
        int file = open(name, O_RDWR | O_CREAT, 0600);
        if (write(file, name, strlen(name)) < 0 || pread(file, name, 3, 0) < 0)
            return NULL;
        close(file);
        FILE *stream = fopen(name, "a");
        fprintf(stream, "line %d\\n", i);
        fclose(stream);
    }
    return NULL;
}
int main(int count, char **words)
{
    pthread_t thread;
    work("main");
    if (count > 1) {
        pthread_create(&thread, NULL, work, "thread");
        pthread_join(thread, NULL);
        if (!fork())
            execlp("true", "true", NULL);
        wait(NULL);
    }
    for (volatile long i = 0; i < 20000000; i++)
        ;
    puts(words[0]);
    return 3;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("valgrind"):
        pytest.skip("there is no valgrind")
    folder = tmp_path_factory.mktemp("valgrind")
    (folder / "program.c").write_text(SOURCE)
    command = ["cc", "-O1", "-o", "program", "program.c", "-lpthread"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "program")


def ran(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if not line.startswith("tailrace: ")]
    return done.returncode, done.stdout, said


@pytest.mark.parametrize("words", [[], ["threads"]], ids=["alone", "threads"])
@pytest.mark.parametrize("tool", ["memcheck", "none"])
def test_valgrind_says_what_it_says_without_capture(tailrace, tmp_path, program, tool, words):
    command = ["valgrind", "-q", f"--tool={tool}", program, *words]
    bare = ran(tmp_path, *command)
    assert bare == (3, f"{program}\n", [])
    capture = [*tailrace, "run", "--no-report", "-o", "trace", "--"]
    assert ran(tmp_path, *capture, *command) == bare
    (trace,) = (tmp_path / "trace").glob("*.tailrace")
    assert library.open(trace).functions.set_index("name")["calls"]["pread"] >= 40


def test_who_computes_there_does_not_sleep(tailrace, tmp_path, program):
    ran(tmp_path, *tailrace, "run", "-o", "trace", "--", "valgrind", "-q", program)
    (trace,) = (tmp_path / "trace").glob("*.tailrace")
    said = " ".join(finding.finding for finding in library.open(trace).findings)
    assert "sleeps" not in said and "other threads" not in said, said
