"""Populations of whales by their calls, tensor parallel: every rank has the same batch and a part of each layer."""

import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from calls import Calls, Front, collate
from network import Listener, split

log = logging.getLogger("whales")


def batches(calls, front, size, order):
    for rows in order.split(size):
        items = [calls[int(i)] for i in rows]
        yield collate([(front(call), population) for call, population in items])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=47)
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(args.seed)
    model = split(Listener(args.hidden, args.depth), mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, foreach=False)
    calls = Calls(args.calls, seed=1)
    front = Front(args.seed + rank)
    for epoch in range(args.epochs):
        order = torch.arange(args.calls).roll(7 * epoch)
        total = 0.0
        for step, (frames, populations) in enumerate(batches(calls, front, args.batch, order)):
            logits = model(frames)
            loss = nn.functional.cross_entropy(logits, populations)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.02)
        log.info("epoch %d: %.3f", epoch, total / (step + 1))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
