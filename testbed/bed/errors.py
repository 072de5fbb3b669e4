"""What is told to the user in one sentence, with the next thing to try."""


class TestbedError(Exception):
    """`status` is the command's exit status: 1 something did not work, 2 wrong use or a needed
    thing is missing."""

    def __init__(self, message: str, hint: str = "", status: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message
