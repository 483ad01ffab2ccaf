"""A marble on a course of ramps: where it is at each moment, until it leaves the course or comes to rest."""
import math


class Course:
    """Ramps with a slope each. Courses become longer by one ramp in each level."""

    def __init__(self, number, ramps=2):
        self.slopes = [0.25 + 0.05 * ((number + ramp) % 4) for ramp in range(ramps)]
        self.number = number

    def extend(self):
        self.slopes.append(0.2 + 0.04 * ((self.number + len(self.slopes)) % 5))


def roll(weights, course, step=0.02, limit=4000):
    """The track of a marble whose gate is opened by `weights`: position, speed and opening at every step."""
    track = []
    position, speed = 0.0, 0.0
    for moment in range(limit):
        ramp = int(position)
        if ramp >= len(course.slopes):
            break
        inside = position - ramp
        opening = 1.0 / (1.0 + math.exp(-(weights[0] + weights[1] * speed + weights[2] * inside)))
        speed += step * (course.slopes[ramp] * (0.5 + opening) - 0.9 * speed)
        position += step * max(speed, 0.05)
        track.append((moment, position, speed, opening))
    return track


def fitness(track, ramps, wanted=0.32):
    """Fast courses are not good ones: the marble is to be seen, at an even speed."""
    speeds = [speed for _, _, speed, _ in track]
    mean = sum(speeds) / len(speeds)
    uneven = sum((speed - mean) ** 2 for speed in speeds) / len(speeds)
    return -abs(mean - wanted) - 4.0 * uneven - 0.01 * ramps


def duration(track, step=0.02):
    return step * len(track)
