"""Packages that only some questions need. pyproject.toml groups them as extras: `data` for data
frames and plots in Python, `study` for the tables and statistics of studies."""

import re
from importlib.util import find_spec

from tailrace.errors import TailraceError


def need(extra: str, purpose: str) -> None:
    """Raises TailraceError, with the command that installs them, where packages of `extra` are
    missing. `purpose`: what needs them, in the plural."""
    missing = [package for package in packages(extra) if find_spec(package) is None]
    if missing:
        names = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        are = "is" if len(missing) == 1 else "are"
        raise TailraceError(
            f"{purpose} need {names}, which {are} not installed",
            f"pip install 'tailrace[{extra}]'",
        )


def packages(extra: str = "") -> list[str]:
    """What an extra adds, or without one what everything needs, by the metadata of the installed
    Tailrace."""
    # Imported here: it takes as long as the rest of a short command.
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("tailrace") or []
    except PackageNotFoundError:  # a checkout that was never installed
        return []
    wanted = [line for line in lines if _extra(line) == extra]
    return [re.split(r"[^\w-]", line, maxsplit=1)[0] for line in wanted]


def _extra(line: str) -> str:
    """The extra of a line such as `scipy<2,>=1.12; extra == "study"`."""
    marker = re.search(r"""extra == ["']([\w-]+)["']""", line)
    return marker[1] if marker else ""
