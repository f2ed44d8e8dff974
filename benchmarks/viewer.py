"""Milliseconds of a forward pass with all maps in Chromium, of the network that is part of the package.

    python -m benchmarks.viewer            200 passes, writes results/viewer.json
    python -m benchmarks.viewer --quick    20 passes on any machine, writes nothing

Fails if the median is above the goal. Needs Debian's Chromium and playwright (`make browser`).
"""

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks import record
from vitruvius.web import modules, trained

GOAL = 20.0
"""Milliseconds, median: a picture follows the pen."""
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
MEASURE = """async ([bytes, passes]) => {
  const file = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)).buffer;
  const network = source.browserSource(file);
  const { images } = await network.describe();
  const changes = { hidden: [], order: null, positions: true, beta: 1 };
  const times = [];
  for (let index = 0; index < passes + 5; index++) {
    const began = performance.now();
    await network.forward(images[index % images.length], changes);
    times.push(performance.now() - began);
  }
  return times.slice(5);
}"""


def times(passes: int) -> tuple[list[float], str]:
    """Milliseconds of each pass, after a warm-up of five, and the version of the browser."""
    import base64

    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder, "page.html")
        page.write_text(f"<!doctype html><script>{modules.script('')}</script>", encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        view = browser.new_page()
        view.goto(page.as_uri())
        content = base64.b64encode(trained.SHIPPED.read_bytes()).decode()
        found = view.evaluate(MEASURE, [content, passes])
        version = browser.version
        browser.close()
    return [float(value) for value in found], version


def main() -> int:
    """Measure, print, record."""
    quick = "--quick" in sys.argv[1:]
    load = None if quick else record.refuse_if_busy()
    print(record.machine())
    found, version = times(20 if quick else 200)
    found.sort()
    row = {"milliseconds": round(median(found), 2), "p95": round(found[int(0.95 * len(found))], 2)}
    print(f"median {row['milliseconds']} ms, 95th percentile {row['p95']} ms, goal {GOAL} ms")
    if quick:
        return 0
    about = {"chromium": version, "network": trained.SHIPPED.stem, "passes": len(found)}
    print(record.write("viewer", [row], load=load, goal=GOAL, **about))
    return int(row["milliseconds"] > GOAL)


if __name__ == "__main__":
    sys.exit(main())
