"""Models are read, checked and written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.errors import TailraceError
from tailrace.predict.model import Model, load
from tailrace.predict.model_text import text

CALLS = (
    "read", "cached_read", "write", "open", "close", "look_up", "synchronize", "lock", "truncate",
    "other",
)  # fmt: skip
RATES = ("copy_in", "copy_out", "write_rate", "read_rate")
ENDLESS, NEVER = "1e15", '"never"'


def toml(**changes: str) -> str:
    """A file system without a client's cache, all of whose numbers are zero or endless; `changes`
    by key."""
    calls = {name: changes.get(name, "0") for name in CALLS}
    rates = {
        name: changes.get(name, "1e15")
        for name in ("copy_in", "copy_out", "write_rate", "read_rate")
    }
    return "\n".join(
        [
            "version = 1",
            f'name = "{changes.get("name", "plain")}"',
            'source = "by hand"',
            "[calls]",
            *(f"{name} = {value}" for name, value in calls.items()),
            "[bytes_per_s]",
            *(f"{name.removesuffix('_rate')} = {value}" for name, value in rates.items()),
            "[cache]",
            f"write_behind_bytes = {changes.get('write_behind_bytes', '0')}",
            f"drains = {changes.get('drains', '[]')}",
            "end_drains = false",
            f"rereads = {changes.get('rereads', NEVER)}",
        ]
    )


def written(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "model.toml"
    path.write_text(content)
    return path


def test_a_model_that_is_written_is_read_again(tmp_path: Path) -> None:
    model = load(written(tmp_path, toml(open="{ value = 2e-3, low = 1e-3, high = 3e-3 }")))
    assert model.calls.open.low == 1e-3 and model.calls.close.high == 0
    assert load(written(tmp_path, text(model))) == model
    for directory in ('/scratch/a "b"', "/scratch/\\n\n\t\r\x01\x7f\x85ü"):
        measured = model.model_copy(update={"directory": directory})
        assert load(written(tmp_path, text(measured))) == measured


def test_where_it_was_measured_is_an_absolute_path(tmp_path: Path) -> None:
    relative = toml().replace("[calls]", 'directory = "scratch"\n[calls]')
    with pytest.raises(TailraceError, match=r"4: .*directory: should be the absolute path"):
        load(written(tmp_path, relative))


def test_what_differs_by_chance_is_all_but_who_else_wants_the_processor(tmp_path: Path) -> None:
    """Locks after a write take 2 s, 1 s where one process is alone, and opening 1 to 4 s. Of
    ranks that wait for nobody nothing is said, so that theirs take as long, or it is 1.5 s."""
    given = toml(open="{ value = 2, low = 1, high = 4 }")
    more = "lock_after_write = { value = 2, low = 1, high = 4 }\n"
    for unwaited, expected in (
        ("", 2e9),
        ("lock_after_write_unwaited = { value = 1.5, low = 1, high = 3 }\n", 1.5e9),
    ):
        found = given.replace("[calls]\n", f"[calls]\n{more}{unwaited}")
        slow = load(written(tmp_path, found)).by_chance.parameters("high")
        assert (slow["calls"]["open"], slow["lock_after_write"]) == (4e9, 2e9)
        assert slow["lock_after_write_unwaited"] == expected


@pytest.mark.parametrize(
    ("changes", "line", "sentence"),
    [
        ({"open": "1e308"}, 8, "calls.open.value: should be less than or equal to 1"),
        ({"copy_in": "5e-324"}, 16, "bytes_per_s.copy_in.low: should be greater than or equal to"),
        ({"open": '"5 ms"'}, 8, "calls.open: should be a number, or { value = 1, low = 1, high"),
        ({"open": f"[{'1,' * 1000}]"}, 8, "calls.open: should be a number, or { value = 1"),
        ({"name": "<b>"}, 2, "name: should be up to 60 letters, digits, blanks and . _ + -"),
    ],
)
def test_numbers_and_names_have_bounds(
    tmp_path: Path, changes: dict[str, str], line: int, sentence: str
) -> None:
    with pytest.raises(TailraceError) as raised:
        load(written(tmp_path, toml(**changes)))
    assert f"model.toml, line {line}: {sentence}" in raised.value.message
    assert len(raised.value.message) < len(str(tmp_path)) + 300


def test_what_is_nested_without_end_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(TailraceError, match="nested too deeply"):
        load(written(tmp_path, f"a = {'[' * 20_000}{']' * 20_000}"))


def test_its_edges_are_where_calls_take_least_and_most(tmp_path: Path) -> None:
    quantity = "{ value = 2, low = 1, high = 4 }"
    changes = {"open": quantity, "write_rate": quantity, "write_behind_bytes": quantity}
    model = load(written(tmp_path, toml(**changes)))
    fast, slow = model.parameters("low"), model.parameters("high")
    assert (fast["calls"]["open"], slow["calls"]["open"]) == (1e9, 4e9)
    # 4 bytes a second are a quarter of a second a byte
    assert (fast["write"], slow["write"]) == (0.25e9, 1e9)
    assert (fast["write_behind"], slow["write_behind"]) == (4, 1)


def test_what_it_leaves_out_widens_its_edges(tmp_path: Path) -> None:
    held_out = "[held_out]\nmeasured_over_predicted = { value = 1, low = 0.5, high = 3 }\n"
    known = {"open": "2", "write_rate": "4", "write_behind_bytes": "7"}
    model = load(written(tmp_path, f"{toml(**known)}\n{held_out}"))
    edges = [model.parameters(edge) for edge in ("low", "value", "high")]
    assert [edge["calls"]["open"] for edge in edges] == [1e9, 2e9, 6e9]
    # 4 bytes a second are a quarter of a second a byte
    assert [edge["write"] for edge in edges] == [0.125e9, 0.25e9, 0.75e9]
    assert [edge["write_behind"] for edge in edges] == [7, 7, 7]


@pytest.mark.parametrize(
    ("changes", "line", "sentence"),
    [
        ({"open": "-1"}, 8, "calls.open"),
        ({"write_rate": "0"}, 18, "bytes_per_s.write"),
        ({"write_rate": "inf"}, 18, "bytes_per_s.write"),
        ({"lock": "{ value = 3, low = 4, high = 5 }"}, 12, "value should lie between low and high"),
        ({"rereads": '"sometimes"'}, 24, "cache.rereads"),
        ({"drains": '["perhaps"]'}, 22, "cache.drains"),
        ({"name": "<script>"}, 2, "name"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_key(
    tmp_path: Path, changes: dict[str, str], line: int, sentence: str
) -> None:
    with pytest.raises(TailraceError) as error:
        load(written(tmp_path, toml(**changes)))
    assert f"line {line}: " in error.value.message and sentence in error.value.message
    assert error.value.hint == "docs/reference/models.md says what a model holds"


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    for content, sentence in (
        ("", "is missing"),
        ("version = 2", "version"),
        ("open = [", "not valid TOML"),
        ("#" * (1 << 21), "too large"),
    ):
        with pytest.raises(TailraceError, match=sentence):
            load(written(tmp_path, content))
    with pytest.raises(TailraceError, match="cannot be read"):
        load(tmp_path / "absent.toml")
    with pytest.raises(TailraceError, match="too large to be a model"):  # it has no end
        load(Path("/dev/zero"))


def test_a_model_of_the_documentation_has_every_key() -> None:
    described = Path(__file__).parents[2].joinpath("docs/reference/models.md").read_text("utf-8")
    for table in (Model, *(field.annotation for field in Model.model_fields.values())):
        for name in getattr(table, "model_fields", ()):
            assert f"{name}`" in described or f"`{name}" in described, name


SHARED = """
[client]
bytes_per_s = 1e9
[servers]
count = 4
stripe_bytes = 65536
stripe_count = 2
[locks]
granularity_bytes = "object"
hand_over_s = { value = 2e-3, low = 1e-3, high = 4e-3 }
[metadata]
per_second = { value = 100, low = 50, high = 200 }
"""


def test_what_nodes_share_may_be_left_out(tmp_path: Path) -> None:
    plain = load(written(tmp_path, toml())).parameters()
    assert plain["link"] == plain["metadata"] == 0
    assert plain["servers"] is None and plain["locks"] is None
    model = load(written(tmp_path, toml() + SHARED))
    assert load(written(tmp_path, text(model))) == model
    found = model.parameters()
    assert found["link"] == 1
    assert found["servers"] == {"count": 4, "stripe_bytes": 65536, "stripe_count": 2}
    assert found["locks"] == {"granularity": "object", "hand_over": 2e6}
    fast, slow = model.parameters("low"), model.parameters("high")
    assert (fast["locks"]["hand_over"], slow["locks"]["hand_over"]) == (1e6, 4e6)
    assert (fast["metadata"], found["metadata"], slow["metadata"]) == (5e6, 1e7, 2e7)
    # no bytes are the whole file, and each node may be its own server
    other = SHARED.replace('"object"', "0").replace("count = 4", 'count = "node"')
    other = other.replace("stripe_count = 2\n", "")
    found = load(written(tmp_path, toml() + other)).parameters()
    assert found["locks"]["granularity"] == "file"
    assert (found["servers"]["count"], found["servers"]["stripe_count"]) == (0, 1)


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("count = 4", "count = 0", 28, "servers.count"),
        ("count = 4", "count = 1", 27, "stripe_count should be at most count"),
        ("stripe_count = 2", "stripe_count = 2001", 30, "servers.stripe_count"),
        ("65536", "0", 29, "servers.stripe_bytes"),
        ('"object"', '"page"', 32, "locks.granularity_bytes"),
        ('"object"', "-1", 32, "locks.granularity_bytes"),
        ("value = 100, low = 50", "value = 100, low = 0", 35, "metadata.per_second"),
        ("bytes_per_s = 1e9", "bytes_per_s = 0", 26, "client.bytes_per_s"),
        ("[client]", "[clients]", 25, "clients"),
    ],
)
def test_what_is_wrong_there_is_told_too(
    tmp_path: Path, old: str, new: str, line: int, sentence: str
) -> None:
    with pytest.raises(TailraceError) as error:
        load(written(tmp_path, toml() + SHARED.replace(old, new)))
    assert f"line {line}: " in error.value.message and sentence in error.value.message
    assert error.value.hint == "docs/reference/models.md says what a model holds"
