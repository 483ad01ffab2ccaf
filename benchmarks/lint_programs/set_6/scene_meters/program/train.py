import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset

from data import SCENES, ClickLog
from metrics import MeterBank
from model import SceneCTR


def evaluate(model, loader, device):
    bank = MeterBank(device)
    model.eval()
    with torch.no_grad():
        for batch in loader:
            user, item, scene, click = (t.to(device) for t in batch)
            logit = model(user, item, scene)
            loss = F.binary_cross_entropy_with_logits(logit, click, reduction="none")
            correct = (logit > 0) == (click > 0.5)
            bank["all"].add(loss, correct)
            for s in scene.unique().tolist():
                mask = scene == s
                bank["scene/" + SCENES[s]].add(loss[mask], correct[mask])
    model.train()
    return bank.synchronize().table()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--train-rows", type=int, default=200000)
    ap.add_argument("--valid-rows", type=int, default=4000)
    ap.add_argument("--batch-size", type=int, default=512)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--out", default="ctr")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(local)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    model = SceneCTR().to(device)
    ddp = DistributedDataParallel(model, device_ids=[local] if cuda else None)
    opt = torch.optim.Adam(ddp.parameters(), lr=args.lr)

    train = ClickLog(args.train_rows, seed=1)
    sampler = DistributedSampler(train, seed=4, drop_last=True)
    train_loader = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True)
    valid = ClickLog(args.valid_rows, seed=2)
    valid_loader = DataLoader(Subset(valid, range(rank, len(valid), world)), args.batch_size)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for batch in train_loader:
            user, item, scene, click = (t.to(device, non_blocking=True) for t in batch)
            loss = F.binary_cross_entropy_with_logits(ddp(user, item, scene), click)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        table = evaluate(model, valid_loader, device)
        if rank == 0:
            print(epoch, json.dumps(table["all"]), flush=True)
            os.makedirs(args.out, exist_ok=True)
            with open(os.path.join(args.out, f"valid_{epoch:03d}.json"), "w") as f:
                json.dump(table, f, indent=1)
            torch.save(model.state_dict(), os.path.join(args.out, "model.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
