import torch
import torch.nn as nn

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BOS, EOS, PAD = 26, 27, 28
VOCAB = 29
VOWELS = {LETTERS.index(c) for c in "aeiou"}


class CharPolicy(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB - 1)

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])

    @torch.no_grad()
    def generate(self, prompts, max_new, temperature=1.0):
        ids, done = prompts, torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
        out, h = self.rnn(self.emb(ids))
        for _ in range(max_new):
            probs = (self.head(out[:, -1]) / temperature).softmax(-1)
            nxt = torch.multinomial(probs, 1).squeeze(1).masked_fill(done, PAD)
            ids = torch.cat([ids, nxt[:, None]], 1)
            done |= nxt.eq(EOS)
            out, h = self.rnn(self.emb(nxt[:, None]), h)
        return ids


def token_logprobs(model, ids, start):
    """log p of ids[:, start:], and the mask of real tokens there."""
    logits = model(ids[:, :-1])[:, start - 1:]
    target = ids[:, start:]
    mask = target.ne(PAD)
    logp = logits.log_softmax(-1).gather(-1, target.masked_fill(~mask, 0)[..., None]).squeeze(-1)
    return logp * mask, mask


def reward(ids, start):
    scores = []
    for row in ids[:, start:].tolist():
        body = row[: row.index(EOS)] if EOS in row else row
        alternations = sum((a in VOWELS) != (b in VOWELS) for a, b in zip(body, body[1:]) if max(a, b) < 26)
        scores.append(alternations / max(len(body) - 1, 3) + (0.3 if EOS in row else 0.0))
    return torch.tensor(scores)
