"""How long a look waits for stacks that ranks take of themselves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ddpdoctor.collect import about_to_note
from ddpdoctor.collect.capture import Sample
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.writer import PageWriter

PID = 100
WORKER = Worker(PID, 1.0, Role.RANK, rank=Rank(0))
REFUSED = Gap(Source.STACKS, Rank(0), "py-spy may not attach: it is 3")
SAMPLE = Sample(10.0, (WORKER,), (), (REFUSED,))
#: readings of the page after which these tests change something
SOME = 3


@pytest.fixture
def page(tmp_path: Path) -> PageWriter:
    return PageWriter(str(tmp_path / f"{PID}.page"), {"pid": PID, "rank": 0})


class Clock:
    """Time that passes only in sleeps, in which something may happen."""

    def __init__(self, page: PageWriter, happens: str = "", after: int = SOME) -> None:
        self.now, self.slept = time.monotonic(), 0
        self._page, self._happens, self._after = page, happens, after

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1
        if self.slept == self._after and self._happens == "taken":
            self._page.stacks({"revision": self._page.revision()})
        if self.slept == self._after and self._happens == "moved":
            self._page.moved()


def _waited(monkeypatch: pytest.MonkeyPatch, run: Path, clock: Clock, sample: Sample = SAMPLE) -> int:
    """Readings until the wait was over."""
    monkeypatch.setattr(about_to_note, "time", clock)
    about_to_note.wait(sample, run)
    return clock.slept


@pytest.mark.parametrize("happens", ["taken", "moved"])
def test_until_the_rank_has_taken_them_or_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: PageWriter, happens: str
) -> None:
    assert _waited(monkeypatch, tmp_path, Clock(page, happens)) == SOME


def test_stacks_of_an_earlier_stand_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: PageWriter) -> None:
    page.stacks({"revision": page.revision()})
    page.moved()
    assert _waited(monkeypatch, tmp_path, Clock(page, "taken")) == SOME


def test_not_for_ever(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: PageWriter) -> None:
    clock = Clock(page)
    began = clock.now
    _waited(monkeypatch, tmp_path, clock)
    assert clock.now - began == pytest.approx(about_to_note.LONGEST, abs=2 * about_to_note.READING)


def test_not_for_what_is_there_or_does_not_come(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: PageWriter
) -> None:
    """Stacks that are read from outside; a rank without a page; a heart that stands; stacks that were taken."""
    assert _waited(monkeypatch, tmp_path, Clock(page), Sample(10.0, (WORKER,), ())) == 0
    assert _waited(monkeypatch, tmp_path / "elsewhere", Clock(page)) == 0
    late = Clock(page)
    late.now += about_to_note.LONGEST + 1.0
    assert _waited(monkeypatch, tmp_path, late) == 0
    page.stacks({"revision": page.revision()})
    assert _waited(monkeypatch, tmp_path, Clock(page)) == 0


def test_stacks_are_read_as_the_whole_page_has_them(tmp_path: Path, page: PageWriter) -> None:
    path = tmp_path / f"{PID}.page"
    assert layout.read_stacks(path)[2] is None
    page.stacks({"revision": 7, "files": ["/job/train.py"]})
    whole = layout.read(path.read_bytes())
    assert layout.read_stacks(path) == (whole.revision, whole.heartbeat, whole.stacks)
