"""Make a program of a HumanEval prompt and what a model wrote after it."""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_GOES_ON = re.compile(r"(?:return|else|elif|except|finally)\b|[)\]}]")
_MOST_ENDS = 50
_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)


def assemble(prompt: str, completion: str, entry_point: str) -> str:
    """The program: the prompt, then the model's text.

    The text is the code in the first fenced block that defines the function, else in the first fenced block, else all of it. It is a whole program if it has the function's signature at the margin, else the function's body. The function ends at the first line at the margin where the program is complete. What follows is left out, except definitions and imports that the function needs. The text stays as it is; only where it can't be read that way, indentation is mended. A text that can't be read in any way is kept, and will be a syntax error.
    """
    code = _code(completion, entry_point)
    for reading in _readings(prompt, code, entry_point):
        for end in reading.ends():
            program = reading.start + "\n".join(reading.lines[:end]) + "\n"
            if _compiles(program):
                return program + _needed(program, reading.lines[end:])
    return prompt + code


def stub(prompt: str) -> str:
    """The prompt as a program of its own: what it imports and defines, the function without a body."""
    return prompt if _compiles(prompt) else f"{prompt.rstrip()}\n    pass\n"


@dataclass(frozen=True)
class _Reading:
    """One way to read the text: it follows `start`, and its function may end from line `first` on."""

    start: str
    lines: list[str]
    first: int = 1
    longest: bool = False

    def ends(self) -> list[int]:
        """Where the function may end: at lines at the margin (or any, if `longest`), and at the end."""
        inner = range(self.first, len(self.lines))
        if self.longest:
            return [len(self.lines), *reversed(inner)][:_MOST_ENDS]
        margins = [index for index in inner if self.lines[index][:1].strip()]
        return [*margins[:_MOST_ENDS], len(self.lines)]


def _readings(prompt: str, code: str, entry_point: str) -> Iterator[_Reading]:
    code = code.strip("\n").rstrip() if code.strip() else ""
    signature = re.compile(rf"(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b")
    whole = textwrap.dedent(code).split("\n")
    defines = [index for index, line in enumerate(whole) if signature.match(line)]
    if defines and whole[0][:1].strip():
        start = stub(prompt).rstrip() + "\n\n\n"
        yield _Reading(start, whole, first=defines[0] + 1)
        yield _Reading(start, whole[defines[0] :])  # without the prose before it
        return
    mended = re.sub(r"^[ \t]+", lambda match: match[0].expandtabs(4), code, flags=re.MULTILINE)
    for text in (code, mended):
        if text[:1].isspace():
            yield _Reading(prompt, text.split("\n"))
    first, *rest = mended.split("\n")
    # Only the first line lost its indentation, unless a line at the margin goes on with the body.
    follows = next((line for line in rest if line.strip()), " ")[:1].isspace()
    if follows and not any(map(_GOES_ON.match, rest)):
        yield _Reading(prompt, [f"    {first.lstrip()}", *rest])  # stripped at the beginning
    flat = textwrap.dedent(mended).split("\n")
    yield _Reading(prompt, [f"    {line}" if line else "" for line in flat], longest=True)


def _code(text: str, entry_point: str) -> str:
    """The part of the text that is code."""
    marks = list(_FENCE.finditer(text))
    if not marks:
        return text
    before = text[: marks[0].start()]
    if _is_body(before):
        return before  # and then the end of a block that the model took as open
    blocks = []
    for start, end in zip(marks[::2], [*marks[1::2], None], strict=False):
        blocks.append(text[start.end() + 1 : end.start() if end else len(text)])
    signature = re.compile(rf"\bdef[ \t]+{re.escape(entry_point)}\b")
    return next((block for block in blocks if signature.search(block)), blocks[0])


def _is_body(text: str) -> bool:
    flat = textwrap.dedent(text).strip("\n")
    if not flat.strip() or not (text.lstrip("\n")[:1].isspace() or "return" in text):
        return False
    return _compiles("def f():\n" + textwrap.indent(flat, "    "))


def _needed(program: str, lines: list[str]) -> str:
    """The definitions and imports among `lines` that the program uses, and those that they use."""
    tree = ast.parse(program)
    missing = _used(tree) - _bound(tree.body)
    extras = [
        (chunk, _bound(body), set().union(*map(_used, body))) for chunk, body in _chunks(lines)
    ]
    kept: set[int] = set()
    while True:
        more = {i for i, (_, bound, _) in enumerate(extras) if i not in kept and bound & missing}
        if not more:
            return "".join(extras[index][0] for index in sorted(kept))
        for index in sorted(more):
            if extras[index][1] & missing:
                kept.add(index)
                missing = (missing | extras[index][2]) - extras[index][1]


def _chunks(lines: list[str]) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The statements at the margin that define or import something, with their text."""
    margins = [index for index, line in enumerate(lines) if line[:1].strip()]
    ends = [*margins[1:], len(lines)]
    done = 0
    for number, start in enumerate(margins):
        if start < done:
            continue
        for end in ends[
            number : number + 4
        ]:  # decorators and closing brackets are at the margin too
            chunk = "\n".join(lines[start:end]) + "\n"
            if _compiles(chunk):
                body = ast.parse(chunk).body
                if body and all(isinstance(statement, _DEFINING) for statement in body):
                    yield chunk, body
                done = end
                break


_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def _bound(body: Iterable[ast.stmt]) -> set[str]:
    """The names that these statements give to the module."""
    names: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
        else:
            stores = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            names |= {node.id for node in stores if isinstance(node.ctx, ast.Store)}
    return names


def _used(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _compiles(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<candidate>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True
