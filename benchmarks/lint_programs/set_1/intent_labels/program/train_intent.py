import argparse
import json
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset
from torch.utils.data.distributed import DistributedSampler

from corpus import PAD, IntentDataset, LabelMap, Vocabulary, read_jsonl


class IntentClassifier(nn.Module):
    def __init__(self, vocab_size, num_labels, dim=256, layers=3, heads=4, max_len=64):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.position = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.classify = nn.Linear(dim, num_labels)

    def forward(self, ids):
        pad = ids.eq(PAD)
        pos = torch.arange(ids.size(1), device=ids.device)
        h = self.encoder(self.embed(ids) + self.position(pos), src_key_padding_mask=pad)
        h = h.masked_fill(pad.unsqueeze(-1), 0.0).sum(1) / (~pad).sum(1, keepdim=True)
        return self.classify(h)


def train_epoch(model, loader, optimizer, scheduler, device):
    model.train()
    loss_sum = torch.zeros(1, device=device)
    for ids, target in loader:
        ids, target = ids.to(device, non_blocking=True), target.to(device, non_blocking=True)
        loss = nn.functional.cross_entropy(model(ids), target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        loss_sum += loss.detach()
    loss_sum /= len(loader)
    dist.all_reduce(loss_sum)
    return loss_sum.item() / dist.get_world_size()


@torch.no_grad()
def accuracy(net, loader, device):
    net.eval()
    right, count = 0, 0
    for ids, target in loader:
        right += (net(ids.to(device)).argmax(-1).cpu() == target).sum().item()
        count += len(target)
    both = torch.tensor([right, count], device=device)
    dist.all_reduce(both)
    return both[0].item() / both[1].item()


def export(folder, net, vocab, labels):
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(net.state_dict(), folder / "model.pt")
    (folder / "vocab.json").write_text(json.dumps(vocab.itos))
    (folder / "labels.json").write_text(json.dumps(labels.names, indent=1))


def main():
    parser = argparse.ArgumentParser(description="intent classification")
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--export", type=Path, default=Path("exported"))
    parser.add_argument("--batch-size", type=int, default=64, help="utterances per GPU")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=4e-4)
    args = parser.parse_args()

    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device(f"cuda:{local_rank}")
    rank, world = dist.get_rank(), dist.get_world_size()

    train_rows, dev_rows = read_jsonl(args.train), read_jsonl(args.dev)
    vocab, labels = Vocabulary(train_rows), LabelMap(train_rows)
    train_set = IntentDataset(train_rows, vocab, labels)
    dev_set = IntentDataset([r for r in dev_rows if r["intent"] in labels.ids], vocab, labels)

    sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
    train_loader = DataLoader(train_set, args.batch_size, sampler=sampler, collate_fn=IntentDataset.collate,
                              num_workers=2, drop_last=True, pin_memory=True)
    dev_loader = DataLoader(Subset(dev_set, range(rank, len(dev_set), world)), 256,
                            collate_fn=IntentDataset.collate)

    net = IntentClassifier(len(vocab), len(labels)).to(device)
    model = DistributedDataParallel(net, device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, total_iters=args.epochs * len(train_loader))
    if rank == 0:
        print(f"{len(train_set)} utterances, {len(vocab)} words, {len(labels)} intents", flush=True)

    best = 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, train_loader, optimizer, scheduler, device)
        acc = accuracy(net, dev_loader, device)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, dev accuracy {acc:.4f}", flush=True)
            if acc > best:
                export(args.export, net, vocab, labels)
        best = max(best, acc)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
