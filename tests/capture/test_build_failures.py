"""What building capture says where a compiler is missing or is not one of MPI: a sentence and a
hint like all others, without a capital and without a stop."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.capture.build import BuildError, build_core, build_flavour
from tailrace.capture.build.header import preprocess


def _script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def _no_compiler(folder: Path) -> None:
    build_core(folder / "core.so", "no-such-compiler")


def _failing_compiler(folder: Path) -> None:
    says = "echo in error_string >&2; echo error: no >&2; exit 1"
    build_core(folder / "core.so", _script(folder / "cc", says))


def _no_mpicc(folder: Path) -> None:
    build_flavour("no-such-mpicc", folder / "mpi.so")


def _mute_mpicc(folder: Path) -> None:
    build_flavour(_script(folder / "mpicc", "exit 1"), folder / "mpi.so")


def _mpicc_of_nothing(folder: Path) -> None:
    build_flavour(_script(folder / "mpicc", "echo no-such-compiler"), folder / "mpi.so")


def _empty_mpi_h(folder: Path) -> None:
    compiler = _script(folder / "cc", "cat > /dev/null")
    build_flavour(_script(folder / "mpicc", f"echo {compiler}"), folder / "mpi.so")


def _no_preprocessor(folder: Path) -> None:
    preprocess(["no-such-compiler"])


def _no_mpi_h(folder: Path) -> None:
    preprocess([_script(folder / "cc", "cat > /dev/null; exit 1")])


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (_no_compiler, "no-such-compiler cannot be started: No such file or directory"),
        (_failing_compiler, "{folder}/cc could not compile capture: error: no"),
        (_no_mpicc, "no-such-mpicc cannot be started: No such file or directory"),
        (_mute_mpicc, "{folder}/mpicc does not say how it compiles (-show)"),
        (
            _mpicc_of_nothing,
            "{folder}/mpicc compiles with no-such-compiler, which is not there",
        ),
        (
            _empty_mpi_h,
            "the mpi.h of {folder}/mpicc declares no MPI_Init that was understood",
        ),
        (_no_preprocessor, "no-such-compiler cannot be started: No such file or directory"),
        (_no_mpi_h, "{folder}/cc cannot preprocess mpi.h: no reason given"),
    ],
)
def test_a_sentence_and_a_hint(
    tmp_path: Path, build: Callable[[Path], None], sentence: str
) -> None:
    with pytest.raises(BuildError) as caught:
        build(tmp_path)
    assert str(caught.value) == sentence.format(folder=tmp_path)
    hint = caught.value.hint
    assert hint[0].islower() and not hint.endswith(".")
