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
