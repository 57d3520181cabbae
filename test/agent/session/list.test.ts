import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import {
  formatListRow,
  formatTime,
  LIST_HEADER,
  type ListedSession,
  listSessions,
} from '../../../src/agent/session/list.ts';
import { describe } from '../../check.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { idsFrom, sessionOf, textPart, userMessage } from '../store/samples.ts';

const UPDATED = Date.UTC(2026, 4, 6, 7, 8, 9);
const listed = async (sessions: readonly Session[], limit = 50): Promise<readonly ListedSession[]> => {
  const store = createMemoryStore({ ids: idsFrom() });
  const outputText = { kind: 'message', message: userMessage('msg_1', 'ses_a') } as const;
  const part = textPart({ id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_a' }, 'x'.repeat(1000));
  await store.commit(
    [...sessions.map((session) => ({ kind: 'session', session }) as const), outputText, { kind: 'part', part }],
    [],
  );
  const found: ListedSession[] = [];
  for await (const session of listSessions(store, limit)) found.push(session);
  return found;
};
const at = (id: string, updated: number, more: Partial<Session> = {}) =>
  sessionOf(id, { time: { created: 1, updated }, ...more });

describe('a list of sessions', (check) => {
  check('has the newest first, with what each holds, and no more than were asked for', async () => {
    const sessions = [at('ses_a', UPDATED, { agent: 'build', title: 'one' }), at('ses_b', 5, { parentID: 'ses_a' })];
    const [first, second, ...more] = await listed([...sessions, at('ses_c', 1)], 2);
    assert.equal(more, []);
    assert.ok((first?.bytes ?? 0) > 1000 && (first?.bytes ?? 0) < 2000);
    assert.equal(
      { ...first, bytes: 0 },
      {
        id: 'ses_a',
        updated: '2026-05-06T07:08:09Z',
        messages: 1,
        bytes: 0,
        agent: 'build',
        parentID: null,
        title: 'one',
      },
    );
    assert.equal([second?.id, second?.parentID, second?.messages, second?.bytes], ['ses_b', 'ses_a', 0, 0]);
  });

  check('holds nothing that a terminal would obey, and no long title', async () => {
    const title = `\u001b[31mred\u0007\u202e\n\u009b2J\ttext ${'word '.repeat(5000)}`;
    const [session] = await listed([at('ses_a', 1, { title, agent: '\u001b]0;x\u0007agent' })]);
    if (session === undefined) throw new Error('no session');
    assert.not.match(JSON.stringify(session) + formatListRow(session), /\p{Cc}|\\u|\\n|\\t|\u202e/u);
    assert.match(session.title, /^\[31mred 2J text word/);
    assert.is([...session.title].length, 200);
    assert.ok(formatListRow(session).length < 200);
    assert.is(session.agent, ']0;xagent');
  });

  check('stands in columns', async () => {
    const [session] = await listed([at('ses_a', UPDATED, { title: 'one' })]);
    if (session === undefined) throw new Error('no session');
    const row = formatListRow({ ...session, bytes: 1234 });
    for (const [name, value] of [
      ['UPDATED', '2026-05-06T07:08:09Z'],
      ['AGENT', '-'],
      ['PARENT', '-'],
      ['TITLE', 'one'],
    ] as const) {
      assert.is(row.indexOf(value, LIST_HEADER.indexOf(name)), LIST_HEADER.indexOf(name), name);
    }
    assert.is(row.indexOf('1234') + 4, LIST_HEADER.indexOf('BYTES') + 5);
  });

  check('shows a time that no calendar has as it is', () => {
    assert.is(formatTime(9e15), '9000000000000000');
  });
});
