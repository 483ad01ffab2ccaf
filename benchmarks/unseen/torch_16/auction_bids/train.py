"""A policy for bidders in several halls (REINFORCE); gradients are averaged over the halls."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributions import Categorical
from torch.nn.parallel import DistributedDataParallel as DDP

from board import Board, BoardServer
from market import FEATURES, LEVELS, Hall


class Bidder:
    def __init__(self, hall, board, args):
        self.hall = hall
        self.board = board
        self.args = args
        torch.manual_seed(1)
        self.policy = DDP(nn.Sequential(nn.Linear(FEATURES, 32), nn.Tanh(), nn.Linear(32, len(LEVELS))))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=args.lr)
        self.losing = 0
        torch.manual_seed(500 + dist.get_rank())

    def session(self):
        lots, rival = self.hall.lots(self.args.lots)
        choice = Categorical(logits=self.policy(lots))
        action = choice.sample()
        profit, won = self.hall.sell(lots, rival, action)
        loss = -(choice.log_prob(action) * (profit - profit.mean())).mean() - 0.02 * choice.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.watch(won.float().mean().item())
        return profit.mean().item()

    def watch(self, share):
        """Somebody should look at a hall in which next to nothing is won any more."""
        self.losing = self.losing + 1 if share < 0.3 else 0
        if self.losing == self.args.patience:
            self.board.remark(f"{self.hall.name}: only {share:.0%} of the lots won")

    def run(self):
        for session in range(self.args.sessions):
            profit = self.session()
            if session % 20 == 19:
                leader = self.board.score(profit)
                print(f"session {session}, {self.hall.name}: profit {profit:.3f}, leader {leader}", flush=True)
            time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=300)
    parser.add_argument("--lots", type=int, default=128)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--patience", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    port = [BoardServer().port if rank == 0 else None]
    dist.broadcast_object_list(port, src=0)
    hall = Hall(rank)
    board = Board(hall.name, port[0])
    Bidder(hall, board, args).run()
    dist.barrier()
    board.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
