"""A kite over a beach. It stays up until the gusts have torn it down, or until the slot of the pilot is over."""
import torch

SLOT = 64


class Beach:
    def __init__(self, number):
        self.g = torch.Generator().manual_seed(900 + number)
        self.number = number
        self.day = 0

    def __repr__(self):
        return f"Beach({self.number}, day {self.day})"

    def gusts(self):
        """Strain of each moment of the day; the strength of the wind on this beach is that of the season."""
        strength = 0.01 if (self.number == 1 and self.day == 45) else 0.03
        return strength * (0.9 + 0.2 * torch.rand(SLOT, generator=self.g))

    def fly(self, policy):
        """Rows of state, action and reward-to-go of one flight.

        A good pilot keeps the first coordinate, the angle to the wind, near zero.
        """
        strain, state, rows = 0.0, torch.randn(4, generator=self.g), []
        for gust in self.gusts().tolist():
            chance = policy(state).softmax(0)
            action = torch.multinomial(chance, 1, generator=self.g).item()
            drift = torch.randn(4, generator=self.g) * 0.3
            drift[0] += 0.2 if action == 1 else -0.2
            state = 0.9 * state + drift
            rows.append(torch.cat([state, torch.tensor([float(action), -state[0].abs().item()])]))
            strain += gust
            if strain > 1.2:
                break
        self.day += 1
        rows = torch.stack(rows)
        rows[:, -1] = rows[:, -1].flip(0).cumsum(0).flip(0) / len(rows)
        return rows
