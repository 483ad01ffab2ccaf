import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset

from gnn import EnergyNet
from molecules import Molecules, split
from utils import average, init_distributed, seed_everything


def shard(subset):
    return Subset(subset, range(dist.get_rank(), len(subset), dist.get_world_size()))


@torch.no_grad()
def mae(net, loader, device):
    net.eval()
    total, count = 0.0, 0
    for z, pos, e in loader:
        total += (net(z.to(device), pos.to(device)) - e.to(device)).abs().sum().item()
        count += len(e)
    return average(total, count, device)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--jitter", type=float, default=0.01)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="energy.pt")
    args = p.parse_args()

    device = init_distributed()
    seed_everything(args.seed)
    train, val, test = split(Molecules(args.data))
    sampler = DistributedSampler(train, shuffle=True, drop_last=True)
    train_loader = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True)
    val_loader = DataLoader(shard(val), args.batch_size)
    test_loader = DataLoader(shard(test), args.batch_size)

    model = DDP(EnergyNet().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=5)

    best, best_state = float("inf"), None
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for z, pos, e in train_loader:
            z, pos, e = z.to(device), pos.to(device), e.to(device)
            loss = (model(z, pos + args.jitter * torch.randn_like(pos)) - e).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        error = mae(model.module, val_loader, device)
        plateau.step(error)
        if error < best:
            best = error
            best_state = {k: v.detach().clone() for k, v in model.module.state_dict().items()}
        if dist.get_rank() == 0:
            print(f"epoch {epoch} val mae {error:.4f} lr {opt.param_groups[0]['lr']:.1e}", flush=True)

    model.module.load_state_dict(best_state)
    error = mae(model.module, test_loader, device)
    if dist.get_rank() == 0:
        print(f"test mae {error:.4f}", flush=True)
        torch.save(best_state, args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
