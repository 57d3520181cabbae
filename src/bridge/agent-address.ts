import type { Credentials } from '../core/basic-auth.ts';

/** Where the agent is, as whom it is asked, and in which of its directories; its own one if there is none. */
export type AgentPlace = {
  readonly baseUrl: string;
  readonly credentials?: Credentials | undefined;
  readonly directory?: string | undefined;
};

export type Query = Readonly<Record<string, string>>;

export type AgentAddress = {
  readonly headers: Readonly<Record<string, string>>;
  readonly urlOf: (path: string, query?: Query) => string;
};

const basicOf = ({ username, password }: Credentials): string => {
  const bytes = new TextEncoder().encode(`${username}:${password}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
};

/** What every request to the agent has in common. The directory is a query parameter, which all of its routes understand. */
export const agentAddress = ({ baseUrl, credentials, directory }: AgentPlace): AgentAddress => {
  const base = baseUrl.replace(/\/+$/, '');
  const place: Query = directory === undefined ? {} : { directory };
  return {
    headers: credentials === undefined ? {} : { authorization: basicOf(credentials) },
    urlOf(path, query = {}) {
      const wanted = new URLSearchParams({ ...query, ...place }).toString();
      return `${base}${path}${wanted === '' ? '' : `?${wanted}`}`;
    },
  };
};
