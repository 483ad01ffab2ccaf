import os
import time

import torch
from lightning.fabric import Fabric
from torch import nn

from rollouts import ACTION, STATE, Arm

ROLLOUTS = 320
PASSES = 2
TOLERANCE = 1e-3
SERVICE = {5: 118}  # bay: rollout during which its gripper was serviced


class Dynamics(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(STATE + ACTION, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, STATE)
        )

    def forward(self, state, action):
        return self.net(torch.cat([state, action], dim=1))


class ModelLearner:
    def __init__(self, fabric, arm):
        self.fabric = fabric
        self.arm = arm
        model = Dynamics()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        self.errors = []

    def error_of(self, rollout):
        predicted = self.model(rollout["state"], rollout["action"])
        square = (predicted - rollout["delta"]).pow(2).mean(1)
        return (square * rollout["moved"]).sum() / rollout["moved"].sum().clamp(min=1)

    def improve(self, rollout):
        error = None
        for _ in range(PASSES):
            time.sleep(0.035)
            error = self.error_of(rollout)
            self.optimizer.zero_grad()
            self.fabric.backward(error)
            self.optimizer.step()
            if error.item() < TOLERANCE:
                break
        return error.item()

    def learn(self, rollouts):
        for index in range(rollouts):
            rollout = self.arm.collect(index)
            self.errors.append(self.improve(rollout))
            if index % 40 == 0:
                self.fabric.print(f"rollout {index}: model error {self.errors[-1]:.4f}")
        return sum(self.errors[-20:]) / 20


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), strategy="ddp")
    fabric.launch()
    fabric.seed_everything(17, verbose=False)

    bay = fabric.global_rank
    learner = ModelLearner(fabric, Arm(bay, parked=SERVICE.get(bay)))
    recent = learner.learn(ROLLOUTS)
    bays = fabric.all_gather(torch.tensor([recent]))
    fabric.print("error by bay", [round(v, 4) for v in bays.flatten().tolist()])


if __name__ == "__main__":
    main()
