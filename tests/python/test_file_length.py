"""`make lint` finds files and lines that have become too long."""

from __future__ import annotations

import runpy
from pathlib import Path

CHECK = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "file_length.py"))


def test_a_wide_line_is_named_with_its_columns(tmp_path):
    template = tmp_path / "page.html.j2"
    template.write_text("\n".join(["é" * 100, "x" * 101, "\t" + "y" * 93, ""]), "utf-8")
    assert list(CHECK["wide_lines"]([template])) == [
        f"{template}:2: 101 columns, more than 100",
        f"{template}:3: 101 columns, more than 100",
    ]


def test_a_long_file_is_named_with_its_lines(tmp_path):
    source = tmp_path / "long.py"
    source.write_text("\n" * 501)
    assert list(CHECK["long_files"]([source])) == [f"{source}: 501 lines, more than 500"]
