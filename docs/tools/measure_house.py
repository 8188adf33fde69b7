"""Measure the structure of the code: rooms, floors, arguments of kernels.

Usage: ``python docs/tools/measure_house.py [CHECKOUT ...]``; prints one table, a column for each
checkout (this one, if none is named). docs/developers.md has what it said last.
"""

import ast
import io
import sys
import tokenize
import tomllib
from collections import defaultdict
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent.parent
EMPTY = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(path):
    """Return how many lines of a file hold code: no comments, docstrings or empty lines."""
    text = path.read_text()
    used = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in EMPTY:
            used |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if is_docstring(node):
            used -= set(range(node.lineno, node.end_lineno + 1))
    return len(used)


def statements(folder):
    """Return how many statements there are: they do not depend on how lines are broken."""
    return sum(
        isinstance(node, ast.stmt) and not is_docstring(node)
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
    )


def is_docstring(node):
    """Tell whether a statement is a text alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def modules_of(folder):
    """Return the modules of a package by room; those at its top are in the room ''."""
    rooms = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        rooms[parts[0] if len(parts) > 1 else ""].append(path)
    return rooms


def floors_of(root):
    """Return the number of rows in the contract of layers."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]
    return next(len(one["layers"]) for one in contracts["contracts"] if one["id"] == "layers")


def kernels_of(folder):
    """Return the number of arguments of every kernel."""
    found = []
    for path in (folder / "kernels").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                decorators = (getattr(each, "func", each) for each in node.decorator_list)
                names = {getattr(each, "id", "") for each in decorators}
                if any(name.startswith("kernel") for name in names):
                    found.append(len(node.args.args))
    return found


def annotated(folder):
    """Return how many functions there are, and how many say what they return."""
    functions = [
        node
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    return len(functions), sum(node.returns is not None for node in functions)


def measure(root):
    """Return what was measured of a checkout, by name."""
    folder = root / "efcml"
    rooms = modules_of(folder)
    lines = {room: sum(map(code_lines, paths)) for room, paths in rooms.items()}
    arguments, (functions, typed) = kernels_of(folder), annotated(folder)
    mine = [
        path
        for path in root.rglob("*.py")
        if not any(part.startswith(".") for part in path.relative_to(root).parts)
    ]
    return {
        "modules of efcml": sum(map(len, rooms.values())),
        "code lines of efcml": sum(lines.values()),
        "statements of efcml": statements(folder),
        "modules at the top of efcml": len(rooms.get("", ())),
        "rooms": len([room for room in rooms if room]),
        "floors": floors_of(root),
        "kernels": len(arguments),
        "arguments of a kernel, median and most": f"{median(arguments):g}, {max(arguments)}",
        "functions annotated": f"{typed} of {functions}",
        "`fmt: skip`, everywhere": sum(path.read_text().count("fmt: " + "skip") for path in mine),
    } | {
        f"lines of `{room or 'the top'}`": f"{lines[room]} in {len(rooms[room])}"
        for room in sorted(rooms)
    }


def main(folders):
    """Print the table."""
    found = [measure(Path(folder)) for folder in folders or [ROOT]]
    names = list(dict.fromkeys(name for one in found for name in one))
    for name in names:
        print("| " + " | ".join([name, *(str(one.get(name, "")) for one in found)]) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
