"""Text normalisation through a long-lived helper process, one line in, one line out."""
import subprocess
import sys

HELPER = r"""
import sys
for line in sys.stdin:
    words = line.split()
    if words and words[0] == "#draft":
        words = words[1:]
        sys.stdout.write(" ".join(words) + "\n")
        continue
    print(" ".join(w.lower() for w in words), flush=True)
"""


class Normaliser:
    def __init__(self):
        self._proc = None

    def _start(self):
        self._proc = subprocess.Popen([sys.executable, "-c", HELPER], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, bufsize=1)

    def __call__(self, line):
        if self._proc is None:
            self._start()
        self._proc.stdin.write(line + "\n")
        self._proc.stdin.flush()
        return self._proc.stdout.readline().strip()
