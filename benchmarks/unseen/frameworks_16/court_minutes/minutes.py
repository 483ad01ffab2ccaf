"""Minutes of a municipal court: lines as typed, and what becomes of them."""

import re

import torch
from torch.utils.data import Dataset

CHARS = " abcdefghijklmnopqrstuvwxyz0123456789"
WIDTH = 48
SUBJECTS = ["theft", "trespass", "debt", "slander", "licence"]
CLERKS = ["ann marsh", "john pike", "eliza rowe", "tom hale"]

# the text of an entry and the page it refers to, as in "debt of john pike [12]"
ENTRY = re.compile(r"^((?:\w+[ ,;.]?)+)\[(\d+)\]$")


class Minutes(Dataset):
    """Entries of the volumes of one court house, in the order of writing."""

    def __init__(self, court, entries, ruled=()):
        g = torch.Generator().manual_seed(100 + court)
        self.lines, self.subjects = [], []
        for i in range(entries):
            subject = int(torch.randint(len(SUBJECTS), (1,), generator=g))
            clerk = CLERKS[int(torch.randint(len(CLERKS), (1,), generator=g))]
            page = int(torch.randint(1, 400, (1,), generator=g))
            line = f"{SUBJECTS[subject]} of {clerk} [{page}]"
            if i in ruled:
                line = SUBJECTS[subject] + " " + "_" * 44  # left open for the signature
            self.lines.append(line)
            self.subjects.append(subject)

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        return self.lines[i], self.subjects[i]


def split_entry(line):
    """Text and page of an entry; a line without a page is all text."""
    match = ENTRY.match(line)
    if match is None:
        return line, 0
    return match.group(1), int(match.group(2))


def encode(text):
    codes = [CHARS.find(c) + 1 for c in text[:WIDTH]]
    return codes + [0] * (WIDTH - len(codes))


def collate(entries):
    texts, pages, subjects = [], [], []
    for line, subject in entries:
        text, page = split_entry(line)
        texts.append(encode(text))
        pages.append(page / 400)
        subjects.append(subject)
    return torch.tensor(texts), torch.tensor(pages), torch.tensor(subjects)
