import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from trainer import Trainer


class SequenceClassifier(nn.Module):
    def __init__(self, vocab, dim, heads, layers, length, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.zeros(length, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.head(self.encoder(self.embed(ids) + self.pos).mean(1))


def load(path, vocab, length, classes):
    if path:
        blob = torch.load(path, map_location="cpu")
        return TensorDataset(blob["ids"], blob["labels"])
    g = torch.Generator().manual_seed(5)
    ids = torch.randint(vocab, (1200, length), generator=g)
    return TensorDataset(ids, (ids < vocab // 2).sum(1) * classes // (length + 1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="")
    p.add_argument("--vocab", type=int, default=30000)
    p.add_argument("--dim", type=int, default=512)
    p.add_argument("--heads", type=int, default=8)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--length", type=int, default=128)
    p.add_argument("--classes", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="classifier.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)

    data = load(args.data, args.vocab, args.length, args.classes)
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(args.seed)).tolist()
    n_val = len(data) // 10 // world * world
    val_set, train_set = Subset(data, order[:n_val]), Subset(data, order[n_val:])
    train = DataLoader(
        train_set, args.batch_size, sampler=DistributedSampler(train_set, seed=args.seed),
        num_workers=args.workers, drop_last=True, pin_memory=cuda,
    )
    val = DataLoader(
        val_set, args.batch_size, sampler=DistributedSampler(val_set, shuffle=False), num_workers=args.workers
    )

    torch.manual_seed(args.seed + rank)
    net = SequenceClassifier(args.vocab, args.dim, args.heads, args.layers, args.length, args.classes).to(device)
    model = DDP(net, device_ids=[device.index] if cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    updates = args.epochs * -(-len(train) // args.accum)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=updates)
    trainer = Trainer(model, optimizer, scheduler, train, device, accum=args.accum)

    for epoch in range(args.epochs):
        loss = trainer.run_epoch(epoch)
        accuracy = trainer.evaluate(val)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, val accuracy {accuracy:.4f}", flush=True)
            torch.save(net.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
