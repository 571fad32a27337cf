"""The pytest plugin: `pytest -p gangsim.pytest_plugin`, or in a conftest.py

    pytest_plugins = ["gangsim.pytest_plugin"]

Tests are decorated with `@gangsim.ranks(4)`; a failure shows the explanation of the run.
"""

import pytest

from gangsim import GangFailure, runner


def pytest_addoption(parser):
    group = parser.getgroup("gangsim")
    group.addoption("--gangsim-seed", type=int, default=1, metavar="N",
                    help="the seed of every simulated run [1]")


def pytest_configure(config):
    runner.default_seed = config.getoption("--gangsim-seed")


def pytest_report_header(config):
    return f"gangsim: seed {config.getoption('--gangsim-seed')}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the explanation instead of gangsim's own frames."""
    outcome = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, GangFailure):
        outcome.get_result().longrepr = str(call.excinfo.value)
