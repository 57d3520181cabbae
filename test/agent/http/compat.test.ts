import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createAgentWorld } from '../harness/world.ts';

const HERE = { directory: '/srv/desk', project: { id: 'global', directory: '/srv/desk' } };
const ELSEWHERE = { directory: '/a b', project: { id: 'global', directory: '/a b' } };
const STARTED = Date.UTC(2026, 0, 1);
const PROJECT = {
  id: 'global',
  worktree: '/srv/desk',
  time: { created: STARTED, updated: STARTED },
  sandboxes: [],
};

/** What clients ask for when they start, and what they are told. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  '/skill': [],
  '/question': [],
  '/lsp': [],
  '/formatter': [],
  '/vcs': {},
  '/vcs/status': [],
  '/provider/auth': {},
  '/project': [PROJECT],
  '/project/current': PROJECT,
  '/project/current?directory=%2Fa%20b': { ...PROJECT, worktree: '/a b' },
  '/project/global/directories': [],
  '/global/config': {},
  '/experimental/capabilities': { backgroundSubagents: false },
  '/experimental/console': { consoleManagedProviders: [], switchableOrgCount: 0 },
  '/experimental/resource': {},
  '/experimental/workspace': [],
  '/experimental/workspace/status': [],
  '/api/location': HERE,
  '/api/location?location%5Bdirectory%5D=%2Fa%20b': ELSEWHERE,
  '/api/agent': { location: HERE, data: [] },
  '/api/command': { location: HERE, data: [] },
  '/api/integration': { location: HERE, data: [] },
  '/api/model?location%5Bdirectory%5D=%2Fa%20b': { location: ELSEWHERE, data: [] },
  '/api/provider': { location: HERE, data: [] },
  '/api/reference': { location: HERE, data: [] },
  '/api/skill': { location: HERE, data: [] },
};

const UNOFFERED: readonly (readonly [method: string, path: string, name: string])[] = [
  ['POST', '/session/ses_1/share', 'sharing'],
  ['DELETE', '/session/ses_1/share', 'sharing'],
  ['POST', '/session/ses_1/init', 'commands that write files'],
  ['POST', '/session/ses_1/shell', 'shell commands'],
  ['GET', '/find/file?query=x', 'files and searching them'],
  ['GET', '/file/content?path=x', 'files and searching them'],
  ['GET', '/pty', 'terminals (pty)'],
  ['POST', '/tui/append-prompt', 'control of a terminal (tui)'],
  ['POST', '/sync/start', 'syncing'],
  ['PUT', '/auth/demo', 'credentials at run time'],
  ['POST', '/mcp/x/auth', 'credentials at run time'],
  ['POST', '/provider/demo/oauth/authorize', 'credentials at run time'],
  ['POST', '/question/que_1/reply', 'questions of the model'],
  ['GET', '/vcs/diff', 'version control'],
  ['POST', '/experimental/worktree', 'this experimental part'],
  ['POST', '/global/dispose', 'control of the server from outside'],
  ['POST', '/instance/dispose', 'changing projects'],
];

describe('what clients ask for beside sessions', (check) => {
  for (const [path, expected] of Object.entries(ANSWERS))
    check(`is answered at ${path}`, async () => {
      const world = await createAgentWorld();
      assert.equal(await world.get(path), expected);
    });

  check('is an empty list of a session, and nothing of one that there is not', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    for (const what of ['todo', 'diff']) {
      assert.equal(await world.get(`/session/${id}/${what}`), []);
      assert.is((await world.call('GET', `/session/ses_0/${what}`)).status, 404);
    }
  });

  check('is not logged', async () => {
    const world = await createAgentWorld();
    const outputText = { service: 'tui', level: 'error', message: 'canary-words', extra: { a: 'canary-extra' } };
    assert.is(await world.post('/log', outputText), true);
    assert.not.match(world.logged.join(), 'canary');
    assert.is((await world.call('POST', '/log', [outputText])).status, 400);
  });

  for (const [method, path, name] of UNOFFERED)
    check(`is named where there is none of it: ${method} ${path}`, async () => {
      const world = await createAgentWorld();
      const response = await world.call(method, path);
      assert.is(response.status, 404);
      const message = `This server does not offer ${name}. GET /doc lists all`;
      assert.equal(await response.json(), { name: 'NotFoundError', data: { message } });
    });

  for (const [method, what, name] of [
    ['POST', 'shell', 'shell commands'],
    ['POST', 'share', 'sharing'],
    ['DELETE', 'share', 'sharing'],
    ['POST', 'init', 'commands that write files'],
  ] as const)
    check(`is an error of its session too, which terminals show: ${method} ${what}`, async () => {
      const world = await createAgentWorld();
      const id = await world.session();
      assert.is((await world.call(method, `/session/${id}/${what}`, { command: 'canary' })).status, 404);
      const errors = (await world.events()).filter(({ type }) => type === 'session.error');
      const error = { name: 'UnknownError', data: { message: `This server does not offer ${name}` } };
      assert.equal(
        errors.map(({ properties }) => properties),
        [{ sessionID: id, error }],
      );
      assert.is((await world.call('GET', `/session/${id}/${what}`)).status, 404);
      assert.is((await world.events()).length, 2);
    });

  for (const [method, path] of [
    ['GET', '/api/info'],
    ['GET', '/api/health'],
    ['POST', '/api/session'],
    ['GET', '/api/session/ses_1/message'],
    ['GET', '/api/event'],
    ['GET', '/api/permission/request'],
  ] as const)
    check(
      `is an error that names the API that there is, as clients of 2.x read errors: ${method} ${path}`,
      async () => {
        const world = await createAgentWorld();
        const response = await world.call(method, path, method === 'POST' ? {} : undefined);
        assert.is(response.status, 404);
        const { message, ...rest } = (await response.json()) as { message: string };
        assert.match(message, /^This server answers OpenCode's 1\.x API/);
        assert.equal(rest, { name: 'NotFoundError', data: { message, code: 'newer_api' }, _tag: 'NotFoundError' });
      },
    );

  check('is only reported missing where no server knows it', async () => {
    const world = await createAgentWorld();
    const response = await world.call('GET', '/sessions/pty');
    assert.equal(await response.json(), {
      name: 'NotFoundError',
      data: { message: 'No such path. GET /doc lists all' },
    });
  });
});
