#!/usr/bin/env python3
"""Lines and branches that ran, of the objects below a folder: coverage.py FOLDER, in the folder of the build.

A line counts once, however many objects or functions it is compiled into (headers, the kernels of vector widths), and has
run if it ran in any. So does a branch: the outcome of a condition, by its place in its line. Left out are branches that
gcov marks as thrown, lines of g_assert and g_return_if_fail, whose other outcome ends the program, and declarations of
g_autoptr and calls of g_new and g_clear_pointer, whose branches are GLib's: of g_new three of four are of constants.
Functions that one file makes several of, one a width of vectors, are one. What stands in a file of the system does not count.
"""
import collections, json, os, re, subprocess, sys

NOT_OURS = re.compile(r"\bg_(assert|return_|abort|error\b|warn_if)|G_DEFINE_AUTO|g_auto(ptr|free)?\b|"
                      r"\bg_(try_)?(re)?new0?\(|\bg_clear_pointer\(")


def records(folder):
    """What gcov says of each file of each object."""
    found = []
    for where, _, names in os.walk(folder):
        found += [os.path.join(where, n) for n in names if n.endswith(".gcno")]
    for k in range(0, len(found), 50):
        said = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities"] + sorted(found)[k:k + 50],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
        for part in said.splitlines():
            if part.startswith("{"):
                yield from json.loads(part)["files"]


def name_of(path):
    """src/ROOM/FILE of a path, or nothing where it is no source of ours."""
    at = os.path.normpath(path).replace("\\", "/")
    found = re.search(r"(?:^|/)(src/[a-z]+/[^/]+|src/[^/]+)$", at)
    return found[1] if found and not at.startswith("/usr/") else None


def ranges(numbers):
    """3, 4, 5, 9 as "3-5,9"."""
    text, first, last = [], None, None
    for n in sorted(numbers) + [None]:
        if last is not None and n == last + 1:
            last = n
            continue
        if first is not None:
            text.append(str(first) if first == last else "%d-%d" % (first, last))
        first = last = n
    return ",".join(text)


def alike(record, number):
    """How many functions of a file have this line: macros make them of one text. What all of them take in has none."""
    spans = collections.Counter((f["start_line"], f["end_line"]) for f in record["functions"])
    return max((n for (first, last), n in spans.items() if first <= number <= last), default=max(spans.values(), default=1))


def share(part, whole):
    return "%6d of %6d %5.1f %%" % (part, whole, 100 * part / whole if whole else 100)


def main():
    lines, branches, text = {}, {}, {}
    for record in records(sys.argv[1]):
        name = name_of(record["file"])
        if not name or name.startswith("src/cuda/"):
            continue
        if name not in text:
            path = os.path.join("../release", name)
            text[name] = open(path, encoding="utf-8").read().split("\n") if os.path.exists(path) else []
        for line in record["lines"]:
            at, number = (name, line["line_number"]), line["line_number"]
            lines[at] = lines.get(at, 0) + line["count"]
            if number <= len(text[name]) and NOT_OURS.search(text[name][number - 1]):
                continue
            own = max(len(line.get("branches", [])) // alike(record, number), 1)
            for k, branch in enumerate(line.get("branches", [])):
                k %= own
                if not branch["throw"]:
                    branches[at + (k,)] = branches.get(at + (k,), 0) + branch["count"]
    rooms = collections.defaultdict(lambda: [0, 0, 0, 0])
    missed, halves = collections.defaultdict(set), collections.defaultdict(set)
    for (name, number), count in lines.items():
        for room in (name.split("/")[1], "total"):
            rooms[room][0] += count > 0
            rooms[room][1] += 1
        if count == 0:
            missed[name].add(number)
    for (name, number, _), count in branches.items():
        for room in (name.split("/")[1], "total"):
            rooms[room][2] += count > 0
            rooms[room][3] += 1
        if count == 0 and lines[name, number]:
            halves[name].add(number)
    for name in sorted(set(missed) | set(halves)):
        if missed[name]:
            print("%s: lines %s" % (name, ranges(missed[name])))
        if halves[name]:
            print("%s: an outcome of %s" % (name, ranges(halves[name])))
    print("\n%-12s %24s %24s" % ("room", "lines", "branches"))
    for room in sorted(rooms, key=lambda r: (r == "total", r)):
        print("%-12s %s %s" % (room, share(*rooms[room][:2]), share(*rooms[room][2:])))


main()
