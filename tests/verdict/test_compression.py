"""What HDF5's filters take, and what looks like it: computing before a data set is written
that no filter changes, and reading."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import without_processor_waits

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

HERE = Path(__file__).parent
HDF5 = Path("/usr/include/hdf5/serial")
# 2 million values of 8 bytes.
BYTES = "16.0 MB"


def built(source: str, folder: Path, *flags: str | Path) -> Path:
    binary = folder / "program"
    command = ["cc", "-O1", "-g", "-o", binary, HERE / source, *flags]
    subprocess.run(command, check=True, capture_output=True)
    return binary


def with_hdf5(folder: Path, *sources: str) -> list[str | Path]:
    if not (HDF5 / "hdf5.h").exists():
        pytest.skip("HDF5's headers (libhdf5-dev) are not here")
    first, *others = sources
    flags = (*(HERE / source for source in others), "-I", HDF5, "-l:libhdf5_serial.so")
    return [built(first, folder, *flags)]


def in_c(folder: Path) -> list[str | Path]:
    return with_hdf5(folder, "chunks.c", "chunk_filter.c")


def in_python(folder: Path) -> list[str | Path]:
    return [sys.executable, HERE / "chunks.py"]


def written(program: list[str | Path], kind: str, folder: Path) -> tuple[Run, float]:
    """And for how long the program was in the calls that write."""
    command = [*program, kind, folder / "field.h5"]
    environment = os.environ | {"HDF5_PLUGIN_PATH": str(folder)}
    run, printed = captured(command, folder, environment)
    return without_processor_waits(run), float(printed)


LANGUAGES = pytest.mark.parametrize("language", [in_c, in_python])


@LANGUAGES
def test_compressing_one_large_chunk_is_no_computation(language, tmp_path: Path):
    """It takes most of the calls that write: to write what is left of it takes as long as to copy
    some megabytes."""
    run, in_calls_s = written(language(tmp_path), "deflate", tmp_path)
    (found,) = [finding for finding in run.findings if finding.code == "compression"]
    assert found.finding.startswith("compressing by zlib takes "), run.headline
    assert f"in 1 call of compress2, as HDF5's deflate filter makes for each chunk: {BYTES}" in (
        found.evidence
    )
    assert 0.5 * in_calls_s < found.gain_s < in_calls_s
    assert "H5Pset_deflate" in found.advice
    assert "compressing by zlib" in run.headline


@pytest.mark.parametrize(
    ("kind", "said", "name"),
    [
        ("szip", "compressing by szip", "szip"),
        ("scale", "compressing by scale-offset", "scale-offset"),
        ("registered", "what HDF5's filter 300 does", "300"),
        ("plugin", "what HDF5's filter 300 does", "300"),
    ],
)
def test_what_other_filters_take_is_no_computation(kind: str, said: str, name: str, tmp_path: Path):
    """Two that HDF5 has, one that the program registers, and one that HDF5 loads."""
    program = in_c(tmp_path)
    flags = ["-shared", "-fPIC", "-I", HDF5, "-o", tmp_path / "libfilter.so"]
    if kind == "plugin":
        subprocess.run(["cc", "-O1", *flags, HERE / "chunk_filter.c"], check=True)
    run, in_calls_s = written(program, kind, tmp_path)
    (found,) = [finding for finding in run.findings if finding.code == "compression"]
    assert found.finding.startswith(f"{said} takes ")
    assert f"in 1 call of HDF5's filter {name}, one for each chunk: {BYTES}" in found.evidence
    assert 0.5 * in_calls_s < found.gain_s < in_calls_s
    assert said[1:] in run.headline  # its first letter may be a large one


def test_none_of_many_filters_is_left_out(tmp_path: Path):
    """Twelve, of which each gets the chunk once: a million values of 8 bytes."""
    command = [*with_hdf5(tmp_path, "many_filters.c"), tmp_path / "field.h5"]
    run, _ = captured(command, tmp_path, dict(os.environ))
    told = [each.split(" ")[1:] for each in run.columns["meta"]["compressed"].split(";")]
    assert told == [["1", "8000000", "8000000", str(number)] for number in range(300, 312)]


def test_a_filter_of_h5pys_own_is_measured(tmp_path: Path):
    """It registers lzf when it is imported. Of 16 MB that takes too little for a sentence."""
    run, in_calls_s = written(in_python(tmp_path), "lzf", tmp_path)
    time_ns, calls, before, after, number = map(int, run.columns["meta"]["compressed"].split(" "))
    assert (calls, before, number) == (1, 16_000_000, 32000)
    assert after < before
    assert 0 < time_ns / 1e9 < in_calls_s


def read_back(program: list[str | Path], kind: str, folder: Path) -> tuple[Run, float]:
    """Of what was written that way, as `written`."""
    written(program, kind, folder)
    (folder / "trace").rename(folder / "written")
    return written(program, "read", folder)


def test_reading_through_a_filter_is_not_compressing(tmp_path: Path):
    run, in_calls_s = read_back(in_c(tmp_path), "registered", tmp_path)
    assert "compressed" not in run.columns["meta"]
    told = map(int, run.columns["meta"]["decompressed"].split(" "))
    time_ns, calls, _, after, number = told
    assert (calls, after, number) == (1, 16_000_000, 300)
    assert 0 < time_ns / 1e9 < in_calls_s


def test_decompressing_what_is_read_again_is_no_computation(tmp_path: Path):
    """Five times the same chunk, which is larger than HDF5's cache."""
    run, in_calls_s = read_back(in_python(tmp_path), "deflate", tmp_path)
    (found,) = [finding for finding in run.findings if finding.code == "decompression"]
    assert found.finding.startswith("decompressing by zlib takes "), run.headline
    assert "in 5 calls of HDF5's filter zlib, one for each chunk" in found.evidence
    assert "became 80.0 MB" in found.evidence
    assert 0.5 * in_calls_s < found.gain_s < in_calls_s
    assert "H5Pset_chunk_cache" in found.advice
    assert "decompressing by zlib" in run.headline.lower()


@LANGUAGES
@pytest.mark.parametrize("kind", ["chunked", "contiguous"])
def test_computing_before_a_data_set_without_a_filter_is_not_compressing(
    language, kind: str, tmp_path: Path
):
    run, _ = written(language(tmp_path), kind, tmp_path)
    said = "\n".join([run.headline, *(f"{f.finding} {f.advice}" for f in run.findings)])
    assert "compressing" not in said
    assert not {"compressed", "decompressed"} & set(run.columns["meta"])


def compressing(kind: str, folder: Path, *flags: str | Path) -> tuple[Run, float]:
    program = built("compressing.c", folder, *flags, "-lpthread")
    run, printed = captured([program, kind], folder, dict(os.environ))
    return run, float(printed)


def test_what_is_measured_is_the_call(tmp_path: Path):
    """Five calls of 4 MB each, on the program's own clock: nearly all of it is in them."""
    run, in_calls_s = compressing("main", tmp_path, "-lz")
    time_ns, calls, before, after = map(int, run.columns["meta"]["compressed"].split(" "))
    assert (calls, before) == (5, 20_000_000)
    assert after < before
    assert 0.9 * in_calls_s < time_ns / 1e9 < in_calls_s


def test_what_another_thread_compresses_holds_no_one_up(tmp_path: Path):
    run, _ = compressing("thread", tmp_path, "-lz")
    assert "compressed" not in run.columns["meta"]


def test_another_function_of_that_name_gets_what_it_was_given(tmp_path: Path):
    """Else the program would fail: it takes other arguments."""
    library = tmp_path / "libother.so"
    flags = ["-shared", "-fPIC", "-DLIBRARY", "-o", library]
    subprocess.run(["cc", *flags, HERE / "compressing.c"], check=True)
    run, _ = compressing("main", tmp_path, "-DOWN", library, f"-Wl,-rpath,{tmp_path}")
    assert "compressed" not in run.columns["meta"]
