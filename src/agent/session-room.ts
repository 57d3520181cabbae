import { Fault } from '../core/fault.ts';
import type { PromptIn } from './protocol/request-schemas.ts';
import type { Store } from './store/store.ts';

/** Each step of a turn reads all that was said: what a session holds has to fit into memory several times. */
const LIMIT_BYTES = 128 * 1024 * 1024;

const charsOf = ({ parts, system = '' }: PromptIn): number =>
  parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text : part.url).length, system.length);

/** Refuses a prompt for which the session has no room left. Answers are not held to it: they are short beside it. */
export const refuseFull = async (store: Pick<Store, 'outline'>, sessionID: string, prompt: PromptIn): Promise<void> => {
  const held = (await store.outline(sessionID)).reduce((sum, { bytes }) => sum + bytes, 0);
  if (held + charsOf(prompt) <= LIMIT_BYTES) return;
  const message = `The session holds ${held} bytes, and no more than ${LIMIT_BYTES} may be in one. Begin a new session`;
  throw new Fault({ kind: 'body-too-large', limitBytes: LIMIT_BYTES, message });
};
