"""Tailrace tells whether input and output hold a parallel simulation back, how much, why, and what
a change would buy.

>>> import tailrace
>>> run = tailrace.open("model.tailrace")           # a trace of Tailrace's, or .prv / .prv.gz
>>> run.headline
>>> run.efficiency.io
>>> run.files.nlargest(5, "write_s")
>>> tailrace.compare([run, "model-8.tailrace"])
>>> tailrace.open_study("study-cmaq-small").runs    # a data frame, one row per run

Everything heavy is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

from tailrace.errors import TailraceError

if TYPE_CHECKING:
    from tailrace.library import Run, compare, open, plot_compare
    from tailrace.study.library import Study, open_study

__all__ = [
    "Run",
    "Study",
    "TailraceError",
    "__version__",
    "compare",
    "open",
    "open_study",
    "plot_compare",
]


def __getattr__(name: str) -> Any:
    if name in ("Run", "compare", "open", "plot_compare"):
        from tailrace import library

        return getattr(library, name)
    if name in ("Study", "open_study"):
        from tailrace import extras

        extras.need("study", "studies")
        from tailrace.study import library as studies

        return getattr(studies, name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("tailrace")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'tailrace' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What completion offers: the names that come late among them, what others need left out."""
    return sorted(__all__)
