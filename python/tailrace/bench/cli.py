"""The command line of `tailrace bench`."""

import sys
from typing import Any

import click

from tailrace.bench.options import BenchOptions, bench_options
from tailrace.errors import TailraceError
from tailrace.usage import only_with


@click.command(short_help="Run WORKLOAD, and verify every element that it wrote.")
@click.argument("workload", required=False)
@click.option(
    "--list", "list_only", is_flag=True, help="List the workloads that come with Tailrace."
)
@bench_options
def bench(workload: str | None, list_only: bool, **given: Any) -> None:
    """Run WORKLOAD by a method and in a format, and verify every element that it wrote.

    WORKLOAD is a name (--list) or the path of a .toml file of your own
    (docs/reference/workloads.md).

    \b
    tailrace bench roms --ranks 4 --method serial --format netcdf4 --dir /scratch/me
    tailrace bench btio --ranks 4 --method collective --format mpiio --size W --dir /scratch/me
    """
    from tailrace.bench.command import main, show_list

    options = BenchOptions(**given)
    if not options.capture:
        only_with(("eager_limit_bytes", "collectives"), "needs --capture")
    if list_only and workload is not None:
        raise TailraceError("--list takes no WORKLOAD", "leave WORKLOAD or --list out")
    if list_only:
        sys.exit(show_list(options.as_json))
    if workload is None:
        raise TailraceError("missing WORKLOAD", "`tailrace bench --list` shows the available ones")
    sys.exit(main(workload, options))
