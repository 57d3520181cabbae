"""Has chats over client libraries, one after the other, as standard input asks: {"module", "name", "base_url", "key", "texts"} a line.

Writes one line of JSON for each: what the function has returned, or {"status", "code", "param", "message"} of the error of OpenAI's
package that a library has raised, or {"raised"} for any other one.
"""

import importlib
import json
import os
import sys
import traceback

from openai import APIStatusError

# Libraries must have no share in the answers.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def find_status_error(error, depth=0):
    """The error of the openai package that a library has wrapped, by its chain of causes."""
    if error is None or depth > 20 or isinstance(error, APIStatusError):
        return error if isinstance(error, APIStatusError) else None
    return find_status_error(error.__cause__ or error.__context__, depth + 1)


def run(module, name, base_url, key, texts):
    try:
        return getattr(importlib.import_module(module), name)(base_url, key, texts)
    except Exception as error:
        refusal = find_status_error(error)
        if refusal is None:
            return {"raised": traceback.format_exc()[-3000:]}
        body = refusal.body if isinstance(refusal.body, dict) else {}
        return {"status": refusal.status_code, **{name: body.get(name) for name in ("code", "param", "message")}}


for line in sys.stdin:
    print(json.dumps(run(**json.loads(line))), file=answers, flush=True)
