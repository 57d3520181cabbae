import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { describe, thorough } from '../../check.ts';
import { bestStall, STALL_LIMIT_MS } from '../../event-loop-stall.ts';
import { resultsOf } from '../harness/read-answer.ts';
import { gatewayOver, judging } from '../harness/world.ts';
import { worstBodies } from '../harness/worst-texts.ts';

const BODIES = worstBodies(1024 * 1024, 100_000, 32).slice(0, thorough(1, 10));

describe('the largest and costliest body', (check) => {
  for (const [index, body] of BODIES.entries()) {
    check(`holds the event loop for no more than ${STALL_LIMIT_MS} ms: body ${index + 1}`, async () => {
      let world = gatewayOver(judging());
      const work = async (): Promise<void> => {
        // No verdict of the try before answers it.
        world = gatewayOver(judging(), { needs: { clock: systemClock } });
        await resultsOf(await world.ask(body));
      };
      const probe = async (): Promise<void> => assert.is((await world.visit('/health')).status, 200);
      const { gap, health } = await bestStall(work, probe);
      assert.ok(gap <= STALL_LIMIT_MS, `a timer of 1 ms waited ${Math.round(gap)} ms`);
      assert.ok(health <= STALL_LIMIT_MS, `/health took ${Math.round(health)} ms`);
    });
  }
});
