"""Writes python/tailrace/bench/gridio.json: what gridio says of itself, in a build that has every
format. `python tools/gridio_table.py [MPICC]`; Debian's Open MPI has all the libraries.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "python" / "tailrace" / "bench" / "gridio.json"


def main() -> None:
    mpicc = sys.argv[1] if len(sys.argv) > 1 else "mpicc.openmpi"
    with tempfile.TemporaryDirectory() as build:
        configure = ["cmake", "-S", ROOT / "kernels", "-B", build, f"-DCMAKE_C_COMPILER={mpicc}"]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        make = ["cmake", "--build", build, "--target", "gridio-info"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        printed = subprocess.check_output([Path(build) / "gridio-info"], text=True)
    told = json.loads(printed)
    absent = [format_["name"] for format_ in told["formats"] if not format_["available"]]
    if absent:
        sys.exit(f"this build has no {', '.join(absent)}: the table is made of one that has all")
    TABLE.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
