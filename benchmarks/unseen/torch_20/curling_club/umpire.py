"""The umpire: a small service that scores games. It speaks JSON over UDP on the loopback interface."""
import json
import logging
import socket
import threading

log = logging.getLogger("umpire")

HOUSE = 1.83
DATAGRAM = 2048


def points(stones):
    """Points of an end: the stones of one side that are nearer than the best one of the other. Even stones are ours."""
    distances = [(abs(stone), number % 2) for number, stone in enumerate(stones)]
    inside = sorted(entry for entry in distances if entry[0] < HOUSE)
    if not inside:
        return 0
    side, count = inside[0][1], 0
    for _, owner in inside:
        if owner != side:
            break
        count += 1
    return count if side == 0 else -count


class Umpire:
    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = self.socket.getsockname()
        threading.Thread(target=self.serve, name="umpire", daemon=True).start()

    def serve(self):
        while True:
            data, sender = self.socket.recvfrom(DATAGRAM)
            try:
                request = json.loads(data)
            except ValueError as error:
                log.debug("ignored a message of %s: %s", sender, error)
                continue
            answer = {"game": request["game"], "points": [points(end) for end in request["ends"]]}
            self.socket.sendto(json.dumps(answer).encode(), sender)


class UmpireClient:
    def __init__(self, address):
        self.address = tuple(address)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.games = 0

    def judge(self, ends):
        """The points of each end of a game."""
        self.games += 1
        message = {"game": self.games, "ends": [[round(stone, 4) for stone in end] for end in ends]}
        self.socket.sendto(json.dumps(message).encode(), self.address)
        answer = json.loads(self.socket.recv(DATAGRAM))
        assert answer["game"] == self.games
        return answer["points"]
