"""Make a program of a HumanEval prompt and what a model wrote after it."""

import ast
import builtins
import re
import symtable
import textwrap
import warnings
from collections.abc import Iterator
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
    extras = [(chunk, *_names(chunk)) for chunk in _definitions(lines)]
    bound, used = _names(program)
    missing = used - bound
    kept: list[int] = []
    while True:
        useful = (i for i, (_, binds, _) in enumerate(extras) if i not in kept and binds & missing)
        index = next(useful, None)
        if index is None:
            return "".join(extras[index][0] for index in sorted(kept))
        kept.append(index)
        bound |= extras[index][1]
        missing = (missing | extras[index][2]) - bound


def _definitions(lines: list[str]) -> Iterator[str]:
    """The statements at the margin that define or import something."""
    margins = [index for index, line in enumerate(lines) if line[:1].strip()]
    ends = [*margins[1:], len(lines)]
    done = 0
    for number, start in enumerate(margins):
        # Decorators and closing brackets are at the margin too, so a statement may have several.
        for end in ends[number : number + 4] if start >= done else ():
            chunk = "\n".join(lines[start:end]) + "\n"
            if _compiles(chunk):
                done = end
                if all(isinstance(statement, _DEFINING) for statement in ast.parse(chunk).body):
                    yield chunk
                break


_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def _names(source: str) -> tuple[set[str], set[str]]:
    """The names that a module binds, and the global ones, but for Python's own, that it uses."""
    top = symtable.symtable(source, "<candidate>", "exec")
    symbols = top.get_symbols()
    bound = {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
    used = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    inner = top.get_children()
    while inner:
        table = inner.pop()
        inner += table.get_children()
        used |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    return bound, used - set(dir(builtins))


def _compiles(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<candidate>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True
