"""From the settings to a judge that can be asked, and whether it can."""

from collections.abc import Mapping

from taboo.judge.gemini import GeminiEndpoint
from taboo.judge.openai_compatible import OpenAIEndpoint
from taboo.judge.remote import Patience, Remote
from taboo.judge.settings import Settings
from taboo.judge.spending import Prices

ENDPOINTS: dict[str, type[GeminiEndpoint] | type[OpenAIEndpoint]] = {
    "gemini": GeminiEndpoint,
    "openai": OpenAIEndpoint,
}


def lacking(settings: Settings, environment: Mapping[str, str]) -> str | None:
    """Why the judge can't be asked in this environment (a key that is not set), None if it can."""
    if settings.provider == "local":
        return None
    return ENDPOINTS[settings.provider].lacking(environment)


def remote_judge(settings: Settings, environment: Mapping[str, str]) -> Remote:
    """The remote judge of the settings. It can be described without a key, but not asked."""
    return Remote(
        ENDPOINTS[settings.provider](settings, environment),
        Patience(settings.concurrency, settings.timeout_s),
        Prices.of(settings.prices, settings.max_new_tokens),
        settings.max_cost_usd,
    )
