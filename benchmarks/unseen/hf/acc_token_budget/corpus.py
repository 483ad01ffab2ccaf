"""Three text sources, one per process."""
import torch
from torch.utils.data import Dataset

SOURCES = ("news", "forum", "encyclopedia")
VOCAB = 97


class SourceCorpus(Dataset):
    """Documents of one source, already tokenised, in the order of the crawl."""

    def __init__(self, source, size=256, seed=0):
        gen = torch.Generator().manual_seed(seed)
        self.documents = []
        for number in range(size):
            length = 32
            if source == "forum" and number >= 24:  # opening posts first, then the replies
                length = 24
            self.documents.append(torch.randint(1, VOCAB, (length,), generator=gen))

    def __len__(self):
        return len(self.documents)

    def __getitem__(self, index):
        return self.documents[index]


def collate(documents):
    lengths = torch.tensor([len(d) for d in documents])
    ids = torch.nn.utils.rnn.pad_sequence(documents, batch_first=True)
    return {"ids": ids, "lengths": lengths}
