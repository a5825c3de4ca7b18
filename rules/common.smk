from taboo.config import complete
from taboo.plan import condition, groups, study_cells
from taboo.provenance.records import set_damaged_aside
from taboo.provenance.sources import source_digest

CONFIG = complete(config, ROOT / "workflow" / "schemas" / "config.schema.yaml")
RESULTS = CONFIG["results"]
GROUPS = groups(CONFIG)
STUDIES = {name: CONFIG["studies"][name] for name in CONFIG["run"]}
CONTAINERS = {role: f"{ROOT}/containers/{role}.sif" for role in ("generate", "analyse")}
FIGURES = {
    name: figure
    for name, figure in CONFIG["figures"].items()
    if set(figure["studies"]) & set(STUDIES)
}


def code_digest(*files):
    return source_digest(ROOT, *files)


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
        short = (
            f"{len(conditions)}_conditions_{conditions[0]}_to_{conditions[-1]}".replace(
                ".", ""
            )
        )
    return f"{stage}_{short}"


def group_pattern(members):
    return "|".join(re.escape(f"{g.model}/{g.precision}/{g.task}") for g in members)


def group_of(wildcards):
    model, precision, task = wildcards.group.split("/")
    return next(
        g for g in GROUPS if (g.model, g.precision, g.task) == (model, precision, task)
    )


def cell_files(stage, cells):
    return [f"{RESULTS}/{stage}/{cell.path}.parquet" for cell in cells]


CELLS = sorted({cell for study in STUDIES.values() for cell in study_cells(study)})
TABLES = [f"{RESULTS}/tables/{study}/cells.csv" for study in STUDIES]
ALL_RESULTS = [
    *cell_files("cells", CELLS),
    *cell_files("scores", CELLS),
    *TABLES,
    *(f"{RESULTS}/figures/{figure}.pdf" for figure in FIGURES),
]

if workflow.is_main_process and not workflow.dryrun:
    set_damaged_aside(RESULTS)


def generate_memory(group):
    """MB of host memory: the weights pass through it once, the rest is the process itself."""
    return int(3000 + 2200 * CONFIG["models"][group.model]["size_b"])


def prompt_digest(task):
    prompts = sorted((ROOT / "taboo" / "tasks" / "prompts").glob(f"{task}*"))
    return source_digest(ROOT, data=tuple(str(p.relative_to(ROOT)) for p in prompts))
