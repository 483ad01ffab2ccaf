import torch
import torch.nn as nn
import torch.nn.functional as F


class Policy(nn.Module):
    def __init__(self, vocab=8192, dim=512, depth=8, heads=8, max_len=256):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(
            dim, heads, 4 * dim, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.lm = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        t = ids.size(1)
        causal = torch.ones(t, t, dtype=torch.bool, device=ids.device).triu(1)
        h = self.emb(ids) + self.pos(torch.arange(t, device=ids.device))
        return self.lm(self.body(h, mask=causal))


def response_logps(model, ids, prompt_len):
    """Log probabilities of the tokens after the prompt, shape (batch, response)."""
    logits = model(ids[:, :-1])[:, prompt_len - 1 :]
    return torch.gather(F.log_softmax(logits, -1), 2, ids[:, prompt_len:, None]).squeeze(2)


@torch.no_grad()
def sample(model, prompts, new_tokens, temperature=1.0):
    ids = prompts
    for _ in range(new_tokens):
        logits = model(ids)[:, -1] / temperature
        ids = torch.cat((ids, torch.multinomial(logits.softmax(-1), 1)), dim=1)
    return ids


def distinct_bigrams(response):
    pairs = response[:, :-1] * 100_000 + response[:, 1:]
    return torch.stack([row.unique().numel() / row.new_tensor(row.numel()).float() for row in pairs])
