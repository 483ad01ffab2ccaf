"""Log-mel features of a folder of .npy waveforms, kept in one file next to them."""
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import torch

RATE, N_FFT, HOP, MELS = 16000, 512, 160, 64


def mel_matrix():
    def mel(f):
        return 2595 * np.log10(1 + f / 700)

    points = 700 * (10 ** (np.linspace(mel(50), mel(RATE / 2), MELS + 2) / 2595) - 1)
    freqs = np.linspace(0, RATE / 2, N_FFT // 2 + 1)
    rise = (freqs[None] - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
    fall = (points[2:, None] - freqs[None]) / (points[2:] - points[1:-1])[:, None]
    return torch.from_numpy(np.maximum(0, np.minimum(rise, fall))).float()


def logmel(wave, mel):
    spec = torch.stft(wave, N_FFT, HOP, window=torch.hann_window(N_FFT), return_complex=True).abs() ** 2
    return (mel @ spec + 1e-6).log()


def extract(folder, seconds):
    """Hours for the full AudioSet; 400 clips a second on one core."""
    with open(folder / "labels.json") as f:
        labels = json.load(f)
    mel, frames = mel_matrix(), int(seconds * RATE / HOP) + 1
    names = sorted(labels)
    classes = sorted({tag for tags in labels.values() for tag in tags})
    x = torch.zeros(len(names), MELS, frames, dtype=torch.float16)
    y = torch.zeros(len(names), len(classes))
    for i, name in enumerate(names):
        m = logmel(torch.from_numpy(np.load(folder / name)).float(), mel)[:, :frames]
        x[i, :, :m.size(1)] = m.half()
        for tag in labels[name]:
            y[i, classes.index(tag)] = 1
    return {"x": x, "y": y, "classes": classes}


def load_features(folder, seconds=10):
    folder = Path(folder)
    cache = folder / f"logmel_{MELS}_{seconds}s.pt"
    if not cache.exists():
        handle, tmp = tempfile.mkstemp(dir=folder, suffix=".part")
        os.close(handle)
        torch.save(extract(folder, seconds), tmp)
        os.replace(tmp, cache)
    return torch.load(cache, map_location="cpu", mmap=True)
