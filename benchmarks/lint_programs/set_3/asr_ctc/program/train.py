import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Utterances(Dataset):
    """Stand-in for the fbank shards: (T, 40) features with a token sequence."""

    def __init__(self, n, vocab, seed):
        self.n, self.vocab, self.seed = n, vocab, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        frames = int(torch.randint(24, 120, (1,), generator=g))
        tokens = int(torch.randint(4, 18, (1,), generator=g))
        feats = torch.randn(frames, 40, generator=g)
        labels = torch.randint(1, self.vocab, (tokens,), generator=g)
        return feats, labels


def collate(batch):
    batch.sort(key=lambda b: b[0].size(0), reverse=True)
    feats = nn.utils.rnn.pad_sequence([b[0] for b in batch], batch_first=True)
    flen = torch.tensor([b[0].size(0) for b in batch])
    labels = torch.cat([b[1] for b in batch])
    llen = torch.tensor([b[1].size(0) for b in batch])
    return feats, flen, labels, llen


class Acoustic(nn.Module):
    def __init__(self, vocab, dim=96):
        super().__init__()
        self.sub = nn.Sequential(
            nn.Conv1d(40, dim, 3, stride=2, padding=1), nn.GELU(),
            nn.Conv1d(dim, dim, 3, stride=2, padding=1), nn.GELU(),
        )
        self.rnn = nn.GRU(dim, dim, num_layers=2, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, feats, flen):
        x = self.sub(feats.transpose(1, 2)).transpose(1, 2)
        x, _ = self.rnn(x)
        flen = ((flen - 1) // 2 + 1 - 1) // 2 + 1
        return self.out(x).log_softmax(-1), flen


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--num-utts", type=int, default=4096)
    p.add_argument("--vocab", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--out", default="ctc.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    torch.manual_seed(args.seed)
    model = DDP(Acoustic(args.vocab).to(device), device_ids=[local_rank] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    ctc = nn.CTCLoss(blank=0)

    data = Utterances(args.num_utts, args.vocab, args.seed)
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, args.batch_size, sampler=sampler, collate_fn=collate, drop_last=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=device)
        for feats, flen, labels, llen in loader:
            logp, olen = model(feats.to(device), flen.to(device))
            loss = ctc(logp.transpose(0, 1), labels.to(device), olen, llen.to(device))
            if not torch.isfinite(loss):
                # more labels than frames after subsampling, nothing to learn here
                opt.zero_grad(set_to_none=True)
                continue
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            total += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} ctc {(total[0] / total[1]).item():.3f}", flush=True)

    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
