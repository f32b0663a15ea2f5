#!/usr/bin/env python3
"""Prints how many words a sentence has on the mean: in README and docs, and in the comments of the code.

Usage: sentence_length.py [--longest N] [FILE...] [--help]

  --longest N   also list the N longest sentences of either, with file and line
  FILE...       these files only (default: the Markdown of the tree, and the code of kernels/, db/, runtime/, tuner/, scripts/, tests/, python/)

Left out are headings, tables, code blocks, pictures, and comments behind code. A link counts as its text, and `code` as one word.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
AIMS = {"README and docs": 16, "comments": 20}
CODE = {".cpp": "//", ".hpp": "//", ".h": "//", ".cu": "//", ".cuh": "//", ".sh": "#", ".py": "#"}
FOLDERS = ("kernels", "db", "runtime", "tuner", "scripts", "tests", "python")
PICTURE = re.compile(r"[─│┌└├▶▲▼◀═]|\S {3,}\S|--+>")
DIRECTIVE = re.compile(r"^(!|shellcheck|clang-|NOLINT|type:|Usage:)")
ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s+")


def markdown_blocks(lines):
    """Paragraphs and list items, as (line number, text)."""
    block, first, fenced = [], 0, False
    for number, line in enumerate(lines + [""], 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        skipped = fence or fenced or not line.strip() or re.match(r"\s*(#|\||!\[|<|: )", line)
        if (skipped or ITEM.match(line)) and block:
            yield first, " ".join(block)
            block = []
        if not skipped:
            first = first if block else number
            block.append(ITEM.sub("", line).strip())


def comment_blocks(lines, mark):
    """Comments that stand on lines of their own, neighbours joined, as (line number, text)."""
    block, first = [], 0
    for number, line in enumerate(lines + [""], 1):
        found = re.match(rf"\s*{mark}+[<!/]?\s?(.*)$", line)
        text = found.group(1) if found else ""
        skipped = not text.strip() or PICTURE.search(text) or DIRECTIVE.match(text)
        if (skipped or ITEM.match(text)) and block:
            yield first, " ".join(block)
            block = []
        if not skipped:
            first = first if block else number
            block.append(ITEM.sub("", text).strip())


def sentences(text):
    """The sentences of a block that have three words or more: less is a label."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text).replace("e.g.", "eg").replace("i.e.", "ie")
    for sentence in re.split(r"(?<=[.?!])[)\"'*]*\s+(?=\S)", text):
        words = [word for word in sentence.split() if re.search(r"\w", word)]
        if len(words) >= 3:
            yield len(words), sentence


def measure(files):
    """(words, file, line, sentence) of each sentence."""
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()
        blocks = markdown_blocks(lines) if path.suffix == ".md" else comment_blocks(lines, CODE[path.suffix])
        for number, text in blocks:
            for words, sentence in sentences(text):
                yield words, path, number, sentence


def tree_files():
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted(ROOT.glob("docs/**/*.md"))
    for folder in FOLDERS:
        yield from sorted(path for path in ROOT.glob(f"{folder}/**/*") if path.suffix in CODE)


def main():
    parser = argparse.ArgumentParser(usage="sentence_length.py [--longest N] [FILE...] [--help]", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--longest", type=int, default=0, metavar="N", help="also list the N longest sentences of either")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE", help="these files only (default: all of the tree)")
    options = parser.parse_args()
    for path in options.files:
        if not path.is_file() or path.suffix not in {".md", *CODE}:
            print(f"sentence_length.py: {path}: expected a file that ends in .md, {', '.join(CODE)}", file=sys.stderr)
            return 2
    files = options.files or list(tree_files())
    for name, aim in AIMS.items():
        chosen = [path for path in files if (path.suffix == ".md") == (name != "comments")]
        found = sorted(measure(chosen), key=lambda each: -each[0])
        if not found:
            continue
        mean = sum(each[0] for each in found) / len(found)
        long = sum(each[0] > 30 for each in found)
        print(f"{name}: {mean:.1f} words a sentence, aim at most {aim}; {len(found)} sentences, {long} of more than 30 words")
        for words, path, number, sentence in found[: options.longest]:
            print(f"  {words} words, {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{number}: {sentence}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
