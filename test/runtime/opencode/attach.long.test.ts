import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { answer, calls, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { callsIn, isNoTitle, isTitle, messagesOf, promptTexts, questionsOf, until } from '../agent/world.ts';
import { missingTmux, openTerminal, type Terminal } from '../terminal.ts';
import { besideOpencode, missingOpencode, type OpencodeWorld } from './world.ts';

const missing = missingOpencode ?? missingTmux;

/** Runs the body behind a terminal in which OpenCode's own is attached to the server, and can be typed into. */
const attached = async (world: OpencodeWorld, body: (terminal: Terminal) => Promise<void>): Promise<void> => {
  const { program, agent, work, programVariables, model } = world;
  model.alwaysReply('A fine title', isTitle);
  const command = [program, 'attach', agent.address];
  const terminal = await openTerminal({ command, directory: work, variables: programVariables });
  try {
    await terminal.showing(/Ask anything[\s\S]*Build · Main/);
    await body(terminal);
  } finally {
    await terminal.end();
  }
};
/** Types and sends, once what was typed is to be seen. */
const enter = async ({ type, press, showing }: Terminal, words: string): Promise<void> => {
  await type(words);
  await showing(new RegExp(`┃ +${words}`));
  await press('Enter');
};
const newest = async ({ agent }: OpencodeWorld): Promise<Session> => {
  const [session] = (await agent.ask<readonly Session[]>('GET', '/session?limit=1')).json;
  if (session === undefined) throw new Error('There is no session');
  return session;
};

const beside = besideOpencode();

describe("OpenCode's terminal, attached", (check) => {
  check.needing(
    missing,
    'shows the agent, the model and the tool servers, and an answer while it is written; keys end it',
    beside((world) =>
      attached(world, async (terminal) => {
        assert.match(await terminal.showing(/⊙ 1 MCP/), 'Build · Main Demo');
        world.model.addReply(answer([...text('The first half, '), { kind: 'hang' }]), isNoTitle);
        await enter(terminal, 'tell me');
        assert.match(await terminal.showing(/The first half,/), /esc interrupt/);
        const { id } = await newest(world);
        assert.equal((await world.agent.ask('GET', '/session/status')).json, { [id]: { type: 'busy' } });
        await terminal.press('Escape');
        await terminal.showing(/esc again to interrupt/);
        await terminal.press('Escape');
        await until('the run has ended', async () => {
          const { json } = await world.agent.ask<object>('GET', '/session/status');
          return Object.keys(json).length === 0;
        });
        world.model.addReply(answer(text('Another ', 'answer, ', 'whole.')), isNoTitle);
        await enter(terminal, 'once more');
        await terminal.showing(/Another answer, whole\./);
        const messages = await messagesOf(world.agent, id);
        assert.equal(
          messages.map(({ info, parts }) => [info.role, promptTexts(parts)]),
          [
            ['user', 'tell me'],
            ['assistant', 'The first half, '],
            ['user', 'once more'],
            ['assistant', 'Another answer, whole.'],
          ],
        );
      }),
    ),
  );

  for (const [choice, keys, status] of [
    ['approves', ['Enter'], 'completed'],
    ['rejects', ['Right', 'Right', 'Enter'], 'error'],
  ] as const)
    check.needing(
      missing,
      `asks a person, who ${choice} by keys`,
      beside((world) =>
        attached(world, async (terminal) => {
          world.model.addReply(answer(calls({ name: 'tools_echo', arguments: { words: 'far away' } })), isNoTitle);
          world.model.addReply('So it is done.', isNoTitle);
          await enter(terminal, 'say it');
          const screen = await terminal.showing(/Permission required[\s\S]*Reject/);
          assert.match(screen, 'tools_echo');
          assert.is((await questionsOf(world.agent)).length, 1);
          await terminal.press(...keys);
          await until('the question is answered', async () => (await questionsOf(world.agent)).length === 0);
          const { id } = await newest(world);
          const callNow = async () => callsIn(await messagesOf(world.agent, id))[0]?.state.status;
          await until('the call has ended', async () => (await callNow()) === status);
          if (choice === 'approves') await terminal.showing(/So it is done\./);
        }),
      ),
    );

  check.needing(
    missing,
    'offers the commands of the configuration, and sends one',
    beside((world) =>
      attached(world, async (terminal) => {
        world.model.addReply('Gold is heavier.', isNoTitle);
        const isOffered = async () => /\/weigh +Weighs two things/.test(await terminal.screen());
        // Letters that come before the terminal has read the commands bring up none of them.
        for (let tries = 0; tries < 30 && !(await isOffered()); tries += 1) {
          await terminal.press('C-u');
          await terminal.type('/wei');
          await sleep(1000);
        }
        assert.ok(await isOffered(), await terminal.screen());
        await terminal.press('Tab');
        await terminal.type('gold feathers');
        await terminal.showing(/\/weigh gold feathers/);
        await terminal.press('Enter');
        await terminal.showing(/Gold is heavier\./);
        const [asked, reply] = await messagesOf(world.agent, (await newest(world)).id);
        assert.is(promptTexts(asked?.parts ?? []), 'Weigh gold against feathers.');
        assert.is(reply?.info.agent, 'reviewer');
      }),
    ),
  );

  check.needing(
    missing,
    'reverts the conversation, restores it, and summarises it',
    beside((world) =>
      attached(world, async (terminal) => {
        world.model.addReply('The first answer.', isNoTitle);
        await enter(terminal, 'question one');
        await terminal.showing(/The first answer\./);
        world.model.addReply('The second answer.', isNoTitle);
        await enter(terminal, 'question two');
        await terminal.showing(/The second answer\./);
        const { id } = await newest(world);
        const revertNow = async () => (await world.agent.ask<Session>('GET', `/session/${id}`)).json.revert;
        const second = (await messagesOf(world.agent, id))[2];
        await enter(terminal, '/undo');
        await terminal.showing(/1 message reverted/);
        assert.equal(await revertNow(), { messageID: second?.info.id });
        assert.not.match(await terminal.screen(), 'The second answer.');
        await terminal.press('C-u');
        await enter(terminal, '/redo');
        await terminal.showing(/The second answer\./);
        assert.is(await revertNow(), undefined);
        world.model.addReply('It was about two questions.', isNoTitle);
        await enter(terminal, '/compact');
        await terminal.showing(/It was about two questions\./);
        const summary = (await messagesOf(world.agent, id)).at(-1)?.info;
        assert.ok(summary?.role === 'assistant' && summary.summary);
      }),
    ),
  );
});
