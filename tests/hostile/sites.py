"""Every public callable, with arguments that work."""

from collections.abc import Iterator
from dataclasses import replace

from hostile.device_sites import design_sites, device_sites
from hostile.examples import Examples, Site
from hostile.file_sites import file_sites
from hostile.mechanism_sites import (
    channel_sites,
    constructors,
    constructors_of_grid,
    count_sites,
    mechanism_sites,
)
from hostile.model_sites import (
    document_sites,
    joint_sites,
    model_sites,
    pooling_sites,
    posterior_sites,
    result_sites,
    unknown_sites,
)
from hostile.planning_sites import goal_sites, planning_sites, precision_sites, privacy_sites
from hostile.regression_sites import regression_sites
from hostile.survey_sites import (
    page_file_sites,
    page_sites,
    questionnaire_sites,
    sheet_file_sites,
    survey_sites,
    weighted_sites,
)


def sites(e: Examples) -> list[Site]:
    """Every public callable."""
    made = list(constructors(e))
    found = [
        *made,
        *constructors_of_grid({site.name for site in made}),
        *channel_sites(e),
        *device_sites(),
        *mechanism_sites(e),
        *count_sites(e),
        *model_sites(e),
        *result_sites(e),
        *joint_sites(e),
        *document_sites(e),
        *privacy_sites(e),
        *planning_sites(e),
        *goal_sites(e),
        *pooling_sites(e),
        *precision_sites(e),
        *design_sites(),
        *posterior_sites(e),
        *questionnaire_sites(e),
        *page_sites(e),
        *survey_sites(e),
        *weighted_sites(e),
        *regression_sites(e),
        *unknown_sites(e),
        *(replace(site, files=True) for site in _of_files(e)),
    ]
    names = [site.name for site in found]
    assert len(set(names)) == len(names), "two sites have one name"
    return found


def _of_files(e: Examples) -> Iterator[Site]:
    yield from file_sites(e)
    yield from sheet_file_sites(e)
    yield from page_file_sites(e)
