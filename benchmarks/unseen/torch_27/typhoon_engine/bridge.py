"""Talks to the engine."""
import json
import pathlib
import subprocess
import sys

ENGINE = pathlib.Path(__file__).with_name("engine.py")


class Engine:
    def __init__(self, basin):
        self.child = subprocess.Popen(
            [sys.executable, str(ENGINE), basin], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, **order):
        self.child.stdin.write(json.dumps(order) + "\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        if not answer:
            raise RuntimeError("the engine ended: " + self.child.stderr.read())
        return json.loads(answer)

    def close(self):
        self.child.stdin.close()
        problems = self.child.stderr.read()
        self.child.wait(10)
        return problems.count("\n")
