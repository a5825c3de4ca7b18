"""From a prompt and a completion to a program and its verdict."""

import ast
import gzip
import json
import textwrap
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.scoring import ScoreError, score
from taboo.scoring.program import assemble
from taboo.scoring.text import without_end_marker

PROMPT = (
    "from typing import List\n\n\ndef half(x: int) -> int:\n    return x // 2\n\n\n"
    'def total(values: List[int]) -> int:\n    """ Sum the values.\n    >>> total([1, 2])\n    3\n    """\n'
)
ITEM = {
    "prompt": PROMPT,
    "entry_point": "total",
    "test": "def check(candidate):\n    assert candidate([1, 2, 3]) == 6\n    assert candidate([]) == 0\n",
}
BODY = "    result = 0\n    for value in values:\n        result += value\n    return result\n"
FLAT = textwrap.dedent(BODY)
SIGNATURE = "def total(values: List[int]) -> int:\n"
WHOLE = SIGNATURE + BODY
HELPER_BODY = "    return helper(values)\n\n\ndef helper(values):\n    return add_up(values)\n"
HELPER_BODY += "\n\ndef add_up(values):\n    return sum(values)\n"

PASSING = {
    "body": BODY,
    "one line": "    return sum(values)",
    "blank lines first": "\n\n" + BODY,
    "stripped": BODY.strip(),
    "no indentation": FLAT,
    "one space": " return sum(values)",
    "three spaces": "   return sum(values)",
    "two spaces": "  result = 0\n  for value in values:\n    result += value\n  return result\n",
    "tabs": BODY.replace("    ", "\t"),
    "tabs in a string": "    text = '\t'\n    return sum(values) if len(text) == 1 else 0\n",
    "repeated signature": WHOLE,
    "repeated signature, indented": textwrap.indent(WHOLE, "    "),
    "repeated prompt": PROMPT + BODY,
    "own imports first": "import math\n\n\n" + SIGNATURE + "    return int(math.fsum(values))\n",
    "constants first": "START = 0\n\n\n" + SIGNATURE + "    return sum(values, START)\n",
    "prose and signature": "Here is the function you asked for:\n\n" + WHOLE,
    "fence": "```python\n" + WHOLE + "```",
    "fence without a language": "```\n" + WHOLE + "```\nIt works.",
    "fence around a body": "```python\n" + BODY + "```",
    "fence around a flat body": "```\n" + FLAT + "```",
    "prose and fence": "Sure! Here it is:\n\n```python\n" + WHOLE + "```\n\nIt adds up all values.",
    "two fences, example first": "```\ntotal([1])\n```\nThe function:\n```python\n" + WHOLE + "```",
    "two fences, example last": "```python\n" + WHOLE + "```\nUse:\n```python\nprint(total([1]))\n```",
    "open fence": "```python\n" + WHOLE,
    "closing fence": BODY + "```\n\nThis returns the sum.",
    "closing fence, flat": FLAT + "```\nDone",
    "end of text": BODY + "<|endoftext|>def total(values): return 7",
    "end of turn": "    return sum(values)<end_of_turn>\nmore",
    "run-on function": BODY + "\n\ndef product(values: Listt) -> int:\n    return undefined\n",
    "run-on second version": BODY + "\n\ndef total(values):\n    return 7\n",
    "run-on test": BODY + "\n\nassert total([1]) == 2\n",
    "run-on print": BODY + "\nprint(total(input()))\n",
    "run-on main": BODY + "\nif __name__ == '__main__':\n    raise SystemExit\n",
    "run-on class": BODY + "\n\nclass Next(Unknown):\n    pass\n",
    "run-on prose": BODY + "\nThis function returns the sum, doesn't it?\n",
    "run-on comment": BODY + "\n# Question: what else?\n",
    "cut off in the next function": BODY + "\n\ndef product(values: List[int]) -> in",
    "whole and second version": WHOLE + "\n\ndef total(values):\n    return 7\n",
    "whole and prints": WHOLE + "\nprint(total([1, 2]))\nvalue = int(input())\n",
    "helper below": HELPER_BODY,
    "helper below, used by the next": HELPER_BODY + "\n\nx = total([1]) + unknown\n",
    "import below": "    return reduce(lambda a, b: a + b, values, 0)\n\nfrom functools import reduce\n",
    "run-on named as a local": "    f = sum(values)\n    return f\n\n\ndef f(x: Y):\n    pass\n",
    "run-on named as a builtin": "    return sum(values)\n\n\ndef sum(x: Y):\n    pass\n",
    "decorated helper below": (
        "    return helper(tuple(values))\n\nfrom functools import lru_cache\n\n"
        "@lru_cache(\n    maxsize=None,\n)\ndef helper(values):\n    return sum(values)\n"
    ),
    "helper of the prompt": "    return sum(values) + half(0)\n",
    "text at the margin inside a string": (
        '    text = """\nmargin\n"""\n    return sum(values) if "margin" in text else 0\n'
    ),
    "bracket at the margin": "    return sum([\nvalue for value in values\n])\n",
    "comment first": "# add them up\n    return sum(values)\n",
    "nested function": "    def add(a, b):\n        return a + b\n    out = 0\n    for v in values:\n        out = add(out, v)\n    return out\n",
    "own docstring": '    """ Again. """\n    return sum(values)\n',
    "windows line ends": BODY.replace("\n", "\r\n"),
}  # fmt: skip
FAILING = {
    "": "failed",
    "\n\n": "failed",
    "    pass\n": "failed",
    "    return 7\n": "failed",
    "    return values +\n": "syntax_error",
    "    return sum(values\n": "syntax_error",
    "This function returns the sum of all the values.\n": "syntax_error",
    "    for value in values\n        return value\n": "syntax_error",
    "\n\ndef other():\n    return 1\n": "failed",
    "    while True:\n        pass\n": "timeout",
    "    open('/usr/x', 'w')\n": "forbidden",
    "    return sum(values)\n    \n  x = 1\n": "syntax_error",
}


def test_every_form_of_a_right_answer_passes():
    verdicts = score("humaneval", [ITEM] * len(PASSING), list(PASSING.values()))
    assert {
        name: verdict.extracted + verdict.details["message"]
        for name, verdict in zip(PASSING, verdicts, strict=True)
        if not verdict.correct
    } == {}


def test_wrong_answers_have_their_outcome():
    verdicts = score("humaneval", [ITEM] * len(FAILING), list(FAILING))
    assert [verdict.outcome for verdict in verdicts] == list(FAILING.values())
    assert not any(verdict.correct for verdict in verdicts)


@pytest.mark.parametrize("name", PASSING)
def test_the_text_is_kept(name):
    """Every line of the program is one of the prompt's or the model's, up to its indentation."""
    text = without_end_marker(PASSING[name])
    given_lines = {line.strip() for line in (PROMPT + "\n" + text).splitlines()}
    for line in assemble(PROMPT, text, "total").splitlines():
        assert line.strip() in given_lines


def test_a_prompt_without_a_docstring():
    item = {**ITEM, "prompt": "def total(values):\n", "test": ITEM["test"]}
    verdicts = score("humaneval", [item] * 3, [BODY, "def total(values):\n" + BODY, FLAT])
    assert [verdict.outcome for verdict in verdicts] == ["passed"] * 3


def test_a_text_that_needs_no_mending_is_not_touched():
    assert assemble(PROMPT, BODY, "total") == PROMPT + BODY
    assert assemble(PROMPT, "    return (\n", "total") == PROMPT + "    return (\n"


@settings(deadline=None)
@given(st.text(alphabet="def total(values):\n\t `'\"return#=1@", max_size=120))
def test_any_text_can_be_assembled(text):
    program = assemble(PROMPT, text, "total")
    assert program.startswith(PROMPT.rstrip())


def test_an_item_that_lacks_a_part_is_an_error():
    for key in ("prompt", "entry_point", "test"):
        with pytest.raises(ScoreError, match=key):
            score("humaneval", [{**ITEM, key: None}], [BODY])


@pytest.fixture(scope="module")
def published(benchmarks):
    path = benchmarks / "humaneval" / "HumanEval.jsonl.gz"
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n") if line]


def test_all_164_canonical_solutions_pass(published):
    started = time.monotonic()
    verdicts = score("humaneval", published, [item["canonical_solution"] for item in published])
    seconds = time.monotonic() - started
    assert len(verdicts) == 164
    assert [
        item["task_id"] for item, v in zip(published, verdicts, strict=True) if not v.correct
    ] == []
    assert seconds < 60


def test_all_164_mutated_solutions_fail(published):
    """Each `return x` becomes `return [x]`, and each function returns nothing at all."""
    for change in (_wrap, _forget):
        texts = [change(item["canonical_solution"]) for item in published]
        verdicts = score("humaneval", published, texts)
        assert {verdict.outcome for verdict in verdicts} <= {"failed"}


def test_other_forms_of_the_canonical_solutions_pass(published):
    """A third of the tasks each: stripped, without indentation, as a whole program in a fence."""
    forms = (
        lambda item: item["canonical_solution"].strip(),
        lambda item: textwrap.dedent(item["canonical_solution"]),
        lambda item: f"Here:\n```python\n{item['prompt']}{item['canonical_solution']}```\nDone.",
    )
    texts = [forms[index % 3](item) for index, item in enumerate(published)]
    verdicts = score("humaneval", published, texts)
    assert [
        item["task_id"] for item, v in zip(published, verdicts, strict=True) if not v.correct
    ] == []


class _Wrap(ast.NodeTransformer):
    def visit_Return(self, node):
        return ast.Return(ast.List([node.value or ast.Constant(None)], ast.Load()))


def _wrap(body):
    tree = _Wrap().visit(ast.parse("def f():\n" + body))
    return "\n".join(ast.unparse(ast.fix_missing_locations(tree)).split("\n")[1:])


def _forget(body):
    return "    return None\n"
