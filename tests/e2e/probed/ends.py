"""One rank that exits in a given way: `ends.py WAY`."""

import ctypes
import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

way = sys.argv[1]
if way == "explicit_timeout":
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1, timeout=timedelta(seconds=77))
else:
    dist.init_process_group("gloo", None, None, 1, 0, dist.HashStore())
dist.all_reduce(torch.ones(1))


def fail() -> None:
    raise OSError("the reason")  # the reason


match way:
    case "normal":
        dist.destroy_process_group()
        sys.exit(0)
    case "exit_in_except":
        try:
            fail()
        except OSError:
            sys.exit(3)
    case "os_exit_in_except":
        try:
            fail()
        except OSError:
            os._exit(4)
    case "plain_exit":
        sys.exit("the status")  # the exit
    case "chained":
        try:
            fail()
        finally:
            dist.new_group([7])  # fails as well
    case "own_hook":
        sys.excepthook = lambda *error: print("own hook:", error[1])
        fail()
    case "interrupted":
        # as a signal handler does that raises while the exception is being recorded
        def interrupt(frame: Any, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_name == "describe":
                raise RuntimeError("a data worker is gone")

        sys.setprofile(interrupt)
        fail()
    case "aborted":
        ctypes.CDLL(None).abort()
    case "child_fails":
        # Its environment has the rank's RANK, but it is not the rank.
        subprocess.run([sys.executable, "-c", "import torch; raise SystemError('not the rank')"], check=False)
    case "default_timeout" | "explicit_timeout":
        default = dist.distributed_c10d._get_default_group()
        given, other = dist.new_group([0]), dist.new_group([0], timeout=timedelta(seconds=55))
        for group in (default, given, other):
            backend = group._get_backend(torch.device("cpu"))
            print(backend.options._timeout.total_seconds())
