import torch
import torch.nn as nn
import torch.nn.functional as F


class CodeLM(nn.Module):
    def __init__(self, vocab=256, dim=256, layers=6, heads=8, context=256):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(context, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        n = ids.size(1) - 1
        x = self.tok(ids[:, :-1]) + self.pos(torch.arange(n, device=ids.device))
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=ids.device)
        logits = self.head(self.body(x, mask=mask, is_causal=True))
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
