from snakemake.cli import get_argument_parser
from snakemake.exceptions import WorkflowError

from taboo.config import complete
from taboo.plan import groups, most_tokens, study_cells
from taboo.figures import figure_input
from taboo.files import sha256_file, sha256_json
from taboo.lock import LOCK
from taboo.judge.settings import judge_settings
from taboo.provenance.damage import report_damage, set_damaged_aside
from taboo.provenance.hold import ResultsInUse, hold
from taboo.provenance.sources import pinned_packages, source_digest
from taboo.stats import ANALYSES, analysis_module
from taboo.tasks import load_task

CONFIG = complete(
    config, ROOT / "workflow" / "schemas" / "config.schema.yaml", ROOT / LOCK
)
RESULTS = CONFIG["results"]
GROUPS = groups(CONFIG)
STUDIES = {name: CONFIG["studies"][name] for name in CONFIG["run"]}
CONTAINERS = {
    role: f"{ROOT}/containers/{role}.sif" for role in ("generate", "analyse", "judge")
}
# A figure is drawn from those of its studies that are run.
FIGURES = {
    name: {
        **figure,
        "studies": [study for study in figure["studies"] if study in STUDIES],
    }
    for name, figure in CONFIG["figures"].items()
    if set(figure["studies"]) & set(STUDIES)
}
REPRO = CONFIG["repro"]
JUDGE = judge_settings(CONFIG)
if not JUDGE:
    FIGURES.pop("judge", None)


def really_runs():
    """Whether this call will run jobs. Snakemake itself knows only once the Snakefile is read."""
    arguments = vars(get_argument_parser().parse_known_args()[0])
    only_looks = (
        "dryrun",
        "lint",
        "report",
        "summary",
        "detailed_summary",
        "dag",
        "rulegraph",
    )
    only_looks += (
        "filegraph",
        "list_rules",
        "list_target_rules",
        "unlock",
        "touch",
        "d3dag",
    )
    only_looks += ("cleanup_metadata", "generate_unit_tests", "containerize", "archive")
    only_looks += (
        "list_changes",
        "list_input_changes",
        "list_params_changes",
        "list_untracked",
    )
    only_looks += ("list_conda_envs", "delete_all_output", "delete_temp_output")
    return not any(arguments.get(name) for name in only_looks)


def code_digest(*files):
    """The code that a rule runs, and the pinned versions of the packages that this code imports."""
    return sha256_json([source_digest(ROOT, *files), pinned_packages(ROOT, *files)])


def module_file(name):
    return Path(*name.split(".")).with_suffix(".py").as_posix()


def groups_by_conditions():
    """Snakemake's outputs are fixed per rule, so there is one rule per set of conditions."""
    sets = {}
    for group in GROUPS:
        sets.setdefault(group.conditions, []).append(group)
    return sets


def rule_name(stage, conditions):
    """The stage alone where one rule serves all, else the stage and its conditions."""
    if len(groups_by_conditions()) == 1:
        return stage
    short = "_".join(name.replace("taboo_", "").replace(".", "") for name in conditions)
    if len(short) > 60:
        short = f"{len(conditions)}_conditions_{sha256_json(conditions)[:8]}"
    return f"{stage}_{short}"


def job_name(conditions):
    """What a job's log is called; a group has several jobs where its samples differ in size."""
    conditions = rule_name("", conditions).removeprefix("_")
    return f"{{group}}.{conditions}" if conditions else "{group}"


def group_pattern(members):
    """What `{group}` (model/precision/task) may be where these groups are made.

    Snakemake goes through the whole pattern for every file. So it goes by the form alone if all groups have the same conditions, and otherwise names each model once.
    """
    if len(groups_by_conditions()) == 1:
        return "[^/]+/[^/]+/[^/]+"
    models = {}
    for g in members:
        models.setdefault(f"{g.precision}/{g.task}", []).append(re.escape(g.model))
    places = {}
    for place, names in models.items():
        places.setdefault("|".join(names), []).append(re.escape(place))
    return "|".join(
        f"(?:{names})/(?:{'|'.join(found)})" for names, found in places.items()
    )


GROUP_OF = {(g.model, g.precision, g.task, g.conditions): g for g in GROUPS}


def of_group(conditions, value):
    """A function for Snakemake: `value` of the group that a job makes."""

    def of(wildcards):
        group = GROUP_OF.get((*wildcards.group.split("/"), conditions))
        if group is None:
            raise WorkflowError(f"no study to run has cells of {wildcards.group}")
        return value(group)

    return of


def cell_files(stage, cells):
    return [f"{RESULTS}/{stage}/{cell.path}.parquet" for cell in cells]


def cell_specs(study):
    """What the tables say about each cell of a study, besides its results."""
    return [
        {
            "study": study,
            "model": cell.model,
            **{
                key: CONFIG["models"][cell.model][key]
                for key in ("family", "size_b", "alignment")
            },
            "precision": cell.precision,
            "task": cell.task,
            "condition": cell.condition,
            "n": STUDIES[study]["tasks"][cell.task],
            "max_new_tokens": CONFIG["tasks"][cell.task]["max_new_tokens"],
        }
        for cell in study_cells(STUDIES[study])
    ]


CELLS = sorted({cell for study in STUDIES.values() for cell in study_cells(study)})
TABLES = [f"{RESULTS}/tables/{study}/cells.csv" for study in STUDIES]
ANALYSIS_TABLES = [
    f"{RESULTS}/tables/{study}/{analysis}.csv"
    for study, settings in STUDIES.items()
    for analysis in settings.get("analyses", [])
]
if JUDGE:
    ANALYSIS_TABLES.append(f"{RESULTS}/tables/{JUDGE.study}/judge.csv")
MODELS = {g.model for g in GROUPS} | set(REPRO["models"] if REPRO else [])
if JUDGE and JUDGE.provider == "local":
    MODELS.add(JUDGE.model)
SAMPLES = {(g.task, g.n) for g in GROUPS}
if REPRO:
    SAMPLES.add((REPRO["task"], REPRO["items"]))
# All that the network is needed for.
FETCHED = [
    *(f"{RESULTS}/snapshots/{model}/snapshot.json" for model in sorted(MODELS)),
    *(f"{RESULTS}/samples/{task}/n{n}.jsonl" for task, n in sorted(SAMPLES)),
]
# Every file is a target, since Snakemake does not notice that one is gone if what was made from it
# is there.
ALL_RESULTS = [
    *FETCHED,
    *(
        f"{RESULTS}/word_starts/{model}.safetensors"
        for model in sorted({g.model for g in GROUPS})
    ),
    *cell_files("cells", CELLS),
    *cell_files("scores", CELLS),
    *TABLES,
    *(f"{RESULTS}/tables/{study}/items.parquet" for study in STUDIES),
    *ANALYSIS_TABLES,
    *(
        f"{RESULTS}/tables/repro/{model}.{table}.csv"
        for model in (REPRO["models"] if REPRO else [])
        for table in ("stability", "noise", "distribution")
    ),
    f"{RESULTS}/claims/claims.csv",
    f"{RESULTS}/claims/claims.html",
    *(
        f"{RESULTS}/failures/{study}.html"
        for study, settings in STUDIES.items()
        if "failures" in settings.get("analyses", [])
    ),
    *(
        f"{RESULTS}/figures/{figure}.{ending}"
        for figure in FIGURES
        for ending in ("pdf", "png", "svg", "csv", "txt")
    ),
]

if workflow.is_main_process:
    if really_runs():
        try:
            HOLD = hold(RESULTS)
        except (ResultsInUse, OSError) as error:
            raise WorkflowError(str(error))
        set_damaged_aside(RESULTS)
    else:
        report_damage(RESULTS)


def prompt_digest(task):
    prompts = sorted((ROOT / "taboo" / "tasks" / "prompts").glob(f"{task}*"))
    return source_digest(ROOT, data=tuple(str(p.relative_to(ROOT)) for p in prompts))


def mirror_digest(task):
    """sha256 of a task's items in the mirror, wherever it lies; None where the records are pinned or come from the hub."""
    if CONFIG["mirror"] is None or CONFIG["tasks"][task]["sha256"] is not None:
        return None
    plain = Path(CONFIG["mirror"], load_task(task).mirror_file)
    packed = plain.with_name(f"{plain.name}.gz")
    return next((sha256_file(path) for path in (plain, packed) if path.is_file()), None)


include: "resources.smk"
include: "judge_common.smk"
