"""instructor."""

import instructor
from openai import OpenAI

from shared import MODEL, City


def client_of(base_url, key, **more):
    return instructor.from_openai(OpenAI(base_url=base_url, api_key=key), **more)


def user(text):
    return {"role": "user", "content": text}


def chat(base_url, key, texts):
    client, messages, answers = client_of(base_url, key), [], []
    for text in texts:
        messages.append(user(text))
        reply = client.chat.completions.create(model=MODEL, response_model=None, messages=messages)
        words = reply.choices[0].message.content
        messages.append({"role": "assistant", "content": words})
        answers.append(words)
    return answers


def structured(base_url, key, texts):
    client = client_of(base_url, key)
    return client.chat.completions.create(model=MODEL, response_model=City, messages=[user(texts[0])]).model_dump()


def partial(base_url, key, texts):
    client = client_of(base_url, key)
    stream = client.chat.completions.create_partial(model=MODEL, response_model=City, messages=[user(texts[0])])
    return [value.model_dump() for value in stream][-1]


def iterable(base_url, key, texts):
    client = client_of(base_url, key)
    stream = client.chat.completions.create_iterable(model=MODEL, response_model=City, messages=[user(texts[0])])
    return [value.model_dump() for value in stream]


def json_schema(base_url, key, texts):
    client = client_of(base_url, key, mode=instructor.Mode.JSON_SCHEMA)
    return client.chat.completions.create(model=MODEL, response_model=City, messages=[user(texts[0])]).model_dump()


def provider(base_url, key, texts):
    """The newer way to a client."""
    client = instructor.from_provider(f"openai/{MODEL}", base_url=base_url, api_key=key)
    return client.create(response_model=City, messages=[user(texts[0])]).model_dump()
