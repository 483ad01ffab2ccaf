import torch
from torch import nn

from data import BOS, EOS, PAD


class Summarizer(nn.Module):
    def __init__(self, vocab, dim=128):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.attn = nn.Linear(dim, dim, bias=False)
        self.out = nn.Linear(2 * dim, vocab)

    def attend(self, memory, mask, dec):
        scores = (self.attn(dec) @ memory.transpose(1, 2)).masked_fill(~mask[:, None], -1e4)
        return self.out(torch.cat([dec, scores.softmax(-1) @ memory], -1))

    def forward(self, source, target):
        memory, state = self.encoder(self.embed(source))
        bos = torch.full_like(target[:, :1], BOS)
        dec, _ = self.decoder(self.embed(torch.cat([bos, target[:, :-1]], 1)), state)
        return self.attend(memory, source != PAD, dec)

    @torch.no_grad()
    def generate(self, source, max_length):
        memory, state = self.encoder(self.embed(source))
        token = torch.full_like(source[:, :1], BOS)
        finished = torch.zeros(len(source), dtype=torch.bool, device=source.device)
        tokens = []
        while len(tokens) < max_length and not finished.all():
            dec, state = self.decoder(self.embed(token), state)
            token = self.attend(memory, source != PAD, dec).argmax(-1)
            token = token.masked_fill(finished[:, None], PAD)
            finished |= token[:, 0] == EOS
            tokens.append(token)
        return torch.cat(tokens, 1)
