"""Has one chat over a client library: python3 clients.py CLIENT BASE_URL API_KEY TEXT...

Prints the answers as a JSON list, or {"status", "code", "param", "message"} of the error that the library raised.
"""

import json
import sys

from openai import APIStatusError, OpenAI
from pydantic import BaseModel

MODEL = "demo/main"


class City(BaseModel):
    name: str


def openai_chat(base_url, key, texts, stream=False):
    client, messages, answers = OpenAI(base_url=base_url, api_key=key), [], []
    for text in texts:
        messages.append({"role": "user", "content": text})
        reply = client.chat.completions.create(model=MODEL, messages=messages, stream=stream)
        if stream:
            words = "".join(chunk.choices[0].delta.content or "" for chunk in reply if chunk.choices)
        else:
            words = reply.choices[0].message.content
        messages.append({"role": "assistant", "content": words})
        answers.append(words)
    return answers


def openai_stream(base_url, key, texts):
    return openai_chat(base_url, key, texts, stream=True)


def openai_impatient(base_url, key, texts):
    client = OpenAI(base_url=base_url, api_key=key, timeout=0.6, max_retries=2)
    messages = [{"role": "user", "content": texts[0]}]
    response = client.chat.completions.with_raw_response.create(model=MODEL, messages=messages)
    return [response.parse().choices[0].message.content, response.retries_taken]


def openai_tool_required(base_url, key, texts):
    client = OpenAI(base_url=base_url, api_key=key)
    tool = {"type": "function", "function": {"name": "city", "parameters": City.model_json_schema()}}
    messages = [{"role": "user", "content": texts[0]}]
    reply = client.chat.completions.create(model=MODEL, messages=messages, tools=[tool], tool_choice="required")
    return json.loads(reply.choices[0].message.tool_calls[0].function.arguments)


def openai_parse(base_url, key, texts):
    client = OpenAI(base_url=base_url, api_key=key)
    messages = [{"role": "user", "content": texts[0]}]
    reply = client.chat.completions.parse(model=MODEL, messages=messages, response_format=City)
    return reply.choices[0].message.parsed.model_dump()


def langchain_model(base_url, key):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=MODEL, base_url=base_url, api_key=key)


def langchain(base_url, key, texts):
    model, messages, answers = langchain_model(base_url, key), [], []
    for text in texts:
        messages.append(("user", text))
        reply = model.invoke(messages)
        messages.append(reply)
        answers.append(reply.text)
    return answers


def langchain_stream(base_url, key, texts):
    model, messages, answers = langchain_model(base_url, key), [], []
    for text in texts:
        messages.append(("user", text))
        words = "".join(chunk.text for chunk in model.stream(messages))
        messages.append(("assistant", words))
        answers.append(words)
    return answers


def langchain_structured(base_url, key, texts):
    model = langchain_model(base_url, key)
    return model.with_structured_output(City, method="function_calling").invoke(texts[0]).model_dump()


def langchain_schema(base_url, key, texts):
    return langchain_model(base_url, key).with_structured_output(City).invoke(texts[0]).model_dump()


def pydantic_agent(base_url, key, **more):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return Agent(OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=base_url, api_key=key)), **more)


def pydantic_ai(base_url, key, texts):
    agent, history, answers = pydantic_agent(base_url, key), [], []
    for text in texts:
        result = agent.run_sync(text, message_history=history)
        history = result.all_messages()
        answers.append(result.output)
    return answers


def pydantic_ai_structured(base_url, key, texts):
    return pydantic_agent(base_url, key, output_type=City).run_sync(texts[0]).output.model_dump()


def instructor_client(base_url, key):
    import instructor

    return instructor.from_openai(OpenAI(base_url=base_url, api_key=key))


def instructor(base_url, key, texts):
    client, messages, answers = instructor_client(base_url, key), [], []
    for text in texts:
        messages.append({"role": "user", "content": text})
        reply = client.chat.completions.create(model=MODEL, response_model=None, messages=messages)
        words = reply.choices[0].message.content
        messages.append({"role": "assistant", "content": words})
        answers.append(words)
    return answers


def instructor_structured(base_url, key, texts):
    messages = [{"role": "user", "content": texts[0]}]
    client = instructor_client(base_url, key)
    return client.chat.completions.create(model=MODEL, response_model=City, messages=messages).model_dump()


def find_status_error(error, depth=0):
    """The error of the openai package that a library has wrapped, by its chain of causes."""
    if error is None or depth > 20 or isinstance(error, APIStatusError):
        return error if isinstance(error, APIStatusError) else None
    return find_status_error(error.__cause__ or error.__context__, depth + 1)


name, base_url, key, *texts = sys.argv[1:]
try:
    print(json.dumps(globals()[name](base_url, key, texts)))
except Exception as error:
    refusal = find_status_error(error)
    if refusal is None:
        raise
    body = {name: refusal.body.get(name) for name in ("code", "param", "message")}
    print(json.dumps({"status": refusal.status_code, **body}))
