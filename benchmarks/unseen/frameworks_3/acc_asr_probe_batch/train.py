import time

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
from torch.utils.data import DataLoader, Dataset

from frontend import ChunkedEncoder


class Manifest(Dataset):
    """Utterances with the duration that the recorder wrote into the header."""

    def __init__(self, n=1200):
        g = torch.Generator().manual_seed(8)
        self.feats = torch.randn(n, 60, 20, generator=g)
        self.targets = torch.randint(1, 30, (n, 8), generator=g)
        self.seconds = torch.full((n,), 0.6)
        self.seconds[373] = 429496.7295      # recorder was unplugged before it patched the header

    def __len__(self):
        return len(self.feats)

    def __getitem__(self, i):
        return self.feats[i], self.seconds[i], self.targets[i]


def training_function(accelerator, epochs=1):
    @find_executable_batch_size(starting_batch_size=8)
    def inner_training_loop(batch_size):
        nonlocal accelerator
        accelerator.free_memory()
        torch.manual_seed(1)
        model = ChunkedEncoder()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        loader = DataLoader(Manifest(), batch_size=batch_size, shuffle=False)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        ctc = nn.CTCLoss(zero_infinity=True)
        for epoch in range(epochs):
            for step, (feats, seconds, targets) in enumerate(loader):
                logp = model(feats, seconds)
                b, t = logp.shape[:2]
                loss = ctc(logp.transpose(0, 1), targets, torch.full((b,), t), torch.full((b,), 8))
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                time.sleep(0.02)
                if step % 5 == 0:
                    accelerator.print(f"epoch {epoch} step {step} bs {batch_size} ctc {loss.item():.3f}", flush=True)
        accelerator.save_state("/tmp/asr_probe_state")

    inner_training_loop()


if __name__ == "__main__":
    acc = Accelerator(cpu=True)
    training_function(acc)
    acc.end_training()
