import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { freePort, ROOT, run } from '../../runtime/processes.ts';

const PROGRAM = join(ROOT, 'container/health.mjs');

/** The exit code of the question, as the engine asks it, with what is set in the container. */
const codeOf = async (variables: Readonly<Record<string, string>>, port: number): Promise<number | null> =>
  (await run(process.execPath, [PROGRAM, String(port)], { variables })).code;

/** Asks a server that answers so. The port is the one that the image names unless `PORT` is set. */
const asked = async (
  answer: RequestListener,
  ask: (port: number) => Promise<number | null>,
): Promise<number | null> => {
  const server = createServer(answer);
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  try {
    const address = server.address();
    return await ask(typeof address === 'object' && address !== null ? address.port : 0);
  } finally {
    server.closeAllConnections();
    server.close();
  }
};

const replying =
  (status: number): RequestListener =>
  ({ url }, reply) =>
    reply.writeHead(url === '/health' ? status : 404).end();

describe('the health check of the images', (check) => {
  check('passes for a service that says 200, on the port that the image names', async () => {
    assert.is(await asked(replying(200), (port) => codeOf({}, port)), 0);
    assert.is(await asked(replying(200), (port) => codeOf({ PORT: '' }, port)), 0);
  });
  check('asks where PORT says that the service listens', async () => {
    const nobody = await freePort();
    assert.is(await asked(replying(200), (port) => codeOf({ PORT: String(port) }, nobody)), 0);
  });
  check('fails where the service says anything else', async () => {
    assert.is(await asked(replying(503), (port) => codeOf({}, port)), 1);
    assert.is(await asked(replying(404), (port) => codeOf({}, port)), 1);
  });
  check('fails where no one listens', async () => assert.is(await codeOf({}, await freePort()), 1));
  check('fails in the time that the image gives it where the service does not answer, or not to the end', async () => {
    const startedAt = performance.now();
    const silent = asked(
      () => {},
      (port) => codeOf({}, port),
    );
    assert.is(await silent, 1);
    assert.ok(performance.now() - startedAt < 5000);
  });
});
