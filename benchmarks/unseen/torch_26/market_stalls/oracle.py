"""What a customer pays for goods: a small service that all stalls ask, one datagram for each question."""
import json
import multiprocessing
import random
import socket

CONTEXT = multiprocessing.get_context("fork")
BASE = {"leeks": 1.2, "plums": 2.5, "honey": 6.0, "cheese": 9.0, "walnuts": 4.4}


def serve(server):
    """Answers questions until its parent ends; what cannot be understood is dropped."""
    rng = random.Random(17)
    while True:
        message, sender = server.recvfrom(2048)
        try:
            question = json.loads(message)
            base = BASE[question["goods"]]
        except (ValueError, KeyError):
            continue
        paid = question["price"] if question["price"] < base * rng.uniform(0.7, 1.3) else 0.0
        server.sendto(json.dumps({"number": question["number"], "paid": paid}).encode(), sender)


def start_oracle():
    """Starts the service and returns its port."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    CONTEXT.Process(target=serve, args=(server,), daemon=True).start()
    return server.getsockname()[1]


class Customers:
    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.number = 0

    def offer(self, goods, price):
        self.number += 1
        self.socket.send(json.dumps({"number": self.number, "goods": goods, "price": price}).encode())
        answer = json.loads(self.socket.recv(2048))
        assert answer["number"] == self.number
        return answer["paid"]
