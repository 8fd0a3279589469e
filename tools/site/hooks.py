"""Adds pages to the site: README.md as the first page, other pages from outside docs/, the reference for the headers
and the Python package, and every file that a page links to. MkDocs calls the functions `on_…`."""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from html import escape
from pathlib import Path

import pathspec
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import headers

ROOT = Path(__file__).resolve().parents[2]
LOG = logging.getLogger("mkdocs.hooks.warpaes")
#: Pages outside docs/ and their locations in the site.
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples/README.md",
}
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".cu": "cuda", ".cuh": "cuda", ".py": "python"}
INCLUDE = "include/warpaes/"
#: Pages of the Python package, one per module, with a title and the names to show. Without names, all names that the
#: module defines are shown.
PYTHON = {
    "warpaes": (
        "The package",
        "configure backends open Keyset SealedReader SealedWriter Reader Writer inspect Generator Memory copy "
        "get_include get_library",
    ),
    "warpaes.aead": ("Authenticated encryption", "AESGCM AESCCM AESGCMSIV AESSIV Batch"),
    "warpaes.ciphers": (
        "Ciphers",
        "Cipher CipherContext AEADCipherContext AEADEncryptionContext AEADDecryptionContext",
    ),
    "warpaes.ciphers.algorithms": ("Algorithms", ""),
    "warpaes.ciphers.modes": ("Modes", ""),
    "warpaes.cmac": ("CMAC", ""),
    "warpaes.keywrap": (
        "Key wrapping",
        "aes_key_wrap aes_key_unwrap aes_key_wrap_with_padding aes_key_unwrap_with_padding",
    ),
    "warpaes.fs": ("File systems", "WarpaesFileSystem"),
    "warpaes.safetensors": ("Model weights", ""),
    "warpaes.torch": ("PyTorch", "Generator gcm_encrypt gcm_decrypt ctr ctr_ random_ uniform_ normal_"),
    "warpaes.keysources": ("Sources of keys", ""),
    "warpaes.qkd": ("Quantum key distribution", ""),
    "warpaes.exceptions": ("Exceptions", ""),
}
#: Front matter of pages that the search excludes, and of the first page, which shows no table of contents.
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
FIRST_PAGE = "---\nhide: [navigation, toc]\n---\n\n"
VERSION = re.search(r"project\(warpaes VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")

_made: dict[str, str] = {}


def _reference() -> dict[str, str]:
    out = {f"reference/{name}.md": text for name, text in headers.pages(ROOT / INCLUDE).items()}
    for module, (title, shown) in PYTHON.items():
        options = "      show_root_heading: false\n" + (
            f"      members: [{', '.join(shown.split())}]\n" if shown else ""
        )
        out[f"reference/python/{module}.md"] = f"# {title}\n\n::: {module}\n    options:\n{options}"
    return out


def _nav() -> list:
    def of(*suffixes: str) -> list:
        names = [name for name in _made if name.startswith("reference/") and "/python/" not in name]
        return [{name[10:-3]: name} for name in names if name[:-3].endswith(suffixes)]

    python = [{title: f"reference/python/{module}.md"} for module, (title, _) in PYTHON.items()]
    return [{"C": of(".h")}, {"C++": of(".hpp")}, {"CUDA": of(".cuh")}, {"Python": python}]


def notebook(text: str) -> str:
    """Convert a program with cells to a page. Text cells become text, and code cells become blocks of code."""
    head, *cells = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)
    out = [re.sub(r'\A"""|"""\s*\Z', "", head).strip()]
    for kind, cell in zip(cells[::2], cells[1::2]):
        if "markdown" in kind:
            out.append(re.sub(r"^# ?", "", cell, flags=re.MULTILINE).strip())
        else:
            out.append(f"```python\n{cell.strip()}\n```")
    first = next(i for i, part in enumerate(out) if part.startswith("# "))
    title, _, rest = out.pop(first).partition("\n")
    return "\n\n".join([title, *out[:first], rest, *out[first:]]) + "\n"


def _source_page(path: str) -> str:
    """Add a file from the repository as a page and return its path."""
    page = f"source/{path}.md"
    if page not in _made:
        text, language = (ROOT / path).read_text(), LANGUAGES.get(Path(path).suffix, "text")
        if "\n# %% [markdown]\n" in text:
            _made[page] = notebook(text)
        else:
            head = "" if path.startswith("examples/") else NOT_SEARCHED
            _made[page] = f"{head}# {path}\n\n~~~~~~{language}\n{text}\n~~~~~~\n"
    return page


def _target(path: str) -> str | None:
    """Return the path in the site of a file of the repository, or None if the file does not exist."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith(INCLUDE):
        return f"reference/{path.removeprefix(INCLUDE)}.md"
    return _source_page(path) if (ROOT / path).is_file() else None


def _origin(page: str) -> str:
    """Return the repository's file that contains the text of a page."""
    return next((path for path, where in OUTSIDE.items() if where == page), f"docs/{page}")


def relinked(text: str, page: str) -> str:
    """Return the page's text with links that work in the site. Code blocks are not changed."""

    def one(found: re.Match) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(_origin(page)), found[2]))
        where = _target(path)
        if where is None:
            LOG.warning("%s: links to %s, which does not exist", _origin(page), path)
            return found[0]
        there = posixpath.relpath(where, posixpath.dirname(page) or ".")
        return f"{found[1]}{there}{found[3] or ''}{found[4]}"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if i % 2 else LINK.sub(one, part) for i, part in enumerate(parts))


def on_config(config):
    _made.clear()
    _made.update(_reference())
    for path, page in OUTSIDE.items():
        if page not in _made and (ROOT / path).exists():
            head = FIRST_PAGE if page == "index.md" else ""
            _made[page] = head + relinked((ROOT / path).read_text(), page)
    for path in sorted((ROOT / "docs").glob("*.md")):
        relinked(path.read_text(), path.name)  # creates the source pages that this page links to
    for entry in config.nav:
        if "Reference" in entry:
            entry["Reference"] = _nav()
    config.copyright = f"warpaes {VERSION}, Apache-2.0"
    config.not_in_nav = pathspec.gitignore.GitIgnoreSpec.from_lines(["/source/**"])
    return config


def on_files(files: Files, config) -> Files:
    for page, text in _made.items():
        files.append(File.generated(config, page, content=text))
    for name in ("site.css", "site.js"):
        files.append(File.generated(config, name, content=(Path(__file__).parent / name).read_text()))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    if page.file.src_uri in _made:
        return markdown
    return relinked(markdown, page.file.src_uri)


def on_page_content(html: str, page, config, files) -> str:
    """Warn of lists and tables without a blank line before them. GitHub renders such lists and tables, but MkDocs shows
    them as text without a warning. Also replace empty header cells by data cells."""
    for broken in re.findall(r"<p>(?:(?!</p>).)*?\n((?:[-*] |\d+\. |\|).*)", html):
        LOG.warning("%s: a list or table needs a blank line before it: %s", page.file.src_uri, broken[:80])
    # An empty header cell is an accessibility fault.
    return re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", html)


def on_post_page(html: str, page, config) -> str:
    """Label the search dialog, and set the title, description and image that a link to the page shows. The image is
    docs/social-card.png, which is drawn from social-card.svg."""
    dialog = 'data-md-component="search" role="dialog"'
    html = html.replace(dialog, f'{dialog} aria-label="Search"')
    card = f"{config.site_url.rstrip('/')}/social-card.png"
    properties = {"og:title": page.title, "og:type": "website", "og:url": page.canonical_url, "og:image": card}
    properties |= {"og:description": config.site_description}
    tags = "".join(f'<meta property="{name}" content="{escape(value or "")}">' for name, value in properties.items())
    return html.replace("</head>", f'{tags}<meta name="twitter:card" content="summary_large_image"></head>', 1)
