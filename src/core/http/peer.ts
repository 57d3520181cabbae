const peers = new WeakMap<Request, string>();

/** Says from which address a request's connection was made. An adapter calls it, where it knows. */
export const setPeer = (request: Request, address: string): void => void peers.set(request, address);

/** The address of the other end of the request's connection, which may be a proxy; undefined where no adapter has set it. */
export const peerOf = (request: Request): string | undefined => peers.get(request);
