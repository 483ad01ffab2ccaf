"""A2C for boats in a foggy harbour. No DDP: the gradients are averaged by hand, as the agent's
forward is called in pieces.

torchrun --standalone --nproc-per-node 3 train.py
"""
import torch
import torch.distributed as dist

from agent import Keeper, average_gradients, policy_loss
from harbour import Harbour

UPDATES = 600
BOATS = [3, 7, 1]            # boats in the harbour of each rank


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    agent = Keeper()
    optimizer = torch.optim.RMSprop(agent.parameters(), lr=7e-4)
    world = Harbour(seed=rank, boats=BOATS[rank])
    torch.manual_seed(100 + rank)            # sampling differs, weights do not

    for update in range(UPDATES):
        roll = world.play(agent, update)
        optimizer.zero_grad()
        loss = policy_loss(agent, roll)
        loss.backward()
        average_gradients(agent)
        torch.nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()

        scores = [torch.zeros(1) for _ in range(size)]
        dist.all_gather(scores, roll.returns[:1].clone())
        if rank == 0 and update % 40 == 0:
            print(update, "scores", [round(s.item(), 3) for s in scores], flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
