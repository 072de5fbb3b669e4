"""What is in the page cache before a run, where its ranks are placed on nodes."""

from __future__ import annotations

from pathlib import Path

from tailrace.bench.placement import Nodes, Placement
from tailrace.study.running import page_cache

FILES = ("a", "b")


def made(tmp_path: Path) -> list[Path]:
    files = [tmp_path / name for name in FILES]
    for file in files:
        file.write_text("data")
    return files


def test_each_node_reads_what_is_to_be_warm(tmp_path: Path) -> None:
    """Each has a client, and so pages, of its own; a third node takes no part."""
    seen = tmp_path / "seen"
    enter = ("sh", "-c", f'echo "$@" >> {seen}', "enter")
    files = made(tmp_path)
    placed = Placement(2, 1, Nodes(("node1", "node2", "node3"), "ssh", enter))
    assert page_cache.make("warm", files, placed) == "warm"
    names = " ".join(map(str, files))
    assert seen.read_text().splitlines() == [f"node{n} -- cat -- {names}" for n in (1, 2)]


def test_of_nodes_that_cannot_be_entered_nothing_is_claimed(tmp_path: Path) -> None:
    said = page_cache.make("warm", made(tmp_path), Placement(2, 1, Nodes(("a", "b"))))
    assert said == "warm on the node that starts runs; what others keep is not known"
    assert page_cache.make("warm", made(tmp_path), None) == "warm"
