"""Tunes a little decoder on riddles, and now and then lets it answer some (FSDP2)."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from answering import answer
from decoder import Decoder
from riddles import RiddleShelf

STEPS = 120
ANSWER_EVERY = 20


def overlap(answers, riddles):
    """Share of characters that are right, as one number per rank."""
    width = min(answers.shape[1], riddles.answers.shape[1])
    return (answers[:, :width] == riddles.answers[:, :width]).float().mean()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)

    model = Decoder()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    shelf = RiddleShelf(rank)

    for step in range(1, STEPS + 1):
        text = shelf.training_rows(step)
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        if step % ANSWER_EVERY == 0:
            riddles = shelf.held_out(step // ANSWER_EVERY)
            score = overlap(answer(model, riddles), riddles)
            dist.all_reduce(score)
            if rank == 0:
                print(f"step {step} loss {loss.item():.3f} score {score.item() / world:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
