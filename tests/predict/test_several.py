"""What several ranks tell of a file system and a network, by measurements that are made up: each
round finds the same, so every figure follows by arithmetic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tailrace.calibration.network import Messages
from tailrace.calibration.programs import judged
from tailrace.calibration.quantities import ENDLESS
from tailrace.calibration.several import Sample, Several
from tailrace.calibration.shared import Shared
from tailrace.calibration.together import held_out
from tailrace.predict.model import Bucket, Model, Quantity, load
from tailrace.predict.model_text import text

from .test_model import toml, written
from .test_simulate import WORKLOAD, prediction, simulated

MB = 1_000_000
FILE_BYTES = 50 * MB


def sample(experiment: str, seconds: float, **given: Any) -> Sample:
    """Between two ranks, unless that is given."""
    numbers = {"round": 0, "where": "between", "held_out": False, "ranks": 2, "bytes": 0}
    numbers |= {"block_bytes": 0, "count": 1}
    return Sample(experiment=experiment, seconds=seconds, **(numbers | given))


def moved(experiment: str, rates: dict[int, float]) -> list[Sample]:
    """Files of 50 MB for each of so many nodes; together they reach so many MB/s."""
    return [
        sample(experiment, nodes * FILE_BYTES / (rate * MB), ranks=nodes, bytes=FILE_BYTES)
        for nodes, rate in rates.items()
    ]


def turns(seconds: dict[int, float]) -> list[Sample]:
    """By how far apart; 0: in files of their own."""
    return [
        sample("turns", taken, bytes=apart, block_bytes=4096) for apart, taken in seconds.items()
    ]


def names(files_per_s: dict[int, float]) -> list[Sample]:
    return [sample("names", 10 / rate, ranks=n, count=10) for n, rate in files_per_s.items()]


ALIKE = {0: 1e-3, 4096: 1e-3, 1 << 16: 1e-3, 1 << 20: 1e-3, 1 << 24: 1e-3}
# Two hold each other up, and so do all.
PLAIN = {1: 20.0, 2: 20.0, 4: 20.0}
# Four times as many calls by four nodes.
FREE = {1: 10.0, 2: 20.0, 4: 40.0, 8: 44.0}


def several(
    write: dict[int, float] = PLAIN,
    read: dict[int, float] = PLAIN,
    apart: dict[int, float] = ALIKE,
    files: dict[int, float] = FREE,
) -> Several:
    """Eight ranks on four nodes."""
    samples = [*moved("write", write), *moved("read", read), *turns(apart), *names(files)]
    return Several(8, 4, samples)


@pytest.fixture
def one_client(tmp_path: Path) -> Model:
    """It writes and reads 20 MB/s."""
    return load(written(tmp_path, toml(write_rate="20e6", read_rate="20e6")))


def test_a_link_and_what_all_share(one_client: Model) -> None:
    """Each node's link moves 10 MB/s, and the servers 25: two nodes reach 20, four 25."""
    rates = {1: 10.0, 2: 20.0, 4: 25.0}
    found = Shared(one_client, several(rates, rates))
    assert found.model.client and found.model.client.bytes_per_s.value == pytest.approx(10 * MB)
    assert found.model.bytes_per_s.write.value == pytest.approx(25 * MB)
    assert found.model.bytes_per_s.read.value == pytest.approx(25 * MB)
    assert not any("link" in what or "beyond" in what for what in found.unknown)


def test_what_a_bucket_gave_several_at_once_is_no_part_of_their_rate(one_client: Model) -> None:
    """Of 50 MB of each node 5 MB in all take no time, the rest goes at 10, 20 and 25 MB/s."""
    bucket = Bucket(bytes=Quantity(value=5 * MB, low=5 * MB, high=5 * MB))
    all_of_it = {nodes: nodes * FILE_BYTES / (nodes * FILE_BYTES - 5 * MB) for nodes in (1, 2, 4)}
    rates = {1: 10.0 * all_of_it[1], 2: 20.0 * all_of_it[2], 4: 25.0 * all_of_it[4]}
    known = one_client.model_copy(update={"bucket": bucket})
    found = Shared(known, several(rates, rates)).model
    assert found.client and found.client.bytes_per_s.value == pytest.approx(10 * MB)
    assert found.bytes_per_s.write.value == pytest.approx(25 * MB)


def test_a_link_is_not_told_where_one_node_reaches_all(one_client: Model) -> None:
    found = Shared(one_client, several())
    assert found.model.client is None
    assert found.model.bytes_per_s == one_client.bytes_per_s
    assert any("4 nodes together reach no more than one" in what for what in found.unknown)


def test_what_the_servers_take_is_not_told_where_nodes_are_not_held_up(one_client: Model) -> None:
    """Each of four reaches 10 MB/s: the servers take 40 or more."""
    rates = {1: 10.0, 2: 20.0, 4: 40.0}
    found = Shared(one_client, several(rates, rates))
    write = found.model.bytes_per_s.write
    assert (write.value, write.high) == (pytest.approx(40 * MB), ENDLESS)
    assert found.model.client and found.model.client.bytes_per_s.value == pytest.approx(10 * MB)
    assert sum("beyond 40.0 MB/s" in what for what in found.unknown) == 2


def test_a_link_is_no_slower_than_what_passes_it(one_client: Model) -> None:
    """Writes of one node: 10 MB/s, of four 25; reads 20 MB/s, of one and of all."""
    found = Shared(one_client, several({1: 10.0, 2: 20.0, 4: 25.0}))
    client = found.model.client
    assert client and client.bytes_per_s.value == pytest.approx(20 * MB)
    assert client.bytes_per_s.low < 12 * MB
    assert any("alone it writes 10.0 MB/s and reads 20.0 MB/s" in what for what in found.unknown)


def test_several_that_are_slower_than_one_widen_the_interval(one_client: Model) -> None:
    found = Shared(one_client, several({1: 20.0, 2: 15.0, 4: 10.0}))
    write = found.model.bytes_per_s.write
    assert (write.value, write.low) == (20 * MB, pytest.approx(10 * MB))
    assert any("why 4 nodes together write 10.0 MB/s" in what for what in found.unknown)


def test_locks_are_handed_over(one_client: Model) -> None:
    """A turn takes 1 ms in files of their own and 5 up to 64 KiB apart. Waiting for 4,096 bytes at
    20 MB/s (0.2048 ms) and for their arrival (0.5 ms) explains a part: 3.2952 ms are left."""
    calls = one_client.calls.model_copy(
        update={"arrival": one_client.calls.arrival.model_copy(update={"value": 0.5e-3})}
    )
    model = one_client.model_copy(update={"calls": calls})
    slow = {0: 1e-3, 4096: 5e-3, 1 << 16: 5e-3, 1 << 20: 1e-3, 1 << 24: 1e-3}
    found = Shared(model, several(apart=slow))
    assert found.model.locks and found.model.locks.granularity_bytes == 1 << 20
    assert found.model.locks.hand_over_s.value == pytest.approx(3.2952e-3)
    everywhere = Shared(model, several(apart={0: 1e-3, **dict.fromkeys(list(ALIKE)[1:], 5e-3)}))
    assert everywhere.model.locks and everywhere.model.locks.granularity_bytes == "file"
    none = Shared(model, several())
    assert none.model.locks is None and any(what.startswith("locks: ") for what in none.unknown)


def test_a_service_for_names_that_is_full(one_client: Model) -> None:
    """One node makes 10 files a second and four make 20, all eight ranks 22: of four calls each."""
    found = Shared(one_client, several(files={1: 10.0, 2: 20.0, 4: 20.0, 8: 22.0}))
    assert found.model.metadata and found.model.metadata.per_second.value == pytest.approx(88)
    free = Shared(one_client, several())
    assert free.model.metadata is None
    assert any("4 nodes made 160 a second" in what for what in free.unknown)


def test_what_is_found_is_written_and_read_again(one_client: Model, tmp_path: Path) -> None:
    rates = {1: 10.0, 2: 20.0, 4: 25.0}
    model = Shared(one_client, several(rates, rates, files=PLAIN)).model
    model = model.model_copy(update={"network": Messages(network()).network})
    again = load(written(tmp_path, text(model)))
    assert again.network == model.network and again.metadata == model.metadata


def test_one_node_tells_nothing_of_several(one_client: Model) -> None:
    found = Shared(one_client, Several(2, 1, []))
    assert found.model == one_client and "all ranks ran on one" in found.unknown[0]


# --- held out ---


def test_programs_of_several_nodes_are_predicted(one_client: Model) -> None:
    """Each of two nodes writes 10 MB over a link of 10 MB/s: 1 s; the servers take 25 MB/s. Then
    they read them: 1 s. By the way of one client, 20 MB/s, both would take as long."""
    rates = {1: 10.0, 2: 20.0, 4: 25.0}
    model = Shared(one_client, several(rates, rates)).model
    drawn = {"held_out": True, "bytes": 10 * MB, "block_bytes": MB // 2}
    programs = held_out(
        Several(8, 4, [sample("write", 1.0, **drawn), sample("read", 1.0, **drawn)])
    )
    assert [program.nodes for program in programs] == [[0, 1]] * 2
    # the last half megabyte of each passes the servers alone: 20 ms
    assert programs[0].predicted_s(model) == pytest.approx(1.0, rel=0.05)
    assert programs[1].predicted_s(model) == pytest.approx(1.0, rel=0.05)
    assert judged(programs, model)[1]["worst_error"] < 0.05


def test_names_are_predicted(tmp_path: Path) -> None:
    """Three files by each of two ranks, whose making takes 2 s and whose other calls nothing."""
    model = load(written(tmp_path, toml(open="2")))
    program = held_out(Several(2, 2, [sample("names", 6.0, count=6, held_out=True)]))[0]
    assert program.predicted_s(model) == pytest.approx(6)


# --- the network ---


def network(**changes: Any) -> Several:
    """2 ms and 5 MB/s between nodes, 10 MB/s of all ranks of one, 1 ms and 100 MB/s inside; eager
    up to 16,384 bytes."""
    given: dict[str, Any] = {"limits": [(16000, 16200), (16384, 16500)], "one": 5, "all": 10}
    given |= changes
    drawn = {"held_out": True}
    samples = [
        sample("message", 2e-3, bytes=8),
        sample("message", 1e-3, bytes=8, where="inside"),
        sample("stream", 1.0, ranks=1, bytes=given["one"] * MB),
        sample("stream", 1.0, ranks=4, bytes=given["all"] * MB),
        sample("stream", 1.0, ranks=1, bytes=100 * MB, where="inside"),
        *(sample("eager", 0, bytes=low, block_bytes=high) for low, high in given["limits"]),
        # 2 ms + 5 MB / 5 MB/s, and half as long; 1 ms + 1 MB / 100 MB/s, as it is
        sample("message", 1.002, bytes=5 * MB, **drawn),
        sample("message", 0.501, bytes=5 * MB, **drawn),
        sample("message", 0.011, bytes=MB, where="inside", **drawn),
        sample("message", 0.011, bytes=MB, where="inside", **drawn),
    ]
    return Several(8, 2, samples)


def test_messages(one_client: Model) -> None:
    found = Messages(network())
    assert found.network.latency_s and found.network.latency_s.value == 2e-3
    assert found.network.bytes_per_s and found.network.bytes_per_s.value == 5 * MB
    assert found.network.node_bytes_per_s and found.network.node_bytes_per_s.value == 10 * MB
    assert found.network.inside_latency_s and found.network.inside_latency_s.value == 1e-3
    assert found.network.eager_limit_bytes == 16192
    assert not found.unknown


def test_messages_that_were_held_out_widen_the_intervals() -> None:
    """One takes half of what is predicted: the rate may be twice as high. Inside nothing is off."""
    found = Messages(network())
    assert found.network.bytes_per_s and found.network.inside_bytes_per_s
    assert found.network.bytes_per_s.high == pytest.approx(10 * MB)
    assert found.network.bytes_per_s.low == pytest.approx(5 * MB)
    assert found.network.inside_bytes_per_s.high == pytest.approx(100 * MB)
    # errors: 0, 1.002 / 0.501 − 1 = 1, 0 and 0
    assert found.errors and found.errors["median_error"] == pytest.approx(0, abs=1e-9)
    assert found.errors["worst_error"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ([(1 << 20, 0)], "no sender waited, up to"),
        ([(8000, 8100), (16000, 16100)], "rounds found it between"),
    ],
)
def test_an_eager_limit_that_is_not_told(limits: list[tuple[int, int]], sentence: str) -> None:
    found = Messages(network(limits=limits))
    assert found.network.eager_limit_bytes is None
    assert sentence in found.unknown[0]


# --- simulate ---

OF_THE_NETWORK = """
[network]
latency_s = 3e-3
bytes_per_s = 1e6
node_bytes_per_s = { value = 2e6, low = 1e6, high = 4e6 }
inside_latency_s = 1e-3
inside_bytes_per_s = 1e8
eager_limit_bytes = 100
"""


def taken(directory: Path, model: str, *options: object) -> dict[str, Any]:
    words = ("--ranks", 4, "--method", "serial", "--format", "posix", *options)
    return prediction(directory, model, *words)


def test_simulate_takes_the_models_network(tmp_path: Path) -> None:
    """Where all ranks are on one node what is inside it counts; what is given counts more. With
    two ranks a node each has at worst half of the node's 1 MB/s."""
    known = toml() + OF_THE_NETWORK
    same = ("--ranks-per-node", 2, "--eager-limit", "100B")
    between = taken(tmp_path, known, "--ranks-per-node", 2)
    given = taken(tmp_path, toml(), *same, "--latency", 3e-3, "--bandwidth", "1000kB")
    slow = taken(tmp_path, toml(), *same, "--latency", 3e-3, "--bandwidth", "500kB")
    assert between["predicted_s"] == given["predicted_s"]
    assert between["interval_s"] == [given["predicted_s"], slow["predicted_s"]]
    assert "a message takes 3.00 ms, as plain says" in between["assumes"]
    inside = taken(tmp_path, known)
    other = ("--eager-limit", "100B", "--latency", 1e-3, "--bandwidth", "100MB")
    assert inside["predicted_s"] == taken(tmp_path, toml(), *other)["predicted_s"]
    assert taken(tmp_path, known, *other)["predicted_s"] == inside["predicted_s"]


def test_without_a_network_in_the_model_it_assumes_one(tmp_path: Path) -> None:
    only_inside = "[network]\ninside_latency_s = 1e-3\ninside_bytes_per_s = 1e8\n"
    result = simulated(
        tmp_path, f"{toml()}\n{only_inside}", "--ranks", 4, "--ranks-per-node", 2, "--json",
        workload=WORKLOAD,
    )  # fmt: skip
    assumed = json.loads(result.stdout)["prediction"]["assumes"]
    assert any("a message takes 2 µs" in sentence for sentence in assumed)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("bytes_per_s = 1e6", "", "latency_s and bytes_per_s should be given together"),
        ("inside_latency_s = 1e-3", "", "inside_latency_s and inside_bytes_per_s should be"),
        ("latency_s = 3e-3\nbytes_per_s = 1e6", "", "node_bytes_per_s should come with"),
        ("eager_limit_bytes = 100", "eager_limit_bytes = -1", "network.eager_limit_bytes"),
    ],
)
def test_what_is_wrong_in_a_network_is_told(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    result = simulated(
        tmp_path, toml() + OF_THE_NETWORK.replace(f"\n{old}\n", f"\n{new}\n"), "--ranks", 2
    )
    assert result.exit_code == 2 and sentence in result.output
