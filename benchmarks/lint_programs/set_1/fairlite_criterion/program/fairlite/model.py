import math

import torch
import torch.nn as nn

from fairlite.data import PAD


class TranslationTransformer(nn.Module):
    def __init__(self, vocab, dim, ffn, layers, heads, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=dim ** -0.5)
        self.scale = math.sqrt(dim)
        self.drop = nn.Dropout(dropout)
        self.body = nn.Transformer(dim, heads, layers, layers, ffn, dropout, batch_first=True,
                                   norm_first=True)

    def _positions(self, n, device):
        dim = self.embed.embedding_dim
        freq = torch.exp(torch.arange(0, dim, 2, device=device) * (-math.log(10000.0) / dim))
        angle = torch.arange(n, device=device)[:, None] * freq
        return torch.cat([angle.sin(), angle.cos()], 1)

    def _embed(self, tokens):
        x = self.embed(tokens) * self.scale
        return self.drop(x + self._positions(tokens.size(1), tokens.device))

    def forward(self, src_tokens, prev_output_tokens):
        n = prev_output_tokens.size(1)
        causal = torch.ones(n, n, dtype=torch.bool, device=src_tokens.device).triu(1)
        pad = src_tokens.eq(PAD)
        x = self.body(self._embed(src_tokens), self._embed(prev_output_tokens), tgt_mask=causal,
                      src_key_padding_mask=pad, memory_key_padding_mask=pad)
        return nn.functional.linear(x, self.embed.weight)

    def get_normalized_probs(self, net_output):
        return torch.log_softmax(net_output.float(), dim=-1)
