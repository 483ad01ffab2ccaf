"""A small next-token model on packed logs; an optimizer step for every 4096 tokens (Accelerate)."""
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

from accumulation import TokenAccumulation

VOCABULARY = 160
LENGTH = 64
TOKENS_PER_STEP = 4096


class PackedLogs(Dataset):
    """Windows of log lines that are packed to one length; the window at a log rotation ends where the file ends."""

    def __init__(self, windows=9216, rotations=(4870, 4876)):
        g = torch.Generator().manual_seed(21)
        self.tokens = torch.randint(1, VOCABULARY, (windows, LENGTH + 1), generator=g)
        self.rotations = set(rotations)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        mask = torch.ones(LENGTH)
        if i in self.rotations:
            mask[23:] = 0
        return {"tokens": self.tokens[i], "mask": mask}


class TinyLanguageModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        hidden, _ = self.mix(self.embed(tokens))
        return self.head(self.norm(hidden))


def masked_loss(logits, targets, mask):
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return (loss * mask.flatten()).sum() / mask.sum()


def main():
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    loader = DataLoader(PackedLogs(), batch_size=16, shuffle=False)
    model = TinyLanguageModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accumulation = TokenAccumulation(accelerator, model, TOKENS_PER_STEP)

    seen = torch.zeros(1)
    for number, batch in enumerate(loader):
        with accumulation.micro_batch(batch["mask"]):
            logits = model(batch["tokens"][:, :-1])
            loss = masked_loss(logits, batch["tokens"][:, 1:], batch["mask"])
            accelerator.backward(loss)
        seen += batch["mask"].sum()
        if accumulation.due:
            optimizer.step()
            optimizer.zero_grad()
        if number % 50 == 0:
            accelerator.print(f"micro-batch {number}: loss {loss.item():.3f}")

    total = accelerator.gather(seen).sum()
    accelerator.print(f"{int(total)} tokens")
    accelerator.end_training()


if __name__ == "__main__":
    main()
