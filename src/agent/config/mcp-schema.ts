import * as v from 'valibot';
import { isRecord } from '../../core/record.ts';
import { Address, Anything, Duration, Headers, Id, inert, PlainText, Switch, Text } from './schema-values.ts';

const Environment = v.record(
  v.pipe(
    v.string(),
    v.check((name) => /^[^=\0]+$/.test(name), 'expected the name of a variable'),
  ),
  v.pipe(
    Text,
    v.check((text) => !text.includes('\0'), 'expected a text without NUL'),
  ),
);

const Local = v.object({
  type: v.literal('local'),
  command: v.pipe(
    v.array(
      v.pipe(
        Text,
        v.check((text) => !text.includes('\0'), 'expected a text without NUL'),
      ),
    ),
    v.check(([program = '']) => program !== '', 'expected the program, and behind it its arguments'),
  ),
  cwd: v.optional(PlainText),
  environment: v.optional(Environment),
  enabled: v.optional(Switch),
  timeout: v.optional(Duration),
});

const NoOAuth = inert('there is no OAuth here, credentials go under headers');
/** `false` is what holds here anyway. */
const OAuth = v.lazy((value) => (value === true || isRecord(value) ? NoOAuth : value === false ? Switch : Anything));

const Remote = v.object({
  type: v.literal('remote'),
  url: Address,
  headers: v.optional(Headers),
  oauth: v.optional(OAuth),
  enabled: v.optional(Switch),
  timeout: v.optional(Duration),
});

const Server = v.variant('type', [Local, Remote], ({ path }) =>
  path === undefined ? 'expected an object' : 'expected local | remote',
);

/** `mcp`: tool servers, started here or reached over HTTP. */
export const McpServers = v.record(Id, Server);
export type McpSettings = v.InferOutput<typeof Local> | v.InferOutput<typeof Remote>;
