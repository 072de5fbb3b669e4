"""What the installed ``mpi.h`` declares: every function's result, name and parameters, as written
there."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from .failures import BuildError


@dataclass(frozen=True)
class DeclaredParameter:
    """One parameter: ``name`` and its full declaration, e.g. ``const int counts[]``."""

    name: str
    declaration: str


@dataclass(frozen=True)
class Prototype:
    """One function as ``mpi.h`` declares it. ``variadic``: the list ends with ``...``
    (MPI_Pcontrol)."""

    name: str
    result: str
    parameters: tuple[DeclaredParameter, ...]
    variadic: bool

    @property
    def declaration(self) -> str:
        texts = [parameter.declaration for parameter in self.parameters] + ["..."] * self.variadic
        return ", ".join(texts) or "void"


_FUNCTION = re.compile(
    r"(?:^|(?<=[;}]))\s*((?:extern\s+)?[A-Za-z_][\w\s]*?[\s*]+)(MPI_\w+)\s*\(", re.MULTILINE
)
_ATTRIBUTE = re.compile(r"__attribute__\s*(\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\))")


def preprocess(compiler: list[str]) -> str:
    """The text of ``mpi.h`` after the preprocessor. Raises BuildError where the compiler finds no
    ``mpi.h``."""
    command = [*compiler, "-E", "-P", "-x", "c", "-"]
    try:
        done = subprocess.run(
            command, input="#include <mpi.h>\n", text=True, capture_output=True, check=False
        )
    except OSError as error:
        raise BuildError(
            f"{compiler[0]} cannot be started: {error.strerror}",
            "install a C compiler, or name the MPI's mpicc",
        ) from None
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[0] if done.stderr.strip() else "no reason given"
        raise BuildError(
            f"{compiler[0]} cannot preprocess mpi.h: {reason}",
            "install the MPI's development package, or name its mpicc",
        )
    return done.stdout


def parse(text: str) -> dict[str, Prototype]:
    """All functions ``MPI_*`` that preprocessed text declares, by name."""
    plain = _ATTRIBUTE.sub("", text)
    prototypes = {}
    for match in _FUNCTION.finditer(plain):
        result = " ".join(match[1].replace("extern", "").split())
        if result.split()[0] in ("typedef", "return", "else", "static"):
            continue
        inside = _balanced(plain, match.end())
        prototypes[match[2]] = _prototype(match[2], result, inside)
    return prototypes


def _balanced(text: str, start: int) -> str:
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return text[start:position]
    return text[start:]


def _prototype(name: str, result: str, inside: str) -> Prototype:
    texts = [" ".join(part.split()) for part in _split(inside)]
    variadic = "..." in texts
    named = [
        _parameter(text, index)
        for index, text in enumerate(texts)
        if text not in ("...", "void", "")
    ]
    return Prototype(name, result, tuple(named), variadic)


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


_TYPE_WORDS = {
    "int",
    "char",
    "void",
    "double",
    "float",
    "long",
    "short",
    "unsigned",
    "signed",
    "const",
    "struct",
    "enum",
}


def _parameter(text: str, index: int) -> DeclaredParameter:
    pointer_to_function = re.search(r"\(\s*\*\s*(\w+)\s*\)", text)
    if pointer_to_function:
        return DeclaredParameter(pointer_to_function[1], text)
    head, bracket, tail = text.partition("[")
    words = re.findall(r"\w+", head)
    unnamed = (
        len([word for word in words if word != "const"]) == 1
        or words[-1] in _TYPE_WORDS
        or head.rstrip().endswith("*")
    )
    if unnamed:
        return DeclaredParameter(f"argument{index}", f"{head} argument{index}{bracket}{tail}")
    return DeclaredParameter(words[-1], text)
