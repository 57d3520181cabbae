"""OpenAI's Agents SDK."""

import asyncio

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIConversationsSession,
    OpenAIProvider,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from shared import BARE_MODEL, City, new_lookup

set_tracing_disabled(True)


def run_in(base_url, key, body):
    """The body is given a client and how to run an agent with it; the model of an agent is one of responses by default."""

    async def run():
        async with AsyncOpenAI(base_url=base_url, api_key=key) as client:
            config = RunConfig(model_provider=OpenAIProvider(openai_client=client))
            return await body(client, lambda agent, text, **more: Runner.run(agent, text, run_config=config, **more))

    return asyncio.run(run())


def model_of(client, is_chat):
    return OpenAIChatCompletionsModel(model=BARE_MODEL, openai_client=client) if is_chat else BARE_MODEL


def chat(base_url, key, texts, is_chat=False):
    async def body(client, run):
        agent, items, answers = Agent(name="someone", model=model_of(client, is_chat)), [], []
        for text in texts:
            result = await run(agent, [*items, {"role": "user", "content": text}])
            items = result.to_input_list()
            answers.append(result.final_output)
        return answers

    return run_in(base_url, key, body)


def chat_model(base_url, key, texts):
    return chat(base_url, key, texts, is_chat=True)


def tools(base_url, key, texts, is_chat=False, **more):
    lookup, ran = new_lookup()

    async def body(client, run):
        agent = Agent(name="someone", model=model_of(client, is_chat), tools=[function_tool(lookup)], **more)
        return (await run(agent, texts[0])).final_output

    return {"answer": run_in(base_url, key, body), "ran": ran}


def tools_in_chat(base_url, key, texts):
    return tools(base_url, key, texts, is_chat=True)


def tools_stream(base_url, key, texts):
    lookup, ran = new_lookup()

    async def body(client, _):
        agent = Agent(name="someone", model=BARE_MODEL, tools=[function_tool(lookup)])
        config = RunConfig(model_provider=OpenAIProvider(openai_client=client))
        result = Runner.run_streamed(agent, texts[0], run_config=config)
        async for _ in result.stream_events():
            pass
        return result.final_output

    return {"answer": run_in(base_url, key, body), "ran": ran}


def structured(base_url, key, texts, is_chat=False):
    async def body(client, run):
        agent = Agent(name="someone", model=model_of(client, is_chat), output_type=City)
        return (await run(agent, texts[0])).final_output.model_dump()

    return run_in(base_url, key, body)


def structured_in_chat(base_url, key, texts):
    return structured(base_url, key, texts, is_chat=True)


def tools_and_structured(base_url, key, texts):
    done = tools(base_url, key, texts, output_type=City)
    return {"value": done["answer"].model_dump(), "ran": done["ran"]}


def handoff(base_url, key, texts, is_chat=False):
    async def body(client, run):
        model = model_of(client, is_chat)
        other = Agent(name="weather", instructions="You are the weather agent.", model=model)
        first = Agent(name="desk", instructions="You are the desk.", model=model, handoffs=[other])
        result = await run(first, texts[0])
        return [result.final_output, result.last_agent.name]

    return run_in(base_url, key, body)


def handoff_in_chat(base_url, key, texts):
    return handoff(base_url, key, texts, is_chat=True)


def with_session(base_url, key, texts, new_session, **more):
    async def body(client, run):
        agent, session, answers = Agent(name="someone", model=BARE_MODEL, **more), new_session(client), []
        for text in texts:
            answers.append((await run(agent, text, session=session)).final_output)
        items = await session.get_items()
        await session.pop_item()
        left = len(await session.get_items())
        await session.clear_session()
        return {"answers": answers, "roles": [item.get("role", item.get("type")) for item in items], "left": left}

    return run_in(base_url, key, body)


def sqlite_session(base_url, key, texts):
    return with_session(base_url, key, texts, lambda client: SQLiteSession("one"))


def conversations_session(base_url, key, texts):
    return with_session(base_url, key, texts, lambda client: OpenAIConversationsSession(openai_client=client))


def conversations_session_with_tools(base_url, key, texts):
    lookup, ran = new_lookup()
    new_session = lambda client: OpenAIConversationsSession(openai_client=client)
    return {**with_session(base_url, key, texts, new_session, tools=[function_tool(lookup)]), "ran": ran}
