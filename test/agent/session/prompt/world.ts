import * as assert from 'uvu/assert';
import { contentsOf } from '../../harness/permission-requests.ts';
import type { createAgentWorld } from '../../harness/world.ts';

type Refused = { readonly name: string; readonly data: { readonly message: string; readonly path?: string | null } };
/** A prompt that is a file. */
export const file = (url: string, mime = 'image/png') => ({ parts: [{ type: 'file', mime, url }] });

/** Tries a request that must be refused, and that the store must not show. */
export const refused = async (
  world: Awaited<ReturnType<typeof createAgentWorld>>,
  [method, path, body]: readonly [method: string, path: string, body: unknown],
): Promise<{ readonly status: number } & Refused> => {
  const before = JSON.stringify(await contentsOf(world.store));
  const response = await world.call(method, path, body);
  const reported = (await response.json()) as Refused;
  assert.is(JSON.stringify(await contentsOf(world.store)), before, `${method} ${path} left something behind`);
  return { status: response.status, ...reported };
};
