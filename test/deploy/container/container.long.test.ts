import { spawn } from 'node:child_process';
import { appendFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import manifest from '../../../package.json' with { type: 'json' };
import { RECHARGE } from '../../../src/demo/commands.ts';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { describe } from '../../check.ts';
import { KEY, type Moderation, moderate } from '../../runtime/client.ts';
import { freePort } from '../../runtime/processes.ts';
import {
  BRIDGE_KEY,
  CONSOLE_SECRET,
  DATABASE_PASSWORD,
  EVERY_PROFILE,
  MODEL_KEY,
  PASSWORD,
  type Project,
  untilAnswered,
} from './compose-world.ts';
import { hashInImage, logIn } from './console-login.ts';
import { type Engine, has, missingEngine } from './engine.ts';
import { imageOf, TARGETS, type Target } from './images.ts';
import { inContainerWorld, TIGHT } from './world.ts';

const ENGINE = missingEngine();
const COMPOSE = ENGINE ?? (has('docker-compose') ? undefined : 'docker-compose');

type Image = {
  readonly Size: number;
  readonly Config: {
    readonly User: string;
    readonly Labels: Readonly<Record<string, string>>;
    readonly Entrypoint: readonly string[];
    readonly ExposedPorts?: Readonly<Record<string, unknown>>;
    readonly Volumes?: Readonly<Record<string, unknown>>;
  };
  readonly Healthcheck?: { readonly Test: readonly string[] };
};

const inspected = async ({ must }: Engine, target: Target): Promise<Image> =>
  JSON.parse(await must('image', 'inspect', imageOf(target)))[0];

/** Runs some JavaScript in a container of the image, and reads what it prints as JSON. */
const reported = async ({ must }: Engine, target: Target, code: string): Promise<unknown> =>
  JSON.parse(
    await must('run', '--rm', ...TIGHT, '--entrypoint', 'node', imageOf(target), '-p', `JSON.stringify(${code})`),
  );

const FILES: Readonly<Record<Target, readonly string[]>> = {
  gateway: ['gateway.js', 'health.mjs'],
  agent: ['agent-command.js', 'agent.js', 'gatehouse.js', 'health.mjs', 'relay-admin.js'],
  bridge: ['bridge.js', 'health.mjs'],
  console: ['console.js', 'health.mjs'],
  'relay-admin': ['relay-admin.js'],
};
const PORTS: Readonly<Record<Target, readonly string[]>> = {
  gateway: ['8000/tcp'],
  agent: ['4000/tcp'],
  bridge: ['4100/tcp'],
  console: ['4200/tcp'],
  'relay-admin': [],
};

describe('the images', (check) => {
  check.needing(
    ENGINE,
    'are built for each target, the gateway without a target, and say what they are',
    inContainerWorld(async ({ engine }) => {
      for (const target of TARGETS) {
        const { Size, Config, Healthcheck } = await inspected(engine, target);
        console.log(`${target}: ${(Size / 1e6).toFixed(1)} MB with the Node that these tests run on`);
        const { User, Labels, Entrypoint } = Config;
        assert.is(User, '65532:65532');
        assert.is(Labels['org.opencontainers.image.title'], `gatehouse-${target}`);
        assert.is(Labels['org.opencontainers.image.version'], `v${manifest.version}`);
        assert.is(Labels['org.opencontainers.image.licenses'], manifest.license);
        assert.ok((Labels['org.opencontainers.image.description'] ?? '').length > 20);
        assert.is(Entrypoint[0], 'node');
        assert.equal(Object.keys(Config.ExposedPorts ?? {}), PORTS[target]);
        const isAsked = Healthcheck?.Test.join(' ');
        const [port = ''] = PORTS[target];
        assert.is(isAsked, port === '' ? undefined : `CMD node /app/health.mjs ${port.split('/')[0]}`);
        const isKept = target === 'agent' || target === 'relay-admin';
        assert.equal(Object.keys(Config.Volumes ?? {}), isKept ? ['/data'] : []);
      }
    }),
  );
  check.needing(
    ENGINE,
    'hold Node, their programs, the licences and no shell, and run as no one in particular',
    inContainerWorld(async ({ engine }) => {
      for (const target of TARGETS) {
        const files = await reported(engine, target, 'fs.readdirSync("/app").sort()');
        assert.equal(files, ['LICENSE', ...FILES[target], 'licenses.txt'].sort());
        assert.equal(await reported(engine, target, '[process.getuid(), process.getgid()]'), [65532, 65532]);
        const { code, stderr } = await engine.podman(
          'run',
          '--rm',
          '--entrypoint',
          'sh',
          imageOf(target),
          '-c',
          'true',
        );
        assert.is(code, 127, stderr);
      }
      assert.equal(await reported(engine, 'agent', '[fs.statSync("/data").uid, fs.statSync("/app").uid]'), [65532, 0]);
    }),
  );
  check.needing(
    ENGINE,
    'say what is missing in their settings, and end with 1',
    inContainerWorld(async ({ engine }) => {
      const errorTexts = {
        gateway: /^gatehouse gateway: BACKEND_BASE_URL: expected a backend/m,
        agent:
          /^gatehouse agent: AGENT_SERVER_PASSWORD: expected a value[\s\S]*AGENT_CONFIG: expected the path of a file/m,
        bridge: /^gatehouse bridge: BRIDGE_API_KEYS: expected at least one key/m,
        console: /^gatehouse console: CONSOLE_USERS: expected at least one user/m,
        'relay-admin': /^gatehouse relay-admin: RELAY_BASE_URL: /m,
      };
      for (const target of TARGETS) {
        const { code, stderr } = await engine.podman('run', '--rm', '--timeout', '30', ...TIGHT, imageOf(target));
        assert.match(stderr, errorTexts[target]);
        assert.is(code, 1, target);
      }
    }),
  );
});

describe('a container', (check) => {
  check.needing(
    ENGINE,
    'of the gateway judges with nothing to write to, is healthy, and ends with 0 in its time',
    inContainerWorld(async ({ engine: { must, podman }, stage }) => {
      const port = await freePort();
      const settings = [`MODERATION_API_KEYS=${KEY}`, `BACKEND_BASE_URL=${stage.judge}`, 'APP_ENV=production'];
      const models = 'MODERATION_MODELS={"moderation-fast":"demo-judge"}';
      const given = [...settings, models].flatMap((setting) => ['--env', setting]);
      const published = ['--publish', `127.0.0.1:${port}:8000`];
      await must(
        'run',
        '--detach',
        '--name',
        'gw',
        ...TIGHT,
        '--memory',
        '512m',
        ...given,
        ...published,
        imageOf('gateway'),
      );
      const address = `http://127.0.0.1:${port}`;
      assert.equal(await (await untilAnswered(`${address}/health`)).json(), {
        status: 'ok',
        service: 'gateway',
        version: manifest.version,
      });
      for (const [input, isFlagged] of [
        ['I will kill you', true],
        ['Good morning', false],
      ] as const) {
        const { status, text } = await moderate(address, { model: 'moderation-fast', input });
        assert.is(status, 200, text);
        assert.is((JSON.parse(text) as Moderation).results[0]?.flagged, isFlagged, input);
      }
      await must('healthcheck', 'run', 'gw');
      assert.is((await podman('exec', '--env', 'PORT=8001', 'gw', 'node', '/app/health.mjs', '8000')).code, 1);
      const startedAt = performance.now();
      await must('stop', '--time', '15', 'gw');
      assert.ok(performance.now() - startedAt < 10_000);
      assert.is(await must('inspect', '--format', '{{.State.ExitCode}}', 'gw'), '0');
    }),
  );
  check.needing(
    ENGINE,
    'of relay admin answers an MCP client on its input and output, and ends when that client leaves',
    inContainerWorld(async ({ engine: { storage, variables } }) => {
      const settings = ['RELAY_BASE_URL=http://relay.test.svc:8080', 'RELAY_ALLOWED_HOST=relay.test.svc'];
      const given = settings.flatMap((setting) => ['--env', setting]);
      const words = [...storage, 'run', '--rm', '--interactive', ...TIGHT, ...given, imageOf('relay-admin')];
      const child = spawn('podman', words, { env: variables, stdio: ['pipe', 'pipe', 'ignore'] });
      const ended = new Promise<number | null>((settle) => child.on('close', settle));
      const asks = [
        {
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
        },
        { method: 'notifications/initialized' },
        { id: 2, method: 'tools/list' },
      ];
      for (const ask of asks) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...ask })}\n`);
      let history = '';
      for await (const piece of child.stdout.setEncoding('utf8')) {
        history += piece;
        if (/"id":2[\s\S]*\n/.test(history)) child.stdin.end();
      }
      const tools: { name: string }[] = JSON.parse(history.trim().split('\n').at(-1) ?? '').result.tools;
      assert.is(tools.length, 9);
      assert.is(await ended, 0);
    }),
  );
});

type Chat = OpenAI.ChatCompletion;
const contentOf = ({ choices }: Chat): string => choices[0]?.message.content ?? '';
/** Says something in a conversation of this name at a bridge, which is waited for, and gives what is answered. */
const conversationAt = async (bridge: string, name: string): Promise<(content: string) => Promise<string>> => {
  await untilAnswered(`${bridge}/ready`);
  const openai = new OpenAI({ baseURL: `${bridge}/v1`, apiKey: BRIDGE_KEY, maxRetries: 0 });
  return async (content) =>
    contentOf(
      await openai.chat.completions.create(
        { model: 'demo/demo-model', messages: [{ role: 'user', content }] },
        { headers: { 'x-conversation-id': name } },
      ),
    );
};
/** What people said in the one session of this server whose first words are these. */
const textIn = async (project: Project, agent: 'agent1' | 'agent2', first: string): Promise<readonly string[]> => {
  const ask = async (path: string) =>
    (await untilAnswered(`${project.address(agent)}${path}`, { headers: BASIC })).json();
  const sessions = (await ask('/session')) as { id: string }[];
  for (const { id } of sessions) {
    type Reported = { info: { role: string }; parts: { type: string; text?: string }[] };
    const reported = (await ask(`/session/${id}/message`)) as Reported[];
    const words = reported.filter(({ info }) => info.role === 'user').map(({ parts }) => parts[0]?.text ?? '');
    if (words[0] === first) return words;
  }
  throw new Error(`No session begins with ${first}`);
};
const BASIC = { authorization: `Basic ${Buffer.from(`opencode:${PASSWORD}`).toString('base64')}` };

describe('compose', (check) => {
  check.needing(
    COMPOSE,
    'brings up the gateway by .env alone, and keeps the secrets of other services out of it',
    inContainerWorld(async ({ engine, project }) => {
      await project.up([], 'stage', 'gateway');
      assert.equal(await project.services(), ['gateway', 'stage']);
      await untilAnswered(`${project.address('gateway')}/ready`);
      const { status } = await moderate(project.address('gateway'), { input: 'Good morning' });
      assert.is(status, 200);
      const variables = await engine.must(
        'exec',
        await project.container('gateway'),
        'node',
        '-p',
        'JSON.stringify(process.env)',
      );
      assert.match(variables, KEY);
      for (const secret of [PASSWORD, BRIDGE_KEY, MODEL_KEY, DEMO_ADMIN_KEY, DATABASE_PASSWORD])
        assert.not.match(variables, secret);
    }),
  );
  check.needing(
    COMPOSE,
    "brings up agent and bridge in order, none of the gateway's keys among them",
    inContainerWorld(async ({ engine, project }) => {
      await project.up(['agent']);
      assert.equal(await project.services(), ['agent', 'bridge', 'gateway', 'stage']);
      for (const service of ['agent', 'bridge']) {
        const variables = await engine.must(
          'exec',
          await project.container(service),
          'node',
          '-p',
          'JSON.stringify(process.env)',
        );
        assert.not.match(variables, KEY);
      }
      const [agent, bridge] = await Promise.all(
        ['agent', 'bridge'].map(async (service) =>
          engine.must('inspect', '--format', '{{.State.StartedAt.UnixMilli}}', await project.container(service)),
        ),
      );
      assert.ok(Number(agent) < Number(bridge));
    }),
  );
  check.needing(
    COMPOSE,
    'lets a client recharge through bridge, agent and relay admin once a person has approved it',
    inContainerWorld(async ({ engine, project }) => {
      const send = await conversationAt(project.address('bridge'), 'compose');
      assert.match(await send('Good morning'), 'You said: "Good morning"');
      const asked = await send(`recharge ${RECHARGE.email} ${RECHARGE.amount}`);
      const [words = ''] = /approve \w+/.exec(asked) ?? [asked];
      assert.match(await send(words), /Verified/);
      const files = await engine.must(
        'exec',
        await project.container('agent'),
        'node',
        '-p',
        'fs.readdirSync("/data").join()',
      );
      assert.match(files, /^agent\.db.*relay-journal\.jsonl/);
    }),
  );
  check.needing(
    COMPOSE,
    'brings up the console, which lets in its one user and shows moderation, tool servers and that recharge',
    inContainerWorld(async ({ engine, project }) => {
      const user = { name: 'ann', password: 'canary-compose-console-61be' };
      const hash = await hashInImage(engine, user.password);
      appendFileSync(join(project.directory, '.env'), `CONSOLE_USERS=${user.name}:admin:${hash}\n`);
      await project.up(['agent', 'console'], 'console');
      await untilAnswered(`${project.address('console')}/ready`);
      const read = await logIn(project.address('console'), user);
      assert.match(JSON.stringify(await read('/api/moderation')), 'moderation-fast');
      assert.match(JSON.stringify(await read('/api/tools')), '"name":"relay-admin","state":"connected"');
      assert.is(((await read('/api/recharges')) as { verified: readonly object[] }).verified.length, 1);
      const wrong = await logIn(project.address('console'), { ...user, password: 'wrong' }).catch(String);
      assert.match(wrong as string, 'no login: 401');
      const gateway = await engine.must(
        'exec',
        await project.container('gateway'),
        'node',
        '-p',
        'JSON.stringify(process.env)',
      );
      for (const secret of [hash, CONSOLE_SECRET]) assert.not.match(gateway, secret);
    }),
  );
  check.needing(
    COMPOSE,
    'keeps sessions when the containers go and come again, and exports them from the running agent',
    inContainerWorld(async ({ engine, project }) => {
      const { compose } = project;
      assert.is((await compose('--profile', 'agent', 'rm', '--force', '--stop', 'agent', 'bridge')).code, 0);
      await project.up(['agent'], 'agent');
      const sessions = await (await untilAnswered(`${project.address('agent')}/session`, { headers: BASIC })).json();
      const [{ id }] = sessions as [{ id: string }];
      const agent = await project.container('agent');
      const exported = await engine.must('exec', agent, 'node', '/app/gatehouse.js', 'agent', 'export', id);
      assert.match(exported.split('\n')[0] ?? '', id);
    }),
  );
  check.needing(
    COMPOSE,
    "reports an agent.json that is not there in the agent's own words",
    inContainerWorld(async ({ project }) => {
      const file = join(project.directory, 'agent.json');
      await project.compose('--profile', 'agent', 'rm', '--force', '--stop', 'agent');
      renameSync(file, `${file}.away`);
      await project.compose('--profile', 'agent', 'up', '--detach', '--no-build', 'agent');
      const { stdout } = await project.compose('--profile', 'agent', 'logs', '--no-color', 'agent');
      // It is being started again and again, and may come back in the middle of its removal.
      for (let left = 'agent', tries = 0; left !== '' && tries < 10; tries++) {
        await project.compose('--profile', 'agent', 'rm', '--force', '--stop', 'agent');
        left = (await project.compose('--profile', 'agent', 'ps', '--all', '--quiet', 'agent')).stdout.trim();
      }
      // The engine may have made a directory of this name.
      rmSync(file, { recursive: true, force: true });
      renameSync(`${file}.away`, file);
      assert.match(stdout, 'gatehouse agent: AGENT_CONFIG: expected the path of a file that can be read');
    }),
  );
  check.needing(
    COMPOSE,
    "brings up Redis and two gateways on one port that know each other's verdicts",
    inContainerWorld(async ({ engine, project }) => {
      await project.up(['shared'], 'replica-1', 'replica-2');
      await untilAnswered(`${project.address('replicas')}/ready`);
      const input = `Good morning ${Date.now()}`;
      const found: (string | null)[] = [];
      for (let turn = 0; turn < 30; turn++) {
        const { headers } = await moderate(project.address('replicas'), { input }, { connection: 'close' });
        found.push(headers.get('x-moderation-cache'));
      }
      assert.equal(found, ['miss', ...Array(29).fill('hit')]);
      for (const replica of ['replica-1', 'replica-2']) {
        const { stdout, stderr } = await engine.podman('logs', await project.container(replica));
        assert.match(stdout + stderr, '"route":"/v1/moderations"', replica);
      }
    }),
  );
  check.needing(
    COMPOSE,
    'brings up two agent servers on one PostgreSQL, which answers no one else, and a bridge that spreads over both',
    inContainerWorld(async ({ engine, project }) => {
      await project.compose('--profile', 'shared', 'stop', 'redis', 'replica-1', 'replica-2');
      const startedAt = performance.now();
      await project.up(['replicas'], 'stage', 'bridge-replicas');
      console.log(`replicas: up in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      const expected = ['agent-1', 'agent-2', 'bridge-replicas', 'postgres'];
      assert.equal(
        (await project.services()).filter((name) => expected.includes(name)),
        expected,
      );
      assert.is(await engine.must('port', await project.container('postgres')), '');
      const send = await conversationAt(project.address('bridgeReplicas'), 'replicas');
      for (const words of ['one', 'two', 'three', 'four']) assert.match(await send(words), `You said: "${words}"`);
      for (const agent of ['agent1', 'agent2'] as const) {
        assert.equal(await textIn(project, agent, 'one'), ['one', 'two', 'three', 'four']);
        const counted = await untilAnswered(`${project.address(agent)}/metrics`, { headers: BASIC });
        assert.match(await counted.text(), /^gatehouse_turns_total\{[^}]*\} [1-9]/m);
      }
    }),
  );
  check.needing(
    COMPOSE,
    'answers on while one of two agent servers is stopped, and keeps the conversation when the other one goes, too',
    inContainerWorld(async ({ engine, project }) => {
      const send = await conversationAt(project.address('bridgeReplicas'), 'stopped');
      const history: string[] = [];
      const replyNext = async (): Promise<void> => {
        history.push(`words ${history.length}`);
        assert.match(await send(`words ${history.length - 1}`), `You said: "words ${history.length - 1}"`);
      };
      await replyNext();
      let isStopped = false;
      const stop = engine.must('stop', '--time', '15', await project.container('agent-1')).then(() => {
        isStopped = true;
      });
      while (!isStopped) await replyNext();
      await stop;
      await replyNext();
      assert.equal(await textIn(project, 'agent2', 'words 0'), history);
      await project.up(['replicas'], 'agent-1');
      await untilAnswered(`${project.address('agent1')}/ready`);
      await engine.must('stop', '--time', '15', await project.container('agent-2'));
      await replyNext();
      assert.equal(await textIn(project, 'agent1', 'words 0'), history);
      console.log(
        `replicas: ${history.length} of ${history.length} messages answered, one server stopped after the other`,
      );
    }),
  );
  check.needing(
    COMPOSE,
    'has one journal for both agent servers, with the recharges that one of them sent before there were two',
    inContainerWorld(async ({ engine, project }) => {
      await project.up(['replicas'], 'agent-2');
      const mounted = async (service: string): Promise<string> => {
        const list = '{{range .Mounts}}{{if eq .Destination "/data"}}{{.Name}}{{end}}{{end}}';
        return engine.must('inspect', '--format', list, await project.container(service));
      };
      assert.match(await mounted('agent-1'), /agent-data$/);
      assert.is(await mounted('agent-1'), await mounted('agent-2'));
      const settled = async (service: string): Promise<number> => {
        const code = 'fs.readFileSync("/data/relay-journal.jsonl", "utf8").split("settlement").length - 1';
        return Number(await engine.must('exec', await project.container(service), 'node', '-p', code));
      };
      const before = await settled('agent-1');
      assert.ok(before > 0);
      const send = await conversationAt(project.address('bridgeReplicas'), 'recharge');
      const asked = await send(`recharge ${RECHARGE.email} ${RECHARGE.amount}`);
      const [words = ''] = /approve \w+/.exec(asked) ?? [asked];
      assert.match(await send(words), /Verified/);
      assert.equal([await settled('agent-1'), await settled('agent-2')], [before + 1, before + 1]);
    }),
  );
  check.needing(
    COMPOSE,
    'takes all of it down again, each service with 0, and leaves the volume unless it is asked for that too',
    inContainerWorld(async ({ engine, project }) => {
      const { code, stderr } = await project.compose(...EVERY_PROFILE, 'stop');
      assert.is(code, 0, stderr);
      const codes = await engine.must(
        'ps',
        '--all',
        '--format',
        '{{.Names}} {{.ExitCode}}',
        '--filter',
        'name=gatehouse',
      );
      assert.equal(
        codes.split('\n').filter((line) => !/ 0$/.test(line)),
        [],
      );
      await project.compose(...EVERY_PROFILE, 'down');
      assert.match(await engine.must('volume', 'ls', '--quiet'), /agent-data/);
      await project.compose(...EVERY_PROFILE, 'down', '--volumes');
      assert.not.match(await engine.must('volume', 'ls', '--quiet'), /agent-data/);
    }),
  );
});
