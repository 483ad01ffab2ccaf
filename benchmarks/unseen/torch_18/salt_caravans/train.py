"""Caravans that buy and sell salt along a route: policy gradient, parameters averaged after each year."""
import argparse
import logging
import tempfile

import torch
import torch.distributed as dist
from torch import nn

from ledger import Ledger

log = logging.getLogger("caravans")

# stations of the routes, year by year; the route over the pass grows into the plain behind it
ROUTES = {
    "coast": [20, 22, 22, 24, 24, 24, 26, 26],
    "desert": [30, 30, 28, 28, 30, 30, 30, 30],
    "pass": [24, 26, 30, 32, 900, 900, 910, 910],
}


class Trader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 3))

    def forward(self, view):
        return self.net(view).log_softmax(-1)


def journey(trader, prices, g):
    """A walk over the stations; at each of them a bag is bought, sold, or neither."""
    bags, money, log_probs = 0, 0.0, []
    for station in range(min(len(prices), 40)):
        ahead = prices[min(station + 1, len(prices) - 1)]
        scores = trader(torch.tensor([prices[station], ahead, float(bags)]))
        action = int(torch.multinomial(scores.detach().exp(), 1, generator=g))
        log_probs.append(scores[action])
        if action == 0 and bags < 5:
            bags, money = bags + 1, money - prices[station]
        elif action == 1 and bags > 0:
            bags, money = bags - 1, money + prices[station]
    return money, torch.stack(log_probs).sum()


def year_of_trade(trader, optimizer, prices, journeys, g):
    earned = 0.0
    for _ in range(journeys):
        money, log_prob = journey(trader, prices, g)
        loss = -(money - earned) * log_prob / 40
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        earned = 0.9 * earned + 0.1 * money
    return earned


def share_experience(trader):
    for p in trader.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--journeys", type=int, default=40)
    parser.add_argument("--patience", type=float, default=5.0)
    parser.add_argument("--width", type=int, default=16)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    route, stations = list(ROUTES.items())[rank % len(ROUTES)]
    torch.manual_seed(6)
    trader = Trader(args.width)
    optimizer = torch.optim.Adam(trader.parameters(), lr=3e-3)
    g = torch.Generator().manual_seed(rank)
    with tempfile.TemporaryDirectory(prefix="salt_caravans_") as folder:
        ledger = Ledger(folder, stations[0], args.patience)
        for year, count in enumerate(stations):
            ledger.renew(year, count)
            earned = year_of_trade(trader, optimizer, ledger.prices(), args.journeys, g)
            share_experience(trader)
            log.info("%s, year %d: %.2f", route, year, earned)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
