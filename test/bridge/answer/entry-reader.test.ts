import * as assert from 'uvu/assert';
import { createEntryReader } from '../../../src/bridge/answer/entry-reader.ts';
import type { OutputEvent } from '../../../src/bridge/output.ts';
import type { TurnEntry } from '../../../src/bridge/turns/port.ts';
import { describe } from '../../check.ts';

const place = (position: number, partID: string) => ({ position, messageID: 'msg_a', partID });
const text = (position: number, partID: string, words: string): TurnEntry => ({
  ...{ type: 'text', text: words },
  ...place(position, partID),
});
const ended = (position: number, partID: string): TurnEntry => ({ type: 'text-ended', ...place(position, partID) });
const withdrawn = (position: number, partID: string): TurnEntry => ({ type: 'withdrawn', ...place(position, partID) });
const CALL = { callID: 'c', name: 'look', arguments: '{}' };

const shown = (event: OutputEvent): string => {
  if (event.kind === 'text' || event.kind === 'reasoning') return `${event.id}: ${event.text}`;
  if (event.kind === 'text-end' || event.kind === 'reasoning-end') return `${event.id}.`;
  if (event.kind === 'call') return `(${event.call.id}`;
  if (event.kind === 'call-end') return `${event.call.id}) ${event.isWaiting ? 'waits' : event.output}`;
  return event.kind;
};
const readAll = (...entries: readonly TurnEntry[]) => {
  const reader = createEntryReader(0);
  return { reader, said: entries.flatMap((entry) => reader.read(entry)).map(shown) };
};

describe('the entries of a turn', (check) => {
  check('are texts and calls for a client', () => {
    const { said } = readAll(
      text(1, 'a', 'Hel'),
      text(2, 'a', 'lo'),
      ended(3, 'a'),
      { type: 'call', ...CALL, ...place(4, 'b'), isForClient: false },
      { type: 'call-ended', ...CALL, ...place(5, 'b'), output: 'seen', isError: false },
    );
    assert.equal(said, ['a: Hel', 'a: lo', 'a.', '(c', 'c) seen']);
  });

  check('repeat nothing of a text that the model begins again', () => {
    const { said } = readAll(
      text(1, 'a', 'Hello wo'),
      withdrawn(2, 'a'),
      text(3, 'b', 'Hello'),
      text(4, 'b', ' world'),
      ended(5, 'b'),
    );
    assert.equal(said, ['a: Hello wo', 'a: rld', 'a.']);
  });

  check('go on in a new paragraph where a text that began again differs', () => {
    const { said } = readAll(text(1, 'a', 'Hello'), withdrawn(2, 'a'), text(3, 'b', 'Good day'), ended(4, 'b'));
    assert.equal(said, ['a: Hello', 'a: \n\nGood day', 'a.']);
  });

  check('end what is open where the answer ends', () => {
    const { reader, said } = readAll(text(1, 'a', 'Hm'), {
      type: 'call',
      ...CALL,
      ...place(2, 'b'),
      isForClient: false,
    });
    const request = { id: 'per_1', sessionID: 's', tool: 'look', input: '', notes: [] };
    const waiting = { ...request, call: { id: 'c', name: 'look', input: '{}' } };
    assert.equal([...said, ...reader.end([waiting]).map(shown)], ['a: Hm', 'a.', '(c', 'c) waits']);
  });

  check('show a call that began in an answer before', () => {
    const { said } = readAll({ type: 'call-ended', ...CALL, ...place(2, 'b'), output: 'done', isError: false });
    assert.equal(said, ['c) done']);
  });

  check('keep the calls of the client for the end', () => {
    const { reader, said } = readAll({ type: 'call', ...CALL, ...place(1, 'b'), isForClient: true });
    assert.equal([said.length, reader.clientCalls().map(({ id }) => id), reader.position()], [0, ['c'], 1]);
  });
});
