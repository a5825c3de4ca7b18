"""Loading items, drawing samples, writing them down."""

import gzip
import json
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo.files import sha256_file
from taboo.tasks import TASKS, TaskError, load_task
from taboo.tasks.sampling import digest, load_items, read_sample, seeded_sample, write_sample

PUBLISHED = {
    "gsm8k": (1319, "32c548f08195e19e33408b844dd7be6aa4bcae457d957bc05909ff4bd4a00595"),
    "mmlu": (14042, "c808c0f63ddd07ec0f68739ffce3cdded3a92c50076cb9f0d9533b2bcee39ce1"),
    "triviaqa": (7993, "95d7a5bcb6ec6e16ba04289d23704421b88dbfa13687f8eb9717cea7d94a48a7"),
    "humaneval": (164, "e5ea46f61edfa7e3cbd5a86af0fb11e4a8a1048d9b905f2436be8bcdcf66f6d6"),
    "ifeval": (541, "776807cd6534c8149791358883f669332e7fdc02670fa0d10f1e5978d9755a06"),
}
GSM8K = load_task("gsm8k")
MMLU = load_task("mmlu")


def records(number):
    return [{"question": f"What is {n} + 1?", "answer": f"#### {n + 1}"} for n in range(number)]


def mirror(folder, lines, name=GSM8K.mirror_file, join=b"\n", pack=bytes):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = join.join(
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines
    )
    path.write_bytes(pack(data))
    return folder


def items(number, strata=("x",)):
    return [{"item_id": str(n), "stratum": strata[n % len(strata)]} for n in range(number)]


# ------------------------------------------------------------ loading


def test_a_mirror_is_read(tmp_path):
    loaded = load_items(GSM8K, mirror(tmp_path, records(3)))
    assert [item["item_id"] for item in loaded] == ["gsm8k/0", "gsm8k/1", "gsm8k/2"]
    assert loaded[2] == {"item_id": "gsm8k/2", **records(3)[2]}


def test_a_packed_mirror_is_the_same(tmp_path):
    plain = load_items(GSM8K, mirror(tmp_path / "a", records(3)))
    name = GSM8K.mirror_file + ".gz"
    packed = load_items(GSM8K, mirror(tmp_path / "b", records(3), name, pack=gzip.compress))
    assert packed == plain


def test_lines_end_at_line_feeds_alone(tmp_path):
    """U+2028, U+0085, form feeds and carriage returns occur inside strings."""
    odd = "a\u2028b\u0085c\x0cd\x1ce"
    record = {"question": odd, "answer": "#### 1"}
    line = json.dumps(record, ensure_ascii=False).encode()
    loaded = load_items(GSM8K, mirror(tmp_path, [line, line + b"\r", b""]))
    assert [item["question"] for item in loaded] == [odd, odd]


def test_the_digest_is_of_the_records_however_they_are_written(tmp_path):
    wanted = digest(records(2))
    spaced = [json.dumps(dict(reversed(r.items())), indent=None).encode() for r in records(2)]
    loaded = load_items(GSM8K, mirror(tmp_path, spaced), records=2, sha256=wanted)
    assert digest(loaded) == wanted
    extra = [{**record, "source": "elsewhere"} for record in records(2)]
    assert load_items(GSM8K, mirror(tmp_path, extra), sha256=wanted) == loaded


def test_a_missing_mirror_names_what_was_expected(tmp_path):
    with pytest.raises(TaskError, match=r"expected .*gsm8k/test.jsonl or test.jsonl.gz beside it"):
        load_items(GSM8K, tmp_path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "holds no records"),
        ([b"{oops"], r"line 1, is not valid JSON"),
        ([b"\xff\xfe"], "can't be read"),
        ([{"question": "?", "answer": "#### 1"}, {"question": "?"}], "record 1: `answer` must be"),
        ([{"question": "", "answer": "#### 1"}], "record 0: `question` must be text"),
        ([{"question": "?", "answer": "1"}], "after `####`"),
        ([["question"]], "record 0: `question` must be text"),
        ([7], "record 0"),
    ],
)
def test_a_wrong_mirror_names_the_file_and_the_record(tmp_path, lines, message):
    with pytest.raises(TaskError, match=message) as caught:
        load_items(GSM8K, mirror(tmp_path, lines))
    assert "test.jsonl" in str(caught.value)


def test_a_torn_packed_mirror_is_an_error(tmp_path):
    name = GSM8K.mirror_file + ".gz"
    mirror(tmp_path, records(50), name, pack=lambda data: gzip.compress(data)[:-20])
    with pytest.raises(TaskError, match=r"test.jsonl.gz can't be read"):
        load_items(GSM8K, tmp_path)


def test_count_and_digest_are_checked(tmp_path):
    folder = mirror(tmp_path, records(3))
    with pytest.raises(TaskError, match="holds 3 records, expected 4"):
        load_items(GSM8K, folder, records=4)
    with pytest.raises(TaskError, match=f"have sha256 {digest(records(3))}, expected 00"):
        load_items(GSM8K, folder, sha256="00")


def test_two_records_of_one_id_are_an_error(tmp_path):
    task = load_task("humaneval")
    record = dict.fromkeys(("task_id", "prompt", "entry_point", "canonical_solution", "test"), "x")
    with pytest.raises(TaskError, match="records 0 and 1 have the same id x"):
        load_items(task, mirror(tmp_path, [record, record], task.mirror_file))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choices": ["a", "b", "c"]}, "4 texts, found 3"),
        ({"choices": "abcd"}, "list of texts"),
        ({"choices": ["a", "b", "c", 4]}, "list of texts"),
        ({"answer": 4}, "from 0 to 3, found 4"),
        ({"answer": "B"}, "from 0 to 3, found 'B'"),
        ({"answer": True}, "from 0 to 3, found True"),
        ({"subject": None}, "`subject` must be text"),
    ],
)
def test_a_wrong_mmlu_record(change, message):
    record = {"subject": "law", "question": "?", "choices": list("abcd"), "answer": 1, **change}
    with pytest.raises(TaskError, match=message):
        MMLU.read(record, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": "1"}, "`key` must be a whole number"),
        ({"instruction_id_list": []}, "is empty"),
        ({"kwargs": []}, "one object per instruction"),
        ({"kwargs": [None]}, "must hold objects"),
        ({"prompt": " "}, "`prompt` must be text"),
    ],
)
def test_a_wrong_ifeval_record(change, message):
    record = {"key": 1, "prompt": "?", "instruction_id_list": ["a:b"], "kwargs": [{}], **change}
    with pytest.raises(TaskError, match=message):
        load_task("ifeval").read(record, 0)


@pytest.mark.parametrize("change", [{"answer": None}, {"answer": {}}, {"answer": {"value": "x"}}])
def test_a_wrong_triviaqa_record(change):
    record = {
        "question_id": "q",
        "question": "?",
        "answer": {"value": "x", "aliases": []},
        **change,
    }
    with pytest.raises(TaskError, match="answer"):
        load_task("triviaqa").read(record, 0)


def test_items_that_can_not_be_scored_are_left_out_and_named(benchmarks, caplog):
    task = load_task("ifeval")
    loaded = load_items(task, benchmarks, records=541, sha256=PUBLISHED["ifeval"][1])
    assert len(loaded) == 539
    assert [record.args[1] for record in caplog.records] == ["ifeval/1122", "ifeval/1129"]
    assert "counts letters, and '#' is none" in caplog.text


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_records(benchmarks, name):
    task = load_task(name)
    number, sha256 = PUBLISHED[name]
    loaded = load_items(task, benchmarks, records=number, sha256=sha256)
    assert len({item["item_id"] for item in loaded}) == len(loaded) >= number - 2


def test_the_control_keeps_the_prompts_that_forbid_words(benchmarks):
    loaded = load_items(load_task("ifeval_forbidden_words"), benchmarks, records=541)
    assert len(loaded) == 49
    assert all("keywords:forbidden_words" in item["instruction_id_list"] for item in loaded)


@pytest.mark.parametrize("name", TASKS)
def test_the_demo_items(root, name):
    task = load_task(name)
    loaded = load_items(task, root / "config" / "demo_items")
    fewest = {"ifeval": 12, "ifeval_forbidden_words": 3}
    assert len(loaded) >= fewest.get(name, 32)


# ------------------------------------------------------------ sampling


@given(
    st.integers(1, 60),
    st.integers(0, 2**63),
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6),
)
def test_samples_are_nested_and_have_no_repetitions(number, seed, strata):
    pool = items(number, strata)
    whole = seeded_sample(pool, number, seed, lambda item: item["stratum"])
    assert sorted(item["item_id"] for item in whole) == sorted(item["item_id"] for item in pool)
    for n in range(1, number):
        assert seeded_sample(pool, n, seed, lambda item: item["stratum"]) == whole[:n]


@given(st.integers(0, 2**63), st.randoms())
def test_the_order_depends_on_the_seed_and_the_ids_alone(seed, shuffler):
    pool = items(40, "abc")
    shuffled = pool[:]
    shuffler.shuffle(shuffled)
    by_stratum = {"stratum": lambda item: item["stratum"]}
    assert seeded_sample(pool, 20, seed, **by_stratum) == seeded_sample(
        shuffled, 20, seed, **by_stratum
    )
    state = random.getstate()
    seeded_sample(pool, 20, seed)
    assert random.getstate() == state


def test_the_order_is_the_same_everywhere():
    """Written out: any platform and Python version must give these."""
    drawn = seeded_sample(items(30, "aabbc"), 8, 20260810, lambda item: item["stratum"])
    assert [item["item_id"] for item in drawn] == EXPECTED


EXPECTED = ["25", "13", "24", "26", "3", "10", "2", "19"]


def test_other_seeds_draw_other_samples():
    drawn = {
        tuple(item["item_id"] for item in seeded_sample(items(100), 10, seed)) for seed in range(50)
    }
    assert len(drawn) == 50


def test_every_item_is_equally_likely():
    counts = Counter(
        item["item_id"] for seed in range(2000) for item in seeded_sample(items(20), 5, seed)
    )
    assert all(430 < counts[str(n)] < 570 for n in range(20))  # 500 expected, deviation 19


@settings(max_examples=50)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=8), st.integers(0, 2**32))
def test_no_beginning_could_be_better_balanced(sizes, seed):
    """No move of one place from a stratum to another lowers the sum of (count - share)²/size."""
    pool = [
        {"item_id": f"{name}/{n}", "stratum": str(name)}
        for name, size in enumerate(sizes)
        for n in range(size)
    ]
    order = seeded_sample(pool, len(pool), seed, lambda item: item["stratum"])
    counts = dict.fromkeys(range(len(sizes)), 0)
    for n, item in enumerate(order, start=1):
        counts[int(item["stratum"])] += 1
        excess = [counts[s] - Fraction(n * sizes[s], len(pool)) for s in counts]
        # Taking one from a changes the sum by (1 - 2 excess_a)/size_a, giving one to b by ...
        loss = min((1 - 2 * excess[s]) / sizes[s] for s in counts if counts[s])
        gain = (
            min((1 + 2 * excess[s]) / sizes[s] for s in counts if counts[s] < sizes[s])
            if n < len(pool)
            else 0
        )
        assert n == len(pool) or loss + gain >= 0


def test_mmlu_subjects_in_the_samples_of_the_paper(benchmarks):
    pool = load_items(MMLU, benchmarks)
    sizes = Counter(map(MMLU.stratum, pool))
    for n in (100, 500):
        drawn = Counter(map(MMLU.stratum, seeded_sample(pool, n, 20260810, MMLU.stratum)))
        assert set(drawn) == set(sizes)
        assert len(sizes) == 57
        assert all(abs(drawn[name] - n * sizes[name] / len(pool)) < 1.5 for name in sizes)


@pytest.mark.parametrize("n", [0, -1, 4])
def test_a_sample_that_can_not_be_drawn_says_so(n):
    with pytest.raises(TaskError, match=f"a sample of {n} items was asked for, there are 3"):
        seeded_sample(items(3), n, 0)


# ------------------------------------------------------------ sample files


@pytest.mark.parametrize("name", TASKS)
def test_a_sample_file_reads_back(root, tmp_path, name):
    task = load_task(name)
    drawn = seeded_sample(load_items(task, root / "config" / "demo_items"), 3, 1, task.stratum)
    path = write_sample(tmp_path / "n3.jsonl", task, drawn)
    lines = read_sample(path)
    assert [line["item_id"] for line in lines] == [item["item_id"] for item in drawn]
    for line, item in zip(lines, drawn, strict=True):
        assert {"item_id": line["item_id"], **line["item"]} == item
        assert line["prompt"].startswith(line["prefix"])
        assert line["chat"] == name.startswith("ifeval")
    again = write_sample(tmp_path / "again.jsonl", task, drawn)
    assert sha256_file(again) == sha256_file(path)


def test_a_smaller_sample_is_the_beginning_of_a_larger_one(root, tmp_path):
    pool = load_items(MMLU, root / "config" / "demo_items")
    small, large = (
        write_sample(tmp_path / f"n{n}.jsonl", MMLU, seeded_sample(pool, n, 7, MMLU.stratum))
        for n in (10, 30)
    )
    assert large.read_bytes().startswith(small.read_bytes())


def test_a_wrong_sample_file_names_the_line(tmp_path):
    path = tmp_path / "n1.jsonl"
    path.write_text('{"item_id": "a"}\n')
    with pytest.raises(TaskError, match=r"n1.jsonl, line 1: a sample line has chat, item"):
        read_sample(path)
