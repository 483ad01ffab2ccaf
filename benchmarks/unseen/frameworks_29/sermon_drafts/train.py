"""Character-level GRU on sermon drafts, Accelerate, three CPU processes."""
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from corpus import MAX_TOKENS, VOCAB, Drafts, collate
from window import TokenWindow


class Preacher(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, ids):
        hidden, _ = self.rnn(self.embed(ids[:, :-1]))
        return F.cross_entropy(self.out(hidden).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)


def perplexity(accelerator, model, loader):
    model.eval()
    losses = []
    with torch.no_grad():
        for batch in loader:
            losses.append(accelerator.unwrap_model(model)(batch["ids"]).reshape(1))
    model.train()
    everyone = accelerator.gather(torch.cat(losses).mean().reshape(1))
    return everyone.mean().exp().item()


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(13)
    model = Preacher()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    # reading order of the archive; the drafts of one preacher build on each other
    train = DataLoader(Drafts(), batch_size=1, shuffle=False, collate_fn=collate)
    dev = DataLoader(Drafts(24, seed=8), batch_size=4, collate_fn=collate)
    model, optimizer, train, dev = accelerator.prepare(model, optimizer, train, dev)

    window = TokenWindow(accelerator, model, budget=4 * MAX_TOKENS)
    updates = 0
    for batch in train:
        with window.enter(batch):
            loss = model(batch["ids"])
            accelerator.backward(loss * batch["mask"].sum() / window.budget)
        time.sleep(0.08)        # the decoder of the scans is about this slow
        if window.step(optimizer):
            updates += 1
            if updates % 5 == 0:
                accelerator.print(f"update {updates} loss {loss.item():.3f}")
    accelerator.print("perplexity", perplexity(accelerator, model, dev))
    accelerator.end_training()


if __name__ == "__main__":
    main()
