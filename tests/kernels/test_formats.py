"""The formats on libraries: what gridio writes by every method, other libraries read, element by
element."""

from __future__ import annotations

import h5py
import netCDF4
import numpy as np
import pytest

from tests.kernels.formats_data import (
    STEPS,
    check,
    read_back,
    read_hdf5,
    read_netcdf,
    whole_steps,
    write,
)

READERS = {
    "hdf5": read_hdf5,
    "netcdf4": read_netcdf,
    "netcdf3": read_netcdf,
    "pnetcdf": read_netcdf,
}
PAIRS = [
    *[
        (method, form)
        for form in ("hdf5", "netcdf4")
        for method in ("serial", "collective", "independent")
    ],
    ("aggregated", "hdf5"),
    ("aggregated", "netcdf4"),
    ("serial", "netcdf3"),
    *[(method, "pnetcdf") for method in ("collective", "independent", "aggregated")],
]

ONE_OF_EACH = [
    ("serial", "netcdf3"),
    *[("collective", form) for form in ("hdf5", "netcdf4", "pnetcdf", "cgns")],
]


@pytest.mark.sampled(apart=True)
@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_another_library_reads_every_element(debian, tmp_path, method, form):
    """On three ranks, one of them without blocks; then gridio reads with other blocks on two."""
    path = tmp_path / "output"
    write(debian, 3, method, form, path, empty=1)
    check(READERS[form], path)
    assert whole_steps(form, path) == STEPS
    read_back(debian, 2, method, form, path)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("ranks", [1, 2, 4, 6, 9])
@pytest.mark.parametrize(("method", "form"), PAIRS)
def test_numbers_of_ranks(debian, tmp_path, method, form, ranks):
    path = tmp_path / "output"
    write(debian, ranks, method, form, path)
    check(READERS[form], path)


@pytest.mark.parametrize(
    ("method", "form", "settings"),
    [
        ("collective", "hdf5", ["chunk=block", "fill=on"]),
        ("independent", "hdf5", ["chunk=2x3", "metadata=collective"]),
        (
            "independent",
            "hdf5",
            [f"steps={STEPS}", "alignment_bytes=4096", "alignment_threshold_bytes=512"],
        ),
        ("collective", "netcdf4", ["chunk=library", "fill=on"]),
        ("independent", "netcdf4", ["chunk=block"]),
        ("collective", "netcdf4", [f"steps={STEPS}", "alignment_bytes=4096"]),
        ("serial", "netcdf3", ["kind=64bit-data", "fill=on"]),
        ("serial", "netcdf3", ["kind=classic", f"steps={STEPS}"]),
        ("collective", "pnetcdf", ["nonblocking=yes"]),
        ("independent", "pnetcdf", ["nonblocking=yes", "kind=classic"]),
        ("collective", "pnetcdf", ["alignment_bytes=4096", f"steps={STEPS}"]),
        ("independent", "pnetcdf", ["whole_access=collective"]),
        ("collective", "netcdf4", ["whole_access=independent"]),
    ],
)
def test_settings_change_no_element(debian, tmp_path, method, form, settings):
    path = tmp_path / "output"
    write(debian, 3, method, form, path, *settings)
    check(READERS[form], path)


@pytest.mark.parametrize(("reader", "form"), [("collective", "pnetcdf"), ("serial", "netcdf3")])
def test_netcdf_and_pnetcdf_read_each_other(debian, tmp_path, reader, form):
    path = tmp_path / "output"
    other = ("serial", "netcdf3") if form == "pnetcdf" else ("collective", "pnetcdf")
    write(debian, 2, *other, path)
    read_back(debian, 3, reader, form, path)


@pytest.mark.parametrize("form", ["hdf5", "netcdf4", "netcdf3", "cgns"])
def test_a_file_per_rank_says_of_what_it_is_a_part(debian, tmp_path, form):
    path = tmp_path / "output"
    write(debian, 3, "file-per-rank", form, path, empty=1)
    assert len(list(path.iterdir())) == 3
    read_back(debian, 3, "file-per-rank", form, path, empty=1)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "method", ["collective", pytest.param("independent", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("form", "settings"),
    [
        ("hdf5", []),
        ("hdf5", ["steps=1"]),
        ("netcdf4", []),
        ("pnetcdf", []),
        ("cgns", ["coordinates=none"]),
    ],
)
def test_beyond_four_gibibytes_in_one_array(debian, tmp_path, method, form, settings):
    path = tmp_path / "far"
    run = debian.run(2, "far", method, form, path, 1, -1, *settings, program="formats")
    assert run.returncode == 0, run.stderr
    assert path.stat().st_size > 5 << 30
    part = np.s_[699, :2, 1000:1016]
    if form == "pnetcdf":
        with netCDF4.Dataset(path) as dataset:
            got = dataset["far"][0, *part]
    else:
        with h5py.File(path) as file:
            cgns = "Base3/Zone_700x1024x1024/Step00000000/far/ data"
            got = file[cgns][part] if form == "cgns" else file["far"][0, *part]
    np.testing.assert_array_equal(got, np.arange(1, 17) + 100 * np.arange(2)[:, None])


# --- what the settings do ---


def test_hdf5_lies_in_the_file_as_asked(debian, tmp_path):
    write(debian, 2, "collective", "hdf5", tmp_path / "usual")
    write(debian, 2, "collective", "hdf5", tmp_path / "chunked", "chunk=2x3")
    write(debian, 2, "collective", "hdf5", tmp_path / "block", "chunk=block")
    with h5py.File(tmp_path / "usual") as usual, h5py.File(tmp_path / "chunked") as chunked:
        assert usual["ozone"].maxshape == (None, 5, 7, 6)
        assert usual["ozone"].chunks == (1, 5, 7, 6)
        assert usual["depth"].chunks is None
        assert chunked["ozone"].chunks == (1, 1, 2, 3)
        assert chunked["depth"].chunks == (2, 3)
    with h5py.File(tmp_path / "block") as block:
        assert block["depth"].chunks == (7, 3)

    write(debian, 2, "independent", "hdf5", tmp_path / "aligned", "steps=5", "alignment_bytes=4096")
    with h5py.File(tmp_path / "aligned") as aligned:
        assert aligned["ozone"].shape == (5, 5, 7, 6)
        assert aligned["ozone"].chunks is None
        assert aligned["ozone"].id.get_offset() % 4096 == 0


def test_kinds_of_netcdf(debian, tmp_path):
    kinds = {
        "NETCDF3_CLASSIC": ("serial", "netcdf3", "kind=classic"),
        "NETCDF3_64BIT_OFFSET": ("serial", "netcdf3"),
        "NETCDF3_64BIT_DATA": ("collective", "pnetcdf"),
        "NETCDF4": ("collective", "netcdf4"),
    }
    for kind, (method, form, *settings) in kinds.items():
        write(debian, 2, method, form, tmp_path / kind, *settings)
        with netCDF4.Dataset(tmp_path / kind) as dataset:
            assert dataset.data_model == kind
            assert dataset.dimensions["step"].isunlimited()


@pytest.mark.parametrize("form", ["hdf5", "netcdf4", "pnetcdf", "cgns"])
def test_hints_in_force_are_told(debian, tmp_path, form):
    """Open MPI tells of those that were given, PnetCDF of its own too."""
    told = write(
        debian, 2, "collective", form, tmp_path / "output", "hints", "cb_buffer_size=1048576"
    )
    assert "cb_buffer_size=1048576" in told.splitlines()
    assert ("nc_header_align_size=" in told) == (form == "pnetcdf")


# --- failures ---


@pytest.mark.parametrize(
    ("method", "form", "setting", "sentence"),
    [
        (
            "collective",
            "hdf5",
            "chunk=2y3",
            "the setting chunk is contiguous, block or numbers such as 1x64x64",
        ),
        (
            "collective",
            "hdf5",
            "steps=2",
            "has room for 2 steps, as the setting steps says, and so no step 2",
        ),
        (
            "collective",
            "netcdf4",
            "steps=0",
            "the setting steps is 'unlimited' or a number of at least 1, not '0'",
        ),
        (
            "serial",
            "netcdf3",
            "kind=new",
            "the setting kind is one of classic|64bit-offset|64bit-data, not 'new'",
        ),
        (
            "collective",
            "pnetcdf",
            "nonblocking=maybe",
            "the setting nonblocking is one of yes|no, not 'maybe'",
        ),
        ("independent", "netcdf4", "steps=2", "has room for 2 steps"),
        ("collective", "pnetcdf", "steps=2", "has room for 2 steps"),
    ],
)
def test_a_wrong_setting_is_one_sentence(debian, tmp_path, method, form, setting, sentence):
    run = debian.run(
        2, "write", method, form, tmp_path / "output", STEPS, -1, setting, program="formats"
    )
    assert run.returncode != 0
    assert sentence in run.stderr
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(("method", "form"), ONE_OF_EACH)
def test_a_directory_that_is_not_there(debian, tmp_path, method, form):
    path = tmp_path / "nowhere" / "output"
    run = debian.run(2, "write", method, form, path, STEPS, -1, program="formats")
    assert run.returncode != 0
    assert f"'{path}'" in run.stderr
    assert "#000" not in run.stderr, "HDF5 printed its stack"


@pytest.mark.parametrize(("method", "form"), ONE_OF_EACH)
def test_what_is_no_such_file(debian, tmp_path, method, form):
    path = tmp_path / "output"
    path.write_text("It is something else.\n" * 500)
    run = debian.run(2, "read", method, form, path, STEPS, -1, program="formats")
    assert run.returncode != 0
    assert f"'{path}'" in run.stderr


@pytest.mark.parametrize(
    ("method", "form"), [*ONE_OF_EACH, ("serial", "hdf5"), ("independent", "netcdf4")]
)
def test_a_killed_run_leaves_whole_steps(debian, tmp_path, method, form):
    """All ranks are killed in the midst of the fourth step. The mark of the third may not have
    reached the disk."""
    run = debian.run(3, "die", method, form, tmp_path / "output", STEPS, -1, program="formats")
    assert run.returncode != 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["output.partial"]
    steps = whole_steps(form, tmp_path / "output.partial")
    assert steps in (STEPS - 1, STEPS)
    if form in READERS:
        check(READERS[form], tmp_path / "output.partial", steps)
