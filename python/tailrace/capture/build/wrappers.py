"""The flavour library's generated C: one wrapper per procedure and binding, in several files that
are compiled at once, and the table of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from . import semantics, standard
from .header import Prototype

_HANDLES = {
    "MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Request": "Request", "MPI_File": "File", "MPI_Group": "Group",
    "MPI_Message": "Message", "MPI_Win": "Win",
}  # fmt: skip
# Names of the wrappers' own variables: parameters named like them get an underscore.
_TAKEN = {
    "result",
    "call",
    "stream",
    "error",
    "own_error",
    "place",
    "chosen",
    "file",
    "send",
    "receive",
    "probe",
    "key",
    "freed",
}
_TAKEN |= {"completion", "collective", "one_sided", "mpi", "predefined"}
# Into how many files the wrappers are dealt.
_FILES = 8
_PLACEHOLDER = re.compile(r"\$string\((\w+)\)|\$(&?)(\w+)")


@dataclass(frozen=True)
class Binding:
    """One wrapper to write. ``symbols``: those it stands for."""

    function: str  # name in the trace
    base: str
    identifier: str
    symbols: tuple[str, ...]
    language: str
    large: bool
    result: str
    declaration: str
    parameters: tuple[str, ...]  # names as declared, in order
    render: Callable[[str, bool], str]  # standard name, whether as passed → C
    string: Callable[[str], str]
    aliases: dict[str, str]  # standard name → declared name


def _expand(text: str, binding: Binding) -> str:
    def place(match: re.Match[str]) -> str:
        if match[1]:
            return binding.string(match[1])
        if match[3] == "LANGUAGE":
            return f"LANGUAGE_{binding.language}"
        if match[3] == "WIDE":
            return str(int(binding.large))
        return binding.render(match[3], bool(match[2]))

    return _PLACEHOLDER.sub(place, text)


def _free_name(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


# --- C
# ----------------------------------------------------------------------------------------------------------------


def c_binding(prototype: Prototype) -> Binding:
    """The wrapper of a C function, declared as mpi.h declares it."""
    procedure = standard.procedures().get(prototype.name)
    declared = tuple(_free_name(parameter.name) for parameter in prototype.parameters)
    aliases = {}
    pointer = {
        _free_name(parameter.name): bool(re.search(r"[*\[]", parameter.declaration))
        for parameter in prototype.parameters
    }
    if procedure:
        aliases = {
            each.name: name for each, name in zip(procedure.parameters, declared, strict=False)
        }

    def render(name: str, as_passed: bool) -> str:
        own = aliases[name]
        if as_passed:
            return f"(void *){own}"
        return f"(*{own})" if pointer[own] else own

    base = procedure.base if procedure else prototype.name
    large = bool(procedure and procedure.large)
    declaration = re.sub(r"\b\w+\b", lambda word: _free_name(word[0]), prototype.declaration)
    return Binding(
        prototype.name, base, prototype.name, (prototype.name,), "C", large, prototype.result, declaration, declared,
        render, lambda name: aliases[name], aliases,
    )  # fmt: skip


# --- Fortran
# ----------------------------------------------------------------------------------------------------------


def fortran_bindings(name: str) -> Iterable[Binding]:
    """The wrappers of one procedure's Fortran bindings: everything is passed by address, lengths of
    strings come last."""
    procedure = standard.procedures().get(name)
    if procedure is None or procedure.fortran is None:
        return
    for family, symbols in standard.fortran_symbols(procedure).items():
        yield _fortran_binding(procedure, procedure.fortran, family, symbols)


def _fortran_binding(
    procedure: standard.Procedure,
    fortran: tuple[standard.Parameter, ...],
    family: str,
    symbols: tuple[str, ...],
) -> Binding:
    types = {parameter.name: parameter.c_type for parameter in fortran}
    names = [_free_name(parameter.name) for parameter in fortran]
    strings = [
        _free_name(parameter.name)
        for parameter in fortran
        if parameter.kind in standard.STRING_KINDS
    ]
    error = [] if procedure.base == "MPI_Pcontrol" else ["error"]
    lengths = [f"length_{name}" for name in strings]
    pointers = ", ".join(
        [f"void *{name}" for name in names]
        + [f"MPI_Fint *{name}" for name in error]
        + [f"size_t {name}" for name in lengths]
    )

    def render(name: str, as_passed: bool) -> str:
        own = _free_name(name.lower())
        if as_passed:
            return own
        kind = types[name.lower()]
        if kind in _HANDLES:
            return f"mpi.{_HANDLES[kind]}_f2c(*(const MPI_Fint *){own})"
        return f"*(const {'MPI_Fint' if kind == 'int' else kind} *){own}"

    def string(name: str) -> str:
        return f"fortran_string((char[4097]){{0}}, 4097, {name.lower()}, length_{name.lower()})"

    language = "DESCRIPTOR" if family == "descriptor" else "FORTRAN"
    return Binding(
        procedure.name, procedure.base, f"{family}_{procedure.name}", symbols, language, procedure.large, "void", pointers or "void",
        (*names, *error, *lengths), render, string, {parameter.name: _free_name(parameter.name) for parameter in fortran},
    )  # fmt: skip


# --- Both
# -------------------------------------------------------------------------------------------------------------


def _indent(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


def _guarded(text: str) -> str:
    return f"    if (stream) {{\n{_indent(text, 8)}    }}\n" if text else ""


def wrapper(binding: Binding, number: int) -> str:
    """The C of one wrapper and of the pointer to the function it wraps."""
    body = (
        _counts(binding, number)
        if binding.base in semantics.QUESTIONS
        else _records(binding, number)
    )
    head = f"{binding.result} (*real_{binding.identifier})({binding.declaration});\n"
    return (
        f"{head}{binding.result} wrap_{binding.identifier}({binding.declaration})\n{{\n{body}}}\n\n"
    )


def _counts(binding: Binding, number: int) -> str:
    numbers = f"FUNCTION_MPI_FIRST + {number}, {_slots()[binding.function]}"
    call = f"real_{binding.identifier}({', '.join(binding.parameters)})"
    if binding.language == "C":
        return f"    mpi_count({numbers});\n    return {call};\n"
    return f"    struct stream *stream = mpi_count_outer({numbers});\n    {call};\n    mpi_counted(stream);\n"


@functools.cache
def _slots() -> dict[str, int]:
    """The place of each question among them."""
    procedures = standard.procedures()
    bases = {
        name: procedures[name].base if name in procedures else name
        for name in standard.wrapped_names()
    }
    return {
        name: slot
        for slot, name in enumerate(name for name in bases if bases[name] in semantics.QUESTIONS)
    }


def _records(binding: Binding, number: int) -> str:
    pieces = semantics.pieces(binding.base)
    passed = [
        pieces.arguments.get(standard_name, name)
        for standard_name, name in _with_standard_names(binding)
    ]
    call = f"real_{binding.identifier}({', '.join(passed)})"
    body = (
        _indent(_expand(pieces.declare, binding), 4)
        + "    struct call call;\n"
        + _indent(pieces.prologue, 4)
    )
    body += f"    struct stream *stream = mpi_begin(&call, FUNCTION_MPI_FIRST + {number});\n"
    body += _guarded(_expand(pieces.before, binding)) + _indent(pieces.ahead, 4)
    body += _call(binding, call)
    body += _indent(_expand(pieces.inside, binding), 4) + _guarded(_expand(pieces.after, binding))
    return body + ("    return result;\n" if binding.result != "void" else "")


def _with_standard_names(binding: Binding) -> list[tuple[str, str]]:
    back = {declared: name for name, declared in binding.aliases.items()}
    return [(back.get(name, name), name) for name in binding.parameters]


def _call(binding: Binding, call: str) -> str:
    if binding.result != "void":
        return f"    {binding.result} result = {call};\n    (void)result;\n"
    if "error" not in binding.parameters:
        return f"    {call};\n"
    # mpi_f08's error code is optional.
    own = "    MPI_Fint own_error = MPI_SUCCESS;\n    if (!error)\n        error = &own_error;\n"
    return f"{own}    {call};\n    int result = *error;\n    (void)result;\n"


def layer(name: str) -> int:
    return 1 if name.startswith("MPI_File_") or name == "MPI_Register_datarep" else 0


def table(bindings: list[Binding]) -> str:
    """The sorted table that libtailrace.so searches."""
    rows = sorted(
        (symbol, binding.identifier) for binding in bindings for symbol in binding.symbols
    )
    lines = [
        f'    {{"{symbol}", (void *)wrap_{identifier}, (void **)&real_{identifier}}},\n'
        for symbol, identifier in rows
    ]
    declared = "".join(
        f"void wrap_{binding.identifier}(void);\nextern void *real_{binding.identifier};\n"
        for binding in bindings
    )
    return (
        declared
        + "const struct tailrace_wrapper tailrace_wrappers[] = {\n"
        + "".join(lines)
        + "};\n"
        + f"const unsigned tailrace_wrapper_count = {len(rows)};\n"
    )


def names(functions: list[str]) -> str:
    """Names and layers of the functions, in the order of their numbers."""
    texts = "".join(f'    "{name}",\n' for name in functions)
    layers = ", ".join(str(layer(name)) for name in functions)
    count = f"const unsigned tailrace_function_count = {len(functions)};\n"
    return f"const char *const tailrace_function_names[] = {{\n{texts}}};\nconst uint8_t tailrace_function_layers[] = {{{layers}}};\n{count}"


def sources(prototypes: dict[str, Prototype]) -> list[str]:
    """The generated files for what mpi.h declares."""
    functions = [name for name in standard.wrapped_names() if name in prototypes]
    numbers = {name: number for number, name in enumerate(functions)}
    bindings = [c_binding(prototypes[name]) for name in functions]
    bindings += [binding for name in functions for binding in fortran_bindings(name)]
    head = "/* Generated from the installed mpi.h. */\n"
    slots = f'_Static_assert({len(_slots())} <= COUNTED_SLOTS, "a slot for each question");\n\n'
    texts = [wrapper(binding, numbers[binding.function]) for binding in bindings]
    return [
        f'{head}#include "flavour.h"\n\n{slots}{"".join(texts[part::_FILES])}'
        for part in range(_FILES)
    ] + [f'{head}#include "wrapper.h"\n\n{names(functions)}{table(bindings)}']
