#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/selection.schema.json describes selection files.

selection_schema.py           run in the root of the sources: it is a schema of JSON Schema 2020-12, names what the
                              headers name, takes the files that are shown, and refuses what the reader refuses
selection_schema.py FILE...   these files are as it says
"""

import copy
import json
import pathlib
import re
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: no Python module jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/selection.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
failures = 0


def fail(what):
    global failures
    failures += 1
    print(f"FAILED: {what}")


def check(name, document):
    for problem in VALIDATOR.iter_errors(document):
        fail(f"{name}: {'.'.join(map(str, problem.absolute_path))}: {problem.message}")


def named_in_headers():
    text = "".join((ROOT / f"include/papcoll/choice/selection/selection_{name}.hpp").read_text(encoding="utf-8")
                   for name in ("contents", "file"))

    def table(name):
        return re.findall(r'"([^"]+)"', re.search(rf"{name}\{{(.*?)\}};", text, re.DOTALL)[1])

    definitions = SCHEMA["$defs"]
    team = SCHEMA["properties"]["learned"]["items"]["properties"]
    thresholds = (ROOT / "include/papcoll/choice/selection/selection_inputs.hpp").read_text(encoding="utf-8")
    collectives = (ROOT / "include/papcoll/base/collective.hpp").read_text(encoding="utf-8")
    listed = {f"{group}.{name}"
              for group, of in SCHEMA["properties"]["thresholds"]["properties"].items()
              for name in of.get("properties", {}) if name != "comment"}
    for what, schema, header in [
            ("algorithms", definitions["algorithm"]["enum"], table("kept_algorithms")),
            ("costs", [c for c in team["costs"]["properties"] if c != "comment"], table("cost_fields")),
            ("traits", team["calls"]["items"]["properties"]["traits"]["items"]["enum"],
             table("kind_traits")),
            ("collectives", definitions["collective"]["enum"],
             re.findall(r'^    T\{"(\w+)"', collectives, re.MULTILINE)),
            ("thresholds", listed,
             [f"network.{n}" for n in re.findall(r"PAPCOLL_THRESHOLD\((\w+)\),", thresholds)])]:
        if not header or set(schema) != set(header):
            fail(f"{what} of the schema and of the headers differ: {set(schema) ^ set(header)}")


def refused(document):
    """What the reader refuses (tests/unit/choice/selection_file_test.cpp), the schema does, too."""
    rule = document["rules"][0]
    for fields in ({"collective": "gaher"}, {"algorithm": "Lienar"}, {"bytes": [1]},
                   {"bytes": [1, 2, 3]}, {"bytes": [-1, 3]}, {"ranks": 2}, {"byte": [1, 2]},
                   {"bytes": [0, 2 ** 40 + 1]}, {"bytes": [0, 1.5]}, {"comment": 3}):
        wrong = copy.deepcopy(document)
        wrong["rules"] = [{**rule, **fields}]
        if VALIDATOR.is_valid(wrong):
            fail(f"a rule with {fields} is taken")
    for name in ("collective", "algorithm"):
        wrong = copy.deepcopy(document)
        del wrong["rules"][0][name]
        if VALIDATOR.is_valid(wrong):
            fail(f"a rule without {name} is taken")
    for fields in ({"papcoll_selection": 2}, {"papcoll_tuning": 1}, {"rules": {}},
                   {"thresholds": {"netwrk": {}}},
                   {"thresholds": {"network": {"gap_ns": {"value": 1}}}}):
        if VALIDATOR.is_valid({**document, **fields}):
            fail(f"a file with {fields} is taken")


def main():
    if len(sys.argv) > 1:
        for file in sys.argv[1:]:
            check(file, json.loads(pathlib.Path(file).read_text(encoding="utf-8")))
    else:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        named_in_headers()
        page = (ROOT / "docs/tuning.md").read_text(encoding="utf-8")
        shown = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page,
                                                           re.DOTALL | re.MULTILINE)]
        good = json.loads((ROOT / "tests/fuzz/corpus/tuning/good").read_text(encoding="utf-8"))
        if not shown:
            fail("docs/tuning.md shows no selection file")
        for document in [*shown, good]:
            check("a file that is shown", document)
        refused(good)
    sys.exit(1 if failures else 0)


main()
