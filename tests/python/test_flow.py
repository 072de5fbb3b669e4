"""`make lint` finds a circle among modules, planted here, in each of the three languages."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def flow():
    spec = importlib.util.spec_from_file_location("flow", CHECKOUT / "tools" / "flow.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def names(circles: list[list[str]]) -> list[set[str]]:
    return [{Path(place).name for place in circle} for circle in circles]


C_FILES = {
    "a/top.c": '#include "bottom.h"\nint top(void)\n{\n    return bottom("top()");\n}\n',
    "a/bottom.c": "int depth;\n\nint bottom(const char *word)\n{\n    return !word; // top()\n}\n",
}


def test_c_without_a_circle(flow, tmp_path):
    assert flow.circles(flow.c_ties(write(tmp_path, C_FILES))) == []


@pytest.mark.parametrize("planted", ["return top();", "return top_level;"])
def test_a_circle_in_c(flow, tmp_path, planted):
    write(tmp_path, C_FILES | {"a/top.c": C_FILES["a/top.c"] + "int top_level = 1;\n"})
    bottom = tmp_path / "a/bottom.c"
    bottom.write_text(bottom.read_text().replace("return !word;", planted))
    assert names(flow.circles(flow.c_ties(tmp_path))) == [{"top.c", "bottom.c"}]


def test_a_circle_of_folders_in_c(flow, tmp_path):
    write(tmp_path, C_FILES)
    write(tmp_path, {"b/user.c": "int user(void)\n{\n    return top();\n}\n"})
    (tmp_path / "a/bottom.c").write_text("int bottom(int x)\n{\n    return user();\n}\n")
    assert {"a", "b"} in names(flow.circles(flow.c_ties(tmp_path)))


def test_only_a_tie_that_closes_a_circle_is_left_out(flow, tmp_path, monkeypatch, capsys):
    write(tmp_path / "kernels", C_FILES)
    top, bottom = (str(tmp_path / f"kernels/a/{name}.c") for name in ("top", "bottom"))
    monkeypatch.setattr(flow, "KNOWN", frozenset({(top, bottom)}))
    assert flow.main(tmp_path) == 1
    assert "closes no circle: remove the line" in capsys.readouterr().err
    Path(bottom).write_text("int bottom(int x)\n{\n    return top();\n}\n")
    assert flow.main(tmp_path) == 0


RUST_FILES = {
    "one/src/lib.rs": "pub mod event;\npub mod raw;\npub mod limits;\npub use limits::MOST;\n",
    "one/src/event.rs": "use crate::limits;\npub fn most() -> u32 { limits::MOST }\n",
    "one/src/limits.rs": "pub const MOST: u32 = 1;\n// use crate::event::most;\n",
    "one/src/raw/mod.rs": "mod decode;\nmod scan;\nuse super::event;\n",
    "one/src/raw/decode.rs": "use super::scan::{self, Part};\n",
    "one/src/raw/scan.rs": "pub struct Part;\n#[cfg(test)]\n"
    "mod tests { use super::super::decode; }\n",
}


def test_rust_without_a_circle(flow, tmp_path):
    assert flow.circles(flow.rust_ties(write(tmp_path, RUST_FILES))) == []


@pytest.mark.parametrize(
    ("file", "line", "circle"),
    [
        ("limits", "use crate::{raw::Part, event::{self as e, most}};", {"limits.rs", "event.rs"}),
        ("limits", "fn f() -> u32 { super::event::most() }", {"limits.rs", "event.rs"}),
        ("raw/scan", "use super::decode::Decoder;", {"scan.rs", "decode.rs"}),
        ("limits", "use crate::raw;\npub use crate::raw::X;", {"limits.rs", "event.rs", "raw"}),
    ],
)
def test_a_circle_in_rust(flow, tmp_path, file, line, circle):
    write(tmp_path, RUST_FILES)
    place = tmp_path / f"one/src/{file}.rs"
    place.write_text(f"{line}\n{place.read_text()}")
    assert circle in names(flow.circles(flow.rust_ties(tmp_path)))


def test_a_name_that_another_module_hands_on(flow, tmp_path):
    write(tmp_path, RUST_FILES | {"one/src/limits.rs": "use crate::most;\n"})
    root = tmp_path / "one/src/lib.rs"
    root.write_text(root.read_text() + "pub use event::most;\n")
    assert names(flow.circles(flow.rust_ties(tmp_path))) == [{"limits.rs", "event.rs"}]


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("verdict/evidence.py", "from tailrace.verdict import headline", "in a circle"),
        ("units.py", "def f():\n    from tailrace.terminal import tell", "what stands higher"),
    ],
)
def test_a_circle_in_python(tmp_path, module, line, contract):
    package = tmp_path / "tailrace"
    ignored = shutil.ignore_patterns("*.so", "*_files", "*sources", "__pycache__")
    shutil.copytree(CHECKOUT / "python" / "tailrace", package, ignore=ignored)
    command = [
        str(Path(sys.executable).parent / "lint-imports"),
        "--no-cache",
        f"--config={CHECKOUT / 'pyproject.toml'}",
    ]
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "env": {"PYTHONPATH": "."}}
    assert subprocess.run(command, **run).returncode == 0
    with (package / module).open("a") as file:
        file.write(f"\n{line}\n")
    done = subprocess.run(command, **run)
    assert done.returncode == 1
    assert any(contract in line and "BROKEN" in line for line in done.stdout.splitlines())
