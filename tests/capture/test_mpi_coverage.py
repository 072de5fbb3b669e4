"""Nothing in an installed mpi.h is missed: all is wrapped, or named with a reason in
standard.OMISSIONS."""

from __future__ import annotations

import re
import subprocess

import mpi_capture
import pytest

from tailrace.capture.build import build, header, standard, wrappers


def exported(library) -> set[str]:
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1] for line in lines.splitlines()}


def declared_names(mpicc: str) -> set[str]:
    """By a plainer rule than the generator's: every name before a parenthesis, types of functions
    excepted."""
    compiler, flags = build.mpi_compile_flags(mpicc)
    text = header.preprocess([compiler, *flags])
    text = re.sub(r"typedef[^;]*;", "", text)
    return set(re.findall(r"\b(MPI_[A-Z]\w*)\s*\(", text)) - {
        name for name in re.findall(r"\bMPI_\w+", text) if name + " (*" in text
    }


def test_every_declared_function_is_wrapped_or_omitted_for_a_reason(workplace):
    declared = declared_names(workplace.mpi.mpicc)
    compiler, flags = build.mpi_compile_flags(workplace.mpi.mpicc)
    prototypes = header.parse(header.preprocess([compiler, *flags]))
    source = "".join(wrappers.sources(prototypes))
    wrapped = set(re.findall(r"\bwrap_(MPI_\w+)\(", source))
    missed = {name for name in declared - wrapped if standard.omission(name) is None}
    assert len(wrapped) > 300
    assert not missed


def test_every_wrapper_has_a_trampoline(workplace):
    flavours = list(workplace.libraries.glob("libtailrace-mpi-*.so"))
    text = subprocess.run(
        ["strings", "-n", "4", flavours[0]], capture_output=True, text=True, check=True
    ).stdout.split()
    wrapped = {line for line in text if re.fullmatch(r"MPI_[A-Z][a-z]\w*|mpi_\w+_", line)}
    functions = {
        name
        for name in wrapped
        if name in set(standard.all_symbols()) or name in standard.wrapped_names()
    }
    core = (workplace.libraries / "libtailrace.so").read_bytes()
    assert len(functions) > 300
    assert all(b"\0" + name.encode() + b"\0" in core for name in functions)


def test_no_mpi_name_is_exported(workplace):
    symbols = exported(workplace.libraries / "libtailrace.so")
    assert "pwrite" in symbols
    assert not [name for name in symbols if re.match(r"p?mpi_", name, re.IGNORECASE)]


def test_the_libraries_need_nothing_but_libc(workplace):
    for library in workplace.libraries.glob("*.so"):
        dynamic = subprocess.run(
            ["readelf", "-d", library], capture_output=True, text=True, check=True
        ).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        assert set(needed) <= {
            "libc.so.6",
            "libdl.so.2",
            "libpthread.so.0",
            "ld-linux-x86-64.so.2",
            "ld-linux-aarch64.so.1",
        }, library
        assert "RPATH" not in dynamic and "RUNPATH" not in dynamic


@pytest.mark.parametrize("name", ["MPI_Wtime", "MPI_Comm_f2c", "MPI_T_init_thread"])
def test_what_is_omitted_has_no_trampoline(name):
    assert standard.omission(name)
    assert name not in standard.all_symbols()


def test_the_parser_understands_what_headers_write():
    text = (
        "extern int MPI_One(int (*action)(void *, int), char ***argv, int ranges[][3])"
        " __attribute__((nonnull(1)));\n"
        "double MPI_Two(void);int MPI_Three(MPI_Comm, const int, ...);\n"
        "typedef int (MPI_Four)(int);\n"
    )
    found = header.parse(text)
    assert set(found) == {"MPI_One", "MPI_Two", "MPI_Three"}
    assert [parameter.name for parameter in found["MPI_One"].parameters] == [
        "action",
        "argv",
        "ranges",
    ]
    assert found["MPI_Two"].declaration == "void"
    assert found["MPI_Three"].declaration == "MPI_Comm argument0, const int argument1, ..."


def test_a_compiler_that_is_not_there_is_named():
    with pytest.raises(mpi_capture.capture_build.BuildError) as caught:
        mpi_capture.capture_build.build_flavour("/nowhere/mpicc", mpi_capture.HERE / "never.so")
    assert "/nowhere/mpicc" in caught.value.message and caught.value.hint
