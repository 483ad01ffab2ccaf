"""What a script hands on is what the texts of a repository call it with."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.deferred.handed_on import as_called, hands_on


@pytest.mark.parametrize(
    ("command", "hands"),
    [
        ('torchrun train.py "$@"', True),
        ("torchrun train.py ${@:3}", True),
        ("torchrun train.py $*", True),
        ("torchrun train.py $CONFIG", False),
        ("torchrun train.py user@host", False),
    ],
)
def test_a_command_that_hands_on_what_its_script_gets(command: str, hands: bool) -> None:
    assert hands_on(command.encode()) is hands


COMMAND = b'torchrun train.py --launcher pytorch "${@:3}"'


@pytest.mark.parametrize(
    ("texts", "called"),
    [
        (["bash dist_train.sh configs/a.yaml 8 --seed 0\n"], ["configs/a.yaml 8 --seed 0"]),
        (["run `./tools/dist_train.sh a.py 8`, or ./tools/dist_train.sh b.py 4 # small"], ["a.py 8", "b.py 4"]),
        (["dist_train.sh a.py \\\n  --seed 0 && echo done"], ["a.py    --seed 0"]),
        (["dist_train.sh a.py 8\n", "dist_train.sh a.py 8\n"], ["a.py 8"]),
    ],
)
def test_a_script_that_texts_call(texts: list[str], called: list[str]) -> None:
    found = as_called(COMMAND, b"dist_train.sh", [text.encode() for text in texts])
    assert found == [f"torchrun train.py --launcher pytorch {one}".encode() for one in called]


@pytest.mark.parametrize(
    "text",
    [
        "see dist_train.sh for more of it",
        "dist_train.sh\n",
        "my_dist_train.sh a.py 8",
        "bash dist_train.sh $@",
        "bash other.sh a.py 8",
    ],
)
def test_a_script_that_no_text_calls(text: str) -> None:
    assert as_called(COMMAND, b"dist_train.sh", [text.encode()]) == [COMMAND]
