"""Judge the doctor on the corpus: hits with Wilson intervals, every miss, every false alarm.

python -m benchmarks.doctor.judge                  the second collection, whose figures are reported
python -m benchmarks.doctor.judge --part tuning    the half of the first that thresholds were chosen on
python -m benchmarks.doctor.judge --part reported  its other half, put aside until the first judging
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

FIRST, SECOND = Path(__file__).parent / "corpus", Path(__file__).parent / "second"
RESULTS = Path(__file__).parent.parent / "results" / "doctor.json"
HALVES = ("tuning", "reported")


def half_of(name: str) -> str:
    """Even SHA-256 of the file name: tuning; odd: reported."""
    return HALVES[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]


def diagnose(script: Path) -> dict[str, Any]:
    """What the doctor prints about one script, run as people run it."""
    words = [sys.executable, "-m", "vitruvius", "doctor", "run", "--json", str(script)]
    ran = subprocess.run(
        words, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=600
    )
    try:
        return json.loads(ran.stdout)
    except ValueError:
        raise SystemExit(f"{script}: no report\n{ran.stderr}") from None


def is_hit(found: dict[str, Any], truth: dict[str, Any]) -> bool:
    """The right check at the right line, or with the right module."""
    line, module = int(found["where"].rpartition(":")[2] or 0), truth["where"]["module"]
    placed = line in truth["where"]["lines"] or (module is not None and found["module"] == module)
    return found["bug"] == truth["bug"] and placed


def judge(scripts: list[Path], truths: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Figures over some scripts."""
    hits, misses, beside, alarms = [], [], [], []
    with ThreadPool(2) as pool:
        reports = pool.map(diagnose, scripts, chunksize=1)
    for script, report in zip(scripts, reports, strict=True):
        truth, findings = truths[script.name], report["findings"]
        said = [
            f"{found['severity']} {found['bug']} at {found['where'].rpartition(':')[2]}" for found in findings
        ]
        loud = [text for text in said if not text.startswith("info")]
        if not truth["sick"]:
            alarms += [f"{script.name}: {text}" for text in loud]
        elif any(is_hit(found, truth) for found in findings):
            hits.append(script.name)
            beside += [f"{script.name}: {text}" for text in loud if f" {truth['bug']} " not in text]
        else:
            misses.append(
                f"{script.name}: {truth['bug']} at {truth['where']['lines']}, said: {said or 'nothing'}"
            )
    sick = len(hits) + len(misses)
    return {
        "sick": sick,
        "healthy": len(scripts) - sick,
        "hits": len(hits),
        "recall": len(hits) / sick,
        "recall_interval": list(binomtest(len(hits), sick).proportion_ci(method="wilson")),
        "misses": misses,
        "beside_a_hit": beside,
        "errors_on_healthy": [alarm for alarm in alarms if ": error" in alarm],
        "warnings_on_healthy": [alarm for alarm in alarms if ": warning" in alarm],
    }


def main() -> None:
    """Judge one part, print and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=("second", *HALVES), default="second")
    part = parser.parse_args().part
    folder = SECOND if part == "second" else FIRST
    truths = json.loads((folder / "truth.json").read_text())
    scripts = [
        path for path in sorted((folder / "scripts").glob("*.py")) if part in ("second", half_of(path.name))
    ]
    figures = judge(scripts, truths)
    print(json.dumps(figures, indent=2))
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    about = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    import torch

    kept[part] = {**figures, **about, "torch": torch.__version__}
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
