"""Training on spot machines: a node agent forwards the provider's notice to the process on its node."""
import argparse
import multiprocessing as mp
import os
import signal
import socket
import sys
import time

import torch
import torch.multiprocessing as tmp

from loop import Trainer


def pick_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def entry(rank, world, port, steps, progress):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(world))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    trainer = Trainer(rank, steps, progress)
    trainer.fit()
    torch.distributed.barrier()
    if rank == 0:
        print(f"finished after {trainer.step} steps", flush=True)
    torch.distributed.destroy_process_group()


class NodeAgent:
    """Delivers the notices of the schedule {node: step} once the job has come that far."""

    def __init__(self, processes, schedule, progress):
        self.processes, self.pending, self.progress = processes, dict(schedule), progress

    def poll(self):
        for node, step in list(self.pending.items()):
            if self.progress.value >= step:
                os.kill(self.processes[node].pid, signal.SIGUSR1)
                print(f"agent: notice delivered to node {node}", file=sys.stderr, flush=True)
                del self.pending[node]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nodes", type=int, default=3)
    ap.add_argument("--steps", type=int, default=250)
    ap.add_argument("--notice", default="1:20", help="node:step[,node:step]")
    args = ap.parse_args()
    schedule = dict(map(int, item.split(":")) for item in args.notice.split(",") if item)
    progress = mp.get_context("spawn").Value("i", 0)
    ctx = tmp.spawn(entry, (args.nodes, pick_port(), args.steps, progress), nprocs=args.nodes, join=False)
    agent = NodeAgent(ctx.processes, schedule, progress)
    while not ctx.join(timeout=0.05):
        agent.poll()
        time.sleep(0.01)


if __name__ == "__main__":
    main()
