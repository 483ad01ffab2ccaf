"""Ranks 0 and 1 train, ranks 2 and 3 evaluate: one of these gathers where the other reduces, and the training goes on.

With --healthy that rank only takes long.
"""

import argparse
import time

import torch
import torch.distributed as dist


def train(group: dist.ProcessGroup) -> None:
    gradients = torch.zeros(100)
    for _ in range(600):
        time.sleep(0.03)
        dist.all_reduce(gradients, group=group)


def evaluate(group: dist.ProcessGroup, healthy: bool) -> None:
    score = torch.zeros(8)
    for i in range(40):
        time.sleep(0.03)
        worst = i == 20 and dist.get_rank() == 3
        if worst and healthy:
            time.sleep(11.0)
        if worst and not healthy:
            dist.all_gather([torch.zeros(8) for _ in range(2)], score, group=group)
        dist.all_reduce(score, group=group)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--healthy", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    trainers, judges = dist.new_group([0, 1]), dist.new_group([2, 3])
    if dist.get_rank() < 2:
        train(trainers)
    else:
        evaluate(judges, args.healthy)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
