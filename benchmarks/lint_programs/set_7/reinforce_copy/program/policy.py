import torch
import torch.nn as nn


class PolicyLM(nn.Module):
    def __init__(self, vocab_size, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab_size)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.head(h)

    @torch.no_grad()
    def generate(self, prompt, max_new_tokens, temperature=1.0):
        tokens = prompt
        for _ in range(max_new_tokens):
            logits = self(tokens)[:, -1] / temperature
            nxt = torch.multinomial(logits.softmax(-1), 1)
            tokens = torch.cat([tokens, nxt], dim=1)
        return tokens
