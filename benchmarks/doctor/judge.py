"""Judge the doctor on a collection of scripts: hits with Wilson intervals, every miss, every false alarm.

python -m benchmarks.doctor.judge                  the second collection
python -m benchmarks.doctor.judge --part third     the third collection
python -m benchmarks.doctor.judge --part fourth    the fourth collection
python -m benchmarks.doctor.judge --part fifth     the fifth collection
python -m benchmarks.doctor.judge --part sixth     the sixth collection
python -m benchmarks.doctor.judge --part tuning    the half of the first that thresholds were chosen on
python -m benchmarks.doctor.judge --part reported  its other half, put aside until the first judging
python -m benchmarks.doctor.judge --part tuning --only NAME...   some scripts; nothing is kept

A part whose figures are kept already is judged again only with --again: a collection that was put aside is
judged once.
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

RESULTS = Path(__file__).parent.parent / "results" / "doctor.json"
HALVES = ("tuning", "reported")
CLOSED = ("second", "third", "fourth", "fifth", "sixth")
FOLDERS = {**{part: part for part in CLOSED}, **dict.fromkeys(HALVES, "corpus")}
LONGEST = 600  # seconds that a script may take


def half_of(name: str) -> str:
    """Even SHA-256 of the file name: tuning; odd: reported."""
    return HALVES[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]


def scripts_of(part: str, only: list[str]) -> list[Path]:
    """The scripts of a part, or those of them that are named."""
    paths = sorted((Path(__file__).parent / FOLDERS[part] / "scripts").glob("*.py"))
    paths = [path for path in paths if part not in HALVES or half_of(path.name) == part]
    unknown = set(only) - {path.stem for path in paths} - {path.name for path in paths}
    if unknown:
        raise SystemExit(f"no script of {part}: {', '.join(sorted(unknown))}")
    return [path for path in paths if not only or path.stem in only or path.name in only]


def diagnose(script: Path) -> dict[str, Any]:
    """What the doctor prints about one script, run as people run it; no report counts as silence."""
    words = [sys.executable, "-m", "vitruvius", "doctor", "run", "--json", str(script)]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        ran = subprocess.run(words, capture_output=True, text=True, env=env, timeout=LONGEST)
        return json.loads(ran.stdout)
    except subprocess.TimeoutExpired:
        why = f"not ended after {LONGEST} s"
    except ValueError:
        why = ran.stderr.strip().rpartition("\n")[2]
    return {"findings": [], "no_report": f"{script.name}: {why}"}


def is_hit(found: dict[str, Any], truth: dict[str, Any]) -> bool:
    """The right check at the right line, or with the right module."""
    line, module = int(found["where"].rpartition(":")[2] or 0), truth["where"]["module"]
    placed = line in truth["where"]["lines"] or (module is not None and found["module"] == module)
    return found["bug"] == truth["bug"] and placed


def judge(scripts: list[Path], truths: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Figures over some scripts."""
    hits, misses, beside, alarms, silent = [], [], [], [], []
    with ThreadPool(2) as pool:
        reports = pool.map(diagnose, scripts, chunksize=1)
    for script, report in zip(scripts, reports, strict=True):
        truth, findings = truths[script.name], report["findings"]
        silent += [report["no_report"]] if "no_report" in report else []
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
        "recall": len(hits) / sick if sick else None,
        "recall_interval": list(binomtest(len(hits), sick).proportion_ci(method="wilson")) if sick else None,
        "misses": misses,
        "beside_a_hit": beside,
        "errors_on_healthy": [alarm for alarm in alarms if ": error" in alarm],
        "warnings_on_healthy": [alarm for alarm in alarms if ": warning" in alarm],
        "no_report": silent,
    }


def commit() -> str:
    """The commit that is judged, with a plus sign if files differ from it."""
    git = ["git", "-C", str(Path(__file__).parent)]
    words = [[*git, "rev-parse", "HEAD"], [*git, "status", "--porcelain", "--untracked-files=no"]]
    head, changed = (subprocess.run(each, capture_output=True, text=True).stdout.strip() for each in words)
    return head + "+" * bool(changed)


def main() -> None:
    """Judge one part, print and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=tuple(FOLDERS), default="second")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    if asked.part in kept and not asked.only and not asked.again:
        raise SystemExit(
            f"{asked.part} was judged on {kept[asked.part]['date']}: --again judges it once more"
        )
    scripts = scripts_of(asked.part, asked.only)
    truths = json.loads((scripts[0].parent.parent / "truth.json").read_text())
    judged = commit()
    figures = judge(scripts, truths)
    print(json.dumps(figures, indent=2))
    if asked.only:
        return
    import torch

    about = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": judged,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    kept[asked.part] = {**figures, **about}
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
