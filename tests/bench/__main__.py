"""Prints every figure beside its bound. `python -m tests.bench
[cheap|stdio|files|solver|fast|pack|layer|page|predict|start|study]…` does a part."""

from __future__ import annotations

import sys

from tests.bench import cheap, fast, layer, packing, page, predict, start, study

PARTS = {
    "cheap": cheap.figures,
    "stdio": cheap.stdio_figures,
    "files": cheap.file_figures,
    "solver": cheap.solver_figures,
    "fast": fast.figures,
    "pack": packing.figures,
    "layer": layer.figures,
    "page": page.figures,
    "predict": predict.figures,
    "start": start.figures,
    "study": study.figures,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(
            f"bench: there is no part '{unknown[0]}'\n\nhint: the parts are {', '.join(PARTS)}",
            file=sys.stderr,
        )
        return 2
    for name in names or PARTS:
        print(f"--- {name}")
        for figure in PARTS[name]():
            print(figure.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
