"""pipesim: pipeline-parallel training schedules, simulated, compared, planned and diagnosed in this process.

    import pipesim
    r = pipesim.compare(pp=8, microbatches=20, times=dict(F=1, I=1, W=1))
    r.best.name, r.best.makespan_ms, r["1f1b"].bubble.fraction

Keywords are the long options of the program with underscores: pipesim.options() lists them. docs/python.md has more.
"""

from ._commands import Sweep, calibrate, compare, diagnose, diff, explain, export, model, optimize, phases, plan, prefill, run, steady, sweep, validate
from .errors import Error, ExternalError, InputError, Refusal, Stopped, UsageError, WriteError
from ._options import Option, commands, options
from .results import Bubble, Comparison, Diagnosis, Difference, Model, Optimum, Plan, Record, Result, Row, Validation
from ._runs import KINDS, Run, Timeline, schedules, simulate, timeline

__all__ = [
    "KINDS", "Bubble", "Comparison", "Diagnosis", "Difference", "Error", "ExternalError", "InputError", "Model", "Optimum", "Option",
    "Plan", "Record", "Refusal", "Result", "Row", "Run", "Stopped", "Sweep", "Timeline", "UsageError", "Validation", "WriteError",
    "calibrate", "commands", "compare", "diagnose", "diff", "explain", "export", "model", "optimize", "options", "phases", "plan", "prefill", "run",
    "schedules", "simulate", "steady", "sweep", "timeline", "validate",
]  # fmt: skip
__version__ = "0.1.0"
