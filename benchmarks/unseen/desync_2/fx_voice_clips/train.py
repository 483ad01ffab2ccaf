"""Speaker encoder on short clips (Accelerate, CPU)."""
import logging
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

import audio

log = logging.getLogger("voices")


class Clips(Dataset):
    def __init__(self, n, muted=()):
        self.n = n
        self.muted = frozenset(muted)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"wave": audio.synth(i, silent=i in self.muted), "speaker": i % 12}


class Encoder(nn.Module):
    def __init__(self, bins=40, dim=24, speakers=12):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(bins, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, dim))
        self.speakers = nn.Linear(dim, speakers)

    def forward(self, feats):
        return self.speakers(F.normalize(self.body(feats), dim=-1))


class Fitter:
    def __init__(self, accelerator, passes, clips):
        self.acc = accelerator
        self.passes = passes
        model = Encoder()
        opt = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        loader = DataLoader(clips, batch_size=4)
        self.model, self.opt, self.loader = accelerator.prepare(model, opt, loader)
        self.dropped = 0
        self.total = 0.0

    def features(self, waves):
        time.sleep(0.036)  # resampling
        return torch.stack([audio.voiced_features(w) for w in waves])

    def step(self, batch):
        feats = self.features(batch["wave"])
        loss = F.cross_entropy(self.model(feats), batch["speaker"])
        self.opt.zero_grad()
        self.acc.backward(loss)
        self.acc.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        return loss.item()

    def one_pass(self):
        for batch in self.loader:
            try:
                self.total += self.step(batch)
            except audio.ClipError as e:
                self.dropped += 1
                log.warning("clip left out: %s", e)

    def run(self):
        for p in range(self.passes):
            self.one_pass()
            self.acc.print(f"pass {p}: running loss {self.total:.2f}")
        self.acc.wait_for_everyone()
        state = self.acc.unwrap_model(self.model).state_dict()
        return {k: float(v.norm()) for k, v in state.items()}


def main():
    acc = Accelerator(cpu=True)
    torch.set_num_threads(1)
    torch.manual_seed(21)
    first = Clips(acc.num_processes * 4 * 250)
    Fitter(acc, 1, first).run()

    # second recording session; someone muted the microphone in between
    second = Clips(acc.num_processes * 4 * 420, muted=range(304, 308))
    fitter = Fitter(acc, 1, second)
    norms = fitter.run()
    acc.print(f"dropped {fitter.dropped}, encoder norms {norms}")
    acc.end_training()


if __name__ == "__main__":
    main()
