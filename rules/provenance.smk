import snakemake as snakemake_package

# What it takes to run the workflow again, kept with the results.
WORKFLOW_FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "workflow/Snakefile",
        "rules/*.smk",
        "scripts/*.py",
        "envs/*.txt",
        "envs/*.lock",
        "models.lock.yaml",
    )
    for path in ROOT.glob(pattern)
)


rule manifest:
    input:
        ALL_RESULTS,
    output:
        manifest=f"{RESULTS}/provenance/manifest.json",
        crate=f"{RESULTS}/ro-crate-metadata.json",
        checksums=f"{RESULTS}/SHA256SUMS",
        configuration=f"{RESULTS}/provenance/configuration.json",
        figures=[f"{RESULTS}/provenance/figures/{figure}.json" for figure in FIGURES],
        workflow=[f"{RESULTS}/provenance/workflow/{name}" for name in WORKFLOW_FILES],
    log:
        f"{RESULTS}/logs/manifest.log",
    benchmark:
        f"{RESULTS}/benchmarks/manifest.tsv"
    conda:
        "../envs/analyse.yaml"
    container:
        CONTAINERS["analyse"]
    resources:
        mem_mb=memory(1000),
        runtime=minutes(30),
    params:
        image=image_digest("analyse"),
        code=code_digest("scripts/manifest.py"),
        workflow=WORKFLOW_FILES,
        # The copies are of what ran; an edited comment is no reason to make them anew.
        figures=list(FIGURES),
        configuration=sha256_json(
            {key: value for key, value in CONFIG.items() if key != "mirror"}
        ),
        title="; ".join(
            settings.get("title", study) for study, settings in STUDIES.items()
        ),
        licence="https://spdx.org/licenses/Apache-2.0",
        snakemake=snakemake_package.__version__,
    script:
        "../scripts/manifest.py"


localrules:
    manifest,
