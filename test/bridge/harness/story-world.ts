import * as assert from 'uvu/assert';
import { answering, byPrompt, type Dictated, dictated } from './model-scripts.ts';
import { aborts, type BridgeGiven, type BridgeWorld, quietTime, until, user, withBridge } from './world.ts';

/** Answers whatever it is asked with its words. */
export const polite = answering((words) => `re ${words}`);
export const DESK = { 'x-session-id': 'desk' };
export const CHAT = { messages: [user('story')] };
/** A world that tells a story when it is dictated one, and is polite otherwise. */
export const withStory = (
  given: BridgeGiven,
  body: (world: BridgeWorld, model: Dictated) => Promise<void>,
): Promise<void> => {
  const model = dictated();
  const scripts = given.scripts ?? [byPrompt({ story: model.script }, polite)];
  return withBridge({ ...given, scripts }, (world) => body(world, model));
};

/** Asks like a client that can hang up. */
export const calls = (world: BridgeWorld, path: string, body: unknown, headers = {}) => {
  const leaving = new AbortController();
  const answered = world.send(path, body, headers, leaving.signal);
  return { answered, leave: () => leaving.abort() };
};
const isQuiet = async (world: BridgeWorld): Promise<boolean> =>
  JSON.stringify(await world.agent.get('/session/status')) === '{}' && world.readings().answersRunning === 0;

/** What nobody reads any more has ended, with so many aborts. */
export const endsWith = async (world: BridgeWorld, count: number): Promise<void> => {
  await until(() => isQuiet(world), 'quiet');
  await quietTime(30);
  assert.is(aborts(world).length, count);
};
