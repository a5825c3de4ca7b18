"""vLLM with a taboo logits processor, run by bench/generation.py in vLLM's own environment.

Reads one line of JSON (model, word-start kinds, prompts as token ids with their doses), then answers every further line by generating all of it once, prompts not cached from before.
"""

import json
import os
import sys

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")

import torch
from vllm import LLM, SamplingParams
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor
from vllm.v1.sample.logits_processor.builtin import process_dict_updates

from taboo.processor import intervene

KINDS = torch.empty(0, dtype=torch.uint8)


class Taboo(LogitsProcessor):
    """Masks each row at the dose in its request's `extra_args`."""

    def __init__(self, vllm_config: object, device: torch.device, is_pin_memory: bool):
        self.doses: dict[int, int] = {}

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        process_dict_updates(
            self.doses, batch_update, lambda params, _prompt, _output: params.extra_args["dose"]
        )

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        ranks = torch.tensor([self.doses.get(row, 0) for row in range(len(logits))])
        return intervene(logits, KINDS, ranks, torch.zeros(len(logits), dtype=torch.bool)).masked


def main() -> None:
    global KINDS
    work = json.loads(sys.stdin.readline())
    KINDS = torch.tensor(work["kinds"], dtype=torch.uint8)
    llm = LLM(
        work["model"],
        dtype="bfloat16",
        enable_prefix_caching=True,
        max_model_len=2048,
        max_num_seqs=len(work["requests"]),
        logits_processors=[Taboo],
    )
    prompts = [{"prompt_token_ids": ids} for ids, _ in work["requests"]]
    params = [
        SamplingParams(temperature=0, max_tokens=work["new_tokens"], extra_args={"dose": dose})
        for _, dose in work["requests"]
    ]
    print("TOKENS 0", flush=True)
    for _ in sys.stdin:
        llm.reset_prefix_cache()
        outputs = llm.generate(prompts, params, use_tqdm=False)
        made = sum(len(output.outputs[0].token_ids) for output in outputs)
        print(f"TOKENS {made}", flush=True)


if __name__ == "__main__":
    main()
