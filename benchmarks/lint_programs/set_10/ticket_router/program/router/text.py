from collections import Counter

import torch
from torch.utils.data import Dataset

PAD, UNK = "<pad>", "<unk>"


def build_vocab(tickets, min_count=2):
    counts = Counter(word for t in tickets for word in t["text"].split())
    words = {word for word, n in counts.items() if n >= min_count}
    return {word: i for i, word in enumerate([PAD, UNK, *words])}


def build_labels(tickets):
    return {queue: i for i, queue in enumerate(sorted({t["queue"] for t in tickets}))}


class TicketDataset(Dataset):
    def __init__(self, tickets, vocab, labels, max_len=12):
        self.tickets = tickets
        self.vocab = vocab
        self.labels = labels
        self.max_len = max_len

    def __len__(self):
        return len(self.tickets)

    def __getitem__(self, i):
        ticket = self.tickets[i]
        ids = [self.vocab.get(w, self.vocab[UNK]) for w in ticket["text"].split()][: self.max_len]
        ids += [self.vocab[PAD]] * (self.max_len - len(ids))
        return torch.tensor(ids), self.labels[ticket["queue"]]
