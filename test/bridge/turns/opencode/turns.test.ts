import * as assert from 'uvu/assert';
import { calling, failing, hanging, outcome, replying, toolNamed } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { begun, readUntilPause, refusalOf, textOf, untilSo, user, withTurns } from './world.ts';

describe('turns at an OpenCode server: output', (check) => {
  check('the text comes in pieces with ascending positions, and the end last', () =>
    withTurns({ scripts: [replying('one ', 'two ', 'three')] }, async ({ ask }) => {
      const { turn, entries, text, outcome: how } = await ask();
      assert.is(how, 'begun');
      assert.is(text, 'one two three');
      assert.is(turn.status, 'completed');
      const positions = entries.map(({ position }) => position);
      assert.equal(
        positions,
        [...new Set(positions)].sort((left, right) => left - right),
      );
      assert.equal(entries.map(({ type }) => type).slice(-2), ['text-ended', 'step']);
      assert.equal(turn.usage, { input: 10, output: 5, reasoning: 0, cacheRead: 0, cacheWrite: 0 });
    }),
  );

  check('calls of the agent and their results are entries, each step after the one before', () =>
    withTurns(
      {
        scripts: [calling({ name: 'look', input: { at: 1 } }), replying('seen')],
        tools: [toolNamed('look', async () => outcome('a house'))],
        rules: [{ permission: '*', pattern: '*', action: 'allow' }],
      },
      async ({ ask }) => {
        const { entries } = await ask();
        assert.equal(
          entries.map(({ type }) => type),
          ['call', 'call-ended', 'step', 'text', 'text-ended', 'step'],
        );
        const [call, ended] = entries;
        assert.is(call?.type === 'call' && call.arguments, '{"at":1}');
        assert.is(ended?.type === 'call-ended' && ended.output, 'a house');
      },
    ),
  );

  check('a turn that has ended is read again with the same entries, from any position', () =>
    withTurns({ scripts: [replying('one ', 'two')] }, async ({ ask, turns, by }) => {
      const { turn, entries } = await ask();
      const { entries: again } = await turns.read(turn.id, by);
      assert.is(textOf(again), 'one two');
      assert.is(again.at(-1)?.position, entries.at(-1)?.position);
      const from = entries[0]?.position ?? 0;
      const { entries: rest } = await readUntilPause(turns.follow(turn.id, from, by));
      assert.is(textOf(rest), textOf(entries.slice(1)));
    }),
  );

  check('a failure of the model is the end of its turn', () =>
    withTurns({ scripts: [failing(new Error('broken'))] }, async ({ ask }) => {
      const { turn } = await ask();
      assert.is(turn.status, 'failed');
      assert.ok(turn.error);
    }),
  );

  check('a turn is cancelled, and stays so', () =>
    withTurns({ scripts: [hanging] }, async ({ begin, turns, by }) => {
      const { turn, events } = begun(await begin());
      await untilSo(async () => textOf((await turns.read(turn.id, by)).entries) === 'thinking');
      assert.is((await turns.cancel(turn.id, by)).status, 'aborted');
      const { turn: last, entries } = await readUntilPause(events);
      assert.is(last?.status, 'aborted');
      assert.is(textOf(entries), 'thinking');
      assert.is((await turns.cancel(turn.id, by)).status, 'aborted');
    }),
  );

  check('another owner does not see it', () =>
    withTurns({}, async ({ ask, turns, by }) => {
      const { turn } = await ask();
      const other = { ...by, owner: 'another' };
      assert.is(await refusalOf(turns.view(turn.id, other)), 'turn_not_found');
      assert.is(await refusalOf(turns.read(turn.id, other)), 'turn_not_found');
      assert.is(
        await refusalOf(turns.conversations.find({ id: turn.conversationID }, other)),
        'conversation_not_found',
      );
    }),
  );

  check('a client tool is refused', () =>
    withTurns({}, async ({ begin, turns, by }) => {
      const clientTools = { tools: [{ name: 'mine', inputSchema: {} }], choice: 'auto', isParallel: true } as const;
      assert.is(await refusalOf(begin({ clientTools })), 'unsupported');
      assert.is(await turns.takesClientTools(by.signal), false);
    }),
  );

  check('a turn that is not stored is deleted once it was read', () =>
    withTurns({}, async ({ ask, turns, by, agent }) => {
      const { turn } = await ask({ isStored: false });
      await untilSo(async () => (await agent.call('GET', `/session/${turn.sessionID}`)).status === 404);
      assert.is(await refusalOf(turns.view(turn.id, by)), 'turn_not_found');
    }),
  );

  check('its prompt is given back as the message that the request has stored', () =>
    withTurns({}, async ({ ask, turns, by }) => {
      const { turn, entries } = await ask({ input: [user('the words')] });
      const [message] = await turns.input(turn, by);
      assert.is(message?.info.id, turn.promptID);
      assert.match(JSON.stringify(message?.parts), /the words/);
      const { sessionID } = turn;
      const [partID = ''] = entries.flatMap((entry) => ('partID' in entry ? [entry.partID] : []));
      const found = async (place: Parameters<typeof turns.turnsOfPart>[0], owner = by.owner) =>
        (await turns.turnsOfPart(place, { ...by, owner })).map(({ id }) => id);
      assert.equal(await found({ sessionID, partID }), [turn.id]);
      assert.equal(await found({ sessionID, partID: 'prt_another' }), []);
      assert.equal(await found({ sessionID, partID }, 'somebody-else'), []);
    }),
  );
});
