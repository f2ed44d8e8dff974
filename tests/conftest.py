"""Tests use one thread: their networks are tiny, and two threads on a busy machine are ten times slower."""

import gc
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
"""Bytes that must be free there: the tests leave few files behind, and large ones are removed at once."""

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, and for every process a test starts

# With thousands of tests and modules in memory, Python's own thresholds spend a tenth of the time collecting.
gc.set_threshold(50_000, 20, 20)

# The same examples in every run, however slowly they are drawn and tried: no test judges by a clock.
settings.register_profile(
    "same", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


def _is_roomy(folder: Path) -> bool:
    """Whether temporary files fit into a folder that can be written, and programs in it can be run."""
    if not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free > ROOM


# Every file of a run is synced, for which a disk takes milliseconds each time: memory is as good for tests.
if _is_roomy(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture(scope="session")
def price_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the price lists of tests."""
    return tmp_path_factory.mktemp("prices")


@pytest.fixture(autouse=True)
def _without_prices_of_the_user(price_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees a price list that the user, or another test, has calibrated."""
    path = price_folder / "machine.json"
    path.unlink(missing_ok=True)
    monkeypatch.setattr("vitruvius.measuring.prices.location", lambda: path)
