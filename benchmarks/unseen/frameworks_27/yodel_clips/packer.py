"""Packs clips so that no pack has more frames than the budget, padding included."""
import torch
from torch.nn.utils.rnn import pad_sequence


class FramePacker:
    def __init__(self, budget):
        self.budget = budget

    def packs(self, clips):
        clips = sorted(clips, key=lambda clip: len(clip[0]))
        pack = []
        for clip in clips:
            if pack and len(clip[0]) * (len(pack) + 1) > self.budget:
                yield self.pad(pack)
                pack = []
            pack.append(clip)
        yield self.pad(pack)

    def pad(self, pack):
        frames = pad_sequence([frames for frames, _ in pack], batch_first=True)
        lengths = torch.tensor([len(frames) for frames, _ in pack])
        mask = (torch.arange(frames.shape[1]) < lengths.unsqueeze(1)).float()
        return frames, mask, torch.tensor([school for _, school in pack])
