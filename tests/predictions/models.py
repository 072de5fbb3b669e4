"""What each file system does, calibrated again when that is too long ago: a machine is not the same
from one hour to the next."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tailrace.predict.model import Model, load

from .machine import Bed, calibrate


@dataclass(frozen=True)
class Calibrated:
    """`held_out`: what `tailrace calibrate` says of programs that it drew and held out."""

    bed: Bed
    at: str
    held_out: dict[str, float]


@dataclass
class Models:
    """Models lie in `folder`; those that are there are used if they are young enough. `oldest_s`:
    how old one may be when a family begins."""

    folder: Path
    budget: str
    seed: int
    oldest_s: float
    calibrated: list[Calibrated] = field(default_factory=list)
    _latest: dict[Bed, Model] = field(default_factory=dict)

    def of(self, beds: Iterable[Bed]) -> dict[Bed, Model]:
        """Also what was made of other beds: a trace tells by all of them where its files lay."""
        self.folder.mkdir(exist_ok=True)
        for bed in beds:
            path = self.folder / f"{bed.name.replace(' ', '-')}.toml"
            old = not path.exists() or time.time() - path.stat().st_mtime > self.oldest_s
            if old or bed not in self._latest:
                self._latest[bed] = self._load(bed, path, old)
        return dict(self._latest)

    def _load(self, bed: Bed, path: Path, old: bool) -> Model:
        known = path.with_suffix(".json")
        if old:
            known.write_text(json.dumps(calibrate(bed, self.budget, self.seed, path)))
        at = f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%H:%M}"
        self.calibrated.append(Calibrated(bed, at, json.loads(known.read_text())))
        print(f"{bed.name} at {at}: {self.calibrated[-1].held_out}", file=sys.stderr)
        return load(path)
