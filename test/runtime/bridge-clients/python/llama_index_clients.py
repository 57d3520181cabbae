"""LlamaIndex: its class for any OpenAI-like server, as it is by default and as a chat model, and its class for OpenAI."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate
from llama_index.llms.openai import OpenAI, OpenAIResponses
from llama_index.llms.openai_like import OpenAILike

from shared import MODEL, City, new_lookup

# The only names that the class for OpenAI takes are OpenAI's, so the agent needs a model with one of them.
OPENAI_MODEL = "gpt-4o-mini"


def like(base_url, key):
    return OpenAILike(
        model=MODEL, api_base=base_url, api_key=key, is_chat_model=True, is_function_calling_model=True
    )


def plain_like(base_url, key):
    return OpenAILike(model=MODEL, api_base=base_url, api_key=key)


def openai(base_url, key):
    return OpenAI(model=OPENAI_MODEL, api_base=base_url, api_key=key)


def openai_responses(base_url, key):
    return OpenAIResponses(model=OPENAI_MODEL, api_base=base_url, api_key=key)


def chat_of(model, texts):
    messages, answers = [], []
    for text in texts:
        messages.append(ChatMessage(role="user", content=text))
        reply = model.chat(messages)
        messages.append(reply.message)
        answers.append(reply.message.content)
    return answers


def stream_of(model, texts):
    messages, answers = [], []
    for text in texts:
        messages.append(ChatMessage(role="user", content=text))
        words = "".join(chunk.delta or "" for chunk in model.stream_chat(messages))
        messages.append(ChatMessage(role="assistant", content=words))
        answers.append(words)
    return answers


def predict_of(model, texts):
    return model.structured_predict(City, PromptTemplate("{words}"), words=texts[0]).model_dump()


def stream_predict_of(model, texts):
    values = model.stream_structured_predict(City, PromptTemplate("{words}"), words=texts[0])
    return [value.model_dump() for value in values][-1]


def agent_of(model, texts):
    lookup, ran = new_lookup()

    async def run():
        return str(await FunctionAgent(tools=[lookup], llm=model).run(texts[0]))

    return {"answer": asyncio.run(run()), "ran": ran}


def like_chat(base_url, key, texts):
    return chat_of(like(base_url, key), texts)


def like_stream(base_url, key, texts):
    return stream_of(like(base_url, key), texts)


def like_predict(base_url, key, texts):
    return predict_of(like(base_url, key), texts)


def like_stream_predict(base_url, key, texts):
    return stream_predict_of(like(base_url, key), texts)


def like_agent(base_url, key, texts):
    return agent_of(like(base_url, key), texts)


def like_complete(base_url, key, texts):
    """Without more settings it sends completions."""
    return [plain_like(base_url, key).complete(text).text for text in texts]


def like_stream_complete(base_url, key, texts):
    model = plain_like(base_url, key)
    return ["".join(chunk.delta for chunk in model.stream_complete(text)) for text in texts]


def openai_chat(base_url, key, texts):
    return chat_of(openai(base_url, key), texts)


def openai_stream(base_url, key, texts):
    return stream_of(openai(base_url, key), texts)


def openai_predict(base_url, key, texts):
    return predict_of(openai(base_url, key), texts)


def openai_agent(base_url, key, texts):
    return agent_of(openai(base_url, key), texts)


def responses_chat(base_url, key, texts):
    return chat_of(openai_responses(base_url, key), texts)


def responses_agent(base_url, key, texts):
    return agent_of(openai_responses(base_url, key), texts)
