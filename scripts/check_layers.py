#!/usr/bin/env python3
"""Checks the direction of dependency: a folder of src may include only itself and folders that come before it in ORDER.

Also keeps getenv out of src, since an option that no command line shows cannot be found or reproduced. Prints each offending line as
FILE:LINE: what is wrong, and exits with 1 if there is any.
"""

import pathlib
import re
import sys

ORDER = ["base", "format", "text", "compute", "memory", "model", "engine", "tools", "serve", "cli"]
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')
GETENV = re.compile(r"\b(secure_)?getenv\s*\(")


def problems(source):
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".cpp", ".h", ".c", ".cu", ".cuh"):
            continue
        folder = path.relative_to(source).parts[0]
        where = path.relative_to(source.parent)
        if folder not in ORDER:
            yield f"{where}:1: the folder {folder} has no place in the order {' '.join(ORDER)}"
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if GETENV.search(line.split("//")[0]):
                yield f"{where}:{number}: getenv in src; make it an option: {line.strip()}"
            included = INCLUDE.match(line)
            if not included:
                continue
            target = included[1]
            if ".." in target.split("/"):
                yield f"{where}:{number}: a path upwards hides its folder; name it from src: {line.strip()}"
            first = target.split("/")[0]
            if "/" in target and first in ORDER and ORDER.index(first) > ORDER.index(folder):
                yield f"{where}:{number}: {folder} may not include {first}: {line.strip()}"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    found = list(problems(root / "src"))
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
