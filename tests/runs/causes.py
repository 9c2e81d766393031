"""What goes wrong on purpose in steps of record-*.py of frameworks, where the environment has

    PIPESIM_CAUSES=2:host:1,4:data:0,6:pause:1,8:gc:1,10:shared:1     STEP:CAUSE:RANK from PIPESIM_FIRST_STEP on

host    the process sleeps before it launches the fourth forward, with nothing queued
data    it sleeps for a quarter of that in each read of a batch
pause   a kernel that does nothing but last, in the fourth forward
gc      the process sleeps in the fourth backward
shared  another process has the GPU now and then for as long as the step takes: `python3 tests/runs/causes.py` with
        CUDA_VISIBLE_DEVICES of that rank runs it

Sleep and pause are 40 ms.
"""

import os
import sys
import time

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/measuring"))

from hold import HOLD  # noqa: E402

SECONDS = 0.04
FLAG = "/dev/shm/pipesim-shared"
FOURTH = 3


class Causes:
    def __init__(self):
        rank, first = os.environ.get("RANK"), int(os.environ.get("PIPESIM_FIRST_STEP", "0"))
        words = [one.split(":") for one in os.environ.get("PIPESIM_CAUSES", "").split(",") if one]
        self.of_step = {first + int(step): cause for step, cause, of in words if of == rank}
        self.kernel = None
        self.step, self.cause, self.forwards, self.backwards = -1, None, 0, 0

    def begin_step(self):
        if self.kernel is None and "pause" in self.of_step.values():  # on the device that is set by now
            self.kernel = torch.cuda._compile_kernel(HOLD, "hold_for")
        self.step += 1
        self.forwards = self.backwards = 0
        self.cause = self.of_step.get(self.step)
        if self.cause == "shared":
            with open(FLAG, "w", encoding="utf-8"):
                pass

    def end_step(self):
        if self.cause == "shared":
            os.remove(FLAG)

    def before_batch(self):
        if self.cause == "data":
            time.sleep(SECONDS / 4)

    def before_forward(self):
        if self.cause == "host" and self.forwards == FOURTH:
            torch.cuda.current_stream().synchronize()
            time.sleep(SECONDS)
        if self.cause == "pause" and self.forwards == FOURTH:
            self.kernel((1, 1, 1), (1, 1, 1), (round(SECONDS * 1e6),), stream=torch.cuda.current_stream())
        self.forwards += 1

    def before_backward(self):
        if self.cause == "gc" and self.backwards == FOURTH:
            time.sleep(SECONDS)
        self.backwards += 1


def share():
    """Six products of matrices, then a millisecond of rest, as long as a step asks for it."""
    matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    while True:
        for _ in range(6 if os.path.exists(FLAG) else 0):
            matrix @ matrix
        torch.cuda.synchronize()
        time.sleep(0.001)


if __name__ == "__main__":
    share()
