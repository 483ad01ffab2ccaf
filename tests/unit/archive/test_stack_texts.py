"""Stacks as py-spy, faulthandler, gdb and pystack print them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddpdoctor.archive import debugger_text, faulthandler_text, pyspy_text
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.stacks import Site, StackSource

DATA = Path(__file__).parent / "data"


def test_real_py_spy_dumps_one_behind_the_other() -> None:
    dumps = pyspy_text.find(tuple((DATA / "pyspy.txt").read_text().splitlines()))
    assert [dump.pid for dump in dumps] == [13675, 13676, 13677]
    main = dumps[1].stacks.main()
    assert main is not None
    assert main.frames[0] == Site("train.py", 11, "evaluate")
    assert (main.active, main.owns_gil) == (Observed.NO, Observed.NO)
    waiting = dumps[0].stacks.main()
    assert waiting is not None
    assert frames.waits_in_torch(waiting, backward=False)
    assert frames.innermost_user_frame(waiting.frames) == Site("train.py", 20, "main")


@pytest.mark.parametrize(
    ("short", "library"),
    [
        ("threading.py", True),
        ("multiprocessing/connection.py", True),
        ("torch/utils/data/dataloader.py", True),
        ("accelerate/data_loader.py", True),
        ("train.py", False),
        ("src/models/token.py", False),
        ("/home/u/train.py", False),
        ("test.py", False),
    ],
)
def test_short_paths_are_still_told_from_the_users_own(short: str, library: bool) -> None:
    assert frames.is_library(pyspy_text.whole_path(short), frozenset()) is library


def test_native_frames_do_not_hide_where_python_stands() -> None:
    text = """Process 7: python train.py
Thread 7 (active+gil): "MainThread"
    ncclGroupEnd (libnccl.so.2)
    clone (clone.S:95)
    all_reduce (torch/distributed/distributed_c10d.py:2935)
    main (train.py:4)
Thread 0x7F2A (idle)
"""
    (dump,) = pyspy_text.find(tuple(text.splitlines()))
    assert [frame.function for frame in dump.stacks.threads[0].frames] == ["all_reduce", "main"]
    assert dump.stacks.threads[0].owns_gil is Observed.YES
    assert dump.stacks.threads[1].os_id == 0x7F2A


def test_the_old_launchers_local_rank_is_on_the_command_line() -> None:
    assert pyspy_text.local_rank("python -u train.py --local_rank=3 --lr 1") == 3
    assert pyspy_text.local_rank("python train.py --local-rank 2") == 2
    assert pyspy_text.local_rank("python train.py --rank_file x") is None


def test_faulthandlers_last_thread_is_the_main_one() -> None:
    text = """Timeout (0:00:10)!
Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait

Thread 0x00007f0 (most recent call first):
  File "/home/u/train.py", line 12 in main
  File "/home/u/train.py", line 20 in <module>
step 3
"""
    (dump,) = faulthandler_text.find(tuple(text.splitlines()))
    assert not dump.fatal
    main = dump.stacks.main()
    assert main is not None
    assert main.frames == (Site("/home/u/train.py", 12, "main"), Site("/home/u/train.py", 20, "<module>"))


def test_a_fatal_signal_has_a_status_and_its_current_thread() -> None:
    text = """Fatal Python error: Segmentation fault

Current thread 0x00007f0 (most recent call first):
  File "/home/u/train.py", line 12 in main
"""
    (dump,) = faulthandler_text.find(tuple(text.splitlines()))
    assert dump.fatal
    assert dump.status == -11


GDB = """Attaching to process 812
Thread 2 (Thread 0x7f01 (LWP 813)):
Traceback (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320, in wait
    waiter.acquire()

Thread 1 (Thread 0x7f00 (LWP 812)):
Traceback (most recent call first):
  <built-in method allreduce of object at remote 0x7f>
  File "/x/torch/distributed/distributed_c10d.py", line 2935, in all_reduce
    work.wait()
  File "/home/u/train.py", line 12, in main
    dist.all_reduce(t)
"""


def test_gdb_with_pythons_extension() -> None:
    (dump,) = debugger_text.find(tuple(GDB.splitlines()))
    assert (dump.pid, dump.stacks.source) == (812, StackSource.DEBUGGER)
    main = dump.stacks.main()
    assert main is not None
    assert [frame.line for frame in main.frames] == [2935, 12]


def test_gdbs_native_backtrace_names_python_frames() -> None:
    text = """Thread 1 (Thread 0x7f00 (LWP 812)):
#0  0x00007f in futex_wait () from /lib/libc.so.6
#7  Frame 0x7f11, for file /home/u/train.py, line 12, in main (t=<Tensor>)
#9  Frame 0x7f12, for file /home/u/train.py, line 20, in <module> ()
"""
    (dump,) = debugger_text.find(tuple(text.splitlines()))
    main = dump.stacks.main()
    assert main is not None
    assert [frame.line for frame in main.frames] == [12, 20]


def test_pystack_prints_the_outermost_frame_first() -> None:
    text = """Traceback for thread 813 (python) [] (most recent call last):
    (Python) File "/usr/lib/python3.11/threading.py", line 320, in wait

Traceback for thread 812 (python) [Has the GIL] (most recent call last):
    (C) File "???", line 0, in _start (/usr/bin/python3.11)
    (Python) File "/home/u/train.py", line 20, in <module>
        main()
    (Python) File "/home/u/train.py", line 12, in main
        dist.all_reduce(t)
"""
    (dump,) = debugger_text.find(tuple(text.splitlines()))
    main = dump.stacks.main()
    assert main is not None
    assert (main.os_id, main.owns_gil) == (812, Observed.YES)
    assert [frame.line for frame in main.frames] == [12, 20]


def test_a_thread_that_collects_garbage_keeps_its_frames() -> None:
    """CPython 3.11 and later print a line of their own for it (Python/traceback.c)."""
    text = (
        "Timeout (0:00:20)!\n"
        "Thread 0x00007f1 (most recent call first):\n"
        "  Garbage-collecting\n"
        '  File "/job/train.py", line 3 in __del__\n'
        '  File "/job/train.py", line 5 in step\n'
    )
    (dump,) = faulthandler_text.find(tuple(text.splitlines()))
    main = dump.stacks.main()
    assert main is not None
    assert [frame.line for frame in main.frames] == [3, 5]
