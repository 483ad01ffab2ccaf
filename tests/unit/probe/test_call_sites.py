"""The call site of a call: a line of the job's own code, past installed packages if it is a collective."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ddpdoctor.probe import call_sites
from ddpdoctor.probe import page as layout
from ddpdoctor.probe.string_table import StringTable
from ddpdoctor.probe.writer import PageWriter

IDENTITY = {"pid": 7, "started_ticks": 99, "rank": 1, "world_size": 4, "torch_version": "2.13.0", "backend": "gloo"}
Ask = Callable[[], object]


@pytest.fixture
def writer(tmp_path: Path) -> PageWriter:
    return PageWriter(str(tmp_path / "7.page"), dict(IDENTITY))


def _module(path: Path, source: str, **given: object) -> dict[str, object]:
    """What a file of this text defines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    names: dict[str, object] = dict(given)
    exec(compile(source, str(path), "exec"), names)
    return names


def _library(folder: Path, ask: Ask) -> object:
    return _module(folder / "site-packages" / "fabric.py", "def barrier():\n    return ask()\n", ask=ask)["barrier"]


def _texts(writer: PageWriter) -> StringTable:
    return StringTable(bytes(writer._map[layout.TEXTS : layout.TEXTS + writer._text_end]))


def _called(made: object) -> int:
    assert callable(made)
    return int(made())


def test_a_collective_is_the_jobs_own_line_that_led_to_it(tmp_path: Path, writer: PageWriter) -> None:
    own = tmp_path / "train.py"

    def asked() -> int:
        return call_sites.place(writer, sys._getframe(1))[0]

    source = "def first():\n    return barrier()\n\ndef second():\n    return barrier()\n"
    names = _module(own, source, barrier=_library(tmp_path, asked))
    first, second = _called(names["first"]), _called(names["second"])
    # THEN the two calls are not the one line of the library that makes both
    assert first == writer.text((str(own), 2, "first"))
    assert second == writer.text((str(own), 5, "second"))
    assert _called(names["first"]) == first


def test_the_path_of_calls_is_recorded_beside_the_jobs_line(tmp_path: Path, writer: PageWriter) -> None:
    def asked() -> int:
        return call_sites.place(writer, sys._getframe(1))[1]

    source = "def first():\n    return barrier()\n\ndef second():\n    return barrier()\n"
    names = _module(tmp_path / "train.py", source, barrier=_library(tmp_path, asked))
    first, second, again = [_called(names[name]) for name in ("first", "second", "first")]
    assert again == first
    # THEN the paths are told apart by their callers although both end in one line of the library
    for path, line, function in ((first, 2, "first"), (second, 5, "second")):
        found = _texts(writer).path(path)
        assert found[0] == (str(tmp_path / "site-packages" / "fabric.py"), 2, "barrier")
        assert found[1] == (str(tmp_path / "train.py"), line, function)


def test_paths_leave_room_for_other_texts(tmp_path: Path, writer: PageWriter) -> None:
    def asked() -> object:
        return call_sites.place(writer, sys._getframe(1))

    while writer.frame(1, writer._text_end):
        pass
    names = _module(tmp_path / "train.py", "def run():\n    return ask()\n", ask=asked)
    run = names["run"]
    assert callable(run)
    place = run()
    assert place == (writer.text((str(tmp_path / "train.py"), 2, "run")), 0)


def test_several_packages_are_passed(tmp_path: Path, writer: PageWriter) -> None:
    def asked() -> int:
        return call_sites.place(writer, sys._getframe(1))[0]

    source = "def run():\n    return barrier()\n"
    outer = _module(tmp_path / "site-packages" / "app.py", source, barrier=_library(tmp_path, asked))
    own = _module(tmp_path / "train.py", "def main():\n\n    return run()\n", run=outer["run"])
    assert _called(own["main"]) == writer.text((str(tmp_path / "train.py"), 3, "main"))


def test_without_a_line_of_its_own_the_package_is_named(tmp_path: Path, writer: PageWriter) -> None:
    held = []

    def asked() -> int:
        held.append(sys._getframe(1))
        return 0

    _called(_library(tmp_path, asked))

    class Alone:
        """A frame of the package with nothing of the job's above it."""

        f_code, f_lasti, f_lineno, f_back = held[0].f_code, held[0].f_lasti, 2, None

    found = call_sites.place(writer, Alone)[0]  # type: ignore[arg-type]
    assert found == writer.text((str(tmp_path / "site-packages" / "fabric.py"), 2, "barrier"))
    assert call_sites.place(writer, None) == (0, 0)


TRAINS = """\
import threading
import fabric_comm


def main():
    print(*fabric_comm.barrier())
    print(*fabric_comm.call_sites.own_packages())
    other = threading.Thread(target=lambda: print(*fabric_comm.barrier()))
    other.start()
    other.join()


if __name__ == "__main__":
    main()
"""
ASKS = """\
import sys
from ddpdoctor.probe import call_sites

def barrier():
    return call_sites.own_line(sys._getframe())
"""


def test_an_installed_trainer_that_is_run_is_the_jobs_own(tmp_path: Path) -> None:
    installed, script = tmp_path / "env" / "site-packages", tmp_path / "env" / "bin" / "mytrain"
    trainer = installed / "mytrainer" / "train.py"
    written = {
        trainer: TRAINS,
        installed / "fabric_comm.py": ASKS,
        script: "from mytrainer.train import main\n\nmain()\n",
    }
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(Path(__file__).parents[3])])}
    for command in (["-m", "mytrainer.train"], [str(script)]):
        done = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=True, timeout=300
        )
        # THEN the package that it uses is not, in whatever thread
        assert done.stdout.splitlines() == [f"{trainer} 6 main", "mytrainer", f"{trainer} 8 <lambda>"]
