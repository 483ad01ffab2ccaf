"""Programs that the engine has not seen: their answers are read, and what was said is compared with them."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import accuracy_page, first_runs
from benchmarks.first_runs import Expected, judge, read
from tests.e2e.job import Run

PROGRAM = """import torch.distributed as dist

def settle():
    dist.barrier()

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    settle()
dist.destroy_process_group()
"""
EXPECTED = """
summary = "One rank waits alone."
ranks = 3
outcome = "hang"
codes = ["DD203"]
culprits = [1]
file = "train.py"
text = "    settle()"
also = [{file = "train.py", text = "dist.barrier()"}]
behind = true
reason = "The others leave."
"""


@pytest.fixture
def program(tmp_path: Path) -> Expected:
    folder = tmp_path / "set" / "alone"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(PROGRAM)
    (folder / "expected.toml").write_text(EXPECTED)
    return read(folder)


def report(outcome: str = "hang", **diagnosis: Any) -> dict[str, Any]:
    first = {
        "code": "DD203",
        "confidence": "certain",
        "culprit_confidence": "certain",
        "culprits": [1],
        "locations": [{"file": "/elsewhere/train.py", "line": 8}],
        **diagnosis,
    }
    return {"outcome": outcome, "deadlock": "proven" if outcome == "hang" else "no", "diagnoses": [first]}


def done(*reports: dict[str, Any], status: int | None = None) -> Run:
    return Run(status, reports, "", "", 9.0, Path("bundle"))


def test_lines_are_found_by_their_text(program: Expected) -> None:
    assert program.places == (("train.py", 8), ("train.py", 4))


@pytest.mark.parametrize(
    "folder", sorted(path for path in first_runs.SETS.iterdir() if path.is_dir()), ids=lambda path: path.name
)
def test_the_answers_of_every_set_can_be_read(folder: Path) -> None:
    programs = first_runs.programs(folder)
    assert len(programs) == sum(path.is_dir() and path.name != "__pycache__" for path in folder.iterdir())
    assert all(bool(program.codes) is not program.harmless for program in programs)


def test_a_text_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "expected.toml").write_text(EXPECTED.replace('"    settle()"', '"settle()"'))
    with pytest.raises(ValueError, match="occurs 2 times"):
        read(tmp_path)


def test_all_is_right(program: Expected) -> None:
    found = judge(program, done(report()))
    assert found.right == ("outcome", "code", "culprits", "line")
    assert not found.wrongly_certain


def test_a_line_that_is_as_right_counts(program: Expected) -> None:
    assert "line" in judge(program, done(report(locations=[{"file": "train.py", "line": 4}]))).right


def test_the_jump_that_is_all_of_a_named_condition_counts(program: Expected) -> None:
    code = "for x in data:\n    if x.bad:\n        break\n    if x.odd:\n        log(x)\n        continue\n"
    (program.folder / "train.py").write_text(code)
    answer = 'outcome = "hang"\nranks = 2\nfile = "train.py"\ntext = "{text}"\n'
    lines = []
    for text in ("if x.bad:", "if x.odd:"):
        (program.folder / "expected.toml").write_text(answer.format(text=text))
        lines.append([line for _, line in read(program.folder).places])
    assert lines == [[2, 3], [4]]


@pytest.mark.parametrize(
    ("diagnosis", "missing", "grave"),
    [
        ({"code": "DD206"}, "code", True),
        ({"code": "DD206", "confidence": "likely"}, "code", False),
        ({"culprits": [0]}, "culprits", True),
        ({"culprits": [0], "culprit_confidence": "possible"}, "culprits", False),
        ({"locations": []}, "line", False),
    ],
)
def test_what_is_wrong_is_told_apart(program: Expected, diagnosis: dict[str, Any], missing: str, grave: bool) -> None:
    found = judge(program, done(report(**diagnosis)))
    assert missing not in found.right
    assert found.wrongly_certain is grave


def test_a_set_has_a_row_of_its_own_without_invalid_runs(program: Expected) -> None:
    right = judge(program, done(report()))
    wrong = dataclasses.replace(judge(program, done(report(code="DD206"))), commit="abc")
    healthy = dataclasses.replace(right, expected="healthy  []", right=(), commit="abc")
    runs = [dataclasses.replace(right, commit="abc"), wrong, healthy, dataclasses.replace(wrong, invalid="no port")]
    text = accuracy_page.page([], [], {}, unseen={"plain": runs})
    assert "| plain | abc | 2 | 1 | 2 | 2 | 1 | 1 | 1 | 1 | 1 |" in text


def test_without_a_report_nothing_is_right(program: Expected) -> None:
    assert judge(program, done()).right == ()


def test_a_harmless_program_must_end_by_itself(program: Expected) -> None:
    healthy = dataclasses.replace(program, outcome="healthy", codes=(), culprits=(), places=())
    assert judge(healthy, done(status=0)).right == ("outcome",)
    assert judge(healthy, done(report("slow", confidence="likely"), status=0)).right == ("outcome",)
    assert judge(healthy, done(status=124)).right == ()
    stopped = judge(healthy, done(report(), report("crash"), status=124))
    assert stopped.right == ()
    assert stopped.outcome == "hang"
    assert stopped.wrongly_certain


def test_a_program_with_a_result_is_not_run_again(
    program: Expected, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = judge(program, done(report()))
    folder = program.folder.parent
    results = folder / first_runs.RESULTS
    results.write_text(json.dumps(dataclasses.asdict(found)) + "\n")
    assert first_runs.results(results) == [found]
    monkeypatch.setattr("sys.argv", ["first_runs", str(folder)])
    assert first_runs.main() == 0
    assert "0 are to be run" in capsys.readouterr().err
