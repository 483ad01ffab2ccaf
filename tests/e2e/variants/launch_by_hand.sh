#!/bin/sh
# launch_by_hand.sh PYTHON PROGRAM RANKS: one process a rank, as a batch system would start them
export MASTER_ADDR=127.0.0.1
export WORLD_SIZE="$3"
MASTER_PORT=$("$1" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export MASTER_PORT
rank=0
while [ "$rank" -lt "$3" ]; do
    RANK="$rank" LOCAL_RANK="$rank" "$1" "$2" &
    rank=$((rank + 1))
done
wait
