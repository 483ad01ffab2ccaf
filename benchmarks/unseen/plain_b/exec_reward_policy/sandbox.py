"""Runs a candidate program in a child interpreter."""
import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Outcome:
    status: int
    stdout: str


def execute(source):
    proc = subprocess.Popen([sys.executable, "-I", "-S", "-c", source],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    status = proc.wait()
    return Outcome(status, proc.stdout.read())
