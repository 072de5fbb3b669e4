"""Fails where modules of Rust, or files of C, need each other in a circle.

Rust: what a module names by `crate::` or `super::` (in `use` lines or elsewhere, tests left out);
C: the functions and variables with external linkage that a file names and another one defines.
Modules or files of one folder are compared, and folders beside each other. Python's imports are
import-linter's (pyproject.toml).
"""

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Graph = dict[str, set[str]]

# Ties that close a circle and may: (from, to), by path. A line goes when its tie closes none.
KNOWN = frozenset(
    {
        # bind.c, objects.c and resolve.c of capture/mpi are part of the core
        ("capture/gate.c", "capture/mpi/bind.c"),
    }
)

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")


def without_comments(text: str) -> str:
    """Strings are left out too: neither names anything."""
    return COMMENT.sub(" ", text)


# --- circles --------------------------------------------------------------------------------------


def siblings(ties: Graph) -> Iterator[Graph]:
    """For each folder: which of its children (files, or folders with all that is in them) needs
    which."""
    levels: dict[str, Graph] = defaultdict(lambda: defaultdict(set))
    for source, targets in ties.items():
        for target in targets:
            folder = os.path.commonpath([source, target])
            child, other = (
                f"{folder}/{path[len(folder) + 1 :].split('/')[0]}" for path in (source, target)
            )
            levels[folder][child].add(other)
    yield from levels.values()


def circles(ties: Graph) -> list[list[str]]:
    """One circle after the other, each taken apart at its last tie before the next is sought."""
    found = []
    for graph in siblings(ties):
        while (circle := _circle(graph)) is not None:
            found.append(circle)
            graph[circle[0]].discard(circle[1])
    return found


def _circle(graph: Graph) -> list[str] | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return None


# --- Rust -----------------------------------------------------------------------------------------


def rust_ties(root: Path) -> Graph:
    """Of every crate below `root`; a module is its file, or its folder where it has one."""
    ties: Graph = {}
    for source in sorted(root.glob("*/src")):
        ties |= _crate(source)
    return ties


def _crate(source: Path) -> Graph:
    files = {_module(file.relative_to(source)): file for file in source.rglob("*.rs")}
    texts = {module: _code(file.read_text("utf-8")) for module, file in files.items()}
    exported = {
        (*module, name): target
        for module, text in texts.items()
        for name, target in _exports(text, module, set(texts))
    }
    places = {module: _place(file) for module, file in files.items()}
    ties: Graph = {}
    for module, text in texts.items():
        needed = {_owner(path, set(texts), exported) for path in _paths(text, module)}
        # What stands above or below (mod.rs, the crate's root) is the same room.
        ties[str(places[module])] = {
            str(places[other])
            for other in needed
            if other[: len(module)] != module and module[: len(other)] != other
        }
    return ties


def _module(file: Path) -> tuple[str, ...]:
    parts = file.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts


def _place(file: Path) -> Path:
    return file.parent if file.name == "mod.rs" else file


def _code(text: str) -> str:
    return re.split(r"^#\[cfg\(test\)\]\nmod ", without_comments(text), flags=re.MULTILINE)[0]


def _exports(
    text: str, module: tuple[str, ...], modules: set[tuple[str, ...]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for statement in re.findall(r"\bpub(?:\(\w+\))? use ([^;]+);", text):
        for path in _expanded(statement):
            inner = (*module, *path) if (*module, path[0]) in modules else _absolute(path, module)
            if inner is not None:
                yield path[-1], inner


def _paths(text: str, module: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every path that begins with `crate` or `super`, from the crate's root."""
    for found in re.finditer(r"\b(?:crate|super)::(?:[\w:]|\{[^;]*?\}(?=;))+", text):
        for path in _expanded(found[0]):
            if (absolute := _absolute(path, module)) is not None:
                yield absolute


def _expanded(text: str) -> Iterator[tuple[str, ...]]:
    """`a::{b, c::{d, e}}` is a::b, a::c::d and a::c::e."""
    head, brace, rest = text.partition("{")
    prefix = tuple(part for part in NAME.findall(head.split(" as ")[0]))
    if not brace:
        yield prefix
        return
    depth, start, inner = 0, 0, rest.rstrip().removesuffix("}")
    for place, character in enumerate(inner + ","):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            if word := inner[start:place].strip():
                for path in _expanded(word):
                    yield (*prefix, *path)
            start = place + 1


def _absolute(path: tuple[str, ...], module: tuple[str, ...]) -> tuple[str, ...] | None:
    if path and path[0] == "crate":
        return path[1:]
    ups = next((i for i, part in enumerate(path) if part != "super"), len(path))
    return (*module[: len(module) - ups], *path[ups:]) if ups else None


def _owner(
    path: tuple[str, ...],
    modules: set[tuple[str, ...]],
    exported: dict[tuple[str, ...], tuple[str, ...]],
) -> tuple[str, ...]:
    """The module that a path leads to, also where another one hands its names on."""
    for length in range(len(path), 0, -1):
        if path[:length] in modules:
            return path[:length]
        if path[:length] in exported:
            return _owner(exported[path[:length]], modules, {})
    return ()


# --- C --------------------------------------------------------------------------------------------

# At the beginning of a line: a type, a name, and its parameters, or what a variable begins with.
FUNCTION = re.compile(r"^(?!static|typedef|extern|#)[A-Za-z_][\w \t*]*?\b(\w+)\(", re.MULTILINE)
VARIABLE = re.compile(
    r"^(?!static|typedef|extern|#|return|goto)(?:\w+[ \t*]+)+(\w+)(?:\[[^\]\n]*\])*(?: = |;)",
    re.MULTILINE,
)


def c_ties(root: Path) -> Graph:
    """Of every folder below `root`."""
    texts = {
        str(file): without_comments(file.read_text("utf-8")) for file in sorted(root.rglob("*.c"))
    }
    owners: dict[str, list[str]] = defaultdict(list)
    for file, text in texts.items():
        for name in _defined(text):
            owners[name].append(file)
    # `main`, and what each program has of its own, belongs to no one file.
    owner = {name: files[0] for name, files in owners.items() if len(set(files)) == 1}
    return {
        file: {owner[name] for name in set(NAME.findall(text)) if owner.get(name, file) != file}
        for file, text in texts.items()
    }


def _defined(text: str) -> set[str]:
    names = {
        found[1]
        for found in FUNCTION.finditer(text)
        if _has_body(text, text.index("(", found.end() - 1))
    }
    return names | set(VARIABLE.findall(text))


def _has_body(text: str, place: int) -> bool:
    """Whether a `{` follows the closing parenthesis."""
    depth = 0
    for end in range(place, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth == 0:
            return text[end + 1 : end + 200].lstrip().startswith("{")
    return False


def main(root: Path = Path()) -> int:
    ties = {**rust_ties(root / "crates"), **c_ties(root / "capture"), **c_ties(root / "kernels")}
    found = circles(_without(ties, KNOWN))
    idle = [tie for tie in sorted(KNOWN) if circles(_without(ties, KNOWN - {tie})) == found]
    for source, target in idle:
        print(
            f"tools/flow.py: {source} → {target} closes no circle: remove the line", file=sys.stderr
        )
    for circle in found:
        print(f"circle: {' → '.join(circle)}", file=sys.stderr)
    return 1 if found or idle else 0


def _without(ties: Graph, left_out: Set[tuple[str, str]]) -> Graph:
    return {
        source: {target for target in targets if (source, target) not in left_out}
        for source, targets in ties.items()
    }


if __name__ == "__main__":
    sys.exit(main())
