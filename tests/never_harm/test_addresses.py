"""A program at a fixed place that takes a function's address: the loader says nothing of it, and
the address is the same wherever the program looks it up."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import find_mpi

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
static int (*const print)(const char *, ...) = printf;
static ssize_t (*const put)(int, const void *, size_t) = write;
int main(void)
{
    void *const found[] = {dlsym(RTLD_DEFAULT, "printf"), dlsym(RTLD_DEFAULT, "write")};
    print("%d %d\n", found[0] == (void *)print, found[1] == (void *)put);
    return 0;
}
"""


def test_a_function_has_one_address_and_the_loader_is_silent(tailrace, tmp_path):
    source, binary = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    options = ["-fno-pie", "-no-pie", "-O1"]
    subprocess.run(["cc", *options, "-o", binary, source, "-ldl"], check=True)
    bare = subprocess.run([binary], capture_output=True, text=True)
    assert (bare.returncode, bare.stderr) == (0, "")
    command = [*tailrace, "run", "--no-report", "-o", tmp_path / "t", "--", binary]
    captured = subprocess.run(command, capture_output=True, text=True)
    assert (captured.returncode, captured.stdout) == (0, bare.stdout)
    assert "warning" not in captured.stderr


WHOSE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>
static void tell(const char *what, void *address)
{
    Dl_info info = {0};
    struct link_map *map = NULL;
    int found = address && dladdr(address, &info), more = dladdr1(address, &info, (void **)&map, 2);
    printf("%s: %d %s %s %s\n", what, found, info.dli_fname, info.dli_sname,
           more && map ? map->l_name : "none");
}
int main(int count, char **words)
{
    tell("write", (void *)write);
    tell("fopen", dlsym(RTLD_DEFAULT, "fopen"));
    tell("main", (void *)main);
    if (!dlopen(words[1], RTLD_NOW | RTLD_GLOBAL))
        return 1;
    tell("MPI", dlsym(RTLD_DEFAULT, "MPI_Initialized"));
    return 0;
}
"""


@pytest.mark.parametrize("family", ["mpich", "openmpi"])
def test_a_function_is_said_to_be_where_it_is_without_capture(family, tailrace, tmp_path):
    """NEURON asks so which MPI is loaded, and opens that."""
    library = next((Path(find_mpi(family).mpicc).parent.parent / "lib").glob("libmpi.so.*"))
    source, binary = tmp_path / "program.c", tmp_path / "program"
    source.write_text(WHOSE)
    subprocess.run(["cc", "-O1", "-o", binary, source, "-ldl"], check=True)
    bare = subprocess.run([binary, library], capture_output=True, text=True)
    assert bare.returncode == 0 and re.search(r"MPI: 1 \S*libmpi\.so", bare.stdout), bare
    command = [*tailrace, "run", "--no-report", "-o", tmp_path / "t", "--", binary, library]
    captured = subprocess.run(command, capture_output=True, text=True)
    addresses = [re.sub(r"(main: \d) \S+", r"\1", out) for out in (bare.stdout, captured.stdout)]
    assert (captured.returncode, addresses[1]) == (0, addresses[0])
