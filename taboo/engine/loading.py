"""From a model folder to a model that runs, and the description of what decides its bits."""

import logging
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    GenerationConfig,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

Precision = Literal["bf16", "fp32", "nf4", "int8"]

ENGINE_VERSION = 1
"""Raised by hand whenever a change of an engine changes the bits it produces."""

ARCHITECTURES = ("llama", "qwen2", "gemma3_text", "olmo2")
"""Model types whose attention the slot engine is tested with; a multimodal model counts by its text part."""

FIXED_SLOTS, FIXED_LENGTH = 32, 2048
"""The batch plan where results depend on it and the caller names none."""
HF_BATCH_SIZE = 8
"""Batch size of Hugging Face `generate` where the caller names none."""

_CPU_FEATURES = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "avx512_vnni", "amx_bf16", "sve")


def describe(
    model_path: str | Path,
    precision: str,
    engine: str = "slots",
    device: str | None = None,
    slots: int | None = None,
    max_length: int | None = None,
) -> dict[str, Any]:
    """What, beside the weights and the request, decides the bits of a generation, as JSON values.

    Reads the configuration and the tokenizer of the model, not its weights. `slots` and `max_length` are those the engine will be opened with; they are part of the description only where results depend on them, see `batch_plan`.

    Raises ValueError for an unknown precision or engine and for an architecture the engine can't run.
    """
    check_precision(precision)
    check_folder(model_path)
    config = AutoConfig.from_pretrained(model_path)
    kind = torch.device(device or default_device()).type
    if engine == "slots":
        check_architecture(config)
    elif engine != "hf":
        raise ValueError(f"unknown engine {engine!r}: there are 'slots' and 'hf'")
    return {
        "engine": engine,
        "version": ENGINE_VERSION,
        "precision": precision,
        "quantization": quantization_settings(precision),
        "batch_plan": batch_plan(config, precision, engine, kind, slots, max_length),
        "eos_ids": sorted(eos_ids(model_path, config, load_tokenizer(model_path))),
        "machine": machine_kind(kind),
        "libraries": {
            name: version(name)
            for name in ("torch", "transformers", "tokenizers")
            + (("bitsandbytes",) if precision in ("nf4", "int8") else ())
        },
    }


def batch_plan(
    config: PretrainedConfig,
    precision: str,
    engine: str,
    device_type: str,
    slots: int | None,
    max_length: int | None,
) -> dict[str, int] | None:
    """Rows and positions of a step where results depend on them, None where they do not.

    They do on a GPU, whose libraries choose kernels by shape, with int8, which treats a batch's outliers together, and in Hugging Face `generate`, whose batches share their padding. There the plan must not follow from free memory, so it has defaults.
    """
    if engine == "hf":
        return {"slots": slots or HF_BATCH_SIZE}
    if device_type == "cpu" and precision != "int8":
        return None
    limit = config.get_text_config().max_position_embeddings
    return {
        "slots": slots or FIXED_SLOTS,
        "max_length": max_length or min(limit, FIXED_LENGTH),
    }


def check_precision(precision: str) -> None:
    """Raise ValueError unless `precision` is one of the known ones."""
    if precision not in get_args(Precision):
        raise ValueError(
            f"unknown precision {precision!r}: there are {', '.join(get_args(Precision))}"
        )


def check_folder(model_path: str | Path) -> None:
    """Raise FileNotFoundError unless `model_path` is a model's folder; names of the hub are none."""
    if not Path(model_path, "config.json").is_file():
        raise FileNotFoundError(
            f"{model_path} is no folder of a model: there is no config.json in it"
        )


def default_device() -> str:
    """A GPU where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def machine_kind(device_type: str) -> dict[str, Any]:
    """The kind of machine, as far as results depend on it: not its name, and not its threads."""
    if device_type == "cuda":
        return {
            "device": torch.cuda.get_device_name(),
            "capability": list(torch.cuda.get_device_capability()),
            "cuda": torch.version.cuda,
        }
    return {
        "device": "cpu",
        "architecture": platform.machine(),
        "kernels": torch.backends.cpu.get_cpu_capability(),
        "features": cpu_features(),
        "onednn": torch.backends.mkldnn.is_available(),
    }


def cpu_features() -> list[str]:
    """Instruction sets that matrix kernels choose by, from the system's own list."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return []
    flags = {
        flag
        for line in text.splitlines()
        if line.startswith(("flags", "Features"))
        for flag in line.split(":", 1)[1].split()
    }
    return [name for name in _CPU_FEATURES if name in flags]


def quantization_settings(precision: str) -> dict[str, Any] | None:
    """The bitsandbytes settings of a precision (paper section 3.1: nf4 with bf16 compute)."""
    if precision == "nf4":
        return {
            "load_in_4bit": True,
            "bnb_4bit_quant_type": "nf4",
            "bnb_4bit_use_double_quant": False,
            "bnb_4bit_compute_dtype": "bfloat16",
        }
    if precision == "int8":
        return {"load_in_8bit": True, "llm_int8_threshold": 6.0}
    return None


def check_architecture(config: PretrainedConfig) -> None:
    """Raise ValueError, naming it, for an architecture the slot engine can't run."""
    text = config.get_text_config()
    if text.model_type not in ARCHITECTURES:
        raise ValueError(
            f"the slot engine cannot run the architecture {text.model_type!r} "
            f"(it runs {', '.join(ARCHITECTURES)}); as a library, `taboo.engine.hf.HuggingFaceEngine` runs it"
        )
    scaling = text.rope_parameters or {}
    kinds = [
        part.get("rope_type") for part in (scaling, *scaling.values()) if isinstance(part, Mapping)
    ]
    for kind in {"dynamic", "longrope"}.intersection(kinds):
        raise ValueError(
            f"rope type {kind!r} rescales all rows by the longest one in the batch, which the "
            "slot engine cannot run reproducibly; as a library, `taboo.engine.hf.HuggingFaceEngine` runs it"
        )
    if getattr(text, "use_bidirectional_attention", False):
        raise ValueError("the slot engine cannot run a model with bidirectional attention")


def load_tokenizer(model_path: str | Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a model folder."""
    return AutoTokenizer.from_pretrained(model_path)


def eos_ids(
    model_path: str | Path, config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase
) -> set[int]:
    """The tokens that end a generation: those of model, generation config and tokenizer together.

    Raises ValueError if none of them names one.
    """
    path = Path(model_path)
    named = [config.get_text_config().eos_token_id, tokenizer.eos_token_id]
    if hasattr(config, "eos_token_id"):
        named.append(config.eos_token_id)
    if (path / "generation_config.json").is_file():
        named.append(GenerationConfig.from_pretrained(path).eos_token_id)
    found: set[int] = set()
    for ids in named:
        found.update(ids if isinstance(ids, list | tuple) else [] if ids is None else [ids])
    if not found:
        raise ValueError(f"{path}: neither config, generation config nor tokenizer names an EOS")
    return found


def load_model(
    model_path: str | Path, precision: str, device: torch.device, attention: str
) -> PreTrainedModel:
    """The model for text, ready to run on `device` with the attention implementation named.

    Of a multimodal checkpoint only the language model is kept.
    """
    check_precision(precision)
    check_folder(model_path)
    settings = quantization_settings(precision)
    if precision == "int8":
        # It warns at every call that activations are cast to float16, which is how int8 works.
        logging.getLogger("bitsandbytes.autograd._functions").setLevel(logging.ERROR)
    model: Any = AutoModelForCausalLM.from_pretrained(
        model_path,
        dtype=torch.float32 if precision == "fp32" else torch.bfloat16,
        attn_implementation=attention,
        device_map={"": device},
        quantization_config=BitsAndBytesConfig(**settings) if settings else None,
        local_files_only=True,
    )
    if model.config.get_text_config() is not model.config:
        model = _text_part(model, attention)
    return model.eval().requires_grad_(False)


def _text_part(model: Any, attention: str) -> Any:
    config = model.config.get_text_config()
    with torch.device("meta"):
        text = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    setattr(text, text.base_model_prefix, model.get_decoder())
    text.set_output_embeddings(model.get_output_embeddings())
    text.generation_config = model.generation_config
    return text


class PackedLinear(torch.nn.Module):
    """A linear layer whose weight lies in the layout that oneDNN's kernels want.

    The packed product gives each row the same bits whatever the other rows are, from two rows up, in bfloat16 and float32, and spares reordering the weight at every call.
    """

    _ROWS_HINT = 32

    def __init__(self, linear: torch.nn.Linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        weight = linear.weight.detach()
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, self._ROWS_HINT)
        self.bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """`input` [..., in_features] times the weight, plus the bias."""
        return torch.ops.mkldnn._linear_pointwise(input, self.packed, self.bias, "none", [], "")


def pack_linears(model: PreTrainedModel) -> None:
    """Replace the plain linear layers of a model on a CPU by packed ones (bits are as good as kept).

    Quantised layers are left alone. A weight that nothing else uses is freed.
    """
    for module in model.modules():
        for name, child in module.named_children():
            if type(child) is torch.nn.Linear:
                setattr(module, name, PackedLinear(child))


def free_memory(device: torch.device) -> int:
    """Bytes that can still be allocated on a device; on a CPU within the job's own limit."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    group = Path("/sys/fs/cgroup") / _read("/proc/self/cgroup").strip().rpartition("::/")[2]
    for folder in (group, *group.parents):
        limit, used = _read(folder / "memory.max").strip(), _read(folder / "memory.current").strip()
        if limit.isdigit() and used.isdigit():
            free = min(free, int(limit) - int(used))
        if folder == Path("/sys/fs/cgroup"):
            break
    return max(free, 0)


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
