"""Pieces of a batch of ballads that fit into memory together."""

import torch


def pieces(verses, target, lines):
    """Splits a batch in its order, so that the padded verses of a piece have at most `lines` lines together.

    Yields (verses, target, share of the batch); padding is cut to the longest ballad of the piece.
    """
    lengths = verses.ne(0).any(-1).sum(-1)
    start, longest = 0, 0
    for i, length in enumerate(lengths.tolist()):
        grown = max(longest, length)
        if i > start and grown * (i + 1 - start) > lines:
            yield verses[start:i, :longest], target[start:i], (i - start) / len(target)
            start, grown = i, length
        longest = grown
    yield verses[start:, :longest], target[start:], (len(target) - start) / len(target)


def pad(ballads):
    return torch.nn.utils.rnn.pad_sequence(ballads, batch_first=True)
