import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import type { Script } from '../backends.ts';
import { installPythonPackages } from '../bridge-clients/python-packages.ts';
import { KEY } from '../client.ts';
import { withGateway } from '../gateway/world.ts';
import { ROOT } from '../processes.ts';

// The filter file, called as Open WebUI calls it: Open WebUI itself needs more than a test can install.

const { directory, missing } = installPythonPackages('pydantic', [
  'pydantic==2.14.3',
  'pydantic-core==2.50.4',
  'annotated-types==0.8.0',
  'typing-extensions==4.16.0',
  'typing-inspection==0.4.5',
]);
const NOWHERE = 'http://127.0.0.1:9';
const UNJUDGED = { raised: 'This message could not be checked, so it was not sent.' };

type Call = { readonly kind: 'inlet' | 'outlet'; readonly valves: object; readonly body: object };

/** Runs calls in one process of Python, and gives what came of each. */
const callFilter = async (calls: readonly Call[]): Promise<readonly unknown[]> => {
  const words = [join(import.meta.dirname, 'open_webui.py'), join(ROOT, 'integrations/open-webui-filter.py')];
  const env = { PATH: process.env.PATH, PYTHONPATH: directory, PYTHONDONTWRITEBYTECODE: '1' };
  const running = promisify(execFile)('python3', words, { env, timeout: 60_000 });
  running.child.stdin?.end(calls.map((call) => `${JSON.stringify(call)}\n`).join(''));
  const { stdout, stderr } = await running;
  const lines = stdout.split('\n').filter((line) => line !== '');
  assert.is(lines.length, calls.length, stderr);
  return lines.map((line) => JSON.parse(line) as unknown);
};

const breaking: Script = ({ text }) => {
  if (text.includes('please break')) return { status: 500, body: 'no' };
  return text.includes('please wait') ? 'hang' : undefined;
};
const user = (content: unknown) => ({
  model: 'm',
  stream: true,
  messages: [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content, id: 'a', timestamp: 1, files: [] },
  ],
});
const said = (content: string) => ({
  model: 'm',
  chat_id: 'c',
  messages: [
    { role: 'user', content: 'I will kill you' },
    { role: 'assistant', content, id: 'b', usage: { total_tokens: 1 } },
  ],
});

const threat = 'I will kill you';
const saying = (message: object) => ({ messages: [{ role: 'assistant', content: 'hello', ...message }] });
/** Where clients of Open WebUI's API may put a text. */
const HIDDEN: readonly object[] = [
  saying({ name: threat }),
  saying({ refusal: threat }),
  saying({ reasoning: threat }),
  saying({ function_call: { name: 'f', arguments: threat } }),
  { tools: [{ type: 'function', function: { name: 'f', description: threat } }] },
  { functions: [{ name: 'f', description: threat }] },
  { response_format: { type: 'json_schema', json_schema: { name: 'f', schema: { description: threat } } } },
  { prediction: { type: 'content', content: threat } },
];

describe("Open WebUI's filter", (check) => {
  check.needing(missing, 'blocks before the model, replaces after it, and closes without a verdict', () =>
    withGateway({ script: breaking }, async ({ gateway }) => {
      const usual = { gateway_url: gateway.address, api_key: KEY, timeout_seconds: 5 };
      const inlet = (content: unknown, valves: object = {}): Call => ({
        kind: 'inlet',
        valves: { ...usual, ...valves },
        body: user(content),
      });
      const outlet = (content: string, valves: object): Call => ({
        kind: 'outlet',
        valves: { ...usual, ...valves },
        body: said(content),
      });
      const passed = (call: Call) => ({ body: call.body });
      const blocked = { raised: 'Blocked by content moderation: harassment, harassment/threatening, violence' };
      const answers = { check_answers: true };
      const removed = 'This answer was removed by content moderation.';
      const image = [
        { type: 'text', text: 'hello' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ];
      const table: readonly (readonly [Call, unknown])[] = [
        [inlet('hello'), passed(inlet('hello'))],
        [inlet('hello', { gateway_url: `${gateway.address}/` }), passed(inlet('hello'))],
        [inlet('hello', { model: 'qwen3guard' }), passed(inlet('hello'))],
        [inlet('I will kill you'), blocked],
        [inlet([{ type: 'text', text: 'I will kill you' }]), blocked],
        ...HIDDEN.map((more) => [{ ...inlet('hello'), body: { ...user('hello'), ...more } }, blocked] as const),
        [inlet(image), UNJUDGED],
        [inlet('please break'), UNJUDGED],
        [inlet('please wait', { timeout_seconds: 0.2 }), UNJUDGED],
        [inlet('hello', { api_key: 'wrong' }), UNJUDGED],
        [inlet('hello', { gateway_url: NOWHERE }), UNJUDGED],
        [inlet('hello', { gateway_url: 'no address' }), UNJUDGED],
        [inlet('hello', { gateway_url: `${gateway.address}/v1` }), UNJUDGED],
        ...[
          inlet('please break', { fail_closed: false }),
          inlet('please wait', { fail_closed: false, timeout_seconds: 0.2 }),
          inlet('hello', { fail_closed: false, gateway_url: NOWHERE }),
        ].map((call) => [call, passed(call)] as const),
        // Not an outage: a wrong key, an address that is none, and what a user sends.
        [inlet('hello', { fail_closed: false, api_key: 'wrong' }), UNJUDGED],
        [inlet(image, { fail_closed: false }), UNJUDGED],
        [inlet('I will kill you', { fail_closed: false }), blocked],
        [outlet('I will kill you', {}), passed(outlet('I will kill you', {}))],
        [outlet('Good day.', answers), passed(outlet('Good day.', answers))],
        [outlet('I will kill you', answers), { body: said('x') }],
        [outlet('Good day.', { ...answers, gateway_url: NOWHERE }), { body: said('x') }],
      ];
      const results = await callFilter(table.map(([call]) => call));
      for (const [index, [call, expected]] of table.entries())
        assert.equal(
          results[index],
          JSON.parse(JSON.stringify(expected).replace('"content":"x"', `"content":"${removed}"`)),
          JSON.stringify(call),
        );
    }),
  );
});
