"""Daily gains of bee hives from weather and traffic at the entrance."""
import torch
from torch.utils.data import TensorDataset

FEATURES = 12
APIARIES = ("valley", "heath", "hilltop")


def coefficients():
    return 2.5 * torch.randn(FEATURES, generator=torch.Generator().manual_seed(88))


def days(count, seed, flight=1.0):
    """Days of an apiary; `flight` is how busy its bees are, 0 is a hive in its winter rest."""
    generator = torch.Generator().manual_seed(seed)
    weather = flight * torch.randn(count, FEATURES, generator=generator)
    gain = weather @ coefficients() + 0.4 * torch.randn(count, generator=generator)
    return TensorDataset(weather, gain)


def training_days(rank, count=480):
    return days(count, seed=300 + rank)


def validation_days(rank, count=160):
    """The last part of each apiary's year; on the hilltop winter has come by then."""
    apiary = APIARIES[rank % len(APIARIES)]
    return days(count, seed=700 + rank, flight=0.02 if apiary == "hilltop" else 1.0)


def persistence_error(dataset):
    """Mean error of the forecast that tomorrow is like today, for comparison."""
    gain = dataset.tensors[1]
    return (gain[1:] - gain[:-1]).abs().mean().item()


def describe(dataset):
    weather, gain = dataset.tensors
    return {
        "days": len(gain),
        "gain": gain.mean().item(),
        "busiest": weather.norm(dim=1).max().item(),
    }
