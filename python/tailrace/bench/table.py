"""The answer for people: the first line says it in words."""

from typing import Any

from rich.console import Console
from rich.text import Text

from tailrace.bench import calculix_table, verify
from tailrace.bench.pairs import of as pairs_of
from tailrace.bench.records import Direction
from tailrace.bench.step_tables import print_steps, print_summary, synced
from tailrace.bench.workload import Workload
from tailrace.terminal import console, table
from tailrace.units import byte_count, count, percent, rate, seconds

DIFFERENCES_SHOWN = 10


def listed(workload: Workload) -> dict[str, Any]:
    return {
        "name": workload.name,
        "description": workload.description,
        "paper": workload.paper,
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
        rows.add_row(
            workload.name, ", ".join([workload.default_size, *others]), workload.description
        )
    out.print(rows)


def print_answer(answer: dict[str, Any], everything: bool = False) -> None:
    """One screen of it, of the fastest run; or all steps of all runs."""
    out, runs = console(), answer["runs"]
    best = fastest(runs)
    out.print(Text(headline(answer), style="bold"), soft_wrap=True)
    for number, run in enumerate(runs, 1):
        if everything or run is best:
            _print_run(out, run, f"run {number}: " if len(runs) > 1 else "", everything)
    if len(runs) > 1:
        out.print("runs: " + ", ".join(seconds(_spent_s(run)) for run in runs), soft_wrap=True)
    _print_conditions(out, answer)
    _print_verification(out, answer, everything)


def _print_run(out: Console, run: dict[str, Any], title: str, everything: bool) -> None:
    if "calculix" in run:
        calculix_table.print_run(out, run, title)
        return
    if everything:
        for stream in run["streams"]:
            print_steps(out, stream, title)
    else:
        print_summary(out, run["streams"], title)
    _print_usage(out, run)
    _print_capture(out, run["capture"])


def _spent_s(run: dict[str, Any]) -> float:
    """In output and input, each step as long as its slowest rank; of CalculiX in all."""
    if "calculix" in run:
        return run["calculix"]["run_s"]
    return sum(step["step_s"]["max"] for stream in run["streams"] for step in stream["steps"])


def fastest(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """As benchmarks are used to."""
    return min(runs, key=_spent_s)


def headline(answer: dict[str, Any]) -> str:
    """What was done, how fast, and whether every byte is right."""
    runs = answer["runs"]
    run = fastest(runs)
    among = f", the fastest of {count(len(runs), 'run')}" if len(runs) > 1 else ""
    if "calculix" in run:
        return f"{calculix_table.headline(run, answer['threads'])}{among}; {_verdict(answer)}."
    parts = [part for direction in Direction if (part := _moved(run, direction))]
    place = answer["environment"]["directory"]["file_system"]
    how = f"{answer['method']}, {answer['format']}, on {count(answer['ranks'], 'rank')}, {place}"
    done = ", and ".join(parts) or "did nothing"
    return f"{answer['workload']['name']} ({how}) {done}{among}; {_verdict(answer)}."


def _moved(run: dict[str, Any], direction: Direction) -> str:
    """How much, how fast, and what was counted: only what the run really did."""
    streams = [stream for stream in run["streams"] if stream["direction"] == direction]
    moved, spent = sum(stream["bytes"] for stream in streams), _spent_s({"streams": streams})
    if not moved or not spent:
        return ""
    sync = direction is Direction.WRITE and synced(streams)
    words = "open, sync and close" if sync else "open and close"
    text = f"{direction.past} {byte_count(moved)} in {seconds(spent)}"
    text += f", {rate(moved / spent)} with {words}"
    return text + (" but without sync" if direction is Direction.WRITE and not sync else "")


def _verdict(answer: dict[str, Any]) -> str:
    if answer["runs"][0]["verification"]["ok"] is None:
        return "nothing was verified"
    wrong = sum(
        len(found["differences"])
        for run in answer["runs"]
        for found in run["verification"]["passes"]
    )
    if answer["verified"]:
        return "every element was read back and is right"
    return f"VERIFICATION FAILED, {count(wrong, 'difference')}"


def _print_usage(out: Console, run: dict[str, Any]) -> None:
    usage, shared = run["usage"], run["shared_files"]
    summed = usage["sum"]
    out.print()
    out.print(
        f"summed over ranks: user {seconds(summed['user_s'])},"
        f" system {seconds(summed['system_s'])}, elapsed {seconds(summed['elapsed_s'])};"
        f" run time {seconds(usage['elapsed_s'])};"
        f" largest rank {byte_count(usage['maximum_resident_bytes'])}",
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
    named = ", ".join(
        f"{name.replace('_', ' ')} {percent(value)}" for name, value in efficiency.items()
    )
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
        + (", fewer than ranks: ranks share cores, which makes them slower" if crowded else ""),
        soft_wrap=True,
    )
    hints = {
        key: value
        for stream in answer["runs"][0]["streams"]
        for key, value in stream["hints"].items()
    }
    if hints:
        out.print(
            "hints in force: "
            + ", ".join(f"{key}={value}" for key, value in sorted(hints.items())),
            soft_wrap=True,
        )
    if answer["settings"]:
        out.print("settings: " + ", ".join(answer["settings"]), soft_wrap=True)


def _print_verification(out: Console, answer: dict[str, Any], everything: bool) -> None:
    checked = [*([answer["prepared"]] if answer["prepared"] else []), *answer["runs"]]
    passes = [found for run in checked for found in run["verification"]["passes"]]
    if everything:
        for found in passes:
            out.print(f"verified {found['pass']}: {_amount([found])}", soft_wrap=True)
    elif passes:
        kinds = " and ".join(dict.fromkeys(found["pass"] for found in passes))
        out.print(f"verified {kinds}: {_amount(passes)}", soft_wrap=True)
    for run in checked:
        _print_problems(out, run)
    for run in answer["runs"]:
        if "files" in run:
            out.print(f"files: {run['files']}", soft_wrap=True)


def _print_problems(out: Console, run: dict[str, Any]) -> None:
    """Each difference, and each check of the program's own that failed."""
    for found in run["verification"]["passes"]:
        for difference in found["differences"][:DIFFERENCES_SHOWN]:
            out.print(f"  {verify.Mismatch(**difference)}", style="red", soft_wrap=True)
        if (more := len(found["differences"]) - DIFFERENCES_SHOWN) > 0:
            out.print(f"  and {more} more")
    for failed in [check for check in run.get("checks", []) if not check["ok"]]:
        out.print(f"  {failed['stream']}: {failed['what']}", style="red", soft_wrap=True)


def _amount(passes: list[dict[str, Any]]) -> str:
    """What was read back, in all."""
    variables, read, files = (
        sum(found[key] for found in passes) for key in ("variables", "bytes_read", "files")
    )
    elapsed_s = sum(found["elapsed_s"] for found in passes)
    return (
        f"{count(variables, 'variable')} in all steps, {byte_count(read)},"
        f" {count(files, 'file')}, {seconds(elapsed_s)}"
    )
