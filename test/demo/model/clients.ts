import OpenAI from 'openai';
import type { Handler } from '../../../src/core/http/handler.ts';
import type { ModelScript } from '../../../src/demo/model/reply.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';
import { createControlledModel, type ModelControl } from './control.ts';

type ScriptedWorld = {
  readonly openai: OpenAI;
  readonly handler: Handler;
  readonly control: ModelControl;
  readonly clock: FakeClock;
  readonly post: (path: string, body: unknown) => Promise<Response>;
};

export const jsonRequest = (path: string, body: unknown, signal?: AbortSignal): Request =>
  new Request(`http://model.test${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

/** The scripted model without a network, and OpenAI's own client in front of it. */
export const createScriptedWorld = (script?: ModelScript): ScriptedWorld => {
  const clock = createFakeClock();
  const { handler, control } = createControlledModel({ clock, ...(script === undefined ? {} : { script }) });
  const openai = new OpenAI({
    apiKey: 'sk-demo',
    baseURL: 'http://model.test/v1',
    maxRetries: 0,
    fetch: async (input, init) => handler(new Request(input as string, init)),
  });
  const post = (path: string, body: unknown) => handler(jsonRequest(path, body));
  return { openai, handler, control, clock, post };
};
