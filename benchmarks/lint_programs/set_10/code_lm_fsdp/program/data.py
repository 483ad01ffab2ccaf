import torch


def token_stream(vocab, seq, batch_size, seed, rank):
    """Endless batches; every rank draws from a stream of its own."""
    g = torch.Generator().manual_seed(seed * 1000 + rank)
    while True:
        start = torch.randint(0, vocab, (batch_size, 1), generator=g)
        stride = torch.randint(1, 4, (batch_size, 1), generator=g)
        ids = (start + stride * torch.arange(seq + 1)) % vocab
        yield ids[:, :-1], ids[:, 1:]
