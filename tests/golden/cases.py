"""Case files: what to run, and what must come out (see README.md)."""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass, field
from pathlib import Path

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
FUNCTIONS = {"sum": sum, "max": max, "min": min, "mean": lambda values: sum(values) / len(values)}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.Eq: operator.eq,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.USub: operator.neg,
}


@dataclass(frozen=True)
class Expectation:
    """One line after `expect:`. `quantity` is T, useful[p], sum(io), ...; `expression` is the
    arithmetic."""

    quantity: str
    expression: str
    reason: str
    line: int


@dataclass
class Case:
    path: Path
    name: str = ""
    description: str = ""
    ranks: int | None = None
    slowfs: dict[str, int] = field(default_factory=dict)
    prepare: dict[str, int] = field(default_factory=dict)
    families: tuple[str, ...] = ("mpich", "openmpi")
    environment: dict[str, str] = field(default_factory=dict)
    expectations: list[Expectation] = field(default_factory=list)


def amount(text: str) -> int:
    """`10MiB`, `20ms` as bytes or nanoseconds."""
    digits, unit = re.fullmatch(r"(\d+)([A-Za-z]*)", text).groups()
    return int(digits) * UNITS[unit or "B"]


def _slowfs(words: list[str]) -> dict[str, int]:
    settings = {"queue": 1} if "queue" in words else {}
    words = [word for word in words if word != "queue"]
    return settings | {
        key: amount(value) for key, value in zip(words[::2], words[1::2], strict=True)
    }


def _header(case: Case, key: str, value: str) -> None:
    if key == "ranks":
        case.ranks = None if value == "none" else int(value)
    elif key == "slowfs":
        case.slowfs = _slowfs(value.split())
    elif key == "prepare":
        name, size = value.split()
        case.prepare[name] = amount(size)
    elif key == "families":
        case.families = tuple(value.split())
    elif key == "environment":
        case.environment = dict(word.split("=", 1) for word in value.split())
    elif key in ("name", "description"):
        setattr(case, key, value)
    else:
        raise ValueError(f"{case.path}: there is no header `{key}`")


def _expectation(text: str, line: int) -> Expectation:
    equation, _, reason = text.partition("#")
    quantity, _, expression = equation.partition("=")
    return Expectation(quantity.strip(), expression.strip(), reason.strip(), line)


def read(path: Path) -> Case:
    """Reads the header and the expectations; the program between them is the interpreter's."""
    case, part = Case(path), "header"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line in ("program:", "expect:"):
            part = line[:-1]
        elif not line.strip() or line.startswith("#"):
            continue
        elif part == "header":
            _header(case, *line.split(": ", 1))
        elif part == "expect":
            case.expectations.append(_expectation(line, number))
    return case


def evaluate(text: str, names: dict[str, object]) -> float:
    """The value of the arithmetic beside a case: numbers, names, operators, comparisons, `a if b
    else c`, sum()."""
    return _evaluate(ast.parse(text, mode="eval").body, names)


def _evaluate(node: ast.expr, names: dict[str, object]):
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return names[node.id]
        case ast.UnaryOp():
            return OPERATORS[type(node.op)](_evaluate(node.operand, names))
        case ast.BinOp():
            return OPERATORS[type(node.op)](
                _evaluate(node.left, names), _evaluate(node.right, names)
            )
        case ast.Compare():
            return OPERATORS[type(node.ops[0])](
                _evaluate(node.left, names), _evaluate(node.comparators[0], names)
            )
        case ast.IfExp():
            return _evaluate(node.body if _evaluate(node.test, names) else node.orelse, names)
        case ast.Subscript():
            return _evaluate(node.value, names)[_evaluate(node.slice, names)]
        case ast.Call():
            return FUNCTIONS[node.func.id](*(_evaluate(argument, names) for argument in node.args))
    raise ValueError(f"{ast.unparse(node)} is no arithmetic")


def expected(case: Case, ranks: int) -> list[tuple[Expectation, str, float]]:
    """Every expectation with its value, those of `[p]` once per rank: (expectation, quantity,
    value)."""
    names: dict[str, object] = {"P": ranks}
    rows = []
    for expectation in case.expectations:
        name, indexed = re.fullmatch(r"(.*?)(\[p\])?", expectation.quantity).groups()
        if indexed:
            values = [
                evaluate(expectation.expression, names | {"p": rank}) for rank in range(ranks)
            ]
            rows += [(expectation, f"{name}[{rank}]", value) for rank, value in enumerate(values)]
            names[name] = values
        else:
            names[name] = evaluate(expectation.expression, names)
            rows.append((expectation, name, names[name]))
    return rows
