import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { Message, Part } from '../../../src/agent/protocol/types.ts';
import type { MessageWithParts, Store } from '../../../src/agent/store/store.ts';
import { toModelHistory } from '../../../src/agent/turn/history.ts';
import { findNeededMessages, summaryRequestKind } from '../../../src/agent/turn/needed-messages.ts';
import { describe, thorough } from '../../check.ts';
import { answer, textPart, userMessage } from '../store/samples.ts';

const SESSION = 'ses_1';
const idAt = (place: number): string => `msg_${String(place).padStart(4, '0')}`;

/** What a message may be: an answer belongs to one of the messages, by its place, which may be gone or come later. */
type Kind = 'prompt' | 'automatic' | 'requested' | 'answer' | 'summary' | 'failed';
type Given = { readonly kind: Kind; readonly parent: number; readonly isGone: boolean };

const anyMessage: fc.Arbitrary<Given> = fc.record({
  kind: fc.constantFrom<Kind>('prompt', 'prompt', 'automatic', 'requested', 'answer', 'answer', 'summary', 'failed'),
  parent: fc.nat(24),
  isGone: fc.integer({ min: 0, max: 5 }).map((chosen) => chosen === 5),
});

const toStored = ({ kind, parent }: Given, place: number): MessageWithParts => {
  const id = idAt(place);
  const part = { id: `prt_${id}`, messageID: id, sessionID: SESSION };
  const text = textPart(part, `text of ${id}`);
  if (kind === 'prompt') return { info: userMessage(id, SESSION), parts: [text] };
  if (kind === 'automatic' || kind === 'requested') {
    const request: Part = { ...part, type: 'compaction', auto: kind === 'automatic' };
    return { info: userMessage(id, SESSION), parts: [request] };
  }
  const time = { created: 1, completed: 2 };
  const more = kind === 'answer' ? {} : kind === 'summary' ? { summary: true } : { finish: 'error' as const };
  return { info: answer(id, SESSION, { parentID: idAt(parent), time, ...more }), parts: [text] };
};

const storeOf = (messages: readonly MessageWithParts[]): Pick<Store, 'messageHeads' | 'message'> => ({
  async messageHeads(_sessionID, { limit = messages.length, beforeID = '~' } = {}) {
    const older = messages.filter(({ info }) => info.id < beforeID);
    return older.slice(Math.max(0, older.length - limit)).map(({ info }) => ({ info, bytes: 1 }));
  },
  message: async (_sessionID, id) => messages.find(({ info }) => info.id === id),
});

/** The messages as they are read: without the parts that are not needed. */
const readNeeded = async (
  messages: readonly MessageWithParts[],
  promptID: string,
): Promise<readonly MessageWithParts[]> => {
  const store = storeOf(messages);
  const kindOf = async (id: string) => summaryRequestKind(await store.message(SESSION, id));
  const planned = await findNeededMessages(store, { sessionID: SESSION, promptID, kindOf });
  const partsOf = (info: Message) => messages.find((one) => one.info.id === info.id)?.parts ?? [];
  return planned.map(({ info, isNeeded }) => ({ info, parts: isNeeded ? partsOf(info) : [] }));
};

describe('the messages that a model needs', (check) => {
  check('make the same conversation as all messages, whatever summaries there are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyMessage, { minLength: 1, maxLength: 24 }), fc.nat(24), async (given, prompt) => {
        const messages = given.map(toStored).filter((_, place) => given[place]?.isGone !== true || place === prompt);
        for (const promptID of [idAt(prompt), messages.find(({ info }) => info.role === 'user')?.info.id ?? '']) {
          const needed = await readNeeded(messages, promptID);
          assert.equal(toModelHistory(needed, promptID, []), toModelHistory(messages, promptID, []));
        }
      }),
      { numRuns: thorough(300, 50_000) },
    );
  });

  check('are few after a summary within the turn, and no message before them is looked at', async () => {
    const at = (kind: Kind, parent = 0): Given => ({ kind, parent, isGone: false });
    const before = Array.from({ length: 1000 }, () => at('prompt'));
    const steps = Array.from({ length: 40 }, () => at('answer', 1000));
    const messages = [...before, at('prompt'), ...steps, at('automatic'), at('summary', 1041)].map(toStored);
    const store = storeOf(messages);
    let looked = 0;
    const counting: typeof store = {
      ...store,
      async messageHeads(...asked) {
        const heads = await store.messageHeads(...asked);
        looked += heads.length;
        return heads;
      },
    };
    const kindOf = async (id: string) => summaryRequestKind(await store.message(SESSION, id));
    const planned = await findNeededMessages(counting, { sessionID: SESSION, promptID: idAt(1000), kindOf });
    const needed = planned.filter(({ isNeeded }) => isNeeded).map(({ info }) => info.id);
    assert.equal(needed, [1000, 1040, 1041, 1042].map(idAt));
    assert.ok(looked < 300, String(looked));
  });
});
