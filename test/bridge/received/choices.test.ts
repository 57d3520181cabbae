import { describe } from '../../check.ts';
import { functionNamed, TOOLS } from '../harness/tools-world.ts';
import { assistant, system, user } from '../harness/world.ts';
import { compare, type Said, type Situation } from './play.ts';
import { asks, chatOn, inPlaceOf, next, OWN_CALL, resultsOf, SCHEMA, VALUE, withResults, withTools } from './sent.ts';
import type { Told } from './told.ts';

const FORMAT = { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } };
const withFormat = { more: { response_format: FORMAT } };
const withShell = { more: { tools: [{ type: 'custom', custom: { name: 'sh', description: 'A shell' } }] } };
const withRouter = { more: { tools: [functionNamed('transfer_to_clerk')] } };
const required = { more: { tools: TOOLS, tool_choice: 'required' } };
const CLERK = system('You are the clerk.');

const ownCall = {
  because: 'what tools of the agent gave is known to the agent alone, and stays',
  told: (told: readonly Told[]) => told.toSpliced(1, 0, ...OWN_CALL),
};
/** The call is in one step with one of the client. */
const besideOwnCall = {
  because: ownCall.because,
  told: (told: readonly Told[]) => {
    const [look, found] = OWN_CALL;
    const both = told.slice(1, 3).map((one): Told => {
      if (one.role === 'assistant' && look?.role === 'assistant')
        return { ...one, calls: [...look.calls, ...one.calls] };
      if (one.role === 'tool' && found?.role === 'tool') return { ...one, results: [...found.results, ...one.results] };
      return one;
    });
    return told.toSpliced(1, 2, ...both);
  },
};
const approval = (said: readonly Said[]) => [user(`approve ${/"approve (\w+)"/.exec(said[0]?.text ?? '')?.[1]}`)];

const choices: readonly Situation[] = [
  {
    name: 'a function that has to be called, its result and what follows',
    requests: [
      next('a', { more: { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'weather' } } } }),
      withResults(),
      next('b', withTools),
    ],
    sessions: 1,
  },
  {
    name: 'any function that has to be called, its result and what follows',
    requests: [next('a', required), withResults(), next('b', withTools)],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a call that is the answer, and other words',
    requests: [next('a', required), chatOn(0, (said) => [...resultsOf(0, () => '')(said), user('b')])],
    sessions: 1,
  },
  {
    name: 'functions that are not to be called',
    requests: [
      ...[asks, withResults({ more: { tools: TOOLS, tool_choice: 'none' } })],
      ...[next('call weather'), next('b', withTools)],
    ],
    sessions: 1,
  },
  {
    name: 'calls of custom tools, and their results',
    requests: [next('call sh', withShell), withResults(withShell), next('b', withShell)],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a handoff: other functions and instructions',
    requests: [
      { messages: [system('You route.'), user('call transfer_to_clerk')], ...withRouter },
      (said) => ({
        messages: [CLERK, ...(said[0]?.whole ?? []).slice(1), ...resultsOf(0, () => '{"assistant":"clerk"}')(said)],
        ...withTools,
      }),
      next('call weather', withTools),
      withResults(),
    ],
    sessions: 1,
  },
  {
    name: 'a value, what follows, and a branch',
    requests: [
      next('a', withFormat),
      next('b', { but: VALUE }),
      next('c', { ...withFormat, but: VALUE }),
      chatOn(0, [user('B')], { but: VALUE }),
    ],
    sessions: 2,
  },
  {
    name: 'values of a history that nobody knows',
    requests: [{ messages: [user('a'), assistant('{"n":1}'), user('b')], ...withFormat }],
    sessions: 1,
  },
  { name: 'a call, and a value after its result', requests: [asks, withResults(withFormat)], sessions: 1 },
];

const ofAgent: readonly Situation[] = [
  {
    name: 'a chat that goes on',
    requests: [next('call look'), next('b', { but: ownCall }), next('c', { but: ownCall })],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a branch',
    requests: [next('call look'), next('b', { but: ownCall }), chatOn(0, [user('B')], { but: ownCall })],
    sessions: 2,
  },
  {
    name: 'a text before the call',
    requests: [
      next('say and call look'),
      next('b', {
        but: {
          because: 'the texts around a call of the agent are one answer to clients, and two to the model',
          told: ([question, , ...rest]) => [
            ...(question === undefined ? [] : [question]),
            ...OWN_CALL.map((one): Told => (one.role === 'assistant' ? { ...one, text: 'Let me see.' } : one)),
            { role: 'assistant', text: 'it is 2', calls: [] },
            ...rest,
          ],
        },
      }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a call of the client in the same step',
    requests: [
      next('call look, weather', withTools),
      withResults({ ...withTools, but: besideOwnCall }),
      next('b', { ...withTools, but: besideOwnCall }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'an approval, and what follows',
    requests: [
      next('call look'),
      chatOn(0, approval, {
        but: inPlaceOf('the agent asks the user, and the model is told what came of it', 2, OWN_CALL),
      }),
      next('b', { but: inPlaceOf('approvals are no messages to the model', 2, OWN_CALL) }),
    ],
    given: { rules: [{ permission: '*', pattern: '*', action: 'ask' }] },
    isPlain: true,
    sessions: 1,
  },
];

describe('what a model receives where a choice or a form is asked for', (check) => compare(check, choices));
describe('what a model receives of calls of the agent', (check) => compare(check, ofAgent));
