#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that other programs read are well-formed and agree with the sources.

packaging.py citation|recipe|workflow|changelog     run in the root of the sources
"""

import json
import pathlib
import re
import sys


def text_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def version():
    text = text_of("include/papcoll/base/version.hpp")
    return ".".join(re.search(rf"#define PAPCOLL_VERSION_{part} (\d+)", text).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


def yaml_of(path):
    try:
        import yaml
    except ImportError:
        print("SKIPPED: no module yaml (Debian's package python3-yaml)")
        sys.exit(77)
    return yaml.safe_load(text_of(path))


def citation():
    """What the Citation File Format 1.2 requires, and our version."""
    cff = yaml_of("CITATION.cff")
    for key in ("cff-version", "message", "title", "authors"):
        if not cff.get(key):
            yield f"has no {key}"
    if cff.get("type") not in ("software", "dataset"):
        yield "type is neither software nor dataset"
    if str(cff.get("version")) != version():
        yield f"says version {cff.get('version')}, version.hpp {version()}"
    for author in cff.get("authors", []):
        if "name" not in author and "family-names" not in author:
            yield f"has an author without a name: {author}"
    meta = json.loads(text_of("codemeta.json"))
    for key, value in (("name", cff["title"]), ("version", version()), ("keywords", cff["keywords"])):
        if meta.get(key) != value:
            yield f"and codemeta.json differ: {key} is {meta.get(key)} there, not {value}"


def recipe():
    """Spack's recipe is Python, has our version, and sets options that there are."""
    text = text_of("packaging/spack/package.py")
    compile(text, "packaging/spack/package.py", "exec")
    if f'version("{version()}"' not in text:
        yield f"does not have version {version()}"
    options = set(re.findall(r"^(?:option|set)\((PAPCOLL_\w+)", text_of("CMakeLists.txt"), re.MULTILINE))
    for name in sorted(set(re.findall(r'"(PAPCOLL_\w+)"', text)) - options):
        yield f"sets {name}, which CMakeLists.txt does not have"
    variants = set(re.findall(r'\bvariant\("(\w+)"', text))
    asked = re.findall(r'"[+~](\w+)"', text) + re.findall(r'_variant\("\w+", "(\w+)"', text)
    for name in sorted(set(asked) ^ variants):
        yield f"has or asks for a variant {name}, and not both"


def workflow():
    """The workflow is YAML whose steps use presets, configurations and scripts that there are."""
    jobs = yaml_of(".github/workflows/ci.yml")["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    commands = "\n".join(step.get("run", "") for step in steps)
    if not all("run" in step or "uses" in step for step in steps):
        yield "has a step that neither runs nor uses anything"
    for script in re.findall(r"\bscripts/\S+", commands):
        if not pathlib.Path(script).exists():
            yield f"runs {script}, which does not exist"
    presets = set(re.findall(r'"name": "(.*?)"', text_of("CMakePresets.json")))
    named = re.findall(r"--preset (\S+)", commands)
    named += jobs["test"]["strategy"]["matrix"]["configuration"]
    for preset in sorted(set(named) - presets):
        yield f"names the preset {preset}, which does not exist"


def changelog():
    """There is a section for this version and one for what comes next, the newest first."""
    sections = re.findall(r"^## (\S+)", text_of("CHANGELOG.md"), re.MULTILINE)
    if sections[:2] != ["Unreleased", version()]:
        yield f"begins with {sections[:2]} instead of Unreleased and {version()}"


CHECKS = {check.__name__: (check, path) for check, path in [
    (citation, "CITATION.cff"), (recipe, "packaging/spack/package.py"),
    (workflow, ".github/workflows/ci.yml"), (changelog, "CHANGELOG.md")]}


def main(arguments):
    if len(arguments) != 1 or arguments[0] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 2
    check, path = CHECKS[arguments[0]]
    complaints = [f"{path}: {complaint}" for complaint in check()]
    print("\n".join(complaints) or f"{path}: well-formed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
