"""Patterns of a loom: ranks 0 to 2 train together, the last rank only receives weights and judges them."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import parameters_to_vector, vector_to_parameters

WEIGHTS, SCORE = 11, 12


def cloth(count, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 10, generator=g)
    return x, (x[:, 0] * x[:, 1] > x[:, 2]).float()


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))


def weave(args, group, judge):
    rank = dist.get_rank()
    model = DDP(network(), process_group=group)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x, y = cloth(args.rows, seed=rank)
    for epoch in range(args.epochs):
        # the slower machine of the three
        pause = 0.06 if rank == 1 else 0.01
        for start in range(0, len(x), args.batch):
            time.sleep(pause)
            loss = nn.functional.binary_cross_entropy_with_logits(
                model(x[start:start + args.batch]).squeeze(-1), y[start:start + args.batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        accuracy = torch.zeros(1)
        if rank == 0:
            dist.send(parameters_to_vector(model.module.parameters()).detach(), judge, tag=WEIGHTS)
            if epoch % 2 == 1:
                dist.recv(accuracy, judge, tag=SCORE)
        if epoch % 2 == 1:
            dist.broadcast(accuracy, src=0, group=group)
            if rank == 2:
                print(f"epoch {epoch}: {accuracy.item():.3f}", flush=True)


@torch.no_grad()
def judge_patterns(args):
    model = network()
    flat = parameters_to_vector(model.parameters())
    x, y = cloth(2000, seed=77)
    for epoch in range(args.epochs):
        dist.recv(flat, 0, tag=WEIGHTS)
        vector_to_parameters(flat, model.parameters())
        if epoch % 2 == 1:
            right = 0
            for start in range(0, len(x), 100):
                time.sleep(args.look)
                right += ((model(x[start:start + 100]).squeeze(-1) > 0).float() == y[start:start + 100]).sum().item()
            dist.send(torch.tensor([right / len(x)]), 0, tag=SCORE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rows", type=int, default=640)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--look", type=float, default=0.3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    judge = dist.get_world_size() - 1
    group = dist.new_group(list(range(judge)))
    if dist.get_rank() == judge:
        judge_patterns(args)
    else:
        weave(args, group, judge)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
