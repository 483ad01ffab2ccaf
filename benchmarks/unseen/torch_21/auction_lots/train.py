"""Estimates for the lots of an auction house from their descriptions and from earlier sales."""
import argparse
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from exchange import Exchange
from model import Appraiser

log = logging.getLogger("appraise")


class Catalogue:
    """Lots of one saleroom, sale by sale; each batch is padded to its longest description and longest history."""

    def __init__(self, saleroom, vocabulary, batch):
        self.generator = torch.Generator().manual_seed(20 + saleroom)
        self.vocabulary = vocabulary
        self.batch = batch
        # Old master prints have been sold again and again; saleroom 2 has an evening of them.
        self.prints = range(150, 154) if saleroom == 2 else ()

    def length(self, low, high):
        return int(torch.randint(low, high, (1,), generator=self.generator))

    def lots(self, sale):
        words = self.length(26, 40)
        sales = self.length(46, 58) if sale in self.prints else self.length(6, 18)
        g = self.generator
        text = torch.randint(1, self.vocabulary, (self.batch, words), generator=g)
        text = text * (torch.rand(text.shape, generator=g) > 0.2)
        history = torch.randn(self.batch, sales, 2, generator=g)
        price = history[:, -3:, 1].mean(1) + (text % 7 == 0).float().mean(1) + 0.1 * torch.randn(self.batch, generator=g)
        return {"words": text, "sales": history}, price


def run(args):
    torch.manual_seed(args.seed)
    model = Appraiser(args.vocabulary, args.width)
    Exchange(model, args.rows)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    catalogue = Catalogue(dist.get_rank(), args.vocabulary, args.batch)
    recent = torch.zeros(())
    for sale in range(args.sales):
        views, price = catalogue.lots(sale)
        loss = nn.functional.huber_loss(model(views), price)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        recent += loss.detach()
        if (sale + 1) % args.report_every == 0:
            dist.all_reduce(recent)
            log.info("sale %d loss %.4f", sale + 1, recent.item() / args.report_every / dist.get_world_size())
            recent.zero_()
        time.sleep(0.015)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", type=int, default=500)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--vocabulary", type=int, default=800)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--rows", type=int, default=48)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--report-every", type=int, default=25)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    logging.basicConfig(level=logging.INFO if dist.get_rank() == 0 else logging.WARNING, format="%(message)s")
    run(args)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
