import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence

from data import BOS, EOS, PAD


class Seq2Seq(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def encode(self, src):
        lengths = (src != PAD).sum(1).cpu()
        packed = pack_padded_sequence(self.embed(src), lengths, batch_first=True, enforce_sorted=False)
        return self.encoder(packed)[1]

    def forward(self, src, tgt_in):
        out, _ = self.decoder(self.embed(tgt_in), self.encode(src))
        return self.head(out)

    @torch.no_grad()
    def generate(self, src, max_len):
        state = self.encode(src)
        token = torch.full((src.size(0), 1), BOS, device=src.device)
        done = torch.zeros(src.size(0), dtype=torch.bool, device=src.device)
        out = []
        for _ in range(max_len):
            h, state = self.decoder(self.embed(token), state)
            token = self.head(h).argmax(-1).masked_fill(done.unsqueeze(1), PAD)
            out.append(token)
            done |= token.squeeze(1) == EOS
            if done.all():
                break
        return torch.cat(out, dim=1)
