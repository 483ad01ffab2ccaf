"""Intent classification; the network is cut into as many stages as ranks."""
import argparse
import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

from pipeline import Pipe
from stages import build_stage

FEATURES, CLASSES = 20, 4


def utterance_vectors(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    centre = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(9))
    return TensorDataset(centre[y] + 0.5 * torch.randn(n, FEATURES, generator=g), y)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--micro-batch", type=int, default=8)
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--blocks", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--out", default="intent_stage{}.pt")
    args = ap.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")

    torch.manual_seed(17 + rank)  # stages hold different layers
    stage = build_stage(rank, world, FEATURES, args.dim, CLASSES, args.blocks).to(device)
    pipe = Pipe(stage, args.dim, args.micro_batch, device)
    optimizer = torch.optim.Adam(stage.parameters(), lr=args.lr)

    # every stage walks the same batches in the same order
    order = torch.Generator().manual_seed(23)
    train = DataLoader(utterance_vectors(256, 1), args.batch_size, shuffle=True,
                       drop_last=True, generator=order)
    val_ds = utterance_vectors(100, 2)
    val = DataLoader(val_ds, args.batch_size)

    for epoch in range(args.epochs):
        stage.train()
        loss = torch.zeros((), device=device)
        for x, y in train:
            optimizer.zero_grad()
            loss += pipe.train_step(x.to(device), y.to(device))
            optimizer.step()
        stage.eval()
        hits = torch.zeros((), device=device)
        for x, y in val:
            hits += pipe.count_hits(x.to(device), y.to(device))
        if pipe.last:
            print(f"epoch {epoch} loss {loss / len(train):.4f} "
                  f"acc {hits / len(val_ds):.3f}", flush=True)

    torch.save(stage.state_dict(), args.out.format(rank))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
