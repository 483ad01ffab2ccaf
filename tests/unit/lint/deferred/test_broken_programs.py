"""A program that ends in an error whatever it is given is found as one; one that may go on is not."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint.deferred.broken_programs import break_before

PARSED = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int)
args = parser.parse_args()
"""


def broken(text: str, *others: str, line: int = 10**6, reached: bool = False) -> tuple[int, str] | None:
    used = {"/p/setup.py": others[0] if others else "", "/p/setting.py": "".join(others), "/p/train.py": text}
    files = {path: one.encode() for path, one in used.items()}
    found = break_before(ast.parse(text), line, "/p/train.py", files, reached=reached)
    return (found.line, found.said.removeprefix("it has no option ")) if found is not None else None


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("train(args.batch_size, args.workers)", "workers"),
        ("def main(args):\n    for _ in range(3):\n        print(args.lr)\nmain(args)", "lr"),
        (
            "import torch.multiprocessing as mp\ndef main(rank, args):\n    print(args.size)\nmp.spawn(main, (args,))",
            "size",
        ),
        (
            "def read():\n    return parser.parse_args()\nopt = read()\nwith torch.no_grad():\n    print(opt.size)",
            "size",
        ),
        ("if __name__ == '__main__':\n    run = args.workers or 4", "workers"),
    ],
)
def test_what_nothing_gives_ends_the_program(body: str, read: str) -> None:
    found = broken(f"{PARSED}def train(*_): ...\n{body}")
    assert found is not None
    assert found[1] == read


@pytest.mark.parametrize(
    "body",
    [
        "train(args.batch_size)",
        # on a condition, in what may go on, later, or never
        "if args.batch_size:\n    print(args.workers)",
        "try:\n    print(args.workers)\nexcept AttributeError:\n    pass",
        "workers = lambda: args.workers",
        "def main():\n    print(args.workers)",
        "print(args.batch_size > 1 and args.workers)",
        "print([args.workers for _ in range(args.batch_size)])",
        # declared, set, or named otherwise
        "parser.add_argument('--workers')\nprint(args.workers)",
        "parser.set_defaults(workers=3)\nprint(args.workers)",
        "args.workers, args.lr = 1, 2\nprint(args.workers)",
        "setattr(args, 'work' + 'ers', 1)\nprint(args.workers)",
        "vars(args).update(read())\nprint(args.workers)",
        "more(parser)\nprint(args.workers)",
        "more(one=parser)\nprint(args.workers)",
        "hps = parser.parse_args()\nsetattr(hps, 'workers', 1)\nprint(hps.workers)",
        "args = read()\nprint(args.workers)",
        "print(args.__class__)",
        # another `args`
        "def main(args):\n    print(args.lr)\nmain(read())",
        "class A:\n    args = 1\nprint(args.workers)",
    ],
)
def test_what_may_be_given_or_may_not_run_does_not(body: str) -> None:
    assert broken(f"{PARSED}def train(*_): ...\ndef more(one): ...\ndef read(): ...\ntext = ''\n{body}") is None


def test_a_file_that_the_program_uses_may_set_an_option() -> None:
    text = f"{PARSED}from setup import prepare\nprepare(args)\nprint(args.gpu)\n"
    assert broken(text) == (9, "gpu")
    assert broken(text, "def prepare(args):\n    args.gpu = 0\n") is None
    assert broken(text, "def prepare(args):\n    args.rank, args.gpu = 0, 0\n") is None
    assert broken(text, "def prepare(args):\n    print(args.gpu == 0)\n") == (2, "gpu")
    assert broken(text, "def prepare(args):\n    args.__dict__['gpu'] = 0\n") is None


def test_an_error_after_the_training_does_not_matter_and_one_after_a_hang_not_to_the_hang() -> None:
    text = f"{PARSED}for _ in range(3):\n    train()\n    print(args.lr)\nprint(args.end)\ndef train(): ...\n"
    assert broken(text, line=8) == (9, "lr")
    assert broken(text, line=8, reached=True) is None
    assert broken(text, line=10, reached=True) == (9, "lr")
    assert broken(text.replace("    print(args.lr)\n", ""), line=8) is None


SET_UP = "def set_up(args):\n    if args.small:\n        return 1, 2, 3\n    return {returned}\n"
TAKEN = (
    "from setting import set_up\n\n\ndef main(args):\n    model, data = {call}\n    train(model)\n\n\nmain(read())\n"
)


@pytest.mark.parametrize(
    ("returned", "call", "said"),
    [
        ("1, 2, 3", "set_up(args)", "set_up gives 3 values, of which 2 are taken"),
        ("1, 2, 3, 4", "set_up(args)", "set_up gives 3 or 4 values, of which 2 are taken"),
        # one way out is right, or is not to be seen
        ("1, 2", "set_up(args)", ""),
        ("both", "set_up(args)", ""),
        ("1, *both", "set_up(args)", ""),
        ("1, 2, 3", "other.set_up(args)", ""),
        ("1, 2, 3", "set_up(args)[:2]", ""),
    ],
)
def test_what_is_taken_apart_into_another_number_of_names_ends_the_program(returned: str, call: str, said: str) -> None:
    found = broken(TAKEN.format(call=call), SET_UP.format(returned=returned))
    assert found == ((5, said) if said else None)


@pytest.mark.parametrize(
    "program",
    [
        TAKEN.format(call="set_up(args)").replace("import set_up", "import other as set_up"),
        TAKEN.format(call="set_up(args)").replace("    model,", "    if args.small:\n        model,"),
        TAKEN.format(call="set_up(args)").replace("main(args)", "main(args, set_up)").replace("read()", "read(), 1"),
    ],
)
def test_another_function_of_the_name_is_another_one(program: str) -> None:
    assert broken(program, SET_UP.format(returned="1, 2, 3")) is None


@pytest.mark.parametrize("beside", ["def set_up(args):\n    return 1, 2\n", "@wrapped\n"])
def test_of_two_functions_of_a_name_none_is_known(beside: str) -> None:
    assert broken(TAKEN.format(call="set_up(args)"), beside + SET_UP.format(returned="1, 2, 3")) is None


NETWORK = """\
from torch import nn

class Network(nn.Module):
    def __init__(self, width, depth=3, *, bias=True):
        super().__init__()

class Other(Network): ...

def made(width, *more, bias, **settings): ...
"""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("Network(3, 4, bias=False)", ""),
        ("Network(depth=3, width=4)", ""),
        ("Network(3, widht=4)", "Network takes no widht"),
        ("Network(3, 4, True)", "Network takes 2 arguments by position, of which 3 are passed"),
        ("Network(depth=4)", "Network is not passed width"),
        ("print(Network())", "Network is not passed width"),
        ("made(3, 4, 5, bias=1, more=4)", ""),
        ("made(3, 4)", "made is not passed bias"),
        ("made(bias=3)", "made is not passed width"),
        # what is unpacked may be what is lacking, and of other classes the base says what they take
        ("Network(*shape)", ""),
        ("Network(**settings)", ""),
        ("Network(**settings, widht=3)", "Network takes no widht"),
        ("Other(3, 4, 5, 6)", ""),
        ("nets.Network()", ""),
        ("if shape:\n    Network()", ""),
    ],
)
def test_arguments_that_a_function_of_the_project_does_not_take_end_the_program(call: str, said: str) -> None:
    found = broken(f"from setup import Network, Other, made\n{call}\n", NETWORK)
    assert found == ((2, said) if said else None)


@pytest.mark.parametrize(
    "program",
    [
        "from setup import Network\nif small:\n    Network = small\nNetwork()",
        "from timm.models import Network\nNetwork()",
        "from .models import Network\nNetwork()",
        "from setup import *\nfrom setup import Network\nNetwork()",
        "def main(Network):\n    Network()\nmain(3)",
    ],
)
def test_what_may_be_another_class_is_not_asked(program: str) -> None:
    assert broken(program, NETWORK) is None


def test_a_function_is_found_through_the_file_that_hands_it_on() -> None:
    program = "from setup import set_up\nset_up()\n"
    handing_on = "from setting import set_up\n"
    files = {"/p/setup.py": handing_on, "/p/setting.py": "def set_up(args): ...\n", "/p/train.py": program}
    texts = {path: text.encode() for path, text in files.items()}
    found = break_before(ast.parse(program), 10**6, "/p/train.py", texts, reached=False)
    assert found == ("/p/train.py", 2, "set_up is not passed args")


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("print(os.getcwd())", (1, "it does not import os")),
        ("import os.path\nprint(os.getcwd())", None),
        ("def main():\n    import os\nprint(os.getcwd())", None),
        ("from setup import *\nprint(os.getcwd())", None),
        ("globals().update(read())\nprint(os.getcwd())", None),
        ("try:\n    print(os.getcwd())\nexcept NameError:\n    pass", None),
        # a part of a program, which may stand in another one
        ("train(model)", None),
    ],
)
def test_a_module_without_its_import_ends_the_program(program: str, found: tuple[int, str] | None) -> None:
    assert broken(program) == found


def test_an_option_that_is_declared_by_another_name_of_the_method_is_none_that_lacks() -> None:
    text = f"{PARSED}arg = parser.add_argument\narg('--gpu')\nprint(args.gpu)\nprint(args.lr)\n"
    assert broken(text) == (10, "lr")


READS_OF_MODULE = "import setup\n\ndef train(args):\n    setup.begin(args)\n\ntrain(3)\nfor _ in range(3):\n    pass\n"


@pytest.mark.parametrize(
    "module",
    [
        "def begin(args): ...\n",
        "from setting import *\n",
        "def __getattr__(name): ...\n",
        "if fast:\n    from quick import start as begin\n",
        "globals()['begin'] = print\n",
        "import sys\nsys.modules[__name__].begin = print\n",
    ],
)
def test_a_name_that_a_module_of_the_project_has_or_may_have(module: str) -> None:
    assert broken(READS_OF_MODULE, module) is None


def test_a_name_that_a_module_of_the_project_does_not_have_ends_the_program() -> None:
    assert broken(READS_OF_MODULE, "def start(args): ...\n") == (4, "setup has no begin")
    # one that is set from outside, and one of another module of the name
    assert broken(f"{READS_OF_MODULE}setup.begin = print\n", "def start(args): ...\n") is None
    assert broken(READS_OF_MODULE.replace("import setup", "import tools.setup as setup"), "rate = 1\n") is None
    assert broken(READS_OF_MODULE.replace("train(3)", "setup = begin()"), "def start(args): ...\n") is None


IN_ANOTHER_FILE = "from setup import train\nfor _ in range(3):\n    train(3)\n"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("    print(os.sep)\n", 2),
        ("    if args:\n        print(os.sep)\n", None),
        # it may have been left before
        ("    if args:\n        return\n    print(os.sep)\n", None),
    ],
)
def test_what_the_program_calls_of_another_file_may_end_it(body: str, line: int | None) -> None:
    found = broken(IN_ANOTHER_FILE, f"def train(args):\n{body}")
    assert found == ((line, "it does not import os") if line else None)


def test_options_that_a_function_of_another_file_is_passed() -> None:
    text = f"{PARSED}from setup import train\ntrain(args)\n"
    assert broken(text, "def train(args):\n    print(args.lr)\n") == (2, "lr")
    # an object of another name, or one that the other file has itself
    assert broken(text, "def train(settings):\n    print(settings.lr)\n") is None
    assert broken(text, "from other import args\ndef train(_):\n    print(args.lr)\n") is None
