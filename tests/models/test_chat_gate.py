"""How many calls at once: grows while answers come cleanly, shrinks when the provider is busy."""

from __future__ import annotations

import asyncio

from weakspot.models.chat.calls import Gate


def test_it_never_lets_in_more_than_its_limit_and_never_keeps_out_more_than_it_must() -> None:
    async def scene() -> tuple[int, int]:
        gate, inside, most, done = Gate(start=3, most=3), 0, 0, 0

        async def one(i: int) -> None:
            nonlocal inside, most, done
            async with gate:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.001 * (i % 3))
                inside -= 1
            done += 1

        tasks = [asyncio.ensure_future(one(i)) for i in range(60)]
        await asyncio.sleep(0.003)
        for task in tasks[20:30]:
            task.cancel()  # of those that wait, some go away
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate.inside == 0
        return most, done

    most, done = asyncio.run(scene())
    assert most == 3
    assert 50 <= done <= 60


def test_the_limit_doubles_until_the_first_busy_then_grows_by_one() -> None:
    gate = Gate(start=10, most=100)

    def round_() -> int:
        for _ in range(gate.limit):
            gate.clean()
        return gate.limit

    assert [round_() for _ in range(4)] == [20, 40, 80, 100]
    for _ in range(30):  # one burst is one message
        gate.busy(0)
    assert gate.limit == 70
    assert [round_() for _ in range(3)] == [71, 72, 73]
    for _ in range(50):
        gate.busy(gate.cuts)
    assert gate.limit == 1
    assert round_() == 2


def test_a_fixed_number_is_never_exceeded() -> None:
    gate = Gate(start=7, most=7)
    for _ in range(100):
        gate.clean()
    assert gate.limit == 7
