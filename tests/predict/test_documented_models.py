"""The models that come with Tailrace: each can be used by its name, says where its figures come
from, keeps the promises of every model, and gives what others measured on such file systems."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tailrace import engine
from tailrace.cli import cli
from tailrace.gathering import Edge
from tailrace.predict.conformance import broken_promises
from tailrace.predict.model import Model, named
from tailrace.predict.model_text import text
from tailrace.predict.patterns import Call, Clients, one_file, own_files
from tailrace.shipped import MODELS
from tailrace.units import to_seconds

from .test_model import toml, written

FOLDER = Path(__file__).parents[2] / "models"
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))
# By `tailrace calibrate` on the test bed: their figures have no other source.
MEASURED = [name for name in NAMES if name.startswith("testbed-")]
DOCUMENTED = [name for name in NAMES if name not in MEASURED]
# ior-hard-write over ior-easy-write of the submissions to IO500 (https://io500.org/list), by file
# system: median, least and most.
LUSTRE = (0.057, 0.003, 0.185)
BEEGFS = (0.088, 0.082, 0.107)
STORAGE_SCALE = 0.48
# Its ior-hard writes pieces that fit no page, block or stripe; its ior-easy asks for large ones: a
# megabyte is the size that most papers take.
HARD_BYTES, EASY_BYTES = 47_008, 1 << 20
CLIENTS = Clients(12, 8)


def test_they_are_what_the_issue_of_models_names() -> None:
    assert MODELS.names() == NAMES
    assert DOCUMENTED == ["beegfs", "burst-buffer", "gpfs", "lustre", "nfs", "node-local-ssd"]
    assert [f"testbed-{bed}" for bed in ("local", "nfs", "single", "striped")] == MEASURED
    assert all("tailrace calibrate" in named(name).source for name in MEASURED)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_found_by_its_name_and_written_as_it_is_read(tmp_path: Path, name: str) -> None:
    model = named(name)
    assert model.name == name
    assert named(written(tmp_path, text(model))) == model


def figures(name: str) -> list[tuple[str, str]]:
    """Each line with an interval, and the comment above it or above its neighbours."""
    said, found, was_comment = "", [], False
    for line in (FOLDER / f"{name}.toml").read_text("utf-8").splitlines():
        is_comment = line.startswith("#")
        if is_comment:
            said = f"{said} {line}" if was_comment else line
        elif "value =" in line:
            found.append((line, said))
        elif not line:
            said = ""
        was_comment = is_comment
    return found


@pytest.mark.parametrize("name", DOCUMENTED)
def test_each_figure_has_a_source_or_says_that_there_is_none(name: str) -> None:
    """And whoever has none says no number, but a wide interval."""
    assert figures(name)
    for line, said in figures(name):
        has_none = re.search(r"[Nn]o (one )?figures? |picture", said)
        assert has_none or re.search(r"\[[A-F]\]", said), line
        if has_none and not re.search(r"\[[A-F]\]", said):
            low, high = (float(edge) for edge in re.findall(r"(?:low|high) = ([\d.e+-]+)", line))
            assert high >= 4 * low, line


@pytest.mark.parametrize("name", NAMES)
def test_they_keep_what_every_model_promises(name: str) -> None:
    assert broken_promises(named(name)) == []


def test_a_model_that_breaks_a_promise_is_told(tmp_path: Path) -> None:
    """What a client knows it reads in a second, and what it does not know at once."""
    model = named(written(tmp_path, toml(cached_read="1", rereads='"always"')))
    broken = broken_promises(model)
    assert any("a read of 4096 bytes that the client does not know is faster" in b for b in broken)
    assert broken_promises(named(written(tmp_path, toml(rereads='"always"')))) == []


def bytes_per_s(model: Model, calls: list[list[Call]], edge: Edge) -> float:
    """What all of them move, until the last is done."""
    ends = engine.model_ends(model.parameters(edge), CLIENTS.node_of, calls)
    moved = sum(size for rank in calls for *_, size in rank)
    return moved / to_seconds(max(ends))


def ratio(model: Model, edge: Edge = "value") -> float:
    """The bandwidth of small pieces in one file over that of large ones in files of their own."""
    ranks = len(CLIENTS.node_of)
    easy = bytes_per_s(model, own_files(ranks, EASY_BYTES, 1000), edge)
    return bytes_per_s(model, one_file(ranks, HARD_BYTES, 200), edge) / easy


def striped_over_all(name: str) -> Model:
    """As a shared file is laid out by whoever measures: `lfs setstripe -c -1`."""
    model = named(name)
    assert model.servers is not None
    servers = model.servers.model_copy(update={"stripe_count": model.servers.count})
    return model.model_copy(update={"servers": servers})


def test_small_pieces_in_one_file_on_lustre_are_as_slow_as_in_io500() -> None:
    _, least, most = LUSTRE
    assert least <= ratio(striped_over_all("lustre")) <= most


def test_they_would_not_be_without_locks_and_what_pieces_cost_by_themselves() -> None:
    lustre = striped_over_all("lustre")
    calls = lustre.calls.model_copy(update={"sent_scattered_write": lustre.calls.sent_write})
    assert ratio(lustre.model_copy(update={"calls": calls, "locks": None})) > LUSTRE[2]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("beegfs", *BEEGFS[1:]), ("gpfs", STORAGE_SCALE, STORAGE_SCALE)],
)
def test_on_others_the_interval_holds_io500_and_the_value_is_slower(
    name: str, least: float, most: float
) -> None:
    """What is published of them are 4 KiB at random places past all caches, and spinning disks;
    models/README.md says so."""
    model = striped_over_all(name)
    edges = [ratio(model, edge) for edge in ("low", "high")]
    assert min(edges) <= least and most <= max(edges)
    assert ratio(model) < least
    said = (FOLDER / "README.md").read_text("utf-8")
    assert f"`{name}`" in said and "IO500" in said


def test_the_readme_names_each() -> None:
    said = (FOLDER / "README.md").read_text("utf-8")
    assert all(f"| `{name}` |" in said for name in NAMES)


def test_a_name_that_is_no_model_is_told(tmp_path: Path) -> None:
    words = ["simulate", "roms", "--ranks", "4", "--target"]
    result = CliRunner().invoke(cli, [*words, "lustr"])
    assert result.exit_code == 2
    assert "there is no model lustr; there are beegfs, burst-buffer, gpfs" in result.output
    assert "hint: " in result.output
    result = CliRunner().invoke(cli, [*words, "lustre", "--format", "posix", "--size", "tiny"])
    assert result.exit_code == 0, result.output
    assert "on lustre, would take" in result.output
