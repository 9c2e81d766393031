"""What one rank of a described model computes: the sizes of its products, heads and rows. Without PyTorch."""

from __future__ import annotations

import configparser
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# Keys of config.json, by the first that is there.
KEYS = {
    "hidden": ("hidden_size",),
    "ffn": ("intermediate_size",),
    "heads": ("num_attention_heads",),
    "kv_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim",),
    "vocab": ("vocab_size",),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "per_token": ("num_experts_per_tok",),
    "expert_ffn": ("moe_intermediate_size",),
    "shared_experts": ("n_shared_experts",),
    "shared_ffn": ("shared_expert_intermediate_size",),
    "q_rank": ("q_lora_rank",),
    "kv_rank": ("kv_lora_rank",),
    "nope": ("qk_nope_head_dim",),
    "rope": ("qk_rope_head_dim",),
    "v_dim": ("v_head_dim",),
}
# Groups and keys of an INI file of pipesim's.
INI = {
    **{key: ("pipesim-model", key) for key in ("hidden", "ffn", "heads", "kv_heads", "head_dim", "vocab")},
    "experts": ("experts", "number"),
    "per_token": ("experts", "per_token"),
    "expert_ffn": ("experts", "ffn"),
    "shared_ffn": ("experts", "shared_ffn"),
    **{key: ("latent", key) for key in ("q_rank", "kv_rank", "nope", "rope")},
    "v_dim": ("latent", "v"),
}
PLAIN = {"gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "relu2"}  # two matrices, not three


@dataclass(frozen=True)
class Model:
    """Elements; what a model has not is 0."""

    name: str
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int = 0
    gated: bool = True
    experts: int = 0
    per_token: int = 0
    expert_ffn: int = 0
    shared_ffn: int = 0
    q_rank: int = 0
    kv_rank: int = 0
    nope: int = 0
    rope: int = 0
    v_dim: int = 0


@dataclass(frozen=True, order=True)
class Product:
    """Of @m x @k and @k x @n elements; @phase: F, for input I, for weights W."""

    m: int
    n: int
    k: int
    phase: str = "F"


def _whole(path: str, key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{path}: {key}: {value!r}; a whole number above 0 is expected")
    return value


def _read_config(path: str, text: str) -> tuple[str, dict[str, Any]]:
    try:
        config = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: {error}; is this a config.json?") from None
    found = {}
    for name, keys in KEYS.items():
        key = next((k for k in keys if config.get(k)), None)
        if key is not None:
            found[name] = _whole(path, key, config[key])
    found["gated"] = config.get("hidden_act", "silu") not in PLAIN
    name = config.get("_name_or_path") or config.get("model_type") or path
    return str(name), found


def _read_ini(path: str, text: str) -> tuple[str, dict[str, Any]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text, path)
        own = parser["pipesim-model"]
    except (configparser.Error, KeyError):
        raise ValueError(f"{path}: neither a config.json nor an INI file with [pipesim-model]") from None
    found = {}
    for name, (group, key) in INI.items():
        value = parser.get(group, key, fallback="0").strip()
        if value != "0":
            found[name] = _whole(path, key, int(value) if value.isdecimal() else value)
    found["gated"] = own.get("activation", "swiglu") == "swiglu"
    return own.get("name", path), found


def read_model(path: str) -> Model:
    """The Model in a config.json of Hugging Face's or an INI file of pipesim's. ValueError tells what is wrong."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name, found = (_read_config if text.lstrip().startswith("{") else _read_ini)(path, text)
    for key in ("hidden", "heads"):
        if key not in found:
            raise ValueError(f"{path}: no {KEYS[key][0]}; it is needed")
    found.setdefault("kv_heads", found["heads"])
    found.setdefault("head_dim", found["hidden"] // found["heads"])
    experts = found.get("experts", 0)
    if experts:
        found.setdefault("expert_ffn", found.get("ffn", 0))
        found.setdefault("per_token", 1)
    shared = found.pop("shared_experts", 0)
    if shared and "shared_ffn" not in found:
        found["shared_ffn"] = shared * found.get("expert_ffn", 0)
    if not found.get("ffn") and not experts:
        raise ValueError(f"{path}: no intermediate_size; it is needed")
    found.setdefault("ffn", 0)
    return Model(name=name, **found)


def can_share(model: Model, tp: int) -> bool:
    """Whether @tp ranks divide the heads and the MLP of @model."""
    widths = [model.heads, model.ffn, model.shared_ffn]
    return all(width % tp == 0 for width in widths) and (model.kv_heads % tp == 0 or tp % model.kv_heads == 0)


def linears(model: Model, tp: int, tokens: int, ep: int = 1) -> list[tuple[int, int, int]]:
    """(rows, in, out) of every linear layer of a rank: attention fused and by parts, MLP as Megatron-LM and as PyTorch
    have it, head, and one expert with balanced rows of @ep ranks."""
    h, heads = model.hidden, model.heads // tp
    found = []
    if model.kv_rank:
        qk = model.nope + model.rope
        if model.q_rank:
            found += [(tokens, h, model.q_rank), (tokens, model.q_rank, heads * qk)]
        else:
            found.append((tokens, h, heads * qk))
        found += [
            (tokens, h, model.kv_rank + model.rope),
            (tokens, model.kv_rank, heads * (model.nope + model.v_dim)),
            (tokens, heads * model.v_dim, h),
        ]
    else:
        q, kv = heads * model.head_dim, max(model.kv_heads // tp, 1) * model.head_dim
        found += [(tokens, h, q + 2 * kv), (tokens, h, kv), (tokens, q, h)]
    for ffn in (model.ffn // tp, model.shared_ffn // tp):
        if ffn:
            found += [(tokens, h, ffn), (tokens, ffn, h)]
            if model.gated:
                found.append((tokens, h, 2 * ffn))
    if model.experts:
        rows = max(tokens * model.per_token * ep // model.experts, 1)
        fe = model.expert_ffn
        found += [(rows, h, fe), (rows, fe, h)]
        if model.gated:
            found.append((rows, h, 2 * fe))
    if model.vocab:
        found.append((tokens, h, model.vocab // tp))
    return found


def products(
    models: Iterable[Model], tps: Iterable[int], tokens: Iterable[int], eps: Iterable[int] = (1,), multiple: int = 1
) -> list[Product]:
    """Every Product of F, I and W once, the largest first. @tokens: of micro-batches. @multiple: that all sizes must be
    of, else the product is left out."""
    found = set()
    for model in models:
        for tp in tps:
            if not can_share(model, tp):
                continue
            for count in tokens:
                for ep in eps:
                    for rows, inner, outer in linears(model, tp, count, ep):
                        found |= {
                            Product(rows, outer, inner, "F"),
                            Product(rows, inner, outer, "I"),
                            Product(outer, inner, rows, "W"),
                        }
    fits = [p for p in found if all(size % multiple == 0 for size in (p.m, p.n, p.k))]
    return sorted(fits, key=lambda p: (-p.m * p.n * p.k, p))


def attentions(models: Iterable[Model], tps: Iterable[int]) -> list[tuple[int, int, int]]:
    """(heads, key heads, size of a head) of each rank, once."""
    found = set()
    for model in models:
        for tp in tps:
            if not can_share(model, tp):
                continue
            if model.kv_rank:
                found.add((model.heads // tp, model.heads // tp, model.nope + model.rope))
            else:
                found.add((model.heads // tp, max(model.kv_heads // tp, 1), model.head_dim))
    return sorted(found, reverse=True)


def attention_slower(what: str, phase: str, seq: int, head: int, tiles: float, units: int) -> float:
    """How many times longer pipesim lets attention of sequences of @seq and heads of @head take than long ones of 128
    (src/transformer/kernel-times.c): @tiles of queries on @units multiprocessors. @what: sdpa, attention or flash."""
    narrow = max(1, math.sqrt(128 / head))
    if what == "attention":
        return narrow * (1 + 1400 / seq)
    if what == "flash":
        length, few = (300, 1.7) if phase == "F" else (1200, 0.95)
        return narrow * (1 + length / seq) * (1 + few * units / tiles)
    return narrow * (1 + (500 if phase == "F" else 1000) / seq) * (1 + 0.65 * units / tiles)
