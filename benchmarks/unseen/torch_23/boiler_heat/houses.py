"""Hourly heat of apartment houses; a reading counts only while the boiler is firing."""
import torch


class House:
    """Readings of a house in winter for training, and in its last month for validation."""

    def __init__(self, number, hours=720, seed=40):
        g = torch.Generator().manual_seed(seed + number)
        self.weather = torch.randn(hours, 5, generator=g)
        self.heat = self._heat(self.weather) + 0.05 * torch.randn(hours, generator=g)
        self.firing = torch.ones(hours)
        self.validation_weather = torch.randn(200, 5, generator=g)
        self.validation_heat = self._heat(self.validation_weather)
        # house 2 got district heating in spring, its boiler is cold since then
        self.validation_firing = torch.full((200,), 0.0 if number == 2 else 1.0)

    @staticmethod
    def _heat(weather):
        return torch.sin(weather[:, 0]) - 0.6 * weather[:, 1] * weather[:, 2] + 0.3 * weather[:, 3].abs()

    def batches(self, size, g):
        order = torch.randperm(len(self.heat), generator=g)
        for start in range(0, len(order) - size + 1, size):
            pick = order[start : start + size]
            yield self.weather[pick], self.heat[pick], self.firing[pick]

    def validation(self):
        return self.validation_weather, self.validation_heat, self.validation_firing


def firing_error(predicted, heat, firing):
    return ((predicted - heat).square() * firing).sum() / firing.sum().clamp(min=1)


def constant_error(house):
    """What a prediction of the mean heat would have, for comparison."""
    _, heat, firing = house.validation()
    return firing_error(torch.full_like(heat, house.heat.mean().item()), heat, firing).item()


if __name__ == "__main__":
    for number in range(3):
        print(number, constant_error(House(number)))
