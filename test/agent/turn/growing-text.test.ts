import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import { openSqliteStore } from '../../../src/agent/adapter/sqlite/store.ts';
import { describe } from '../../check.ts';
import { answersIn, ask, eventsOf, messagesOf, textOf, until } from '../harness/permission-requests.ts';
import { type AgentWorld, createAgentWorld, replying, type Script } from '../harness/world.ts';
import { idsFrom } from '../store/samples.ts';

const PIECES = Array.from({ length: 30 }, (_, index) => `piece ${index} `);

describe('a text that a model is writing', (check) => {
  check('is shown as it is reported, and written to the disk once a second and at its end', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'growing-'));
    const file = join(directory, 'agent.db');
    const worlds: AgentWorld[] = [];
    const store = await openSqliteStore({ file, ids: idsFrom(), nowMs: () => worlds[0]?.clock.now() ?? 0 });
    try {
      const script: Script = async function* (request, signal) {
        for (const delta of PIECES) {
          yield { kind: 'text', delta };
          await new Promise<void>((resolve) => worlds[0]?.clock.after(100, resolve));
        }
        yield* replying('the end')(request, signal);
      };
      const world = await createAgentWorld({ store, scripts: [script], onBuilt: (built) => worlds.push(built) });
      const id = await world.session({ title: 'Mine' });
      const onDisk = (): string => {
        const database = new DatabaseSync(file);
        const rows = database.prepare("SELECT data ->> 'text' AS text FROM part WHERE data ->> 'type' = 'text'").all();
        database.close();
        return String(rows.at(-1)?.text);
      };
      let isAnswered = false;
      const answered = ask(world, id).finally(() => {
        isAnswered = true;
      });
      const written = new Set<string>();
      await until(world, async () => {
        const readDeltas = async () =>
          (await eventsOf(world, 'message.part.delta')).map(({ properties }) => properties.delta);
        const before = await readDeltas();
        const [answer] = answersIn(await messagesOf(world, id));
        const deltas = await readDeltas();
        // More may be written between two reads.
        if (answer !== undefined) {
          assert.ok(textOf(answer).startsWith(before.join('')));
          assert.ok(deltas.join('').startsWith(textOf(answer)));
        }
        if (deltas.length > 0) written.add(onDisk());
        return isAnswered;
      });
      const whole = `${PIECES.join('')}the end`;
      assert.is(textOf(await answered), whole);
      assert.is((await eventsOf(world, 'message.part.delta')).length, 31);
      assert.is(onDisk(), whole);
      assert.ok(written.size >= 4 && written.size <= 6, `written ${written.size} times`);
    } finally {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
