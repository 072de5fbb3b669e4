"""Names from outside come out harmless and unambiguous."""

import pytest

from tailrace.names import base_name, elided, printable


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"/run/history.nc", "/run/history.nc"),
        ("Ergebnis-ä-日本.nc".encode(), "Ergebnis-ä-日本.nc"),
        (b"a\xffb", "a\\xffb"),
        (b"a\x1b[31mb\n", "a\\x1b[31mb\\x0a"),
        (b"a\xc2\x9bb", "a\\x9bb"),  # the one-character CSI
        ("a\u202eb".encode(), "a\\u202eb"),  # would turn the direction of writing
        (b"a\\xff", "a\\\\xff"),  # never looks like the byte
        ("a\U000e0041b".encode(), "a\\U000e0041b"),
        (b"", ""),
    ],
)
def test_printable(name, shown):
    assert printable(name) == shown


def test_every_single_byte_is_printable_and_distinct():
    shown = [printable(bytes([value])) for value in range(256)]
    assert len(set(shown)) == 256
    assert all(text.isprintable() for text in shown)


def test_elided_keeps_both_ends_and_the_width():
    text = "/scratch/" + "x" * 4096 + "/history.nc"
    short = elided(text, 60)
    assert len(short) == 60
    assert short.startswith("/scratch/") and short.endswith("/history.nc") and "…" in short
    assert elided("short", 60) == "short"


def test_base_name():
    assert base_name(b"/a/b.nc") == "b.nc"
    assert base_name(b"/a/b/") == "b"
    assert base_name(b"/") == "/"
    assert base_name(b"/a/\xff.nc") == "\\xff.nc"
