"""Synthetic support tickets."""
import random

TOPICS = {
    "billing": ["invoice", "refund", "charge", "card", "receipt", "price"],
    "network": ["router", "latency", "packet", "vpn", "dns", "outage"],
    "account": ["password", "login", "email", "locked", "profile", "token"],
    "delivery": ["parcel", "courier", "late", "address", "box", "tracking"],
}
FILLER = ["please", "help", "the", "my", "is", "not", "again", "since", "monday", "broken"]


def make_tickets(n, seed):
    rng = random.Random(seed)
    topics = sorted(TOPICS)
    tickets = []
    for _ in range(n):
        topic = rng.choice(topics)
        words = rng.choices(TOPICS[topic], k=3) + rng.choices(FILLER, k=5)
        rng.shuffle(words)
        tickets.append({"text": " ".join(words), "queue": topic})
    return tickets
