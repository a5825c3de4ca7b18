"""Source digests follow imports and ignore what does not run."""

import pytest

from taboo.provenance.sources import first_party_modules, source_digest

FILES = {
    "scripts/run.py": "import sys\nfrom lib.a import f\nprint(f())\n",
    "lib/__init__.py": "",
    "lib/a.py": '"""Doc."""\nfrom . import b\nfrom lib.sub.c import g\n\ndef f():\n    """Doc."""\n    return b.X + g()\n',
    "lib/b.py": "X = 1  # one\n",
    "lib/sub/__init__.py": "",
    "lib/sub/c.py": "def g():\n    from lib import late\n    return late.Y\n",
    "lib/late.py": "Y = 2\n",
    "lib/unused.py": "Z = 3\n",
    "data.txt": "prompt\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def digest(tree):
    return source_digest(tree, "scripts/run.py", data=("data.txt",))


def test_closure_is_every_module_that_runs(tree):
    found = {str(path.relative_to(tree)) for path in first_party_modules(tree, "scripts/run.py")}
    assert found == set(FILES) - {"lib/unused.py", "data.txt"}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("scripts/run.py", "print(f())", "print( f( ) )  # shown"),
        ("lib/a.py", '"""Doc."""\nfrom', '"""Another text."""\n\n\nfrom'),
        ("lib/a.py", '    """Doc."""\n    return', "    return"),
        ("lib/b.py", "# one", "# uno"),
        ("lib/unused.py", "3", "4"),
        ("lib/b.py", "X = 1", "X = (1)"),
    ],
)
def test_comments_layout_docstrings_and_strangers_do_not_count(tree, file, old, new):
    before = digest(tree)
    text = (tree / file).read_text()
    assert old in text
    (tree / file).write_text(text.replace(old, new, 1))
    assert digest(tree) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("scripts/run.py", "print", "repr"),
        ("lib/a.py", "b.X +", "b.X -"),
        ("lib/b.py", "1", "2"),
        ("lib/late.py", "2", "3"),
        ("lib/__init__.py", "", "import os\n"),
        ("lib/sub/c.py", "late.Y", "-late.Y"),
        ("data.txt", "prompt", "Prompt"),
    ],
)
def test_every_change_of_what_runs_counts(tree, file, old, new):
    before = digest(tree)
    text = (tree / file).read_text()
    (tree / file).write_text(text.replace(old, new, 1))
    assert digest(tree) != before


def test_digest_does_not_depend_on_where_the_tree_lies(tree, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "deep"
    tree.rename(other)
    assert digest(other) == source_digest(other, "scripts/run.py", data=("data.txt",))
    before = digest(other)
    other.rename(tree)
    assert digest(tree) == before


def test_missing_file_is_named(tree):
    with pytest.raises(FileNotFoundError, match=r"gone\.py"):
        source_digest(tree, "scripts/gone.py")
