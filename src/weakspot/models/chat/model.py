"""Chat models of any provider: `chat:openai/gpt-4o`, `chat:anthropic/…`, `chat:openai-api/local/qwen`.

A question gets an answer, or it says why not: blocked by the provider's filter, empty, or an error. An error
is never text. The providers' interfaces are inspect-ai's; attempts, limits and costs are counted here.
"""

from __future__ import annotations

import asyncio
import math
import random
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Final

from weakspot.core import Case, Output, Question, Status, Usage, WeakspotError
from weakspot.core.registry import read_number, read_whole
from weakspot.models.chat import calls, costs
from weakspot.models.chat.captioner import CaptionsWhenAsked
from weakspot.models.chat.images import RULES, data_uri, prepare
from weakspot.models.chat.provider import Secrets, connect, who

#: Calls at once: (to begin with, at most). A server of one's own seldom works on more than a few.
REMOTE: Final = (10, 100)
OWN: Final = (4, 4)
TIMEOUT: Final = 120.0
ATTEMPTS: Final = 7
MAX_TOKENS: Final = 2048
#: Questions that are made ready (pictures read and scaled) before their turn to be sent comes.
READY: Final = 16


class ChatModel(CaptionsWhenAsked):
    """A chat model as a target (`answer`) and as a helper of judges and searches (`ask`).

    **Keys** are read from the environment only, and a missing one is named when the model is made. They are
    struck out of everything that comes back from a provider before anybody sees it.

    **Patience.** A call that was cut off, timed out, or met "too many requests" or a server's error is tried
    again, up to `attempts` times, after a pause that doubles, or as long as the provider asks. A wrong key,
    an unknown model or an empty account ends all calls at once.

    Args:
        name: "openai/gpt-4o": provider and model as inspect-ai writes them.
        base_url: Of a server that is not the provider's own.
        concurrency: Calls at once. By default as many as the provider stands; see `Gate`.
        temperature: As the provider has it if None.
        system: The system prompt of questions that bring none.
        price: By default from a small table of list prices; nothing for servers on this machine.
        max_calls: No request is sent beyond these.
        max_dollars: No request is sent once these are spent; those under way are still paid for.
        image_side: Pictures are made smaller than the provider asks.
        on_progress: Called with (answered, asked) as the answers of a request come in, from another thread.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = "",
        concurrency: int | None = None,
        timeout: float = TIMEOUT,
        attempts: int = ATTEMPTS,
        max_tokens: int = MAX_TOKENS,
        temperature: float | None = None,
        seed: int | None = None,
        system: str = "",
        price: costs.Price | None = None,
        max_calls: int | None = None,
        max_dollars: float | None = None,
        image_side: int | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.name, self.system, self.on_progress = name, system, on_progress
        self._who = who(name, base_url=base_url)
        self._timeout, self._attempts, self._max_tokens = timeout, attempts, max_tokens
        self.price = price or costs.price_of(name) or (costs.Price(0, 0) if self._who.local else None)
        if max_dollars is not None and self.price is None:
            raise WeakspotError(
                f"the price of chat:{name[:80]} is not known, so dollars cannot be limited",
                fix="add price=2.5,10: dollars per million tokens read and written",
            )
        self.spent = costs.Spent(
            max_calls=math.inf if max_calls is None else max_calls,
            max_dollars=math.inf if max_dollars is None else max_dollars,
        )
        self.may_send: Callable[[], str] | None = None
        rule = RULES.get(self._who.provider, RULES[None])
        self._rule = rule._replace(side=min(rule.side, image_side or rule.side))
        start, most = (concurrency, concurrency) if concurrency else OWN if self._who.small else REMOTE
        self._gate = calls.Gate(start=start, most=most)
        self._secrets = Secrets(self._who)
        settings = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        self._api, self._config = connect(self._who, settings)
        self._who = self._who._replace(base_url=getattr(self._api, "base_url", None) or self._who.base_url)
        self._messages: Any = import_module("inspect_ai.model")
        self._chance = random.Random()  # noqa: S311 - jitter
        self._over = ""
        self._tasks: set[asyncio.Task[Output]] = set()
        self._closing = weakref.finalize(self, calls.close_interface, self._api)
        self._answered = False

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """A case's input is a text, or anything that `Question.of` takes."""
        return self.answer_questions([case.input for case in cases])

    def answer_questions(
        self, questions: Sequence[object], *, schema: Mapping[str, Any] | None = None
    ) -> list[Output]:
        """As `answer`, from the questions themselves."""
        return calls.run_on_loop(self._all(list(questions), schema)) if questions else []

    def ask(
        self,
        prompts: Sequence[str],
        images: Sequence[Any] | None = None,
        *,
        system: str | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> list[str | None]:
        """One text per prompt; None where none could be had (`ask_detailed` says why).

        Images are one per prompt, or None. Providers that can do so hold the answers to a JSON schema.
        """
        return [o.answer for o in self.ask_detailed(prompts, images, system=system, schema=schema)]

    def ask_detailed(
        self,
        prompts: Sequence[str],
        images: Sequence[Any] | None = None,
        *,
        system: str | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> list[Output]:
        """As `ask`, with status, reason and cost of each."""
        shown = [None] * len(prompts) if images is None else list(images)
        if len(shown) != len(prompts):
            raise WeakspotError(
                f"there are {len(prompts)} prompts and {len(shown)} images", fix="give one per prompt"
            )
        questions = [Question(p, i, system) for p, i in zip(prompts, shown, strict=True)]
        return self.answer_questions(questions, schema=schema)

    @property
    def width(self) -> int:
        return self._gate.limit

    @property
    def most(self) -> int:
        return self._gate.most

    @property
    def about(self) -> str:
        price = "price not known"
        if self.price is not None:
            price = "${:g} and ${:g} per million tokens".format(*self.price) if any(self.price) else "free"
        return f"{self.name} at {self._who.host} · up to {self.most} at once · {price}"

    def __repr__(self) -> str:
        return f"<ChatModel {self.about}>"

    def estimate(self, questions: Sequence[object]) -> costs.Estimate:
        """What asking these (cases, texts, questions) would send, where, and at what cost. Sends nothing."""
        read = images = resized = unreadable = 0
        for value in questions:
            question = Question.of(value.input if isinstance(value, Case) else value)
            system = self.system if question.system is None else question.system
            read += costs.text_tokens(question.text) + costs.text_tokens(system) + 10
            if question.image is not None:
                images += 1
                try:
                    sent = prepare(question.image, self._rule)
                except WeakspotError:
                    unreadable += 1
                    continue
                resized += bool(sent.note)
                read += costs.image_tokens(self.name, sent.width, sent.height)
        n = len(questions)
        written, most = n * min(costs.TYPICAL_ANSWER, self._max_tokens), n * self._max_tokens
        dollars = (self.price.of(read, written), self.price.of(read, most)) if self.price else (None, None)
        return costs.Estimate(self._who.host, n, images, resized, unreadable, read, written, *dollars)

    def probe(self) -> None:
        """One short call, to learn whether there will be answers at all."""
        (output,) = self.answer_questions(["Say yes."])
        if output.status is Status.ERROR:
            raise WeakspotError(f"chat:{self.name} does not answer: {output.detail}", fix="see docs/chat.md")

    def close(self) -> None:
        self._closing()

    def stop(self) -> None:
        """End what is under way and send nothing more; from any thread."""

        def end() -> None:
            self._over = "stopped"
            for task in self._tasks:
                task.cancel()

        calls.event_loop().call_soon_threadsafe(end)

    async def _all(self, questions: list[object], schema: Mapping[str, Any] | None) -> list[Output]:
        config, done = self._config, 0
        if schema is not None:
            given = import_module("inspect_ai.util").JSONSchema.model_validate(dict(schema))
            held = self._messages.ResponseSchema(name="answer", json_schema=given, strict=True)
            config = config.model_copy(update={"response_schema": held})

        async def one(question: object) -> Output:
            nonlocal done
            async with self._room:
                output = await self._one(question, config)
            done += 1
            if self.on_progress is not None:
                self.on_progress(done, len(questions))
            return output

        tasks = [asyncio.ensure_future(one(question)) for question in questions]
        self._tasks.update(tasks)
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            self._tasks.difference_update(tasks)

    @cached_property
    def _room(self) -> asyncio.Semaphore:
        """Bounds the questions whose pictures are made ready, and so the memory they take."""
        return asyncio.Semaphore(self.most + READY)

    async def _one(self, value: object, config: Any) -> Output:
        """The output of one question. Every way out that is not an answer says why."""
        if over := self._over or self.spent.full():
            return Output(None, status=Status.ERROR, detail=over)
        try:
            messages, note = await self._prepared(value)
        except WeakspotError as error:
            return Output(None, status=Status.ERROR, detail=self._secrets.scrub(error.what))
        paid, fault = Usage(), calls.Fault("")
        for attempt in range(self._attempts):
            async with self._gate:
                if over := self._over or self.spent.full() or (self.may_send() if self.may_send else ""):
                    return Output(None, status=Status.ERROR, detail=_and(fault.what, over), usage=paid)
                cuts = self._gate.cuts
                try:
                    reply = await self._sent(messages, config)
                except WeakspotError as error:
                    return Output(None, status=Status.ERROR, detail=self._secrets.scrub(error.what))
                except Exception as error:  # of the provider's library; `fault_of` tells them apart
                    fault = calls.fault_of(error, self._api)
                else:
                    usage = costs.usage_of(reply.usage, self.price)
                    paid = Usage(paid.tokens + usage.tokens, paid.dollars + usage.dollars)
                    found = calls.reading_of(reply, paid, max_tokens=self._max_tokens)
                    if isinstance(found, Output):
                        self._answered = True
                        if attempt == 0:
                            self._gate.clean()
                        answer = found.answer and self._secrets.scrub(found.answer)
                        detail = self._secrets.scrub(_and(note, found.detail))
                        return Output(answer, status=found.status, detail=detail, usage=found.usage)
                    fault = found
                if fault.busy:
                    self._gate.busy(cuts)
            fault = fault._replace(what=self._secrets.scrub(fault.what))
            if fault.final and not (fault.unless_answered and self._answered):
                self._over = self._over or fault.what
            if not fault.again or attempt + 1 == self._attempts:
                break
            if (fault.wait or 0) > calls.LONGEST_WAIT:
                fault = fault._replace(what=f"{fault.what}; it asks to wait {fault.wait:.0f} s")
                break
            await asyncio.sleep(calls.pause(attempt, fault, chance=self._chance))
        tried = f" ({attempt + 1} attempts)" if attempt else ""
        return Output(None, status=Status.ERROR, detail=f"{fault.what}{tried}", usage=paid)

    async def _sent(self, messages: list[Any], config: Any) -> Any:
        """The reply to one request, which is counted whatever becomes of it: cut short by Ctrl-C too."""
        self.spent.calls += 1
        calls.forget()
        try:
            reply = await self._call(messages, config)
        except Exception as error:
            self.spent.known += calls.status_of(error) is not None  # what ends in an error is not charged
            raise
        self.spent.add(costs.usage_of(reply.usage, self.price))
        self.spent.known += reply.usage is not None or not any(self.price or (1,))
        return reply

    async def _call(self, messages: list[Any], config: Any) -> Any:
        try:
            async with asyncio.timeout(self._timeout):
                reply = await self._api.generate(messages, [], "none", config)
        except TimeoutError:
            raise TimeoutError(f"no answer within {self._timeout:g} s") from None
        reply = reply[0] if isinstance(reply, tuple) else reply
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _prepared(self, value: object) -> tuple[list[Any], str]:
        question = Question.of(value)
        system = self.system if question.system is None else question.system
        make, note = self._messages, ""
        content: Any = _utf8(question.text)
        if question.image is not None:
            sent = await asyncio.to_thread(prepare, question.image, self._rule)
            note = sent.note
            content = [make.ContentImage(image=data_uri(sent)), make.ContentText(text=content)]
        first = [make.ChatMessageSystem(content=_utf8(system))] if system else []
        return [*first, make.ChatMessageUser(content=content)], note


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _and(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def load(
    name: str,
    *,
    base_url: str = "",
    concurrency: str = "",
    timeout: str = "",
    attempts: str = "",
    max_tokens: str = "",
    temperature: str = "",
    seed: str = "",
    price: str = "",
    max_calls: str = "",
    max_dollars: str = "",
    image_side: str = "",
    api_key: str = "",
) -> ChatModel:
    """`chat:openai/gpt-4o?concurrency=10&max_tokens=512&temperature=0`."""
    if api_key:
        raise WeakspotError(
            "a key must not be in a name, because names are written down", fix="set the provider's variable"
        )
    return ChatModel(
        name,
        base_url=base_url,
        concurrency=read_whole("concurrency", concurrency, most=1000),
        timeout=read_number("timeout", timeout, most=3600) or TIMEOUT,
        attempts=read_whole("attempts", attempts, most=100) or ATTEMPTS,
        max_tokens=read_whole("max_tokens", max_tokens, most=1_000_000) or MAX_TOKENS,
        temperature=read_number("temperature", temperature, most=2),
        seed=read_whole("seed", seed, most=2**31 - 1),
        price=costs.read_price(price),
        max_calls=read_whole("max_calls", max_calls, most=10**9),
        max_dollars=read_number("max_dollars", max_dollars, most=1e6),
        image_side=read_whole("image_side", image_side, most=8192),
    )
