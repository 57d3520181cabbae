"""
title: Gatehouse moderation
author: Gatehouse
version: 0.1.0
license: Apache-2.0
description: Has the Gatehouse moderation gateway judge each chat before the model reads it, and each answer if wanted.
"""

# A Filter Function for Open WebUI: docs/integrations.md says how to set it up, and what it does not see.

import asyncio
import json
import urllib.error
import urllib.request

from pydantic import BaseModel, Field

PATH = "/beta/litellm_basic_guardrail_api"
# What of a message a model reads. What else Open WebUI holds in it is for its own use.
READ = (
    *("role", "content", "name", "tool_calls", "tool_call_id", "function_call"),
    *("refusal", "reasoning", "reasoning_content", "thinking_blocks"),
)
# What of a request a model reads beside its messages. Clients of Open WebUI's API may send it.
DEFINED = ("tools", "functions", "response_format", "prediction")
# The gateway is not there, or its judge is not: nothing in a text leads to these.
OUTAGES = (429, 502, 503, 504)
UNJUDGED = "This message could not be checked, so it was not sent."
REMOVED = "This answer was removed by content moderation."


class Blocked(Exception):
    """Why a chat does not reach the model. Open WebUI shows it to the user."""


class Filter:
    class Valves(BaseModel):
        gateway_url: str = Field(default="http://127.0.0.1:8000", description="Address of the gateway, without /v1")
        api_key: str = Field(default="", description="A gateway key", json_schema_extra={"input": {"type": "password"}})
        model: str = Field(default="", description="Alias that judges; empty: the default one")
        timeout_seconds: float = Field(default=30, description="How long to wait for a verdict")
        fail_closed: bool = Field(
            default=True,
            description="On: a chat without a verdict is not sent. Off: it is sent if the gateway cannot be reached or is overloaded",
        )
        check_answers: bool = Field(default=False, description="Also replace answers that are flagged, once they are complete")
        priority: int = Field(default=0, description="Order among filters: lower runs first")

    def __init__(self):
        self.valves = self.Valves()

    def _ask(self, body: dict) -> dict:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.valves.api_key}"}
        if self.valves.model:
            headers["x-moderation-model"] = self.valves.model
        url = self.valves.gateway_url.rstrip("/") + PATH
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=self.valves.timeout_seconds) as answer:
            return json.load(answer)

    async def _reason(self, messages: list, tools: list, input_type: str) -> str | None:
        """Why these messages may not pass; None if they may."""
        body = {
            "input_type": input_type,
            "structured_messages": [{name: one[name] for name in READ if name in one} for one in messages],
            "tools": tools,
        }
        try:
            verdict = await asyncio.to_thread(self._ask, body)
            if verdict.get("action") == "NONE":
                return None
            return str(verdict.get("blocked_reason") or UNJUDGED) if verdict.get("action") == "BLOCKED" else UNJUDGED
        except urllib.error.HTTPError as error:
            error.close()
            is_outage = error.code in OUTAGES
        except OSError:
            is_outage = True
        except Exception:
            is_outage = False
        return None if is_outage and not self.valves.fail_closed else UNJUDGED

    async def inlet(self, body: dict, __user__: dict | None = None) -> dict:
        defined = [body[name] for name in DEFINED if body.get(name)]
        reason = await self._reason(body.get("messages") or [], defined, "request")
        if reason is not None:
            raise Blocked(reason)
        return body

    async def outlet(self, body: dict, __user__: dict | None = None) -> dict:
        # Some versions swallow what is raised here and show the answer all the same: so it is replaced.
        last = (body.get("messages") or [None])[-1]
        if self.valves.check_answers and isinstance(last, dict) and last.get("role") == "assistant":
            if await self._reason([last], [], "response") is not None:
                last["content"] = REMOVED
        return body
