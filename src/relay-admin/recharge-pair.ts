/** The pair that makes a recharge one and the same, whenever and however often it is asked for. */
export type Pair = { readonly token: string; readonly key: string };

/** What is kept of a pair. Neither half can be found from its hash. */
export type PairHashes = {
  readonly token: string;
  readonly key: string;
  /** Stands in the notes of the credit, where the relay's users see it: the beginning of the key's hash. */
  readonly marker: string;
};

const MARKER_CHARS = 16;

/** The hashes of a pair, with SHA-256 in hexadecimal digits as `digest`. */
export const hashesOf = async (
  { token, key }: Pair,
  digest: (text: string) => Promise<string>,
): Promise<PairHashes> => {
  const keyHash = await digest(`key ${key}`);
  return { token: await digest(`token ${token}`), key: keyHash, marker: `rc_${keyHash.slice(0, MARKER_CHARS)}` };
};
