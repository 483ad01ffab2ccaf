"""A thread of each rank reports metrics over a group of its own; in one round rank 0's does it another way, and the
training goes on without any metrics.

With --healthy rank 0's thread only takes long for that round.
"""

import argparse
import threading
import time

import torch
import torch.distributed as dist


def report(group: dist.ProcessGroup, healthy: bool) -> None:
    metrics = torch.zeros(10)
    for i in range(30):
        time.sleep(0.05)
        if i == 20 and dist.get_rank() == 0:
            if healthy:
                time.sleep(11.0)
            else:
                dist.barrier(group=group)
        dist.all_reduce(metrics, group=group)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--healthy", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    group = dist.new_group()
    thread = threading.Thread(target=report, args=(group, args.healthy), name="metrics", daemon=True)
    thread.start()
    gradients = torch.zeros(100)
    for _ in range(600):
        time.sleep(0.03)
        dist.all_reduce(gradients)
    thread.join()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
