"""CalculiX's answer for people."""

from typing import Any

from rich.console import Console

from tailrace.terminal import table
from tailrace.units import byte_count, count, percent, seconds


def headline(run: dict[str, Any], threads: int) -> str:
    seen = run["calculix"]
    spent = seen["shared_read_s"] + seen["shared_write_s"]
    return (
        f"calculix ({count(threads, 'thread')}) ran {seconds(seen['run_s'])}, of which reads and"
        f" writes took {seconds(spent)} ({percent(spent / seen['run_s'])}),"
        f" {percent(seen['write_share_of_transfer_time'])} of that writes"
    )


def print_run(out: Console, run: dict[str, Any], title: str) -> None:
    seen = run["calculix"]
    out.print()
    out.print(_files(seen["files"], f"{title}run time {seconds(seen['run_s'])}"))
    for layer in ("posix", "stdio"):
        amount = seen[layer]
        out.print(
            f"  {layer.upper()}: {byte_count(amount['bytes'])} in"
            f" {count(amount['requests'], 'request')},"
            f" {amount['transfer_rate_mb_per_s']:,.1f} MB/s while in its calls"
        )
    out.print(
        f"  reads {seconds(seen['shared_read_s'])}, writes {seconds(seen['shared_write_s'])}:"
        f" writes are {percent(seen['write_share_of_transfer_time'])} of that time"
        f" and {percent(seen['write_share_of_bytes'])} of the bytes"
    )
    usage = run["usage"]
    out.print(f"  user {seconds(usage['user_s'])}, system {seconds(usage['system_s'])}")
    if "page" in run["capture"]:
        out.print(f"  page: {run['capture']['page']}", soft_wrap=True)
    out.print()


def _files(files: list[dict[str, Any]], title: str) -> Any:
    rows = table(
        title, "file", "layer", ">read", ">written", ">reads", ">writes", ">in reads", ">in writes"
    )
    for file in files:
        rows.add_row(
            file["name"],
            file["layer"],
            byte_count(file["bytes_read"]),
            byte_count(file["bytes_written"]),
            f"{file['reads']:,}",
            f"{file['writes']:,}",
            seconds(file["read_s"]),
            seconds(file["write_s"]),
        )
    return rows
