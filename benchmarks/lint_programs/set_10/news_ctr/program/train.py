"""Click prediction for a news feed."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from stream import N_ITEMS, N_USERS, ClickStream


class CTR(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.user = nn.Embedding(N_USERS, dim)
        self.item = nn.Embedding(N_ITEMS + 1, dim, padding_idx=N_ITEMS)
        self.mlp = nn.Sequential(nn.Linear(3 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, user, hist, item):
        h = self.item(hist).mean(1)
        return self.mlp(torch.cat([self.user(user), h, self.item(item)], 1)).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--events", type=int, default=6000)
    ap.add_argument("--workers", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--seed", type=int, default=3)
    ap.add_argument("--log-every", type=int, default=20)
    ap.add_argument("--out", default="ctr.pt")
    args = ap.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(args.seed)

    stream = ClickStream(args.events, args.seed, rank, world)
    loader = iter(DataLoader(stream, args.batch_size, num_workers=args.workers))
    model = DDP(CTR().to(device), device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    window = torch.zeros(2, device=device)
    for step in range(1, args.steps + 1):
        user, hist, item, clicked = (t.to(device) for t in next(loader))
        loss = F.binary_cross_entropy_with_logits(model(user, hist, item), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        window[0] += loss.detach()
        window[1] += 1
        if step % args.log_every == 0:
            dist.all_reduce(window)
            if rank == 0:
                print(f"step {step} logloss {(window[0] / window[1]).item():.4f}", flush=True)
            window.zero_()

    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
