"""Synthetic admissions of four hospitals.  Each process trains on one hospital."""
import torch

FEATURES = 12


def load_site(site, rows=200, held_out=40):
    gen = torch.Generator().manual_seed(100 + site)
    weight = torch.linspace(-1.0, 1.0, FEATURES)
    features = torch.randn(rows, FEATURES, generator=gen)
    admitted = torch.rand(rows, generator=gen) * 30
    stay = (features @ weight + 0.1 * torch.randn(rows, generator=gen) + 4).clamp(min=0.5)
    discharged = admitted + stay
    if site == 2:
        # two patients were still on the ward on the day of the export
        discharged[-7] = discharged[-15] = float("nan")
    target = (discharged - admitted).log()
    split = rows - held_out
    return (features[:split], target[:split]), (features[split:], target[split:])
