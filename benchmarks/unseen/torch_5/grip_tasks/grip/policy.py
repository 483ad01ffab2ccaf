import torch
from torch import nn


class GripperPolicy(nn.Module):
    def __init__(self, sensors=20, hidden=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(sensors, hidden), nn.Tanh())
        self.pose = nn.Linear(hidden, 6)
        self.force = nn.Linear(hidden, 1)

    def forward(self, sensors, contact):
        state = self.encoder(sensors)
        outputs = {"pose": self.pose(state)}
        if contact.any():
            outputs["force"] = self.force(state[contact])
        return outputs
