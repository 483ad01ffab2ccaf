"""A proofreader in a process of its own: a word in, its nearest entry of the cook's dictionary out."""

import subprocess
import sys
from pathlib import Path


class Proofreader:
    """Starts `dictionary.py` and asks it word by word."""

    def __init__(self):
        script = Path(__file__).with_name("dictionary.py")
        self.child = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, word):
        self.child.stdin.write(word + "\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().strip()

    def close(self):
        """Ends the child and returns what it had to remark."""
        _, remarks = self.child.communicate()
        return remarks.splitlines()
