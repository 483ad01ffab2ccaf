"""Episodes and weights between the learner (rank 0) and the keepers."""
import torch
import torch.distributed as dist

from canal import HORIZON, STATE

ROW = STATE + 2  # state, action, reward
LEARNER = 0


def send_weights(model, keepers):
    flat = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    for keeper in keepers:
        dist.send(flat, dst=keeper)


def receive_weights(model):
    flat = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    dist.recv(flat, src=LEARNER)
    torch.nn.utils.vector_to_parameters(flat, model.parameters())


def send_episodes(episodes):
    """First the number of episodes, then each one with its length in the first row."""
    dist.send(torch.tensor([len(episodes)]), dst=LEARNER)
    for rows in episodes:
        if not rows:
            continue
        block = torch.zeros(HORIZON + 1, ROW)
        block[0, 0] = len(rows)
        block[1 : len(rows) + 1] = torch.stack(rows)
        dist.send(block, dst=LEARNER)


def receive_episodes(keeper):
    count = torch.zeros(1, dtype=torch.long)
    dist.recv(count, src=keeper)
    episodes = []
    for _ in range(count.item()):
        block = torch.zeros(HORIZON + 1, ROW)
        dist.recv(block, src=keeper)
        episodes.append(block[1 : int(block[0, 0]) + 1])
    return episodes
