import argparse
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset

from stopping import Patience
from windows import load_splits

LOG = logging.getLogger("forecast")


class Forecaster(nn.Module):
    def __init__(self, meters, horizon, hidden=128, layers=2):
        super().__init__()
        self.meter = nn.Embedding(meters, 16)
        self.lstm = nn.LSTM(1 + 16, hidden, layers, batch_first=True, dropout=0.1)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, horizon))

    def forward(self, past, meter):
        e = self.meter(meter).unsqueeze(1).expand(-1, past.size(1), -1)
        out, _ = self.lstm(torch.cat([past.unsqueeze(-1), e], dim=-1))
        return self.head(out[:, -1])


def train_epoch(model, loader, optimizer, device, clip):
    model.train()
    sums = torch.zeros(2, dtype=torch.float64, device=device)
    for past, future, meter in loader:
        past, future, meter = (t.to(device, non_blocking=True) for t in (past, future, meter))
        loss = nn.functional.l1_loss(model(past, meter), future)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        sums[0] += loss.detach() * past.size(0)
        sums[1] += past.size(0)
    return sums


@torch.no_grad()
def validate(net, loader, device):
    net.eval()
    sums = torch.zeros(2, dtype=torch.float64, device=device)
    for past, future, meter in loader:
        error = (net(past.to(device), meter.to(device)) - future.to(device)).abs().mean(1)
        sums[0] += error.sum()
        sums[1] += error.numel()
    return sums


def global_mean(sums):
    """(sum, count) of every process -> mean over everything"""
    total = sums.clone()
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    ap = argparse.ArgumentParser(description="hourly load forecasting")
    ap.add_argument("--data", required=True, help=".npy, (hours, meters)")
    ap.add_argument("--ckpt", default="forecast.pt")
    ap.add_argument("--history", type=int, default=168)
    ap.add_argument("--horizon", type=int, default=24)
    ap.add_argument("--batch", type=int, default=512, help="per process")
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--max-epochs", type=int, default=200)
    ap.add_argument("--patience", type=int, default=6)
    ap.add_argument("--clip", type=float, default=1.0)
    args = ap.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level="INFO" if rank == 0 else "WARNING", format="%(asctime)s %(name)s: %(message)s")

    train_set, val_set = load_splits(args.data, args.history, args.horizon)
    sampler = DistributedSampler(train_set, drop_last=True)
    train_loader = DataLoader(train_set, args.batch, sampler=sampler, num_workers=4, pin_memory=True,
                              drop_last=True)
    val_loader = DataLoader(Subset(val_set, range(rank, len(val_set), world)), args.batch, num_workers=2)
    LOG.info("%d training windows, %d validation windows", len(train_set), len(val_set))

    net = Forecaster(train_set.x.size(1), args.horizon).to(device)
    model = DistributedDataParallel(net, device_ids=[local_rank])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    patience = Patience(args.patience, min_delta=1e-4)
    best = float("inf")

    for epoch in range(args.max_epochs):
        sampler.set_epoch(epoch)
        train_sums = train_epoch(model, train_loader, optimizer, device, args.clip)
        val_sums = validate(net, val_loader, device)
        train_mae, val_mae = global_mean(train_sums), global_mean(val_sums)
        LOG.info("epoch %d  train MAE %.4f  val MAE %.4f", epoch, train_mae, val_mae)

        if val_mae < best:
            best = val_mae
            if rank == 0:
                torch.save({"model": net.state_dict(), "val_mae": val_mae, "args": vars(args)}, args.ckpt)

        if patience.update((val_sums[0] / val_sums[1]).item()):
            LOG.info("no progress for %d epochs, stopping", args.patience)
            break

    LOG.info("best val MAE %.4f", best)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
