"""Checks what pipesim.torch does without PyTorch: plain.py FOLDER"""

import ast
import os
import subprocess
import sys
from pathlib import Path

from pipesim import cells, memory
from pipesim.torch import place, trace


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
        "import runpy; from pipesim.torch.place import as_script;"
        "as_script('inner/train.py', ['--mine']); runpy.run_path('inner/train.py', run_name='__main__')"
    )
    said = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert said.stdout == "42 --mine\n", said


def check_shapes(folder):
    """What a rank computes of a model in either format, and what is none."""
    from pipesim.torch import shapes

    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="ascii") as file:
        file.write('{"hidden_size": 64, "intermediate_size": 160, "num_attention_heads": 8, "num_key_value_heads": 2}')
    model = shapes.read_model(path)
    assert (model.head_dim, model.gated, model.experts) == (8, True, 0), model
    assert shapes.linears(model, 2, 10) == [(10, 64, 48), (10, 64, 8), (10, 32, 64), (10, 64, 80), (10, 80, 64), (10, 64, 160)]
    found = shapes.products([model], [2, 3], [10])  # three ranks do not divide eight heads
    assert len(found) == 18 and shapes.Product(80, 64, 10, "W") in found, found
    assert found == sorted(found, key=lambda p: (-p.m * p.n * p.k, p))
    assert not shapes.products([model], [2], [10], multiple=16)  # FP8: no size may be left over
    # FlashAttention-2 of as many tokens and tiles as its ramps, and heads of half the size: 2, 2 and its root.
    assert abs(shapes.attention_slower("flash", "B", 1200, 64, 0.95 * 132, 132) - 4 * 2**0.5) < 1e-9
    ini = os.path.join(folder, "model.ini")
    with open(ini, "w", encoding="ascii") as file:
        file.write("[pipesim-model]\nhidden = 64\nheads = 8\nactivation = gelu\n[experts]\nnumber = 4\nper_token = 2\nffn = 32\n")
    model = shapes.read_model(ini)
    assert (model.gated, model.experts, model.kv_heads) == (False, 4, 8), model
    assert (5, 64, 32) in shapes.linears(model, 1, 10), "each of four experts has half of ten rows"
    for text in ("{", '{"hidden_size": 0}', '{"hidden_size": 64}', "no model", "[pipesim-model]\nhidden = -1\n"):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        try:
            shapes.read_model(path)
        except ValueError as error:
            assert path in str(error), error
        else:
            raise AssertionError(f"{text} was taken")


def check_device(folder):
    """Which file a GPU has, and what stands in one that was measured."""
    from pipesim.torch import device

    names = {"NVIDIA H200": "h200", "NVIDIA H100 80GB HBM3": "h100", "NVIDIA GB200": "gb200", "NVIDIA A100-SXM4-80GB": "a100"}
    for gpu, name in names.items():
        assert device.find(gpu).stem == name, gpu
    try:
        device.find("none")
    except ValueError as error:
        assert "h200" in str(error) and "--like" in str(error), error
    else:
        raise AssertionError("a device for none")
    shipped = device.find("NVIDIA H200")
    groups = device.read(shipped)
    assert device.peak(groups, "bf16") == 989.4e12 and device.bandwidth(groups) == 4.8e12
    assert device.peak(groups, "fp4") is None
    found = device.Measured({"sdpa": 0.5, "gap": 1.5e-6}, {("bf16", 8, 16, 32): 1.2, ("bf16", 800, 16, 32): 0.7})
    assert device.large(found.products, "bf16") == 0.7 and device.large(found.products, "fp8") is None
    path = os.path.join(folder, "mine.ini")
    with open(path, "w", encoding="ascii") as file:
        file.write(device.render(shipped.read_text(), found, ["by hand"]))
    again = device.read(path)
    assert again["measured"] == {"sdpa": "0.5000", "gap": "1.50us", "bf16 8 16 32": "1.0000", "bf16 800 16 32": "0.7000"}
    assert {**again, "measured": 0} == {**groups, "measured": 0}


def check_old(folder):
    """Modules by their old names are those of the new ones, and no others."""
    import pipesim_torch
    import pipesim_torch.place
    from pipesim_torch import cells as old_cells
    from pipesim_torch.trace import demand_writable

    assert pipesim_torch.place is place and old_cells is cells and demand_writable is trace.demand_writable
    assert pipesim_torch.peak_bytes is memory.peak_bytes
    try:
        import pipesim_torch.nothing  # noqa: F401
    except ModuleNotFoundError as error:
        assert "pipesim.torch.nothing" in str(error), error
    else:
        raise AssertionError("a module that is none")


def is_private(node):
    """Whether a name with an underscore is of something else than the module's own objects."""
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and any(part.startswith("_") and part != "__future__" for part in f"{node.module}.{node.names[0].name}".split("."))
    own = ("self", "cls", "Pair", "sampler")
    return (
        isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.endswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in own)
    )


def check_private(folder):
    """PyTorch's private names stand in one file."""
    package = Path(trace.__file__).parent
    found = {}
    for path in sorted(package.glob("*.py")):
        nodes = [node.lineno for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if is_private(node)]
        if nodes:
            found[path.name] = nodes
    assert set(found) == {"private.py"}, found


CHECKS = (check_shapes, check_device, check_memory, check_names, check_writable, check_gpus, check_script, check_old, check_private)


def main():
    for check in CHECKS:
        check(sys.argv[1])
        print(f"ok: {check.__name__[6:]}")


if __name__ == "__main__":
    main()
