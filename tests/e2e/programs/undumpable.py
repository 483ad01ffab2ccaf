"""Runs a program in a process to which no other may attach, as in a container without ptrace permission."""

import ctypes
import runpy
import sys

PR_SET_DUMPABLE = 4  # prctl(2)

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    sys.argv.pop(0)
    runpy.run_path(sys.argv[0], run_name="__main__")
