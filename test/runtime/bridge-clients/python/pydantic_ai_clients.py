"""pydantic-ai."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from shared import MODEL, City, new_lookup


def agent_of(base_url, key, model=OpenAIChatModel, **more):
    return Agent(model(MODEL, provider=OpenAIProvider(base_url=base_url, api_key=key)), **more)


def chat(base_url, key, texts, model=OpenAIChatModel):
    agent, history, answers = agent_of(base_url, key, model), [], []
    for text in texts:
        result = agent.run_sync(text, message_history=history)
        history = result.all_messages()
        answers.append(result.output)
    return answers


def responses(base_url, key, texts):
    return chat(base_url, key, texts, OpenAIResponsesModel)


def structured(base_url, key, texts):
    return agent_of(base_url, key, output_type=City).run_sync(texts[0]).output.model_dump()


def tools(base_url, key, texts, model=OpenAIChatModel):
    lookup, ran = new_lookup()
    agent = agent_of(base_url, key, model, tools=[lookup])
    return {"answer": agent.run_sync(texts[0]).output, "ran": ran}


def tools_in_responses(base_url, key, texts):
    return tools(base_url, key, texts, OpenAIResponsesModel)


def tools_stream(base_url, key, texts):
    lookup, ran = new_lookup()

    async def run():
        async with agent_of(base_url, key, tools=[lookup]).run_stream(texts[0]) as result:
            return await result.get_output()

    return {"answer": asyncio.run(run()), "ran": ran}


def tools_and_structured(base_url, key, texts):
    """The output type is one more tool here, and a call of one of them is required in each request."""
    lookup, ran = new_lookup()
    agent = agent_of(base_url, key, tools=[lookup], output_type=City)
    first = agent.run_sync(texts[0])
    more = [agent.run_sync(text, message_history=first.all_messages()).output.model_dump() for text in texts[1:]]
    return {"value": first.output.model_dump(), "ran": ran, "more": more}
