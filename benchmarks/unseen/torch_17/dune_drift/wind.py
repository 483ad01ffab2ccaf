"""Wind over the dune field, day by day, for each strip."""
import math


class Wind:
    """Strong at the coast and weaker inland; from the day on that the ridge has grown the lee behind it is calm."""

    def __init__(self, coast=0.12, inland=0.04, ridge_day=90):
        self.coast = coast
        self.inland = inland
        self.ridge_day = ridge_day

    def base(self, strip, strips):
        share = strip / max(strips - 1, 1)
        return self.coast + share * (self.inland - self.coast)

    def gusts(self, day):
        return 1.0 + 0.4 * math.sin(day / 3.0)

    def __call__(self, day, strip, strips):
        if strip == strips - 1 and day >= self.ridge_day:
            return 0.0
        return self.base(strip, strips) * self.gusts(day)


class Calendar:
    """Days of a survey, with the ones on which the strips share what they have learnt."""

    def __init__(self, days, share_every):
        self.days = days
        self.share_every = share_every

    def __iter__(self):
        return iter(range(self.days))

    def shares(self, day):
        return (day + 1) % self.share_every == 0

    def last(self):
        return self.days - 1
