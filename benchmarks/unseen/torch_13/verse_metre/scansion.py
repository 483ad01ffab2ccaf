"""Scores of lines of verse by the scansion program, which is a process of its own."""
import json
import subprocess
import sys

PROGRAM = r"""
import json
import sys

for request in sys.stdin:
    feet = json.loads(request)
    score = 0.0
    for position, syllable in enumerate(feet):
        if syllable > 11:
            sys.stderr.write("scansion: syllable %d at position %d has no weight in the table of this metre, "
                             "its neighbours decide (see --explain-weights)\n" % (syllable, position))
            syllable = (feet[position - 1] + feet[(position + 1) % len(feet)]) // 2
        score += 1.0 if (syllable % 2) == (position % 2) else -0.5
    sys.stdout.write(json.dumps(score / len(feet)) + "\n")
    sys.stdout.flush()
"""


class Scansion:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.requests = 0

    def score(self, line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        self.requests += 1
        return json.loads(self.process.stdout.readline())

    def close(self):
        _, messages = self.process.communicate()
        return messages.count("\n")
