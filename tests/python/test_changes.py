"""Every change fragment can become a line of the changelog."""

from __future__ import annotations

import re
import tomllib

from ..conftest import ROOT

CHANGES = ROOT / "changes"
NOT_FRAGMENTS = {"README.md", "template.md.j2"}


def test_fragments():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
    kinds = "|".join(kind["directory"] for kind in settings["type"])
    fragments = [path for path in CHANGES.iterdir() if path.name not in NOT_FRAGMENTS]
    for path in fragments:
        assert re.fullmatch(rf"[a-z0-9-]+\.({kinds})\.md", path.name), path.name
        assert path.read_text("utf-8").strip(), f"{path.name} is empty"
        assert not path.read_text("utf-8").startswith(("-", "#")), f"{path.name}: plain sentences"
    assert settings["start_string"] in (ROOT / "CHANGELOG.md").read_text("utf-8")
