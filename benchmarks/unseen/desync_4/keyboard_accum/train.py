import time
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    sessions: int = 9624
    keys: int = 24
    batch_size: int = 8
    accumulate: int = 4
    rate: float = 2e-3
    letters: int = 30


class Sessions(Dataset):
    """What was typed in one session; an idle session has no key at all (all padding, 0)."""

    def __init__(self, config):
        generator = torch.Generator().manual_seed(14)
        self.keys = torch.randint(1, config.letters, (config.sessions, config.keys), generator=generator)
        idle = 3296
        self.keys[idle : idle + config.batch_size] = 0

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, index):
        time.sleep(0.009)
        return self.keys[index]


class Typist(nn.Module):
    def __init__(self, letters, width=32):
        super().__init__()
        self.embed = nn.Embedding(letters, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, letters)

    def forward(self, keys):
        return self.head(self.gru(self.embed(keys))[0])


def main():
    config = Config()
    torch.set_num_threads(1)
    accelerator = Accelerator(gradient_accumulation_steps=config.accumulate, cpu=True)
    set_seed(3)
    model = Typist(config.letters)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.rate)
    loader = DataLoader(Sessions(config), batch_size=config.batch_size, shuffle=False, drop_last=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    updates = 0
    for keys in loader:
        following = keys[:, 1:]
        if not following.any():
            continue
        with accelerator.accumulate(model):
            logits = model(keys[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=0)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            updates += 1
            if updates % 20 == 0:
                accelerator.print(f"update {updates}: {loss.item():.3f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.print(f"{updates} updates")
    accelerator.end_training()


if __name__ == "__main__":
    main()
