import torch


class Mixture:
    """Endless batches, each from one domain drawn by its weight; every rank has its own stream."""

    def __init__(self, domains, batch, seq, vocab, seed):
        self.names = list(domains)
        self.weights = torch.tensor([float(domains[n]) for n in self.names])
        self.batch, self.seq, self.vocab = batch, seq, vocab
        self.gen = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            d = int(torch.multinomial(self.weights, 1, generator=self.gen))
            start = torch.randint(self.vocab, (self.batch, 1), generator=self.gen)
            ids = (start + (2 * d + 1) * torch.arange(self.seq + 1)) % self.vocab
            noise = torch.rand(ids.shape, generator=self.gen) < 0.02 * d
            yield self.names[d], torch.where(noise, torch.randint(self.vocab, ids.shape, generator=self.gen), ids)
