import * as assert from 'uvu/assert';
import type { Check } from '../../../check.ts';
import { deltaOf, reported, sessionOf, textPart, userMessage } from '../samples.ts';
import { CONVERSATION, type StorePlaces } from './places.ts';

const MEGABYTE = 1024 * 1024;

/** What every store promises about texts of any kind and size. */
export const checkTexts = (check: Check, { withStore }: StorePlaces): void => {
  check('keeps every text as it is: any script, emoji, halves of pairs, control characters', () =>
    withStore(async (store) => {
      const text = '汉字 العربية 👩‍👩‍👧 é e\u0301 \ud83d \ude00 \0 \u2028 \\u0000 "\'`%_ \ufeff\uffff';
      const directory = `/${text}`;
      const place = { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1' };
      const session = sessionOf('ses_1', { title: text, directory, metadata: { [text]: text } });
      await store.commit(
        [
          { kind: 'session', session },
          { kind: 'message', message: userMessage('msg_1', 'ses_1') },
          { kind: 'part', part: textPart(place, text) },
          { kind: 'output', sessionID: 'ses_1', partID: 'prt_1', text },
        ],
        [reported(text, directory)],
      );
      assert.equal(await store.sessions({ directory }), [session]);
      assert.equal(await store.sessions({ search: text }), [session]);
      assert.equal(await store.sessions({ directory: directory.toWellFormed() }), []);
      assert.equal((await store.message('ses_1', 'msg_1'))?.parts, [textPart(place, text)]);
      assert.is(await store.output('ses_1', 'prt_1'), text);
      const [placed] = await store.events({ afterID: '', directory, limit: 10 });
      assert.equal(placed, { directory, event: { ...deltaOf('ses_1', text), id: placed?.event.id ?? '' } });
      assert.is(await store.session('ses_1\0'), undefined);
      assert.is(await store.session('\ud800'), undefined);
    }),
  );

  check('keeps texts of a megabyte', () =>
    withStore(async (store) => {
      const text = 'é😀x'.repeat(MEGABYTE / 4);
      const place = { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1' };
      await store.commit(
        [...CONVERSATION.slice(0, 2), { kind: 'part', part: textPart(place, text) }],
        [reported(text)],
      );
      await store.commit([{ kind: 'output', sessionID: 'ses_1', partID: 'prt_1', text }], []);
      assert.ok((await store.messages('ses_1'))[0]?.parts.some((part) => part.type === 'text' && part.text === text));
      assert.ok((await store.output('ses_1', 'prt_1')) === text);
      const [placed] = await store.events({ afterID: '', limit: 1 });
      assert.ok(placed?.event.type === 'message.part.delta' && placed.event.properties.delta === text);
    }),
  );
};
