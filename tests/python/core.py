"""Checks the Python package against the program: core.py PIPESIM FOLDER"""

import doctest
import itertools
import json
import os
import subprocess
import sys
import threading
import xml.etree.ElementTree as xml
from array import array
from pathlib import Path

import pipesim
from pipesim import _commands, _runs
from pipesim import _options as words_of
from pipesim.testing import assert_runs

PIPESIM, FOLDER = sys.argv[1], Path(sys.argv[2])
INPUT = Path(__file__).resolve().parents[1] / "input"
UNIT = {"F": 1, "I": 1, "W": 1}
SHAPE = {"pp": 8, "microbatches": 20, "times": UNIT}


def program(*arguments):
    # A terminal that has lines, as notebooks have.
    return subprocess.run([PIPESIM, *arguments], capture_output=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})


def refused(kind, words, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except pipesim.Error as error:
        assert type(error) is kind and words in str(error), repr(error)
        return error
    raise AssertionError(f"{words}: nothing was refused")


def check_same():
    """What commands return is what the program prints, to the byte."""
    order = FOLDER / "order.csv"
    order.write_text(pipesim.export("zb-v", pp=2, microbatches=4))
    lengths = FOLDER / "lengths.txt"
    lengths.write_text("4096\n8192\n1024\n3072\n")
    packed = pipesim.optimize(pp=2, pack=8192, lengths=lengths)
    results = (
        pipesim.compare(**SHAPE, schedule=["1f1b", "zb-v", order][:2], activation_bytes="0.5GB+1.5GB", memory_limit="20GB"),
        pipesim.compare(pp=4, microbatches=8, samples=20, jitter=0.05, seed=3, schedule="1f1b"),
        pipesim.compare(pp=2, microbatches=4, schedule=order, runtime="pytorch-2.15", times={"P2P": 0.00001}),
        pipesim.diff("1f1b", "zb-h1", pp=4, microbatches=8),
        pipesim.steady("1f1b", pp=4),
        pipesim.phases(phase_times="F_attn=2,B_mlp=3"),
        pipesim.prefill(pp=4, prompt_tokens=32768, prefill_times="b=0.006,c=26"),
        pipesim.optimize(pp=4, microbatches=8, moves=20000),
        pipesim.optimize(order, moves=20000, placement="v", output=FOLDER / "found.csv"),
        pipesim.optimize(pp=4, microbatches=8, max_activations=2, recompute_chunks=1, moves=20000),
        packed,
        pipesim.model("llama-3-8b", device="h100", pp=2),
        pipesim.plan(model="llama-3-8b", gpus=8, memory="80GiB", global_batch=64, seq=4096, device="h100"),
    )
    for result in results:
        said = program(*result._arguments)
        assert result.to_json().encode() == said.stdout, result._arguments
        assert json.dumps(result.to_dict()) == json.dumps(json.loads(said.stdout))
        assert result.status == said.returncode and result.said == said.stderr.decode().splitlines(), result._arguments
        assert "<table>" in result._repr_html_() and repr(result).startswith("<pipesim.")
    assert packed.proven and packed.gap == 0 and sorted(i for m in packed.packed for i in m.sequences) == [0, 1, 2, 3]
    assert (FOLDER / "found.csv").read_text().startswith("0F0,")
    run = pipesim.simulate("zb-v", **SHAPE)
    assert run.to_json().encode() == program("--pp=8", "--microbatches=20", "--times=F=1,I=1,W=1", "-s", "zb-v", "-f", "json").stdout
    assert pipesim.run("explain", "1f1b").encode() == program("explain", "1f1b").stdout
    assert pipesim.run("list", names=True).split() == pipesim.schedules()


def every_kind():
    """The library's kinds are KINDS, and labels are the cells of schedule files, slices and ops of whole ranks too."""
    names = itertools.takewhile(lambda name: name is not None, map(pipesim._library.library().kind_name, itertools.count()))
    assert tuple(name.decode() for name in names) == pipesim.KINDS
    for schedule in pipesim.schedules():
        if "auto" in schedule:
            continue
        copies = {"COPY": 0.3} if schedule.startswith("po-") else {}
        run = pipesim.simulate(schedule, pp=4, microbatches=8, times={**UNIT, **copies})
        timeline = run.timeline
        cells = run.order.replace(")OVERLAP_F_B", ")").replace("\n", ",").rstrip(",").split(",")
        assert [timeline.label(i) for i in range(len(timeline))] == cells, schedule
        xml.fromstring(f"<div>{timeline._repr_html_()}</div>")


def check_simulate():
    """Figures and ops of a run, by hand: 1F1B takes (M + PP - 1)(F + B), its bubble is (PP - 1)(F + B)."""
    run = pipesim.simulate("1f1b", **SHAPE)
    assert (run.makespan_ns, run.bubble_ns, run.ranks, run.stages, run.microbatches) == (81000000, 8 * [21000000], 8, 8, 20)
    assert run.peak_activations == [8, 7, 6, 5, 4, 3, 2, 1] and run.peak_bytes is None and run.fits and run.runtime == "async"
    assert run.waiting_ns == 8 * [0] and abs(run.bubble_ratio - 7 / 27) < 1e-12
    timeline = run.timeline
    assert len(timeline) == 8 * 2 * 20 and {pipesim.KINDS[kind] for kind in timeline.kind} == {"F", "B"}
    busy = sum(int(end) - int(start) for start, end in zip(timeline.start_ns, timeline.end_ns))
    assert busy == 8 * 20 * 3000000 and max(timeline.end_ns) == run.makespan_ns
    assert [timeline.label(i) for i in range(3)] == ["0F0", "0F1", "0F2"] and timeline.rank[319] == 7
    paired = pipesim.timeline("dualpipe", **SHAPE)
    at = next(i for i, kind in enumerate(paired.kind) if pipesim.KINDS[kind] == "FB")
    assert paired.label(at).startswith("(") and paired.label(at).endswith(")"), paired.label(at)
    every_kind()
    assert pipesim.simulate("gpipe", pp=2, microbatches=3, stage_times=[(1, 1, 1), (2.5, 1, 1)]).makespan_ms == 1 + 3 * 4.5 + 2
    assert pipesim.simulate("gpipe", pp=2, microbatches=3, stage_times={"F": [1, 2.5], "B": [2, 2]}).makespan_ms == 16.5
    one = pipesim.compare(schedule="gpipe", pp=2, microbatches=3, stage_times=array("d", [1, 2]))
    assert one["gpipe"].makespan_ms == pipesim.simulate("gpipe", pp=2, microbatches=3, stage_times=[1, 2]).makespan_ms
    order = FOLDER / "mine.csv"
    order.write_text(run.order)
    again = pipesim.simulate(order, times=UNIT)
    assert again.makespan_ns == run.makespan_ns and again.order == run.order
    moved = pipesim.simulate("1f1b", pp=4, microbatches=8, times={**UNIT, "P2P": 0.5}, runtime="pytorch-2.15").messages
    assert len(moved) == 2 * 3 * 8 and all(message["end"] - message["start"] == 500000 for message in moved)
    assert pipesim.simulate("interleaved-1f1b", **SHAPE, chunks=4, overlap_fb=False).stages == 32


def check_words():
    """From values to what the program reads, and the keywords that there are."""
    for value, text in ((0.1, "0.1"), (1e-05, "0.00001"), (2.0, "2.0"), (3, "3"), (Path("a/b"), "a/b"), (10**18, "1" + 18 * "0")):
        assert words_of.text_of(value) == text, value
    with words_of.arguments("compare", (), {"pp": 8, "trace": ["a.csv", "b.csv"], "overlap_fb": True, "times": None}) as words:
        assert words == ["compare", "--pp=8", "--trace=a.csv", "--trace=b.csv", "--overlap-fb"], words
    with words_of.arguments("sweep", (), {"pp": [4, 8], "times": {"F": [1, 2]}, "schedule": ["1f1b", "zb-v"]}, "/") as words:
        assert words == ["sweep", "--pp=4/8", "--times=F=1/2", "--schedule=1f1b,zb-v"], words
    with words_of.arguments("diff", ("-a.csv", "b.csv"), {}) as words:
        assert words == ["diff", "--", "-a.csv", "b.csv"], words
    listed = {row.split("'")[3][2:].replace("-", "_") for row in program("--completion").stdout.decode().splitlines() if "_option 'compare" in row}
    assert listed - {"format", "help"} == set(pipesim.options()) and pipesim.options()["pp"].argument == "N"
    assert "plan" in pipesim.commands()


def check_errors():
    """The program's words, in a class for each exit status."""
    error = refused(pipesim.UsageError, "did you mean --schedule?", pipesim.compare, shedule="1f1b")
    assert error.status == 2 and isinstance(error, ValueError)
    refused(pipesim.UsageError, "--pp: '0' is out of range", pipesim.simulate, "1f1b", pp=0, microbatches=8)
    refused(pipesim.UsageError, "did you mean", pipesim.simulate, "1f1c", pp=8, microbatches=8)
    refused(pipesim.UsageError, "format", pipesim.compare, pp=8, microbatches=8, format="csv")
    refused(pipesim.UsageError, "no number or range", list, pipesim.sweep(pp="x", microbatches=8))
    assert refused(pipesim.InputError, "none.ini: cannot open", pipesim.compare, **SHAPE, costs="none.ini").status == 3
    refused(pipesim.WriteError, "cannot write", pipesim.compare, **SHAPE, schedule="1f1b", chrome_trace="/none/there.json")
    answer = pipesim.compare(pp=4, microbatches=8, schedule="gpipe", activation_bytes="1GB", memory_limit="1GB")
    assert answer.status == 1 and not answer.ok and answer.best is None
    refused(pipesim.Refusal, "", answer.raise_for_status)
    found = pipesim.validate(INPUT / "deadlock.csv")
    assert not found and ":1:5: deadlock: 0B0 on rank 0 waits" in found.faults[0], found
    refused(pipesim.Refusal, "deadlock", found.raise_for_faults)
    assert pipesim.validate(FOLDER / "mine.csv").ok


def check_threads():
    """Threads at once find what one finds, and each lets others run."""
    names = ("1f1b", "zb-v", "dualpipe", "interleaved-zb", "v-half", "zb-auto")
    alone = {name: pipesim.simulate(name, **SHAPE).makespan_ns for name in names}
    texts = {name: pipesim.compare(schedule=name, **SHAPE).to_json() for name in names}
    faults = []

    def work(first):
        for i in range(60):
            name = names[(first + i) % len(names)]
            if pipesim.simulate(name, **SHAPE).makespan_ns != alone[name]:
                faults.append(name)
            if i % 10 == 0 and pipesim.compare(schedule=name, **SHAPE).to_json() != texts[name]:
                faults.append(f"compare {name}")
            if i % 20 == 0:
                try:
                    pipesim.compare(schedule="none", **SHAPE)
                    faults.append("no error")
                except pipesim.UsageError as error:
                    if "none" not in str(error):
                        faults.append(str(error))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults
    # Python itself hands the interpreter over only where it is given away: in a call of the library.
    interval, asked, ran = sys.getswitchinterval(), threading.Event(), []
    other = threading.Thread(target=lambda: (asked.wait(), ran.append(True)))
    other.start()
    sys.setswitchinterval(1000)
    asked.set()
    for _ in range(20000):
        pipesim.simulate("1f1b", **SHAPE)
        if ran:
            break
    sys.setswitchinterval(interval)
    assert ran, "the interpreter was held"
    other.join()


def check_processes():
    """Nothing starts a process."""
    started = []
    sys.addaudithook(lambda event, _: started.append(event) if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.system") else None)
    pipesim.simulate("zb-v", **SHAPE)
    pipesim.compare(**SHAPE)
    assert len(list(pipesim.sweep(pp=[2, 4], microbatches=8, schedule="1f1b"))) == 2
    assert not started, started


def check_sweep():
    """Rows come one by one, as the program writes them; a sweep that is left stops."""
    rows = [row.to_dict() for row in pipesim.sweep(pp=[4, 8], microbatches=range(16, 33, 16), schedule=["1f1b", "zb-v"])]
    said = program("sweep", "--pp=4/8", "--microbatches=16/32", "-s", "1f1b,zb-v", "-f", "jsonl").stdout
    assert rows == [json.loads(line) for line in said.splitlines()] and len(rows) == 8
    told = []
    with pipesim.sweep(pp=range(2, 64), microbatches=range(64, 6400), schedule="1f1b", progress=told.append) as swept:
        first = next(swept)
        assert (first.pp, first.microbatches) == (2, 64)
    assert swept.done == 1 and not swept._work.is_alive() and told and "points" in told[0], told


def check_stop():
    """What a function of progress raises stops the work, and is raised."""

    class Enough(Exception):
        pass

    def enough(line):
        raise Enough(line)

    try:
        pipesim.plan(model="llama-3-70b", gpus=256, memory="80GiB", global_batch=1024, seq=8192, device="h100", progress=enough)
    except Enough as error:
        assert "candidates" in str(error)
    else:
        raise AssertionError("nothing was raised")


def check_html():
    """A table and a timeline, whole."""
    page = xml.fromstring(f"<div>{pipesim.compare(**SHAPE, schedule=['1f1b', 'zb-v'])._repr_html_()}</div>")
    comparison = pipesim.compare(**SHAPE)
    assert str(comparison).encode() == program("--pp=8", "--microbatches=20", "--times=F=1,I=1,W=1").stdout
    assert comparison.verdict.startswith("Use zb-v: 1.28 times") and comparison.verdict in " ".join(str(comparison).split())
    assert page.find("p").text.startswith("Use zb-v")
    assert [cell.text for cell in page.iter("td")][:3] == ["1f1b", "81", "25.9 %"]
    svg = page.find("{http://www.w3.org/2000/svg}svg")
    titles = [title.text for title in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "zb-v" and "0F0: 0 to 0.5 ms" in titles and len(titles) == 1 + 8 * 20 * 6
    assert "rank 7" in [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    large = pipesim.timeline("1f1b", pp=64, microbatches=256, times=UNIT)._repr_html_()
    assert "too many" in large


def check_testing():
    """What assert_runs refuses, without pytest: test_schedules.py has more."""
    order = pipesim.export("zb-v", pp=4, microbatches=8)
    run = assert_runs(order, runtime="async", max_bubble=0.06, max_activations=4)
    assert run.makespan_ms == 25.5 and len(run.timeline) == 3 * 8 * 8 and run.order == order
    for words, what, limits in (
        ("deadlock", [["0F0", "0B0", "0F1", "0B1"], ["1F1", "1B1", "1F0", "1B0"]], {}),
        ("1B0", {1: ["1F0"], 0: ["0F0", None, "0B0"]}, {}),
        ("bubble of rank 0 is 5.882 %, above 5 %", order, {"runtime": "async", "max_bubble": 0.05}),
        ("is 8 GB, above 6.442 GB", order, {"max_memory": "6GiB", "activation_bytes": "2GB"}),
    ):
        try:
            assert_runs(what, **limits)
        except AssertionError as error:
            assert words in str(error), error
        else:
            raise RuntimeError(f"{words}: nothing was refused")


def check_examples():
    """What the documentation of functions shows."""
    for module in (_runs, _commands):
        found = doctest.testmod(module, extraglobs={"pipesim": pipesim})
        assert found.attempted > 0 and found.failed == 0, found


def check_frames():
    """Frames of pandas and arrays of numpy, where these are."""
    try:
        import numpy
        import pandas
    except ImportError as error:
        print(f"SKIP: frames: {error}")
        return
    timeline = pipesim.timeline("zb-v", **SHAPE)
    assert isinstance(timeline.start_ns, numpy.ndarray) and timeline.to_dataframe().shape == (960, 9)
    frame = pipesim.compare(**SHAPE, schedule=["1f1b", "zb-v"]).to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and list(frame["name"]) == ["1f1b", "zb-v"] and frame["bubble.max_ms"][0] == 21
    assert len(pipesim.sweep(pp=[2, 4], microbatches=8, schedule="1f1b").to_dataframe()) == 2
    times = numpy.ones((8, 3))
    assert pipesim.simulate("1f1b", pp=numpy.int64(8), microbatches=20, stage_times=times).makespan_ms == 81


CHECKS = (
    check_same, check_simulate, check_words, check_errors, check_threads, check_processes, check_sweep, check_stop, check_html, check_testing, check_examples,
    check_frames,
)  # fmt: skip

if __name__ == "__main__":
    for check in CHECKS:
        check()
        print(f"ok: {check.__name__[6:]}", flush=True)
