"""Triage of clinical notes with accelerate."""
import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from cleaning import normalise, to_ids

WORDS = "patient stable pain fever chest left right daily dose normal follow up week".split()


class Notes(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        words = [WORDS[(i * 7 + k) % len(WORDS)] for k in range(6)]
        body = " ".join(words) + "."
        if i == 355:  # a sequence pasted from the lab system
            body = "ACGTTGCAAGCT" * 6 + ";"
        return {"text": f"Note: {body}\nseen 3.4.2024", "label": i % 3}


def make_collate(vocab, length):
    def collate(items):
        ids = [to_ids(normalise(it["text"]), vocab, length) for it in items]
        return torch.tensor(ids), torch.tensor([it["label"] for it in items])
    return collate


class Triage(nn.Module):
    def __init__(self, vocab, dim=16):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim)
        self.out = nn.Linear(dim, 3)

    def forward(self, ids):
        return self.out(self.bag(ids))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--notes", type=int, default=960)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--vocab", type=int, default=500)
    args = ap.parse_args()
    accelerator = Accelerator(cpu=True)
    set_seed(1)
    model = Triage(args.vocab)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(Notes(args.notes), batch_size=args.batch_size, collate_fn=make_collate(args.vocab, 12))
    model, opt, loader = accelerator.prepare(model, opt, loader)
    for step, (ids, label) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(ids), label)
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
        time.sleep(0.02)
        if step % 5 == 0:
            accelerator.print(f"step {step} loss {loss.item():.3f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
