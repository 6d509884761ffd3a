#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What documents and comments name exists. Run in the root of the sources.

docs.py            links between documents, paths in backticks, members of structs, tests that
                   contracts.md names, that docs/README.md leads to every page, and files that
                   comments of sources name

A table whose first heading is a type in backticks, such as `papcoll::Options`, lists members of that
struct. Elsewhere the members in `Options::member` and `CallTraits::member` are read.

docs.py selftest   each kind of fault is found in a text that has it
"""

import pathlib
import re
import subprocess
import sys

# Where a path in backticks may begin.
ROOTS = ["", "include/papcoll", "gpu/include/papcoll", "analysis/include/papcoll", "include", "gpu/include",
         "analysis/include", "tools"]
ENDINGS = "hpp|ipp|cpp|py|sh|md|cmake|txt|json|gz"
PATH = re.compile(rf"[\w.*…-]+(?:/[\w.*…-]+)*/|[\w./*…-]+\.(?:{ENDINGS})")
# Files that a reader makes.
MADE = {"first.cpp", "threads.cpp", "a.json", "b.json"}

# Comments of these sources are read, by the end of a file's name.
COMMENTS = dict.fromkeys((".hpp", ".ipp", ".cpp", ".cu", ".cuh", ".c"), re.compile("//.*")) | dict.fromkeys(
    (".py", ".sh", ".cmake", ".txt"), re.compile(r"(?:^|\s)#\s.*"))
COMMENTED = ("include", "gpu", "analysis", "tools", "benchmarks", "tests")
NAMED = re.compile(r"(?<![\w<>./*…=;-])(?:[\w.-]+/)*\w[\w.-]*\.(?:hpp|ipp|cpp|cuh?|py|sh|cmake|md)\b(?![/*…])")


def sources():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    paths = listed.stdout.split("\n") if listed.returncode == 0 else []
    if not paths:
        paths = [str(p) for p in pathlib.Path(".").rglob("*") if p.parts[0] not in ("build", ".git")]
    return [pathlib.Path(p) for p in paths if p and pathlib.Path(p).is_file()]


def documents(files):
    return [p for p in files if p.suffix == ".md"]


def without_code(text):
    """The text with blocks of code blanked, line numbers kept."""
    blank = lambda match: "\n" * match.group().count("\n")
    text = re.sub(r"^```.*?^```$", blank, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^    .*$", "", text, flags=re.MULTILINE)


def anchors(text):
    """The anchors of a document's headings, as web views of repositories make them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", without_code(text), re.MULTILINE):
        plain = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-"))
    return found


def links(page, text):
    plain = re.sub(r"`[^`\n]*`", "", without_code(text))
    for number, line in enumerate(plain.split("\n"), 1):
        yield from ((number, target) for target in re.findall(r"\]\(([^)\s]+)\)", line))
    # A link whose text is broken over two lines is found above, since its target is not.


def wrong_links(page, text):
    for number, target in links(page, text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        aim = page if not path else page.parent / path
        if path and not aim.exists():
            yield f"{page}:{number}: links to {target}, which does not exist"
        elif anchor and anchor not in anchors(text if not path
                                              else aim.read_text(encoding="utf-8")):
            yield f"{page}:{number}: links to {target}, and there is no such heading"


def with_wildcards(name):
    """Capitals stand for a name of the reader's, an ellipsis for anything."""
    return re.sub(r"(?<![A-Za-z])[A-Z_]{3,}(?![A-Z]*\.md)", "*", name).replace("…", "*")


def exists(page, name, files):
    if name in MADE:
        return True
    pattern = with_wildcards(name)
    if re.match(r"\*?/|build/|/", pattern) or pattern.startswith("build"):
        return True
    for root in [*ROOTS, str(page.parent)]:
        base = pathlib.Path(root)
        if "*" in pattern:
            if any(base.glob(pattern)):
                return True
        elif (base / pattern).exists():
            return True
    # A file's name alone, where a directory is the subject.
    return "/" not in name and any(p.name == name for p in files)


def wrong_paths(page, text, files):
    for number, line in enumerate(without_code(text).split("\n"), 1):
        for quoted in re.findall(r"`([^`]+)`", line):
            for word in quoted.split():
                if PATH.fullmatch(word) and not exists(page, word, files):
                    yield f"{page}:{number}: names {word}, which does not exist"


def members_of(struct, texts):
    """The words in the code of a struct; empty if there is none of that name."""
    found = set()
    for text in texts:
        for body in re.findall(rf"^struct {struct}\b[^;{{]*{{(.*?)^}};", text, re.MULTILINE | re.DOTALL):
            found |= set(re.findall(r"\w+", re.sub("//.*", "", body)))
    return found


def wrong_members(page, text, headers):
    """`headers` are the texts in which structs are looked up."""
    named, struct = [], None
    lines = without_code(text).split("\n")
    for number, (line, next_line) in enumerate(zip(lines, [*lines[1:], ""]), 1):
        named += [(number, *each) for each in re.findall(r"\b(Options|CallTraits)::(\w+)", line)]
        if re.match(r"\|[ |:-]+$", next_line):
            head = re.match(r"\| `(?:papcoll::)?([A-Z]\w*)` \|", line)
            struct = head[1] if head else None
        elif not line.startswith("|"):
            struct = None
        elif struct and (cell := re.match(r"\| `(\w+)` \|", line)):
            named.append((number, struct, cell[1]))
    for number, struct, member in named:
        if member not in members_of(struct, headers):
            yield f"{page}:{number}: names {member}, which {struct} does not have"


def wrong_tests(page, text):
    for item in re.finditer(r"^- `(\S+)`:\s+(\".*(?:\n  .*)*)", text, re.MULTILINE):
        path = pathlib.Path(item[1])
        if not path.exists():
            continue
        # Names may be broken over lines, here and there.
        code = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
        for name in re.findall(r'"([^"]*)"', re.sub(r"\s+", " ", item[2])):
            if not re.search(r'TEST_CASE\(\s*"' + re.escape(name) + '"', code):
                yield f'{page}:{text.count(chr(10), 0, item.start()) + 1}: {path} has no test "{name}"'


def wrong_comments(source, text, files):
    """Names of files in comments that are neither files nor ends of their paths."""
    for number, line in enumerate(text.split("\n"), 1):
        for comment in COMMENTS[source.suffix].findall(line):
            for name in NAMED.findall(comment):
                pattern = with_wildcards(name)
                if not (name in MADE or pattern.startswith("*/") or (source.parent / name).exists() or
                        any(p.match(pattern) for p in files)):
                    yield f"{source}:{number}: a comment names {name}, which does not exist"


def pages_not_reached(index, text):
    linked = {(index.parent / target.partition("#")[0]).resolve() for _, target in links(index, text)}
    for page in sorted(index.parent.rglob("*.md")):
        if page.resolve() not in linked and page != index:
            yield f"{index}: does not link to {page.name}"


def check():
    files = sources()
    complaints = []
    headers = [p.read_text(encoding="utf-8") for p in files if p.suffix == ".hpp" and "include" in p.parts]
    for page in documents(files):
        text = page.read_text(encoding="utf-8")
        complaints += wrong_links(page, text)
        if "results" not in page.parts and page.name != "CHANGELOG.md":
            complaints += wrong_paths(page, text, files)
            complaints += wrong_members(page, text, headers)
        complaints += wrong_tests(page, text)
    index = pathlib.Path("docs/README.md")
    complaints += pages_not_reached(index, index.read_text(encoding="utf-8"))
    sources_read = [p for p in files if p.parts[0] in COMMENTED and p.suffix in COMMENTS]
    for source in sources_read:
        complaints += wrong_comments(source, source.read_text(encoding="utf-8"), files)
    print("\n".join(complaints) or f"{len(documents(files))} documents and the comments of "
          f"{len(sources_read)} sources, all that they name exists")
    return 1 if complaints else 0


def selftest():
    page, files = pathlib.Path("docs/x.md"), sources()
    header = ["struct Options {\n  /// none of it\n  int chunk_bytes = 1;\n  bool learn{};\n};\n"]
    table = "| `papcoll::Options` | |\n| --- | --- |\n| `{}` | |\n\n| part |\n| --- |\n| `any` |"
    cases = [
        (wrong_links(page, "[a](nowhere.md)"), 1),
        (wrong_links(page, "[a](tutorial.md#no-such-heading)"), 1),
        (wrong_links(page, "# Some `code` here\n[a](#some-code-here) [b](../README.md#five-lines)"), 0),
        (wrong_paths(page, "`base/nothing.hpp` and `nothing.py`", files), 2),
        (wrong_paths(page, "`nothing/at/all/`", files), 1),
        (wrong_paths(page, "`base/call.hpp`, `call.hpp`, `tests/unit/`, `base/NAME.hpp`", files), 0),
        (wrong_members(page, table.format("chunk_bytes"), header), 0),
        (wrong_members(page, table.format("none"), header), 1),
        (wrong_members(page, "`Options::learn`, `Options::window`", header), 1),
        (wrong_tests(page, '- `tests/unit/base/op_test.cpp`: "no such test"'), 1),
        (wrong_tests(page, '- `tests/unit/base/op_test.cpp`: "every combination\n  is op(low, high)"'), 0),
        (wrong_tests(page, '- `tests/unit/base/op_test.cpp`: "every combination is op(low, high)",\n  "no such"'), 1),
        (wrong_comments(pathlib.Path("tests/x.hpp"), "// see base/nothing.hpp\nint x;  // and nothing.py", files), 2),
        (wrong_comments(pathlib.Path("tests/x.sh"), "# nothing.sh\necho ${x#nothing.py}", files), 1),
        (wrong_comments(pathlib.Path("tests/x.hpp"),
                        "// base/call.hpp, call.hpp, unit/base/op_test.cpp, NAME_test.cpp", files), 0),
        (pages_not_reached(pathlib.Path("docs/README.md"), "[a](tutorial.md)"),
         len(list(pathlib.Path("docs").rglob("*.md"))) - 2),
    ]
    wrong = [(number, found, wanted) for number, (faults, wanted) in enumerate(cases)
             if len(found := list(faults)) != wanted]
    for number, found, wanted in wrong:
        print(f"case {number}: {wanted} faults wanted, found {found}")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["selftest"]):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(selftest() if sys.argv[1:] else check())
