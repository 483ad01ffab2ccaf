import argparse
import glob
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

import comm
from stream import build_loader


class CharRNN(nn.Module):
    def __init__(self, vocab=256, dim=96, layers=2, dropout=0.1):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, layers, batch_first=True, dropout=dropout)
        self.out = nn.Linear(dim, vocab)

    def forward(self, idx):
        return self.out(self.rnn(self.emb(idx))[0])


def save(model, optimizer, step, out):
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "last.pt")
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
               path + ".tmp")
    os.replace(path + ".tmp", path)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--shards", required=True, help="glob of text files")
    p.add_argument("--out", default="runs/webtext")
    p.add_argument("--seq-len", type=int, default=64)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--num-workers", type=int, default=2)
    p.add_argument("--max-steps", type=int, default=100)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--save-every", type=int, default=50)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=17)
    args = p.parse_args()

    device = comm.init()
    rank = comm.get_rank()
    torch.manual_seed(args.seed + rank)

    loader = build_loader(glob.glob(args.shards), args.seq_len, args.batch_size, args.num_workers, args.seed)
    model = DDP(CharRNN().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.max_steps)

    model.train()
    for step, window in zip(range(1, args.max_steps + 1), loader):
        window = window.to(device, non_blocking=True)
        logits = model(window[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % args.log_every == 0:
            mean = comm.mean_over_ranks(loss).item()
            if rank == 0:
                print(f"step {step} loss {mean:.4f} lr {schedule.get_last_lr()[0]:.2e}", flush=True)
        if step % args.save_every == 0 and rank == 0:
            save(model, optimizer, step, args.out)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
