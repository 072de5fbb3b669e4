"""What HDF5's filters took, as capture measures it: by filter, and by rank."""

from typing import NamedTuple

import numpy as np

from tailrace.verdict.evidence import Evidence

# Where it stands in the trace's meta.
WRITTEN, READ = "compressed", "decompressed"
ZLIB = 1
# By the numbers that HDF5 and its registry gave them.
COMPRESSING = {
    ZLIB: "zlib",
    4: "szip",
    5: "n-bit",
    6: "scale-offset",
    307: "bzip2",
    32000: "lzf",
    32001: "blosc",
    32004: "lz4",
    32008: "bitshuffle",
    32013: "zfp",
    32015: "zstd",
    32017: "sz",
    32024: "sz3",
    32026: "blosc2",
    32028: "sperr",
}
NAMES = COMPRESSING | {2: "shuffle", 3: "fletcher32"}


class Filter(NamedTuple):
    """Length P; time without waits for a processor."""

    number: int
    time_ns: np.ndarray
    calls: np.ndarray
    bytes_before: np.ndarray
    bytes_after: np.ndarray

    @property
    def name(self) -> str:
        return NAMES.get(self.number, str(self.number))


def filters(evidence: Evidence, way: str) -> list[Filter]:
    """Those of chunks that are WRITTEN, or READ, the longest first. Nothing where it is not known,
    or is known of more than the report is about."""
    by_rank = evidence.columns["meta"].get(way, "").split(",")
    if len(by_rank) != evidence.ranks or evidence.chosen_of_ns:
        return []
    sums: dict[int, np.ndarray] = {}
    for rank, text in enumerate(by_rank):
        for told in filter(None, text.split(";")):
            numbers = [*map(int, told.split(" ")), ZLIB]
            none = np.zeros((4, evidence.ranks), dtype=np.int64)
            sums.setdefault(numbers[4], none)[:, rank] += numbers[:4]
    ran = np.array([evidence.ran_while_useful(rank) for rank in range(evidence.ranks)])
    found = [
        Filter(number, (rows[0] * ran).astype(np.int64), *rows[1:]) for number, rows in sums.items()
    ]
    return sorted(found, key=lambda each: -int(each.time_ns.sum()))
