"""How a generation fails that was right at baseline (paper, appendix A)."""

FAILURE_MODES = ("derailment", "repetition_loop", "wrong_answer", "truncation", "other")

# The scorer's fallback where no answer was stated: the last number of a text.
FALLBACK_RULES = frozenset({"last_number"})
NO_ANSWER = frozenset({"unparsed", "syntax_error"})
NO_VERDICT = frozenset({"timeout", "forbidden"})
# Rules that judge the whole text by its instructions, where nothing is an answer.
INSTRUCTION_RULES = frozenset({"strict", "forbidden_words"})


def failure_mode(outcome: str, rule: str, finish_reason: str, repetition: bool) -> str:
    """Return the failure mode of one wrong answer, from its score and from how its generation ended.

    - `other`: the scorer gave no verdict on an answer (a program that timed out or did what the sandbox forbids), or the text breaks an instruction of IFEval without one of the faults below.
    - `wrong_answer`: an answer was stated and it is wrong, whatever came after it.
    - `repetition_loop`: no answer was stated, and the text repeats a fragment until its end.
    - `truncation`: no answer was stated before the token budget ran out, without a loop.
    - `derailment`: the model ended its text without having stated an answer.

    The paper names derailment, loops and wrong answers without rules that tell them apart; the order above is ours.
    """
    if outcome in NO_VERDICT:
        return "other"
    if outcome not in NO_ANSWER and rule not in FALLBACK_RULES | INSTRUCTION_RULES:
        return "wrong_answer"
    if repetition:
        return "repetition_loop"
    if finish_reason == "length":
        return "truncation"
    stated = outcome not in NO_ANSWER and rule in INSTRUCTION_RULES
    return "other" if stated else "derailment"
