"""A program at a fixed place that takes a function's address: the loader says nothing of it, and
the address is the same wherever the program looks it up."""

from __future__ import annotations

import subprocess

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
