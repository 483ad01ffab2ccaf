"""Test bench of control valves: pressure traces of many strokes per valve, and the flow that was measured."""

import torch
from torch.utils.data import Dataset

POINTS = 16
STROKES = 12


class SensorFault(Exception):
    pass


class Bench(Dataset):
    # valve -> runs whose flow meter had failed
    FAILED = {1: {37}, 3: {12, 13}, 5: {80}}

    def __init__(self, valves, runs):
        self.valves, self.runs = valves, runs

    def __len__(self):
        return self.valves

    def __getitem__(self, valve):
        gen = torch.Generator().manual_seed(77 + valve)
        pressure = torch.randn(self.runs, STROKES, POINTS, generator=gen)
        flow = pressure[..., 2:9].mean(dim=-1) + 0.3 * torch.tanh(pressure[..., 12])
        for run in self.FAILED.get(valve, ()):
            flow[run] = float("nan")
        return {"valve": valve, "pressure": pressure, "flow": flow}


def read_run(item, run):
    flow = item["flow"][run]
    if flow.isnan().all():
        raise SensorFault(f"valve {item['valve']} run {run}: no flow")
    return item["pressure"][run], flow
