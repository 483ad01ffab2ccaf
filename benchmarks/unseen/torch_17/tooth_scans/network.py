"""Segmentation of tooth scans: an encoder, which may come from an earlier project, and a decoder."""
import logging
from pathlib import Path

import torch
from torch import nn

log = logging.getLogger("network")


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, width, 5, padding=2), nn.ReLU(),
            nn.Conv1d(width, width, 5, padding=2), nn.ReLU(),
        )

    def forward(self, scan):
        return self.layers(scan)


class Segmenter(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.encoder = Encoder(width)
        self.decoder = nn.Sequential(nn.Conv1d(width, width, 3, padding=1), nn.ReLU(), nn.Conv1d(width, classes, 1))

    def forward(self, scan):
        return self.decoder(self.encoder(scan))

    def warm_start(self, path):
        """Takes the encoder of an earlier run, if there is one, and keeps it as it is: only the decoder learns then."""
        path = Path(path)
        if not path.exists():
            log.info("no earlier encoder at %s, everything is trained", path)
            return False
        self.encoder.load_state_dict(torch.load(path, weights_only=True))
        for parameter in self.encoder.parameters():
            parameter.requires_grad_(False)
        log.info("encoder of %s", path)
        return True
