import * as v from 'valibot';
import { isLoopback } from './auth.ts';

const LOCAL_HOST = '127.0.0.1';
const EVERY_HOST = '0.0.0.0';

/** What decides where a service with a secret of its own listens. */
export type ListenAccess = {
  /** `HOST`, where it is set. */
  readonly host: string | undefined;
  /** Whether callers have to present a key or a password. */
  readonly hasSecret: boolean;
};

/** Where to listen. Without a host and a secret only this machine is let in, which is `isLocalByDefault`. */
export const listenAddress = ({
  host,
  hasSecret,
}: ListenAccess): { readonly host: string; readonly isLocalByDefault: boolean } => ({
  host: host ?? (hasSecret ? EVERY_HOST : LOCAL_HOST),
  isLocalByDefault: host === undefined && !hasSecret,
});

/** Whether other machines would be let in without a secret, which an operator has to allow by name. */
export const isUnprotected = ({ host, hasSecret }: ListenAccess): boolean =>
  host !== undefined && !isLoopback(host) && !hasSecret;

/** User name and password together must stay under the length that `hasBasicCredentials` decodes. */
const CREDENTIAL_LIMIT_BYTES = 256;

const isCredential = (text: string): boolean =>
  !/\p{Cc}/u.test(text) && new TextEncoder().encode(text).length <= CREDENTIAL_LIMIT_BYTES;

/** A setting that is the password of Basic authentication, at the server and at its clients. */
export const Password = v.pipe(
  v.string(),
  v.trim(),
  v.check(isCredential, `expected at most ${CREDENTIAL_LIMIT_BYTES} bytes without control characters`),
);

/** A setting that is the user name of Basic authentication. */
export const UserName = v.pipe(
  Password,
  v.check((name) => !name.includes(':'), 'expected a name without a colon'),
);
