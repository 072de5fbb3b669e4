"""What is run: programs and formats on which no model was made; a model is made by `tailrace
calibrate`, which runs none of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    workload: str
    size: str
    ranks: int
    method: str
    format: str
    settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.workload} {self.size}, {self.method} {self.format}, {self.ranks}"

    def options(self) -> list[str]:
        """Of `tailrace bench`. What is read is not in the client's memory."""
        chosen = ["--size", self.size, "--ranks", str(self.ranks), "--method", self.method]
        chosen += ["--format", self.format, "--cold", "--no-verify"]
        return [self.workload, *chosen, *(word for s in self.settings for word in ("--set", s))]


CASES = (
    Case("cmaq", "small", 2, "serial", "netcdf3"),
    Case("roms", "small", 2, "independent", "pnetcdf"),
    Case("roms", "small", 1, "serial", "netcdf4"),
    Case("roms", "small", 2, "serial", "netcdf4"),
    Case("roms", "small", 2, "collective", "netcdf4"),
    Case("roms", "small", 2, "file-per-rank", "netcdf4"),
    Case("wrf", "small", 2, "serial", "netcdf3"),
    Case("wrf", "small", 2, "collective", "hdf5"),
    Case("wrf", "small", 2, "independent", "pnetcdf"),
    Case("wrf", "small", 2, "aggregated", "mpiio"),
    Case("cgns", "write50", 2, "independent", "cgns"),
    Case("cgns", "write50", 2, "collective", "cgns"),
    Case("cgns", "read64", 2, "collective", "hdf5"),
    Case("btio", "W", 4, "collective", "mpiio"),
    Case("btio", "S", 4, "independent", "posix"),
    Case("h5perf", "small", 2, "independent", "posix", ("file_bytes=16777216", "iterations=1")),
)
