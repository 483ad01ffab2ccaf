"""How much bread the shops of a bakery order. Rank 0 learns, the others sell and send their days to it."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Normal

from mail import COLUMNS, Mail
from shop import Shop

SALES = 12  # of a day


class Orders(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.tensor([0.5, 0.5, 0.5]))
        self.log_std = nn.Parameter(torch.full((3,), -1.0))

    def forward(self):
        return Normal(self.mean, self.log_std.exp())


class Bakery:
    """The learner. A version of the weights for each fortnight; the oven is cleaned before some of them."""

    def __init__(self, shops, fortnights, mail):
        self.policy = Orders()
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=0.05)
        self.shops, self.fortnights, self.mail = shops, fortnights, mail

    def learn(self, rows):
        orders, rewards = rows[:, : COLUMNS - 1], rows[:, -1]
        advantage = rewards - rewards.mean()
        loss = -(self.policy().log_prob(orders).sum(1) * advantage).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return rewards.mean().item()

    def run(self):
        for version in range(self.fortnights):
            if version % 3 == 2:
                time.sleep(5)  # cleaning
            self.mail.publish(version, self.policy.state_dict())
            selling, reward = self.shops, 0.0
            while selling:
                shop, rows = self.mail.receive_day()
                if len(rows):
                    reward = self.learn(rows)
                else:
                    selling -= 1
            print(f"fortnight {version}: {reward:.3f}", flush=True)


def keep_shop(number, fortnights, mail, colleagues):
    """The second shop opens on few days of a fortnight only, and tidies up for long."""
    policy, shop = Orders(), Shop(number, tidy=0.1 * number)
    days = 10 if number == 1 else 3
    for version in range(fortnights):
        policy.load_state_dict(mail.weights(version))
        taken = 0.0
        for _ in range(days):
            rows = []
            for order in policy().sample((SALES,)).tolist():
                rows.append(order + [shop.sell(order)])
                taken += rows[-1][-1]
                time.sleep(0.01)
            mail.send_day(rows)
        mail.send_day([])
        takings = torch.tensor([taken])
        dist.all_reduce(takings, group=colleagues)
    shop.close()
    print(f"shop {number}: {shop.openings} openings, {mail.missed} waits, {takings.item():.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fortnights", type=int, default=6)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    colleagues = dist.new_group(list(range(1, world)))
    torch.manual_seed(rank)
    mail = Mail()
    if rank == 0:
        Bakery(world - 1, args.fortnights, mail).run()
        time.sleep(3)  # the ovens cool down
    else:
        keep_shop(rank, args.fortnights, mail, colleagues)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
