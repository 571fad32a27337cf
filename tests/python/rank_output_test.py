"""What ranks print that are threads: whole lines, of the chosen ranks, with their numbers."""

import io
import os
import threading
import unittest
from types import SimpleNamespace
from unittest import mock

import package  # noqa: F401

from gangsim.rank_output import OutputOfThread


def printed(selection, *texts):
    """What is printed when (rank, text) are written, one after the other."""
    stream = io.StringIO()
    with mock.patch.dict(os.environ, {"GANGSIM_LOG_RANKS": selection}):
        output = OutputOfThread(stream)
    for rank, text in texts:
        thread = threading.Thread(target=output.write, args=(text,))
        if rank is not None:
            thread.gangsim_rank = SimpleNamespace(rank=rank)
        thread.start()
        thread.join()
    output.end_lines()
    return stream.getvalue()


class Output(unittest.TestCase):
    def test_each_line_has_the_number_of_its_rank(self):
        self.assertEqual(printed("all", (0, "a\nb\n"), (1, "c\n")), "[0] a\n[0] b\n[1] c\n")

    def test_lines_that_two_ranks_write_in_parts_do_not_mix(self):
        self.assertEqual(printed("all", (0, "a"), (1, "b"), (0, "c\n"), (1, "d\n")),
                         "[0] ac\n[1] bd\n")

    def test_a_line_that_was_begun_is_printed_at_the_end(self):
        self.assertEqual(printed("all", (2, "a")), "[2] a\n")

    def test_only_chosen_ranks_are_shown(self):
        texts = [(rank, "x\n") for rank in range(10)]
        for selection, ranks in (("0", [0]), ("none", []), ("1,3-4", [1, 3, 4]),
                                 ("2-9:3", [2, 5, 8]), ("all", list(range(10)))):
            self.assertEqual(printed(selection, *texts),
                             "".join(f"[{rank}] x\n" for rank in ranks), selection)

    def test_without_a_choice_rank_0_is_shown(self):
        kept = {name: value for name, value in os.environ.items() if name != "GANGSIM_LOG_RANKS"}
        with mock.patch.dict(os.environ, kept, clear=True):
            output = OutputOfThread(io.StringIO())
        self.assertEqual(output._chosen, {0})

    def test_whole_lines_are_passed_on_at_once_and_nothing_twice(self):
        stream = mock.Mock()
        with mock.patch.dict(os.environ, {"GANGSIM_LOG_RANKS": "1"}):
            output = OutputOfThread(stream)
        thread = threading.current_thread()
        self.addCleanup(delattr, thread, "gangsim_rank")
        for rank, text, printed, flushes in ((1, "a", "", 0), (1, "b\nc", "[1] ab\n", 1),
                                             (2, "no\n", "", 0)):
            thread.gangsim_rank = SimpleNamespace(rank=rank)
            stream.reset_mock()
            self.assertEqual(output.write(text), len(text))
            self.assertEqual("".join(call.args[0] for call in stream.write.call_args_list), printed)
            self.assertEqual(stream.flush.call_count, flushes)
        for expected in ("[1] c\n", ""):
            stream.reset_mock()
            output.end_lines()
            self.assertEqual("".join(call.args[0] for call in stream.write.call_args_list),
                             expected)

    def test_what_belongs_to_no_rank_passes_as_it_is(self):
        self.assertEqual(printed("none", (None, "the end")), "the end")


if __name__ == "__main__":
    unittest.main()
