import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

from meters import MetricBook, format_line
from model import WideDeep

CARDS = (50, 200, 20, 7)


def clicks(n, seed):
    g = torch.Generator().manual_seed(seed)
    cats = torch.stack([torch.randint(0, c, (n,), generator=g) for c in CARDS], dim=1)
    dense = torch.randn(n, 5, generator=g)
    score = (cats[:, 0] % 3 == 0).float() + dense[:, 0] - 1.0
    y = (torch.rand(n, generator=g) < torch.sigmoid(2 * score)).float()
    return TensorDataset(cats, dense, y)


def scores(logits, y):
    prob = torch.sigmoid(logits.detach())
    return {
        "loss": F.binary_cross_entropy_with_logits(logits.detach(), y),
        "acc": ((prob > 0.5) == (y > 0.5)).float().mean(),
        "ctr": y.mean(),
        "pred_ctr": prob.mean(),
        "brier": (prob - y).square().mean(),
    }


@torch.no_grad()
def evaluate(model, data, device, book):
    model.eval()
    book.reset()
    mine = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    for cats, dense, y in DataLoader(mine, batch_size=256):
        y = y.to(device)
        book.add(len(y), **scores(model(cats.to(device), dense.to(device)), y))
    model.train()
    return book.reduced()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=23)
    p.add_argument("--show", default="loss,acc,ctr,pred_ctr,brier")
    p.add_argument("--log", default="metrics.jsonl")
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpu else "gloo")
    main_rank = dist.get_rank() == 0
    torch.manual_seed(args.seed)

    train_set, test_set = clicks(4096, seed=1), clicks(1001, seed=2)
    sampler = DistributedSampler(train_set, seed=args.seed)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler)
    model = DDP(WideDeep(CARDS, 5).to(device), device_ids=[local_rank] if gpu else None)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=args.lr)
    book = MetricBook(args.show.split(","), device)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        book.reset()
        for cats, dense, y in loader:
            y = y.to(device)
            logits = model(cats.to(device), dense.to(device))
            loss = F.binary_cross_entropy_with_logits(logits, y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            book.add(len(y), **scores(logits, y))
        train_metrics = book.reduced()
        test_metrics = evaluate(model.module, test_set, device, book)
        if main_rank:
            print(format_line(f"epoch {epoch} train", train_metrics), flush=True)
            print(format_line(f"epoch {epoch} test ", test_metrics), flush=True)
            with open(args.log, "a") as f:
                f.write(json.dumps({"epoch": epoch, "train": train_metrics, "test": test_metrics}) + "\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
