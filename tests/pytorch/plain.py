"""Checks what pipesim_torch does without PyTorch: plain.py FOLDER"""

import os
import subprocess
import sys

from pipesim_torch import cells, memory, place, trace


def check_memory(folder):
    """Peaks by hand: two stages on two ranks, and four in a V on two."""
    captured = {
        "pp_message_bytes": "1", "stage_parameters_only_bytes": "100;100",
        "stage_gradients_only_bytes": "50;60", "stage_optimizer_only_bytes": "0;0",
        "stage_after_f_bytes": "10;12", "stage_after_i_bytes": "10;15",
        "stage_after_w_bytes": "0;1", "stage_after_b_bytes": "0;0",
        "stage_working_f_bytes": "11;13", "stage_working_i_bytes": "0;5",
        "stage_working_w_bytes": "4;4", "stage_working_b_bytes": "7;8",
        "stage_first_w_bytes": "44;45", "stage_first_b_bytes": "5;55",
    }  # fmt: skip
    path = os.path.join(folder, "two.csv")
    with open(path, "w", encoding="ascii") as file:
        file.write("0F0,0F1,0B0,0B1\n1F0,1I0,1F1,1W0,1I1,1W1\n")
    rows = cells.read(path)
    # Rank 0: two buffers, two micro-batches, gradients: 2 + 20 + 50 - 10 before the last B, which needs 7.
    # Rank 1: buffers 2; F0 12, I0 to 15, F1 12, W0 at 29 needs 45; then 29 + 60 - 15 + 1, I1 to 78, W1 needs 4.
    expect = [100 + 2 + 20 + 50 - 10 + 7, 100 + 2 + 60 + 12 + 1 + 3 + 4]
    found = memory.peak_bytes(captured, rows)
    assert found == expect, (found, expect)
    for change, words in (
        ({"stage_after_f_bytes": "0;0"}, "without a GPU"),
        ({"stage_parameters_only_bytes": "1"}, "has 2"),
    ):
        try:
            memory.peak_bytes(captured | change, rows)
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{change} was not refused")
    # A V of four stages: rank 1 passes on between its two without buffers of their own, but keeps the tensors.
    wide = {key: ";".join(2 * [value]) if ";" in value else value for key, value in captured.items()}
    path = os.path.join(folder, "v.csv")
    with open(path, "w", encoding="ascii") as file:
        file.write("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n")
    # Rank 1: ends of 1 and 2: 4 buffers; F1 + 12 - 1, F2 + 10, B2 needs 5, then - 10 + 50; B1 at 65 needs 55.
    assert memory.peak_bytes(wide, cells.read(path))[1] == 200 + 4 + 11 + 50 + 55


def check_names(folder):
    """A capture of a model whose name is in any script is written and read again, packed or not."""
    for name in ("modèle", "模型", "a,b \"c\"", "\udcff"):
        for path in (os.path.join(folder, f"named{end}") for end in (".csv", ".csv.gz")):
            metadata = {"model": name, "command": name}
            trace.write_trace(path, metadata, [{"run_id": name, "dur_ns": 1}])
            trace.write_provenance(trace.provenance_path(path), metadata)
            assert memory.metadata_of(path)["model"] == name, (path, name)


def check_writable(folder):
    """What cannot be written is said before anything is measured."""
    trace.demand_writable(os.path.join(folder, "new", "one.csv"))
    os.makedirs(os.path.join(folder, "taken.csv"))
    try:
        trace.demand_writable(os.path.join(folder, "taken.csv"))
    except OSError as error:
        assert "taken.csv is a folder" in str(error), error
    else:
        raise AssertionError("a folder was not refused")


def check_gpus(folder):
    """All processes of a node take a GPU, or none does: however many each can see."""
    assert [place.gpu_of(local, 8) for local in range(8)] == list(range(8))
    assert [place.gpu_of(local, 1) for local in range(8)] == 8 * [0]  # each sees its own alone
    assert [place.gpu_of(local, 0) for local in range(8)] == 8 * [None]


def check_script(folder):
    """Modules beside a script are found, from any folder."""
    inner = os.path.join(folder, "inner")
    os.makedirs(inner)
    with open(os.path.join(inner, "neighbour.py"), "w", encoding="ascii") as file:
        file.write("answer = 42\n")
    with open(os.path.join(inner, "train.py"), "w", encoding="ascii") as file:
        file.write("import sys, neighbour\nprint(neighbour.answer, *sys.argv[1:])\n")
    program = (
        "import runpy; from pipesim_torch.place import as_script;"
        "as_script('inner/train.py', ['--mine']); runpy.run_path('inner/train.py', run_name='__main__')"
    )
    said = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert said.stdout == "42 --mine\n", said


CHECKS = (check_memory, check_names, check_writable, check_gpus, check_script)


def main():
    for check in CHECKS:
        check(sys.argv[1])
        print(f"ok: {check.__name__[6:]}")


if __name__ == "__main__":
    main()
