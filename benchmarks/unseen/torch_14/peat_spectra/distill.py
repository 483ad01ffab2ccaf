"""Distillation of a large model of spectra into a small one."""
import torch
from torch import nn
from torch.nn import functional as F


class Teacher(nn.Module):
    """Stands for the ensemble of the laboratory; its weights are fixed."""

    def __init__(self, bands, classes, seed=31):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.register_buffer("first", torch.randn(bands, 64, generator=generator) / bands**0.5)
        self.register_buffer("second", torch.randn(64, classes, generator=generator))

    @torch.no_grad()
    def forward(self, spectra):
        return torch.tanh(spectra @ self.first) @ self.second


class Student(nn.Module):
    def __init__(self, bands, classes, width):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(bands, width), nn.GELU(), nn.LayerNorm(width))
        self.classify = nn.Linear(width, classes)

    def forward(self, spectra):
        return self.classify(self.encode(spectra))


class Distiller:
    """The loss of a student on the samples of which the teacher is sure enough."""

    def __init__(self, teacher, temperature, confidence):
        self.teacher = teacher
        self.temperature = temperature
        self.confidence = confidence

    def targets(self, spectra):
        logits = self.teacher(spectra)
        sure = logits.softmax(1).amax(1) >= self.confidence
        return logits[sure] / self.temperature, sure

    def loss(self, student, spectra):
        targets, sure = self.targets(spectra)
        if not sure.any():
            return None
        logits = student(spectra[sure]) / self.temperature
        divergence = F.kl_div(logits.log_softmax(1), targets.softmax(1), reduction="batchmean")
        return self.temperature**2 * divergence
