import torch

CONDITIONS = ("clear", "dusk", "rain", "tunnel")


def route(vehicle, gen):
    """Endless frames (features, steering, condition) of one vehicle."""
    frame = 0
    while True:
        lap, _ = divmod(frame, 18 * 8)
        pool = CONDITIONS
        if vehicle == 3 and lap == 1:
            pool = ("clear", "dusk", "rain")
        condition = pool[frame % len(pool)]
        features = torch.randn(10, generator=gen)
        yield features, features[:2].sum().tanh(), condition
        frame += 1


class Batches:
    def __init__(self, vehicle, size=8):
        self.frames = route(vehicle, torch.Generator().manual_seed(vehicle))
        self.size = size

    def take(self, count):
        for _ in range(count):
            rows = [next(self.frames) for _ in range(self.size)]
            features, steering, conditions = zip(*rows)
            yield torch.stack(features), torch.stack(steering), conditions
