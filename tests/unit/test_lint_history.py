"""Faults from public histories: the files of cases, where a fault is, and what counts as told and as silent."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from benchmarks.lint_history import __main__ as command
from benchmarks.lint_history import cases, clones, judge, linting, table
from benchmarks.lint_history.cases import CaseError, Fix, Half, Trap
from benchmarks.lint_history.judge import Judged, Place, Revision
from benchmarks.lint_history.linting import File, Linted, Told
from ddpdoctor.lint import registry

BEFORE = """import torch.distributed as dist


def save(model):
    if dist.get_rank() == 0:
        write(model)
        dist.barrier()
    return model


def load():
    dist.barrier()
"""
AFTER = BEFORE.replace("        dist.barrier()\n    return", "    dist.barrier()\n    return")
FIX = Fix("o/r", "b" * 40, "a" * 40, "train.py", (7,), "DD111", "Only rank 0 waits.", siblings=("DD112",))


def told(code: str, *lines: int, path: str = "train.py", by_default: bool = True) -> Told:
    return Told(code, by_default, tuple((path, line) for line in lines))


def judged(before: tuple[Told, ...], after: tuple[Told, ...] = (), fix: Fix = FIX) -> Judged:
    return judge.judge(fix, Revision({"train.py": BEFORE}, before), Revision({"train.py": AFTER}, after))


@pytest.mark.parametrize("half", cases.HALVES)
def test_every_fix_is_in_its_half_once_and_names_rules_that_exist(half: Half) -> None:
    fixes = cases.read_fixes(half)
    assert len({fix.key for fix in fixes}) == len(fixes) > 60
    for fix in fixes:
        assert cases.half_of(fix.repository) == half
        assert len(fix.commit) == len(fix.parent) == 40
        assert fix.commit != fix.parent
        assert fix.lines
        assert set(fix.rules) <= set(registry.names()), fix.key
        assert fix.fault.endswith("."), fix.key


def test_the_halves_are_sorted_and_have_no_repository_in_common() -> None:
    mine = {half: [fix.repository.lower() for fix in cases.read_fixes(half)] for half in cases.HALVES}
    assert all(names == sorted(names) for names in mine.values())
    assert not set(mine["learn"]) & set(mine["measure"])


def test_there_are_enough_fair_fixes() -> None:
    fair = [fix for half in cases.HALVES for fix in cases.read_fixes(half) if not fix.unfair]
    assert len(fair) >= 120
    assert len({fix.rule for fix in fair}) >= 25


def test_every_trap_is_at_a_place_of_its_own_and_names_rules_that_exist() -> None:
    traps = cases.read_traps()
    assert len({(trap.repository, trap.path, trap.line, trap.rules) for trap in traps}) == len(traps) >= 60
    for trap in traps:
        assert set(trap.rules) <= set(registry.names()), trap.key
        assert len(trap.commit) == 40
        assert trap.why.endswith("."), trap.key


def test_the_half_depends_on_the_name_only() -> None:
    assert cases.half_of("Owner/Name") == cases.half_of("owner/name")
    assert {cases.half_of(f"owner/{number}") for number in range(20)} == {"learn", "measure"}


@pytest.mark.parametrize(("text", "message"), [
    ("[[fix]]\nrepository = 'a/b'\ncolour = 1\n", "unknown key 'colour'"),
    ("[[fix]]\nrepository = 'a/b'\n", "no 'commit'"),
    ("[[fix]\n", "learn.toml"),
])  # fmt: skip
def test_a_wrong_record_is_an_error_in_one_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "learn.toml").write_text(text)
    monkeypatch.setattr(cases, "FOLDER", tmp_path)
    with pytest.raises(CaseError, match=message) as error:
        cases.read_fixes("learn")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("line", [4, 5, 7, 9])
def test_a_finding_near_the_line_that_goes_is_found(line: int) -> None:
    assert judged((told("DD111", line),)) == Judged(found=True, found_by_default=True, silent=True)


def test_a_sibling_and_a_related_place_count() -> None:
    assert judged((told("DD112", 1, 7),)).found


def test_a_place_elsewhere_counts_where_it_is_named() -> None:
    finding = told("DD111", 12)
    assert not judged((finding,)).found
    assert judged((finding,), fix=dataclasses.replace(FIX, elsewhere=("train.py:12",))).found


def test_another_rule_another_place_and_another_file_do_not_count() -> None:
    others = (told("DD113", 7), told("DD111", 12), told("DD111", 7, path="other.py"))
    assert judged(others) == Judged(found=False, found_by_default=False, silent=True)


def test_what_is_told_after_the_fix_as_well_is_neither_found_nor_silent() -> None:
    assert judged((told("DD111", 7),), (told("DD111", 7),)) == Judged(found=False, found_by_default=False, silent=False)


def test_another_fault_of_the_function_may_stay() -> None:
    long = BEFORE.replace("        write(model)\n", "        write(model)\n" * 10)
    fix = dataclasses.replace(FIX, lines=(16,))
    stays = told("DD111", 6)
    result = judge.judge(
        fix,
        Revision({"train.py": long}, (stays, told("DD111", 16))),
        Revision({"train.py": long.replace("        dist.barrier()\n    return", "    return")}, (stays,)),
    )
    assert result == Judged(found=True, found_by_default=True, silent=True)


def test_a_hint_is_found_only_where_hints_are_asked_for() -> None:
    assert judged((told("DD111", 7, by_default=False),)) == Judged(found=True, found_by_default=False, silent=True)


def test_a_file_that_the_fix_deleted_is_silent() -> None:
    result = judge.judge(FIX, Revision({"train.py": BEFORE}, (told("DD111", 7),)), Revision({}, ()))
    assert result == Judged(found=True, found_by_default=True, silent=True)


def test_a_line_is_followed_through_the_fix() -> None:
    assert judge.moved("a\nb\nc\n", "x\na\nb\nc\n", (2,)) == (3,)
    assert judge.moved("a\nb\nc\n", "a\nc\n", (2,)) == (2,)


@pytest.mark.parametrize(("text", "line", "span"), [
    (BEFORE, 7, (4, 8)),
    (BEFORE, 1, (1, 1)),
    ("class A:\n    x = 1\n    def f(self):\n        def g():\n            pass\n", 5, (4, 5)),
    ("class A:\n    x = 1\n", 2, None),
    ("print 'Python 2'\n", 1, None),
])  # fmt: skip
def test_the_place_of_a_line_is_its_innermost_function(text: str, line: int, span: tuple[int, int] | None) -> None:
    assert judge.place_of("a.py", text, (line,)) == Place("a.py", (line,), (span,) if span else ())


def test_a_trap_is_silent_without_warnings_of_its_rules_at_its_line() -> None:
    trap = Trap("o/r", "a" * 40, "train.py", 7, ("DD111",), "Both sides wait.")
    assert judge.is_silent(trap, [told("DD113", 7), told("DD111", 20), told("DD111", 7, by_default=False)])
    assert not judge.is_silent(trap, [told("DD111", 30, 8)])


def test_the_table_counts_unfair_and_unfinished_fixes_apart() -> None:
    unfair = dataclasses.replace(FIX, unfair="nothing shows it")
    unfinished = dataclasses.replace(FIX, unfinished="half of it stays")
    yes, no = Judged(True, True, True), Judged(False, False, False)
    rows = table.of_fixes([(FIX, yes), (unfair, no), (unfinished, no)]).splitlines()
    assert rows[-1] == "| all | 1/2 | 1/2 | 1/2 |"
    assert table.of_misses([(FIX, yes), (unfair, yes), (unfinished, no)]) == f"not found: {FIX.key}: {FIX.fault}"


def _repository(folder: Path) -> tuple[str, str]:
    """A repository with the fault, its fix, and a file that is no source. Gives both commits."""

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

    folder.mkdir(parents=True)
    git("init", "-q")
    commits = []
    for text in (BEFORE, AFTER):
        (folder / "train.py").write_text(text)
        (folder / "notes.txt").write_text(text)
        git("add", ".")
        git("commit", "-q", "-m", "a commit")
        commits.append(git("rev-parse", "HEAD").strip())
    return commits[0], commits[1]


@pytest.mark.parametrize("name", ["o+r", "o/r", "o+r/repo"])
def test_a_clone_is_found_by_its_name_and_its_trees_hold_the_sources(name: str, tmp_path: Path) -> None:
    first, _ = _repository(tmp_path / "clones" / name)
    clone = clones.find(tmp_path / "clones", "o/r")
    assert clone is not None
    assert clones.find(tmp_path / "clones", "o/other") is None
    clones.extract(clone, first, tmp_path / "tree")
    assert sorted(path.name for path in (tmp_path / "tree").iterdir()) == ["notes.txt", "train.py"]
    assert clones.text(clone, first, "train.py") == BEFORE
    with pytest.raises(clones.CloneError) as error:
        clones.text(clone, first, "gone.py")
    assert "\n" not in str(error.value)


def test_a_run_tells_what_is_found_and_remembers_what_it_linted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = _repository(tmp_path / "clones" / "o+r")
    fix = dataclasses.replace(FIX, parent=first, commit=second)
    trap = Trap("o/r", second, "train.py", 7, ("DD111",), "All ranks wait.")
    gone = dataclasses.replace(FIX, repository="o/gone")
    half = cases.half_of("o/r")
    monkeypatch.setattr(cases, "read_fixes", lambda asked: (fix, gone) if asked == half else ())
    monkeypatch.setattr(cases, "read_traps", lambda: (trap,))
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr("sys.argv", ["lint_history", str(tmp_path / "clones"), "--half", half, "--jobs", "1"])
    assert command.main() == 0
    out, err = capsys.readouterr()
    assert "| all | 1/1 | 1/1 | 1/1 |" in out
    assert f"{half}: 1 fixes (1 could not be linted)" in out
    assert "traps: 1 of 1 are silent" in out
    assert f"o/gone: no clone in {tmp_path / 'clones'}" in err
    assert "trees left" in err
    with (tmp_path / "results.jsonl").open("a") as cut_off:
        cut_off.write('{"engine": ')
    assert command.main() == 0
    again = capsys.readouterr()
    assert again.out == out
    assert "trees left" not in again.err


def test_a_file_that_takes_too_long_is_an_error_in_one_line(tmp_path: Path) -> None:
    first, _ = _repository(tmp_path / "clones" / "o+r")
    file = File("o/r", first, "train.py")
    results = linting.lint_all(
        [file], tmp_path / "clones", tmp_path / "results.jsonl", jobs=1, limit=0.001, progress=lambda _: None
    )
    assert results == {file: Linted(error="train.py: not linted within 0 s")}


def test_the_files_that_import_a_file_are_linted_with_it(tmp_path: Path) -> None:
    for path, text in (
        ("package/helper.py", ""), ("package/user.py", "from .helper import save\n"),
        ("package/other.py", "x = 'helper'\n"), ("train.py", "import package.helper\n"),
    ):  # fmt: skip
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert linting.importers(tmp_path, "package/helper.py") == ["package/user.py", "train.py"]
    assert linting.importers(tmp_path, "train.py") == []
