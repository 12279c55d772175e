"""Who is asked: the provider behind a name, its key (from the environment only), and how it is reached."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from weakspot.core import WeakspotError, nearest
from weakspot.models.chat import calls

_PROVIDERS: Final = (
    *("openai", "anthropic", "google", "mistral", "grok", "groq", "together", "fireworks", "deepseek"),
    *("openrouter", "perplexity"),
)
_OTHER_KEYS: Final = {"google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "grok": ("XAI_API_KEY", "GROK_API_KEY")}
#: Any one of these variables will do, by provider.
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    name: _OTHER_KEYS.get(name, (f"{name.upper()}_API_KEY",)) for name in _PROVIDERS
}
#: Run on the user's own machines: no key, no price.
LOCAL: Final = ("ollama", "vllm", "sglang", "hf", "llama-cpp-python")
#: Where those send that say it nowhere else.
HOSTS: Final[Mapping[str, str]] = {
    "openai": "api.openai.com",
    "anthropic": "api.anthropic.com",
    "google": "generativelanguage.googleapis.com",
}
EXAMPLE: Final = "write it as chat:openai/gpt-4o, chat:ollama/llava or chat:openai-api/local/qwen"

_SECRET: Final = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)(?:_|$)", re.I)
_NOISY: Final = ("inspect_ai", "httpx", "httpx2", "httpcore", "httpcore2", "openai", "anthropic", "google")


class Who(NamedTuple):
    """A provider and its model, named together as inspect-ai writes them: "openai-api/local/qwen"."""

    name: str
    provider: str
    #: Where the server is, if it is not where the provider always is.
    base_url: str
    #: On this machine, or of a kind that is one's own.
    local: bool

    @property
    def small(self) -> bool:
        """A server that works on few questions at once."""
        return self.local and self.provider not in ("vllm", "sglang")

    @property
    def host(self) -> str:
        if self.base_url:
            return urlsplit(self.base_url).netloc
        return HOSTS.get(self.provider, "this machine" if self.local else self.provider)


def who(name: str, *, base_url: str = "") -> Who:
    """The provider behind a name; a missing key or address is named here, before anything is sent."""
    provider, _, model = name.partition("/")
    if not provider or not model or any(c.isspace() for c in name):
        raise WeakspotError(f"{name[:80]!r} is not a provider and its model", fix=EXAMPLE)
    service = model.partition("/")[0] if provider.startswith("openai-api") else provider
    prefix = service.upper().replace("-", "_")
    address = base_url or os.environ.get(f"{prefix}_BASE_URL", "")
    if address:
        _check_url(address)
    machine = urlsplit(address).hostname or ""
    local = provider in LOCAL or machine in ("localhost", "::1") or machine.startswith("127.")
    if provider.startswith("openai-api"):
        if "/" not in model:
            raise WeakspotError(
                f"{name[:80]!r} does not say which service", fix="write it as chat:openai-api/SERVICE/MODEL"
            )
        if not address:
            raise WeakspotError(
                f"chat:{name[:80]} needs the address of its server",
                fix=f"add ?base_url=http://127.0.0.1:8000/v1, or set {prefix}_BASE_URL",
            )
    wanted = (f"{prefix}_API_KEY",) if provider.startswith("openai-api") else KEYS.get(provider, ())
    through_another = provider in KEYS and "/" in model  # openai/azure/… has keys of its own
    if wanted and not (local or through_another or any(os.environ.get(key) for key in wanted)):
        raise WeakspotError(
            f"chat:{name[:80]} needs a key, and {' or '.join(wanted)} is not set",
            fix=f"export {wanted[0]}=…",
        )
    return Who(name, provider, address, local)


def _check_url(address: str) -> None:
    try:
        parts = urlsplit(address)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise WeakspotError("the base URL cannot be read", fix="write it as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query:
        raise WeakspotError(
            "the base URL carries a user, a password or a query",
            fix="leave them out; keys are read from the environment",
        )


def connect(to: Who, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    """inspect-ai's interface to the provider, and the configuration of its calls."""
    quiet()
    inspect_model = import_module("inspect_ai.model")
    more: dict[str, Any] = {}
    try:
        if to.provider.startswith("openai-api") and to.local:
            # Near by the processor and not the way limits the pace; only the usual client knows of proxies.
            hooks = {"response": [calls.remember]}
            more["http_client"] = import_module("openai").DefaultAioHttpClient(event_hooks=hooks)
            if not any(_own_keys(to)):
                more["api_key"] = "none"  # a server on this machine seldom wants one, yet the client insists
        config = inspect_model.GenerateConfig(**settings)
        model = inspect_model.get_model(
            to.name, config=config, base_url=to.base_url or None, memoize=False, **more
        )
    except Exception as error:  # of the provider's library
        raise _explained(to, error) from None
    if "http_client" not in more:
        with suppress(AttributeError, TypeError):  # a client that is no httpx's has none
            beneath = model.api.client._client
            known = beneath.event_hooks
            beneath.event_hooks = known | {"response": [*known["response"], calls.remember]}
    if hasattr(getattr(model.api, "client", None), "max_retries"):
        model.api.client.max_retries = 0  # retries are ours: counted, and as patient as the server asks
    if to.local:
        model.api.model_family = model.api.service_model_name  # what is one's own is in no table of models
    elif hasattr(model.api, "model_family"):
        model.api.model_family()  # reads that table, once, which would hold up the first calls
    return model.api, config


def _explained(to: Who, error: Exception) -> WeakspotError:
    words = Secrets(to).scrub(re.sub(r"\[/?[a-z_ ]+\]", "", str(error)))
    words = " ".join(words.removeprefix("ERROR: ").split())[:300]
    missing = re.search(r"pip install ([\w\-\[\]]+)", words)
    if missing:
        return WeakspotError(
            f"chat:{to.provider} needs a library that is missing", fix=f"pip install {missing[1]}"
        )
    if "not recognized" in words:
        known = ["openai-api", *KEYS, *LOCAL, "azureai", "bedrock"]
        hint = nearest(to.provider, known)
        return WeakspotError(f"no provider is called {to.provider[:80]!r}", fix=hint or EXAMPLE)
    return WeakspotError(f"chat:{to.name[:80]} cannot be used: {words}", fix="see docs/chat.md")


def _own_keys(to: Who) -> list[str]:
    service = to.name.split("/")[1] if to.provider.startswith("openai-api") else to.provider
    names = {f"{service.upper().replace('-', '_')}_API_KEY", *KEYS.get(to.provider, ())}
    return [value for name in sorted(names) if (value := os.environ.get(name, ""))]


class Secrets:
    """The keys of this environment, to be kept out of all that is written or shown.

    The provider's own is one in any case; other variables count by their names and if they look the part.
    """

    def __init__(self, to: Who) -> None:
        found = {value for value in _own_keys(to) if len(value) >= 4}
        # Long and not a word: an answer must not lose words because a variable happens to hold one.
        plain = ("/", "http://", "https://")
        named = (v for name, v in os.environ.items() if _SECRET.search(name) and len(v) >= 10)
        found |= {v for v in named if not v.isalpha() and not v.startswith(plain)}
        found |= {quote(value, safe="") for value in found}
        self._values = sorted(found, key=len, reverse=True)

    def scrub(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, "[key]")
        return text


def quiet() -> None:
    """Keep libraries' logs of requests out of a user's log, unless their levels were set on purpose."""
    for name in _NOISY:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
