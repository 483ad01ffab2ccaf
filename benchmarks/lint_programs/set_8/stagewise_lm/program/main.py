import argparse
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

from schedule import FillDrain
from stages import Stage


class CountingText(Dataset):
    """Sequences that count upwards in steps of 1..5, modulo the vocabulary."""

    def __init__(self, size, length, vocab):
        g = torch.Generator().manual_seed(99)
        start = torch.randint(vocab, (size, 1), generator=g)
        stride = torch.randint(1, 6, (size, 1), generator=g)
        self.tokens = (start + stride * torch.arange(length + 1)) % vocab

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i, :-1], self.tokens[i, 1:]


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--dim", type=int, default=48)
    p.add_argument("--vocab", type=int, default=50)
    p.add_argument("--seq-len", type=int, default=32)
    p.add_argument("--samples", type=int, default=338)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--micro-batches", type=int, default=8)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=4e-3)
    return p.parse_args()


def main():
    args = parse_args()
    dist.init_process_group("gloo")
    index, count = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1000 + index)

    stage = Stage(index, count, args.layers, args.vocab, args.dim)
    optimizer = torch.optim.AdamW(stage.parameters(), lr=args.lr)
    schedule = FillDrain(stage, index, count, args.micro_batches)

    data = CountingText(args.samples, args.seq_len, args.vocab)
    # every stage walks the same batches in the same order
    loader = DataLoader(data, args.batch_size, shuffle=True, generator=torch.Generator().manual_seed(7))

    for epoch in range(args.epochs):
        began, seen, running = time.time(), 0, 0.0
        for tokens, targets in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = schedule.run(tokens, targets)
            optimizer.step()
            running += loss * tokens.size(0)
            seen += tokens.size(0)
        if stage.last:
            print(f"epoch {epoch}  loss {running / seen:.4f}  {seen / (time.time() - began):.0f} rows/s", flush=True)

    torch.save(stage.state_dict(), f"stage{index}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
