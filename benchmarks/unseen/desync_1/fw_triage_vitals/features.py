import torch

# unit -> (scale, offset) to degrees Celsius
UNITS = {"C": (1.0, 0.0), "F": (5 / 9, -160 / 9)}


def to_celsius(values, units):
    scale, offset = torch.tensor([UNITS[u] for u in units]).unbind(dim=1)
    return values * scale + offset


def encode(batch):
    celsius = to_celsius(batch["value"], batch["unit"])
    columns = [(celsius - 37) / 1.2, (batch["pulse"] - 80) / 20, batch["age"] / 50 - 1]
    x = torch.stack(columns, dim=1)
    return torch.cat([x, x * x, torch.sin(2 * x)], dim=1).float()
