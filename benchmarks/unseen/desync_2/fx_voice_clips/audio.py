import math

import torch

RATE = 2000
HOP = 50
WINDOW = 200


class ClipError(ValueError):
    pass


def synth(seed, seconds=0.6, silent=False):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(int(RATE * seconds)) / RATE
    f0 = 80 + 160 * torch.rand(1, generator=g)
    wave = torch.sin(2 * math.pi * f0 * t) + 0.3 * torch.sin(4 * math.pi * f0 * t)
    wave = wave + 0.05 * torch.randn(t.shape, generator=g)
    return wave * 0.0 if silent else wave


def spectrogram(wave):
    frames = wave.unfold(0, WINDOW, HOP) * torch.hann_window(WINDOW)
    return torch.fft.rfft(frames).abs()[:, :40]


def voiced_features(wave):
    """Log spectrum of the voiced frames, normalized over the clip."""
    spec = spectrogram(wave)
    energy = spec.mean(1)
    voiced = spec[energy > 1e-3]
    if len(voiced) < 2:
        raise ClipError("no voiced frames")
    logs = torch.log(voiced + 1e-5)
    return (logs.mean(0) - logs.mean()) / (logs.std() + 1e-3)
