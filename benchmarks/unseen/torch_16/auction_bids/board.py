"""The notice board of a run: scores and remarks of all processes, kept by the first one and read over a socket."""
import json
import socket
import threading


class BoardServer:
    """One thread for each process that connects; messages are lines of JSON."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.best = {}
        self.remarks = []
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rw") as stream:
            for line in stream:
                message = json.loads(line)
                with self.lock:
                    if message["kind"] == "score":
                        name = message["bidder"]
                        self.best[name] = max(message["value"], self.best.get(name, message["value"]))
                        answer = {"best": self.best[name], "leader": max(self.best, key=self.best.get)}
                        stream.write(json.dumps(answer) + "\n")
                        stream.flush()
                    elif message["kind"] == "remark":
                        self.remarks.append((message["bidder"], message["text"]))


class Board:
    """A process's connection to the board."""

    def __init__(self, bidder, port):
        self.bidder = bidder
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.stream = self.connection.makefile("rw")

    def ask(self, kind, **fields):
        self.stream.write(json.dumps({"kind": kind, "bidder": self.bidder, **fields}) + "\n")
        self.stream.flush()
        return json.loads(self.stream.readline())

    def score(self, value):
        return self.ask("score", value=value)["leader"]

    def remark(self, text):
        self.ask("remark", text=text)

    def close(self):
        self.connection.close()
