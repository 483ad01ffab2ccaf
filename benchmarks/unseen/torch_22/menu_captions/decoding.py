"""Greedy decoding of captions and the score that the kitchen looks at."""
import torch

PAD, START, END = 0, 1, 2


class GreedyDecoder:
    """Writes a caption token by token; the caption may be as long as the longest reference of the batch."""

    def __init__(self, model):
        self.model = model

    @torch.no_grad()
    def write(self, dishes, limit):
        tokens = torch.full((len(dishes), 1), START)
        for _ in range(limit):
            logits = self.model(dishes, tokens)
            tokens = torch.cat([tokens, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
        return tokens[:, 1:]


def trim(sequence):
    words = []
    for token in sequence.tolist():
        if token in (PAD, END):
            break
        words.append(token)
    return words


def overlap(written, reference):
    """Share of the reference's words that are found in the written caption."""
    written, reference = trim(written), trim(reference)
    if not reference:
        return 1.0
    left = list(written)
    found = 0
    for word in reference:
        if word in left:
            left.remove(word)
            found += 1
    return found / len(reference)


def score_batches(decoder, batches):
    """Sum of the scores and number of captions of this process."""
    total, count = 0.0, 0
    for dishes, captions in batches:
        written = decoder.write(dishes, limit=captions.shape[1])
        for ours, theirs in zip(written, captions):
            total += overlap(ours, theirs)
            count += 1
    return total, count
