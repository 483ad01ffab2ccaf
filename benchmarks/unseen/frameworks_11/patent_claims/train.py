"""Next-token model of patent claims with Accelerate; the optimizer steps when enough tokens have been read."""
from contextlib import nullcontext

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

VOCABULARY = 300
CLAIMS_PER_BATCH = 6
TOKENS_PER_STEP = 4 * CLAIMS_PER_BATCH * 40
PAD = 0


class Claims(Dataset):
    """Tokenised claims in the order of their publication."""

    def __init__(self, claims: int):
        g = torch.Generator().manual_seed(13)
        self.claims = []
        for number in range(claims):
            length = 42 + number % 3
            if 1098 <= number < 1104:  # a design patent: "the ornamental design as shown"
                length = 9
            self.claims.append(torch.randint(1, VOCABULARY, (length,), generator=g))

    def __len__(self):
        return len(self.claims)

    def __getitem__(self, i):
        return self.claims[i]


def collate(claims):
    return nn.utils.rnn.pad_sequence(claims, batch_first=True, padding_value=PAD)


class ClaimModel(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width, padding_idx=PAD)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embedding(tokens))
        return self.out(hidden)


def claim_loss(model, tokens):
    logits = model(tokens[:, :-1])
    return nn.functional.cross_entropy(
        logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1), ignore_index=PAD
    )


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(0)
    loader = DataLoader(Claims(240 * 3 * CLAIMS_PER_BATCH), batch_size=CLAIMS_PER_BATCH, collate_fn=collate)
    model = ClaimModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    read, updates = 0, 0
    running = torch.zeros(1)
    for tokens in loader:
        read += int((tokens != PAD).sum())
        enough = read >= TOKENS_PER_STEP
        with nullcontext() if enough else accelerator.no_sync(model):
            loss = claim_loss(model, tokens) / 4
            accelerator.backward(loss)
        running += loss.detach() * 4
        if enough:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            read = 0
            updates += 1
    mean = accelerator.gather(running / len(loader)).mean()
    accelerator.print(f"{updates} updates, loss {mean:.3f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
