"""Debian's packages that read and write in other ways than simulations do: copies in the kernel,
sorted genomes, netCDF's tools, R, and a script whose shell becomes its last program."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.real.harness import Program, Varying, assert_same_bytes, compare, needs

pytestmark = [pytest.mark.whole, pytest.mark.alone]

BYTES = 8 << 20
BASES, READS = 50_000, 20_000
STEPS = 120
# The command line stands in the header, and the library's version.
SAM_HEADER = Varying(files=("*.bam", "*.bai"))


def a_large_file(work: Path) -> None:
    (work / "a").write_bytes(random.Random(1).randbytes(BYTES))


def test_cp_copies_in_the_kernel(tmp_path: Path) -> None:
    cp = needs("coreutils", "cp")
    compared = compare(tmp_path, Program([cp, "--reflink=never", "a", "b"], a_large_file))
    assert_same_bytes(compared)
    assert compared.file("a")["bytes_read"] == compared.file("b")["bytes_written"] == BYTES


def reads_of_a_genome(work: Path) -> None:
    chance = random.Random(1)
    genome = "".join(chance.choices("ACGT", k=BASES))
    places = [chance.randrange(1, BASES - 100) for _ in range(READS)]
    quality = "I" * 100
    lines = [
        f"r{number}\t0\tchr1\t{place}\t60\t100M\t*\t0\t0\t{genome[place:][:100]}\t{quality}"
        for number, place in enumerate(places)
    ]
    header = ["@HD\tVN:1.6", f"@SQ\tSN:chr1\tLN:{BASES}"]
    (work / "a.sam").write_text("\n".join([*header, *lines, ""]))


SORT = ["samtools", "sort", "-m", "1M", "-o", "a.bam", "a.sam"]


def test_samtools_sorts_by_way_of_temporary_files(tmp_path: Path) -> None:
    needs("samtools", "samtools")
    program = Program(SORT, reads_of_a_genome, varying=SAM_HEADER)
    compared = compare(tmp_path, program)
    assert_same_bytes(compared)
    parts = [path for path in compared.moved if ".bam.tmp." in path]
    assert len(parts) > 1


def test_a_script_of_samtools_is_not_its_last_line(tmp_path: Path) -> None:
    needs("samtools", "samtools")
    script = f"{' '.join(SORT)}; exec samtools view -c a.bam"
    program = Program(["bash", "-c", script], reads_of_a_genome, varying=SAM_HEADER)
    folders = [tmp_path / "last", tmp_path / "all"]
    for folder in folders:
        folder.mkdir()
    compared = compare(folders[0], program)
    assert "nly samtools, the last program of the command, was recorded" in compared.headline
    everything = compare(folders[1], program, "--processes", "all")
    reads_of_a_genome(tmp_path)
    size = (tmp_path / "a.sam").stat().st_size
    assert everything.file("a.sam")["bytes_read"] == size  # strace counts no children's


def a_compressed_field(work: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(work / "in.nc", "w") as data:
        for name, size in (("time", None), ("y", 90), ("x", 180)):
            data.createDimension(name, size)
        field = data.createVariable("T", "f4", ("time", "y", "x"), zlib=True)
        for step in range(STEPS):
            field[step] = [[step + y * x % 7 for x in range(180)] for y in range(90)]


def test_nccopy_writes_classic_files_by_small_pieces(tmp_path: Path) -> None:
    nccopy = needs("netcdf-bin", "nccopy")
    program = Program([nccopy, "-u", "-k", "classic", "in.nc", "out.nc"], a_compressed_field)
    compared = compare(tmp_path, program)
    assert_same_bytes(compared)
    assert compared.file("out.nc")["bytes_written"] >= 4 * STEPS * 90 * 180
    assert compared.file("out.nc")["writes_small"] > 500


R = """
x <- data.frame(a = seq_len(20000) / 7, b = seq_len(20000))
write.csv(x, "x.csv")
saveRDS(read.csv("x.csv"), "y.rds")
sink("log.txt")
for (i in 1:20000) cat(i, "\\n")
sink()
"""


def test_r_flushes_every_line(tmp_path: Path) -> None:
    rscript = needs("r-base-core", "Rscript")

    def script(work: Path) -> None:
        (work / "model.R").write_text(R)

    compared = compare(tmp_path, Program([rscript, "--vanilla", "model.R"], script))
    assert_same_bytes(compared)
    calls = compared.run.functions.set_index("name")["calls"]
    assert calls["fflush"] >= 20_000
    assert "Rf_eval" not in compared.headline  # the interpreter is no routine of the program
