"""The memory of watching: networks that are trained one after the other, in a process of their own each time.

python -m benchmarks.doctor.memory alone 40     prints the largest memory of the process, in MiB
python -m benchmarks.doctor.memory watched 40
"""

import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher

NETWORKS, WIDTH = 40, 1024  # four layers: 16 MiB of weights


def train(networks: int) -> None:
    """Train so many networks for three steps each; none is kept."""
    for _ in range(networks):
        net = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(4)))
        optimiser = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
        for _ in range(3):
            optimiser.zero_grad()
            net(torch.randn(4, WIDTH)).square().mean().backward()
            optimiser.step()


def peak(kind: str, networks: int) -> float:
    """The largest memory, in MiB, of a process that trains networks alone or watched."""
    words = [sys.executable, "-m", "benchmarks.doctor.memory", kind, str(networks)]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def largest() -> float:
    """The largest memory of this process so far, in MiB.

    `ru_maxrss` is no less than the memory of the process that started this one, which may be larger.
    """
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return round(int(line.split()[1]) / 1024, 1)


def figures(networks: int = NETWORKS) -> dict[str, float]:
    """The memory of both, and the one over the other."""
    alone, watched = peak("alone", networks), peak("watched", networks)
    ratio = round(watched / alone, 3)
    return {"networks": networks, "alone_mib": alone, "watched_mib": watched, "watched_over_alone": ratio}


if __name__ == "__main__":
    torch.set_num_threads(1)
    kind, networks = sys.argv[1], int(sys.argv[2])
    if kind == "watched":
        with installed(Watcher()):
            train(networks)
    else:
        train(networks)
    print(largest())
