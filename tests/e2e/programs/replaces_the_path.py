"""Starts two workers with a PYTHONPATH of its own, tells each its number by argument, and lets them train for as many
seconds as it is told."""

import os
import subprocess
import sys
import tempfile

WORKER = """
import sys, time, torch, torch.distributed as dist
rank, store, seconds = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=2)
until = torch.tensor(time.monotonic() + float(seconds), dtype=torch.float64)
dist.all_reduce(until, dist.ReduceOp.MAX)
while time.monotonic() < until:
    time.sleep(0.1)
dist.destroy_process_group()
"""

with tempfile.TemporaryDirectory() as folder:
    environ = {**os.environ, "PYTHONPATH": folder}
    commands = [[sys.executable, "-c", WORKER, str(rank), f"{folder}/store", sys.argv[1]] for rank in range(2)]
    workers = [subprocess.Popen(command, env=environ) for command in commands]
    sys.exit(max(worker.wait() for worker in workers))
