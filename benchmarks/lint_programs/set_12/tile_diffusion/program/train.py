"""torchrun --nproc-per-node 2 train.py --steps 40   (run again with more steps to go on)"""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import checkpoint
from diffusion import EMA, Denoiser, Tiles, diffusion_loss


def batches(loader, sampler, start_step):
    """Endless batches; goes on where step `start_step` would be."""
    per_epoch = len(loader)
    epoch, skip = divmod(start_step, per_epoch)
    while True:
        sampler.set_epoch(epoch)
        for i, batch in enumerate(loader):
            if i < skip:
                continue
            yield batch
        skip = 0
        epoch += 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--save-every", type=int, default=20)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--tiles", type=int, default=512)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--ema-decay", type=float, default=0.99)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--ckpt", default="run.pt")
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(args.seed)
    model = Denoiser().to(device)
    ema = EMA(model, args.ema_decay)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    torch.manual_seed(args.seed + 1000 * (rank + 1))  # own noise on every rank

    data = Tiles(args.tiles)
    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True,
                        generator=torch.Generator().manual_seed(args.seed + rank))
    step = checkpoint.restore(args.ckpt, model, ema, optimizer)
    ddp = DDP(model, device_ids=[local_rank] if cuda else None)
    if rank == 0 and step:
        print(f"going on from step {step}", flush=True)

    stream = batches(loader, sampler, step)
    running = torch.zeros((), device=device)
    since = 0
    while step < args.steps:
        x = next(stream).to(device)
        loss = diffusion_loss(ddp, x)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        ema.update(model)
        step += 1
        running += loss.detach()
        since += 1
        if step % args.log_every == 0:
            dist.all_reduce(running)
            if rank == 0:
                print(f"step {step} loss {running.item() / (world * since):.4f}", flush=True)
            running.zero_()
            since = 0
        if step % args.save_every == 0 or step == args.steps:
            checkpoint.save(args.ckpt, model, ema, optimizer, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
