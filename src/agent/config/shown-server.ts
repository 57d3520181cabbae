import { isRecord } from '../../core/record.ts';
import { REDACTED, withoutSecrets } from './secret-look.ts';
import { hasReference } from './substitute.ts';

const shownProgram = (program: unknown): unknown =>
  typeof program === 'string' && !hasReference(program) ? withoutSecrets(program) : REDACTED;

/** Addresses of tool servers have keys in their paths as often as in their queries. */
const shownAddress = (url: string): string => {
  if (hasReference(url) || !URL.canParse(url)) return REDACTED;
  const { origin, href } = new URL(url);
  return href === `${origin}/` ? origin : `${origin}/${REDACTED}`;
};

/**
 * A tool server as far as it may be seen: its kind, the program and how many arguments it has, or where it is. Whatever
 * else is written of it may be a key.
 */
export const shownServer = (server: unknown): unknown => {
  if (!isRecord(server)) return REDACTED;
  const { type, command, url, enabled, timeout, oauth } = server;
  return {
    ...(type === 'local' || type === 'remote' ? { type } : {}),
    ...(Array.isArray(command)
      ? { command: command.map((item, at) => (at === 0 ? shownProgram(item) : REDACTED)) }
      : {}),
    ...(typeof url === 'string' ? { url: shownAddress(url) } : {}),
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
    ...(typeof timeout === 'number' ? { timeout } : {}),
    ...(typeof oauth === 'boolean' ? { oauth } : {}),
  };
};
