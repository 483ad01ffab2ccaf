"""Starts one worker per site on this machine and keeps their logs."""
import argparse
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Fleet:
    def __init__(self, size, logdir, extra):
        self.logdir = pathlib.Path(logdir)
        self.logdir.mkdir(parents=True, exist_ok=True)
        port = str(free_port())
        self.workers = []
        for rank in range(size):
            env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=port, OMP_NUM_THREADS="1")
            cmd = [sys.executable, str(HERE / "worker.py"), *extra]
            self.workers.append(subprocess.Popen(
                cmd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))

    def follow(self):
        """Show the first worker live, keep the others' output for the log directory."""
        for line in self.workers[0].stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
        for rank, proc in enumerate(self.workers[1:], start=1):
            text, _ = proc.communicate()
            (self.logdir / f"worker{rank}.log").write_text(text)
        return max(proc.wait() for proc in self.workers)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--sites", type=int, default=3)
    ap.add_argument("--logdir", default=os.path.join(tempfile.gettempdir(), "fleet_logs"))
    args, rest = ap.parse_known_args()
    sys.exit(Fleet(args.sites, args.logdir, rest).follow())
