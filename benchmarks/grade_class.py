"""How long grading takes: 300 students with five exercises each, as JSON files on disk; at most 60 s.

    python -m benchmarks.grade_class            30 variants, 300 students
    python -m benchmarks.grade_class --quick    2 variants, 10 students, nothing recorded

A third of the students is right, a third makes one of the common mistakes in every exercise, a third writes
a wrong first value and goes on rightly.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import record
from vitruvius import lessons
from vitruvius.teaching import grade, key
from vitruvius.teaching.key import Key

LESSONS = ("attention", "bptt", "multihead", "zero_cost", "message_passing")
LIMIT = 60.0


def handed_in(made: Key, student: int, dice: random.Random) -> dict[str, Any]:
    """The file of one student."""
    sheet = made.variants[student % len(made.variants)]
    answers: dict[str, Any] = {}
    for name, exercise in sheet.exercises.items():
        solution = key.solution_of(exercise, name)
        lines = solution.lines()
        mistakes = [mistake for line in lines.values() for mistake in line.mistakes]
        if student % 3 == 1:
            lines = solution.lines(made=[dice.choice(mistakes)])
        answers[name] = {asked: lessons.plain(line.value) for asked, line in lines.items()}
        if student % 3 == 2:
            first = next(iter(lines))
            wrong = _shifted(answers[name][first])
            after = solution.lines({first: wrong}).items()
            answers[name] = {asked: lessons.plain(line.value) for asked, line in after} | {first: wrong}
    return {"student": f"student {student}", "variant": sheet.variant, "answers": answers}


def _shifted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shifted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shifted(item) for item in value]
    return float(value) + 0.25 if not isinstance(value, str) else value


def main() -> None:
    """Make the sheets and the files, grade them, and record the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    variants, students = (2, 10) if quick else (30, 300)
    load = 0.0 if quick else record.refuse_if_busy()
    made, _ = key.make(LESSONS, variants, 0)
    with tempfile.TemporaryDirectory() as folder:
        for student in range(students):
            content = json.dumps(handed_in(made, student, random.Random(student)))
            Path(folder, f"{student:03d}.json").write_text(content)
        key._solution.cache_clear()  # grading begins with nothing but the key
        started = time.perf_counter()
        grades = grade.collected([grade.one(made, path) for path in grade.files_of([folder])])
        grade.write(grades, Path(folder, "grades"))
        seconds = time.perf_counter() - started
    right = sum(one.points == one.possible for one in grades.students)
    row = {"students": students, "lessons": len(LESSONS), "variants": variants, "seconds": round(seconds, 2)}
    print(row, f"{right} all right, {len(grades.broken)} broken")
    if not quick:
        record.write("grade_class", [row], load=load, limit_seconds=LIMIT)


if __name__ == "__main__":
    main()
