"""Continual pre-training of a small recurrent LM on three text sources."""
import argparse
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from accumulation import TokenWindow
from corpus import SOURCES, VOCAB, SourceCorpus, collate


class GRULM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        hidden, _ = self.rnn(self.embed(ids))
        return self.head(hidden)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--token-budget", type=int, default=480)
    parser.add_argument("--micro-batch", type=int, default=4)
    parser.add_argument("--log-every", type=int, default=30)
    parser.add_argument("--lr", type=float, default=3e-3)
    return parser.parse_args()


def main():
    args = parse_args()
    accelerator = Accelerator(cpu=True)
    set_seed(7)

    source = SOURCES[accelerator.process_index % len(SOURCES)]
    loader = DataLoader(SourceCorpus(source), batch_size=args.micro_batch, collate_fn=collate)
    model = GRULM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer = accelerator.prepare(model, optimizer)

    window = TokenWindow(accelerator, args.token_budget)
    running = torch.zeros(())
    for micro, batch in enumerate(loader, start=1):
        window.add(batch["lengths"])
        with window.gradients(model):
            logits = model(batch["ids"][:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), batch["ids"][:, 1:].flatten(), ignore_index=0)
            accelerator.backward(loss)
        running += loss.detach()
        if window.full:
            optimizer.step()
            optimizer.zero_grad()
            window.close()
        time.sleep(0.03)

        if micro % args.log_every == 0:
            losses = accelerator.gather(running / args.log_every)
            accelerator.print(f"micro-batch {micro} step {window.steps} loss {losses.mean():.4f}")
            running.zero_()

    accelerator.wait_for_everyone()
    accelerator.print("finished", window.steps)
    accelerator.end_training()


if __name__ == "__main__":
    main()
