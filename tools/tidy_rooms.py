"""The rooms of sim/ and harness/: their order, and what is asked of each."""

import re

from tidy_sources import Violation, includes

# Lowest first. A room includes itself and the rooms below it. "" stands for the files directly in
# the folder: its face. Further runs are made through the face, as any caller makes them.
ROOMS = {
    "sim": ("text", "schedule", "faults", "options", "report", "state", "contexts", "recording",
            "engine", "matching", "verdict", "injection", "backends", "", "further_runs"),
    "harness": ("text", "program", "backends", "run", "recording", "conductor",
                "program_file", "comparison", "cost", "explanation", "training",
                "pipeline", "programs", "commands", ""),
}
MAX_ROOM_README_LINES = 30

# Text that people write, and texts of other programs. Everything else is ours: a value before it
# became text.
READS_FOREIGN_TEXT = {
    "harness/commands/": "command lines",
    "harness/program_file/": "programs in TOML",
    "harness/recording/": "dumps of PyTorch's Flight Recorder",
    "harness/text/": "helps those that read",
    "sim/text/": "lays text out, whatever it says",
}
MAY_TAKE_TEXT_APART = {
    "harness/backends/launcher.cc": "what the process of a rank said: a mark and the rest",
    "harness/comparison/agreement_report.cc": "ids of findings, by prefix; the indent it asked for",
    "harness/comparison/faulted_processes.cc": "--faults, as typed",
    "harness/conductor/plain_run.cc": "looks a variable up",
    "harness/conductor/python.cc": "looks a variable up",
    "harness/conductor/rank_output.cc": "what ranks print, by lines",
    "harness/conductor/rank_process.cc": "/proc",
    "harness/commands/python_command.cc": "looks a variable up",
    "harness/cost/cost_model.cc": "--link and --compute, as typed",
    "harness/cost/cost_report.cc": "shortens a name to its column",
    "harness/explanation/html_page.cc": "fills the template, whose marks are in a file",
    "harness/pipeline/schedule_text.cc": "pipeline schedules, as written",
    "harness/pipeline/stage_split.cc": "lists of layers, as typed",
    "harness/program/rank_log.cc": "fmt's own format strings",
    "harness/run/fault_file.cc": "fault plans, as typed or as TOML",
    "harness/run/run_file.cc": "indents JSON",
    "harness/run/run_file_v1.cc": "runs saved by older versions, which hold text only",
    "harness/run/run_option.cc": "options, as typed",
    "harness/run/shard.cc": "--shard, as typed",
    "harness/run/run_specification.cc": "--set name=value, as typed; keys of JSON",
    "harness/run/schedule_file.cc": "saved schedules, line by line",
    "sim/contexts/call_stack.cc": "names of functions and files, as the compiler wrote them",
    "sim/faults/fault_plan_json.cc": "keys of JSON",
    "sim/options/nccl_model.cc": "--nccl, as typed",
    "sim/options/simulation_options.cc": "--sends, as typed",
    "sim/recording/timeline_recorder.cc": "the key of a call, in bytes",
    "sim/schedule/schedule.cc": "saved schedules",
}
_TAKES_APART = re.compile(
    r"(?:\.|->)(?:(substr)|r?find|find_(?:first|last)_(?:not_)?of|starts_with|ends_with)\(")
_LITERAL = re.compile(r"""R?["']""")
# The name of a file, its kind, whether a sentence or a line has its end, and no text at all.
_IS_HARMLESS = re.compile(
    r"""(?:substr\(\w+\.)?rfind\('/'\)|ends_with\("\.\w+"\)|ends_with\('(?:\.|\\n)'\)|find\(""\)""")


def room_of(path):
    """(folder, room) of a file of sim/ or harness/; the room of the face is ""."""
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else ""


def describe():
    for folder, rooms in ROOMS.items():
        yield f"{folder + ':':8} {' <- '.join(room or f'{folder}/*.h' for room in rooms)}"


def room_order(tree):
    """A room of sim/ or harness/ includes only itself and the rooms below it."""
    for source in tree.cpp(*ROOMS):
        folder, room = room_of(source.path)
        level = _level(folder, room)
        if level is None:
            yield Violation(source.path, 1, f"{room}/ is not a room of {folder}/",
                            "give it its place in ROOMS of tools/tidy_rooms.py")
            continue
        for line, included in includes(source):
            header = included.strip('"<>')
            other_folder, other_room = room_of(header)
            other = _level(folder, other_room) if other_folder == folder else None
            if other is not None and other > level:
                lower, upper = (name or f"{folder}/*.h" for name in (room, other_room))
                yield Violation(source.path, line, f"includes {included}",
                                f"{lower} is below {upper}; take a value or an interface instead")


def _level(folder, room):
    return ROOMS[folder].index(room) if room in ROOMS[folder] else None


def room_readmes(tree):
    """Every room of sim/ and harness/ has a README.md of under 30 lines."""
    rooms = {room_of(source.path) for source in tree.cpp(*ROOMS)}
    for folder, room in sorted(rooms):
        path = f"{folder}/{room}/README.md"
        if not room:
            continue
        if path not in tree.sources:
            yield Violation(path, 1, "is missing",
                            "say what the room is, what it may touch and where its door is")
        elif len(tree.sources[path].lines) >= MAX_ROOM_README_LINES:
            lines = len(tree.sources[path].lines)
            yield Violation(path, lines, f"{lines} lines", f"keep it under {MAX_ROOM_README_LINES}")


def own_text(tree):
    """sim/ and harness/ do not take apart text that gangsim wrote."""
    for source in tree.cpp(*ROOMS):
        if source.path.startswith(tuple(READS_FOREIGN_TEXT)):
            continue
        found = [match for match in _TAKES_APART.finditer(source.code)
                 if (match.group(1) or _LITERAL.match(source.text, match.end()))
                 and not _IS_HARMLESS.match(source.text, match.start() + 1)]
        if source.path in MAY_TAKE_TEXT_APART:
            if not found:
                yield Violation(source.path, 1, "no longer takes text apart",
                                "delete it from MAY_TAKE_TEXT_APART of tools/tidy_rooms.py")
            continue
        for match in found:
            line = source.line_of(match.start())
            yield Violation(source.path, line,
                            f"takes text apart, '{source.lines[line - 1].strip()}'",
                            "pass the values that the text was made from")


RULES = (room_order, room_readmes, own_text)
