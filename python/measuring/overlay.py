"""The pipeline runtime of a newer PyTorch on the core of an older one that is installed.

    python3 overlay.py make SITE_PACKAGES FOLDER     from an installed wheel, such as 2.15's
    PYTHONPATH=FOLDER torchrun ... PROGRAM           with the older PyTorch: 2.11

torch/distributed/pipelining is Python alone: FOLDER gets a copy of it, this file, and a sitecustomize.py by which
every Python that is started with FOLDER in its PYTHONPATH takes that package from FOLDER. What it needs and the older core
lacks is made up for below: nothing of it changes what is sent, when, or to whom. For machines to which a
whole wheel is too large to carry.
"""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import os
import shutil
import sys
import types

PACKAGE = "torch.distributed.pipelining"
HERE = os.path.dirname(os.path.abspath(__file__))


def make(site_packages, folder):
    source = os.path.join(site_packages, *PACKAGE.split("."))
    if not os.path.exists(os.path.join(source, "_p2p.py")):
        raise SystemExit(f"{source}: no pipelining of PyTorch 2.15 or newer")
    shutil.rmtree(os.path.join(folder, "pipelining"), ignore_errors=True)
    shutil.copytree(
        source, os.path.join(folder, "pipelining"), ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(os.path.join(site_packages, "torch", "version.py"), os.path.join(folder, "wheel_version.py"))
    shutil.copy(os.path.abspath(__file__), os.path.join(folder, "overlay.py"))
    with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="ascii") as file:
        file.write("import overlay\n\noverlay.install()\n")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the package and its modules in @folder, after the core has got what it lacks."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name == PACKAGE:
            complete_core()
            place = os.path.join(self.folder, "pipelining")
            return importlib.util.spec_from_file_location(
                name, os.path.join(place, "__init__.py"), submodule_search_locations=[place]
            )
        return None


def install():
    sys.meta_path.insert(0, Finder(HERE))


def complete_core():
    """What pipelining of 2.15 imports, or asks of a process group, and 2.11 has not."""
    import torch
    import torch.distributed as dist
    import torch.distributed.config as config
    from torch._subclasses import fake_tensor
    from torch.distributed import fsdp

    if not hasattr(fake_tensor, "is_fake_tensor"):
        fake_tensor.is_fake_tensor = lambda x: isinstance(x, fake_tensor.FakeTensor)
    if not hasattr(fsdp, "GradientReductionHandle"):
        fsdp.GradientReductionHandle = type("GradientReductionHandle", (), {})  # FSDP stages alone have one
    if importlib.util.find_spec("torch.cuda.graph_annotations") is None:
        marks = types.ModuleType("torch.cuda.graph_annotations")
        marks.mark_kernels = lambda *_, **__: contextlib.nullcontext()  # names of nodes in CUDA graphs
        sys.modules[marks.__name__] = torch.cuda.graph_annotations = marks
        torch.random.fork_rng = without_none(torch.random.fork_rng)
    if "pipeline_per_edge_p2p" not in config._config:
        add_flag(config)
    if "backend" not in inspect.signature(dist.split_group).parameters:
        dist.split_group = split_group
        for backend in ("ProcessGroupGloo", "ProcessGroupNCCL"):
            made = getattr(dist.distributed_c10d, backend, None)
            if made is not None:
                made.supports_splitting = True  # by split_group() below


def without_none(fork_rng):
    """2.11's takes no None for the kind of device, which says that there is the CPU alone."""
    return lambda *arguments, device_type=None, **options: fork_rng(
        *arguments, device_type=device_type or "cuda", **options
    )


def add_flag(config):
    """torch.distributed.config.pipeline_per_edge_p2p, with its environment variable."""
    from torch.utils._config_module import Config, _ConfigEntry

    name = "pipeline_per_edge_p2p"
    environment = f"TORCH_DISTRIBUTED_{name.upper()}"
    config._config[name] = _ConfigEntry(Config(default=False, env_name_default=environment))


def split_group(parent_pg, split_ranks, group_desc=None, backend=None, timeout=None):
    """A communicator of its own for each edge, which is what 2.15 wants of it: here by new_group(), which
    works without devices that groups are bound to, and over gloo. All ranks of the job enter."""
    import torch.distributed as dist

    mine = None
    for ranks in split_ranks:
        everywhere = [dist.get_global_rank(parent_pg, rank) for rank in ranks]
        made = dist.new_group(everywhere, timeout=timeout, group_desc=group_desc)
        if dist.get_rank() in everywhere:
            mine = made
    return mine


def main():
    if len(sys.argv) != 4 or sys.argv[1] != "make":
        raise SystemExit(__doc__)
    make(*sys.argv[2:])


if __name__ == "__main__":
    main()
