import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

import checkpoint
from data import CharCorpus


class CharGRU(nn.Module):
    def __init__(self, vocab, dim, layers):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, num_layers=layers, batch_first=True, dropout=0.1)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.head(h)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--text", required=True)
    p.add_argument("--out", default="runs/gru")
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--block", type=int, default=128)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--steps", type=int, default=20000)
    p.add_argument("--save-every", type=int, default=500)
    p.add_argument("--keep", type=int, default=3)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--resume", action="store_true")
    return p.parse_args()


def main():
    args = parse()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if cuda:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)

    # every rank draws its own batches; DDP copies the weights of rank 0
    torch.manual_seed(args.seed + rank)
    corpus = CharCorpus(args.text)
    model = CharGRU(len(corpus.chars), args.dim, args.layers).to(device)
    model = DistributedDataParallel(model, device_ids=[device.index] if cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()

    start = checkpoint.load_latest(args.out, model, optimizer, device) if args.resume else 0
    running = torch.zeros((), device=device)
    for step in range(start + 1, args.steps + 1):
        x, y = corpus.batch(args.batch_size, args.block)
        logits = model(x.to(device))
        loss = criterion(logits.flatten(0, 1), y.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.detach()

        if step % args.save_every == 0:
            dist.all_reduce(running)
            if rank == 0:
                mean = running.item() / (args.save_every * world)
                print(f"step {step} loss {mean:.4f}", flush=True)
            running.zero_()
            checkpoint.save(args.out, step, model, optimizer, args.keep)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
