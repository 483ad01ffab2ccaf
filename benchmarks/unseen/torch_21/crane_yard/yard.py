"""A yard with stacks of containers and one crane, which brings containers to a lorry."""
import torch


class Yard:
    """State: height of each stack, place of the crane, stack that is wanted. Actions: left, right, lift.

    Lifting at the wanted stack ends a job. `frozen` are the steps in which the crane does not lift: it is too cold, or
    the wind is too strong.
    """

    def __init__(self, stacks, seed, frozen=range(0)):
        self.stacks = stacks
        self.frozen = frozen
        self.g = torch.Generator().manual_seed(seed)
        self.steps = 0
        self.reset()

    def reset(self):
        self.heights = torch.randint(1, 5, (self.stacks,), generator=self.g).float()
        self.crane = self.pick()
        self.wanted = self.pick()
        self.age = 0
        return self.state()

    def pick(self):
        return int(torch.randint(0, self.stacks, (1,), generator=self.g))

    def state(self):
        places = torch.tensor([self.crane, self.wanted, self.wanted - self.crane]) / self.stacks
        return torch.cat([self.heights / 5, places])

    def step(self, action):
        self.steps += 1
        self.age += 1
        reward = -0.02
        if action == 2:
            if self.crane == self.wanted and self.steps not in self.frozen:
                self.heights[self.crane] = max(self.heights[self.crane] - 1, 1)
                self.wanted = self.pick()
                reward = 1.0
        else:
            self.crane = min(max(self.crane + 2 * action - 1, 0), self.stacks - 1)
        return self.state(), reward, self.age >= 40
