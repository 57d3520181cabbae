import * as assert from 'uvu/assert';
import type { ModelEvent } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { askAndRead } from '../harness/permission-requests.ts';
import { calling, createAgentWorld, type Script } from '../harness/world.ts';

const MEGABYTE = 1024 * 1024;

/** A model that never stops. */
const endless = (kind: 'text' | 'reasoning'): Script =>
  async function* (): AsyncGenerator<ModelEvent> {
    for (;;) yield { kind, delta: 'x'.repeat(MEGABYTE) };
  };

describe('the output of a model', (check) => {
  for (const kind of ['text', 'reasoning'] as const) {
    check(`ends with an error after four million characters of ${kind}, and is not asked for again`, async () => {
      const world = await createAgentWorld({ scripts: [endless(kind)] });
      const { info, parts } = await askAndRead(world, await world.session());
      assert.is(info.error?.name, 'APIError');
      assert.match(JSON.stringify(info.error), 'more than 4194304 characters');
      const chars = parts.reduce((sum, part) => sum + ('text' in part ? part.text.length : 0), 0);
      assert.ok(chars <= 4 * MEGABYTE, String(chars));
      assert.is(world.asked.length, 1);
    });
  }

  check('counts the arguments of calls', async () => {
    const calls = Array.from({ length: 5 }, () => ({ name: 'echo', input: { text: 'x'.repeat(MEGABYTE) } }));
    const world = await createAgentWorld({ scripts: [calling(...calls)] });
    const { info, parts } = await askAndRead(world, await world.session());
    assert.match(JSON.stringify(info.error), 'more than 4194304 characters');
    for (const part of parts) if (part.type === 'tool') assert.is(part.state.status, 'error');
  });
});
