"""The LLM judge: a sanity check of the deterministic scorers (paper section 3.3).

Four things that do not know each other: what a judge is shown (`prompts`), who is asked (`provider`, with `remote` and `local`), how a reply is read (`verdict`), and how two raters compare (`agreement`). `run` puts them together.
"""
