import random
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset

from lm import VOCAB, CharLM, encode
from sampling import PromptSampler

SUBJECTS = ["the ferry", "my neighbour", "a violin", "the committee", "this recipe"]
VERBS = ["leaves", "waits for", "never mentions", "returns to"]


class Sentences(Dataset):
    def __init__(self, n, seed=0):
        rng = random.Random(seed)
        self.rows = [f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(SUBJECTS)}." for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = encode(self.rows[i])[:32]
        return F.pad(ids, (0, 32 - len(ids)), value=VOCAB - 4)


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = CharLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = DataLoader(Sentences(720), batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    prompts = [f"{s} {v}" for s in SUBJECTS for v in VERBS]
    sampler = PromptSampler(accelerator, prompts)

    for step, ids in enumerate(loader, start=1):
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)
        if step % 18 == 0:
            sheet = sampler(model)
            accelerator.wait_for_everyone()
            accelerator.print(f"step {step} loss {loss.item():.3f} e.g. {sheet[0].text!r}")
    accelerator.wait_for_everyone()
    accelerator.print("done")
    accelerator.end_training()


if __name__ == "__main__":
    main()
