"""A bout on the piste: two fencers choose actions until one has five touches or the time is over."""
import random
from dataclasses import dataclass, field

ACTIONS = ("advance", "retreat", "lunge", "parry", "feint")


@dataclass
class Touch:
    second: int
    by: int
    action: str


@dataclass
class Bout:
    number: int
    touches: list = field(default_factory=list)
    actions: list = field(default_factory=list)


class Piste:
    """The opponent is of another style in every club; a patient one never attacks, the others
    risk everything in the last second."""

    def __init__(self, style, seed):
        self.style = style
        self.random = random.Random(seed)
        self.distance = 3
        self.second = 0

    def start(self):
        self.distance = 3
        self.second = 0

    def observe(self):
        return [self.distance / 6.0, self.second / 30.0, float(self.style == "patient"), 1.0]

    def opponent(self):
        if self.style == "patient":
            return "retreat" if self.distance < 4 else "parry"
        if self.style == "bold":
            return self.random.choice(("advance", "lunge", "lunge", "feint"))
        return self.random.choice(ACTIONS)

    def act(self, bout, action):
        """Returns the reward of the second that is over."""
        other = self.opponent()
        bout.actions.append(action)
        self.second += 1
        reward = 0.0
        if action == "lunge" and self.distance <= 2 and other != "parry":
            bout.touches.append(Touch(self.second, 0, action))
            self.distance, reward = 3, 1.0
        elif other == "lunge" and self.distance <= 2 and action != "parry":
            bout.touches.append(Touch(self.second, 1, other))
            self.distance, reward = 3, -1.0
        else:
            move = {"advance": -1, "retreat": 1}
            self.distance += move.get(action, 0) + move.get(other, 0)
            self.distance = min(6, max(1, self.distance))
        if self.second == 30 and not bout.touches and self.style != "patient":
            bout.touches.append(Touch(self.second, 1, "fleche"))
            reward = -1.0
        return reward

    def over(self, bout):
        return self.second >= 30 or max(sum(t.by == who for t in bout.touches) for who in (0, 1)) >= 5
