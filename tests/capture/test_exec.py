"""What a program starts is told to load capture's library unless it cannot: the loader would
complain about it on the program's stderr."""

from __future__ import annotations

import os
import platform
import subprocess

import pytest

from conftest import HERE

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="only x86-64's processors run programs of 32 bits too"
)

FUNCTIONS = [
    "execve",
    "execv",
    "execvp",
    "execvpe",
    "execl",
    "execlp",
    "execle",
    "fexecve",
    "posix_spawn",
    "posix_spawnp",
    "vfork",
]
ALONE = ["-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-no-pie"]
OTHER = "libm.so.6"


@pytest.fixture(scope="module")
def printers(tmp_path_factory):
    """Programs of 64 and of 32 bits that print LD_PRELOAD, and a script for each of them."""
    folder = tmp_path_factory.mktemp("printers")
    source = HERE / "environment.c"
    for bits in (64, 32):
        command = ["cc", f"-m{bits}", "-O1", *ALONE, "-o", folder / f"print{bits}", source]
        subprocess.run(command, check=True)
        script = folder / f"script{bits}"
        script.write_text(f"#! {folder}/print{bits} -x\n")
        script.chmod(0o755)
    return folder


@pytest.fixture
def preloads(program, printers, environment):
    """What the program of that name sees in LD_PRELOAD when `function` has started it."""

    def start(function: str, name: str, before: str = "", after: str = "") -> str:
        entries = [before, environment["LD_PRELOAD"], after]
        variables = environment | {
            "LD_PRELOAD": ":".join(filter(None, entries)),
            "PATH": f"/nowhere::{printers}:{os.environ['PATH']}",
        }
        command = [program("starter"), function, printers / name]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (7, "")
        return done.stdout

    return start


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_cannot_load_the_library_is_not_told_to(preloads, environment, function):
    own = environment["LD_PRELOAD"]
    assert preloads(function, "print64", after=OTHER) == f"{own}:{OTHER}"
    assert preloads(function, "print32") == ""
    assert preloads(function, "print32", before=OTHER, after=OTHER) == f"{OTHER}:{OTHER}"


def test_a_script_is_what_its_interpreter_is(preloads, environment):
    assert preloads("execve", "script64") == environment["LD_PRELOAD"]
    assert preloads("execve", "script32") == ""


def test_where_the_library_is_not_nobody_is_told_to_load_it(
    library, program, printers, environment, tmp_path
):
    """As in a container, whose files are others."""
    copy = tmp_path / "libtailrace.so"
    copy.write_bytes(library.read_bytes())
    shell = f'rm "{copy}"; exec "{program("starter")}" execve "{printers}/print64"'
    done = subprocess.run(
        ["bash", "-c", shell],
        env=environment | {"LD_PRELOAD": str(copy)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


BAD = """
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    char *out_of_reach = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *words[] = {"true", NULL}, *bad = (char *)8, *list[] = {"A=1", bad, NULL};
    for (int i = 0; i < 4; i++) {
        list[1] = bad = i < 2 ? bad : out_of_reach;
        char **given = i % 2 ? list : (char **)bad;
        int result = execve("/bin/true", words, given);
        printf("%d %d\\n", result, errno == EFAULT);
        result = posix_spawn(&result, "/bin/true", NULL, NULL, words, given);
        printf("%d\\n", result == EFAULT);
    }
    printf("%d\\n", execve(bad, words, environ) == -1 && errno == EFAULT);
    return 0;
}
"""


def test_a_bad_environment_is_refused_by_the_kernel(environment, tmp_path):
    (tmp_path / "bad.c").write_text(BAD)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-o", "bad", "bad.c"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "bad"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, 4 * ["-1", "1", "1"] + ["1"])
