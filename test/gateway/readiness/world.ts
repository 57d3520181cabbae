import * as v from 'valibot';
import type { HttpResponse } from '../../../src/core/http/client.ts';
import { gatewayOver, received, type WorldSettings } from '../harness/world.ts';

/** The answer. */
export const Ready = v.strictObject({
  status: v.picklist(['ready', 'not ready']),
  reasons: v.optional(v.array(v.string())),
  missing_models_for: v.optional(v.array(v.string())),
  warnings: v.optional(v.array(v.string())),
});

/** The models of the default aliases. */
export const ALL = ['gpt-oss:20b', 'gpt-oss:120b', 'gemma4:31b'];
/** What a backend lists. */
export const tags = (names: readonly string[]) =>
  received(200, JSON.stringify({ models: names.map((name) => ({ name })) }));

/** A gateway whose backend lists models by `listing` and answers every chat by `chat`. */
export const readyOver = (
  listing: () => HttpResponse | Promise<HttpResponse>,
  settings: WorldSettings = {},
  chat = received(500, ''),
) => {
  let asked = 0;
  const world = gatewayOver((sent) => {
    if (sent.method === 'POST') return chat;
    asked += 1;
    return listing();
  }, settings);
  const ready = async () => {
    const response = await world.visit('/ready', 'GET', { authorization: '' });
    return v.parse(Ready, await response.json());
  };
  return { ...world, ready, asked: () => asked };
};
