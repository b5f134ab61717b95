#!/usr/bin/env python3
"""A hook for tool_call: no tool may touch the paths that are named in `args`.

    hooks:
      - name: private files
        events: [tool_call]
        command: [python3, /path/to/guard_paths.py]
        args: [.env, 'secrets/**', '*.pem']
        required: true

A pattern with a slash is meant from the session's folder on, one without a slash in any folder. Links
are followed, so that another name for the same file does not help. Of a command every word is looked
at that could be a path; what a command composes while it runs (`cat "$(echo .e)nv"`) nobody can see
beforehand, so keep what matters out of reach as well.

`required: true` makes it a guard: when it fails, the call does not run.
"""

import json
import os
import re
import sys
from fnmatch import fnmatchcase

# Where a word of a command ends; what is quoted or joined is taken apart rather than understood.
SEPARATORS = re.compile(r"[\s'\"`;&|<>(){}$=,:]+")


def resolved(path, cwd):
    """The real place of a path that a tool or a command names."""
    return os.path.realpath(os.path.join(cwd, os.path.expanduser(path.removeprefix("@"))))


def is_covered(path, pattern, cwd):
    """Whether a pattern covers a real path: the path itself, or a folder that it lies in."""
    inside = os.path.relpath(path, os.path.realpath(cwd))
    parts = inside.split(os.sep)
    if "/" not in pattern:
        return any(fnmatchcase(part, pattern) for part in parts)
    pattern = pattern.removesuffix("/**").removeprefix("./")
    beginnings = (os.sep.join(parts[:count]) for count in range(1, len(parts) + 1))
    return any(fnmatchcase(beginning, pattern) for beginning in beginnings)


def paths_of(tool, arguments):
    """The paths that a call names."""
    for name in ("path", "file", "file_path"):
        if isinstance(arguments.get(name), str):
            yield arguments[name]
    if tool == "bash":
        command = arguments.get("command") or arguments.get("cmd") or ""
        yield from (word for word in SEPARATORS.split(command) if word)


def main():
    patterns = sys.argv[1:]
    event = json.load(sys.stdin)
    cwd = event["cwd"]
    for named in paths_of(event["toolName"], event["input"]):
        names = {resolved(named, cwd), os.path.abspath(os.path.join(cwd, named))}
        for pattern in patterns:
            if any(is_covered(path, pattern, cwd) for path in names):
                reason = f"{named} is off limits ({pattern}); do not look for another way to it"
                json.dump({"block": True, "reason": reason}, sys.stdout)
                return


if __name__ == "__main__":
    main()
