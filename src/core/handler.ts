/** A service, whole: it knows no runtime, and adapters bring it to Node, Deno, Bun and Workers. */
export type Handler = (request: Request) => Promise<Response>;
