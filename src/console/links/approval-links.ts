import { setNewest } from '../../core/bounded-map.ts';
import { equalSecrets } from '../../core/http/auth.ts';
import type { Approval } from '../protocol.ts';

/** What a link leads to: the request that it was made for, open or not. */
export type LinkTarget =
  | { readonly kind: 'open'; readonly approval: Approval }
  /** It was a link of ours, and its request is no longer open. */
  | { readonly kind: 'over'; readonly id: string }
  /** No link of ours, or the arguments of its request are not those that it was made for. */
  | { readonly kind: 'unknown' };

/**
 * Links that each allow one answer to one request with exactly these arguments. They hold no state: the request ends them, and
 * the agent server takes one answer alone.
 */
export type ApprovalLinks = {
  readonly tokenFor: (approval: Pick<Approval, 'id' | 'argumentsHash'>) => Promise<string>;
  /** `find`: the open request of an id. */
  readonly read: (token: string, find: (id: string) => Approval | undefined) => Promise<LinkTarget>;
};

type ApprovalLinksNeeds = {
  readonly secret: string;
  /** HMAC with SHA-256 as base64url. */
  readonly mac: (secret: string, text: string) => Promise<string>;
};

/** 132 bits. */
const MAC_CHARS = 22;
const TOKEN = /^(\w{1,128})\.([\w-]{22})$/;
const REMEMBERED = 1000;

export const createApprovalLinks = ({ secret, mac }: ApprovalLinksNeeds): ApprovalLinks => {
  // So that a late visitor with a link of ours reads that it is over. After a restart it is unknown.
  const remembered = new Map<string, string>();
  const macOf = async (id: string, argumentsHash: string): Promise<string> =>
    (await mac(secret, JSON.stringify(['approval link', id, argumentsHash]))).slice(0, MAC_CHARS);
  return {
    async tokenFor({ id, argumentsHash }) {
      setNewest(remembered, [id, argumentsHash], REMEMBERED);
      return `${id}.${await macOf(id, argumentsHash)}`;
    },
    async read(token, find) {
      const [, id, offered = ''] = TOKEN.exec(token) ?? [];
      if (id === undefined) return { kind: 'unknown' };
      const approval = find(id);
      const hash = approval?.argumentsHash ?? remembered.get(id);
      // An unknown one takes as long.
      const isOurs = equalSecrets(offered, await macOf(id, hash ?? ''));
      if (!isOurs || hash === undefined) return { kind: 'unknown' };
      return approval === undefined ? { kind: 'over', id } : { kind: 'open', approval };
    },
  };
};
