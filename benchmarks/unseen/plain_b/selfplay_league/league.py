"""Ratings of past policies, kept by the rank that plays the rating games."""
import copy

import torch
import torch.distributed as dist


def play_out(a, b, n, gen):
    """Share of the n games of 'take one to three stones' that policy a wins against b."""
    wins = 0
    for g in range(n):
        pile, turn = int(torch.randint(9, 21, (1,), generator=gen)), g % 2
        while pile > 0:
            with torch.no_grad():
                probs = (a, b)[turn](torch.nn.functional.one_hot(torch.tensor(pile), 21).float()).softmax(-1)
            pile -= 1 + int(torch.multinomial(probs, 1, generator=gen))
            turn ^= 1
        wins += turn == 1
    return wins / n


class League:
    def __init__(self, seat, games=6):
        self.seat, self.games = seat, games
        self.past, self.ratings = [], {}
        self.gen = torch.Generator().manual_seed(99)

    def admit(self, name, policy):
        """Adds a copy of the policy, rates it against the last three."""
        score = 0.5
        if self.past:
            rivals = self.past[-3:]
            score = sum(play_out(policy, r, self.games, self.gen) for _, r in rivals) / len(rivals)
        self.past.append((name, copy.deepcopy(policy)))
        self.ratings[name] = score
        self.publish()
        return score

    def publish(self):
        parcel = [self.ratings]
        dist.broadcast_object_list(parcel, src=self.seat)
        self.ratings = parcel[0]
