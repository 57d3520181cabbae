import * as assert from 'uvu/assert';
import type { ShownMessage } from '../../../src/console/page/api/types.ts';
import { followSession } from '../../../src/console/page/views/chat/follow.ts';
import { findTurn, type SessionTurn } from '../../../src/console/page/views/chat/session-turns.ts';
import { describe } from '../../check.ts';

const idOf = (index: number): string => `msg_${String(index).padStart(4, '0')}`;
const message = (index: number, role: string): ShownMessage => ({
  info: { id: idOf(index), role },
  parts: [{ type: 'text', id: `p${index}`, text: `text ${index}` }],
});
/** A prompt and its answer of many steps, each a message of its own. */
const longTurn = (steps: number): readonly ShownMessage[] =>
  Array.from({ length: steps + 1 }, (_, index) => message(index, index === 0 ? 'user' : 'assistant'));

type Step = { readonly messages: readonly ShownMessage[]; readonly isBusy: boolean } | 'down' | 'logged out';

/** Follows a session that each question finds one step further, in a page that is visible from the `visibleAt`th second on. */
const follow = async (steps: readonly Step[], visibleAt = 0) => {
  const { fetch, setTimeout, document } = globalThis;
  const paths: string[] = [];
  const shown: (readonly SessionTurn[])[] = [];
  let asked = -1;
  let seconds = 0;
  const page = (messages: readonly ShownMessage[], query: URLSearchParams) => {
    const before = query.get('before');
    const older = messages.filter(({ info }) => before === null || info.id < before);
    const read = older.slice(-Number(query.get('limit')));
    return { messages: read, ...(read.length < older.length ? { next: read[0]?.info.id } : {}) };
  };
  Object.assign(globalThis, {
    document: { visibilityState: 'visible' },
    fetch: async (path: string) => {
      paths.push(path);
      const { pathname, searchParams } = new URL(path, 'http://console');
      const isState = !pathname.endsWith('/messages');
      if (isState) asked += 1;
      const step = steps[Math.min(asked, steps.length - 1)] ?? 'down';
      if (typeof step === 'string') return Response.json({ error: {} }, { status: step === 'down' ? 502 : 401 });
      return Response.json(isState ? { status: step.isBusy ? 'busy' : 'idle' } : page(step.messages, searchParams));
    },
    setTimeout: (work: () => void) => {
      seconds += 1;
      Object.assign(globalThis, { document: { visibilityState: seconds < visibleAt ? 'hidden' : 'visible' } });
      return setImmediate(work);
    },
  });
  try {
    const take = (turns: readonly SessionTurn[]) => shown.push(turns) > 0;
    const error = await followSession({ agent: 0, id: 'ses_1' }, take, new AbortController().signal).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return { shown, paths, error, seconds };
  } finally {
    Object.assign(globalThis, { fetch, setTimeout, document });
  }
};

describe('an answer that is followed in its session', (check) => {
  check('is shown with its prompt and from its beginning, however many messages it has', async () => {
    const { shown, paths } = await follow([
      { messages: longTurn(150), isBusy: true },
      { messages: longTurn(170), isBusy: false },
    ]);
    const seen = shown.map((turns) => turns.map(({ prompt, parts }) => [prompt, parts.length]));
    assert.equal(seen, [[['text 0', 150]], [['text 0', 170]]]);
    // What came before the newest page is read once.
    assert.is(paths.filter((path) => path.includes('before=')).length, 2);
  });

  check('is read anew where more came than a page holds', async () => {
    const { shown } = await follow([
      { messages: longTurn(10), isBusy: true },
      { messages: longTurn(200), isBusy: false },
    ]);
    assert.is(shown.at(-1)?.[0]?.parts.length, 200);
  });

  check('goes on after its agent server was away for a while, and not for ever', async () => {
    const end = { messages: longTurn(1), isBusy: false };
    const back = await follow(['down', { messages: longTurn(1), isBusy: true }, 'down', 'down', end]);
    assert.equal([back.error, back.shown.length], [undefined, 2]);
    const gone = await follow(['down']);
    assert.equal([String(gone.error), gone.paths.length], ['ApiError', 31]);
    assert.is((await follow(['logged out', end])).paths.length, 1);
  });

  check('is not asked for while nobody sees the page', async () => {
    const { paths, seconds } = await follow(
      [
        { messages: longTurn(1), isBusy: true },
        { messages: longTurn(1), isBusy: false },
      ],
      3600,
    );
    assert.equal([paths.length, seconds], [4, 3600]);
  });
});

describe('a turn among those of its session', (check) => {
  const turn = (id: string, prompt: string): SessionTurn => ({ id, prompt, parts: [], isStopped: false });
  const all = [turn('a', 'hello'), turn('b', 'go on'), turn('c', 'stop that')];
  const found = (sought: Parameters<typeof findTurn>[1]) => findTurn(all, sought)?.id;

  check('is its own, and not the newest, once another message follows it', () => {
    assert.is(found({ id: 'b', prompt: 'go on', isNewest: true }), 'b');
    assert.is(found({ prompt: 'go on', isNewest: false }), 'b');
    assert.is(found({ prompt: 'unlike what was stored', isNewest: false }), undefined);
    assert.is(found({ prompt: 'unlike what was stored', isNewest: true }), 'c');
  });
});
