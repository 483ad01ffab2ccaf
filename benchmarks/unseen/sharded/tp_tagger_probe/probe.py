"""Linear probe on frozen features, run by a small team of ranks beside the training."""
from functools import cached_property

import torch
import torch.nn as nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor


class ProbeTeam:
    def __init__(self, members, features, classes):
        self.members = list(members)
        self.features, self.classes = features, classes

    @cached_property
    def mesh(self):
        return DeviceMesh("cpu", self.members, mesh_dim_names=("probe",))

    @torch.no_grad()
    def accuracy(self, hidden, label):
        """Closed-form ridge probe; the rows are divided over the team."""
        target = nn.functional.one_hot(label, self.classes).float()
        x = distribute_tensor(hidden, self.mesh, [Shard(0)])
        y = distribute_tensor(target, self.mesh, [Shard(0)])
        gram = (x.T @ x).full_tensor() + 0.1 * torch.eye(self.features)
        cross = (x.T @ y).full_tensor()
        w = DTensor.from_local(torch.linalg.solve(gram, cross), self.mesh, [Replicate()])
        return ((x @ w).full_tensor().argmax(1) == label).float().mean().item()
