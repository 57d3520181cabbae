import { configOf, type Json } from '../world.ts';

type Writable<T> = T extends readonly (infer Item)[]
  ? Writable<Item>[]
  : T extends object
    ? { -readonly [Name in keyof T]: Writable<T[Name]> }
    : T;

/** The same, for types that know no `readonly`. */
export const writable = <T>(value: T): Writable<T> => JSON.parse(JSON.stringify(value));

/** A different secret for each place, so that a leak tells where it is. */
export const secrets: string[] = [];

/** A secret that tells its place, and is noted. */
export const secret = (place: string): string => {
  const text = `canary-${place}-7d1f0c`;
  secrets.push(text);
  return text;
};

/** A configuration with secrets in many places. */
export const WRITTEN: Json = {
  model: 'home/small',
  username: '{env:USERNAME_CANARY}',
  provider: {
    home: {
      name: '{env:NAME_CANARY}',
      options: {
        baseURL: 'http://127.0.0.1:1/v1',
        apiKey: secret('api-key'),
        headers: { 'x-plain': secret('provider-header') },
        accessToken: secret('access-token'),
        queryParams: { key: secret('query-key'), page: '1' },
        credentials: { any: [secret('in-credentials')] },
        organization: secret('organization'),
        encryptionKey: secret('encryption-key'),
        retries: 7_654_321,
        timeout: 1000,
      },
      models: {
        small: {
          id: '{env:UPSTREAM_CANARY}',
          headers: { authorization: secret('model-header') },
          options: {
            store: false,
            user_secret: secret('model-option'),
            max_tokens: 10,
            note: `Bearer ${secret('bearer-9')}`,
            pem: `-----BEGIN PRIVATE KEY-----\n${secret('pem')}\n-----END PRIVATE KEY-----`,
          },
          variants: { high: { password: secret('variant') }, low: {} },
        },
      },
    },
    key: {
      options: { baseURL: '{env:URL_CANARY}' },
      models: { token: { name: 'shown-model' } },
    },
  },
  agent: {
    build: { options: { sessionKey: secret('agent-option'), shape: 'shown-shape' }, prompt: 'Ask {env:PROMPT_CANARY}' },
    secret: { description: 'shown-description', permission: { 'token_*': { 'a *': 'ask' } } },
    filed: { prompt: '{file:prompt.md}', description: `api_key=${secret('description')}` },
  },
  mcp: {
    tokens: {
      type: 'local',
      command: [
        'shown-program',
        '--api-key',
        secret('flag-value'),
        `--token=${secret('flag')}`,
        '-H',
        `X: ${secret('header-flag')}`,
        `https://me:${secret('url-user')}@t.test/`,
        '{env:ARGUMENT_CANARY}',
        '--verbose',
        secret('argument'),
      ],
      cwd: secret('directory'),
      environment: { PLAIN: secret('environment'), FILLED: '{env:ENVIRONMENT_CANARY}' },
      timeout: 5,
    },
    far: {
      type: 'remote',
      url: `https://t.test/mcp?page=2&key=${secret('url-key')}&access_token=${secret('url-token')}`,
      headers: { [secret('header-name')]: secret('mcp-header') },
      oauth: { clientId: secret('client'), clientSecret: secret('client-secret') },
    },
    near: { type: 'remote', url: 'https://t.test', oauth: false, enabled: false },
    filled: { type: 'remote', url: 'https://t.test/{env:ARGUMENT_CANARY}/mcp' },
  },
  permission: { password: 'ask', bash: { 'token *': 'deny' } },
  experimental: { apiKey: secret('inert-key'), list: [{ cookie: secret('inert-cookie') }] },
  server: { password: secret('server') },
};

const variables = Object.fromEntries(
  ['USERNAME', 'NAME', 'UPSTREAM', 'PROMPT', 'ARGUMENT', 'ENVIRONMENT'].map((name) => [`${name}_CANARY`, secret(name)]),
);

/** What that is read as. */
export const config = configOf(
  WRITTEN,
  { ...variables, URL_CANARY: `http://${secret('url').toLowerCase()}.test/v1` },
  { './prompt.md': secret('prompt-file') },
);
