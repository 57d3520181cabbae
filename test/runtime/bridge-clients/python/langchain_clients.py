"""LangChain: its chat model, and the agents of the package langchain."""

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from shared import MODEL, City, new_lookup


def model_of(base_url, key, **more):
    return ChatOpenAI(model=MODEL, base_url=base_url, api_key=key, **more)


def chat(base_url, key, texts):
    model, messages, answers = model_of(base_url, key), [], []
    for text in texts:
        messages.append(("user", text))
        reply = model.invoke(messages)
        messages.append(reply)
        answers.append(reply.text)
    return answers


def chat_stream(base_url, key, texts):
    model, messages, answers = model_of(base_url, key), [], []
    for text in texts:
        messages.append(("user", text))
        words = "".join(chunk.text for chunk in model.stream(messages))
        messages.append(("assistant", words))
        answers.append(words)
    return answers


def structured(base_url, key, texts):
    return model_of(base_url, key).with_structured_output(City).invoke(texts[0]).model_dump()


def structured_by_call(base_url, key, texts):
    model = model_of(base_url, key).with_structured_output(City, method="function_calling")
    return model.invoke(texts[0]).model_dump()


def structured_by_json_mode(base_url, key, texts):
    model = model_of(base_url, key).with_structured_output(City, method="json_mode")
    return model.invoke(texts[0]).model_dump()


def bound_tools(base_url, key, texts, **more):
    lookup, ran = new_lookup()
    model, messages = model_of(base_url, key, **more).bind_tools([lookup]), [HumanMessage(texts[0])]
    while True:
        reply = model.invoke(messages)
        messages.append(reply)
        if not reply.tool_calls:
            return {"answer": reply.text, "ran": ran}
        messages += [ToolMessage(lookup(**call["args"]), tool_call_id=call["id"]) for call in reply.tool_calls]


def bound_tools_in_responses(base_url, key, texts):
    return bound_tools(base_url, key, texts, use_responses_api=True)


def bound_tools_after_responses(base_url, key, texts):
    return bound_tools(base_url, key, texts, use_responses_api=True, use_previous_response_id=True)


def agent(base_url, key, texts, **more):
    lookup, ran = new_lookup()
    made = create_agent(model_of(base_url, key), tools=[lookup], **more)
    state = made.invoke({"messages": [("user", texts[0])]})
    return {"answer": state["messages"][-1].text, "ran": ran, "value": state.get("structured_response")}


def agent_stream(base_url, key, texts):
    lookup, ran = new_lookup()
    made = create_agent(model_of(base_url, key), tools=[lookup])
    chunks = made.stream({"messages": [("user", texts[0])]}, stream_mode="messages")
    return {"answer": "".join(chunk.text for chunk, _ in chunks if chunk.type != "tool"), "ran": ran}


def agent_structured(base_url, key, texts):
    done = agent(base_url, key, texts, response_format=City)
    return {"value": done["value"].model_dump(), "ran": done["ran"]}
