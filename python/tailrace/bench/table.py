"""The answer for people. The first line says it in words; every table row is one output step."""

from typing import Any

from rich.console import Console
from rich.text import Text

from tailrace.bench import calculix_table, verify
from tailrace.bench.figures import MB
from tailrace.bench.pairs import of as pairs_of
from tailrace.bench.records import PHASES
from tailrace.bench.workload import Workload
from tailrace.text_report import console, table
from tailrace.units import byte_count, count, digits, percent, rate, seconds

MILLISECONDS = 1e3
# Shorter phases are not shown: of a step that has none of it, what remains is two readings of the clock.
SHOWN_FROM_S = 5e-5
DIFFERENCES_SHOWN = 10
WHOLE_RATE = {
    "write": "write_rate_including_open_and_close_mb_per_s",
    "read": "read_rate_including_open_and_close_mb_per_s",
}


def listed(workload: Workload) -> dict[str, Any]:
    return {
        "name": workload.name,
        "description": workload.description,
        "seed": workload.seed,
        "program": workload.program,
        "sizes": list(workload.size),
        "default_size": workload.default_size,
        "ranks": workload.ranks,
        "pairs": [{"method": method, "format": format_} for method, format_ in pairs_of(workload)],
    }


def print_list(workloads: list[Workload]) -> None:
    out = console()
    rows = table("", "workload", "sizes (default first)", "what it is")
    for workload in workloads:
        others = [size for size in workload.size if size != workload.default_size]
        rows.add_row(workload.name, ", ".join([workload.default_size, *others]), workload.description)
    out.print(rows)


def print_answer(answer: dict[str, Any]) -> None:
    out = console()
    out.print(Text(headline(answer), style="bold"), soft_wrap=True)
    if answer["workload"]["program"] == "calculix":
        calculix_table.print_runs(out, answer["runs"])
        _print_conditions(out, answer)
        _print_verification(out, answer)
        return
    for number, one in enumerate(answer["runs"], 1):
        title = f"run {number}: " if len(answer["runs"]) > 1 else ""
        for stream in one["streams"]:
            _print_stream(out, stream, title)
        _print_usage(out, one)
        _print_capture(out, one["capture"])
    _print_conditions(out, answer)
    _print_verification(out, answer)


def headline(answer: dict[str, Any]) -> str:
    """What was done, how fast, and whether every byte is right."""
    runs = answer["runs"]
    if answer["workload"]["program"] == "calculix":
        return f"{calculix_table.headline(answer)}; {_verdict(answer)}."
    parts = [part for direction in ("write", "read") if (part := _moved(runs, direction))]
    place = answer["environment"]["directory"]["file_system"]
    how = f"{answer['method']}, {answer['format']}, on {count(answer['ranks'], 'rank')}, {place}"
    return f"{answer['workload']['name']} ({how}) {' and '.join(parts) or 'did nothing'}; {_verdict(answer)}."


def _moved(runs: list[dict[str, Any]], direction: str) -> str:
    """The fastest of several runs, as benchmarks are used to."""
    best: tuple[float, int, float] | None = None
    for one in runs:
        streams = [stream for stream in one["streams"] if stream["direction"] == direction]
        moved = sum(stream["bytes"] for stream in streams)
        spent = sum(step["step_s"]["max"] for stream in streams for step in stream["steps"])
        if moved and spent and (best is None or moved / spent > best[0]):
            best = (moved / spent, moved, spent)
    if best is None:
        return ""
    verb, counted = ("wrote", "open, sync and close") if direction == "write" else ("read", "open and close")
    among = f", the best of {count(len(runs), 'run')}" if len(runs) > 1 else ""
    return f"{verb} {byte_count(best[1])} in {seconds(best[2])}, {rate(best[0])} with {counted}{among}"


def _verdict(answer: dict[str, Any]) -> str:
    first = answer["runs"][0]["verification"]
    if first["ok"] is None:
        return "nothing was verified"
    wrong = sum(len(one["differences"]) for run in answer["runs"] for one in run["verification"]["passes"])
    if answer["verified"]:
        return "every element was read back and is right"
    return f"VERIFICATION FAILED, {count(wrong, 'difference')}"


def _print_stream(out: Console, stream: dict[str, Any], title: str) -> None:
    """Times per rank: shortest/mean/longest in milliseconds, and the rank that took longest."""
    phases = [phase for phase in PHASES if any(step[f"{phase}_s"]["max"] >= SHOWN_FROM_S for step in stream["steps"])]
    verb = "written" if stream["direction"] == "write" else "read"
    heading = f"{title}{stream['stream']}, {verb} by {stream['method']} in {stream['format']}"
    rows = table("", ">step", ">bytes", *(f">{phase}" for phase in phases), ">MB/s")
    rows.title = None  # as one it would be folded to the table's width
    for step in stream["steps"]:
        whole = step["bytes"] / step["step_s"]["max"] / MB if step["step_s"]["max"] else 0.0
        cells = [_cell(step[f"{phase}_s"]) for phase in phases]
        rows.add_row(str(step["step"]), byte_count(step["bytes"]), *cells, f"{whole:,.1f}")
    out.print()
    out.print(Text(f"{heading}; ms of a rank: min/mean/max @rank", style="bold"), soft_wrap=True)
    out.print(rows)
    for name, value in stream["rates"].items():
        if not name.startswith("best"):
            best = stream["rates"][f"best_step_{name}"]
            out.print(f"  {name.replace('_mb_per_s', '').replace('_', ' ')}: {value:,.1f} MB/s, best step {best:,.1f}")


def _cell(times: dict[str, Any]) -> str:
    spread = "/".join(digits(times[key] * MILLISECONDS) for key in ("min", "mean", "max"))
    return f"{spread} @{times['rank_of_max']}"


def _print_usage(out: Console, one: dict[str, Any]) -> None:
    summed, shared = one["usage"]["sum"], one["shared_files"]
    out.print()
    out.print(
        f"summed over ranks: user {seconds(summed['user_s'])}, system {seconds(summed['system_s'])},"
        f" elapsed {seconds(summed['elapsed_s'])}; run time {seconds(one['usage']['elapsed_s'])};"
        f" largest rank {byte_count(one['usage']['maximum_resident_bytes'])}",
        soft_wrap=True,
    )
    out.print(
        f"{count(shared['files'], 'shared file')}: writes {seconds(shared['write_s'])}"
        f" ({percent(shared['write_share'])} of all ranks' time), reads {seconds(shared['read_s'])}"
        f" ({percent(shared['read_share'])}), summed over ranks",
        soft_wrap=True,
    )


def _print_capture(out: Console, capture: dict[str, Any] | None) -> None:
    if capture is None:
        return
    efficiency = capture["efficiency"]
    named = ", ".join(f"{name.replace('_', ' ')} {percent(value)}" for name, value in efficiency.items())
    out.print(f"under capture: {capture['headline']}", soft_wrap=True)
    out.print(f"efficiencies: {named}", soft_wrap=True)
    out.print(f"page: {capture['page']}", soft_wrap=True)


def _print_conditions(out: Console, answer: dict[str, Any]) -> None:
    environment = answer["environment"]
    place = environment["directory"]
    crowded = answer["ranks"] > environment["cores"]
    mpi = " with ".join(filter(None, [environment["mpi"], environment["mpi_io"]])) or "no MPI"
    out.print(
        f"{mpi}; {place['file_system']} at {place['path']}; {answer['cache']} cache;"
        f" {count(environment['cores'], 'core')}"
        + (", fewer than ranks: times are not those of a free machine" if crowded else ""),
        soft_wrap=True,
    )
    hints = {key: value for stream in answer["runs"][0]["streams"] for key, value in stream["hints"].items()}
    if hints:
        out.print(
            "hints in force: " + ", ".join(f"{key}={value}" for key, value in sorted(hints.items())), soft_wrap=True
        )
    if answer["settings"]:
        out.print("settings: " + ", ".join(answer["settings"]), soft_wrap=True)


def _print_verification(out: Console, answer: dict[str, Any]) -> None:
    checks = [answer["prepared"]] if answer["prepared"] else []
    for one in [*checks, *answer["runs"]]:
        for check in one["verification"]["passes"]:
            out.print(
                f"verified {check['pass']}: {count(check['variables'], 'variable')} (times steps),"
                f" {byte_count(check['bytes_read'])}, {count(check['files'], 'file')}, {seconds(check['elapsed_s'])}",
                soft_wrap=True,
            )
            for difference in check["differences"][:DIFFERENCES_SHOWN]:
                out.print(f"  {verify.Difference(**difference)}", style="red", soft_wrap=True)
            if (more := len(check["differences"]) - DIFFERENCES_SHOWN) > 0:
                out.print(f"  and {more} more")
        for failed in [check for check in one.get("checks", []) if not check["ok"]]:
            out.print(f"  {failed['stream']}: {failed['what']}", style="red", soft_wrap=True)
    for one in answer["runs"]:
        if "files" in one:
            out.print(f"files: {one['files']}", soft_wrap=True)
