"""CalculiX's answer for people."""

from typing import Any

from rich.console import Console

from tailrace.text_report import table
from tailrace.units import byte_count, count, percent, seconds


def headline(answer: dict[str, Any]) -> str:
    """Of the fastest run."""
    best = min((one["calculix"] for one in answer["runs"]), key=lambda one: one["run_s"])
    spent = best["shared_read_s"] + best["shared_write_s"]
    return (
        f"calculix ({count(answer['threads'], 'thread')}) ran {seconds(best['run_s'])}, of which reads and writes took"
        f" {seconds(spent)} ({percent(spent / best['run_s'])}), {percent(best['write_share_of_transfer_time'])} of that"
        f" writes"
    )


def print_runs(out: Console, runs: list[dict[str, Any]]) -> None:
    for number, one in enumerate(runs, 1):
        seen = one["calculix"]
        title = f"run {number}, {seconds(seen['run_s'])}" if len(runs) > 1 else f"run time {seconds(seen['run_s'])}"
        out.print()
        out.print(_files(seen["files"], title))
        for layer in ("posix", "stdio"):
            of_layer = seen[layer]
            out.print(
                f"  {layer.upper()}: {byte_count(of_layer['bytes'])} in {count(of_layer['requests'], 'request')},"
                f" {of_layer['transfer_rate_mb_per_s']:,.1f} MB/s while in its calls"
            )
        out.print(
            f"  reads {seconds(seen['shared_read_s'])}, writes {seconds(seen['shared_write_s'])}:"
            f" writes are {percent(seen['write_share_of_transfer_time'])} of that time"
            f" and {percent(seen['write_share_of_bytes'])} of the bytes"
        )
        out.print(f"  user {seconds(one['usage']['user_s'])}, system {seconds(one['usage']['system_s'])}")
        if "page" in one["capture"]:
            out.print(f"  page: {one['capture']['page']}", soft_wrap=True)
    out.print()


def _files(files: list[dict[str, Any]], title: str) -> Any:
    rows = table(title, "file", "layer", ">read", ">written", ">reads", ">writes", ">in reads", ">in writes")
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
