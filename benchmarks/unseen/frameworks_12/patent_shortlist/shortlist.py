import json
import pathlib
import subprocess
import sys

JUDGE = pathlib.Path(__file__).with_name("judge.py")


class Shortlist:
    """Runs the judge on the retrieved candidates; the depth grows as the model gets better."""

    def __init__(self, queries, depth):
        self.queries = queries
        self.depth = depth

    def judge(self, epoch):
        command = [sys.executable, str(JUDGE), str(self.queries), str(self.depth), str(epoch)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        code = process.wait()
        if code != 0:
            raise RuntimeError(f"the judge failed with {code}")
        rows = [json.loads(line) for line in process.stdout]
        summary = rows.pop()
        self.depth += 6
        return summary["found"] / summary["queries"]
