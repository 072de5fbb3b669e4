"""Which methods and formats a workload can be run with, and which pair a user's words mean."""

from tailrace.bench.gridio import FORMATS, METHODS, possible
from tailrace.bench.workload import Workload
from tailrace.errors import TailraceError


def all_pairs() -> list[tuple[str, str]]:
    return [
        (method, format_) for method in METHODS for format_ in FORMATS if possible(method, format_)
    ]


def of(workload: Workload) -> list[tuple[str, str]]:
    """The pairs that make sense for a workload."""
    return [
        (method, format_)
        for method in workload.methods
        for format_ in workload.formats
        if possible(method, format_)
    ]


def choose(workload: Workload, method: str | None, format_: str | None) -> tuple[str, str]:
    """The pair that was asked for, or the default for what was left open. Raises where it cannot
    be."""
    for what, word, known, meant in (
        ("method", method, METHODS, workload.methods),
        ("format", format_, FORMATS, workload.formats),
    ):
        if word is not None and word not in known:
            raise TailraceError(
                f"there is no {what} {word!r}", f"the {what}s are {', '.join(known)}"
            )
        if word is not None and word not in meant:
            raise TailraceError(
                f"{workload.name} does not support the {what} {word}",
                f"its {what}s are {', '.join(meant)}",
            )
    pairs = [
        pair
        for pair in of(workload)
        if (method is None or pair[0] == method) and (format_ is None or pair[1] == format_)
    ]
    if pairs:
        return pairs[0]
    raise TailraceError(*refusal(workload, method, format_))


def refusal(workload: Workload, method: str | None, format_: str | None) -> tuple[str, str]:
    """Why the pair is impossible, and which are possible."""
    formats = [other for other in workload.formats if method is None or possible(method, other)]
    methods = [other for other in workload.methods if format_ is None or possible(other, format_)]
    return (
        f"the method {method} cannot be combined with the format {format_}",
        f"{method} goes with {', '.join(formats) or 'no format'}; "
        f"{format_} goes with {', '.join(methods) or 'no method'}",
    )
