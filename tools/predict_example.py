"""Runs the example of docs/how-to/predict.md, from a slow run to a faster one, and prints what
stands there.
`python tools/predict_example.py` brings up the test bed's NFS behind links of 100 Mb/s and takes
some three minutes, on a machine that does nothing else; with a DIRECTORY it writes there instead.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tailrace.library import open as opened
from tailrace.units import to_seconds

ROOT = Path(__file__).resolve().parent.parent
TAILRACE = [sys.executable, "-m", "tailrace"]
METHODS = ("independent", "collective")
ROUNDS = 3
BUDGET = "1m"


def place() -> tuple[Path, dict[str, str]]:
    """Where it is written, and the environment of programs there."""
    if len(sys.argv) > 1:
        return Path(sys.argv[1]).resolve(), {}
    up = [sys.executable, str(ROOT / "testbed" / "testbed"), "up", "nfs", "--rate", "100mbit"]
    answer = subprocess.run([*up, "--json"], check=True, capture_output=True, text=True).stdout
    (bed,) = json.loads(answer)["beds"]
    return Path(bed["mounts"][0]), bed.get("environment", {})


def shown(words: list[str], directory: Path, **options: object) -> None:
    """Runs a command of the page and prints it with its answer."""
    print("$ tailrace", " ".join(words).replace(str(directory), "$NFS"), flush=True)
    done = subprocess.run(
        [*TAILRACE, *words], check=True, stdout=subprocess.PIPE, text=True, **options
    )
    print(done.stdout.replace(str(directory), "$NFS"), flush=True)


def recorded(method: str, directory: Path, environment: dict[str, str]) -> Path:
    """The trace of one run by a method, in a folder of its own."""
    words = ["bench", "wrf", "--size", "small", "--ranks", "2", "--method", method]
    words += ["--format", "mpiio", "--dir", str(directory), "--no-verify", "--capture"]
    folder = Path(tempfile.mkdtemp(dir=".", prefix=f"{method}-"))
    subprocess.run(
        [*TAILRACE, *words],
        check=True,
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
    )
    (trace,) = folder.rglob("*.tailrace")
    return trace


def main() -> None:
    directory, environment = place()
    with tempfile.TemporaryDirectory(prefix="predict-example-") as folder:
        os.chdir(folder)
        slow = recorded("independent", directory, environment)
        shown(["report", str(slow)], directory)
        calibrate = ["calibrate", str(directory), "-o", "nfs.toml", "--name", "nfs"]
        shown([*calibrate, "--budget", BUDGET], directory)
        asked = ["whatif", str(slow), "--files", str(directory), "--target", "nfs.toml"]
        shown([*asked, "--all"], directory)
        traces: dict[str, list[Path]] = {method: [] for method in METHODS}
        for _ in range(ROUNDS):
            for method, found in traces.items():
                found.append(recorded(method, directory, environment))
        first = [str(found[0]) for found in traces.values()]
        labels = [word for method in METHODS for word in ("--label", method)]
        shown(["report", *first, *labels], directory)
        for method, found in traces.items():
            taken_s = [to_seconds(opened(trace).times.runtime_ns) for trace in found]
            each = ", ".join(f"{time_s:.2f}" for time_s in taken_s)
            print(f"{method}: {each} s, median {median(taken_s):.2f}")


if __name__ == "__main__":
    main()
