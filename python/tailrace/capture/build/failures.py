"""The one error this package raises to its users."""

from __future__ import annotations


class BuildError(Exception):
    """Capture could not be built: one sentence, and in ``hint`` what to try next."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
