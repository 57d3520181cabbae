/** A question to a person: may this tool call be made? It lives until it is answered, its run ends or its time is over. */
export type PermissionRequest = {
  readonly id: string;
  readonly sessionID: string;
  /** The tool's name. */
  readonly permission: string;
  readonly patterns: readonly string[];
  /** What the person decides about: the tool's title and its arguments, and for a recharge the words of its preview. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Patterns that the answer `always` allows from then on. */
  readonly always: readonly string[];
  readonly tool?: { readonly messageID: string; readonly callID: string };
};

export type PermissionReply =
  | { readonly reply: 'once' }
  | { readonly reply: 'always' }
  | { readonly reply: 'reject'; readonly message?: string };
