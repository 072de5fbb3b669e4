"""Every link in a Markdown page leads somewhere, and every path that a file of the repository
cites exists."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from ..conftest import ROOT

LINK = re.compile(
    r"\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)|\b(?:src|srcset|href)=\"([^\"]+)\""
)
FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`* *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6} +(.+?) *#* *$", re.MULTILINE)
ANCHOR = re.compile(r"\b(?:id|name)=\"([^\"]+)\"")
# Pages are cited by their path from the root, in every language: docs/…, tests/README.md.
CITED = re.compile(
    r"(?<![\w/.\-{])((?:docs|[\w-]+(?:/[\w-]+)*)/[\w./-]*\w\.md(?!\.)|docs/schema/[\w-]+\.json)"
)
CAPITALS = re.compile(r"(?<![\w/.-])([A-Z]{4,}\.md)\b")


@cache
def repository() -> tuple[Path, ...]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
    )
    if listed.returncode:
        pytest.skip("not a checkout of git")
    paths = (ROOT / name for name in listed.stdout.decode().split("\0") if name)
    return tuple(path for path in paths if path.is_file() and not path.is_symlink())


def pages() -> list[Path]:
    return [path for path in repository() if path.suffix == ".md"]


@cache
def anchors(page: Path) -> frozenset[str]:
    """The fragments that a forge makes of a page's headings."""
    text = FENCE.sub("", page.read_text("utf-8"))
    made: list[str] = ANCHOR.findall(text)
    for heading in HEADING.findall(text):
        bare = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", bare.lower()).replace(" ", "-")
        repeated = sum(1 for known in made if re.fullmatch(re.escape(slug) + r"(-\d+)?", known))
        made.append(f"{slug}-{repeated}" if repeated else slug)
    return frozenset(made)


def targets(page: Path) -> list[str]:
    text = CODE.sub("", FENCE.sub("", page.read_text("utf-8")))
    return [a or b for a, b in LINK.findall(text)]


def problem(page: Path, target: str) -> str:
    """Why a link cannot be followed; nothing where it can, or leads out of the repository."""
    if re.match(r"[a-z]+:", target):
        return ""
    path, _, fragment = target.partition("#")
    goal = (page.parent / path).resolve() if path else page
    if not goal.exists():
        return "leads nowhere"
    if not goal.is_relative_to(ROOT.resolve()):
        return "leaves the repository"
    if fragment and goal.suffix == ".md" and fragment not in anchors(goal):
        return "leads to a heading that the page does not have"
    return ""


def test_links():
    checked = [(page, target) for page in pages() for target in targets(page)]
    assert len(checked) > 50
    broken = [
        f"{page.relative_to(ROOT)}: {target} {why}"
        for page, target in checked
        if (why := problem(page, target))
    ]
    assert not broken, "\n".join(broken)


def test_cited_paths():
    cited, missing = 0, []
    for path in repository():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        if path.suffix == ".md":
            text = LINK.sub("", text)  # links are relative; test_links follows them
        for name in CITED.findall(text) + CAPITALS.findall(text):
            if "NAME" in name:  # a placeholder
                continue
            cited += 1
            if not (ROOT / name).exists() and not (path.parent / name).exists():
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert cited > 30
    assert not missing, "\n".join(missing)


NOT_OURS = {"mpi.h", "mpif.h"}


def sources_named(page: Path) -> list[str]:
    """Paths from the root, and names of source files, that a page shows as code."""
    text = FENCE.sub("", page.read_text("utf-8"))
    named = re.findall(r"`([\w./*-]+)`", text)
    rooms = {path.relative_to(ROOT).parts[0] for path in repository()}
    return [
        name
        for name in named
        if "NAME" not in name
        and name not in NOT_OURS
        and (
            ("/" in name and name.split("/")[0] in rooms)
            or ("/" not in name and re.search(r"\w\.(py|c|h|rs|def)$", name))
        )
    ]


def test_source_files_that_developers_are_sent_to():
    """CONTRIBUTING and the READMEs of rooms are maps: what they name must be there."""
    known = {str(path.relative_to(ROOT)) for path in repository()}
    known |= {str(parent) for name in known for parent in Path(name).parents}
    maps = [page for page in pages() if page.relative_to(ROOT).parts[0] != "docs"]
    missing, checked = [], 0
    for page in maps:
        for name in sources_named(page):
            checked += 1
            wanted = name.rstrip("/")
            if not any(fnmatch(path, wanted) or fnmatch(path, f"*/{wanted}") for path in known):
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert checked > 100
    assert not missing, "\n".join(missing)


def test_every_page_can_be_reached():
    """From README.md by links alone."""
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached:
            continue
        reached.add(page)
        for target in targets(page):
            goal = page.parent / target.partition("#")[0]
            if goal.suffix == ".md" and goal.exists():
                waiting.append(goal)
    orphans = [str(page.relative_to(ROOT)) for page in pages() if page.resolve() not in reached]
    orphans = [
        name
        for name in orphans
        if not re.match(r"changes/.*\.(added|changed|fixed|removed)\.", name)
    ]
    assert not orphans, "\n".join(orphans)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("tests/README.md", ""),
        ("https://example.org/", ""),
        ("absent.md", "leads nowhere"),
        ("#licence", ""),
        ("#absent", "leads to a heading that the page does not have"),
        ("../", "leaves the repository"),
    ],
)
def test_problem(target, why):
    assert problem(ROOT / "README.md", target) == why


@pytest.mark.parametrize(
    ("room", "patterns"),
    [
        ("capture", ("*.c", "*.h", "*.def")),
        ("capture/mpi", ("*.c",)),
        ("python/tailrace", ("*.py",)),
    ],
)
def test_the_map_of_a_room_names_every_file(room, patterns):
    text = (ROOT / room / "README.md").read_text("utf-8")
    here = [path for path in repository() if path.parent == ROOT / room]
    files = [path.name for path in here if any(fnmatch(path.name, like) for like in patterns)]
    assert files
    assert [name for name in files if name not in text and not name.startswith("__")] == []


def test_the_map_of_the_package_names_every_room():
    text = (ROOT / "python/tailrace/README.md").read_text("utf-8")
    package = ROOT / "python/tailrace"
    rooms = {
        path.relative_to(package).parts[0]
        for path in repository()
        if path.is_relative_to(package) and len(path.relative_to(package).parts) > 1
    }
    assert [room for room in sorted(rooms) if f"`{room}/`" not in text] == []
