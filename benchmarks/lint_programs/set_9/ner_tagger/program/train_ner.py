import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset

from data import PAD_LABEL, NerDataset, collate


class Tagger(nn.Module):
    def __init__(self, vocab=1000, tags=9, dim=96):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embed(tokens))
        return self.out(hidden)


def train_epoch(model, loader, optimizer, accum, device):
    """One pass; the optimizer steps every `accum` batches and on the last one."""
    model.train()
    total, seen = torch.zeros((), device=device), 0
    optimizer.zero_grad(set_to_none=True)
    n_batches = len(loader)
    for i, (tokens, tags) in enumerate(loader):
        tokens, tags = tokens.to(device), tags.to(device)
        window_start = i - i % accum
        window = min(accum, n_batches - window_start)
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=PAD_LABEL)
        boundary = (i + 1) % accum == 0 or i + 1 == n_batches
        if boundary:
            (loss / window).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        else:
            with model.no_sync():
                (loss / window).backward()
        total += loss.detach()
        seen += 1
    return total / max(1, seen)


@torch.no_grad()
def evaluate(model, dataset, batch_size, device):
    rank, world = dist.get_rank(), dist.get_world_size()
    model.eval()
    mine = Subset(dataset, range(rank, len(dataset), world))
    stats = torch.zeros(2, device=device)
    for tokens, tags in DataLoader(mine, batch_size, collate_fn=collate):
        tokens, tags = tokens.to(device), tags.to(device)
        mask = tags != PAD_LABEL
        stats[0] += ((model(tokens).argmax(-1) == tags) & mask).sum()
        stats[1] += mask.sum()
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--train")
    p.add_argument("--dev")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--save", default="tagger.pt")
    args = p.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    device = torch.device(f"cuda:{local_rank}" if cuda else "cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group(backend="nccl" if cuda else "gloo")
    torch.manual_seed(args.seed)

    train_set = NerDataset(args.train, seed=1)
    dev_set = NerDataset(args.dev, size=101, seed=2)
    sampler = DistributedSampler(train_set, seed=args.seed)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, collate_fn=collate)
    model = DistributedDataParallel(Tagger().to(device), device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    best = 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, loader, optimizer, args.accum, device)
        dist.all_reduce(loss)
        acc = evaluate(model.module, dev_set, args.batch_size, device)
        if dist.get_rank() == 0:
            print(f"[{epoch}] loss={loss.item() / dist.get_world_size():.4f} dev_acc={acc:.4f}", flush=True)
            if acc > best:
                torch.save(model.module.state_dict(), args.save)
        best = max(best, acc)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
