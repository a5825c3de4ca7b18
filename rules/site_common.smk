from taboo.site.pages import ASSETS, PAGES

# What the pages are made of besides code: templates, and what is copied as it is.
SITE_FILES = tuple(
    sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "taboo" / "site" / "templates").iterdir()
    )
)
SITE_PAGES = [*PAGES, *ASSETS]


def site_groups():
    """The cells that each file of data shows, each with what the tables say about it."""
    found = {}
    for name, study in STUDIES.items():
        for cell, spec in zip(study_cells(study), cell_specs(name)):
            group = (name, cell.model, cell.precision, cell.task)
            found.setdefault(group, []).append((cell, spec))
    return found


SITE_GROUPS = site_groups()
# Every file is a target, see ALL_RESULTS.
ALL_RESULTS += [
    *(f"{RESULTS}/site/{name}" for name in SITE_PAGES),
    *(
        f"{RESULTS}/site/figures/{figure}.{ending}"
        for figure in FIGURES
        for ending in ("html", "svg")
    ),
    *(f"{RESULTS}/site/data/{'/'.join(parts)}.js" for parts in SITE_GROUPS),
]


def site_digest(*files):
    """As `code_digest`, with the templates."""
    return sha256_json([code_digest(*files), source_digest(ROOT, data=SITE_FILES)])


def site_group_of(wildcards):
    """The cells of one file of data, each with its spec."""
    names = ("study", "model", "precision", "task")
    group = tuple(getattr(wildcards, name) for name in names)
    if group not in SITE_GROUPS:
        raise WorkflowError(f"no study to run has cells of {'/'.join(group)}")
    return SITE_GROUPS[group]


def site_cell_files(stage):
    return lambda wildcards: cell_files(
        stage, [cell for cell, _ in site_group_of(wildcards)]
    )
