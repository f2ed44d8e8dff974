"""Kill train, pretrain, rank and search at random instants, resume, and compare their ends to the bit."""

import json
import subprocess
import sys
from typing import Any

from tests.campaigns import Tally

FULL, SMALL = 500, 20
SHARES = {"train": 0.4, "pretrain": 0.2, "rank": 0.2, "search": 0.2}
HARNESSES = {
    "train": "tests.verbs.killing",
    "pretrain": "tests.verbs.killing_pretrain",
    "rank": "tests.campaigns.killing_rank",
    "search": "tests.searching.killing",
}


def run(rounds: int, first: int = 0) -> Tally:
    """Kill so many times in all: two fifths of the kills in train, a fifth in each of the others."""
    tally = Tally(planted="a resumed training forgets the state of its random generator")
    for verb, share in SHARES.items():
        _campaign(tally, verb, max(1, round(share * rounds)), first)
    found = harness("train", "forget=rng")["forget=rng"]
    tally.is_caught = any(end != found["whole"] for end in found["outcomes"])
    return tally


def harness(verb: str, *words: str) -> dict[str, Any]:
    """Run the killing program of a verb and return what it prints."""
    command = [sys.executable, "-m", HARNESSES[verb], *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _campaign(tally: Tally, verb: str, kills: int, seed: int) -> None:
    if verb in ("train", "pretrain"):
        found = harness(verb, f"kills={kills}", "--seed", str(seed))[f"kills={kills}"]
    else:
        ended = harness(verb, "--kills", str(kills), "--seed", str(seed))
        found = {"outcomes": ended["ends"], "phases": ["any"] * ended["kills"], "whole": ended["whole"]}
    for phase in found["phases"]:
        tally.count(f"{verb}, killed in {phase}", "kills")
    for end in found["outcomes"]:
        if end == found["whole"]:
            tally.count(f"{verb}, resumed", "identical")
        else:
            tally.fail(
                f"{verb}, resumed", "different", f"a run ended with {end[:12]}, not {found['whole'][:12]}"
            )
