"""Google's Gemini, the paper's judge."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from taboo.judge.packages import needed
from taboo.judge.provider import JudgeError, Reply
from taboo.judge.remote import (
    Ask,
    Failure,
    check_model,
    client_failure,
    credential,
    interrupted,
    malformed,
    status_failure,
    token_count,
)
from taboo.judge.settings import Settings

KEY, ADDRESS = "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"


class GeminiEndpoint:
    """The Gemini API with the key in `GEMINI_API_KEY`; `GOOGLE_GEMINI_BASE_URL` names a proxy in front of it."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]):
        self._settings = settings
        self._key = credential(environment, KEY)
        self._address = credential(environment, ADDRESS)

    @staticmethod
    def lacking(environment: Mapping[str, str]) -> str | None:
        """Why the endpoint can't be asked, None if it can."""
        return None if credential(environment, KEY) else f"{KEY} is not set"

    @property
    def identity(self) -> dict[str, Any]:
        """See `Provider.identity`."""
        settings = self._settings
        return {
            "provider": "gemini",
            "model": settings.model,
            "temperature": settings.temperature,
            "thinking": settings.thinking,
            "max_new_tokens": settings.max_new_tokens,
        }

    @property
    def secrets(self) -> list[str]:
        """The key."""
        return [self._key] if self._key else []

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Ask]:
        """See `Endpoint.session`."""
        if not self._key:
            raise JudgeError(f"{KEY} is not set")
        genai, types = needed("google.genai"), needed("google.genai.types")
        httpx2 = needed("httpx2")
        settings = self._settings
        level = settings.thinking
        config = types.GenerateContentConfig(
            temperature=settings.temperature,
            max_output_tokens=settings.max_new_tokens,
            thinking_config=types.ThinkingConfig(thinking_level=level) if level else None,
        )
        # Time and attempts are ours. The transport is named, since another would be chosen where
        # it happens to be installed; this one follows no redirect, so the key stays where it is sent.
        async with httpx2.AsyncClient(timeout=None) as transport:
            options = types.HttpOptions(
                base_url=self._address,
                retry_options=types.HttpRetryOptions(attempts=1),
                httpx_async_client=transport,
            )
            client = genai.Client(api_key=self._key, enterprise=False, http_options=options)

            async def ask(prompt: str) -> Reply:
                response = await client.aio.models.generate_content(
                    model=settings.model, contents=prompt, config=config
                )
                return self._read(response)

            yield ask

    def failure(self, error: Exception) -> Failure:
        """See `Endpoint.failure`."""
        errors, httpx2 = needed("google.genai.errors"), needed("httpx2")
        if isinstance(error, errors.APIError):
            headers = getattr(error.response, "headers", {})
            return status_failure(
                error.code, str(error.message or error.details), headers, self._settings.model
            )
        if isinstance(error, httpx2.HTTPError | OSError):
            return interrupted(error)
        if isinstance(error, ValueError):
            return malformed("that can't be read")
        return client_failure(error)

    def _read(self, response: Any) -> Reply:
        usage, blocked = response.usage_metadata, response.prompt_feedback
        candidate = response.candidates[0] if response.candidates else None
        if candidate is None and not (blocked and blocked.block_reason):
            raise malformed("without a candidate")
        reported = response.model_version or ""
        check_model(self._settings.model, reported)
        parts = candidate.content.parts if candidate and candidate.content else None
        text = "".join(part.text or "" for part in parts or [] if not part.thought)
        reason = candidate.finish_reason if candidate else blocked.block_reason
        thoughts = token_count(usage, "thoughts_token_count") or 0
        written = token_count(usage, "candidates_token_count")
        prompt = token_count(usage, "prompt_token_count")
        # Without a candidate nothing was written, and no count is sent.
        output = (written or 0) + thoughts if prompt is not None else None
        return Reply(text, str(getattr(reason, "value", reason)), reported, prompt, output)
