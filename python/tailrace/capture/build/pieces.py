"""Pieces of C around a real call; see semantics.py."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pieces:
    """``declare`` … local variables; ``prologue`` before the call begins, always; ``before`` and
    ``after`` the real call, where it is recorded; ``ahead`` and ``inside`` before and after the
    real call, always, inside the recorded call; ``arguments`` what to pass on instead of a
    parameter."""

    after: str
    before: str = ""
    declare: str = ""
    prologue: str = ""
    ahead: str = ""
    inside: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
