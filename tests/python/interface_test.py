"""What programs import: every public name has type hints and says what it does."""

import ast
import inspect
import pathlib
import unittest

import package  # noqa: F401

import gangsim
from gangsim import process


def public_functions():
    """(name, function) of everything that a program can call."""
    for name in gangsim.__all__:
        value = getattr(gangsim, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and not issubclass(value, (BaseException, tuple)):
            for method, found in inspect.getmembers(value):
                function = found.fget if isinstance(found, property) else found
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{method}", function


def asks_for_newer(tree):
    """Lines with syntax, or hints that are evaluated, which Python 3.9 does not have."""
    for node in ast.walk(tree):
        is_union = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and any(
            isinstance(side, ast.Constant) and side.value is None
            for side in (node.left, node.right))
        is_strict_zip = isinstance(node, ast.Call) and any(
            keyword.arg in ("strict", "slots", "kw_only") for keyword in node.keywords)
        if is_union or is_strict_zip or isinstance(node, ast.Match):
            yield node.lineno


class Interface(unittest.TestCase):
    def test_python_3_9_can_read_it(self):
        sources = list(pathlib.Path(gangsim.__file__).parent.rglob("*.py"))
        self.assertGreater(len(sources), 20)
        for source in sources:
            with self.subTest(source.name):
                tree = ast.parse(source.read_text(), feature_version=(3, 9))
                self.assertEqual(list(asks_for_newer(tree)), [])
        for newer in ("x: int | None = None", "zip([], strict=True)", "match 1:\n    case 1: pass"):
            self.assertEqual(list(asks_for_newer(ast.parse(newer))), [1])

    def test_every_parameter_and_result_has_a_type_hint(self):
        for name, function in public_functions():
            signature = inspect.signature(function)
            with self.subTest(name):
                self.assertIsNot(signature.return_annotation, signature.empty)
                for parameter in signature.parameters.values():
                    if parameter.name != "self":
                        self.assertIsNot(parameter.annotation, parameter.empty, parameter.name)

    def test_every_name_says_what_it_does(self):
        for name, function in public_functions():
            with self.subTest(name):
                own = inspect.getdoc(function)
                self.assertTrue(own, "no docstring")
        for name in gangsim.__all__:
            if inspect.isclass(getattr(gangsim, name)):
                self.assertTrue(inspect.getdoc(getattr(gangsim, name)), name)

    def test_every_public_name_is_offered(self):
        found = {name for name, value in vars(gangsim).items()
                 if not name.startswith("_") and not inspect.ismodule(value)}
        self.assertEqual(set(gangsim.__all__), found)
        self.assertIs(gangsim.is_simulated, process.is_simulated)
        self.assertEqual((gangsim.ANY_RANK, gangsim.ANY_TAG), (-1, -1))

    def test_every_operation_has_a_form_that_starts_it(self):
        for name, _ in public_functions():
            if name.startswith("Gang.start_"):
                self.assertTrue(hasattr(gangsim.Gang, name[len("Gang.start_"):]), name)
        for name in ("all_reduce", "reduce", "reduce_scatter", "all_gather", "all_gather_to_list",
                     "gather", "scatter", "all_to_all", "broadcast", "barrier", "send", "recv",
                     "batch"):
            self.assertTrue(hasattr(gangsim.Gang, "start_" + name), name)

    def test_waiting_is_offered_as_functions_and_by_work(self):
        self.assertIs(gangsim.wait_any, gangsim.Work.wait_any)
        self.assertIs(gangsim.wait_all, gangsim.Work.wait_all)
        finished = gangsim.FakeGang(0, 2).start_barrier()
        self.assertEqual(gangsim.wait_any([finished, finished]), 0)
        gangsim.wait_all([finished])
        with self.assertRaises(gangsim.InvalidArgument):
            gangsim.wait_any([])


if __name__ == "__main__":
    unittest.main()
