"""OpenAI's own package."""

import json
import time

from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

from shared import MODEL, City, new_lookup


def client_of(base_url, key):
    return OpenAI(base_url=base_url, api_key=key)


def user(text):
    return {"role": "user", "content": text}


def chat(base_url, key, texts, stream=False):
    client, messages, answers = client_of(base_url, key), [], []
    for text in texts:
        messages.append(user(text))
        reply = client.chat.completions.create(model=MODEL, messages=messages, stream=stream)
        if stream:
            words = "".join(chunk.choices[0].delta.content or "" for chunk in reply if chunk.choices)
        else:
            words = reply.choices[0].message.content
        messages.append({"role": "assistant", "content": words})
        answers.append(words)
    return answers


def chat_stream(base_url, key, texts):
    return chat(base_url, key, texts, stream=True)


def impatient(base_url, key, texts):
    client = OpenAI(base_url=base_url, api_key=key, timeout=0.6, max_retries=2)
    response = client.chat.completions.with_raw_response.create(model=MODEL, messages=[user(texts[0])])
    return [response.parse().choices[0].message.content, response.retries_taken]


def tool_required(base_url, key, texts):
    tool = {"type": "function", "function": {"name": "city", "parameters": City.model_json_schema()}}
    reply = client_of(base_url, key).chat.completions.create(
        model=MODEL, messages=[user(texts[0])], tools=[tool], tool_choice="required"
    )
    return json.loads(reply.choices[0].message.tool_calls[0].function.arguments)


def parse(base_url, key, texts):
    reply = client_of(base_url, key).chat.completions.parse(
        model=MODEL, messages=[user(texts[0])], response_format=City
    )
    return reply.choices[0].message.parsed.model_dump()


def responses_parse(base_url, key, texts):
    return client_of(base_url, key).responses.parse(model=MODEL, input=texts[0], text_format=City).output_parsed.model_dump()


class Lookup(BaseModel):
    city: str


CHAT_TOOL = pydantic_function_tool(Lookup, name="client_lookup")


def tools(base_url, key, texts, stream=False):
    """The loop that programs write by hand, with the helper that parses arguments."""
    client, messages = client_of(base_url, key), [user(texts[0])]
    lookup, ran = new_lookup()
    while True:
        asked = {"model": MODEL, "messages": messages, "tools": [CHAT_TOOL]}
        if stream:
            with client.chat.completions.stream(**asked) as events:
                for _ in events:
                    pass
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.parse(**asked).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return {"answer": message.content, "ran": ran}
        for call in message.tool_calls:
            output = lookup(call.function.parsed_arguments.city)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


def tools_stream(base_url, key, texts):
    return tools(base_url, key, texts, stream=True)


RESPONSES_TOOL = {
    "type": "function",
    "name": "client_lookup",
    "strict": False,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def responses_tools(base_url, key, texts, stream=False):
    client, onward = client_of(base_url, key), {"input": texts[0]}
    lookup, ran = new_lookup()
    while True:
        asked = {"model": MODEL, "tools": [RESPONSES_TOOL], **onward}
        if stream:
            with client.responses.stream(**asked) as events:
                for _ in events:
                    pass
                response = events.get_final_response()
        else:
            response = client.responses.create(**asked)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return {"answer": response.output_text, "ran": ran}
        outputs = [
            {"type": "function_call_output", "call_id": call.call_id, "output": lookup(**json.loads(call.arguments))}
            for call in calls
        ]
        onward = {"input": outputs, "previous_response_id": response.id}


def responses_tools_stream(base_url, key, texts):
    return responses_tools(base_url, key, texts, stream=True)


def conversation(base_url, key, texts):
    client, answers = client_of(base_url, key), []
    made = client.conversations.create(metadata={"topic": "weather"})
    for text in texts:
        answers.append(client.responses.create(model=MODEL, input=text, conversation=made.id).output_text)
    items = [item for item in client.conversations.items.list(made.id, order="asc")]
    said = [part.text for item in items if item.type == "message" for part in item.content]
    found = client.conversations.retrieve(made.id)
    deleted = client.conversations.delete(made.id)
    return {"answers": answers, "said": said, "metadata": found.metadata, "deleted": deleted.deleted}


def background(base_url, key, texts):
    client = client_of(base_url, key)
    response = client.responses.create(model=MODEL, input=texts[0], background=True)
    first = response.status
    until = time.monotonic() + 20
    while response.status in ("queued", "in_progress") and time.monotonic() < until:
        time.sleep(0.1)
        response = client.responses.retrieve(response.id)
    return [first in ("queued", "in_progress"), response.status, response.output_text]


def cancelled(base_url, key, texts):
    client = client_of(base_url, key)
    response = client.responses.create(model=MODEL, input=texts[0], background=True)
    first = client.responses.cancel(response.id).status
    return [first, client.responses.retrieve(response.id).status]


def input_items(base_url, key, texts):
    client = client_of(base_url, key)
    response = client.responses.create(model=MODEL, input=texts[0])
    return [part.text for item in client.responses.input_items.list(response.id) for part in item.content]


def input_tokens(base_url, key, texts):
    return client_of(base_url, key).responses.input_tokens.count(model=MODEL, input=texts[0]).input_tokens


def completion(base_url, key, texts):
    return [client_of(base_url, key).completions.create(model=MODEL, prompt=text).choices[0].text for text in texts]


def completion_stream(base_url, key, texts):
    client = client_of(base_url, key)
    streams = [client.completions.create(model=MODEL, prompt=text, stream=True) for text in texts]
    return ["".join(chunk.choices[0].text for chunk in stream) for stream in streams]


def file_upload(base_url, key, texts):
    return client_of(base_url, key).files.create(file=("a.txt", texts[0].encode()), purpose="user_data").id
