import OpenAI, { APIError } from 'openai';
import * as assert from 'uvu/assert';
import { replying } from '../../agent/harness/world.ts';
import { rejection } from '../../check.ts';
import { byPrompt, dictated } from './model-scripts.ts';
import { type BridgeGiven, type BridgeWorld, KEY, until, withBridge } from './world.ts';

// Responses in the background, with OpenAI's own client.

/** OpenAI's own client of a bridge, which tries nothing again. */
export const clientOf = (world: BridgeWorld, apiKey = KEY): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: 'http://bridge.test/v1',
    maxRetries: 0,
    fetch: async (input, init) => world.bridge.handler(new Request(input as string, init)),
  });

/** A request that the scripts of these worlds answer when the test says so. */
export const JOB = { model: 'demo/main', input: 'story', background: true } as const;

/** A world whose model tells a story as the test dictates it, and has short answers for everything else. */
export const withJob = (
  given: BridgeGiven,
  body: (world: BridgeWorld, client: OpenAI, model: ReturnType<typeof dictated>) => Promise<void>,
): Promise<void> => {
  const model = dictated();
  const script = byPrompt({ story: model.script }, replying('Well.'));
  return withBridge({ scripts: Array(8).fill(script), ...given }, (world) => body(world, clientOf(world), model));
};

export const statusOf = async (client: OpenAI, id: string) => (await client.responses.retrieve(id)).status;
export const untilStatus = (client: OpenAI, id: string, status: string) =>
  until(async () => (await statusOf(client, id)) === status, status);
/** How the client was refused. */
export const failureOf = async (promise: PromiseLike<unknown>) => {
  const error = (await rejection(Promise.resolve(promise))) as APIError;
  assert.instance(error, APIError);
  return { status: error.status, code: error.code, param: error.param };
};
