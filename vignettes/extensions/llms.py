"""llms.txt: the pages of the site, each with its title, its source and its first sentence."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def first_sentence(env: BuildEnvironment, page: str) -> str:
    """The first sentence of the text of a page, or of what it describes; notes do not count."""
    for paragraph in env.get_doctree(page).findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section | addnodes.desc_content):
            return " ".join(paragraph.astext().split()).partition(". ")[0].rstrip(".:")
    return ""


def below(env: BuildEnvironment, page: str) -> list[str]:
    """The pages under a page, in their order."""
    found = []
    for child in env.toctree_includes.get(page, []):
        found += [child, *below(env, child)]
    return found


def text_of(env: BuildEnvironment, root: str) -> str:
    lines = [f"# {env.titles[root].astext()}", "", f"> {first_sentence(env, root)}.", ""]
    for chapter in env.toctree_includes[root]:
        lines += [f"## {env.titles[chapter].astext()}", ""]
        for page in dict.fromkeys([chapter, *below(env, chapter)]):
            source = f"_sources/{page}{Path(env.doc2path(page)).suffix}.txt"
            lines.append(
                f"- [{env.titles[page].astext()}]({source}): {first_sentence(env, page)}".rstrip(
                    ": "
                )
            )
        lines.append("")
    return "\n".join(lines)


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        text = text_of(app.env, app.config.root_doc)
        Path(app.outdir, "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
