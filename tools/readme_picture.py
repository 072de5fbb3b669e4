"""Takes README's picture of a page, light and dark, with headless Chromium.

make demo
python tools/readme_picture.py demo/serial-2/report.html     # writes docs/images/page-*.png

The runs of the demo are only as good as the machine is quiet: where the page says that ranks waited
for a processor, make the run again alone (`chrt -r 10 tailrace run …`, as root).
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

TARGET = Path(__file__).parent.parent / "docs" / "images"
WIDTH, HEIGHT = 1100, 1150
COLORS = 192  # of the palette: a page has few, and the file is a third as large
BYTES_AT_MOST = 200_000
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--virtual-time-budget=10000",
]
# Chromium's setting for prefers-color-scheme: 0 is dark, 1 is light.
SCHEMES = {"light": 1, "dark": 0}


def take(page: Path, scheme: str) -> Path:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        raise SystemExit("there is no Chromium\n\nhint: apt install chromium")
    picture = TARGET / f"page-{scheme}.png"
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                chromium,
                *OPTIONS,
                f"--user-data-dir={profile}",
                f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
                f"--window-size={WIDTH},{HEIGHT}",
                f"--screenshot={picture}",
                page.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )
    Image.open(picture).convert("RGB").quantize(COLORS).save(picture, optimize=True)
    return picture


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("page", type=Path)
    page = arguments.parse_args().page
    TARGET.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        picture = take(page, scheme)
        if picture.stat().st_size > BYTES_AT_MOST:
            raise SystemExit(f"{picture} has more than {BYTES_AT_MOST:,} bytes")
        print(picture, picture.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
