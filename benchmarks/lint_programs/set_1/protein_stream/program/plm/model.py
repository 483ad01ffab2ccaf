import torch
import torch.nn as nn

from plm.alphabet import PAD, TOKENS


class ProteinLM(nn.Module):
    def __init__(self, dim, depth, heads, max_len):
        super().__init__()
        self.tok = nn.Embedding(len(TOKENS), dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, 0.0, "gelu",
                                           batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, len(TOKENS))

    def forward(self, tokens, labels):
        x = self.tok(tokens) + self.pos(torch.arange(tokens.size(1), device=tokens.device))
        x = self.encoder(x, src_key_padding_mask=tokens == PAD)
        logits = self.out(self.norm(x)).float()
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(),
                                           ignore_index=-100, reduction="sum")
        n = (labels != -100).sum().clamp(min=1)
        return loss / n
