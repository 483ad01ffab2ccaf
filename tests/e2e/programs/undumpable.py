"""Run a program in a process that no other may attach to, as in a container without the right to ptrace."""

import ctypes
import runpy
import sys

PR_SET_DUMPABLE = 4  # prctl(2)

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    sys.argv.pop(0)
    runpy.run_path(sys.argv[0], run_name="__main__")
