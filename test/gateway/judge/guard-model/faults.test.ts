import * as assert from 'uvu/assert';
import type { GuardModelKind } from '../../../../src/gateway/judge/guard-model/taxonomy.ts';
import { describe, sampled, thorough } from '../../../check.ts';
import { FAULTS } from '../../harness/faulty-answers.ts';
import { unjudgedOutcomeOf } from '../../harness/flagged.ts';
import { askGuard, guarding, isGuardCall } from '../../harness/guard-face.ts';
import {
  GUARD_MODEL_KINDS,
  GUARD_MODELS,
  guardReplying,
  isGuardModelCall,
  malformedAnswers,
} from '../../harness/guard-models.ts';
import { errorOf, resultsOf } from '../../harness/read-answer.ts';
import { auditPrompt, type GuardNode } from '../../harness/relay-audit.ts';
import { createUnusableReplies, UNUSABLE_CONTENTS } from '../../harness/unusable-answers.ts';
import { type Answer, gatewayOver, judging, nonceOf, replying } from '../../harness/world.ts';

type Dialect = 'ollama' | 'openai';
const DIALECTS: Readonly<Record<Dialect, Readonly<Record<string, string>>>> = {
  ollama: { BACKEND_DIALECT: 'ollama' },
  openai: { BACKEND_DIALECT: 'openai', BACKEND_BASE_URL: 'http://backend.test:8080' },
};
/** The name that a relay platform asks for, so that both faces are judged by the same judges. */
const ALIAS = 'sileader/qwen3guard:0.6b';

/** Log-probabilities that contradict an answer, or tell of other words. */
const OTHER_PLACES: Readonly<Record<string, readonly Readonly<Record<string, number>>[]>> = {
  'probabilities of another word': [{ perhaps: 0.9, never: 0.1 }],
  'probabilities that say little': [{ '<': 0.02 }],
};

/** What a guard model or its server may get wrong. Each would be an all-clear if it was taken for an answer. */
const faultsOf = (kind: GuardModelKind, dialect: Dialect): Readonly<Record<string, Answer>> => {
  const { safe } = GUARD_MODELS[kind];
  const replies = createUnusableReplies(() => safe);
  return {
    ...Object.fromEntries(Object.entries(FAULTS).map(([name, { answer }]) => [name, answer])),
    ...replies[dialect],
    ...replies.final,
    ...Object.fromEntries(
      malformedAnswers(kind).map(([name, content]): [string, Answer] => [
        `answer: ${name}`,
        (sent) => guardReplying(sent, content),
      ]),
    ),
    'an answer of null': (sent) => guardReplying(sent, null),
  };
};
const oddPlaces = (kind: GuardModelKind): Readonly<Record<string, Answer>> => {
  // The label is the first word of these: its place is the first.
  if (kind !== 'llama-guard' && kind !== 'shieldgemma') return {};
  const { safe } = GUARD_MODELS[kind];
  return Object.fromEntries(
    Object.entries(OTHER_PLACES).map(([name, places]) => [name, (sent) => guardReplying(sent, safe, places)]),
  );
};

const chatClean: Answer = (sent) => (isGuardCall(sent) ? guarding()(sent) : judging()(sent));

/** A gateway whose guard model and chat model answer as given. */
const worldOf = (
  kind: GuardModelKind,
  { guard, chat = chatClean }: { readonly guard: Answer; readonly chat?: Answer },
  variables: Readonly<Record<string, string>>,
) => {
  const table = { [ALIAS]: { model: GUARD_MODELS[kind].model, judge: kind, second: 'moderation-fast' } };
  return gatewayOver((sent) => (isGuardModelCall(sent) ? guard(sent) : chat(sent)), {
    variables: { MODERATION_MODELS: JSON.stringify(table), ...variables },
  });
};
type Answers = Parameters<typeof worldOf>[1];

/** Shows that neither face gives an all-clear, in either mode of answers without a verdict. */
const showNoAllClear = async (kind: GuardModelKind, dialect: Dialect, answers: Answers, name: string) => {
  const make = (NO_VERDICT: string) => worldOf(kind, answers, { ...DIALECTS[dialect], NO_VERDICT });
  const ask = { model: ALIAS, input: 'some text' };
  const error = await unjudgedOutcomeOf(await make('error').ask(ask));
  assert.match(error, /^50[23] /, name);
  assert.is(await unjudgedOutcomeOf(await make('flag').ask(ask)), `flagged ${error.split(' ')[1]}`, name);
  const node: GuardNode = (body) => askGuard(make('flag'), body);
  const blocking: GuardNode = (body) => askGuard(gatewayOver(guarding({ VI: 90 })), body);
  assert.is(await auditPrompt(['some text'], [node, blocking]), 'block', name);
};

for (const kind of GUARD_MODEL_KINDS) {
  const { safe, unsafe } = GUARD_MODELS[kind];
  const says =
    (content: string): Answer =>
    (sent) =>
      guardReplying(sent, content);

  for (const dialect of ['ollama', 'openai'] as const) {
    describe(`${kind} over ${dialect} that fails`, (check) => {
      const isFull = thorough(0, 1) === 1;
      // What fails below the answer fails in the same way for every kind, and what is wrong in an answer over both dialects.
      const withServers = isFull || (kind === 'qwen3guard' && dialect === 'ollama') || kind === 'llama-guard';
      const withAnswers = isFull || (dialect === 'openai') === (kind === 'qwen3guard' || kind === 'shieldgemma');
      const chosen = Object.entries({ ...faultsOf(kind, dialect), ...oddPlaces(kind) }).filter(([name]) =>
        Object.hasOwn(FAULTS, name) ? withServers : withAnswers || !name.startsWith('answer: '),
      );

      check('gives no all-clear on either face, though its chat model finds nothing', async () => {
        assert.ok(chosen.length > 20);
        for (const [name, guard] of sampled(chosen, 3)) await showNoAllClear(kind, dialect, { guard }, name);
      });
      check('gives none where the chat model fails behind it, and it finds nothing', async () => {
        for (const content of Object.values(UNUSABLE_CONTENTS).slice(0, thorough(4, 100)))
          await showNoAllClear(
            kind,
            dialect,
            { guard: says(safe), chat: (sent) => replying(sent, content(nonceOf(sent))) },
            content('000000000000'),
          );
        for (const name of ['500', '429 without a time', 'a connection refused']) {
          const chat = FAULTS[name]?.answer;
          if (chat === undefined) throw new Error(`Expected a fault called ${name}`);
          await showNoAllClear(kind, dialect, { guard: says(safe), chat }, name);
        }
      });
      check('keeps nothing of a failure', async () => {
        let isBroken = true;
        const guard: Answer = (sent) => guardReplying(sent, isBroken ? `${safe}!` : unsafe);
        const { ask } = worldOf(kind, { guard }, DIALECTS[dialect]);
        assert.is((await errorOf(await ask({ model: ALIAS, input: 'a' }))).code, 'backend_unusable_reply');
        isBroken = false;
        const answer = await ask({ model: ALIAS, input: 'a' });
        assert.is(answer.headers.get('x-moderation-cache'), 'miss');
        assert.is((await resultsOf(answer))[0]?.flagged, true);
      });
      check('says nothing of it in errors and logs but our own words', async () => {
        const guard: Answer = (sent) => guardReplying(sent, 'canary-answer');
        const { ask, logged } = worldOf(kind, { guard }, DIALECTS[dialect]);
        const { message } = await errorOf(await ask({ model: ALIAS, input: 'canary-text' }));
        assert.not.match(message + logged.join('\n'), /canary|backend-key/);
        assert.ok(logged.some((line) => line.includes(`not in the form of ${kind}`)));
      });
      check('ends with the deadline', async () => {
        const world = worldOf(kind, { guard: () => new Promise<never>(() => {}) }, DIALECTS[dialect]);
        const late = world.ask({ model: ALIAS, input: 'a' });
        await world.clock.advance(25_000);
        assert.is(await unjudgedOutcomeOf(await late), '504 backend_timeout');
        assert.ok(world.calls.filter(isGuardModelCall).every(({ signal }) => signal.aborted));
      });
    });
  }
}
