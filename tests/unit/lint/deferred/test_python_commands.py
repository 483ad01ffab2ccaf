"""The commands that Python code puts together."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint.deferred.python_commands import PythonCommands


@pytest.mark.parametrize(
    ("code", "commands"),
    [
        ("run(['torchrun', '--nproc_per_node', '8', 'a.py'])", ["torchrun --nproc_per_node 8 a.py"]),
        ("n = 2\nrun(f'torchrun --nproc_per_node={n} a.py')", ["torchrun --nproc_per_node=2 a.py"]),
        ("n = 2\ncmd = 'torchrun --nproc_per_node=' + str(n) + ' a.py'", ["torchrun --nproc_per_node=2 a.py"]),
        ("run([sys.executable, 'a.py', *more])", ["python a.py ."]),
        # what a name is given elsewhere, or by something unknown
        ("n = 1\nn = 2\nrun(['torchrun', n, 'a.py'])", ["torchrun 1 a.py", "torchrun 2 a.py"]),
        ("n = 1\nn += 1\nrun(['torchrun', n, 'a.py'])", ["torchrun . a.py"]),
        ("for n in x:\n    run(['torchrun', n, 'a.py'])", ["torchrun . a.py"]),
        ("n = n\nrun(['torchrun', n, 'a.py'])", ["torchrun . a.py"]),
        # a parameter: its default, and what calls pass, under the same name or another one
        ("def f(n=1):\n    run(['torchrun', n, 'a.py'])\nf()", ["torchrun 1 a.py"]),
        ("m = 4\ndef f(n):\n    run(['torchrun', n, 'a.py'])\nf(m)", ["torchrun 4 a.py"]),
        ("n = 4\ndef f(n):\n    run(['torchrun', n, 'a.py'])\nf(n=n)", ["torchrun 4 a.py"]),
        ("def f(n):\n    run(['torchrun', n, 'a.py'])", ["torchrun . a.py"]),
        ("print('no command')", []),
        # too many forms
        (f"{';'.join(f'n = {i}' for i in range(20))}\nrun(['torchrun', n, 'a.py'])", ["torchrun . a.py"]),
        ("n = 1; n = 2\nrun(['torchrun', n, n, n, n, n, 'a.py'])", ["torchrun . . . . . a.py"]),
    ],
)
def test_commands_with_the_constants_in_them(code: str, commands: list[str]) -> None:
    assert [command for _, command in PythonCommands(ast.parse(code)).found()] == commands
