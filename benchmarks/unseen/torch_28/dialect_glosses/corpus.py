import random
import subprocess
import sys
from pathlib import Path

STANDARD = "the hen gate runs over old hill and sings by water".split()
# dialect words that the atlas does not list yet, by region
LOCAL = {0: [], 1: ["yett", "clough", "skrike", "beck"], 2: []}


class Glosser:
    """Keeps one gloss process open, starting it for every sentence took half a second."""

    def __init__(self):
        tool = Path(__file__).with_name("glosser.py")
        self.child = subprocess.Popen([sys.executable, str(tool)], text=True, bufsize=1,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)      # keeps the log readable

    def __call__(self, sentence):
        self.child.stdin.write(sentence + "\n")
        answer = self.child.stdout.readline()
        return [int(n) for n in answer.split()]

    def close(self):
        self.child.communicate()


def sentences(region, count, length=8):
    rng = random.Random(region)
    words = STANDARD + LOCAL[region]
    for _ in range(count):
        yield " ".join(rng.choice(words) for _ in range(length))
