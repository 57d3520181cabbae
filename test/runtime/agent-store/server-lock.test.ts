import { statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { inAgentWorld, newSession, prompt, until } from '../agent/world.ts';
import { bundle, run } from '../processes.ts';

const REFUSED =
  'gatehouse agent: AGENT_DATABASE_URL: expected a file that no other agent server uses, and one that runs does: stop it first, or use PostgreSQL for several servers\n';

describe('a second agent server on one file', (check) => {
  check(
    'is refused, by another link too, and leaves a running answer alone',
    inAgentWorld(async ({ start, begin, model, directory, database }) => {
      const first = await start();
      const { id } = await newSession(first);
      model.alwaysReply({ kind: 'answer', pieces: [...text('Good '), { kind: 'wait', ms: 2500 }, ...text('day.')] });
      const answered = prompt(first, id, 'hello');
      await until('the model is asked', () => model.requests().length > 0);
      const link = join(directory, 'link.db');
      symlinkSync(database, link);
      for (const file of [database, link]) {
        const second = begin({ variables: { AGENT_DATABASE_URL: `sqlite:${file}` } });
        const limit = setTimeout(() => second.signal('SIGKILL'), 20_000);
        assert.equal(await second.ended, { code: 1, signal: null });
        clearTimeout(limit);
        assert.is(second.stderr(), REFUSED);
      }
      const { info } = await answered;
      assert.equal([info.finish, info.error], ['stop', undefined]);
      assert.is(statSync(`${database}-server`).mode & 0o777, 0o600);
    }),
  );

  check(
    'starts as soon as the first has ended, in order or not',
    inAgentWorld(async ({ start }) => {
      for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
        const first = await start();
        await first.signal(signal);
        const second = await start();
        await second.signal('SIGKILL');
      }
    }),
  );

  check(
    'is none where a command runs beside a server',
    inAgentWorld(async ({ start, database }) => {
      const first = await start();
      const { id } = await newSession(first);
      for (const words of [['sessions'], ['prune', '--older-than', '9d'], ['export', id]]) {
        const { code, stderr } = await run(process.execPath, [bundle('gatehouse.js'), 'agent', ...words], {
          variables: { AGENT_DATABASE_URL: `sqlite:${database}` },
        });
        assert.equal([code, stderr], [0, ''], words.join(' '));
      }
    }),
  );
});
