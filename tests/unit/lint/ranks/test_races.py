"""Questions for a file that another rank may be writing."""

from __future__ import annotations

from ddpdoctor.lint.ranks.races import decides, races
from ddpdoctor.lint.values.symbols import file_question
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Symbol, Taint
from tests.unit.lint.traces import asked, branch, op, unknown_condition, written


def _question() -> tuple[Symbol]:
    """Whether the file is there. Numbers of symbols are forgotten between analyses, so it is asked anew."""
    return (Symbol(file_question("cache", "file"), Taint.FILES),)


def test_asked_and_written_with_no_collective_between() -> None:
    assert not races((branch(_question()),))
    head = branch(_question(), (), (written("cache"),))
    assert list(races((asked("cache"), head))) == [head.site]


def test_a_collective_between_keeps_them_apart() -> None:
    head = branch(_question(), (), (op("barrier"), written("cache")))
    assert races((asked("cache"), head)) == {}


def test_a_collective_of_some_ranks_keeps_nothing_apart() -> None:
    head = branch(_question(), (), (op("barrier", (0, 1)), written("cache")))
    assert list(races((asked("cache"), head))) == [head.site]


def test_another_file_is_no_race() -> None:
    assert races((asked("cache"), branch(_question(), (), (written("other"),)))) == {}


def test_a_branch_is_decided_by_files_alone() -> None:
    assert decides(branch(_question()))
    assert decides(branch(_question(), tags=Tag.FILE))
    assert not decides(branch(_question(), tags=Tag.FILE | Tag.BATCH))
    assert not decides(branch(_question(), tags=Tag.OWN_FILE))
    assert not decides(branch(unknown_condition(1)))
