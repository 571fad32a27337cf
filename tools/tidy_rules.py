"""The rules of tools/tidy. Each yields a Violation for every place that breaks it."""

import json
import pathlib
import re

import tidy_rooms
from tidy_sources import Violation, includes

MAX_FILE_LINES = 400
USUAL_FILE_LINES = 300
MAX_FUNCTION_LINES = 70
MAX_CLASS_METHODS = 30
MAX_CLASS_MEMBERS = 20
LARGE_CLASSES = {
    "gang/gang.h:Gang": "its surface is the vocabulary: a method for each operation",
    "sim/options/simulation_options.h:SimulationOptions": "a field for each option",
}
MAX_README_LINES = 40
MAX_COLUMNS = 100

PUBLIC_HEADERS = "tools/cmake/PublicHeaders.cmake"
# The installed headers of gang/ and sim/ that show a library to those who include them.
SHOWS_LIBRARY = {
    "gang/half.h": "Eigen",
    "gang/object.h": "nlohmann",
    "sim/faults/fault_plan_json.h": "nlohmann",
    "sim/report/call_json.h": "nlohmann",
    "sim/report/report_json.h": "nlohmann",
}

FOLDERS = ("gang", "sim", "harness", "properties", "tools", "tests")
MAY_INCLUDE = {
    "gang": {"gang"},
    "sim": {"gang", "sim"},
    "harness": {"gang", "sim", "harness"},
    "properties": {"gang", "sim", "harness", "properties"},
    "tools": {"gang", "sim", "harness", "properties", "tools"},
    "tests": set(FOLDERS),
}
LIBRARIES = ("gang", "sim", "harness", "properties")
TOP_LEVEL = set(FOLDERS) | {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md"}
BANNED_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}

# What sim/ may not use, because a run must depend only on its options and its seed; the files that
# may all the same, because they implement the replacement; and that replacement.
REAL_TIME = r"(?:^|/)(?:real_\w+|wall_\w+|parallel_\w+)\.(?:cc|h)$"
THREADS = r"(?:^|/)(?:real_\w+|parallel_\w+|thread_\w+|\w+_context|\w+_pool)\.(?:cc|h)$"
BANNED_IN_SIM = (
    (r"\b(?:std::)?s?rand\s*\(|\bstd::random_device\b", None, "draw from a RandomStream"),
    (r"\b(?:steady|system|high_resolution)_clock\b|\bgettimeofday\b|\bclock_gettime\b", REAL_TIME,
     "ask the Runtime for the time; only wall_*, real_* and parallel_* know the real one"),
    (r"\bthis_thread::sleep_\w+|\b(?:u|nano)sleep\b", REAL_TIME,
     "sleep through the Runtime"),
    (r"\bstd::(?:jthread|thread|async)\b", THREADS,
     "start a context through the Runtime; only thread_* and parallel_* have real ones"),
    (r"\b(?:std::|secure_)?getenv\b", None, "take it from the options"),
)


def check(tree):
    for rule in RULES:
        yield from rule(tree)


def summary(tree, violations):
    code = tree.code()
    longer = sum(len(source.lines) > USUAL_FILE_LINES for source in code)
    functions = [(function.line_count, source.path, function.name)
                 for source in code for function in source.functions]
    lines, path, name = max(functions, default=(0, "-", "-"))
    return (f"tidy: {violations} violations in {len(code)} "
            f"files ({longer} over {USUAL_FILE_LINES} lines) and {len(functions)} functions "
            f"(longest: {lines} lines, {name} in {path})")


def file_size(tree):
    """No file has more than 400 lines."""
    for source in tree.code():
        if len(source.lines) > MAX_FILE_LINES:
            yield Violation(source.path, len(source.lines), f"{len(source.lines)} lines",
                            f"find the missing concept; {MAX_FILE_LINES} is the limit")


def function_size(tree):
    """No function has more than 70 lines."""
    for source in tree.code():
        for function in source.functions:
            if function.line_count > MAX_FUNCTION_LINES:
                yield Violation(
                    source.path, function.first_line,
                    f"{function.name} has {function.line_count} lines",
                    f"name its steps; {MAX_FUNCTION_LINES} is the limit")


def class_size(tree):
    """No class has more than 30 methods or 20 members."""
    for source in tree.cpp(*LIBRARIES, "tools"):
        for found in source.classes:
            key = f"{source.path}:{found.name}"
            is_large = found.methods > MAX_CLASS_METHODS or found.members > MAX_CLASS_MEMBERS
            if is_large and key not in LARGE_CLASSES:
                yield Violation(
                    source.path, found.first_line,
                    f"{found.name} has {found.methods} methods and {found.members} members",
                    "find the second concept in it; "
                    f"{MAX_CLASS_METHODS} and {MAX_CLASS_MEMBERS} are the limits")
            if not is_large and key in LARGE_CLASSES:
                yield Violation(source.path, found.first_line, f"{found.name} is no longer large",
                                "delete it from LARGE_CLASSES of tools/tidy_rules.py")


def include_rule(tree):
    """gang <- sim <- harness <- properties <- tools; tests include everything."""
    for source in tree.cpp(*FOLDERS):
        if source.path.startswith("tests/consumer/"):
            continue
        for line, included in includes(source):
            yield from _check_include(source, line, included)


def _check_include(source, line, included):
    if included.startswith("<gangsim/"):
        yield Violation(source.path, line, f"includes {included}",
                        'that path is for other projects; include "folder/file.h"')
    if not included.startswith('"'):
        return
    folder = included[1:].split("/")[0]
    if folder not in FOLDERS or "/" not in included:
        yield Violation(source.path, line, f"includes {included}",
                        "write the path from the root of the repository")
    elif folder not in MAY_INCLUDE[source.folder]:
        yield Violation(source.path, line, f"{source.folder}/ includes {included}",
                        f"it may include only {', '.join(sorted(MAY_INCLUDE[source.folder]))}")


def public_headers(tree):
    """No Gloo, NCCL, CUDA or Asio header is included by a public header."""
    for source in tree.cpp(*LIBRARIES):
        if source.suffix != ".h" or {"gloo", "nccl"} & set(source.path.split("/")[1:-1]):
            continue
        for line, included in includes(source):
            if re.match(r"<(?:gloo/|nccl|cuda|boost/asio)", included):
                yield Violation(source.path, line, f"a public header includes {included}",
                                "hide the type behind an interface; include it in the .cc")


def installed_headers(tree):
    """Installed headers include installed ones only, and show no library unless that is listed."""
    if PUBLIC_HEADERS not in tree.sources:
        return
    listed = set(re.findall(r"\b(?:gang|sim)/[\w/]+\.h\b", tree.sources[PUBLIC_HEADERS].text))
    for path in sorted(listed - set(tree.sources)):
        yield Violation(PUBLIC_HEADERS, 1, f"lists {path}, which is not there", "delete it")
    for source in tree.cpp("gang", "sim"):
        if source.path not in listed:
            continue
        for line, included in includes(source):
            yield from _check_installed(source, line, included, listed)


def _check_installed(source, line, included, listed):
    shown = SHOWS_LIBRARY.get(source.path)
    library = re.match(r"<(nlohmann|fmt|Eigen|CLI|toml\+\+)/", included)
    header = included.strip('"')
    if library and library.group(1) != shown:
        yield Violation(source.path, line, f"an installed header includes {included}",
                        "declare that in a header of its own, listed in SHOWS_LIBRARY")
    elif SHOWS_LIBRARY.get(header, shown) != shown:
        yield Violation(source.path, line,
                        f"includes {included}, which shows {SHOWS_LIBRARY[header]}",
                        "forward-declare what it needs of it")
    elif header.startswith(("gang/", "sim/")) and header not in listed:
        yield Violation(source.path, line, f"an installed header includes {included}",
                        f"list that in {PUBLIC_HEADERS}, too")


def mirror_tests(tree):
    """Every source has a test of the same name at the same place in tests/."""
    for source in tree.cpp(*LIBRARIES, "tools"):
        path = source.path
        # Benchmarks measure, and fuzz targets test; their corpus is in tests/fuzz.
        if source.suffix != ".cc" or path.startswith(
                ("tools/main", "tools/benchmarks/", "tools/fuzz/")):
            continue
        test = "tests/" + path.replace("_unavailable.cc", ".cc")[: -len(".cc")] + "_test.cc"
        if test not in tree.sources:
            yield Violation(path, 1, "has no test", f"write {test}")


def compiled(tree):
    """The build compiles every source; benchmarks and fuzz targets only if it has any."""
    if tree.build is None:
        return
    built = set(compiled_files(tree.build))
    has_any_of = lambda folder: any(path.startswith(str(tree.root / folder)) for path in built)
    elsewhere = ["tests/consumer/", "tools/benchmarks/openmpi_"]
    elsewhere += [folder for folder in ("tools/benchmarks/", "tools/fuzz/")
                  if not has_any_of(folder)]
    for source in tree.cpp():
        path = source.path
        if source.suffix != ".cc" or path.startswith(tuple(elsewhere)):
            continue
        twin = (path.replace("_unavailable.cc", ".cc") if path.endswith("_unavailable.cc")
                else path[: -len(".cc")] + "_unavailable.cc")
        if not {str(tree.root / path), str(tree.root / twin)} & built:
            yield Violation(path, 1, "no target compiles it",
                            "put it where a CMakeLists.txt looks, or delete it")


def compiled_files(build):
    """The paths of all sources that a build tree compiles, alone or in a batch with others."""
    for command in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(command["directory"], command["file"])
        yield str(path)
        if path.parent.name == "Unity" and path.is_file():
            yield from re.findall(r'^#include "(.+)"$', path.read_text(), re.MULTILINE)


def names(tree):
    """A file is named after its concept, not utils, helpers, common, misc or manager."""
    for path in tree.sources:
        words = set(re.split(r"[/_.\-]", path))
        for word in sorted(words & BANNED_NAMES):
            yield Violation(path, 1, f"is named '{word}'", "name it after its concept")


def determinism(tree):
    """sim/ uses no wall clock, thread, environment or randomness but what is injected."""
    for source in tree.cpp("sim"):
        for pattern, allowed_files, instead in BANNED_IN_SIM:
            if allowed_files and re.search(allowed_files, source.path):
                continue
            for match in re.finditer(pattern, source.code):
                yield Violation(source.path, source.line_of(match.start()),
                                f"sim/ uses {match.group().rstrip('( ')}", instead)


def hash_order(tree):
    """sim/ does not iterate over an unordered container."""
    declaration = re.compile(r"\bunordered_(?:multi)?(?:map|set)<[^;{}()]*>\s+(\w+)\s*[;={(]")
    for source in tree.cpp("sim"):
        header = tree.sources.get(source.path.replace(".cc", ".h"))
        variables = set(declaration.findall(source.code))
        if header:
            variables |= set(declaration.findall(header.code))
        for variable in sorted(variables):
            loop = (rf"for\s*\([^;()]*:\s*(?:\w+(?:\.|->))*{variable}\s*\)"
                    rf"|\b{variable}\.c?begin\s*\(")
            for match in re.finditer(loop, source.code):
                yield Violation(source.path, source.line_of(match.start()),
                                f"iterates over the unordered container {variable}",
                                "the order differs between machines; use std::map or sort first")


def flushing(tree):
    """No std::endl."""
    for source in tree.cpp():
        for match in re.finditer(r"\bstd::endl\b", source.code):
            yield Violation(source.path, source.line_of(match.start()), "std::endl flushes",
                            r"write '\n'")


def readmes(tree):
    """Every folder has a README.md of under 40 lines."""
    for folder in sorted({source.folder for source in tree.sources.values()} & set(FOLDERS)):
        if f"{folder}/README.md" not in tree.sources:
            yield Violation(f"{folder}/README.md", 1, "is missing", "say what the folder is")
    for path, source in tree.sources.items():
        if path.endswith("/README.md") and len(source.lines) >= MAX_README_LINES:
            yield Violation(path, len(source.lines), f"{len(source.lines)} lines",
                            f"keep it under {MAX_README_LINES}; details belong in headers")


def columns(tree):
    """No line of code is longer than 100 columns."""
    for source in tree.code():
        for number, line in enumerate(source.lines, 1):
            if len(line) > MAX_COLUMNS and "://" not in line:
                yield Violation(source.path, number, f"{len(line)} columns",
                                f"break the line at {MAX_COLUMNS}")


def top_level(tree):
    """The top level holds only the agreed names and dot files."""
    for path in tree.sources:
        name = path.split("/")[0]
        if name not in TOP_LEVEL and not name.startswith("."):
            yield Violation(path, 1, f"'{name}' does not belong at the top level",
                            "move it into one of the folders")


def postponed(tree):
    """No comment postpones work."""
    for source in tree.sources.values():
        if source.path == "LICENSE":
            continue
        for number, line in enumerate(source.lines, 1):
            if re.search(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b", line):
                yield Violation(source.path, number, "postponed work", "do it, or open an issue")


def section_rules(tree):
    """A section rule in a comment is one line."""
    for source in tree.cpp():
        for number, line in enumerate(source.lines, 1):
            if re.fullmatch(r"\s*//[\s-]*-{4}\s*", line):
                yield Violation(source.path, number, "half a section rule",
                                "write '// -- Title --' on one line")


RULES = (file_size, function_size, class_size, include_rule, public_headers, installed_headers,
         mirror_tests, compiled, names, determinism, hash_order, flushing, readmes, columns,
         top_level, postponed, section_rules, *tidy_rooms.RULES)
