import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset, random_split

from corpus import VOCAB, load_corpus


class TextCNN(nn.Module):
    def __init__(self, vocab=VOCAB, dim=64, widths=(2, 3, 4), channels=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(dim, channels, w) for w in widths)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(channels * len(widths), 2)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        pooled = [F.relu(conv(x)).amax(dim=-1) for conv in self.convs]
        return self.out(self.drop(torch.cat(pooled, dim=1)))


@torch.no_grad()
def accuracy(model, dataset, device):
    model.eval()
    part = Subset(dataset, range(dist.get_rank(), len(dataset), dist.get_world_size()))
    hits = torch.zeros(2, dtype=torch.float64, device=device)
    for ids, labels in DataLoader(part, batch_size=64):
        pred = model(ids.to(device)).argmax(dim=1)
        hits[0] += (pred == labels.to(device)).sum()
        hits[1] += labels.numel()
    dist.all_reduce(hits)
    model.train()
    return (hits[0] / hits[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", default="")
    parser.add_argument("--cache-dir", default="/tmp/textcnn_cache")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", default="textcnn.pt")
    args = parser.parse_args()

    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if on_gpu else torch.device("cpu")
    dist.init_process_group("nccl" if on_gpu else "gloo")
    try:
        torch.manual_seed(args.seed)
        data = load_corpus(args.corpus, args.cache_dir, local_rank)
        train_set, val_set = random_split(
            data, [0.9, 0.1], generator=torch.Generator().manual_seed(args.seed)
        )
        sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed)
        loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler)
        net = DDP(TextCNN().to(device), device_ids=[local_rank] if on_gpu else None)
        optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for ids, labels in loader:
                optimizer.zero_grad(set_to_none=True)
                loss = F.cross_entropy(net(ids.to(device)), labels.to(device))
                loss.backward()
                optimizer.step()
            scheduler.step()
            acc = accuracy(net.module, val_set, device)
            if rank == 0:
                print(f"epoch {epoch} val_acc {acc:.3f}", flush=True)
        if rank == 0:
            torch.save(net.module.state_dict(), args.out)
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
