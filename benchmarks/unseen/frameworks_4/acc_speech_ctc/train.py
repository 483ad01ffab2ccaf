import logging
import sys
import tempfile
import time

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

from keeper import CheckpointKeeper

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
VOCAB = 29


class Utterances(Dataset):
    def __init__(self, n, mels=20):
        g = torch.Generator().manual_seed(7)
        self.items = []
        for _ in range(n):
            frames = int(torch.randint(30, 60, (1,), generator=g))
            chars = int(torch.randint(4, 10, (1,), generator=g))
            self.items.append((torch.randn(frames, mels, generator=g), torch.randint(1, VOCAB, (chars,), generator=g)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(rows):
    feats, texts = zip(*rows)
    flen = torch.tensor([len(f) for f in feats])
    tlen = torch.tensor([len(t) for t in texts])
    pad = nn.utils.rnn.pad_sequence
    return pad(feats, batch_first=True), flen, pad(texts, batch_first=True), tlen


class TinyConformer(nn.Module):
    def __init__(self, mels=20, dim=32):
        super().__init__()
        self.inp = nn.Linear(mels, dim)
        self.conv = nn.Conv1d(dim, dim, 5, padding=2, groups=dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, x):
        h = self.inp(x)
        h = h + self.conv(h.transpose(1, 2)).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.out(h).log_softmax(-1)


def build():
    cfg = ProjectConfiguration(project_dir=tempfile.mkdtemp(prefix="ctc_"), automatic_checkpoint_naming=True, total_limit=3)
    acc = Accelerator(cpu=True, project_config=cfg)
    set_seed(11)
    net = TinyConformer()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 20))
    loader = DataLoader(Utterances(480), batch_size=4, shuffle=True, collate_fn=collate)
    return acc, acc.prepare(net, opt, loader, sched)


def main():
    acc, (net, opt, loader, sched) = build()
    keeper = CheckpointKeeper(acc)
    step = 0
    for epoch in range(3):
        for feats, flen, texts, tlen in loader:
            logp = net(feats).transpose(0, 1)
            loss = nn.functional.ctc_loss(logp, texts, flen, tlen, zero_infinity=True)
            acc.backward(loss)
            acc.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            time.sleep(0.02)
            keeper.after_step(step, loss.item())
            step += 1
        acc.print("epoch", epoch, "loss", round(loss.item(), 3))
    acc.end_training()


if __name__ == "__main__":
    main()
