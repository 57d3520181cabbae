import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { HttpClientError, type HttpResponse } from '../../../src/core/http/client.ts';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { createHealthTool } from '../../../src/relay-admin/tools/health.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';
import { createScriptedRelay, SILENCE } from '../harness/scripted-relay.ts';
import { createWorld, resultOf as resultIn } from '../harness/world.ts';
import { assertWellDescribed, callTool, problemOf, received } from './tool-calls.ts';

const healthOf = (
  answer: HttpResponse | Error | typeof SILENCE,
  clock: FakeClock = createFakeClock(),
  settings: unknown = { version: '0.1.179' },
) => {
  const { relay, asked } = createScriptedRelay(
    () => settings,
    () => answer,
  );
  return { tool: createHealthTool({ relay, clock }), asked, clock };
};

const resultOf = (answer: HttpResponse | Error) => {
  const { tool, clock } = healthOf(answer);
  return callTool(tool, {}, { clock });
};

describe('health', (check) => {
  check('is described for a model', () => assertWellDescribed(healthOf(SILENCE).tool));

  check('is healthy when the relay says so, and says nothing else', async () => {
    assert.equal(await resultOf(received(200, '{"status":"ok"}')), {
      reachable: true,
      healthy: true,
      database: 'ok',
      status: 200,
      latency_ms: 0,
      reason: null,
    });
  });

  const answers: readonly (readonly [string, HttpResponse, string])[] = [
    ['a web page with status 200', received(200, '<!doctype html><title>Relay</title>'), 'not_json'],
    ['an empty answer with status 200', received(200, ''), 'not_json'],
    ['a proxy that has no relay', received(502, '<html>Bad Gateway</html>'), 'not_json'],
    ['JSON with another status word', received(200, '{"status":"degraded"}'), 'unexpected_json'],
    ['JSON that is no object', received(200, '"ok"'), 'unexpected_json'],
    ['JSON null', received(200, 'null'), 'unexpected_json'],
    ['an array around the word', received(200, '[{"status":"ok"}]'), 'unexpected_json'],
    ['the right word with the wrong HTTP status', received(503, '{"status":"ok"}'), 'unexpected_json'],
    ['another success than 200', received(201, '{"status":"ok"}'), 'unexpected_json'],
    ['a redirect, whatever is in it', received(302, '{"status":"ok"}'), 'redirect'],
    ['a relay before its installation', received(404, '404 page not found'), 'setup_pending'],
    ['a web page with status 404', received(404, '<html></html>'), 'setup_pending'],
  ];
  for (const [name, answer, reason] of answers) {
    check(`is reachable and not healthy for ${name}`, async () => {
      const { reachable, healthy, status, reason: reported } = await resultOf(answer);
      assert.equal(
        { reachable, healthy, status, reason: reported },
        { reachable: true, healthy: false, status: answer.status, reason },
      );
    });
  }

  const failures: readonly (readonly [string, string])[] = [
    ['ECONNREFUSED', 'connection_refused'],
    ['ENOTFOUND', 'dns_failure'],
    ['EAI_AGAIN', 'dns_failure'],
    ['EAI_NONAME', 'dns_failure'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_failure'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_failure'],
    ['CERT_HAS_EXPIRED', 'tls_failure'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_failure'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_failure'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_failure'],
    ['EPROTO', 'tls_failure'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['ETIMEDOUT', 'timeout'],
    ['ECONNRESET', 'connection_failed'],
    ['UND_ERR_SOCKET', 'connection_failed'],
    ['CONNECTION_FAILED', 'connection_failed'],
  ];
  for (const [code, reason] of failures) {
    check(`is an answer and no error when the connection fails with ${code}`, async () => {
      assert.equal(await resultOf(new HttpClientError(code)), {
        reachable: false,
        healthy: false,
        database: 'unknown',
        status: null,
        latency_ms: null,
        reason,
      });
    });
  }

  check('counts an answer that never ends as reachable', async () => {
    const { reachable, healthy, reason } = await resultOf(new HttpClientError('ANSWER_TOO_LARGE'));
    assert.equal([reachable, healthy, reason], [true, false, 'too_large']);
  });

  check('says how long the relay took', async () => {
    const clock = createFakeClock();
    const { relay } = createScriptedRelay(() => ({ version: '0.1.179' }));
    const slow = {
      ...relay,
      health: () =>
        new Promise<HttpResponse>((resolve) => clock.after(120, () => resolve(received(200, '{"status":"ok"}')))),
    };
    const call = callTool(createHealthTool({ relay: slow, clock }), {}, { clock });
    await clock.advance(120);
    assert.is((await call).latency_ms, 120);
  });

  check('reports a timeout when the time for the call is over', async () => {
    const { tool, clock } = healthOf(SILENCE);
    const call = callTool(tool, {}, { clock });
    await clock.advance(30_000);
    const { reachable, reason } = await call;
    assert.equal([reachable, reason], [false, 'timeout']);
    assert.is(clock.pending(), 0);
  });

  check('rejects for a caller that left', async () => {
    const client = new AbortController();
    const { tool } = healthOf(SILENCE);
    const call = rejection(callTool(tool, {}, { client }));
    client.abort();
    const thrown = await call;
    assert.ok(thrown instanceof Fault && thrown.detail.kind === 'client-left');
  });

  check('passes on that this server is busy, which says nothing of the relay', async () => {
    const { tool } = healthOf(new RelayError({ kind: 'busy' }));
    assert.equal(await problemOf(callTool(tool, {})), { kind: 'busy' });
  });

  check('does not take a bug for a relay that is down', async () => {
    const { tool } = healthOf(new TypeError('a bug'));
    assert.instance(await rejection(callTool(tool, {})), TypeError);
  });

  const DATABASES: readonly (readonly [string, RelayError, string, boolean])[] = [
    ['a 500', new RelayError({ kind: 'upstream-unavailable', why: 'status 500' }), 'failing', false],
    ['no such route', new RelayError({ kind: 'not-found', what: 'resource' }), 'unknown', true],
    ['a page', new RelayError({ kind: 'upstream-contract', why: 'not-json' }), 'unknown', true],
  ];
  for (const [name, error, database, healthy] of DATABASES) {
    check(`of a relay that says ok and has ${name} for its settings has a database that is ${database}`, async () => {
      const { tool, clock } = healthOf(received(200, '{"status":"ok"}'), createFakeClock(), error);
      const result = await callTool(tool, {}, { clock });
      assert.equal([result.healthy, result.database, result.status], [healthy, database, 200]);
      assert.is(result.reason, healthy ? null : 'database_failing');
    });
  }

  check('does not wait longer than five seconds for the database', async () => {
    const { tool, clock } = healthOf(received(200, '{"status":"ok"}'), createFakeClock(), SILENCE);
    const call = callTool(tool, {}, { clock });
    await clock.advance(5000);
    const { reachable, healthy, reason } = await call;
    assert.equal([reachable, healthy, reason], [true, false, 'database_failing']);
    assert.is(clock.pending(), 0);
  });

  check('is not healthy while PostgreSQL is down, though the relay says ok, and needs no key to see it', async () => {
    const world = createWorld();
    world.control.setDatabaseDown(true);
    for (const variables of [{}, { RELAY_ADMIN_API_KEY: '' }]) {
      const { healthy, database, reason } = await resultIn(world.start({ variables }), 'health');
      assert.equal([healthy, database, reason], [false, 'failing', 'database_failing']);
    }
    world.control.setDatabaseDown(false);
    assert.is((await resultIn(world.start({ variables: { RELAY_ADMIN_API_KEY: '' } }), 'health')).database, 'ok');
  });

  check('takes no arguments and reads nothing but the public settings', async () => {
    const { tool, asked } = healthOf(received(200, '{"status":"ok"}'));
    assert.is((await problemOf(callTool(tool, { url: 'http://169.254.169.254/' }))).kind, 'invalid-argument');
    await callTool(tool, undefined);
    assert.equal(asked, [{ path: 'settings/public', query: {} }]);
  });
});
