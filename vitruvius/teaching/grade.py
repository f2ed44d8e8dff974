"""Grade a class: every file on its own, then the table of students and the overview of the steps."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from vitruvius.core import files
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError, reason, unknown
from vitruvius.core.visible import visible
from vitruvius.render import page
from vitruvius.teaching import answers, check, report
from vitruvius.teaching.key import Key, Variant, solution_of
from vitruvius.teaching.results import Broken, Grades, Judged, LessonGrade, StudentGrade, Tally

MOST_FILES = 5000
LONGEST_NAME = 100


class HandedIn(Strict):
    """What a file of a student holds."""

    student: str = ""
    variant: int = 1
    answers: dict[str, dict[str, Any]]


def files_of(named: Sequence[str]) -> list[Path]:
    """The JSON and CSV files that are named, or lie in the named folders."""
    found: list[Path] = []
    for name in named:
        path = Path(name)
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix.lower() in (".json", ".csv"))
            if not inside:
                raise UserError(f"{path}: the folder holds no JSON or CSV file")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise UserError(f"{path}: no such file or folder")
    if len(found) > MOST_FILES:
        raise UserError(f"{len(found):,} files are named, at most {MOST_FILES:,} are graded at once")
    return list(dict.fromkeys(found))


def one(key: Key, path: Path) -> StudentGrade | Broken:
    """The grade of one file, or what is wrong with it."""
    try:
        return _graded(key, path)
    except UserError as error:
        said = str(error)
        return Broken(file=str(path), reason=said.removeprefix(f"{path}: "))
    except OSError as error:
        return Broken(file=str(path), reason=reason(error))


def collected(graded: Sequence[StudentGrade | Broken]) -> Grades:
    """All grades; files of students with one name are left out, since nobody knows whose is whose."""
    students = [one for one in graded if isinstance(one, StudentGrade)]
    broken = [one for one in graded if isinstance(one, Broken)]
    by_name = {name: list(group) for name, group in groupby(sorted(students, key=_name), key=_name)}
    for group in by_name.values():
        if len(group) > 1:
            said = f"{len(group)} files are of a student called '{visible(group[0].student)}'"
            others = ", ".join(one.file for one in group)
            broken += [Broken(file=one.file, reason=f"{said} ({others}): none is graded") for one in group]
    single = tuple(group[0] for group in by_name.values() if len(group) == 1)
    overview = tuple(_overview(single))
    blocks = tuple(_blocks(single, broken, overview))
    return Grades(students=single, broken=tuple(broken), overview=overview, blocks=blocks)


def write(grades: Grades, folder: Path) -> str:
    """Write the grades as HTML, CSV (per student and per step) and JSON; returns what was written."""
    report.make_folder(folder, folder)
    files.write(folder / "grades.html", page.page("Grades", grades.blocks))
    files.write_json(folder / "grades.json", grades.model_dump(mode="json"))
    names = ["grades.html", "grades.json"]
    for name, rows in (("grades.csv", _student_rows(grades)), ("steps.csv", _step_rows(grades))):
        if rows:
            files.write(folder / name, files.csv_text(rows))
            names.append(name)
    return f"wrote {', '.join(names)} in {folder}"


def _graded(key: Key, path: Path) -> StudentGrade:
    handed_in = HandedIn(**answers.handed_in(path))
    student = handed_in.student.strip() or path.stem
    if len(student) > LONGEST_NAME:
        raise UserError(f"the student's name has {len(student)} characters, at most {LONGEST_NAME} are read")
    if not 1 <= handed_in.variant <= len(key.variants):
        raise UserError(f"variant is {handed_in.variant}, the key has 1 to {len(key.variants)}")
    for name in handed_in.answers:
        if name not in key.lessons:
            raise unknown("exercise in the key", name[:60], key.lessons)
    sheet = key.variants[handed_in.variant - 1]
    lessons = tuple(_lesson(sheet, name, handed_in.answers.get(name, {})) for name in key.lessons)
    return StudentGrade(
        student=student,
        file=str(path),
        variant=handed_in.variant,
        points=sum(lesson.points for lesson in lessons),
        possible=sum(lesson.possible for lesson in lessons),
        lessons=lessons,
    )


def _lesson(sheet: Variant, name: str, given: dict[str, Any]) -> LessonGrade:
    try:
        judged = tuple(check.judge(solution_of(sheet.exercises[name], name), given))
    except UserError as error:
        raise UserError(f"{name}: {error}") from None
    first = next((one for one in judged if one.status == "wrong"), None)
    return LessonGrade(
        lesson=name,
        points=sum(one.points for one in judged),
        possible=len(judged),
        carried=sum(one.status == "consistent" for one in judged),
        first_wrong=first.name if first else None,
        mistake=" or ".join(first.says) if first else "",
        values=judged,
    )


def _name(student: StudentGrade) -> str:
    return student.student.casefold()


def _overview(students: Sequence[StudentGrade]) -> Iterator[Tally]:
    """How often each value was right, consistent, wrong or missing."""
    by_value: dict[tuple[str, str], list[Judged]] = {}
    for student in students:
        for lesson in student.lessons:
            for judged in lesson.values:
                by_value.setdefault((lesson.lesson, judged.name), []).append(judged)
    for (name, value), found in by_value.items():
        counts = Counter(judged.status for judged in found)
        made = Counter(judged.says[0] for judged in found if judged.says)
        statuses = {status: counts[status] for status in ("right", "consistent", "wrong", "missing")}
        yield Tally(lesson=name, value=value, **statuses, mistakes=dict(made.most_common()))


def _blocks(
    students: Sequence[StudentGrade], broken: Sequence[Broken], overview: Sequence[Tally]
) -> Iterator[Block]:
    points, possible = sum(one.points for one in students), sum(one.possible for one in students)
    share = f", {points / possible:.0%} of all points" if possible else ""
    graded = f"{counted(len(students), 'student')} graded{share}"
    unread = f"{counted(len(broken), 'file')} could not be read"
    yield Text(text=f"{graded}; {unread}.")
    for one in broken:
        yield Text(text=f"{visible(one.file)}: {visible(one.reason)}", style="error")
    columns = ("student", "variant", "points", "of", "carried forward", "first wrong", "mistake")
    rows = tuple(
        (
            visible(one.student),
            one.variant,
            one.points,
            one.possible,
            sum(lesson.carried for lesson in one.lessons),
            "; ".join(
                f"{lesson.lesson}: {lesson.first_wrong}" for lesson in one.lessons if lesson.first_wrong
            ),
            "; ".join(lesson.mistake for lesson in one.lessons if lesson.mistake),
        )
        for one in students
    )
    if rows:
        yield Table(title="Students", columns=columns, rows=rows)
        columns = ("exercise", "value", "right", "consistent", "wrong", "missing", "most frequent mistake")
        tallies = tuple(
            (t.lesson, t.value, t.right, t.consistent, t.wrong, t.missing, _most_frequent(t))
            for t in overview
        )
        yield Table(title="Which step went wrong how often", columns=columns, rows=tallies)


def _most_frequent(tally: Tally) -> str:
    return next((f"{says} ({count})" for says, count in tally.mistakes.items()), "")


def _student_rows(grades: Grades) -> list[dict[str, Any]]:
    """One row per student, with the points of every exercise."""
    rows = []
    for one in grades.students:
        row: dict[str, Any] = {"student": _inert(one.student), "variant": one.variant}
        row |= {"points": one.points, "possible": one.possible}
        for lesson in one.lessons:
            row |= {f"{lesson.lesson} points": lesson.points, f"{lesson.lesson} possible": lesson.possible}
            row |= {f"{lesson.lesson} carried forward": lesson.carried}
            row |= {f"{lesson.lesson} first wrong": lesson.first_wrong or ""}
            row |= {f"{lesson.lesson} mistake": lesson.mistake}
        rows.append(row)
    return rows


def _step_rows(grades: Grades) -> list[dict[str, Any]]:
    """One row per student and value."""
    return [
        {
            "student": _inert(one.student),
            "variant": one.variant,
            "lesson": lesson.lesson,
            "value": judged.name,
            "verdict": judged.status,
            "points": judged.points,
            "mistake": " or ".join(judged.says),
        }
        for one in grades.students
        for lesson in one.lessons
        for judged in lesson.values
    ]


def _inert(name: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    return f"'{name}" if name[:1] in "=+-@\t\r" else name
