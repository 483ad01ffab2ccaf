from typing import NamedTuple

import torch


class Clip(NamedTuple):
    frames: torch.Tensor      # time x mel
    tokens: torch.Tensor


def plausible(clips, max_rate=0.5):
    """Transcripts longer than the audio allows give infinite CTC losses."""
    return all(len(c.tokens) <= max_rate * len(c.frames) for c in clips)


def pad(clips):
    frames = torch.nn.utils.rnn.pad_sequence([c.frames for c in clips], batch_first=True)
    tokens = torch.cat([c.tokens for c in clips])
    return frames, tokens, [len(c.frames) for c in clips], [len(c.tokens) for c in clips]
