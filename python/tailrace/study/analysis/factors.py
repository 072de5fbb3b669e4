"""What a study varies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RANK_KINDS = ("ranks", "threads")


@dataclass(frozen=True)
class StudyFactor:
    """What is varied: its levels in the study's order, and the texts that the study gives them.
    `is_read`: of a target, where the study is about reading from it."""

    name: str
    kind: str
    levels: tuple[Any, ...]
    unit: str = ""
    labels: Mapping[Any, str] = field(default_factory=dict)
    is_read: bool = False

    @property
    def numeric(self) -> bool:
        """Whether it makes sense to speak of what lies between two levels."""
        return all(
            isinstance(level, int | float) and not isinstance(level, bool) for level in self.levels
        )

    @property
    def positive(self) -> bool:
        return self.numeric and min(self.levels) > 0
