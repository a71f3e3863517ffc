"""Count what the layout of a package can be judged by: lines, type tests, wide classes.

    python benchmarks/house.py [FOLDER]

FOLDER is that of the package, `ldpstats` beside this folder by default. Nothing is imported, so
that any version can be counted.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

Class = tuple[str, set[str], list[str]]  # file, own public methods and properties, names of bases
WIDE, LONG = 12, 300


def modules(folder: Path) -> dict[str, ast.Module]:
    """Syntax trees of all files, by their path."""
    paths = sorted(folder.rglob("*.py"))
    return {p.relative_to(folder).as_posix(): ast.parse(p.read_text("utf-8")) for p in paths}


def name_of(node: ast.expr) -> str:
    """The last name of `a.b.C`, or of `C[T]`; "" for anything else."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def classes(trees: dict[str, ast.Module]) -> dict[str, Class]:
    """The package's own classes; a name that two files define counts once, as the wider one."""
    found: dict[str, Class] = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own = {
                    item.name
                    for item in node.body
                    if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")
                }
                if node.name not in found or len(own) > len(found[node.name][1]):
                    found[node.name] = path, own, [name_of(base) for base in node.bases]
    return found


def public(name: str, known: dict[str, Class]) -> set[str]:
    """Public methods and properties, those of the package's own bases included."""
    _, own, bases = known[name]
    return own.union(*(public(base, known) for base in bases if base in known and base != name))


def tested(call: ast.Call) -> set[str]:
    """Names of the types of an `isinstance` call, in a tuple or joined by |."""
    return {name_of(n) for n in ast.walk(call.args[1]) if isinstance(n, ast.Name | ast.Attribute)}


def reaches(node: ast.AST) -> bool:
    """Whether this is `other._x`, of neither self, cls, super() nor a module or class by name."""
    if not isinstance(node, ast.Attribute) or node.attr.startswith("__"):
        return False
    owner = node.value
    mine = isinstance(owner, ast.Name) and (owner.id in ("self", "cls") or owner.id[0].isupper())
    mine = mine or (isinstance(owner, ast.Call) and name_of(owner.func) == "super")
    return node.attr.startswith("_") and not mine


def table(title: str, counts: dict[str, int]) -> None:
    """Print counts, largest first, how many there are, and their sum."""
    print(f"\n{title} ({len(counts)} rows, sum {sum(counts.values()):,})")
    for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(f"{n:>8,}  {name}")


def main() -> None:
    """Print the tables."""
    here = Path(__file__).parents[1] / "ldpstats"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else here
    trees = modules(folder)
    known = classes(trees)
    lines = {path: len((folder / path).read_text("utf-8").splitlines()) for path in trees}
    by_folder: Counter[str] = Counter()
    types: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for path, tree in trees.items():
        by_folder[path.rpartition("/")[0].partition("/")[0] or "(flat)"] += lines[path]
        for node in ast.walk(tree):
            if reaches(node):
                kinds["reach-through other._x"] += 1
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "object.__new__":
                kinds["object.__new__"] += 1
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "hasattr":
                kinds["hasattr"] += 1
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                if tested(node) & set(known):
                    types[path.rpartition("/")[0].partition("/")[0] or "(flat)"] += 1
    wide = {
        f"{name} ({len(public(name, known))} with those of its bases) in {path}": len(own)
        for name, (path, own, _) in known.items()
    }
    table("lines by folder", by_folder)
    table("isinstance on the package's own types", types)
    table("shapes", kinds)
    table(
        f"classes with more than {WIDE} public methods and properties of their own",
        {name: n for name, n in wide.items() if n > WIDE},
    )
    table(f"files of more than {LONG} lines", {path: n for path, n in lines.items() if n > LONG})
    print(f"\nfiles {len(trees)}, flat {sum('/' not in path for path in trees)}")


if __name__ == "__main__":
    main()
