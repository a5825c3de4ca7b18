"""Loading, packing, precisions, and the description that goes into cell keys."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, LlamaConfig

from taboo.engine import describe, open_engine
from taboo.engine.loading import PackedLinear, check_architecture, free_memory
from tests.engine.conftest import SMALL

Paths = Callable[[str], Path]


@pytest.mark.parametrize("precision", ["bf16", "fp32", "nf4", "int8"])
def test_description_is_stable_json(precision: str, model_path: Paths) -> None:
    path = model_path("smollm2")
    description = describe(path, precision, device="cpu")
    assert (
        json.loads(json.dumps(description))
        == description
        == describe(path, precision, device="cpu")
    )
    assert description["eos_ids"] == [2]
    assert (description["quantization"] is None) == (precision in ("bf16", "fp32"))
    assert ("bitsandbytes" in description["libraries"]) == (precision in ("nf4", "int8"))


def test_batch_plan_is_described_only_where_bits_depend_on_it(model_path: Paths) -> None:
    path = model_path("smollm2")
    for precision in ("bf16", "fp32", "nf4"):
        assert describe(path, precision, device="cpu") == describe(
            path, precision, device="cpu", slots=7
        )
    plans = [describe(path, "int8", device="cpu", slots=slots)["batch_plan"] for slots in (None, 7)]
    assert [plan["slots"] for plan in plans] == [32, 7]
    assert describe(path, "bf16", "hf", device="cpu")["batch_plan"] == {"slots": 8}


def test_eos_is_the_union_of_its_sources(model_path: Paths, tmp_path: Path) -> None:
    import shutil

    path = shutil.copytree(model_path("qwen2"), tmp_path / "model")
    (path / "generation_config.json").write_text('{"eos_token_id": [5, 9]}')
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "eos_token_id": 11}))
    tokenizer = json.loads((path / "tokenizer_config.json").read_text())
    assert describe(path, "bf16", device="cpu")["eos_ids"] == sorted({2, 5, 9, 11})
    assert tokenizer["eos_token"] == "<|im_end|>"


def test_unknown_names_are_refused_by_name(model_path: Paths) -> None:
    path = model_path("qwen2")
    with pytest.raises(ValueError, match="unknown precision 'fp8': there are bf16, fp32"):
        open_engine(path, "fp8")
    for missing in ("/nonexistent", "org/name", path.parent):
        with pytest.raises(FileNotFoundError, match=f"{missing} is no folder of a model"):
            open_engine(missing)
    with pytest.raises(ValueError, match="unknown engine 'magic'"):
        describe(path, "bf16", "magic")


def test_architectures_it_cannot_run_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"architecture 'gpt2' .*HuggingFaceEngine. runs it"):
        check_architecture(GPT2Config())
    dynamic = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    with pytest.raises(ValueError, match="rope type 'dynamic'"):
        check_architecture(LlamaConfig(rope_parameters=dynamic))
    check_architecture(LlamaConfig())


def test_slots_and_length_are_checked(model_path: Paths) -> None:
    with pytest.raises(ValueError, match="slots must be at least 1, not 0"):
        open_engine(model_path("qwen2"), slots=0)
    with pytest.raises(ValueError, match="max_length must be from 2 to the model's 1024, not 2000"):
        open_engine(model_path("qwen2"), max_length=2000)


def test_a_word_start_table_of_another_model_is_refused(model_path: Paths) -> None:
    import numpy as np

    from taboo.word_starts import WordStarts

    table = WordStarts(np.ones(100, dtype=np.uint8), "Ġ")
    with pytest.raises(ValueError, match="100 entries, the model's logits 49216 columns"):
        open_engine(model_path("qwen2"), word_starts=table, device="cpu")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("shape", [(96, 64), (576, 1536), (37, 48)])
def test_a_packed_layer_gives_a_row_the_same_bits_in_any_batch(
    dtype: torch.dtype, shape: tuple[int, int]
) -> None:
    if not torch.backends.mkldnn.is_available():
        pytest.skip("this build of torch has no oneDNN, so nothing is packed")
    torch.manual_seed(0)
    linear = torch.nn.Linear(shape[1], shape[0]).to(dtype).requires_grad_(False)
    packed = PackedLinear(linear)
    rows = torch.randn(65, shape[1]).to(dtype)
    whole = packed(rows)
    assert torch.allclose(whole.float(), linear(rows).float(), atol=0.1, rtol=0.05)
    for count in (2, 3, 4, 8, 17, 64):
        assert torch.equal(packed(rows[:count].contiguous()), whole[:count])
        assert torch.equal(packed(rows[-count:].contiguous()), whole[-count:])


@pytest.mark.parametrize("name", SMALL)
def test_only_the_text_part_is_kept_and_linears_are_packed(name: str, model_path: Paths) -> None:
    model = open_engine(model_path(name), device="cpu").model
    kinds = [type(module) for module in model.modules()]
    assert not any("Vision" in kind.__name__ for kind in kinds)
    assert (kinds.count(PackedLinear) > 0) == torch.backends.mkldnn.is_available()
    assert torch.nn.Linear not in kinds or not torch.backends.mkldnn.is_available()


def test_free_memory_is_no_more_than_the_machine_has() -> None:
    import os

    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < free_memory(torch.device("cpu")) <= total
