import time

import torch
import torch.nn as nn
from accelerate import Accelerator

from corpus import VOCAB, fetch_part, tokenised


class CausalMixer(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.mix = nn.GRU(d, d, batch_first=True)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        h, _ = self.mix(self.tok(ids))
        return self.head(self.norm(h))


def batches(ids, size):
    t = torch.tensor(ids)
    for i in range(0, len(t), size):
        yield t[i : i + size]


class Pretrainer:
    def __init__(self, n_chunks=5, batch=8):
        self.acc = Accelerator(cpu=True)
        self.n_chunks, self.batch = n_chunks, batch
        net = CausalMixer()
        self.net, self.opt = self.acc.prepare(net, torch.optim.AdamW(net.parameters(), 1e-3))
        self.tokens = 0

    def step(self, ids):
        logits = self.net(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        self.acc.backward(loss)
        self.opt.step()
        self.opt.zero_grad()
        self.tokens += ids.numel()
        return loss.item()

    def run(self):
        for chunk in range(self.n_chunks):
            ids = tokenised(self.acc, fetch_part(chunk, self.acc.process_index))
            self.acc.wait_for_everyone()
            t0 = time.perf_counter()
            for b in batches(ids, self.batch):
                loss = self.step(b)
                time.sleep(0.02)
            self.acc.print(f"chunk {chunk}: loss {loss:.3f}, {self.tokens / (time.perf_counter() - t0):.0f} tok/s")


if __name__ == "__main__":
    Pretrainer().run()
