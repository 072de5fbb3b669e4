"""Opens that are not closed again by a call: of what is not there, or of what is removed, mapped
into memory or closed in another way. Every run is built by arithmetic."""

from .columns import MILLISECOND, SECOND, read
from .test_verdict_why import call, first


def test_directories_that_are_removed_were_there():
    """As Rust's remove_dir_all: opened, listed, closed by closedir, removed; beside 150 files that
    are read."""
    files = [
        each
        for i in range(150)
        for each in (
            call("open", MILLISECOND // 100, 1, b"/run/in/%d" % i),
            read(MILLISECOND // 100, b"/run/in/%d" % i, 6),
            call("close", MILLISECOND // 100, 1, b"/run/in/%d" % i),
        )
    ]
    folders = [
        each
        for i in range(20)
        for each in (
            call("open", MILLISECOND // 10, 1, b"/run/d%d" % i),
            call("readdir", MILLISECOND // 10, 2, b"/run/d%d" % i),
            call("unlinkat", 50 * MILLISECOND, 1, b"/run/d%d" % i),
        )
    ]
    found = first(*files, *folders)
    assert found.finding == "80 removals of 50.0 ms each take 99.2 % of the I/O time"
    assert (found.code, "not there" in found.advice) == ("metadata", False)
    assert found.advice.startswith("rename, remove or make files")


def test_opens_before_removals_have_their_own_share():
    """120 names that are not there, and as many removals of others, which take longer."""
    names = [call("open", 10 * MILLISECOND, 1, b"/nowhere/%d" % i) for i in range(120)]
    removed = [call("unlink", 8 * MILLISECOND, 1, b"/run/%d" % i) for i in range(120)]
    found = first(*names, *removed)
    said = "480 opens of 120 names, hardly any of them closed again, take 55.6 % of the I/O time"
    assert found.finding == said
    assert "an open that nothing follows is taken to have failed" in found.evidence
    longer = [call("unlink", 40 * MILLISECOND, 1, b"/run/%d" % i) for i in range(120)]
    assert "hardly any" not in first(*names, *longer).finding


def test_files_that_are_mapped_and_kept_open_were_there():
    """As a search index does with its segments: 300 opens and mappings on each rank."""

    def mapped(function: str, number: int):
        return first(
            *(
                call(kind, 10 * MILLISECOND, 1, b"/run/segment%d" % i)
                for i in range(number)
                for kind in ("open", function)
            )
        )

    found = mapped("mmap", 300)
    assert found.finding == (
        "300 files that are mapped into memory: their opens, mappings and the like take 100 % of "
        "the I/O time"
    )
    assert (found.code, "not there" in found.advice) == ("metadata", False)
    assert mapped("chmod", 300).finding.startswith("300 files that are neither read nor written")
    assert mapped("mmap", 50).finding.startswith("200 ")


def test_a_name_that_is_opened_again_and_again_and_listed_is_there():
    """30 opens of a directory on each rank, which closedir closes."""
    listed = [call("open", SECOND, 30, b"/run/d"), call("readdir", SECOND // 10, 60, b"/run/d")]
    assert "hardly any" not in first(*listed).finding
    assert "hardly any of them closed again" in first(listed[0]).finding
