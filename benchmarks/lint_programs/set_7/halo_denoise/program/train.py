"""Denoise recordings too long for one device: each rank holds one segment in time.

The recordings of a batch are cut into world_size segments. A rank only ever
generates/loads its own segment, fetches the context it needs from its
neighbours and computes the loss on its segment.
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from halo import exchange_edges
from model import Denoiser


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--length", type=int, default=1 << 20, help="samples per recording")
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--noise", type=float, default=0.3)
    p.add_argument("--seed", type=int, default=17)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--out", default="denoiser.pt")
    return p.parse_args()


def make_segment(args, step, rank, world, device):
    """Clean and noisy segment of this rank for one step."""
    seg = args.length // world
    recording = torch.Generator().manual_seed(args.seed * 1_000_003 + step)
    freq = torch.rand(args.batch_size, 3, 1, generator=recording) * 0.05 + 0.001
    phase = torch.rand(args.batch_size, 3, 1, generator=recording) * 6.2832
    t = torch.arange(rank * seg, (rank + 1) * seg).view(1, 1, -1)
    clean = torch.sin(6.2832 * freq * t + phase).mean(1, keepdim=True)
    local = torch.Generator().manual_seed((args.seed * 1_000_003 + step) * world + rank)
    noisy = clean + args.noise * torch.randn(clean.shape, generator=local)
    return clean.to(device), noisy.to(device)


def main():
    args = get_args()
    use_cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if use_cuda:
        local_rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(local_rank)
        device = torch.device("cuda", local_rank)
    else:
        device = torch.device("cpu")
    if args.length % world:
        raise SystemExit(f"--length {args.length} does not divide by {world} ranks")

    torch.manual_seed(args.seed)
    net = Denoiser(hidden=args.hidden).to(device)
    context = net.context
    model = DDP(net, device_ids=[device.index] if use_cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for step in range(1, args.steps + 1):
        clean, noisy = make_segment(args, step, rank, world, device)
        denoised = model(exchange_edges(noisy, context))
        loss = torch.nn.functional.mse_loss(denoised, clean)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

        if step % args.log_every == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step:5d}  mse {mean.item() / world:.5f}", flush=True)

    if rank == 0:
        torch.save(net.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
