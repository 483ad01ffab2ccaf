"""What calls say of the options that they declare."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.program import options
from ddpdoctor.program.options import Option


def declared(text: str) -> Option | None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    return options.declared_by(call)


@pytest.mark.parametrize(
    ("text", "flag", "dest"),
    [
        ("p.add_argument('--local-rank')", "--local-rank", "local_rank"),
        ("p.add_argument('-r', '--rank', '--index')", "--rank", "rank"),
        ("p.add_argument('-r')", "-r", "r"),
        ("p.add_argument('-r', '--rank', dest='place')", "--rank", "place"),
        ("p.add_argument('folder')", "folder", "folder"),
        ("p.add_argument(dest='folder')", "folder", "folder"),
        ("p.add_option('--seed')", "--seed", "seed"),
        ("click.option('--rounds', 'epochs')", "--rounds", "epochs"),
        ("click.option('--amp/--no-amp')", "--amp/--no-amp", "amp"),
        ("flags.DEFINE_integer('epochs', 1, 'how often')", "--epochs", "epochs"),
    ],
)
def test_how_an_option_is_given_and_read(text: str, flag: str, dest: str) -> None:
    option = declared(text)
    assert option is not None
    assert (option.flag, option.dest) == (flag, dest)


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("p.add_argument('--rank', default=1)", "1"),
        ("p.add_argument('--rank', default=os.environ['RANK'])", "os.environ['RANK']"),
        ("p.add_argument('--rank')", "None"),
        ("p.add_argument('--amp', action='store_true')", "False"),
        ("p.add_argument('--no-amp', dest='amp', action='store_false')", "True"),
        ("p.add_argument('--amp', action='store_true', default=None)", "None"),
        ("click.option('--amp', is_flag=True)", "False"),
        ("flags.DEFINE_integer('epochs', 1, 'how often')", "1"),
        ("flags.DEFINE_string(name='out', default='', help='where')", "''"),
        # it has to be given, or may be anything
        ("p.add_argument('--rank', required=True)", ""),
        ("p.add_argument('--rank', required=False)", "None"),
        ("p.add_argument('folder')", ""),
        ("p.add_argument('--rank', **common)", ""),
    ],
)
def test_what_an_option_is_where_nobody_gives_it(text: str, default: str) -> None:
    option = declared(text)
    assert option is not None
    assert (ast.unparse(option.default) if option.default is not None else "") == default


@pytest.mark.parametrize(
    "text", ["p.add_argument(name)", "p.add_argument(*names, **how)", "self.option('rank')", "flags.DEFINE_alias(a, b)"]
)
def test_what_declares_no_option_that_is_named(text: str) -> None:
    assert declared(text) is None


def test_all_names_of_an_option() -> None:
    option = declared("p.add_argument('-r', '--local-rank', dest='place')")
    assert option is not None
    assert option.names == {"r", "local_rank", "place"}
