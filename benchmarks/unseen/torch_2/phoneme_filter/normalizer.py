"""Thin wrapper around the line-based transcript normaliser."""
import subprocess
import sys

NORMALISE = r"""
import sys
for line in sys.stdin:
    words = line.strip().lower().split()
    sys.stdout.write(" ".join(w.replace("'", "") for w in words) + "\n")
    sys.stdout.flush()
"""


class TranscriptNormalizer:
    """Feeds transcripts to the filter and hands back all normalised lines at the end of the epoch."""

    def __init__(self):
        self.proc = subprocess.Popen(
            [sys.executable, "-u", "-c", NORMALISE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )
        self.sent = 0

    def submit(self, transcripts):
        for text in transcripts:
            self.proc.stdin.write(text + "\n")
            self.sent += 1

    def collect(self):
        out, _ = self.proc.communicate()
        return out.splitlines()
