"""Energy is read where the kernel exposes it, over the end of a counter too, and is absent elsewhere."""

from pathlib import Path

from vitruvius.measuring.energy import Meter


def package(root: Path, name: str, value: int) -> Path:
    folder = root / name
    folder.mkdir(exist_ok=True)
    (folder / "energy_uj").write_text(f"{value}\n")
    (folder / "max_energy_range_uj").write_text("1000000\n")
    return folder


def test_packages_add_up_and_their_parts_are_not_counted_twice(tmp_path: Path) -> None:
    for name, value in (("intel-rapl:0", 100), ("intel-rapl:1", 900_000), ("intel-rapl:0:0", 50)):
        package(tmp_path, name, value)
    meter = Meter(tmp_path)
    before = meter.read()
    package(tmp_path, "intel-rapl:0", 200_100)
    package(tmp_path, "intel-rapl:1", 100_000)  # it began anew at a million
    package(tmp_path, "intel-rapl:0:0", 999_999)
    assert meter.joules(before, meter.read()) == 0.4


def test_without_counters_there_is_no_energy(tmp_path: Path) -> None:
    (tmp_path / "intel-rapl:0").mkdir()  # a counter that cannot be read
    meter = Meter(tmp_path)
    assert meter.joules(meter.read(), meter.read()) is None
