import * as assert from 'uvu/assert';
import { parseConversationReference } from '../../../src/bridge/openai/conversation-id.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

type Case = { readonly headers?: Record<string, string>; readonly body?: Record<string, unknown> };

const place = ({ headers = {}, body = {} }: Case, isStreamed = true) =>
  parseConversationReference(new Headers(headers), body, isStreamed);
const named = (given: Case, isStreamed = true): string => {
  const found = place(given, isStreamed);
  return found.kind === 'named' ? `${found.id}${found.isIncremental ? ' is remembered' : ''}` : found.kind;
};
const refused = (given: Case) => refusalOf(() => place(given));

describe('the conversation that a client names', (check) => {
  check('is never who the user is', () => {
    assert.is(named({ body: { user: 'u', safety_identifier: 's', metadata: { user_id: 'u' } } }), 'unnamed');
  });

  check('is the first of those that are named', () => {
    const ways: readonly (readonly [Case, string])[] = [
      ...['x-session-id', 'x-conversation-id', 'x-chat-id', 'x-hermes-session-id', 'x-letta-chat-key'].map(
        (name) => [{ headers: { [name]: name } }, `${name} is remembered`] as const,
      ),
      ...['x-openwebui-chat-id', 'x-librechat-conversation-id', 'x-opencode-session', 'x-session-affinity'].map(
        (name) => [{ headers: { [name]: name } }, name] as const,
      ),
      ...['session_id', 'sessionId', 'conversation_id', 'conversationId', 'chat_id', 'chatId'].map(
        (name) => [{ body: { [name]: name } }, `${name} is remembered`] as const,
      ),
      ...['session_id', 'sessionId', 'conversation_id', 'conversationId', 'chat_id', 'chatId'].map(
        (name) => [{ body: { metadata: { [name]: `m-${name}` } } }, `m-${name} is remembered`] as const,
      ),
      [{ body: { prompt_cache_key: 'key' } }, 'key'],
    ];
    ways.forEach(([alone, expected], index) => {
      assert.is(named(alone), expected);
      const rest = ways.slice(index).map(([given]) => given);
      const headers = Object.assign({}, ...rest.map((given) => given.headers ?? {}));
      const metadata = Object.assign({}, ...rest.map((given) => (given.body?.metadata as object) ?? {}));
      const body = { ...Object.assign({}, ...rest.map((given) => given.body ?? {})), metadata };
      assert.is(named({ headers, body }), expected);
    });
  });

  check('is read without the blanks around it, and from a number too', () => {
    assert.is(named({ headers: { 'x-session-id': '  a b ' } }), 'a b is remembered');
    assert.is(named({ body: { session_id: ' 会话 1 ' } }), '会话 1 is remembered');
    assert.is(named({ body: { chat_id: -1001234 } }), '-1001234 is remembered');
    assert.is(named({ body: { session_id: 'x'.repeat(200) } }), `${'x'.repeat(200)} is remembered`);
  });

  check("of a front end counts only in a stream, since its own jobs have the chat's id as well", () => {
    const headers = { 'x-openwebui-chat-id': 'chat' };
    assert.is(named({ headers }, true), 'chat');
    assert.is(named({ headers }, false), 'unnamed');
    assert.is(named({ headers, body: { session_id: 'mine' } }, false), 'mine is remembered');
    assert.is(named({ headers: { 'x-session-id': 'mine' } }, false), 'mine is remembered');
  });

  check('is none where a template was left unfilled, for it would be the same for everybody', () => {
    for (const left of ['null', 'undefined', 'None', 'new', '{{LIBRECHAT_BODY_CONVERSATIONID}}', '${id}', '']) {
      assert.is(named({ headers: { 'x-conversation-id': left } }), 'unnamed', left);
      assert.is(named({ headers: { 'x-openwebui-chat-id': left } }), 'unnamed', left);
      assert.is(named({ body: { prompt_cache_key: left } }), 'unnamed', left);
      if (left !== '') assert.is(named({ body: { session_id: left } }), 'unnamed', left);
    }
  });

  check('is refused where it cannot be an id', () => {
    assert.is(refused({ headers: { 'x-session-id': 'x'.repeat(201) } }), 'invalid_value at x-session-id');
    assert.is(refused({ body: { session_id: '' } }), 'invalid_value at session_id');
    assert.is(refused({ body: { session_id: 'a\nb' } }), 'invalid_value at session_id');
    assert.is(refused({ body: { sessionId: {} } }), 'invalid_type at sessionId');
    assert.is(refused({ body: { chat_id: 1.5 } }), 'invalid_type at chat_id');
    assert.is(refused({ body: { metadata: { chat_id: true } } }), 'invalid_type at metadata.chat_id');
    assert.is(refused({ body: { metadata: 'x' } }), 'invalid_type at metadata');
    assert.is(refused({ body: { prompt_cache_key: 7 } }), 'invalid_type at prompt_cache_key');
  });

  check('is not looked for where a front end or a cache names something unfit', () => {
    assert.is(named({ headers: { 'x-openwebui-chat-id': 'x'.repeat(201) } }), 'unnamed');
    assert.is(named({ body: { prompt_cache_key: 'x'.repeat(201) } }), 'unnamed');
  });
});
