"""A study's workload as each of its combinations has it."""

import json
from dataclasses import dataclass, field

from tailrace.bench import loader
from tailrace.bench.workload import Workload
from tailrace.study.definition.setups import Setup


@dataclass
class Workloads:
    """`word`: the workload's name, or the path of its file."""

    word: str
    _made: dict[str, Workload] = field(default_factory=dict)

    def of(self, setup: Setup) -> Workload:
        """In the combination's size and with the keys that it sets."""
        key = json.dumps([setup.size, dict(setup.set)], default=str)
        if key not in self._made:
            workload = loader.load(self.word)
            changed_by = f"{workload.name}, "
            self._made[key] = loader.sized(workload, setup.size, setup.set, changed_by)
        return self._made[key]
