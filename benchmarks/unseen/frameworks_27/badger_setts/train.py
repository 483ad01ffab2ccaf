"""A policy for foraging badgers, REINFORCE over one sett per rank (Fabric)."""
import torch
from lightning.fabric import Fabric
from torch import nn

from season import Season
from sett import Sett


class Policy(nn.Module):
    def __init__(self, view=6, actions=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(view, 32), nn.Tanh(), nn.Linear(32, actions))

    def forward(self, views):
        return torch.distributions.Categorical(logits=self.body(views))


def night(policy, sett):
    """One night outside: the views, what was done, and what was eaten."""
    views, actions, food = [], [], []
    view = sett.dusk()
    for _ in range(16):
        with torch.no_grad():
            action = policy(view).sample()
        views.append(view)
        actions.append(action)
        view, eaten = sett.step(int(action))
        food.append(eaten)
    returns = torch.tensor(food).flip(0).cumsum(0).flip(0)
    return torch.stack(views), torch.stack(actions), returns - returns.mean()


def main():
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(3, verbose=False)

    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    policy, optimizer = fabric.setup(policy, optimizer)
    torch.manual_seed(30 + fabric.global_rank)
    sett = Sett(fabric.global_rank)

    with Season(fabric) as season:
        for number in range(160):
            views, actions, returns = night(policy.module, sett)
            loss = -(policy(views).log_prob(actions) * returns).mean()
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            season.note(number, returns)
    fabric.print("season over")


if __name__ == "__main__":
    main()
