"""Capture is compiled with this machine's C library and preloaded into programs of others, in
containers say: an older glibc, whose loader ends a program where a preloaded library asks for
something that is not there, and which has dlsym and threads in libraries of their own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from conftest import HERE, SOURCES

# Each C library has had these for long: glibc since 2.17 or before. What is asked for besides is a
# weak reference, with a test beside its use.
EVERYWHERE = """
    __errno_location __sigsetjmp calloc dirfd dl_iterate_phdr environ fclose fgets fileno flockfile
    fopen free funlockfile getenv geteuid gethostname getppid getrlimit getuid malloc memchr memcmp
    memcpy memmove memset nanosleep pthread_mutex_lock pthread_mutex_unlock readlink realloc
    realpath sched_yield setenv snprintf stdin stdout stpcpy strcasecmp strchr strcmp strcpy strcspn
    strerror strlen strncasecmp strncmp strncpy strnlen strpbrk strrchr strspn strstr unsetenv
    vsnprintf
    """


def asked_for(library: Path) -> set[str]:
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        return {
            symbol.name
            for symbol in symbols
            if symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] == "STB_GLOBAL"
        }


def sections(library: Path) -> set[str]:
    with library.open("rb") as file:
        return {section.name for section in ELFFile(file).iter_sections()}


def test_no_version_of_a_function_is_asked_for(workplace):
    """Of the core and of the library for each MPI."""
    built = sorted(workplace.libraries.glob("libtailrace*.so"))
    assert len(built) >= 2
    for library in built:
        assert ".gnu.version_r" not in sections(library), library
        more = {name for name in asked_for(library) if not name.startswith("tailrace_")}
        assert more <= set(EVERYWHERE.split()), library


# What an older glibc lacks in a program without threads.
BEFORE_34 = [
    *("dlsym", "dlvsym", "dlopen", "dlclose", "dladdr", "dladdr1", "__libc_single_threaded"),
    *("pthread_key_create", "pthread_setspecific"),
    *("__pthread_register_cancel", "__pthread_unregister_cancel", "__pthread_unwind_next"),
]
BEFORE_16 = [*BEFORE_34, "getauxval"]


@pytest.fixture(scope="session")
def preload(tmp_path_factory):
    """Capture as a C library finds it that lacks these, with what an older glibc has instead."""

    def build(lacks: list[str], *flags: str) -> str:
        folder = tmp_path_factory.mktemp("older")
        wrapped = " ".join(f"-Wl,--wrap={name}" for name in lacks)
        make = ["make", "-s", "-C", SOURCES, f"BUILD={folder}", f"CFLAGS=-O1 {wrapped}"]
        subprocess.run(make, check=True)
        shim = ["cc", "-shared", "-fPIC", *flags, "-o", "shim.so", HERE / "older_libc.c", "-ldl"]
        subprocess.run(shim, cwd=folder, check=True)
        assert "__wrap_dlsym" not in asked_for(folder / "libtailrace.so")
        return f"{folder}/libtailrace.so {folder}/shim.so"

    return build


@pytest.mark.parametrize("how", ["exit", "characters", "fork"])
def test_what_an_older_glibc_lacks_is_found_elsewhere(preload, capture, program, how):
    life = program("life")
    done = capture(life, how, 100, LD_PRELOAD=preload(BEFORE_34))
    plain = capture(life, how, 100, LD_PRELOAD="", read=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )
    recorded = [stream for stream in done.streams if stream.calls]
    assert recorded
    assert all(stream.header["closed"] for stream in recorded)


@pytest.mark.parametrize(
    ("lacks", "flags"),
    [(BEFORE_34, ["-DWITHOUT_LIBDL"]), (BEFORE_16, [])],
    ids=["without_libdl", "before_2_16"],
)
def test_where_it_is_nowhere_the_program_runs_without(preload, capture, program, lacks, flags):
    done = capture(program("life"), "characters", 100, LD_PRELOAD=preload(lacks, *flags))
    plain = capture(program("life"), "characters", 100, LD_PRELOAD="", read=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )
    assert done.streams == []


def test_it_compiles_for_another_processor(tmp_path):
    """None of capture's tables names a function that only x86-64's part has."""
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    if not compiler:
        pytest.skip("there is no aarch64-linux-gnu-gcc")
    make = ["make", "-s", "-C", SOURCES, f"BUILD={tmp_path}", f"CC={compiler}", "CFLAGS=-Werror"]
    subprocess.run(make, check=True)
