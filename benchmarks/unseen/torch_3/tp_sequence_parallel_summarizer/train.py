"""Tensor-parallel training of an extractive summarizer with asynchronous article parsing."""
import argparse
import queue
import threading
import time
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

from layers import Summarizer, shard


@contextmanager
def process_group():
    dist.init_process_group("gloo")
    try:
        yield dist.get_rank(), dist.get_world_size()
    finally:
        dist.destroy_process_group()


def article_parser(out, articles, start_delay):
    """Background thread. All ranks of a tensor-parallel group read the same articles."""
    time.sleep(start_delay)
    gen = torch.Generator().manual_seed(2)
    for _ in range(articles):
        x = torch.randn(4, 16, 32, generator=gen)
        out.put((x, (x[..., 0] > 0).float()))
        time.sleep(0.05)
    out.put(None)


def drain(inbox):
    """Polls, so that Ctrl-C is handled at once."""
    while True:
        try:
            item = inbox.get(timeout=0.5)
        except queue.Empty:
            continue
        if item is None:
            return
        yield item


def reduce_replicated(model):
    """Layers outside of the parallelized blocks see a slice of the sequence each."""
    for param in model.parameters():
        if not isinstance(param, DTensor):
            dist.all_reduce(param.grad)


def weight_norms(model):
    """On every rank: the norm of a sharded weight needs all of its shards."""
    norms = {}
    for name, param in model.named_parameters():
        full = param.full_tensor() if isinstance(param, DTensor) else param
        norms[name] = full.detach().norm().item()
    return norms


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--articles", type=int, default=40)
    parser.add_argument("--dictionary-load", type=float, default=15.0,
                        help="seconds that the first rank of a host needs for the dictionaries")
    args = parser.parse_args()
    with process_group() as (rank, world):
        torch.manual_seed(0)
        mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("tp",))
        model = shard(Summarizer(), mesh)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
        inbox = queue.Queue(maxsize=4)
        delay = args.dictionary_load if rank == world - 1 else 0.0
        threading.Thread(target=article_parser, args=(inbox, args.articles, delay), daemon=True).start()
        for step, article in enumerate(drain(inbox)):
            x, keep = (part.chunk(world, dim=1)[rank] for part in article)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), keep)
            optimizer.zero_grad()
            loss.backward()
            reduce_replicated(model)
            optimizer.step()
            if step % 20 == 19:
                norms = weight_norms(model)
                if rank == 0:
                    print(f"step {step} loss {loss.item():.4f} |w| {sum(norms.values()):.2f}", flush=True)
                    time.sleep(4.0)  # upload of the histogram


if __name__ == "__main__":
    main()
