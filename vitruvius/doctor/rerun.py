"""Run a copy of a script under watch, in a process of its own, and leave its diagnosis in a file."""

import sys
from pathlib import Path

from vitruvius.core import files
from vitruvius.doctor.script import run_script


def main(copy: str, out: str, steps: str, script: str, *arguments: str) -> int:
    """Run the program of the copy as if it lay where the script does."""
    source = Path(copy).read_bytes()
    result = run_script(script, arguments, int(steps) or None, to_stderr=True, source=source)
    files.write(Path(out), result.model_dump_json())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
