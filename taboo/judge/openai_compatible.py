"""Any endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, llama.cpp, Ollama, transformers serve."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

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

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"


class OpenAIEndpoint:
    """The endpoint that `OPENAI_BASE_URL` names, OpenAI itself without one, with the key in `OPENAI_API_KEY`.

    The address is no part of the identity, since the same server may listen elsewhere tomorrow; what is served there is named by `served_by`.
    """

    def __init__(self, settings: Settings, environment: Mapping[str, str]):
        self._settings = settings
        self._key = credential(environment, KEY)
        self._address = credential(environment, ADDRESS)

    @staticmethod
    def lacking(environment: Mapping[str, str]) -> str | None:
        """Why the endpoint can't be asked, None if it can."""
        if credential(environment, KEY) or credential(environment, ADDRESS):
            return None
        return f"neither {KEY} nor {ADDRESS} is set"

    @property
    def identity(self) -> dict[str, Any]:
        """See `Provider.identity`."""
        settings = self._settings
        return {
            "provider": "openai",
            "served_by": settings.served_by,
            "model": settings.model,
            "temperature": settings.temperature,
            "max_new_tokens": settings.max_new_tokens,
        }

    @property
    def secrets(self) -> list[str]:
        """The key, and a password in the address."""
        password = urlsplit(self._address or "").password
        return [secret for secret in (self._key, password) if secret]

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Ask]:
        """See `Endpoint.session`."""
        openai = needed("openai")
        if not self._key and not self._address:
            raise JudgeError(f"neither {KEY} nor {ADDRESS} is set")
        # The client wants a key even where the server does not. Time and attempts are ours.
        async with openai.AsyncOpenAI(
            api_key=self._key or "none", base_url=self._address, max_retries=0, timeout=None
        ) as client:

            async def ask(prompt: str) -> Reply:
                settings = self._settings
                parameters: dict[str, Any] = {
                    "model": settings.model,
                    "messages": [{"role": "user", "content": prompt}],
                    # OpenAI's newer models refuse the old name, some other servers the new one.
                    "max_tokens" if self._address else "max_completion_tokens": (
                        settings.max_new_tokens
                    ),
                }
                if settings.temperature is not None:
                    parameters["temperature"] = settings.temperature
                return self._read(await client.chat.completions.create(**parameters))

            yield ask

    def failure(self, error: Exception) -> Failure:
        """See `Endpoint.failure`."""
        openai = needed("openai")
        if isinstance(error, openai.APIStatusError):
            # The body, since not every server words its errors as the client expects.
            response = error.response
            return status_failure(
                error.status_code, response.text, response.headers, self._settings.model
            )
        if isinstance(error, openai.APIConnectionError):
            return interrupted(error)
        if isinstance(error, openai.APIError | ValueError):
            return malformed("that is not valid JSON")
        return client_failure(error)

    def _read(self, response: Any) -> Reply:
        # The client does not check what it gets: it may be a text, or an object without parts.
        choices = getattr(response, "choices", None)
        if not isinstance(choices, list) or not choices or not getattr(choices[0], "message", None):
            raise malformed("without a choice")
        message, usage = choices[0].message, getattr(response, "usage", None)
        text = message.content or getattr(message, "refusal", None) or ""
        if not isinstance(text, str):
            raise malformed("whose content is no text")
        check_model(self._settings.model, response.model)
        return Reply(
            text,
            str(choices[0].finish_reason),
            response.model or "",
            token_count(usage, "prompt_tokens"),
            token_count(usage, "completion_tokens"),
        )
