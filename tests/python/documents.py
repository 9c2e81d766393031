"""Runs the examples of docs/python.md and the cells of docs/python.ipynb, and compares what they print: documents.py DOCS

PIPESIM_UPDATE_GOLDEN=1 writes what they print instead."""

import ast
import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path

UPDATE = bool(os.environ.get("PIPESIM_UPDATE_GOLDEN"))
# A block of Python, and what it prints below it.
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```\n(.*?)```\n)?", re.DOTALL)


def run(source, names, where):
    """What @source prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(source, where, "exec"), names)
    return said.getvalue()


def run_cell(source, names, where):
    """The same of a cell, whose last expression a notebook shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    said = run(tree, names, where)
    value = last and eval(compile(ast.Expression(last.value), where, "eval"), names)
    if hasattr(value, "_repr_html_"):
        assert value._repr_html_().startswith("<"), where
    assert repr(value)
    return said


def check_page(path):
    names, faults = {}, 0

    def replace(match):
        nonlocal faults
        said = run(match[1], names, f"{path.name}:{path.read_text()[: match.start()].count(chr(10)) + 1}")
        if match[2] is not None and said != match[2]:
            faults += 1
            print(f"{path}: this prints something else:\n{match[1]}{said}")
            return f"```python\n{match[1]}```\n```\n{said}```"
        return match[0]

    text = path.read_text(encoding="utf-8")
    written = BLOCK.sub(replace, text)
    if UPDATE and written != text:
        path.write_text(written, encoding="utf-8")
        return 0
    return faults


def check_notebook(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names, faults = {}, 0
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        if "pandas" in cell["metadata"].get("tags", ()) and not has("pandas"):
            print(f"SKIP: {path.name}, cell {number}: pandas is not installed")
            continue
        said = run_cell(source, names, f"{path.name}, cell {number}")
        texts = [{"name": "stdout", "output_type": "stream", "text": said.splitlines(keepends=True)}] if said else []
        if cell["outputs"] != texts:
            faults += not UPDATE
            cell["outputs"] = texts
            print(f"{path}: cell {number} prints something else:\n{said}")
    if UPDATE:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return faults


def has(module):
    try:
        __import__(module)
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    docs = Path(sys.argv[1])
    sys.exit(min(1, check_page(docs / "python.md") + check_notebook(docs / "python.ipynb")))
