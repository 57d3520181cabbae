import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { BAD_INPUTS } from '../harness/bad-inputs.ts';
import { errorOf } from '../harness/read-answer.ts';
import { GATEWAY_KEY, gatewayOver, judging } from '../harness/world.ts';

describe('a request that cannot be judged', (check) => {
  for (const [name, body, code, param] of BAD_INPUTS) {
    check(`is 400 ${code} with its parameter for ${name}`, async () => {
      const { ask, calls } = gatewayOver(judging());
      const error = await errorOf(await ask(body));
      assert.equal([error.status, error.code, error.param, error.type], [400, code, param, 'invalid_request_error']);
      assert.is(calls.length, 0);
    });
  }

  check('is 400 when its bytes are not UTF-8', async () => {
    const { app } = gatewayOver(judging());
    const body = new Uint8Array([
      ...new TextEncoder().encode('{"input":"'),
      0xff,
      0xfe,
      ...new TextEncoder().encode('"}'),
    ]);
    const headers = { authorization: `Bearer ${GATEWAY_KEY}`, 'content-type': 'application/json' };
    const error = await errorOf(
      await app(new Request('http://g.test/v1/moderations', { method: 'POST', headers, body })),
    );
    assert.is(`${error.status} ${error.code}`, '400 invalid_json');
  });

  check('is still one that can when its limits are just met', async () => {
    const { ask } = gatewayOver(judging());
    assert.is((await ask({ input: Array(32).fill('a') })).status, 200);
    assert.is((await ask({ input: 'a'.repeat(100_000) })).status, 200);
  });

  check('obeys configured limits', async () => {
    const { ask } = gatewayOver(judging(), { variables: { MAX_INPUTS: '2', MAX_INPUT_CHARS: '5' } });
    assert.is((await ask({ input: ['a', 'b'] })).status, 200);
    assert.is((await errorOf(await ask({ input: ['a', 'b', 'c'] }))).code, 'too_many_inputs');
    assert.is((await errorOf(await ask({ input: 'sixsix' }))).code, 'input_too_long');
  });
});

describe('a key', (check) => {
  const WRONG: Readonly<Record<string, string>> = {
    'a wrong key': 'Bearer wrong',
    'a backend key': 'Bearer backend-key-1',
    'the beginning of the key': `Bearer ${GATEWAY_KEY.slice(0, -1)}`,
    'the key and more': `Bearer ${GATEWAY_KEY}1`,
    'no scheme': GATEWAY_KEY,
    'another scheme': `Basic ${GATEWAY_KEY}`,
    'no token': 'Bearer ',
    'two tokens': `Bearer ${GATEWAY_KEY} ${GATEWAY_KEY}`,
    'two keys in one': `Bearer ${GATEWAY_KEY},${GATEWAY_KEY}`,
    'an empty header': '',
  };
  for (const [name, authorization] of Object.entries(WRONG)) {
    check(`is refused as 401 for ${name}, before the body is looked at`, async () => {
      const { ask, calls } = gatewayOver(judging());
      const response = await ask('no JSON at all', { authorization });
      assert.is(response.headers.get('www-authenticate'), 'Bearer');
      const { status, code } = await errorOf(response);
      assert.is(`${status} ${code}`, '401 invalid_api_key');
      assert.is(calls.length, 0);
    });
  }

  check('is needed', async () => {
    const { app } = gatewayOver(judging());
    const response = await app(new Request('http://g.test/v1/moderations', { method: 'POST', body: '{}' }));
    assert.is((await errorOf(response)).code, 'invalid_api_key');
  });

  check('of several is accepted, with any case of the scheme', async () => {
    const variables = { MODERATION_API_KEY: 'other-key', MODERATION_API_KEYS: 'third-key,fourth-key' };
    const { ask } = gatewayOver(judging(), { variables });
    for (const key of ['other-key', 'third-key', 'fourth-key']) {
      assert.is((await ask({ input: 'a' }, { authorization: `bearer ${key}` })).status, 200, key);
    }
    assert.is((await ask({ input: 'a' })).status, 401);
  });
});

/** A body of unknown length, in pieces of so many characters. */
const inChunks = (text: string, chars: number): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (let start = 0; start < text.length; start += chars) {
        controller.enqueue(new TextEncoder().encode(text.slice(start, start + chars)));
      }
      controller.close();
    },
  });

describe('a body', (check) => {
  const variables = { MAX_BODY_BYTES: '1024' };
  const big = JSON.stringify({ input: 'a'.repeat(1100) });
  const send = (body: BodyInit, headers: Readonly<Record<string, string>> = {}) => {
    const { app } = gatewayOver(judging(), { variables });
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      headers: { authorization: `Bearer ${GATEWAY_KEY}`, 'content-type': 'application/json', ...headers },
      body,
      duplex: 'half',
    };
    return app(new Request('http://g.test/v1/moderations', init));
  };

  check('over the limit is 400 by its declared length', async () => {
    const error = await errorOf(await send(big, { 'content-length': String(big.length) }));
    assert.is(`${error.status} ${error.code}`, '400 body_too_large');
  });
  check('over the limit is 400 when it comes in chunks', async () => {
    const error = await errorOf(await send(inChunks(big, 100)));
    assert.is(`${error.status} ${error.code}`, '400 body_too_large');
  });
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'json',
    'text/json',
  ]) {
    check(`of type ${type} is 415`, async () => {
      const error = await errorOf(await send('{"input":"a"}', { 'content-type': type }));
      assert.is(`${error.status} ${error.code}`, '415 unsupported_media_type');
    });
  }
});

describe('a path', (check) => {
  check('of an unknown model is 404 that names the valid ones and not the one asked for', async () => {
    const { ask, calls } = gatewayOver(judging());
    const error = await errorOf(await ask({ model: 'no-such-model-xyz', input: 'a' }));
    assert.equal([error.status, error.code, error.param], [404, 'model_not_found', 'model']);
    for (const alias of ['moderation-fast', 'moderation-standard', 'moderation-accurate', 'omni-moderation-latest']) {
      assert.ok(error.message.includes(alias), alias);
    }
    assert.not.ok(error.message.includes('no-such-model-xyz'));
    assert.is(calls.length, 0);
  });
  check('of an unknown model repeats a slip of typing and nothing else', async () => {
    const { ask } = gatewayOver(judging());
    const slip = await errorOf(await ask({ model: 'moderation-fsat', input: 'a' }));
    assert.match(slip.message, /^model "moderation-fsat" is not configured; the nearest is "moderation-fast"\. /);
    for (const model of [
      'tell me a secret',
      `sk-${'x1'.repeat(12)}`,
      'Kp9xQ2mN7vB4tL8wR3yZ',
      'I-want-to-kill-myself',
    ]) {
      const { message } = await errorOf(await ask({ model, input: 'a' }));
      assert.match(message, /^this model is not configured\. /);
      assert.not.ok(message.includes(model));
    }
  });
  for (const model of ['', 'constructor', '__proto__', 'toString', 'MODERATION-FAST', ' moderation-fast']) {
    check(`of a model called ${JSON.stringify(model)} is 404 too`, async () => {
      const { ask } = gatewayOver(judging());
      assert.is((await errorOf(await ask({ model, input: 'a' }))).code, 'model_not_found');
    });
  }
  check('with /v1 twice is 404 with a hint about the base URL', async () => {
    const { visit } = gatewayOver(judging());
    for (const method of ['POST', 'GET']) {
      const error = await errorOf(await visit('/v1/v1/moderations', method));
      assert.is(`${error.status} ${error.code}`, '404 not_found');
      assert.match(error.message, 'must not end in /v1');
    }
  });
  check('that is unknown is 404 with what there is', async () => {
    const { visit } = gatewayOver(judging());
    for (const path of ['/', '/v1', '/v1/chat', '/v1/moderations/x', '/v1/Moderations']) {
      const error = await errorOf(await visit(path));
      assert.is(`${error.status} ${error.code}`, '404 not_found', path);
      assert.match(error.message, 'POST /v1/moderations');
    }
  });
  check('that a wrong base URL makes is 404 with how to mend it', async () => {
    const { visit } = gatewayOver(judging());
    for (const [path, hint] of [
      ['/v1/v1/moderations', 'must not end in /v1'],
      ['//v1/moderations', 'must not end in one'],
      ['/moderations', 'must end in /v1'],
    ] as const) {
      const error = await errorOf(await visit(path));
      assert.is(`${error.status} ${error.code}`, '404 not_found', path);
      assert.match(error.message, hint);
    }
  });
  check('asked with a wrong method is 405 with the right ones', async () => {
    const { visit } = gatewayOver(judging());
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await visit('/v1/moderations', method);
      assert.is(response.status, 405, method);
      assert.is(response.headers.get('allow'), 'POST');
    }
    for (const path of ['/v1/models', '/v1/models/moderation-fast', '/health', '/ready', '/metrics', '/openapi.json']) {
      const response = await visit(path, 'POST');
      assert.is(response.status, 405, path);
      assert.is(response.headers.get('allow'), 'GET, HEAD');
    }
  });
  check('answers HEAD as it answers GET, without the body', async () => {
    const { visit } = gatewayOver(judging());
    for (const path of ['/health', '/v1/models', '/openapi.json']) {
      const [head, get] = [await visit(path, 'HEAD'), await visit(path)];
      assert.is(head.status, get.status, path);
      assert.is(head.headers.get('content-type'), get.headers.get('content-type'));
      assert.is(await head.text(), '');
      assert.ok((await get.text()).length > 0);
    }
  });
});
