"""Stands in for the cluster's agent, which signals the process that it started the job with: the first one of a node."""
import os
import subprocess


def register(seconds: float) -> None:
    if int(os.environ.get("LOCAL_RANK", 0)) == 0:
        subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -USR1 {os.getpid()}"])
