"""Syllables of short poems, from a made-up language in which each syllable has a few that may follow it."""

import torch

SYLLABLES = 48
CONTEXT = 6
LONG, SHORT = 17, 11  # syllables of a poem in the two forms


class Language:
    def __init__(self, seed=3):
        g = torch.Generator().manual_seed(seed)
        self.follow = torch.randint(SYLLABLES, (SYLLABLES, 3), generator=g)

    def poem(self, length, generator):
        line = [int(torch.randint(SYLLABLES, (), generator=generator))]
        while len(line) < length:
            choice = int(torch.randint(3, (), generator=generator))
            line.append(int(self.follow[line[-1], choice]))
        return line

    def windows(self, count, generator):
        """Contexts and the syllable after each."""
        poems = [self.poem(CONTEXT + 1, generator) for _ in range(count)]
        table = torch.tensor(poems)
        return table[:, :CONTEXT], table[:, CONTEXT]

    def allowed(self, context, syllable):
        """Whether the syllable may stand after the context, row by row."""
        return (self.follow[context[:, -1]] == syllable[:, None]).any(1)


def openings(language, school, season, count=6):
    """First syllables and the length that each poem is to have. The second school turns to the short form."""
    g = torch.Generator().manual_seed(100 * season + school)
    contexts, _ = language.windows(count, g)
    lengths = torch.full((count,), SHORT)
    if school != 1 or season < 3:
        lengths[::2] = LONG
    return contexts, lengths
