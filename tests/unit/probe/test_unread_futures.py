"""Exceptions of a pool's tasks are on the page until somebody reads them, and the pool behaves as without us."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ddpdoctor.collect.page import decode_page
from ddpdoctor.model.progress import EndedThread
from ddpdoctor.probe import exit_hooks, page, state, unread_futures
from ddpdoctor.probe.writer import PageWriter


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The page of a process whose futures are watched."""
    for name in ("set_exception", "result", "exception"):
        monkeypatch.setattr(Future, name, getattr(Future, name))
    writer = PageWriter(str(tmp_path / "page"), {"pid": 1, "started_ticks": 1, "rank": 0, "world_size": 1})
    monkeypatch.setattr(state, "page", writer)
    unread_futures._described.clear()
    unread_futures.install()
    yield tmp_path / "page"
    exit_hooks.forget()


def on(path: Path) -> tuple[EndedThread, ...]:
    return decode_page(page.read_file(path)).ended_threads


def fails(number: int = 0) -> NoReturn:
    raise KeyError(number)


def test_what_nobody_reads_stays(path: Path) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
        pool.submit(fails)
    (task,) = on(path)
    assert (task.task, task.name, task.raised.type) == (True, "pool_0", "KeyError")
    assert task.raised.frames[0].function == "fails"


@pytest.mark.parametrize("read", ["result", "exception", "callback", "as_completed"])
def test_what_is_read_is_gone(path: Path, read: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(fails)
        if read == "callback":
            future.add_done_callback(lambda done: done.exception())
        elif read == "exception":
            assert isinstance(future.exception(), KeyError)
        else:
            (done,) = as_completed([future])
            with pytest.raises(KeyError) as raised:
                done.result()
            assert "unread_futures.py" not in "".join(traceback.format_exception(raised.value)).replace(__file__, "")
    assert on(path) == ()


def test_of_many_a_few_are_described(path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        for number in range(1000):
            pool.submit(fails, number)
    assert len(unread_futures._described) == unread_futures.MOST
    assert 1 <= len(on(path)) <= exit_hooks.MOST_THREADS


def test_a_result_and_a_second_exception_are_as_without_us(path: Path) -> None:
    future: Future[Any] = Future()
    future.set_result(3)
    assert future.result() == 3
    assert future.exception() is None
    with pytest.raises(Exception, match="FINISHED"):
        future.set_exception(KeyError())
    with pytest.raises(TimeoutError):
        Future[int]().result(timeout=0.01)
    del path


def test_a_task_of_a_process_pool(tmp_path: Path) -> None:
    program = tmp_path / "pool.py"
    program.write_text(
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from ddpdoctor.probe import unread_futures\n"
        "def fails(): raise KeyError(3)\n"
        "if __name__ == '__main__':\n"
        "    unread_futures.install()\n"
        "    with ProcessPoolExecutor(1) as pool:\n"
        "        try:\n            pool.submit(fails).result()\n"
        "        except KeyError as error:\n            print('read', error)\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("read 3\n", 0), done.stderr
