"""Is the same run the same? Stability of generations: bitwise, semantic, distributional, and under noise.

Three levels: the tokens of a greedy generation are the same bits under another batch, order or thread count (bitwise); its answer is the same even where its text is not (semantic); and the share of right answers of two independent blocks of samples agrees as it would if both came from one distribution (distributional). The noise curve shows the mechanism: a change of the logits as small as a rounding error turns the choice where the two best tokens are near each other, and hardly elsewhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

STABILITY_COLUMNS = [
    "engine",
    "precision",
    "setting",
    "reference",
    "n",
    "identical",
    "same_tokens",
    "same_text",
    "same_answer",
    "accuracy",
    "reference_accuracy",
    "median_first_difference",
    "median_same_length",
    "median_margin_at_difference",
    "median_margin",
]
NOISE_COLUMNS = [
    "scale",
    "generations",
    "steps",
    "changed_steps",
    "changed_generations",
    "median_margin_changed",
    "median_margin_kept",
]
DISTRIBUTION_COLUMNS = [
    "item_id",
    "samples_per_block",
    "share_first",
    "share_second",
    "total_variation",
    "expected_total_variation",
    "p_value",
]


def stability(
    rows: Iterable[Mapping[str, Any]], answers: Mapping[tuple[str, str, str], tuple[Any, bool]]
) -> pd.DataFrame:
    """One row per setting of an audit: how many of its generations are those of the reference.

    `rows` come from `taboo.engine.audit.run`. `answers` maps (setting, item_id, condition) to the answer read from the text and whether it is right. Shares are of the n generations; `same_answer` also counts texts that differ but say the same; medians of margins are in bits, those at differences over the generations that have one (empty where none has).
    """
    frame = pd.DataFrame(list(rows))
    keys = list(zip(frame["setting"], frame["item_id"], frame["condition"], strict=True))
    known = list(zip(frame["reference"], frame["item_id"], frame["condition"], strict=True))
    frame["same_answer"] = [
        answers[key][0] == answers[reference][0] for key, reference in zip(keys, known, strict=True)
    ]
    frame["right"] = [answers[key][1] for key in keys]
    frame["reference_right"] = [answers[reference][1] for reference in known]
    result = []
    for (engine, precision, setting), group in frame.groupby(
        ["engine", "precision", "setting"], sort=False
    ):
        differing = group[~group["same_tokens"].astype(bool)]
        result.append(
            {
                "engine": engine,
                "precision": precision,
                "setting": setting,
                "reference": group["reference"].iloc[0],
                "n": len(group),
                "identical": group["identical"].mean(),
                "same_tokens": group["same_tokens"].mean(),
                "same_text": group["same_text"].mean(),
                "same_answer": group["same_answer"].mean(),
                "accuracy": group["right"].mean(),
                "reference_accuracy": group["reference_right"].mean(),
                "median_first_difference": _median(differing["first_difference"]),
                "median_same_length": _median(group["same_length"]),
                "median_margin_at_difference": _median(differing["margin"]),
                "median_margin": _median(group["usual_margin"]),
            }
        )
    return pd.DataFrame(result, columns=STABILITY_COLUMNS)


def noise(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per noise scale: the share of steps, and of whole generations, that it changes.

    `rows` come from `taboo.engine.audit.noise_curve`. Margins are medians, in bits, over generations of the medians over their changed and their kept steps.
    """
    frame = pd.DataFrame(list(rows))
    result = [
        {
            "scale": scale,
            "generations": len(group),
            "steps": int(group["steps"].sum()),
            "changed_steps": group["changed"].sum() / group["steps"].sum(),
            "changed_generations": (group["changed"] > 0).mean(),
            "median_margin_changed": _median(group["margin_changed"]),
            "median_margin_kept": _median(group["margin_kept"]),
        }
        for scale, group in frame.groupby("scale")
    ]
    return pd.DataFrame(result, columns=NOISE_COLUMNS)


def distributions(
    first: Mapping[str, Sequence[Any]],
    second: Mapping[str, Sequence[Any]],
    permutations: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """One row per item: do two blocks of samples look like draws from one distribution?

    `first` and `second` map item ids to the labels of their samples (an answer, or whether it is right), as many in one block as in the other. `total_variation` is half the summed difference of the label shares, `expected_total_variation` its mean over random reassignments of the samples to the blocks, `p_value` the share of reassignments (and the blocks as they are) with as large a value. `share_first` and `share_second` are the shares of the label that is most frequent over both.

    Raises ValueError, naming the item, if the blocks differ in items or in size.
    """
    if first.keys() != second.keys():
        raise ValueError(
            f"items of one block only: {sorted(first.keys() ^ second.keys(), key=str)[:5]}"
        )
    rows = []
    for index, item in enumerate(sorted(first)):
        if len(first[item]) != len(second[item]) or not first[item]:
            raise ValueError(
                f"item {item}: {len(first[item])} and {len(second[item])} samples; both blocks need "
                "the same number, at least one"
            )
        labels = [*first[item], *second[item]]
        codes, names = pd.factorize(pd.Series(labels, dtype=object), use_na_sentinel=False)
        one_hot = np.eye(len(names))[codes]
        size = len(first[item])
        observed = _total_variation(one_hot, size)
        random = np.random.default_rng([seed, index])
        shuffled = np.array(
            [_total_variation(random.permutation(one_hot), size) for _ in range(permutations)]
        )
        common = one_hot.sum(0).argmax()
        rows.append(
            {
                "item_id": item,
                "samples_per_block": size,
                "share_first": one_hot[:size, common].mean(),
                "share_second": one_hot[size:, common].mean(),
                "total_variation": observed,
                "expected_total_variation": shuffled.mean(),
                "p_value": (1 + (shuffled >= observed - 1e-12).sum()) / (1 + permutations),
            }
        )
    return pd.DataFrame(rows, columns=DISTRIBUTION_COLUMNS)


def _total_variation(one_hot: np.ndarray, size: int) -> float:
    return float(np.abs(one_hot[:size].mean(0) - one_hot[size:].mean(0)).sum() / 2)


def _median(values: pd.Series) -> float:
    known = pd.to_numeric(values).dropna()
    return float(known.median()) if len(known) else float("nan")
