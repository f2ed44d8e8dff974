"""Networks from presets and files: our own JSON, and the JSON of public ViT benchmarks.

A file holds one network, or a list of `{"name": ..., "arch": {...}, "<column>": accuracy, ...}`, or such a
list as "archs" beside "data", the name of the data on which the accuracies were measured: one name for all
columns, or `{"<column>": name}`. The public format writes an arch as `{"hidden_dim", "depth", "num_heads":
[...], "mlp_ratio": [...]}`, accuracies in %.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from vitruvius.arch import public_configs
from vitruvius.arch.arch import Arch
from vitruvius.core.config import Settings, settings
from vitruvius.core.errors import UserError, unknown
from vitruvius.core.files import read_json, read_object
from vitruvius.core.plugins import PACKAGE

PUBLIC_FIELDS = {"hidden_dim", "num_heads", "mlp_ratio"}
"""Keys that only the public format has; both have `depth`."""
THREE_STAGE_FIELDS = {"base_dim"}
LONGEST_TABLE = 100_000


class Preset(NamedTuple):
    """A named network that ships with the package."""

    summary: str
    arch: Arch


class Named(NamedTuple):
    """A network of a table."""

    name: str
    arch: Arch


@cache
def presets() -> dict[str, Preset]:
    """Return the networks of arch/presets.json by name."""
    rows = read_json(PACKAGE / "arch" / "presets.json")
    return {name: Preset(row["summary"], Arch(**row["arch"])) for name, row in rows.items()}


def arch(name: str, changes: Settings = (), **from_data: Any) -> Arch:
    """Return the network that `--arch NAME|FILE.json|TABLE:ROW|FOLDER` and `--set field=value` describe.

    `from_data` holds the fields that the data decide (image, channels, classes); a file and `--set` override
    them. A FOLDER is a run or a checkpoint of transformers or timm, whose weights are fitted to the data, as
    TABLE:ROW is, such as fifty:n50, unless the table says otherwise.
    """
    refuse_unknown(name)
    if _is_row(name):
        fields = _network(_row(name), name, from_data).model_dump(exclude_unset=True)
    elif name.endswith(".json"):
        described = read_json(Path(name))
        described = described["arch"] if isinstance(described, dict) and "arch" in described else described
        fields = {**from_data, **_arch_fields(described, name)}
    elif name in presets():
        fields = {**presets()[name].arch.model_dump(exclude_unset=True), **from_data}
    elif (folder := public_configs.find(name)) is not None:
        fields = {**public_configs.read(folder).fields, **from_data}
    else:
        folder = run_folder(name)
        assert folder is not None
        fields = {**read_object(folder / "model.json")["arch"], **from_data}
    try:
        return Arch(**{**fields, **settings(changes)})
    except UserError as error:
        raise UserError(f"{name}: {error}" if name.endswith(".json") else str(error)) from None


def refuse_unknown(name: str) -> None:
    """Refuse a name of no network and a file that cannot be read; it takes no data to say so."""
    if _is_row(name):
        _row(name)
    elif name.endswith(".json"):
        read_json(Path(name))
    elif name not in presets() and public_configs.find(name) is None and run_folder(name) is None:
        raise unknown("preset", name, presets(), "or a file: NAME.json, a row of a table: fifty:n50")


def run_folder(source: str) -> Path | None:
    """Return the folder of a run with a network (`model.json`) by its path, its weights or its name."""
    path = Path(source)
    known = [path.parent] if path.name == "model.safetensors" else [path]
    if path.name == source:
        known += [Path("runs", verb, source) for verb in ("train", "pretrain")]
    for folder in known:
        if (folder / "model.json").is_file() and "arch" in read_object(folder / "model.json"):
            return folder
    return None


def networks(path: Path, **from_data: Any) -> list[Named]:
    """Return the networks of a file without its accuracies; the first fault is named with its position."""
    found: list[Named] = []
    seen: dict[Any, int] = {}
    for index, row in enumerate(_rows(path), 1):
        name = str(row.get("name", f"net{index}"))
        found.append(Named(name, _network(row, f"{path}: entry {index}", from_data)))
    for index, (name, arch) in enumerate(found, 1):
        for key, what in ((name, f"the name '{name}'"), (arch, "the same network")):
            if key in seen:
                raise UserError(f"{path}: entries {seen[key]} and {index} have {what}")
            seen[key] = index
    return found


def file(words: Sequence[str]) -> Path | None:
    """Return the path of the table that `--archs` names (`fifty` or a FILE.json), None if it names none."""
    found = [word for word in words if word == "fifty" or word.endswith(".json")]
    if not found:
        return None
    if len(words) > 1:
        raise UserError(f"--archs {','.join(words)}: one table stands alone, here {found[0]}")
    return PACKAGE / "arch" / "fifty.json" if found == ["fifty"] else Path(found[0])


def columns(path: Path, wanted: str | None = None) -> list[str]:
    """Return the accuracy columns (names ending in `acc` or `accuracy`), or the wanted one; read no value."""
    names = {key: None for row in _rows(path) if "arch" in row for key in row if key not in ("name", "arch")}
    if wanted is None:
        return [name for name in names if name.endswith(("acc", "accuracy"))]
    if wanted not in names:
        raise unknown(f"accuracy column in {path}", wanted, names)
    return [wanted]


def accuracies(path: Path, column: str) -> list[float | None]:
    """Return a column of accuracies as fractions, in the order of the networks; None: not measured."""
    rows = enumerate(_rows(path), 1)
    return [_accuracy(row, column, f"{path}: entry {index}: {column}") for index, row in rows]


def refuse_bad_accuracies(path: Path, column: str) -> None:
    """Refuse a column with an entry that is no accuracy; the values themselves are not returned."""
    for index, row in enumerate(_rows(path), 1):
        _accuracy(row, column, f"{path}: entry {index}: {column}")


def measured_on(path: Path, column: str) -> str | None:
    """Return the name of the data on which a column of accuracies was measured; None: it is not named."""
    found = about(path, "data")
    found = found.get(column) if isinstance(found, dict) else found
    if found is not None and not isinstance(found, str):
        raise UserError(
            f"{path}: data: must be the name of a data set, or one for each column, not {found!r}"
        )
    return found


def about(path: Path, key: str) -> Any:
    """Return another top-level key of a table, None if it is absent."""
    content = read_json(path)
    return content.get(key) if isinstance(content, dict) and "archs" in content else None


def _is_row(name: str) -> bool:
    """Whether a name is TABLE:ROW."""
    table = name.rpartition(":")[0]
    return table == "fifty" or table.endswith(".json")


def _row(name: str) -> dict[str, Any]:
    """Return the entry that TABLE:ROW names; other rows need not fit the data."""
    table, _, wanted = name.rpartition(":")
    path = file([table])
    assert path is not None
    found = {str(row.get("name", f"net{index}")): row for index, row in enumerate(_rows(path), 1)}
    if wanted not in found:
        raise unknown(f"network in {table}", wanted, found)
    return found[wanted]


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = read_json(path)
    if isinstance(rows, dict):
        rows = rows.get("archs", [{"name": path.stem, "arch": rows}])
    if not isinstance(rows, list) or not rows:
        raise UserError(f"{path}: holds no list of networks")
    if len(rows) > LONGEST_TABLE:
        raise UserError(f"{path}: {len(rows):,} networks, at most {LONGEST_TABLE:,} are read")
    for index, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise UserError(f"{path}: entry {index}: not a network but {type(row).__name__}")
        if not isinstance(row.get("arch", {}), dict):
            raise UserError(f"{path}: entry {index}: arch: not a network but {type(row['arch']).__name__}")
    return rows


def _network(row: Mapping[str, Any], where: str, from_data: dict[str, Any]) -> Arch:
    described = row["arch"] if "arch" in row else {key: row[key] for key in row if key != "name"}
    try:
        return Arch(**{**from_data, **_arch_fields(described, where)})
    except UserError as error:
        raise UserError(f"{where}: {str(error).removeprefix(where + ': ')}") from None


def _arch_fields(described: Any, where: str) -> dict[str, Any]:
    """Return the fields of an Arch from either format."""
    if not isinstance(described, dict):
        raise UserError(f"{where}: not a network but {type(described).__name__}")
    if THREE_STAGE_FIELDS & described.keys():
        lacks = "stages of different widths, pooling between them and overlapping patches"
        raise UserError(f"{where}: a network of the PiT space (base_dim) has {lacks}, which an Arch has not")
    if not PUBLIC_FIELDS & described.keys():
        return {key: value for key, value in described.items() if key != "summary"}
    known = PUBLIC_FIELDS | {"depth"}
    strange = sorted(described.keys() ^ known)
    if strange:
        fault = f"{strange[0]} {'is missing' if strange[0] in known else 'is not known'}"
        raise UserError(f"{where}: the public dialect is {', '.join(sorted(known))}: {fault}")
    return _from_public(described, where)


def _from_public(described: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the network of the public ViT benchmarks: biased qkv, mean of the patch tokens, patch 16."""
    width, depth = described["hidden_dim"], described["depth"]
    heads, ratios = described["num_heads"], described["mlp_ratio"]
    if not isinstance(width, int) or not isinstance(heads, list) or not isinstance(ratios, list):
        raise UserError(f"{where}: hidden_dim must be a whole number, num_heads and mlp_ratio lists")
    if not all(type(count) is int and count > 0 for count in heads):
        raise UserError(f"{where}: num_heads must hold positive whole numbers")
    if odd := [count for count in heads if width % count]:
        raise UserError(f"{where}: num_heads {odd[0]} does not divide hidden_dim {width}")
    if not all(isinstance(ratio, int | float) and 0 < ratio <= 64 for ratio in ratios):
        raise UserError(f"{where}: mlp_ratio must hold numbers above 0 and at most 64")
    dims, mlp = [width // count for count in heads], [int(width * ratio) for ratio in ratios]
    fields = {"patch": 16, "width": width, "depth": depth, "heads": heads, "head_dim": dims, "mlp": mlp}
    return fields | {"pooling": "mean", "qkv_bias": True, "init": "public"}


def _accuracy(row: Mapping[str, Any], column: str, where: str) -> float | None:
    """Return an accuracy as a fraction; the public format has percent."""
    value = row.get(column) if "arch" in row else None
    if value is None:
        return None
    percent = bool(PUBLIC_FIELDS & row["arch"].keys())
    fraction = value / (100 if percent else 1) if isinstance(value, int | float) else -1
    if not 0 <= fraction <= 1:
        raise UserError(f"{where}: {value!r} is not an accuracy ({'percent' if percent else 'a fraction'})")
    return fraction
