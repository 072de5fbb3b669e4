"""Study files: what they mean, and what is said of bad ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.errors import TailraceError
from tailrace.study.definition import loader, placeholders, setups
from tailrace.study.running import testbed
from tests.conftest import ROOT

from .study_files import COMMAND, study, write


def load(folder: Path, text: str = COMMAND, **options: object) -> loader.Loaded:
    return loader.load(write(folder, text), **options)


def test_a_factor_is_what_its_name_says(tmp_path: Path) -> None:
    text = COMMAND.replace("[factor.second]", "[factor.ranks]\nlevels = [1, 2]\n[factor.second]")
    text = text.replace(
        "[size.large]",
        "[target.disk]\n[target.net]\n[factor.target]\nlevels = ['disk', 'net']\n[size.large]",
    )
    loaded = load(tmp_path, text).study
    kinds = {name: setups.kind(loaded, name) for name in loaded.factor}
    assert kinds == {
        "first": "placeholder",
        "ranks": "ranks",
        "second": "placeholder",
        "target": "target",
    }
    made = setups.setup(loaded, {"first": 2, "second": "a", "ranks": 2, "target": "net"})
    assert (made.ranks, made.target, made.read_target) == (2, "net", "net")


NODES = COMMAND.replace("[factor.second]", "[factor.nodes]\nlevels = [1, 2]\n[factor.second]")
NODES = NODES.replace('launcher = "none"\n', "")


@pytest.mark.parametrize(
    "run,ranks,per_node",
    [("ranks_per_node = 3", 6, 3), ("ranks = 8", 8, 4), ("", 2, 1)],
)
def test_two_of_ranks_and_nodes_say_the_third(
    tmp_path: Path, run: str, ranks: int, per_node: int
) -> None:
    loaded = load(tmp_path, NODES.replace("[run]", f"[run]\n{run}")).study
    assert setups.kind(loaded, "nodes") == "nodes"
    made = setups.setup(loaded, {"first": 2, "second": "a", "nodes": 2})
    assert (made.nodes, made.ranks_per_node, made.ranks) == (2, per_node, ranks)


@pytest.mark.parametrize(
    "run,problem",
    [
        ("ranks = 3", "run: 3 ranks cannot be shared evenly by 2 nodes"),
        ("ranks = 2\nranks_per_node = 1", "run: needs ranks or ranks_per_node beside nodes"),
        ('launcher = "none"', 'run.launcher: cannot be "none" where ranks are placed on nodes'),
    ],
)
def test_how_ranks_and_nodes_go_together(tmp_path: Path, run: str, problem: str) -> None:
    with pytest.raises(TailraceError, match=re.escape(problem)):
        load(tmp_path, NODES.replace("[run]", f"[run]\n{run}"))


INPUTS = "[factor.inputs]\nkind = 'cache'\nlevels = ['cold', 'LEVEL']\n[factor.second]"
INPUTS = COMMAND.replace("[factor.second]", INPUTS)


def test_the_cache_may_be_a_factor(tmp_path: Path) -> None:
    text = INPUTS.replace("LEVEL", "warm").replace("[run]", "[run]\nreads = ['/etc/passwd']")
    loaded = load(tmp_path, text).study
    levels = {"first": 2, "second": "a", "inputs": "warm"}
    assert setups.setup(loaded, levels).cache == "warm"
    plain = load(tmp_path, COMMAND).study
    assert setups.setup(plain, {"first": 2, "second": "a"}).cache == "as-is"


@pytest.mark.parametrize(
    "level,problem",
    [
        ("hot", "factor.inputs.levels[2]: should be cold, warm, as-is, not 'hot'"),
        ("as-is", "'cold' needs run.reads: which files does the command read?"),
    ],
)
def test_what_a_factor_of_the_cache_may_be(tmp_path: Path, level: str, problem: str) -> None:
    with pytest.raises(TailraceError, match=re.escape(problem)):
        reads = "reads = ['/etc/passwd']\n" if level == "hot" else ""
        load(tmp_path, INPUTS.replace("LEVEL", level).replace("[run]\n", f"[run]\n{reads}"))


def test_of_a_workload_an_unknown_name_is_one_of_its_keys(tmp_path: Path) -> None:
    text = (
        'schema = 1\nname = "mine"\ndescription = "Mine."\n[run]\nworkload = "btio"\nset.steps ='
        " 10\n"
        '[factor.every]\nlevels = [1, 5]\n[factor.cb_nodes]\nkind = "hint"\nlevels = [1, 2]\n'
        '[factor.method]\nlevels = ["collective", "independent"]\n'
    )
    loaded = load(tmp_path, text).study
    made = setups.setup(loaded, {"every": 5, "cb_nodes": 2, "method": "independent"})
    assert made.set == {"steps": 10, "every": 5}
    assert made.hints == ("cb_nodes=2",)
    assert made.method == "independent"


def test_a_size_and_then_a_change_override_any_key(tmp_path: Path) -> None:
    assert load(tmp_path).size == "small"
    assert load(tmp_path, size="large").study.factor["first"].levels == [1, 2, 5, 9]
    changes = dict(
        [loader.parsed_change("factor.first.levels=[2, 5]"), loader.parsed_change("repetitions=7")]
    )
    changed = load(tmp_path, size="large", changes=changes).study
    assert changed.factor["first"].levels == [2, 5]
    assert changed.factor["first"].unit == "things"
    assert changed.repetitions == 7
    assert loader.parsed_change("run.launcher=srun --mpi=pmix") == (
        "run.launcher",
        "srun --mpi=pmix",
    )


def test_braces_are_placeholders_unless_doubled() -> None:
    values = {"a": "1", "b": "x y; rm -rf {a}"}
    assert placeholders.filled("{{{a}}} {b}", values) == "{1} x y; rm -rf {a}"
    assert placeholders.shell_filled("echo {b}", values, {}) == "echo 'x y; rm -rf {a}'"
    assert list(placeholders.names("{{no}} {a}{b}")) == ["a", "b"]
    with pytest.raises(ValueError, match="single }"):
        list(placeholders.names("a}"))


BAD = [
    ("name = ", "nmae = ", 2, "nmae: there is no such key"),
    ("repetitions = 3", "repetitions = 0", 4, "repetitions: should be greater than 0"),
    ("schema = 1", "schema = 7", 1, "schema: 7 needs a newer Tailrace; this version reads 1"),
    ("schema = 1", "", 1, "schema: is missing"),
    ('launcher = "none"', "launcher = 3", 8, "run.launcher: should be a valid string"),
    (
        '"{run}"',
        '"{rnu}"',
        7,
        "run.command[5]: there is no factor 'rnu' for {rnu}; there are directory, first, nodes",
    ),
    ('"{run}"', '"{run"', 7, "run.command[5]: '{run' has a single {"),
    (
        "command = [",
        'workload = "cmaq"\ncommand = [',
        6,
        "run: needs exactly one of workload and command",
    ),
    (
        "took (?P<took_s>",
        "took (?P<elapsed_s>",
        9,
        "run.output_pattern: 'elapsed_s' is already the name",
    ),
    (
        "took (?P<took_s>[0-9.]+)",
        "took (",
        9,
        "run.output_pattern: is not a valid regular expression",
    ),
    ("took (?P<took_s>[0-9.]+)", "took [0-9]", 9, "run.output_pattern: has no named group"),
    ("levels = [1, 2, 5]", "levels = [1, 2, 1]", 12, "factor.first.levels[3]: '1' is listed twice"),
    (
        "levels = [1, 2, 5]",
        "levels = [1, 'x', 5]",
        12,
        "factor.first.levels[2]: 'x' has another type than 1",
    ),
    ("levels = [1, 2, 5]", "levels = [[1], 2]", 12, "factor.first.levels[1]: should be"),
    (
        "levels = [1, 2, 5]",
        "levels = []",
        12,
        "factor.first.levels: list should have at least 1 item",
    ),
    (
        "[[leave_out]]",
        "[factor.status]\nlevels = [1]\n[[leave_out]]",
        19,
        "factor.status: is already the name of a column of the results",
    ),
    (
        "[[leave_out]]",
        '[factor."a b"]\nlevels = [1]\n[[leave_out]]',
        19,
        "'a b' is not a valid name",
    ),
    ('unit = "things"', 'kind = "size"', 13, "factor.first.kind: 'size' is not valid here"),
    (
        'labels = ["alpha", "beta"]',
        'labels = ["alpha"]',
        17,
        "factor.second.labels: has 1 texts for 2 levels",
    ),
    (
        "when = {first = 5,",
        "when = {fist = 5,",
        20,
        "leave_out[1].when.fist: there is no factor 'fist'; there are first",
    ),
    (
        "when = {first = 5,",
        "when = {first = 6,",
        20,
        "leave_out[1].when.first: 6 is not a level of first",
    ),
    (
        "factor.first.levels = [1, 2, 5, 9]",
        "factor.first.levels = [5, 5]",
        25,
        "'5' is listed twice",
    ),
    (
        "factor.first.levels = [1, 2, 5, 9]",
        "factor.first.leevls = [5]",
        25,
        "factor.first.leevls: there is no such key",
    ),
    ("repetitions = 3", 'response = "took"', 4, "response: there is no response 'took'"),
]
EXPECT = '[[expect]]\nclaim = "c"\n'
BAD += [
    (
        "[size.small]",
        f"{EXPECT}[size.small]",
        22,
        "expect[1]: needs exactly one comparison, but has none",
    ),
    (
        "[size.small]",
        f'{EXPECT}faster = {{factor = "second", level = "a", than = "c"}}\n[size.small]',
        24,
        "expect[1].faster.than: 'c' is not a level of second",
    ),
    (
        "[size.small]",
        f'{EXPECT}response = "took"\nmatters = {{factor = "first"}}\n[size.small]',
        24,
        "expect[1].response: there is no response 'took'",
    ),
    (
        "[size.small]",
        f'{EXPECT}where = {{second = ["a", "z"]}}\nmatters = {{factor = "first"}}\n[size.small]',
        24,
        "expect[1].where.second: 'z' is not a level of second",
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"), BAD, ids=[case[3][:50] for case in BAD]
)
def test_what_is_wrong_is_told_with_file_line_and_key(
    tmp_path: Path, old: str, new: str, line: int, sentence: str
) -> None:
    assert COMMAND.count(old) >= 1
    path = write(tmp_path, COMMAND.replace(old, new, 1))
    result = study("run", path, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert f"{path}, line {line}: " in result.stderr
    assert sentence in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


WRONG_USES = [
    (("--size", "huge"), "mine has no size 'huge'"),
    (("--set", "repetitions"), "--set 'repetitions' is not of the form KEY=VALUE"),
    (("--set", "repetitions=many"), "--set repetitions: repetitions: should be a valid integer"),
    (("--set", "run.tiem=3"), "--set run.tiem: run.tiem: there is no such key"),
    (("--set", "run.command=['/no/such/program']"), "there is no program /no/such/program"),
    (("--set", "run.launcher=no-such-mpiexec"), "there is no launcher no-such-mpiexec"),
    (("--target", "disk=/tmp"), "--target disk: mine has no such target"),
    (("--budget", "soon"), "--budget: 'soon' is not a duration such as 90s, 5m or 2h"),
    (
        ("--set", "target.disk.directory='/proc/nowhere'"),
        "target disk: there is no directory /proc/nowhere",
    ),
    (("--set", "target.disk.directory='/proc'"), "target disk: /proc cannot be written"),
    (("--set", "target.disk.description='somewhere'"), "target disk has no directory"),
]


@pytest.mark.parametrize(
    ("words", "sentence"), WRONG_USES, ids=[" ".join(case[0]) for case in WRONG_USES]
)
def test_wrong_use_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    path = write(tmp_path)
    result = study("run", path, "-o", tmp_path / "out", *words)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    assert "there is no study nothing" in study("run", "nothing").stderr
    assert "there is no such file" in study("run", tmp_path / "no.toml").stderr
    (tmp_path / "bad.toml").write_bytes(b'name = "\xff"')
    assert "byte 8: this is not UTF-8 text" in study("run", tmp_path / "bad.toml").stderr
    (tmp_path / "worse.toml").write_text("name = ")
    assert "this is not valid TOML" in study("run", tmp_path / "worse.toml").stderr


@pytest.mark.parametrize("path", sorted((ROOT / "studies" / "nodes").glob("*.toml")), ids=str)
def test_studies_on_nodes_are_sound_and_have_a_control(path: Path) -> None:
    loaded = loader.load(path).study
    assert loaded.run.nodes or setups.kind(loaded, "nodes") == "nodes"
    assert loaded.target["local"].testbed in ("local", "cluster")


def test_a_file_has_its_studys_name(tmp_path: Path) -> None:
    with pytest.raises(TailraceError, match="is 'mine', but must be the file's name, 'other'"):
        loader.load(write(tmp_path, name="other.toml"))


@pytest.fixture
def bed_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the test bed's command is looked for: nothing is there yet."""
    command = tmp_path / "testbed"
    monkeypatch.setattr(testbed, "COMMAND", command)
    testbed.status.cache_clear()
    yield command
    testbed.status.cache_clear()


def on_testbed(folder: Path) -> str:
    """What is said of a study on the test bed's NFS server."""
    path = write(folder, COMMAND + '\n[target.remote]\ntestbed = "nfs"\n')
    result = study("run", path, "-o", folder / "out")
    assert result.exit_code == 2 and not (folder / "out").exists()
    return " ".join(result.stderr.split())


def test_a_test_bed_that_is_not_installed_is_missed(tmp_path: Path, bed_command: Path) -> None:
    said = on_testbed(tmp_path)
    assert "target remote is on the test bed (nfs), which is in Tailrace's repository" in said
    assert "hint: give its directory with --target remote=DIRECTORY" in said


def test_a_test_bed_that_is_not_up_is_named(tmp_path: Path, bed_command: Path) -> None:
    bed_command.write_text("print('{\"beds\": []}')")
    said = on_testbed(tmp_path)
    assert "target remote is on the test bed, whose nfs is not up" in said
    assert f"hint: {bed_command} up nfs brings it up" in said
