"""An example of tests of schedules: pytest test_schedules.py. PyTorch's own run here as those of one's own would."""

import pytest

import pipesim
from pipesim.testing import assert_runs, rows_of

RANKS, MICROBATCHES = 4, 8
TIMES = {"F": 1, "B": 2}


def test_exported():
    """A schedule of pipesim's, as a file for PyTorch."""
    text = pipesim.export("zb-v", pp=RANKS, microbatches=MICROBATCHES, **{"for": "pytorch"})
    run = assert_runs(text, runtime="async", max_bubble=0.1, max_activations=RANKS)
    assert run.makespan_ms == 25.5 and len(run.timeline) == 3 * 2 * RANKS * MICROBATCHES
    assert assert_runs(text).makespan_ms == 27.5  # in PyTorch messages wait for each other


def test_faults():
    """What does not run says where."""
    with pytest.raises(AssertionError, match="deadlock: 0B0 on rank 0 waits for 1B0 on rank 1"):
        assert_runs([["0F0", "0B0", "0F1", "0B1"], ["1F1", "1B1", "1F0", "1B0"]])
    with pytest.raises(AssertionError, match="1B0"):
        assert_runs([["0F0", "0B0"], ["1F0"]])
    text = pipesim.run("export", "zb-v", pp=2, microbatches=4, runtime="pytorch-2.15", defer_recv=True, communicators="edge", unproven=True)
    with pytest.raises(AssertionError, match="takes what"):
        assert_runs(text, communicators="edge")
    one = pipesim.export("1f1b", pp=RANKS, microbatches=MICROBATCHES)
    with pytest.raises(AssertionError, match="the bubble of rank 0 is 27.27 %, above 25 %"):
        assert_runs(one, times=TIMES, max_bubble=0.25)
    with pytest.raises(AssertionError, match="memory of rank 0 is 8 GB, above 7 GB"):
        assert_runs(one, max_memory="7GB", activation_bytes="2GB")
    with pytest.raises(AssertionError, match="above 30"):
        assert_runs(one, times=TIMES, max_makespan_ms=30)
    with pytest.raises(pipesim.UsageError, match="activation_bytes"):
        assert_runs(one, max_memory="7GB")


@pytest.mark.parametrize(
    ("name", "rules", "bubble"),
    [("GPipe", "single", 0.28), ("Interleaved1F1B", "pytorch-2.15", 0.32), ("ZBVZeroBubble", "pytorch-2.15", 0.13)],
)
def test_pytorch(name, rules, bubble):
    """PyTorch's own order, under the rules of its own runtime."""
    pytest.importorskip("torch")
    from pipesim.torch import order_of

    order = order_of(name, RANKS, MICROBATCHES)
    run = assert_runs(order, runtime=rules, max_bubble=bubble, times=TIMES)
    assert run.ranks == RANKS and run.microbatches == MICROBATCHES


def test_pytorch_1f1b():
    """The list that PyTorch 2.11 and 2.15 give of their 1F1B has micro-batches 1 to 8 on the last rank, where 0 to 7 run."""
    pytest.importorskip("torch")
    from pipesim.torch import order_of

    rows = rows_of(order_of("1F1B", RANKS, MICROBATCHES))
    if rows[-1][0] == "3F1":
        with pytest.raises(AssertionError, match="no 3F0"):
            assert_runs(rows, runtime="single")
        rows[-1] = [cell if "B" in cell else f"3F{int(cell[2:]) - 1}" for cell in rows[-1]]
    assert_runs(rows, runtime="single", max_bubble=0.28, max_activations=RANKS, times=TIMES)
