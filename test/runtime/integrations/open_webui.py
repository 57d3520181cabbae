"""Runs the filter as Open WebUI does, one call a line of the standard input.

Source: open-webui/open-webui, backend/open_webui/utils/plugin.py (load_function_module_by_id) and utils/filter.py
(process_filter_functions): the file is a module, its `Filter` is made once, and before each call `valves` is made of what is stored.
"""

import asyncio
import inspect
import json
import sys
import types

USER = {"id": "1", "email": "ana@example.com", "name": "Ana", "role": "user"}


def load(path):
    module = types.ModuleType("function_gatehouse")
    with open(path) as file:
        exec(file.read(), module.__dict__)
    return module.Filter()


async def call(function, kind, valves, body):
    handler = getattr(function, kind, None)
    if not handler:
        return body
    function.valves = function.Valves(**valves)
    given = {"body": body}
    if "__user__" in inspect.signature(handler).parameters:
        given["__user__"] = USER
    return await handler(**given) if inspect.iscoroutinefunction(handler) else handler(**given)


async def main():
    function = load(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"body": await call(function, asked["kind"], asked["valves"], asked["body"])}
        except Exception as error:
            answer = {"raised": str(error)}
        print(json.dumps(answer), flush=True)


asyncio.run(main())
