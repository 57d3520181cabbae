const peers = new WeakMap<Request, string>();

/** Says from which address a request's connection was made. An adapter calls it, where it knows. */
export const setPeer = (request: Request, address: string): void => void peers.set(request, address);

/** The address of the other end of the request's connection, which may be a proxy; undefined where no adapter has set it. */
export const peerOf = (request: Request): string | undefined => peers.get(request);

/** What is counted as one sender: an IPv4 address, or the first 64 bits of an IPv6 address, of which one machine may have the rest. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const [start, end] = [head === '' ? [] : head, tail === '' ? [] : tail];
  const zeros = Array.from({ length: Math.max(0, 8 - start.length - end.length) }, () => '0');
  return [...start, ...zeros, ...end].slice(0, 4).join(':');
};
