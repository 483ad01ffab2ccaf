"""Self-imitation in mazes; every process walks through a maze of its own, and the policy is shared."""

import argparse
import os

import torch
import torch.distributed as dist

from agent import Agent
from maze import Maze


def walk(maze, agent, moves):
    views, actions, rewards = [], [], []
    view = maze.reset()
    for _ in range(moves):
        action = agent.act(view)
        views.append(view)
        actions.append(action)
        view, reward = maze.move(action)
        rewards.append(reward)
    return torch.stack(views), torch.tensor(actions), torch.tensor(rewards)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--walks", type=int, default=720)
    parser.add_argument("--moves", type=int, default=14)
    args = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    maze = Maze(rank)
    agent = Agent(2 * maze.size)
    torch.manual_seed(100 + rank)

    coins = 0.0
    for number in range(args.walks):
        views, actions, rewards = walk(maze, agent, args.moves)
        agent.reinforce(views, actions, rewards)
        total = rewards.sum().item()
        if agent.is_record(total):
            print(f"maze {rank}: walk {number} is a record, {total:.1f}", flush=True)
            agent.imitate(views, actions)
        coins = 0.98 * coins + 0.02 * total
        if rank == 0 and number % 100 == 0:
            print(f"walk {number}: {coins:.2f}", flush=True)

    scores = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(scores, torch.tensor([coins]))
    if rank == 0:
        print("coins by maze:", [round(s.item(), 2) for s in scores])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
