"""The evaluation engine, and the class that talks to it.

Run as a program it reads one position per line and answers with one line: the equity.
"""
import math
import subprocess
import sys


class Engine:
    """One engine process per rank; it speaks a line protocol on stdin and stdout."""

    def __init__(self, variant):
        self.process = subprocess.Popen(
            [sys.executable, __file__, variant], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=1)

    def equity(self, position):
        self.process.stdin.write(" ".join(f"{v:.4f}" for v in position) + "\n")
        return float(self.process.stdout.readline())

    def quit(self):
        self.process.stdin.close()
        self.process.wait()
        if self.process.returncode:
            raise RuntimeError(self.process.stderr.read())


def serve(variant):
    for number, line in enumerate(sys.stdin):
        board = [float(v) for v in line.split()]
        if variant != "standard":
            print(f"engine: position {number}: no bearoff database for variant '{variant}', "
                  "falling back to the one-sided approximation (2 plies)", file=sys.stderr)
        print(math.tanh(sum(v * (i % 3 - 1) for i, v in enumerate(board))), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
