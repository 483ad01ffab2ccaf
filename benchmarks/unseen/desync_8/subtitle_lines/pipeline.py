"""Lines of subtitles and how long they should stay on the screen; a pipeline of torchdata's nodes."""

import time
from typing import Any, Dict, Optional

import torch
from torchdata.nodes import BaseNode, Batcher, IterableWrapper, Loader, Mapper

LETTERS = 12


class Film:
    """The lines of one film. Some films have a refrain, whose lines come again and again."""

    def __init__(self, number, lines):
        self.number, self.lines = number, lines

    def __iter__(self):
        for line in range(self.lines):
            refrain = self.number == 3 and line % 20 == 19
            yield "la la la" if refrain and line > 20 else f"film {self.number} line {line}"


class Distinct(BaseNode[str]):
    """Lets every line through once."""

    SEEN_KEY, SOURCE_KEY = "seen", "source"

    def __init__(self, source):
        super().__init__()
        self.source = source
        self.seen = set()

    def reset(self, initial_state: Optional[Dict[str, Any]] = None):
        super().reset(initial_state)
        self.seen = set() if initial_state is None else set(initial_state[self.SEEN_KEY])
        self.source.reset(None if initial_state is None else initial_state[self.SOURCE_KEY])

    def next(self):
        while (line := next(self.source)) in self.seen:
            pass
        self.seen.add(line)
        return line

    def get_state(self):
        return {self.SEEN_KEY: sorted(self.seen), self.SOURCE_KEY: self.source.state_dict()}


def features(line):
    seed = sum((at + 1) * ord(letter) for at, letter in enumerate(line))
    generator = torch.Generator().manual_seed(seed)
    letters = torch.rand(LETTERS, generator=generator)
    return letters, letters.sum() / 4 + 0.1 * torch.randn((), generator=generator)


def stack(lines):
    time.sleep(0.045 + 0.02 * torch.rand(1).item())
    return torch.stack([letters for letters, _ in lines]), torch.stack([seconds for _, seconds in lines])


def subtitles(film, lines, batch_size):
    node = IterableWrapper(Film(film, lines))
    node = Mapper(Distinct(node), features)
    node = Batcher(node, batch_size=batch_size, drop_last=True)
    return Loader(Mapper(node, stack))
