"""Fault handler texts, exits, source files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from ddpdoctor.collect import faulthandler, source_files
from ddpdoctor.collect.exits import read_exits
from ddpdoctor.model.processes import Exit
from ddpdoctor.model.stacks import Site, StackSource

ABORTS = """
import faulthandler, os, sys
faulthandler.enable(file=open(sys.argv[1], "w"), all_threads=True)
def kernel():
    os.abort()
def step():
    kernel()
step()
"""


def test_the_stack_of_a_fatal_signal(tmp_path: Path) -> None:
    text = tmp_path / "7.fatal"
    done = subprocess.run([sys.executable, "-c", ABORTS, str(text)], check=False)
    assert done.returncode == -6
    found = faulthandler.parse(faulthandler.fetch(text))
    assert found is not None
    assert found.source is StackSource.FAULTHANDLER
    (main,) = found.threads
    assert main.name == "MainThread"
    assert [(frame.function, frame.line) for frame in main.frames] == [("kernel", 5), ("step", 7), ("<module>", 8)]


def test_several_threads_and_what_stands_around_them() -> None:
    text = b"""Fatal Python error: Segmentation fault

Thread 0x00007f01 [feeder] (most recent call first):
  File "/job/data.py", line 9 in load

Current thread 0x00007f02 (most recent call first):
  File "/job/a b.py", line 12 in <module>

Extension modules: numpy.core (total: 1)
"""
    found = faulthandler.parse(text)
    assert found is not None
    assert [thread.name for thread in found.threads] == ["feeder", "MainThread"]
    assert found.threads[1].frames == (Site("/job/a b.py", 12, "<module>"),)


def test_a_thread_that_is_none_of_pythons_aborts() -> None:
    """As gloo's do: then no thread is the current one, and the main thread is listed last."""
    heartbeat = b'Thread 0x00007f01 (most recent call first):\n  File "/job/beat.py", line 3 in beat\n\n'
    main = b'Thread 0x00007f02 (most recent call first):\n  File "/job/train.py", line 8 in <module>\n'
    found = faulthandler.parse(b"Fatal Python error: Aborted\n\n" + heartbeat + main)
    assert found is not None
    assert (entry := found.main()) is not None
    assert entry.frames == (Site("/job/train.py", 8, "<module>"),)
    for cut_off in (b"...\n", b"Thread 0x00007f02 (most recent call first):\n  <no Python frame>\n"):
        found = faulthandler.parse(b"Fatal Python error: Aborted\n\n" + heartbeat + cut_off)
        assert found is not None
        assert found.main() is None


def test_no_fatal_signal_is_no_stack(tmp_path: Path) -> None:
    assert faulthandler.fetch(tmp_path / "none") == b""
    assert faulthandler.parse(b"") is None
    assert faulthandler.parse(b"Fatal Python error: Aborted\n\n<no Python frame>\n") is None


def test_exits_in_order_without_a_line_that_is_being_written(tmp_path: Path) -> None:
    (tmp_path / "exits").write_bytes(
        b'{"pid": 5, "status": -9, "time": 1.5}\nnonsense\n{"pid": 6, "status": 0, "time": 2}\n{"pid": 7, "sta'
    )
    assert read_exits(tmp_path) == (Exit(5, -9, 1.5), Exit(6, 0, 2.0))
    assert read_exits(tmp_path / "elsewhere") == ()


def test_source_files_of_the_job_only(tmp_path: Path) -> None:
    own, late, large = tmp_path / "train.py", tmp_path / "edited.py", tmp_path / "large.py"
    for path in (own, late):
        path.write_bytes(b"x = 1  # caf\xe9\n")
    large.write_bytes(b"#" * (source_files.MOST_BYTES + 1))
    started = time.time() - 100
    os.utime(own, (started - 50, started - 50))
    places = [own, late, large, tmp_path / "missing.py", Path(os.__file__), Path("<string>"), tmp_path]
    found = source_files.read([Site(str(place), 1, "f") for place in places], started=started)
    assert list(found) == [str(own), str(late)]
    assert found[str(own)].text.startswith("x = 1")
    assert (found[str(own)].changed, found[str(late)].changed) == (False, True)


def test_not_more_files_than_are_of_use(tmp_path: Path) -> None:
    for number in range(source_files.MOST_FILES + 5):
        (tmp_path / f"{number}.py").write_text("")
    places = [Site(str(path), 1, "f") for path in tmp_path.iterdir()]
    assert len(source_files.read(places, started=time.time())) == source_files.MOST_FILES


def test_the_jobs_own_files_come_before_those_of_libraries(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "fitlib"
    library.mkdir(parents=True)
    for number in range(source_files.MOST_LIBRARY_FILES + 5):
        (library / f"{number}.py").write_text("")
    (tmp_path / "train.py").write_text("")
    places = [Site(str(path), 1, "f") for path in (*library.iterdir(), tmp_path / "train.py")]
    found = list(source_files.read(places, started=time.time() + 1))
    # THEN there is room for what the job's own files import
    assert found[0] == str(tmp_path / "train.py")
    assert len(found) == source_files.MOST_LIBRARY_FILES + 1 < source_files.MOST_FILES


def test_files_that_the_project_s_files_import(tmp_path: Path) -> None:
    # GIVEN a script that imports a helper, which imports a module of a package, and a name of the standard library
    (tmp_path / "lib").mkdir()
    texts = {
        "train.py": "import os\nfrom helper import is_main\nimport changed\n",
        "helper.py": "from lib import topology\n",
        "lib/__init__.py": "",
        "lib/topology.py": "from ..helper import x\n",
        "changed.py": "x = 1\n",
        "unused.py": "x = 1\n",
    }
    started = time.time() - 100
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        written = time.time() if name == "changed.py" else started - 50
        os.utime(tmp_path / name, (written, written))
    named = source_files.read([Site(str(tmp_path / "train.py"), 1, "main")], started=started)
    found = source_files.imported_by(named, started=started)
    # THEN those are found, nearest first; none that was written since, and none that nobody imports
    assert list(found) == [str(tmp_path / name) for name in ("helper.py", "lib/__init__.py", "lib/topology.py")]
    assert not any(file.changed for file in found.values())
    assert source_files.imported_by({}, started=started) == {}
