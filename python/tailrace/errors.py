"""Errors that the user is told of in one sentence, with the next thing to try."""


class TailraceError(Exception):
    """What went wrong, in one sentence with the place, and what to try next.

    `message` and `hint` are plain text; `hint` may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message
