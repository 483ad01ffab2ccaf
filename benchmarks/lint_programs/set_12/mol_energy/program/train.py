import argparse
import logging
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from features import Conformers, whitened_overlap

log = logging.getLogger("mol_energy")


def build_model(atoms, width):
    return nn.Sequential(
        nn.Linear(atoms * atoms, width), nn.SiLU(),
        nn.Linear(width, width), nn.SiLU(),
        nn.Linear(width, 1), nn.Flatten(0),
    )


def train_one_epoch(model, loader, optimizer, device, epoch):
    """Returns loss sum, molecules and skipped batches of all ranks (on rank 0)."""
    model.train()
    stats = torch.zeros(3, device=device)
    for step, (charge, pos, energy) in enumerate(loader):
        charge, pos, energy = charge.to(device), pos.to(device), energy.to(device)
        try:
            feats = whitened_overlap(charge, pos)
        except torch.linalg.LinAlgError:
            log.warning("epoch %d step %d: singular overlap, batch skipped", epoch, step)
            stats[2] += 1
            continue
        loss = F.mse_loss(model(feats), energy)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        stats[0] += loss.detach() * energy.numel()
        stats[1] += energy.numel()
    dist.reduce(stats, dst=0)
    return stats.tolist()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--atoms", type=int, default=6)
    p.add_argument("--molecules", type=int, default=600)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default="energy.pt")
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"[rank {rank}] %(message)s")
    torch.manual_seed(args.seed)

    data = Conformers(args.molecules, args.atoms, seed=21)
    sampler = DistributedSampler(data, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    net = build_model(args.atoms, args.width).to(device)
    model = DDP(net, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss_sum, count, skipped = train_one_epoch(model, loader, optimizer, device, epoch)
        if rank == 0:
            log.info("epoch %d mse %.4f skipped %d", epoch, loss_sum / max(count, 1), int(skipped))
            torch.save({"model": net.state_dict(), "epoch": epoch}, args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
